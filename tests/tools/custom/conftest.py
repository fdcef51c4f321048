"""What every test of tools of the user's own leaves behind is cleared away."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.custom.making import OPEN, thread_pool


@pytest.fixture(autouse=True)
def _close_pools() -> Iterator[None]:
    here = Path.cwd()
    yield
    thread_pool.cache_clear()
    while OPEN:
        OPEN.pop().close()
    os.chdir(here)
