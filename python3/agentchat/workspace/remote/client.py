"""The process of a workspace server and the connection to it.

It is started with a command line that ends in ``bootstrap.start_command``: with ssh it runs on
another machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import IO, Any

from agentchat.rpc.background import BackgroundTasks, run_in_thread
from agentchat.rpc.frames import Disconnected
from agentchat.rpc.peer import CANCEL_SECONDS, OnProgress, Peer
from agentchat.workspace.process import run
from agentchat.workspace.remote.bootstrap import payload
from agentchat.workspace.remote.server import GREETING, SILENCE_SECONDS

PING_SECONDS = 5.0
CLOSE_SECONDS = 1.0
MAX_NOISE_BYTES = 64 * 1024
"""What a login shell may write before the greeting of the server."""

_STDERR_BYTES = 8 * 1024


class StartError(Exception):
    """No server started; the message is the content of standard error, or ``timed out``."""


class WorkspaceClient:
    """One running server, created by ``start``."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._stdin, self._stdout = process.stdin, process.stdout
        self._stderr = _Tail(process.stderr)
        self._peer: Peer | None = None
        self._tasks = BackgroundTasks()
        run.WATCHDOG.add(process.pid)

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        environment: Mapping[str, str] | None,
        seconds: float,
        cwd: str = "/",
        prelude: bytes = b"",
        pass_fds: Sequence[int] = (),
    ) -> WorkspaceClient:
        """Start a server with a command that runs in ``cwd`` and reads ``prelude`` first.

        ``pass_fds`` are open files that it inherits by their numbers.

        Raises:
            OSError: the program cannot be run.
            StartError: the server does not send its greeting within ``seconds``.
        """
        process = subprocess.Popen(  # noqa: ASYNC220 - does not block
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=None if environment is None else dict(environment),
            cwd=cwd,
            pass_fds=pass_fds,
            start_new_session=True,
        )
        client = cls(process)
        try:
            async with asyncio.timeout(seconds):
                await run_in_thread(partial(client._greet, prelude + payload()))
        except TimeoutError as error:
            await client.close()
            raise StartError("timed out") from error
        except (OSError, EOFError) as error:
            await client.close()
            raise StartError(client._stderr.text()) from error
        except BaseException:
            await client.close()
            raise
        client._serve()
        return client

    @property
    def alive(self) -> bool:
        """Whether requests can be sent."""
        return self._peer is not None and self._peer.alive

    async def request(
        self,
        method: str,
        params: Mapping[str, Any],
        on_progress: OnProgress | None = None,
        *,
        cancel_seconds: float | None = CANCEL_SECONDS,
    ) -> Any:
        """Return the server's answer, see ``Peer.request``.

        Raises:
            Disconnected: with the last line of standard error, if there is one.
        """
        assert self._peer is not None
        try:
            return await self._peer.request(
                method, params, on_progress, cancel_seconds=cancel_seconds
            )
        except Disconnected as error:
            raise Disconnected(await self._reason(str(error))) from error

    async def close(self) -> None:
        """End the connection; the server kills its programs and exits."""
        if self._peer is not None:
            self._peer.close()
        with contextlib.suppress(OSError):
            self._stdin.close()
        await self._tasks.cancel()
        await self._wait()
        if self._peer is None:  # cancelled while it started: nobody else closes it
            self._stdout.close()
        run.WATCHDOG.remove(self._process.pid)

    def _greet(self, code: bytes) -> None:
        """Send the code and wait for the greeting of the server; raises EOFError, OSError."""
        try:
            self._stdin.write(code)
            self._stdin.flush()
            noise = 0
            while (line := self._stdout.readline(MAX_NOISE_BYTES)) != GREETING:
                noise += len(line)
                if not line or noise > MAX_NOISE_BYTES:
                    raise EOFError
        except BaseException:
            self._stdout.close()
            raise

    def _serve(self) -> None:
        self._peer = Peer(self._stdout, os.dup(self._stdin.fileno()))
        self._stdin.close()
        self._peer.start()
        self._tasks.start(self._watch(self._peer))

    async def _watch(self, peer: Peer) -> None:
        """Ping the server, and end the connection when no answer comes."""
        end = asyncio.wrap_future(peer.end_reason)
        while peer.alive:
            peer.send_request("ping", {})
            await asyncio.wait({end}, timeout=PING_SECONDS)
            if time.monotonic() - peer.last_message_time > SILENCE_SECONDS:
                peer.close(f"nothing was received for {SILENCE_SECONDS:g} s")
        self._kill()

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await run_in_thread(self._process.wait)
        except TimeoutError:
            self._kill()
            await run_in_thread(self._process.wait)

    def _kill(self) -> None:
        # The id is not reused before the process was waited for.
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def _reason(self, reason: str) -> str:
        if reason == "it ended":
            await self._wait()
            reason = self._stderr.last_line() or reason
        return reason


class _Tail:
    """Reads a stream in a thread and keeps its last bytes."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._data = bytearray()
        self._thread = threading.Thread(target=self._read, name="stderr", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError, ValueError), self._stream:
            while data := os.read(self._stream.fileno(), 4096):
                self._data += data
                del self._data[:-_STDERR_BYTES]

    def text(self) -> str:
        """Return the last bytes as text; waits up to 0.2 s for the end of the stream."""
        self._thread.join(0.2)
        return self._data.decode("utf-8", "replace")

    def last_line(self) -> str:
        lines = [line.strip() for line in self.text().splitlines() if line.strip()]
        return lines[-1].rstrip(".") if lines else ""
