"""One connection to a server, in the worker: the only modules that import the SDK are there."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import mcp_types as types
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import FileUrl, ValidationError

from agentchat.core.errors import ToolError
from agentchat.rpc.peer import IncomingRequest
from agentchat.tools.mcp.contents import (
    drop_invalid_tools,
    prompt_data,
    read_lists,
    resource_data,
    result_data,
)
from agentchat.tools.mcp.oauth import LOGIN_SECONDS, Login
from agentchat.tools.mcp.stdio import ServerLog, StdioTransport
from agentchat.tools.mcp.transports import TRANSPORTS, LatestProgress, paced

T = TypeVar("T")

SETTLE_SECONDS = 0.1
"""How long changes of the lists are collected before the lists are read again."""
CURRENT_SECONDS = 1.0
RELISTEN_SECONDS = 5.0
END_SECONDS = 1.0
"""How long a closed connection waits to learn how the process ended."""

Params = Mapping[str, Any]
Report = Callable[[str, Params], Awaitable[Any]]
"""Sends a request to the plugin: its method and parameters."""

_CANNOT_ASK = re.compile(r"Cannot send '(?:elicitation/create|roots/list)'")
"""The error of a server that asks as in the older protocol, over a connection of the newer one."""
_LOST = re.compile(r"Connection closed$|SSE stream |[Ss]ession terminated")
"""Errors the SDK makes when no answer can come; servers use their codes for other errors."""

_call: ContextVar[str] = ContextVar("call", default="")


class Connection:
    """Connects to one server and serves requests about it until it is closed.

    Args:
        config: the server's configuration with the values of variables.
        report: sends requests to the plugin.
        is_older: whether to connect with the older protocol even if the server has the newer one.
    """

    def __init__(self, key: str, config: Params, report: Report, *, is_older: bool = False) -> None:
        self.log = ServerLog((*config["env"].values(), *config["headers"].values()))
        self.is_older = is_older
        self._key = key
        self._name: str = config["name"]
        self._config = config
        self._report = report
        self._closing = asyncio.Event()
        self._changed = asyncio.Event()
        self._current = asyncio.Event()
        self._current.set()
        self._limits: dict[str, _Limit] = {}
        self._client: Client | None = None
        self._stdio: StdioTransport | None = None
        if config["transport"] == "stdio":
            self._stdio = StdioTransport(config, self.log, self._report_group)
        self._lost = asyncio.Event()
        self._login = Login(config, self._show_login if config["login"] else None)
        self._task: asyncio.Task[None] | None = None
        self._end_reason = ""
        self._lists: dict[str, Any] = {}

    # --- opening and closing ----------------------------------------------------------------------

    async def open(self) -> dict[str, Any]:
        """Connect and return what the server is and offers; raises ToolError."""
        ready: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._task = asyncio.ensure_future(self._run(ready))
        seconds = LOGIN_SECONDS if self._config["login"] else self._config["start_timeout"]
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(ready)
        except TimeoutError:
            await self.close()
            raise ToolError(self._late(seconds)) from None
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End the connection and the process."""
        self._closing.set()
        if self._task is not None:
            is_open = self._client is not None
            done, _ = await asyncio.wait({self._task}, timeout=2 * END_SECONDS if is_open else 0)
            if not done:
                self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self, ready: asyncio.Future[dict[str, Any]]) -> None:
        """Hold the connection open; report how it ended, unless it was closed."""
        try:
            await self._login.listen()
            await self._run_on_a_transport(ready)
        except BaseException as error:
            explained = await self._explain(error)
            if not ready.done():
                ready.set_exception(explained)
                return
            self._end_reason = str(explained)
        finally:
            self._client = None
            self._login.close()
            if self._stdio is not None and self._stdio.pid:
                await self._report("exited", {"group": self._stdio.pid})
        if not self._closing.is_set():
            await self._report("ended", {"key": self._key, "reason": await self._end_text()})

    async def _run_on_a_transport(self, ready: asyncio.Future[dict[str, Any]]) -> None:
        """Hold the connection open; try an older way to connect if the newer one fails."""
        first_error: ToolError | None = None
        for transport in self._transports():
            try:
                async with self._connect(transport) as client:
                    self._client = client
                    ready.set_result(await self._describe(client))
                    await self._hold(client)
                return
            except Exception as error:
                if ready.done():
                    raise
                first_error = first_error or await self._explain(error)
                if "login" in str(first_error):
                    break
        if first_error is not None:
            raise first_error

    def _transports(self) -> list[Any]:
        if self._stdio is not None:
            return [self._stdio]
        ways = TRANSPORTS[self._config["transport"]]
        return [connect(self._config, self._login) for connect in ways]

    @contextlib.asynccontextmanager
    async def _connect(self, transport: Any) -> AsyncIterator[Client]:
        client = Client(
            paced(transport, partial(drop_invalid_tools, self.log.note)),
            mode="legacy" if self.is_older else "auto",
            client_info=types.Implementation(name="agentchat.nvim", version="1"),
            message_handler=self._note_message,
            list_roots_callback=self._roots,
            elicitation_callback=self._elicit,
            cache=None,
        )
        async with client:
            yield client

    async def _report_group(self, group: int) -> None:
        await self._report("started", {"group": group})

    async def _hold(self, client: Client) -> None:
        """Keep the lists up to date until the connection ends or is closed."""
        ended = self._stdio.ended if self._stdio is not None else self._lost
        work = [self._closing.wait(), ended.wait(), self._refresh(client)]
        if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
            work.append(self._listen(client))
        tasks = [asyncio.ensure_future(each) for each in work]
        try:
            await asyncio.wait(tasks[:2], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    # --- what the server offers -------------------------------------------------------------------

    async def _describe(self, client: Client) -> dict[str, Any]:
        info = client.server_info
        self._lists = await read_lists(client)
        return {
            "protocol": client.protocol_version,
            "server": f"{info.name} {info.version}".strip() if info is not None else "",
            "instructions": client.instructions or "",
            **self._lists,
        }

    async def _note_message(self, message: Any) -> None:
        """Take a notification; all but changes of the lists are dropped."""
        method = getattr(message, "method", "")
        if method.endswith("/list_changed"):
            self._invalidate()

    def _invalidate(self) -> None:
        """Read the lists again soon."""
        self._current.clear()
        self._changed.set()

    async def _wait_for_lists(self) -> None:
        """Wait, but not for long, until the plugin has the lists that a call has changed."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._current.wait(), CURRENT_SECONDS)

    async def _refresh(self, client: Client) -> None:
        while True:
            await self._changed.wait()
            await asyncio.sleep(SETTLE_SECONDS)
            self._changed.clear()
            try:
                async with asyncio.timeout(self._config["start_timeout"]):
                    lists = await read_lists(client)
                if lists != self._lists:
                    self._lists = lists
                    await self._report("changed", {"key": self._key, **lists})
            except (MCPError, ValidationError, TimeoutError) as error:
                self.log.note(f"the lists cannot be read: {error!r}")
            if not self._changed.is_set():
                self._current.set()

    async def _listen(self, client: Client) -> None:
        """Subscribe to changes of the lists, as servers of the newer protocol want it."""
        while True:
            try:
                async with client.listen(
                    tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True
                ) as events:
                    async for _ in events:
                        self._invalidate()
            except MCPError:
                return  # the server has no subscriptions
            except Exception as error:
                self.log.note(f"the subscription ended: {error}")
            await asyncio.sleep(RELISTEN_SECONDS)
            self._invalidate()

    async def _show_login(self, url: str) -> None:
        await self._report("login", {"key": self._key, "url": url})

    async def _elicit(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        """Let the plugin ask the user on behalf of a call: its own, or the newest one."""
        call = _call.get() or next(reversed(self._limits), "")
        limit = self._limits.get(call)
        if limit is not None:
            limit.pause()
        try:
            data = params.model_dump(mode="json", by_alias=True, exclude_none=True)
            answer = await self._report("elicit", {"key": self._key, "call": call, **data})
        finally:
            if limit is not None:
                limit.extend()
        return types.ElicitResult(action=answer["action"], content=answer.get("content"))

    async def _roots(self, context: Any) -> types.ListRootsResult:
        root = Path(self._config["root"])
        return types.ListRootsResult(roots=[types.Root(uri=FileUrl(root.as_uri()), name=root.name)])

    # --- requests ---------------------------------------------------------------------------------

    @property
    def alive(self) -> bool:
        """Whether requests can be sent to the server."""
        has_ended = self._stdio is not None and self._stdio.ended.is_set()
        return self._client is not None and not (has_ended or self._lost.is_set())

    async def call(self, incoming: IncomingRequest) -> dict[str, Any]:
        """Return the result of a tool; raises ToolError."""
        params = incoming.params

        async def progress(progress: float, total: float | None, message: str | None) -> None:
            limit.extend()
            latest.report({"done": progress, "total": total, "message": message or ""})

        async def send(client: Client) -> Any:
            try:
                return await client.call_tool(
                    params["tool"], params["arguments"], progress_callback=progress
                )
            except MCPError as error:
                raise await self._prepare_next_call(error) from error

        limit, latest = _Limit(self._config["timeout"]), LatestProgress(incoming.progress)
        self._limits[params["call"]] = limit
        _call.set(params["call"])
        try:
            result = result_data(await self._request(send, limit))
            await self._wait_for_lists()
            return result
        finally:
            latest.flush()
            del self._limits[params["call"]]

    async def _prepare_next_call(self, error: MCPError) -> Exception:
        """Return the error of a call; one that wants the user first is prepared to be repeated."""
        if _CANNOT_ASK.match(error.message):
            self.is_older = True
            self._lost.set()
            problem = "asks in the way of the older protocol, and is now connected with that"
        elif error.code == types.URL_ELICITATION_REQUIRED:
            asked = UrlElicitationRequiredError.from_error(error.error).elicitations
            answers = [await self._elicit(None, params) for params in asked]
            if any(answer.action != "accept" for answer in answers):
                return ToolError(f"The user opened no page for the MCP server {self._name}.")
            problem = "wanted the user to open a page, which is done"
        else:
            return error
        return ToolError(f"MCP server {self._name} {problem}. Call the tool again.")

    async def read_resource(self, incoming: IncomingRequest) -> list[dict[str, Any]]:
        """Return the contents of a resource; raises ToolError."""
        uri = incoming.params["uri"]
        limit = _Limit(self._config["timeout"])
        result = await self._request(lambda client: client.read_resource(uri), limit)
        return [resource_data(item) for item in result.contents]

    async def get_prompt(self, incoming: IncomingRequest) -> list[dict[str, Any]]:
        """Return the messages of a prompt; raises ToolError."""
        params, limit = incoming.params, _Limit(self._config["timeout"])
        result = await self._request(
            lambda client: client.get_prompt(params["prompt"], dict(params["arguments"])), limit
        )
        return prompt_data(result)

    async def _request(self, send: Callable[[Client], Awaitable[T]], limit: _Limit) -> T:
        if self._client is None:
            raise ToolError(await self._end_text())
        try:
            async with limit.timeout:
                return await send(self._client)
        except TimeoutError:
            raise ToolError(self._late(limit.seconds)) from None
        except Exception as error:
            raise await self._explain(error) from error
        finally:
            limit.is_over = True

    # --- errors -----------------------------------------------------------------------------------

    def _late(self, seconds: float) -> str:
        return f"MCP server {self._name} did not answer within {seconds:g} s."

    async def _explain(self, error: BaseException) -> ToolError:
        """Return an error as one line that names the server."""
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, ToolError):
            return error
        is_closed = isinstance(error, (anyio.BrokenResourceError, anyio.ClosedResourceError))
        if is_closed or (isinstance(error, MCPError) and _LOST.match(error.message)):
            self._lost.set()  # the next call connects again
            if is_closed or self._stdio is not None or str(error) == "Connection closed":
                return ToolError(await self._end_text())
        if isinstance(error, FileNotFoundError) and self._stdio is not None:
            missing = error.filename or self._config["command"]
            return ToolError(f"MCP server {self._name}: {missing} does not exist.")
        if isinstance(error, ValidationError):
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            return ToolError(
                f"MCP server {self._name} sent an invalid answer: {place}: {first['msg']}"
            )
        return ToolError(f"MCP server {self._name}: {str(error) or type(error).__name__}")

    async def _end_text(self) -> str:
        """Return how the server ended."""
        if self._stdio is None:
            if self._task is not None and self._task is not asyncio.current_task():
                await asyncio.wait({self._task}, timeout=END_SECONDS)
            return self._end_reason or f"MCP server {self._name}: the connection ended."
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stdio.ended.wait(), END_SECONDS)
        code, line = self._stdio.exit_code, self.log.last_error_line
        if code is None:
            return f"MCP server {self._name} closed its output."
        return f"MCP server {self._name} ended (exit {code})" + (f": {line}" if line else ".")


class _Limit:
    """The time limit of one request."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.timeout = asyncio.timeout(seconds)
        self.is_over = False
        """Whether the result is there; the server may still ask or report progress then."""

    def extend(self) -> None:
        """Start again: the server has shown that it works."""
        if not self.is_over:
            self.timeout.reschedule(asyncio.get_running_loop().time() + self.seconds)

    def pause(self) -> None:
        """Wait without a limit: the user is asked."""
        if not self.is_over:
            self.timeout.reschedule(None)
