"""What a search leaves out that a read would ask about."""

from __future__ import annotations

import os

import pytest

from agentchat.tools.builtin import grep
from agentchat.tools.search import ripgrep
from tests.tools.conftest import Bench


@pytest.mark.parametrize("has_ripgrep", [True, False])
async def test_a_second_hard_link_to_a_secret_is_not_searched_unasked(
    bench: Bench, has_ripgrep: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_ripgrep:
        monkeypatch.setattr(ripgrep, "program_paths", lambda: ())
    secret = bench.write(".env", "KEY=sesame\n")
    os.link(secret, bench.root / "notes.txt")
    bench.write("plain.txt", "sesame street\n")
    found = await bench.call(grep.TOOL, pattern="sesame")
    assert "plain.txt:1: sesame street" in found.text
    assert "KEY" not in found.text
    assert "[Skipped 2 secrets files: .env, notes.txt." in found.text
    assert found.details["matches"] == 1
