"""The worker for one agent: speaks the protocol, and owns the agent's process.

    open {name, argv, env, cwd, timeout, mode, client}   starts it; what it is, and its session
    prompt {blocks}                                     its stop reason; updates as progress
    cancel {}                                           tells it to stop
    kill {}                                             kills it and its tree
    log {}                                              its last lines that were no messages

It sends, as requests: ``permission``, ``read_file`` and ``write_file`` with the agent's parameters,
whose result is the agent's answer, and ``exited`` when the process has ended. When the connection
to the plugin ends, the worker ends the agent and itself.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agentchat.agent.external.acp.process import AgentProcess
from agentchat.core.errors import ToolError
from agentchat.rpc.background import run_in_thread
from agentchat.rpc.peer import IncomingRequest, Peer, RequestTasks

if TYPE_CHECKING:
    from acp import RequestError
    from acp.connection import Connection

PROTOCOL_VERSION = 1
AUTH_REQUIRED = -32000
ANSWER_SECONDS = 1.0
"""How long a stop waits for the answers to the agent's open requests."""
CLOSE_SECONDS = 6.0
UNSENT_BYTES = 8 * 1024 * 1024
"""Bytes of updates that may wait for the host; then the agent waits."""

SERVED: Mapping[str, str] = {
    "session/request_permission": "permission",
    "fs/read_text_file": "read_file",
    "fs/write_text_file": "write_file",
}
"""Requests of an agent that the host answers, by what they are called there."""

Params = dict[str, Any]


class AgentSession:
    """The one agent of this process."""

    def __init__(self) -> None:
        self.peer: Peer | None = None
        self._name = "agent"
        self._process: AgentProcess | None = None
        self._connection: Connection | None = None
        self._session = ""
        self._prompt: IncomingRequest | None = None
        self._watching: asyncio.Task[None] | None = None
        self._served: set[asyncio.Task[Any]] = set()
        """The open requests of the agent; each task ends when its answer is sent."""
        self.handlers = {
            "open": self._open,
            "prompt": self._ask,
            "cancel": self._cancel,
            "kill": self._kill,
            "log": self._log,
        }

    # --- the host ---------------------------------------------------------------------------------

    async def _open(self, incoming: IncomingRequest) -> Params:
        # In a thread, since it takes long: a chat that is closed meanwhile ends the worker at once.
        await run_in_thread(_import_sdk)
        from acp.connection import Connection

        params = incoming.params
        await self.close()
        self._name = params["name"]
        try:
            self._process = await AgentProcess.start(params["argv"], params["cwd"], params["env"])
        except OSError as error:
            raise ToolError(f"Agent {self._name} cannot be started: {error.strerror}.") from error
        self._connection = Connection(self._serve, self._process)
        self._watching = asyncio.ensure_future(self._watch(self._process))
        try:
            return await self._begin(params)
        except BaseException:
            self._process.kill()
            raise

    async def _begin(self, params: Mapping[str, Any]) -> Params:
        assert self._process is not None
        seconds = float(params["timeout"])
        about = await self._request("initialize", _initialize(params["client"]), seconds)
        version = about.get("protocolVersion")
        if version != PROTOCOL_VERSION:
            raise ToolError(
                f"Agent {self._name} speaks ACP version {version}; this plugin speaks "
                f"{PROTOCOL_VERSION}."
            )
        session = await self._request(
            "session/new", {"cwd": params["cwd"], "mcpServers": []}, seconds
        )
        self._session = str(session.get("sessionId") or "")
        await self._set_mode(session, params["mode"], seconds)
        return {"about": about, "session": self._session, "pid": self._process.pid}

    async def _set_mode(self, session: Params, wanted: str, seconds: float) -> None:
        """Set the agent's mode, where it offers the wanted one."""
        option = next(
            (o for o in _list(session, "configOptions") if o.get("category") == "mode"), {}
        )
        modes = session.get("modes") or {}
        names = [mode.get("id") for mode in _list(modes, "availableModes")]
        here = {"sessionId": self._session}
        if wanted in _values(option):
            given = {**here, "configId": option.get("id"), "value": wanted}
            await self._request("session/set_config_option", given, seconds)
        elif wanted in names:
            await self._request("session/set_mode", {**here, "modeId": wanted}, seconds)

    async def _ask(self, incoming: IncomingRequest) -> Params:
        self._prompt = incoming
        try:
            given = {"sessionId": self._session, "prompt": incoming.params["blocks"]}
            return await self._request("session/prompt", given, None)
        finally:
            self._prompt = None

    async def _cancel(self, incoming: IncomingRequest) -> None:
        if self._served:
            # Some agents end a turn only when each of their questions is answered.
            await asyncio.wait(self._served, timeout=ANSWER_SECONDS)
        if self._connection is not None:
            await self._connection.send_notification("session/cancel", {"sessionId": self._session})

    async def _kill(self, incoming: IncomingRequest) -> None:
        if self._process is not None:
            self._process.kill()

    async def _log(self, incoming: IncomingRequest) -> list[str]:
        return list(self._process.log) if self._process is not None else []

    async def close(self) -> None:
        """End the agent and all that it started."""
        process, self._process = self._process, None
        connection, self._connection = self._connection, None
        if process is not None:
            await process.close()
        if connection is not None:
            await connection.close()

    # --- the agent --------------------------------------------------------------------------------

    async def _request(self, method: str, params: Params, seconds: float | None) -> Params:
        """Return the agent's answer; raises ToolError with a line for the user."""
        from acp import RequestError

        process, connection = self._process, self._connection
        if process is None or connection is None:
            raise ToolError(f"Agent {self._name} is not started.")
        try:
            async with asyncio.timeout(seconds):
                answer = await connection.send_request(method, params)
        except TimeoutError:
            line = f" Last line: {process.last_error_line}" if process.last_error_line else ""
            raise ToolError(
                f"Agent {self._name} did not answer {method} within {seconds:g} s.{line}"
            ) from None
        except RequestError as error:
            raise ToolError(self._refusal(error)) from error
        except OSError as error:  # the connection has ended
            raise ToolError(await self._ending(process)) from error
        return answer if isinstance(answer, dict) else {}

    def _refusal(self, error: RequestError) -> str:
        if error.code == AUTH_REQUIRED:
            return f"{self._name} needs a login: log in with its own program, then send again."
        details = error.data.get("details") if isinstance(error.data, dict) else error.data
        text = f"{error}: {details}" if isinstance(details, str) and details else str(error)
        return f"{self._name}: {text}"

    async def _ending(self, process: AgentProcess) -> str:
        if process.speaks_no_acp:
            process.kill()
            return f"Agent {self._name} does not speak ACP: {process.speaks_no_acp}"
        code = await process.wait()
        line = f": {process.last_error_line}" if process.last_error_line else "."
        return f"Agent {self._name} ended (exit {code}){line}"

    async def _watch(self, process: AgentProcess) -> None:
        code = await process.wait()
        process.kill()  # what it left
        if self.peer is not None and self.peer.alive:
            await self.peer.request("exited", {"code": code})

    async def _serve(self, method: str, params: Any, is_notification: bool) -> Any:
        """Take a message of the agent; raises RequestError."""
        from acp import RequestError

        if is_notification:
            self._pass_on(method, params)
            return None
        if method not in SERVED:
            raise RequestError.method_not_found(method)
        if not isinstance(params, dict):
            raise RequestError.invalid_params()
        assert self.peer is not None
        task = asyncio.current_task()
        assert task is not None
        self._served.add(task)
        task.add_done_callback(self._served.discard)
        try:
            return await self.peer.request(SERVED[method], params)
        except ToolError as error:
            raise RequestError(-32602, str(error)) from error

    def _pass_on(self, method: str, params: Any) -> None:
        if method != "session/update" or not isinstance(params, dict) or self._prompt is None:
            return
        update = params.get("update")
        if isinstance(update, dict):
            self._prompt.progress(update)
            self._prompt.drain(UNSENT_BYTES)


