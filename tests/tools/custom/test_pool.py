"""Worker processes: how calls share them, and what a call that goes wrong costs the others."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from agentchat.core.errors import ToolError
from agentchat.core.tools.tool import Tool
from agentchat.rpc.frames import RemoteError
from agentchat.tools.custom.process.pool import MOST_IDLE, MOST_WORKERS, WorkerPool
from agentchat.tools.custom.process.worker import Worker, WorkerEnded, start_worker
from agentchat.tools.custom.remote_tool import RemoteTool
from agentchat.workspace.process.run import WATCHDOG
from tests.tools.custom.making import OPEN, tools_of
from tests.tools.custom.test_running import gone

pytestmark = pytest.mark.slow

CODE = """
import subprocess
from pathlib import Path

@tool
def process():
    'Return the process.'
    return str(os.getpid())

@tool
def waits(mark: str, end: str = ""):
    'Say that it is there, then wait for the end.'
    Path(mark).write_text(str(os.getpid()))
    try:
        while not (end and os.path.exists(end)):
            time.sleep(0.005)
    finally:
        Path(mark).unlink()
    return "ended"

@tool
def leaves_a_child():
    'Start a program that goes on, and end.'
    child = subprocess.Popen(["sleep", "60"])
    Path("child").write_text(str(child.pid))
    if os.fork():
        os._exit(3)
    time.sleep(60)
"""


async def run(tool: Tool, **arguments: Any) -> str:
    """Call the function of a tool by itself, without a chat."""
    assert isinstance(tool.arguments, RemoteTool)
    answer = await tool.arguments.call("run", arguments, step=0)
    return str(answer["result"]["text"])


async def appear(path: Path) -> str:
    """Wait for a file with some text."""
    for _ in range(2000):
        if path.exists() and (text := path.read_text()):
            return text
        await asyncio.sleep(0.005)
    raise AssertionError(f"{path} did not appear")


async def disappear(path: Path) -> None:
    for _ in range(2000):
        if not path.exists():
            return
        await asyncio.sleep(0.005)
    raise AssertionError(f"{path} is still there")


async def test_calls_after_each_other_share_a_process(tmp_path: Path) -> None:
    tools = await tools_of(tmp_path, CODE)
    assert len({await run(tools["process"]) for _ in range(5)}) == 1


async def test_calls_at_the_same_time_have_processes_of_their_own(tmp_path: Path) -> None:
    tools = await tools_of(tmp_path, CODE)
    end = tmp_path / "end"
    marks = [tmp_path / str(number) for number in range(3)]
    waiting = [
        asyncio.ensure_future(run(tools["waits"], mark=str(mark), end=str(end))) for mark in marks
    ]
    pids = {await appear(mark) for mark in marks}
    assert len(pids) == 3
    end.touch()
    assert await asyncio.gather(*waiting) == ["ended"] * 3


async def test_no_more_than_so_many_processes_run_and_the_rest_waits(tmp_path: Path) -> None:
    tools = await tools_of(tmp_path, CODE, most=2)
    pids = await asyncio.gather(*[run(tools["process"]) for _ in range(20)])
    assert len(set(pids)) <= 2


async def test_a_batch_of_calls_runs_in_the_processes_of_the_batch_before(tmp_path: Path) -> None:
    code = """
@tool
def naps():
    'Sleep for 50 ms.'
    time.sleep(0.05)
    return str(os.getpid())
"""
    tools = await tools_of(tmp_path, code, most=MOST_WORKERS)

    async def batch(size: int) -> tuple[float, set[str]]:
        began = time.monotonic()
        pids = await asyncio.gather(*(run(tools["naps"]) for _ in range(size)))
        return time.monotonic() - began, set(pids)

    _, pids = await batch(MOST_WORKERS)
    assert len(pids) == MOST_WORKERS == 10
    warm = [await batch(8) for _ in range(5)]
    assert all(used <= pids for _, used in warm)
    assert min(seconds for seconds, _ in warm) < 0.3


async def test_idle_processes_that_nobody_needs_are_ended(tmp_path: Path) -> None:
    tools = await tools_of(tmp_path, CODE, idle_seconds=0.1)
    end = tmp_path / "end"
    marks = [tmp_path / str(number) for number in range(4)]
    waiting = [
        asyncio.ensure_future(run(tools["waits"], mark=str(mark), end=str(end))) for mark in marks
    ]
    pids = [int(await appear(mark)) for mark in marks]
    end.touch()
    await asyncio.gather(*waiting)
    for _ in range(1000):
        if sum(map(is_running, pids)) <= MOST_IDLE:
            break
        await asyncio.sleep(0.01)
    left = [str(pid) for pid in pids if is_running(pid)]
    assert len(left) == MOST_IDLE
    assert await run(tools["process"]) in left


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_stop_returns_at_once_and_lets_the_function_clean_up(tmp_path: Path) -> None:
    tools = await tools_of(tmp_path, CODE)
    mark = tmp_path / "mark"
    call = asyncio.ensure_future(run(tools["waits"], mark=str(mark)))
    pid = await appear(mark)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await disappear(mark)
    assert await run(tools["process"]) == pid


async def test_a_process_that_was_killed_while_idle_is_replaced(tmp_path: Path) -> None:
    tools = await tools_of(tmp_path, CODE)
    pid = int(await run(tools["process"]))
    os.kill(pid, signal.SIGKILL)
    await gone(pid)
    assert int(await run(tools["process"])) != pid


async def test_what_a_dead_process_started_ends_with_it(tmp_path: Path) -> None:
    tools = await tools_of(tmp_path, CODE)
    with pytest.raises(WorkerEnded, match=r"its process ended \(exit code 3\)"):
        await run(tools["leaves_a_child"])
    await gone(int((tmp_path / "child").read_text()))


async def test_a_call_that_waits_for_a_process_can_be_cancelled(tmp_path: Path) -> None:
    tools = await tools_of(tmp_path, CODE, most=1)
    mark, end = tmp_path / "mark", tmp_path / "end"
    first = asyncio.ensure_future(run(tools["waits"], mark=str(mark), end=str(end)))
    pid = await appear(mark)
    second = asyncio.ensure_future(run(tools["process"]))
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    end.touch()
    assert await first == "ended"
    assert await run(tools["process"]) == pid


async def test_a_process_that_cannot_be_started_fails_the_calls_that_wait() -> None:
    def start() -> Worker:
        raise OSError("no more processes")

    pool = WorkerPool(start)
    with pytest.raises(RemoteError, match="no more processes"):
        await pool.call("file", "run", {})


async def test_a_closed_pool_fails_what_runs_and_starts_again(tmp_path: Path) -> None:
    tools = await tools_of(tmp_path, CODE)
    mark = tmp_path / "mark"
    call = asyncio.ensure_future(run(tools["waits"], mark=str(mark)))
    pid = int(await appear(mark))
    OPEN[-1].close()
    with pytest.raises(WorkerEnded, match="the files with tools were reloaded"):
        await call
    await gone(pid)
    with pytest.raises(ToolError, match="its file was changed"):
        await run(tools["process"])


async def test_a_worker_that_ended_says_how() -> None:
    worker = start_worker(WATCHDOG)
    await worker.request("ready", {})
    worker.kill("it was time")
    with pytest.raises(WorkerEnded, match="its process was ended: it was time"):
        await worker.request("ready", {})
