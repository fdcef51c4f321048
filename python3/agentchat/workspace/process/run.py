"""Runs programs in process groups of their own, which are dead when the run ends."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import IO

from agentchat.core.errors import ToolError
from agentchat.core.tools.ports import Command, ProcessResult
from agentchat.rpc.background import run_to_completion
from agentchat.workspace.process import orphans
from agentchat.workspace.process.capture import Capture
from agentchat.workspace.process.orphans import Watchdog

CHUNK = 64 * 1024
MAX_PIPE_REMAINDER = 1024 * 1024
"""The most bytes that are read from a pipe after its program has ended."""

TERMINATE_SECONDS = 0.5
"""Time between SIGTERM and SIGKILL."""

WATCHDOG = Watchdog()
"""One for all runs, since it is a process itself."""

OnOutput = Callable[[bytes], None]


async def run(command: Command, on_output: OnOutput | None = None) -> ProcessResult:
    """Run a program (see ``core.tools.ports.Workspace.run``).

    Args:
        on_output: gets each piece of standard output as it arrives, on the loop's thread.
    """
    loop = asyncio.get_running_loop()
    mark = b""
    if command.env:
        environment, mark = orphans.mark_environment(command.env)
        command = replace(command, env=environment)
    process = start_process(command)
    WATCHDOG.add(process.pid)
    out = Capture(command.capture, command.overflow)
    err = Capture(CHUNK)
    exited = _watch(process, loop)
    pipes = [_Pipe(loop, process.stdout, out, on_output), _Pipe(loop, process.stderr, err)]
    try:
        exited_in_time = await _wait_for_exit(process, exited, command.timeout)
    finally:
        kill_group(process.pid)
        try:
            await run_to_completion(_reap(process, exited, mark))
        finally:
            for pipe in pipes:
                pipe.finish()
            out.close()
            WATCHDOG.remove(process.pid)
    return ProcessResult(
        code=process.returncode if exited_in_time else None,
        head=out.head,
        tail=out.tail,
        dropped=out.dropped,
        stderr=err.head + err.tail,
    )


def start_process(command: Command) -> subprocess.Popen[bytes]:
    """Start a program; raises ToolError naming the directory or the program."""
    if not os.path.isdir(command.cwd):
        raise ToolError(f"Working directory not found: {command.cwd}. Nothing was run.")
    try:
        with _input(command.stdin) as stdin:
            return subprocess.Popen(
                command.argv,
                cwd=command.cwd,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if command.merge_stderr else subprocess.PIPE,
                env=dict(command.env) or None,
                start_new_session=True,
                bufsize=0,
            )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ToolError(f"Cannot run {command.argv[0]}: {reason}. Nothing was run.") from error


@contextlib.contextmanager
def _input(data: bytes | None) -> Iterator[int | IO[bytes]]:
    """Yield the input of a program: nothing or an unnamed file, never the input of the host."""
    if data is None:
        yield subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        yield file


def _watch(
    process: subprocess.Popen[bytes], loop: asyncio.AbstractEventLoop
) -> asyncio.Future[None]:
    """Return a future that is done when the leader of the group has exited.

    The leader stays a zombie where the system has ``waitid``, so that its id, which is the id of
    the group, is not reused before the group is killed.
    """
    exited = loop.create_future()

    def wait() -> None:
        if hasattr(os, "waitid"):
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        else:
            process.wait()
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(_set_done, exited)

    threading.Thread(target=wait, name=f"wait-{process.pid}", daemon=True).start()
    return exited


def _set_done(exited: asyncio.Future[None]) -> None:
    if not exited.done():
        exited.set_result(None)


async def _wait_for_exit(
    process: subprocess.Popen[bytes], exited: asyncio.Future[None], seconds: float | None
) -> bool:
    """Wait until the leader exits; return whether it did so in time."""
    done, _ = await asyncio.wait({exited}, timeout=seconds)
    if done:
        return True
    kill_group(process.pid, signal.SIGTERM)
    await asyncio.wait({exited}, timeout=TERMINATE_SECONDS)
    return False


async def _reap(
    process: subprocess.Popen[bytes], exited: asyncio.Future[None], mark: bytes
) -> None:
    """Wait a second at most for the killed leader; kill programs that left the group."""
    await asyncio.wait({exited}, timeout=1.0)
    process.poll()
    if mark:
        await asyncio.to_thread(orphans.kill_orphans, mark)


def kill_group(group: int, number: int = signal.SIGKILL) -> None:
    """Send a signal to every process of a group, if there are any."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


class _Pipe:
    """Reads the output of a program as it comes, without blocking."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        stream: IO[bytes] | None,
        capture: Capture,
        on_output: OnOutput | None = None,
    ) -> None:
        self._loop = loop
        self._stream = stream
        self._capture = capture
        self._on_output = on_output
        self._fd: int | None = None
        if stream is not None:
            self._fd = stream.fileno()
            os.set_blocking(self._fd, False)
            loop.add_reader(self._fd, self._read)

    def _read(self) -> int:
        """Read what is available; return its size, 0 at the end or if nothing is available."""
        assert self._fd is not None
        try:
            data = os.read(self._fd, CHUNK)
        except BlockingIOError:
            return 0
        if not data:
            self._loop.remove_reader(self._fd)
            return 0
        self._capture.add(data)
        if self._on_output is not None:
            self._on_output(data)
        return len(data)

    def finish(self) -> None:
        """Read the rest of the pipe, even if a process still holds its other end."""
        if self._fd is None:
            return
        total = 0
        while total < MAX_PIPE_REMAINDER and (size := self._read()):
            total += size
        self._loop.remove_reader(self._fd)
        self._fd = None
        if self._stream is not None:
            self._stream.close()
