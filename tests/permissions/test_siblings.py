"""What is like the cases is judged like them."""

from __future__ import annotations

import asyncio
import random
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.permissions.gate import Decision, allow
from tests.permissions.ground import Ground
from tests.permissions.report import generated, seed, tell
from tests.permissions.siblings import STARTERS, Row, siblings

pytestmark = pytest.mark.slow

AT_ONCE = 4
"""Commands that are taken apart at once: one that takes a second asks, whatever it is."""


@pytest.mark.parametrize(("table", "allowed"), [("asks.txt", False), ("runs.txt", True)])
async def test_a_rule_covers_the_ordinary_work_of_a_program_and_no_more(
    tmp_path: Path, table: str, allowed: bool
) -> None:
    rows, turns = siblings(table), asyncio.Semaphore(AT_ONCE)

    async def is_allowed(row: Row) -> bool:
        async with turns:
            return await Decision(tmp_path, allow(*row.allowed)).allows(row.command)

    got = await asyncio.gather(*map(is_allowed, rows))
    assert [row for row, was in zip(rows, got, strict=True) if was is not allowed] == []


@pytest.mark.timeout(300)
@pytest.mark.skipif(sys.platform != "linux", reason="the flags are those of Linux programs")
def test_what_asks_would_have_done_what_it_asks_for(tmp_path: Path) -> None:
    # A few of them, and all when many generated commands are wanted too.
    proven = [row for row in siblings("asks.txt") if row.proven]
    if generated() <= 1000:
        proven = random.Random(seed()).sample(proven, 30)
    there = [row for row in proven if not row.program or _is_there(row.program)]
    ground = Ground(tmp_path / "first" / "ws")

    def makes_it(number: int) -> bool:
        return ground.copy(tmp_path / str(number) / "ws").run(there[number].command)

    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(makes_it, range(len(there))))
    tell(f"gate: {len(there)} payloads run raw, {len(proven) - len(there)} not installed")
    assert [row.command for row, did in zip(there, made, strict=True) if not did] == []


_BUILTIN = re.compile(
    "builtin|case|command|coproc|eval|exec|export|for|function|if|read|source|time|trap|until|while"
)


def _is_there(program: str) -> bool:
    return bool(_BUILTIN.fullmatch(program)) or shutil.which(program) is not None


async def test_a_rule_for_a_program_that_runs_another_does_not_cover_that(tmp_path: Path) -> None:
    for name in STARTERS.split():
        assert not await Decision(tmp_path, allow(name)).allows(f"{name} touch m"), name
        assert not await Decision(tmp_path, allow(name)).allows(f"echo touch m | {name}"), name
