"""Programs in process groups of their own, which are dead when a run is over."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from typing import IO, Any

from agentchat.core.errors import ToolError
from agentchat.core.tools.ports import Command, ProcessResult
from agentchat.workspace.process import orphans
from agentchat.workspace.process.capture import Capture
from agentchat.workspace.process.orphans import Watchdog

CHUNK = 64 * 1024
MAX_PIPE_REMAINDER = 1024 * 1024
"""The most that is still read of a pipe after its program is gone."""

TERMINATE_SECONDS = 0.5
"""Seconds between asking a group to end and killing it."""

WATCHDOG = Watchdog()
"""Ends what runs when the host is killed; one for all, for it is a process itself."""

OnOutput = Callable[[bytes], None]


async def run(command: Command, on_output: OnOutput | None = None) -> ProcessResult:
    """Run a program (see ``core.ports.Workspace.run``).

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
    gone = _watch(process, loop)
    pipes = [_Pipe(loop, process.stdout, out, on_output), _Pipe(loop, process.stderr, err)]
    try:
        ended = await _ended(process, gone, command.timeout)
    finally:
        kill_group(process.pid)
        try:
            await _finished(_cleared(process, gone, mark))
        finally:
            for pipe in pipes:
                pipe.finish()
            out.close()
            WATCHDOG.remove(process.pid)
    code = process.returncode if ended else None
    return ProcessResult(code, out.head, out.tail, out.dropped, err.head + err.tail)


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
    """Hold what a program reads: nothing, or an unnamed file; never the host's own input."""
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
    """Return a future that is done when the group's leader has ended.

    The leader is left a zombie where the system can (``waitid``), so its id, which is the
    group's, belongs to nobody else until the group is killed.
    """
    gone = loop.create_future()

    def wait() -> None:
        if hasattr(os, "waitid"):
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        else:
            process.wait()
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(_settle, gone)

    threading.Thread(target=wait, name=f"wait-{process.pid}", daemon=True).start()
    return gone


def _settle(gone: asyncio.Future[None]) -> None:
    if not gone.done():
        gone.set_result(None)


async def _ended(
    process: subprocess.Popen[bytes], gone: asyncio.Future[None], seconds: float | None
) -> bool:
    """Wait for the leader to end; whether it did so by itself in time."""
    done, _ = await asyncio.wait({gone}, timeout=seconds)
    if done:
        return True
    kill_group(process.pid, signal.SIGTERM)
    await asyncio.wait({gone}, timeout=TERMINATE_SECONDS)
    return False


async def _cleared(
    process: subprocess.Popen[bytes], gone: asyncio.Future[None], mark: bytes
) -> None:
    """Collect the leader, which was killed, in a second at most; kill what left the group."""
    await asyncio.wait({gone}, timeout=1.0)
    process.poll()
    if mark:
        await asyncio.to_thread(orphans.kill_orphans, mark)


async def _finished(work: Coroutine[Any, Any, None]) -> None:
    """Do the work to its end, even when cancelled."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise


def kill_group(group: int, number: int = signal.SIGKILL) -> None:
    """Signal every process of a group; nothing happens if none is left."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


class _Pipe:
    """Reads what a program writes, as it comes, without blocking."""

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
        """Take what is there; return how much, 0 if nothing is left or nobody writes."""
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
        """Take what is left in the pipe, even if someone still holds its other end."""
        if self._fd is None:
            return
        taken = 0
        while taken < MAX_PIPE_REMAINDER and (size := self._read()):
            taken += size
        self._loop.remove_reader(self._fd)
        self._fd = None
        if self._stream is not None:
            self._stream.close()