def _import_sdk() -> None:
    importlib.import_module("acp")


def _initialize(version: str) -> Params:
    from acp.schema import (
        ClientCapabilities,
        FileSystemCapabilities,
        Implementation,
        InitializeRequest,
    )

    request = InitializeRequest(
        protocol_version=PROTOCOL_VERSION,
        client_capabilities=ClientCapabilities(
            fs=FileSystemCapabilities(read_text_file=True, write_text_file=True), terminal=False
        ),
        client_info=Implementation(name="agentchat.nvim", version=version),
    )
    return request.model_dump(mode="json", by_alias=True, exclude_none=True)


def _list(value: Any, name: str) -> list[Params]:
    items = value.get(name) if isinstance(value, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _values(option: Params) -> list[Any]:
    """Return the values of an option, those in groups included."""
    items = _list(option, "options")
    return [each.get("value") for item in items for each in (item, *_list(item, "options"))]


def main(descriptor: int) -> None:
    """Serve the plugin at the other end of a socket until it ends."""
    asyncio.run(_serve(descriptor))
    os._exit(0)  # threads that wait for a process must not delay the end


async def _serve(descriptor: int) -> None:
    connection = socket.socket(fileno=descriptor)
    session = AgentSession()
    tasks = RequestTasks(session.handlers)
    peer = session.peer = Peer(connection.makefile("rb"), os.dup(descriptor), tasks)
    peer.start()
    await asyncio.wrap_future(peer.end_reason)
    await tasks.cancel()  # a process that is being started would be missed
    await asyncio.wait({asyncio.ensure_future(session.close())}, timeout=CLOSE_SECONDS)
