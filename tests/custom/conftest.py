"""What every test of tools of the user's own leaves behind is cleared away."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.custom.making import OPEN


@pytest.fixture(autouse=True)
def _close_libraries() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().workshop.close()
