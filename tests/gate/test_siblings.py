"""What is like the cases is judged like them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.gate.gate import Decision, allow
from tests.gate.siblings import STARTERS, siblings


@pytest.mark.parametrize(("table", "allowed"), [("asks.txt", False), ("runs.txt", True)])
async def test_a_rule_covers_the_ordinary_work_of_a_program_and_no_more(
    tmp_path: Path, table: str, allowed: bool
) -> None:
    rows = siblings(table)
    got = await asyncio.gather(
        *(Decision(tmp_path, allow(*words)).allows(command) for command, words in rows)
    )
    assert [row for row, was in zip(rows, got, strict=True) if was is not allowed] == []


async def test_a_rule_for_a_program_that_runs_another_does_not_cover_that(tmp_path: Path) -> None:
    for name in STARTERS.split():
        assert not await Decision(tmp_path, allow(name)).allows(f"{name} touch m"), name
        assert not await Decision(tmp_path, allow(name)).allows(f"echo touch m | {name}"), name
