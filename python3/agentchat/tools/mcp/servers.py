"""The servers of all projects: their states, when they start, and how often.

States of a server: *stopped* until it is needed; *starting*; *running*; *failed*. A server that
ended in the middle of its work is started by the next call. One that does not even start is tried
again after 1, 2, 4, … seconds, ``MOST_FAILURES`` times in a row; then it is given up until the user
starts it. A call is never sent twice.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from agentchat.core.errors import ToolError
from agentchat.core.frontend import Frontend
from agentchat.rpc.background import BackgroundTasks
from agentchat.rpc.frames import RemoteError
from agentchat.rpc.peer import OnProgress
from agentchat.tools.mcp.config import ConfigError, ServerConfig, expand_variables
from agentchat.tools.mcp.definition import ToolDefinition, read_definitions
from agentchat.tools.mcp.elicitation import Elicitation
from agentchat.tools.mcp.worker import McpWorker

ServerState = Literal["stopped", "starting", "running", "failed"]

MOST_FAILURES = 5
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0


@dataclass
class McpServer:
    """One server of one project.

    ``tokens`` is the folder with the tokens of logins, ``about`` what the server reported when it
    was connected; ``problems`` are lines about tools that cannot be used.
    """

    config: ServerConfig
    worker: McpWorker
    on_change: Callable[[McpServer], None]
    tokens: Path
    state: ServerState = "stopped"
    problem: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)
    tools: tuple[ToolDefinition, ...] = ()
    problems: tuple[str, ...] = ()
    fingerprint: str = ""
    failures: int = 0
    _frontends: dict[str, Frontend | None] = field(default_factory=dict)
    _elicitation: Elicitation = field(default_factory=Elicitation)
    _failed_at: float = 0.0
    _starting: asyncio.Task[None] | None = None
    _retrying: asyncio.Task[None] | None = None
    _tasks: BackgroundTasks = field(default_factory=BackgroundTasks)

    @property
    def name(self) -> str:
        """The name the user gave it."""
        return self.config.name

    @property
    def key(self) -> str:
        """Its identity in the worker."""
        return f"{self.config.root}\0{self.name}"

    @property
    def is_given_up(self) -> bool:
        """Whether it failed so often that only the user starts it again."""
        return self.failures >= MOST_FAILURES

    def start_soon(self) -> None:
        """Start it in the background, and try again for a while if it does not start."""
        self.state = "starting"
        self._retrying = self._tasks.start(self._try_to_start())

    async def start(self) -> None:
        """Return when it runs; raises ToolError."""
        if self.state == "running":
            return
        if self._starting is None or self._starting.done():
            self._check_pause()
            self._starting = asyncio.ensure_future(self._start())
        await self._wait_for(self._starting)

    async def _wait_for(self, starting: asyncio.Task[None]) -> None:
        """Return when it has started; raises ToolError, also if it is stopped meanwhile."""
        try:
            await asyncio.shield(starting)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not starting.cancelled() or (task is not None and task.cancelling()):
                raise
            raise ToolError(self._stopped) from None

    @property
    def _stopped(self) -> str:
        return f"MCP server {self.name} was stopped while it started."

    async def login(self) -> None:
        """Connect, and let the user log in; raises ToolError."""
        await self.stop()
        self.failures = 0
        self._starting = asyncio.ensure_future(self._start(login=True))
        await self._wait_for(self._starting)

    async def logout(self) -> bool:
        """Forget the tokens and disconnect; return whether there were any. Raises ConfigError."""
        await self.stop()
        existed = self._token_file.exists()
        self._token_file.unlink(missing_ok=True)
        return existed

    @property
    def _token_file(self) -> Path:
        """The file with the tokens for this URL."""
        url = expand_variables(self.config.url, os.environ, self.config.root)
        digest = hashlib.sha256(url.encode()).hexdigest()
        return self.tokens / f"{digest}.json"

    async def stop(self) -> None:
        """End it; a call starts it again."""
        await self._end("stopped")

    async def _end(self, next_state: ServerState) -> None:
        if self._retrying is not None:
            self._retrying.cancel()
        if self._starting is not None:
            self._starting.cancel()
            self._starting = None  # it may take a moment to end: nobody must wait for it
        running = self.state in ("running", "starting")
        self._set_state(next_state)
        if running:
            await self.worker.request("disconnect", {"key": self.key})

    async def restart(self) -> None:
        """End it and start it, even if it was given up; raises ToolError."""
        await self._end("starting")
        if self.state != "starting":
            raise ToolError(self._stopped)
        self.failures = 0
        await self.start()

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        on_progress: OnProgress,
        frontend: Frontend | None = None,
    ) -> Mapping[str, Any]:
        """Return the result of a tool; raises ToolError.

        Args:
            frontend: where the server's questions about this call are asked.
        """
        call = uuid.uuid4().hex
        self._frontends[call] = frontend
        try:
            params = {"call": call, "tool": tool, "arguments": dict(arguments)}
            result: Mapping[str, Any] = await self._ask("call", params, on_progress)
            return result
        finally:
            del self._frontends[call]

    async def elicit(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the user's answer to a question that the server asks about a call."""
        frontend = self._frontends.get(params["call"])
        return await self._elicitation.ask(self.name, params, frontend)

    async def read_resource(self, uri: str) -> Sequence[Mapping[str, Any]]:
        """Return the contents of a resource; raises ToolError."""
        contents: Sequence[Mapping[str, Any]] = await self._ask("read_resource", {"uri": uri})
        return contents

    async def get_prompt(
        self, prompt: str, arguments: Mapping[str, str]
    ) -> Sequence[Mapping[str, Any]]:
        """Return the messages of a prompt; raises ToolError."""
        params = {"prompt": prompt, "arguments": dict(arguments)}
        messages: Sequence[Mapping[str, Any]] = await self._ask("get_prompt", params)
        return messages

    async def log(self) -> list[str]:
        """Return the last lines it wrote to standard error."""
        if self.state == "stopped" and not self.about and not self.problem:
            return []
        lines: list[str] = await self._request("log", {"key": self.key})
        return lines

    def take_lists(self, about: Mapping[str, Any]) -> None:
        """Take over the lists of tools, resources and prompts."""
        self.about = {**self.about, **about}
        self.tools, self.problems = read_definitions(self.name, self.about.get("tools") or ())
        self.on_change(self)

    def take_end(self, reason: str) -> None:
        """Note that it ended by itself; its tools stay, and a call starts it again."""
        if self.state == "running":
            self.problem = reason
            self._set_state("failed")

    async def _ask(
        self, method: str, params: Mapping[str, Any], on_progress: OnProgress | None = None
    ) -> Any:
        """Return the server's answer; start the server again if it had ended before."""
        for _ in range(2):
            await self.start()
            answer = await self._request(method, {"key": self.key, **params}, on_progress)
            if answer:
                return answer[0]
            self.take_end(self.problem)
        raise ToolError(f"MCP server {self.name} ends as soon as it is started.")

    async def _request(
        self, method: str, params: Mapping[str, Any], on_progress: OnProgress | None = None
    ) -> Any:
        try:
            return await self.worker.request(method, params, on_progress)
        except RemoteError as error:
            raise ToolError(f"MCP server {self.name}: {error}") from error

    async def _start(self, *, login: bool = False) -> None:
        self._set_state("starting")
        try:
            expanded = self.config.expand(os.environ)
            more = {"login": login, "tokens": str(self._token_file)}
            params = {"key": self.key, "config": {**asdict(expanded), **more}}
            about = await self._request("connect", params)
        except (ConfigError, ToolError) as error:
            text = str(error)
            fixed = isinstance(error, ConfigError)
            self.problem = f"MCP server {self.name}: {text}" if fixed else text
            self.failures += 1
            self._failed_at = time.monotonic()
            self._set_state("failed")
            raise ToolError(self.problem) from error
        self.failures, self.problem = 0, ""
        self.fingerprint = expanded.fingerprint
        self.state = "running"
        self.take_lists(about)

    def _check_pause(self) -> None:
        """Raise ToolError if it failed a moment ago, or too often."""
        if self.is_given_up:
            raise ToolError(
                f"{self.problem} It failed {self.failures} times and is not started again: "
                f"see :AgentMcp log {self.name}, then run :AgentMcp restart {self.name}."
            )
        wait = self._pause() - (time.monotonic() - self._failed_at)
        if self.failures and wait > 0:
            raise ToolError(f"{self.problem} It can be started again in {wait:.0f} s.")

    def _pause(self) -> float:
        return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (self.failures - 1)) if self.failures else 0

    async def _try_to_start(self) -> None:
        while self.state in ("starting", "failed") and not self.is_given_up:
            try:
                await self.start()
            except ToolError:
                await asyncio.sleep(self._pause())

    def _set_state(self, state: ServerState) -> None:
        self.state = state
        self.on_change(self)
