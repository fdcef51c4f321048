"""Starts the process that runs commands on overlays (``server``), and hands commands to it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import agentchat
from agentchat.core.errors import ToolError, Unreachable
from agentchat.core.frozen import frozen
from agentchat.core.workspace import Command, ProcessResult
from agentchat.rpc.background import run_in_thread, run_to_completion
from agentchat.workspace.process.run import (
    CHUNK,
    TERMINATE_SECONDS,
    Capture,
    OnOutput,
    Pipe,
    open_input,
)

MIB = 1024 * 1024
QUOTA_MB = 2048
PROCESSES = 512
MEMORY_MB = 4096
START_SECONDS = 10.0
CLOSE_SECONDS = 1.0
QUOTA_SECONDS = 0.5
"""Time between two looks at what a running command changed."""

MESSAGE_BYTES = 64 * 1024
SOURCE = (
    "import sys; sys.path.insert(0, sys.argv[3]); from agentchat.workspace.overlay import server; "
    "getattr(server, sys.argv[1])(int(sys.argv[2]))"
)
LOST = "The process that runs commands on the overlay ended. The next call starts it again."


def server_argv(function: str, connection: int) -> tuple[str, ...]:
    """Return the command line of this interpreter that calls a function of ``server``."""
    package = str(Path(str(agentchat.__file__)).parent.parent)
    options = ("-I", "-S", "-B", "-u", "-X", "utf8")
    return (sys.executable, *options, "-c", SOURCE, function, str(connection), package)


@frozen
class Limits:
    """What one command may use, all its processes together; see ``commands.limits``.

    ``quota_mb`` is for what it changes, and, a quarter of it, for its temporary files.
    """

    processes: int = PROCESSES
    memory_mb: int = MEMORY_MB
    quota_mb: int = QUOTA_MB

    @property
    def temporary(self) -> int:
        """The most bytes of temporary files, which are in memory."""
        return self.quota_mb * MIB // 4

    @property
    def changed(self) -> int:
        """The most bytes of changed files."""
        return self.quota_mb * MIB - self.temporary

    def for_server(self) -> Mapping[str, int]:
        """Return them as the server of the namespace takes them."""
        memory = self.memory_mb * MIB
        return {"processes": self.processes, "memory": memory, "file_size": self.changed}

    def explain(self, stopped: str) -> str:
        """Return a sentence about the limit that stopped a command; empty for none."""
        if not stopped:
            return ""
        reason = {
            "quota": f"what it wrote exceeds {self.quota_mb} MiB (stage.quota_mb)",
            "processes": f"it ran more than {self.processes} processes (commands.limits)",
            "memory": f"it used more than {self.memory_mb} MiB of memory (commands.limits)",
        }[stopped]
        return f"The command was stopped: {reason}."


DEFAULT_LIMITS = Limits()


class StartFailed(Exception):
    """No server started; the message is the step that failed and the error."""


@frozen
class Ended:
    """How a command ended.

    ``ended`` is the number of its background processes, ``stopped`` the limit that it exceeded.
    """

    result: ProcessResult
    ended: int = 0
    stopped: str = ""


class NamespaceClient:
    """The connection to a server; ``start`` starts one, which this ends when it is closed."""

    def __init__(
        self, connection: socket.socket, process: subprocess.Popen[bytes] | None = None
    ) -> None:
        self._process = process
        self._connection = connection
        connection.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._numbers = 0
        self._waiting: dict[int, asyncio.Future[Mapping[str, Any]]] = {}
        self._ready: asyncio.Future[Mapping[str, Any]] = self._loop.create_future()
        self._loop.add_reader(connection, self._receive)

    @classmethod
    async def start(cls) -> NamespaceClient:
        """Start a server; raises StartFailed."""
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with there:
            process = subprocess.Popen(  # noqa: ASYNC220 - does not block
                server_argv("main", there.fileno()),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"PATH": os.defpath},
                cwd="/",
                pass_fds=(there.fileno(),),
                start_new_session=True,
            )
        client = cls(here, process)
        try:
            async with asyncio.timeout(START_SECONDS):
                answer = await client._ready
        except TimeoutError:
            answer = {"failed": "timed out"}
        except BaseException:
            await client.close()
            raise
        if "failed" in answer:
            await client.close()
            raise StartFailed(answer["failed"])
        return client

    @property
    def alive(self) -> bool:
        """Whether it takes commands."""
        return self._connection.fileno() >= 0

    async def run(
        self,
        command: Command,
        root: Mapping[str, Any],
        limits: Limits,
        on_output: OnOutput | None = None,
        size: Callable[[], int] = lambda: 0,
    ) -> Ended:
        """Run a command; all its processes are dead when this returns.

        Args:
            root: what it sees, see ``server.FirstProcess``.
            size: returns the bytes of what was changed; blocks.

        Raises:
            ToolError: its program or directory is not there.
            Unreachable: the server ended.
            StartFailed: a step of making the root failed.
        """
        spec = {
            "argv": command.argv,
            "cwd": command.cwd,
            "env": dict(command.env),
            "network": command.network,
            "root": root,
            "limits": limits.for_server(),
        }
        out, errors = Capture(command.capture, command.overflow), Capture(CHUNK)
        number, pipes = self._send(command, spec, (out, errors), on_output)
        watching = asyncio.ensure_future(self._stop_when_full(number, limits.changed, size))
        try:
            report = await self._wait(number, command.timeout)
        finally:
            watching.cancel()
            for pipe in pipes:
                pipe.finish()
            out.close()
        full = watching.done() and not watching.cancelled()
        stopped = "quota" if full else report.get("stopped", "")
        late = bool(report.get("timeout"))
        result = ProcessResult(
            code=None if late else _exit_code(report),
            head=out.head,
            tail=out.tail,
            dropped=out.dropped,
            stderr=errors.head + errors.tail,
        )
        # What is told of a command out of time includes what it started.
        return Ended(result, 0 if late else report["ended"], stopped)

    async def _stop_when_full(self, number: int, most: int, size: Callable[[], int]) -> None:
        """End a command when its changes exceed the quota."""
        now, seconds = 0, 0.0
        while now <= most:
            # A look takes long where there is much to look at: most of the time, do not.
            await asyncio.sleep(max(QUOTA_SECONDS, 10 * seconds))
            began = time.monotonic()
            now = await asyncio.to_thread(size)
            seconds = time.monotonic() - began
        self.signal(number, signal.SIGKILL)

    def _send(
        self,
        command: Command,
        spec: Mapping[str, Any],
        captures: tuple[Capture, Capture],
        on_output: OnOutput | None,
    ) -> tuple[int, list[Pipe]]:
        self._numbers += 1
        number = self._numbers
        out, write_out = os.pipe()
        pipes = [Pipe(self._loop, os.fdopen(out, "rb", 0), captures[0], on_output)]
        written = [write_out]
        if not command.merge_stderr:
            errors, write_errors = os.pipe()
            pipes.append(Pipe(self._loop, os.fdopen(errors, "rb", 0), captures[1]))
            written.append(write_errors)
        try:
            with _in_memory(json.dumps(spec)) as file, open_input(command.stdin) as stdin:
                files = [file.fileno(), stdin.fileno(), written[0], written[-1]]
                self._waiting[number] = self._loop.create_future()
                message = json.dumps({"id": number, "run": True}).encode()
                socket.send_fds(self._connection, [message], files)
        except OSError as error:
            self._waiting.pop(number, None)
            for pipe in pipes:
                pipe.finish()
            raise Unreachable(LOST) from error
        finally:
            for fd in written:
                os.close(fd)
        return number, pipes

    async def _wait(self, number: int, seconds: float | None) -> Mapping[str, Any]:
        """Return how a command ended; end it when the time is over, or this is cancelled."""
        future = self._waiting[number]
        try:
            done, _ = await asyncio.wait({future}, timeout=seconds)
            if not done:
                self.signal(number, signal.SIGTERM)
                await asyncio.wait({future}, timeout=TERMINATE_SECONDS)
                self.signal(number, signal.SIGKILL)
                return {**await future, "timeout": True}
            return future.result()
        finally:
            if not future.done():
                self.signal(number, signal.SIGKILL)
                await run_to_completion(asyncio.wait({future}, timeout=CLOSE_SECONDS))
            self._waiting.pop(number, None)

    def signal(self, number: int, kind: signal.Signals) -> None:
        """Send a signal to a command, or end all of it with SIGKILL."""
        message = {"id": number, "signal": int(kind)}
        with contextlib.suppress(OSError):
            self._connection.send(json.dumps(message).encode())

    def _receive(self) -> None:
        try:
            data = self._connection.recv(MESSAGE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lose()
            return
        answer = json.loads(data)
        future = self._waiting.get(answer["id"]) if "id" in answer else self._ready
        if future is not None and not future.done():
            future.set_result(answer)

    def _lose(self) -> None:
        """Let all that wait fail: the server ended."""
        self._loop.remove_reader(self._connection)
        self._connection.close()
        if not self._ready.done():
            self._ready.set_result({"failed": "it ended without an answer"})
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(Unreachable(LOST))

    async def close(self) -> None:
        """End the server, and with it everything that it runs."""
        if self.alive:
            self._loop.remove_reader(self._connection)
            self._connection.close()
        if self._process is None:
            return
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await run_in_thread(self._process.wait)
        except TimeoutError:
            self._process.kill()
            await run_in_thread(self._process.wait)


def _exit_code(report: Mapping[str, Any]) -> int:
    """Return the exit code of a command; raises ToolError or StartFailed if it did not start."""
    if "failed" not in report:
        return int(report["code"])
    if report.get("start"):
        raise ToolError(f"{report['failed']}. Nothing was run.")
    raise StartFailed(report["failed"])


def _in_memory(text: str) -> IO[bytes]:
    """Return a file without a name, to be read from its start."""
    file = os.fdopen(os.memfd_create("spec"), "w+b")
    file.write(text.encode())
    file.seek(0)
    return file
