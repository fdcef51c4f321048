"""Programs end when they should, take their children along, and never hold up the loop."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from agentchat.core.errors import ToolError
from agentchat.core.workspace import Command
from agentchat.workspace.process import run
from agentchat.workspace.process.run import Capture


def shell(script: str, folder: Path | str, **given: object) -> Command:
    return Command(("/bin/sh", "-c", script), str(folder), **given)  # type: ignore[arg-type]


def has_exited(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


async def exits_soon(pid: int) -> bool:
    limit = time.monotonic() + 2
    while not has_exited(pid):
        if time.monotonic() > limit:
            return False
        await asyncio.sleep(0.01)
    return True


@pytest.mark.parametrize(
    ("script", "code", "out", "err"),
    [
        ("echo out; echo err >&2; exit 3", 3, b"out\n", b"err\n"),
        ("kill -TERM $$", -signal.SIGTERM, b"", b""),
        ("true", 0, b"", b""),
        ("cat", 0, b"", b""),
    ],
)
async def test_code_and_output_are_told(
    tmp_path: Path, script: str, code: int, out: bytes, err: bytes
) -> None:
    finished = await run.run(shell(script, tmp_path))
    assert (finished.code, finished.head, finished.stderr) == (code, out, err)


async def test_input_is_given_whole_and_otherwise_closed(tmp_path: Path) -> None:
    data = b"x" * 3_000_000
    finished = await run.run(shell("cat", tmp_path, stdin=data))
    assert finished.head == data
    finished = await run.run(shell("ls -l /proc/self/fd/0", tmp_path))
    assert finished.head.endswith(b"/dev/null\n")


async def test_output_arrives_while_the_program_runs(tmp_path: Path) -> None:
    pieces: asyncio.Queue[bytes] = asyncio.Queue()
    running = asyncio.ensure_future(
        run.run(shell("echo a; read x < pipe; echo b", tmp_path), pieces.put_nowait)
    )
    os.mkfifo(tmp_path / "pipe")
    assert await asyncio.wait_for(pieces.get(), 5) == b"a\n"
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


@pytest.mark.parametrize(
    "script",
    [
        "sleep 60 & echo $!; sleep 60",
        "trap '' TERM HUP; sh -c 'trap \"\" TERM; sleep 60' & echo $!; while :; do sleep 60; done",
        "(sleep 60 & echo $!) ; sleep 60",
    ],
    ids=["child", "deaf", "double fork"],
)
@pytest.mark.parametrize("how", ["timeout", "cancel"])
async def test_the_whole_group_ends(tmp_path: Path, script: str, how: str) -> None:
    output: asyncio.Queue[bytes] = asyncio.Queue()
    limit = 0.3 if how == "timeout" else None
    running = asyncio.ensure_future(
        run.run(shell(script, tmp_path, timeout=limit), output.put_nowait)
    )
    child = int(await asyncio.wait_for(output.get(), 5))
    began = time.monotonic()
    if how == "cancel":
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    else:
        assert (await running).code is None
    assert time.monotonic() - began < 1.5
    assert await exits_soon(child)


async def test_a_program_that_ends_is_not_waited_for_by_its_children(tmp_path: Path) -> None:
    began = time.monotonic()
    finished = await run.run(shell("sleep 60 & echo $!", tmp_path))
    assert time.monotonic() - began < 2
    assert finished.code == 0
    assert await exits_soon(int(finished.head))


async def test_the_processes_that_a_program_leaves_behind_are_counted(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"]}
    command = shell("sleep 60 & setsid sleep 60 & sleep 0", tmp_path, env=environment)
    assert (await run.run(command)).ended == 2
    assert (await run.run(shell("true | true", tmp_path, env=environment))).ended == 0


async def test_a_flood_leaves_the_loop_free(tmp_path: Path) -> None:
    running = asyncio.ensure_future(run.run(shell("yes", tmp_path, timeout=1, capture=1024)))
    longest, last = 0.0, time.monotonic()
    while not running.done():
        await asyncio.sleep(0.001)
        longest, last = max(longest, time.monotonic() - last), time.monotonic()
    finished = await running
    assert (len(finished.head), len(finished.tail)) == (512, 512)
    assert finished.dropped > 1_000_000
    assert longest < 0.5


@pytest.mark.parametrize(
    ("argv", "folder", "message"),
    [
        (("true",), "missing", "Working directory not found: .*/missing"),
        (("no-such-program",), "", "Cannot run no-such-program: No such file"),
        (("true", "a\0b"), "", "Cannot run true: embedded null byte"),
        (("true", "x" * 10_000_000), "", "Cannot run true: Argument list too long"),
    ],
)
async def test_what_cannot_start_is_named(
    tmp_path: Path, argv: tuple[str, ...], folder: str, message: str
) -> None:
    with pytest.raises(ToolError, match=message):
        await run.run(Command(argv, os.path.join(tmp_path, folder)))


async def test_many_programs_run_at_the_same_time(tmp_path: Path) -> None:
    began = time.monotonic()
    commands = [shell(f"sleep 0.3; echo {number}", tmp_path) for number in range(20)]
    finished = await asyncio.gather(*map(run.run, commands))
    assert [int(result.head) for result in finished] == list(range(20))
    assert time.monotonic() - began < 4


HOST = """
import asyncio, sys
from agentchat.core.workspace import Command
from agentchat.workspace.process import run
command = Command(("/bin/sh", "-c", "sleep 60 & echo $! $$; sleep 60"), "/")
asyncio.run(run.run(command, lambda data: print(data.decode(), end="", flush=True)))
"""


async def test_nothing_outlives_a_host_that_is_killed(tmp_path: Path) -> None:
    host = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOST, stdout=asyncio.subprocess.PIPE,
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert host.stdout is not None
    pids = [int(pid) for pid in (await host.stdout.readline()).split()]
    assert len(pids) == 2
    host.kill()
    await host.wait()
    assert all([await exits_soon(pid) for pid in pids])


@pytest.mark.parametrize("sizes", [[5], [10], [11], [3, 3, 3, 3, 3], [40, 1], [1, 40], [1] * 100])
def test_a_capture_keeps_head_and_tail_and_files_all(tmp_path: Path, sizes: list[int]) -> None:
    capture = Capture(10, str(tmp_path / "deep" / "out"))
    data = bytes(range(sum(sizes)))
    offset = 0
    for size in sizes:
        capture.add(data[offset : offset + size])
        offset += size
    capture.close()
    if len(data) <= 10:
        assert (capture.head, capture.tail, capture.dropped) == (data, b"", 0)
        assert not (tmp_path / "deep").exists()
    else:
        assert (capture.head, capture.tail) == (data[:5], data[-5:])
        assert capture.dropped == len(data) - 10
        assert (tmp_path / "deep" / "out").read_bytes() == data
