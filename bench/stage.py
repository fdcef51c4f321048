"""What stage mode costs: its overlay, the commands in it, and many changes on their way back.

Commands and reads are compared with the same on the project itself, showing with the time the
command took that made the changes, applying with a copy of the project by ``cp`` and its removal,
and the longest wait of another client of Neovim with that of an idle one.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from tests.support.chat import Chat
from tests.support.model_server import ModelServer
from tests.support.replies import call, calls, text

from agentchat.core.errors import Unreachable
from agentchat.core.workspace import Command, Workspace
from agentchat.nvim.render.diff import diff_document
from agentchat.workspace.local import LocalWorkspace
from agentchat.workspace.overlay.folder import OverlayFolder
from agentchat.workspace.overlay.launcher import OverlayLauncher
from agentchat.workspace.overlay.workspace import OverlayWorkspace
from bench.editors import bench_editor
from bench.figures import Row, compare
from bench.pinging import pinged

RUNS = 7
SIZES = (3_000, 50_000)
OUTPUTS = 5_000
BUILD = f"mkdir out && for i in `seq {OUTPUTS}`; do echo $i > out/$i; done"
FORMAT = "for f in d1*/*; do echo changed >> $f; done"
FORMAT_ALL = "for f in d*/*; do echo changed >> $f; done"


def measure() -> list[Row]:
    """Measure over a small and a large project; no rows where overlays do not work."""
    try:
        return [*(row for size in SIZES for row in asyncio.run(_measure(size))), *_waits()]
    except Unreachable as reason:
        print(f"stage: {reason}")
        return []


def _waits() -> list[Row]:
    server = ModelServer()
    with bench_editor(server.url) as editor:
        _fill(editor.workspace, SIZES[0])
        chat = Chat.open(editor)
        editor.command("AgentMode stage")
        editor.wait(lambda: chat.status()["mode"] == "stage", why="the mode changed")
        server.script(text("Hello."), calls(call("bash", {"command": FORMAT_ALL})), text("Done."))
        chat.play("the first turn imports the model client")

        def stage() -> None:
            chat.play("format all files")
            chat.event("AgentPreviewStaged")
            editor.settle(1)

        def resolve() -> None:
            editor.command("AgentResolve apply")
            chat.event("AgentPreviewResolved")

        idle = [max(pinged(editor, lambda: editor.settle(1)))]
        rows = []
        for what, act in (("shown", stage), ("applied", resolve)):
            longest = [max(pinged(editor, act))]
            rows.append(compare("stage: longest wait", f"{SIZES[0]:,} files {what}", idle, longest))
    server.close()
    return rows


async def _measure(size: int) -> list[Row]:
    with tempfile.TemporaryDirectory(dir=Path.home()) as folder:
        project, state = Path(folder) / "project", Path(folder) / "state"
        _fill(project, size)
        plain = LocalWorkspace(str(project))
        overlay = OverlayWorkspace(
            OverlayLauncher(str(project), OverlayFolder(state), hidden=(str(state),)), plain
        )
        try:
            return await _rows(size, plain, overlay, project)
        finally:
            await overlay.clear()
            await overlay.close()


async def _rows(
    size: int, plain: LocalWorkspace, overlay: OverlayWorkspace, project: Path
) -> list[Row]:
    figure = f"stage, {size:,} files"
    python = [
        _timed(lambda: subprocess.run([sys.executable, "-I", "-S", "-c", ""])) for _ in range(RUNS)
    ]
    starts = []
    for _ in range(RUNS):
        starts.append(await _spent(overlay.ready()))
        await overlay.pause()
    await overlay.ready()
    rows = [compare(figure, "start, to a Python", python, starts)]
    paths = _names(project)
    for what, work in (
        ("a command", lambda w: _run(w, "true")),
        ("grep -r", lambda w: _run(w, "grep -rq nowhere . ; true")),
        ("200 reads", lambda w: asyncio.gather(*(w.read(path) for path in paths))),
    ):
        rows.append(await _both(figure, what, plain, overlay, work))
    if size == SIZES[0]:
        rows += await _changes(figure, plain, overlay, project)
    return rows


async def _both(
    figure: str,
    what: str,
    plain: Workspace,
    overlay: Workspace,
    work: Callable[[Workspace], Awaitable[object]],
) -> Row:
    await work(overlay)  # the first one fills caches
    return compare(
        figure,
        what,
        [await _spent(work(plain)) for _ in range(RUNS)],
        [await _spent(work(overlay)) for _ in range(RUNS)],
    )


async def _changes(
    figure: str, plain: LocalWorkspace, overlay: OverlayWorkspace, project: Path
) -> list[Row]:
    rows = []
    for what, command in ((f"{OUTPUTS:,} new files", BUILD), ("a formatter", FORMAT)):
        made = await _spent(_run(overlay, command))
        began = time.perf_counter()
        await overlay.update()
        change = await overlay.changes.change_set()
        diff_document(change, str(project))
        rows.append(
            compare(figure, f"{what}: to the review", [made], [time.perf_counter() - began])
        )
        copy = _timed(lambda: _copy(project))
        began = time.perf_counter()
        await plain.apply(change.singly)
        rows.append(compare(figure, f"{what}: apply", [copy], [time.perf_counter() - began]))
        await overlay.clear()
    return rows


def _copy(project: Path) -> None:
    copy = f"{project}.copy"
    subprocess.run(["cp", "-r", str(project), copy], check=True)
    subprocess.run(["rm", "-rf", copy], check=True)


def _names(project: Path) -> list[str]:
    return [str(path) for path in sorted(project.glob("d*/*"))[:200]]


async def _run(workspace: Workspace, command: str) -> None:
    await workspace.run(Command(("/bin/sh", "-c", command), workspace.root))


async def _spent(work: Awaitable[object]) -> float:
    began = time.perf_counter()
    await work
    return time.perf_counter() - began


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _fill(project: Path, size: int) -> None:
    for number in range(size):
        folder = project / f"d{number % 100}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"f{number}.py").write_text(f"line {number}\n" * 20)
