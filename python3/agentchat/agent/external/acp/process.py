"""An agent's process, in the worker: its lines as messages, its log, and the end of its tree."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from agentchat.workspace.process.orphans import kill_orphans, mark_environment

LONGEST_LINE = 64 * 1024 * 1024
LOG_LINES = 1000
LONGEST_LOG_LINE = 2000
MOST_NOISE = 100
"""Lines in a row that are no messages, after which the process is ended."""
GRACE_SECONDS = 2.0
"""How long the process may take to end, first when its input is closed, then after TERM."""
DRAIN_SECONDS = 0.5
"""How long output is still read once the process has ended."""

Message = dict[str, Any]


class AgentProcess:
    """A running agent; a message transport of the SDK (``send``, ``receive``, ``close``)."""

    def __init__(self, process: asyncio.subprocess.Process, mark: bytes) -> None:
        self._process = process
        self._mark = mark
        self._noise = 0
        self._first_noise = ""
        self.log: deque[str] = deque(maxlen=LOG_LINES)
        self.last_error_line = ""
        self._errors = asyncio.ensure_future(self._read_errors())

    @classmethod
    async def start(cls, argv: Sequence[str], cwd: str, env: Mapping[str, str]) -> AgentProcess:
        """Start it in a session of its own; raises OSError."""
        marked, mark = mark_environment(env)
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=cwd,
            env=marked,
            start_new_session=True,
            limit=LONGEST_LINE,
        )
        return cls(process, mark)

    @property
    def pid(self) -> int:
        """The process, which leads a group of this id."""
        return self._process.pid

    @property
    def speaks_no_acp(self) -> str:
        """The first of too many lines that are no messages; empty if there were not so many."""
        return self._first_noise if self._noise >= MOST_NOISE else ""

    # --- messages ---------------------------------------------------------------------------------

    async def send(self, message: Message) -> None:
        """Write a message."""
        assert self._process.stdin is not None
        text = json.dumps(message, ensure_ascii=False)
        self._process.stdin.write(text.encode("utf-8", "replace") + b"\n")
        await self._process.stdin.drain()

    async def receive(self) -> Message | None:
        """Return the next message, ``None`` at the end."""
        assert self._process.stdout is not None
        while not self.speaks_no_acp:
            try:
                line = await self._process.stdout.readline()
            except ValueError:
                self._add_log(
                    f"agentchat: a line of more than {LONGEST_LINE >> 20} MiB was dropped"
                )
                continue
            if not line:
                return None
            message = parse_message(line)
            if message is not None:
                self._noise = 0
                return message
            self._add_noise(line)
        return None

    def _add_noise(self, line: bytes) -> None:
        text = line[:LONGEST_LOG_LINE].decode("utf-8", "replace").strip()
        if text:
            self._first_noise = text if self._noise == 0 else self._first_noise
            self._noise += 1
            self._add_log(f"stdout: {text}")

    def _add_log(self, line: str) -> None:
        self.log.append(line[:LONGEST_LOG_LINE])

    async def _read_errors(self) -> None:
        assert self._process.stderr is not None
        while True:
            try:
                line = await self._process.stderr.readline()
            except ValueError:
                continue
            if not line:
                return
            text = line[:LONGEST_LOG_LINE].decode("utf-8", "replace").strip()
            if text:
                self.last_error_line = text
                self._add_log(f"stderr: {text}")

    # --- the end ----------------------------------------------------------------------------------

    async def wait(self) -> int:
        """Return the exit code when the process has ended: 128 + N for signal N."""
        code = await self._process.wait()
        await asyncio.wait({self._errors}, timeout=DRAIN_SECONDS)
        return 128 - code if code < 0 else code

    async def close(self) -> None:
        """End it and all that it started: close its input, then TERM, then KILL."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        if not await self._ends_in_time():
            self._signal(signal.SIGTERM)
            await self._ends_in_time()
        self.kill()
        await self._process.wait()
        self._errors.cancel()

    def kill(self) -> None:
        """Kill its group, and what has left that."""
        self._signal(signal.SIGKILL)
        kill_orphans(self._mark)

    async def _ends_in_time(self) -> bool:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), GRACE_SECONDS)
        return self._process.returncode is not None

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)


def parse_message(line: bytes) -> Message | None:
    """Return a line as a JSON-RPC message; ``None`` if it is none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    number = value.get("id")
    is_call = isinstance(value.get("method"), str)
    is_answer = "method" not in value and isinstance(number, (int, str))
    return value if is_call or is_answer else None
