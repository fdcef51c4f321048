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
from typing import IO, BinaryIO

from agentchat.core.errors import ToolError
from agentchat.core.workspace import Command, ProcessResult
from agentchat.rpc.background import run_to_completion
from agentchat.workspace.process import orphans
from agentchat.workspace.process.orphans import Watchdog

MAX_FILE_BYTES = 256 * 1024 * 1024
"""A program that writes without end must not fill the disk."""


class Capture:
    """Collects the output of one program.

    Args:
        limit: the most bytes kept in memory, half of it the head and half the tail.
        overflow: path of the file that gets all of a longer output; ``None`` for no file.
    """

    def __init__(self, limit: int, overflow: str | None = None) -> None:
        self._half = max(limit // 2, 1)
        self._overflow = overflow
        self._file: BinaryIO | None = None
        self._head = bytearray()
        self._tail = bytearray()
        self._size = 0
        self._file_size = 0

    @property
    def head(self) -> bytes:
        """The first bytes; all of them if nothing was dropped."""
        return bytes(self._head) if self.dropped else bytes(self._head + self._tail)

    @property
    def tail(self) -> bytes:
        """The last bytes, if some before them were dropped."""
        return bytes(self._tail[-self._half :]) if self.dropped else b""

    @property
    def dropped(self) -> int:
        """How many bytes between head and tail are not in memory."""
        return max(0, self._size - 2 * self._half)

    def add(self, data: bytes) -> None:
        """Add a piece of output."""
        if self._overflow and self._file is None and self._size + len(data) > 2 * self._half:
            self._open_file(self._overflow)
        self._keep(data)
        self._write(data)

    def _keep(self, data: bytes) -> None:
        self._size += len(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[max(room, 0) :]
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    def _open_file(self, path: str) -> None:
        self._overflow = None
        try:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        except OSError:
            return
        self._file = os.fdopen(fd, "wb", buffering=0)
        self._write(bytes(self._head + self._tail))

    def _write(self, data: bytes) -> None:
        if self._file is None:
            return
        data = data[: MAX_FILE_BYTES - self._file_size]
        self._file_size += len(data)
        try:
            self._file.write(data)
        except OSError:  # a full disk must not end the program's run
            self.close()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


CHUNK = 64 * 1024
MAX_PIPE_REMAINDER = 1024 * 1024
"""The most bytes that are read from a pipe after its program has ended."""

TERMINATE_SECONDS = 0.5
"""Time between SIGTERM and SIGKILL."""

WATCHDOG = Watchdog()
"""One for all runs, since it is a process itself."""

OnOutput = Callable[[bytes], None]


async def run(command: Command, on_output: OnOutput | None = None) -> ProcessResult:
    """Run a program (see ``core.workspace.Workspace.run``).

    Args:
        on_output: gets each piece of standard output as it arrives, on the loop's thread.
    """
    loop = asyncio.get_running_loop()
    mark, left = b"", 0
    if command.env:
        environment, mark = orphans.mark_environment(command.env)
        command = replace(command, env=environment)
    process = start_process(command)
    WATCHDOG.add(process.pid)
    out = Capture(command.capture, command.overflow)
    err = Capture(CHUNK)
    exited = _watch(process, loop)
    pipes = [Pipe(loop, process.stdout, out, on_output), Pipe(loop, process.stderr, err)]
    try:
        exited_in_time = await _wait_for_exit(process, exited, command.timeout)
        if exited_in_time and mark and not command.own:
            left = await asyncio.to_thread(orphans.count_marked, mark)
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
        ended=left,
    )


def start_process(command: Command) -> subprocess.Popen[bytes]:
    """Start a program; raises ToolError naming the directory or the program."""
    if not os.path.isdir(command.cwd):
        raise ToolError(f"Working directory not found: {command.cwd}. Nothing was run.")
    try:
        with open_input(command.stdin) as stdin:
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
def open_input(data: bytes | None) -> Iterator[IO[bytes]]:
    """Yield the input of a program: nothing or an unnamed file, never the input of the host."""
    if data is None:
        with open(os.devnull, "rb") as nothing:
            yield nothing
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


class Pipe:
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
