"""How long matching of old text takes, compared with `str.replace` and `str.find`."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentchat.core.edit.match import Edit, EditError, apply_edits
from agentchat.core.errors import ToolError
from agentchat.tools.builtin import edit
from bench.contexts import bare_context
from bench.figures import Row, compare

TIMES = 5
EDITS = 20
LENGTHS = (5_000, 100_000)
TICK = 0.001


@dataclass(frozen=True)
class Case:
    """A file, and the edits of it."""

    what: str
    text: str
    edits: tuple[Edit, ...]


def lines(number: int) -> list[str]:
    """Return this many different lines of code."""
    return [f"    value_{n} = compute(first={n}, second='text {n}')\n" for n in range(number)]


def long_lines(number: int) -> list[str]:
    """Return this many lines of some hundred characters with the same start."""
    return [f"    {'same words again and again ' * 12}{n}\n" for n in range(number)]


def hits() -> Iterator[Case]:
    """Yield files with edits all over them."""
    for number in LENGTHS:
        text = lines(number)
        chosen = range(number // EDITS // 2, number, number // EDITS)
        edits = [Edit(text[n], text[n].replace("compute", "other")) for n in chosen]
        yield Case(f"{EDITS} edits in {number:,} lines", "".join(text), tuple(edits))


def misses() -> Iterator[Case]:
    """Yield files that have only a similar text."""
    for number in LENGTHS:
        text = lines(number)
        old = "".join(text[number // 2 : number // 2 + 3]).replace("compute", "compare")
        yield Case(f"a miss in {number:,} lines", "".join(text), (Edit(old, "x"),))
    text = long_lines(4_800)
    old = "".join(text[2_400:2_405]).replace("again and", "anew and")
    yield Case("five lines missing in 4,800 long", "".join(text), (Edit(old, "x"),))


def measure() -> list[Row]:
    """Match many edits and missing texts; measure how long other chats wait meanwhile."""
    rows = [compare("matching", case.what, *_series(case, _replaced)) for case in hits()]
    cases = list(misses())
    rows += [compare("matching", case.what, *_series(case, _found)) for case in cases]
    return [*rows, *(asyncio.run(_waits(case)) for case in cases)]


def _series(case: Case, plain: Callable[[Case], object]) -> tuple[list[float], list[float]]:
    base = [_timed(lambda: plain(case)) for _ in range(TIMES)]
    value = [_timed(lambda: _matched(case)) for _ in range(TIMES)]
    return base, value


def _replaced(case: Case) -> None:
    text = case.text
    for item in case.edits:
        text = text.replace(item.old_text, item.new_text, 1)


def _found(case: Case) -> None:
    for item in case.edits:
        case.text.find(item.old_text)


def _matched(case: Case) -> None:
    with contextlib.suppress(EditError):
        apply_edits(case.text, case.edits, "f.py")


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


async def _waits(case: Case) -> Row:
    """Compare the longest wait of an idle event loop with that during a failing call."""
    with tempfile.TemporaryDirectory() as folder:
        await asyncio.to_thread(Path(folder, "f.py").write_text, case.text)
        idle = [await _longest_wait(asyncio.sleep(0.2)) for _ in range(TIMES)]
        busy = [await _longest_wait(_missing(case, folder)) for _ in range(TIMES)]
    return compare("matching: others wait", case.what, idle, busy)


async def _missing(case: Case, folder: str) -> None:
    edits = [{"old_text": item.old_text, "new_text": item.new_text} for item in case.edits]
    arguments = edit.TOOL.arguments.parse({"path": "f.py", "edits": edits})
    with contextlib.suppress(ToolError):
        await edit.dry_run(arguments, bare_context(folder))


async def _longest_wait(work: Coroutine[Any, Any, None]) -> float:
    """Return the longest delay of the loop during the work, in seconds."""
    task = asyncio.ensure_future(work)
    longest = 0.0
    while not task.done():
        began = time.perf_counter()
        await asyncio.sleep(TICK)
        longest = max(longest, time.perf_counter() - began - TICK)
    return longest
