"""What isolated runs cost: a command over the same one run directly, and changes on their way back.

In a project of 100,000 files. ``first`` begins with the start of what runs commands, as a chat's
first command does.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from agentchat.core.errors import Unreachable
from agentchat.core.workspace import Command
from agentchat.workspace.local import LocalWorkspace
from agentchat.workspace.overlay.folder import OverlayFolder
from agentchat.workspace.overlay.isolation import Isolation
from bench.figures import Row, compare

FILES, FOLDERS, CHANGED = 100_000, 1_000, 1_000
RUNS, STARTS = 15, 5
CHANGE = f"for i in `seq {CHANGED}`; do echo more >> d$i/f$i.py; done"


def measure() -> list[Row]:
    """Measure over a large project; no rows where overlays do not work."""
    try:
        return asyncio.run(_measure())
    except Unreachable as reason:
        print(f"isolation: {reason}")
        return []


async def _measure() -> list[Row]:
    with tempfile.TemporaryDirectory(dir=Path.home()) as folder:
        project = Path(folder) / "project"
        for number in range(FILES):
            path = project / f"d{number % FOLDERS}" / f"f{number}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"line {number}\n")
        for number in range(1, CHANGED + 1):
            (project / f"d{number}").mkdir(exist_ok=True)
            (project / f"d{number}/f{number}.py").write_text("line\n")
        return await _rows(project, Path(folder) / "state")


async def _rows(project: Path, state: Path) -> list[Row]:
    figure = f"isolated, {FILES:,} files"
    plain = LocalWorkspace(str(project))

    def isolation() -> Isolation:
        return Isolation(plain, OverlayFolder(state), hidden=(str(state),))

    async def run_first() -> None:
        first = isolation()
        await first.run(_command(project, "true"))
        firsts.append(time.perf_counter())
        await first.close()

    firsts: list[float] = []
    direct = [await _spent(lambda: plain.run(_command(project, "true"))) for _ in range(RUNS)]
    starts = []
    for _ in range(STARTS):
        began = time.perf_counter()
        await run_first()
        starts.append(firsts[-1] - began)
    kept = isolation()
    await kept.ready()
    later = [await _spent(lambda: kept.run(_command(project, "true"))) for _ in range(RUNS)]
    rows = [
        compare(figure, "the first command, to a direct one", direct, starts),
        compare(figure, "a later command, to a direct one", direct, later),
    ]
    rows.append(await _changes(figure, project, plain, kept))
    await kept.close()
    print(f"{figure}: first +{_ms(starts, direct)} ms, later +{_ms(later, direct)} ms")
    return rows


async def _changes(figure: str, project: Path, plain: LocalWorkspace, kept: Isolation) -> Row:
    """Compare a command that changes files, to the change set, with the same run directly."""
    command = _command(project, CHANGE)
    isolated = []
    for _ in range(3):
        began = time.perf_counter()
        run = await kept.run(command)
        isolated.append(time.perf_counter() - began)
        assert len(run.change.singly.files) == CHANGED, len(run.change.singly.files)
    direct = [await _spent(lambda: plain.run(command)) for _ in range(3)]
    return compare(figure, f"{CHANGED:,} files changed, to a direct one", direct, isolated)


def _command(project: Path, text: str) -> Command:
    return Command(("/bin/sh", "-c", text), str(project), env={"PATH": os.defpath})


async def _spent(work: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


def _ms(times: list[float], direct: list[float]) -> str:
    middle = sorted(times)[len(times) // 2] - sorted(direct)[len(direct) // 2]
    return f"{middle * 1000:.1f}"
