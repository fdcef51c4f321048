"""The connection to a server that is a process: its messages are lines of its standard output.

It runs in the worker. Unlike the SDK's own transport it knows how the process ended and what it
wrote to standard error, skips output that is no message, and bounds the size of a message.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import TracebackType
from typing import Any

import anyio
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from agentchat.rpc.background import run_in_thread

LARGEST_MESSAGE = 32 * 1024 * 1024
"""Bytes of one message; a larger answer becomes an error."""
LINES = 200
LONGEST = 500
"""Characters of a line."""
SHORTEST_SECRET = 8
"""Characters: to mask a shorter value would hide ordinary words."""
MASK = "[secret]"
CHUNK = 1 << 18
DRAIN_SECONDS = 0.2
"""How long output is still read once the process has ended."""
END_SECONDS = 2.0
"""How long a server may take to end once its input is closed."""
TOO_LARGE = f"the answer was larger than {LARGEST_MESSAGE >> 20} MiB and was dropped"
HEAD = 200
_UNUSED = re.compile(
    rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"method"\s*:\s*"notifications/'
    rb"(?!progress|cancelled|subscriptions/|[a-z_/]*list_changed)"
)
"""The beginning of a notification that nothing here needs, such as one for a log."""
_ID = re.compile(rb'"id"\s*:\s*(\d+|"[^"\\]{0,100}")')

Streams = tuple[
    MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]
]


class ServerLog:
    """The last lines that a server wrote beside its messages, without values it was given."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = [value for value in secrets if len(value) >= SHORTEST_SECRET]
        self._lines: deque[str] = deque(maxlen=LINES)
        self._rest = b""
        self.last_error_line = ""
        """The last line of standard error that is not blank."""

    @property
    def lines(self) -> list[str]:
        """The lines, oldest first."""
        return [*self._lines, *([self._text(self._rest)] if self._rest else [])]

    def add(self, chunk: bytes) -> None:
        """Add a piece of standard error."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        self._rest = self._rest[-LONGEST:]
        for line in lines[-LINES:]:
            self._lines.append(self._text(line))
        for text in map(self._text, [*lines, self._rest]):
            self.last_error_line = text.strip() or self.last_error_line

    def note(self, problem: str) -> None:
        """Add a line of our own."""
        self._lines.append(self._text(f"agentchat: {problem}".encode()))

    def add_noise(self, line: bytes) -> None:
        """Add a line of standard output that is no message."""
        self._lines.append(f"stdout: {self._text(line)}")

    def _text(self, line: bytes) -> str:
        text = line[: 4 * LONGEST].decode("utf-8", "replace").rstrip("\r")
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return text[:LONGEST]


class StdioTransport:
    """Runs a server while it is entered; a transport of the SDK.

    ``ended`` is set when the process has ended; ``exit_code`` is then known, 128 + N for signal N.
    """

    def __init__(
        self, config: Mapping[str, Any], log: ServerLog, on_start: Callable[[int], Awaitable[None]]
    ) -> None:
        """Prepare a server; ``on_start`` is told the process group before anything is sent."""
        self._config = config
        self._on_start = on_start
        self._log = log
        self._tasks: list[asyncio.Task[None]] = []
        self.ended = asyncio.Event()
        self.exit_code: int | None = None
        self.pid = 0

    async def __aenter__(self) -> Streams:
        """Start the process; raises OSError."""
        self._process = await asyncio.create_subprocess_exec(
            self._config["command"],
            *self._config["args"],
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self._config["cwd"],
            env={**os.environ, **self._config["env"]},
            start_new_session=True,
        )
        self.pid = self._process.pid
        await self._on_start(self.pid)
        self._to_session, from_server = anyio.create_memory_object_stream[
            SessionMessage | Exception
        ](0)
        self._to_server, from_session = anyio.create_memory_object_stream[SessionMessage](0)
        work = (self._read(), self._write(from_session), self._read_errors(), self._watch())
        self._tasks = [asyncio.ensure_future(each) for each in work]
        return from_server, self._to_server

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the process: close its input, then kill its group."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._tasks[-1]), END_SECONDS)
        self._kill()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._tasks[-1]), END_SECONDS)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._to_session.close()
        self._to_server.close()
        self._process._transport.close()  # type: ignore[attr-defined]  # a child may hold a pipe

    def _kill(self) -> None:
        """Kill what is left of the process's group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    async def _watch(self) -> None:
        """Wait for the end of the process; a child of it may still hold its output."""
        code = await run_in_thread(lambda: _wait_for_exit(self.pid))
        reading = {self._tasks[0], self._tasks[2]}
        await asyncio.wait(reading, timeout=DRAIN_SECONDS)
        self._kill()
        if code is None:
            code = await self._process.wait()
        self.exit_code = 128 - code if code < 0 else code
        self.ended.set()
        self._to_session.close()

    async def _read(self) -> None:
        stream, pieces, size = self._process.stdout, [], 0
        assert stream is not None
        while chunk := await stream.read(CHUNK):
            *lines, rest = chunk.split(b"\n")
            for line in lines:
                pieces.append(line)
                size += len(line)
                await self._receive(pieces, size)
                pieces, size = [], 0
            size += len(rest)
            # Of a message that is too large the beginning and the end are kept: one has the id.
            is_small = size <= LARGEST_MESSAGE
            pieces = [*pieces, rest] if is_small else [b"".join(pieces)[:HEAD], rest]

    async def _receive(self, pieces: list[bytes], size: int) -> None:
        line = b"".join(pieces).strip()
        if _UNUSED.match(line):
            return  # a flood of them must not keep the SDK busy
        message = parse_message(line) if size <= LARGEST_MESSAGE else _too_large(line)
        if message is not None:
            with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                await self._to_session.send(SessionMessage(message))
        elif line:
            self._log.add_noise(line)

    async def _write(self, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        with contextlib.suppress(ConnectionError, anyio.ClosedResourceError):
            async for item in outgoing:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                stdin.write(text.encode("utf-8", "replace") + b"\n")
                await stdin.drain()

    async def _read_errors(self) -> None:
        stream = self._process.stderr
        assert stream is not None
        while chunk := await stream.read(CHUNK):
            self._log.add(chunk)


def parse_message(line: bytes) -> mcp_types.JSONRPCMessage | None:
    """Return a line of output as a message; ``None`` if it is none."""
    try:
        return mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except (ValueError, RecursionError):
        return None


def _too_large(line: bytes) -> mcp_types.JSONRPCMessage | None:
    """Return an error in place of an answer that is too large."""
    found = _ID.search(line, 0, HEAD) or _ID.search(line, max(0, len(line) - HEAD))
    if found is None:
        return None
    error = {"code": mcp_types.INTERNAL_ERROR, "message": TOO_LARGE}
    answer = {"jsonrpc": "2.0", "id": json.loads(found[1]), "error": error}
    return mcp_types.jsonrpc_message_adapter.validate_python(answer, by_name=False)


def _wait_for_exit(pid: int) -> int | None:
    """Block until a process has ended; return its code, ``None`` if that is known elsewhere."""
    try:
        info = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    except ChildProcessError:
        return None
    if info is None:
        return None
    return info.si_status if info.si_code == os.CLD_EXITED else -info.si_status
