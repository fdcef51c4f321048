"""The process in which the user's functions run.

Its main thread serves one request at a time: it imports a file, checks arguments, or calls
functions of a tool in the working directory of the chat. Two more threads read and write messages
(see ``rpc.peer``), so the process receives messages while a function runs.

Cancelling a request interrupts the main thread as Ctrl-C does: a function can clean up. If it does
not end, the plugin kills the process. The process also ends, with all processes that its functions
started, when the plugin ends.
"""

from __future__ import annotations

import asyncio
import inspect
import io
import itertools
import os
import queue
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, cast

from agentchat.core.errors import Irreversible, ToolError
from agentchat.core.tools.tool import ArgumentError
from agentchat.rpc.frames import RequestCancelled, error_text
from agentchat.rpc.peer import IncomingRequest, Peer
from agentchat.tools.custom.declaration.checkpoint import CheckpointDefinition
from agentchat.tools.custom.declaration.context import (
    Context,
    Result,
    dry_run_of,
    plain,
    result_of,
    texts_of,
)
from agentchat.tools.custom.declaration.definition import Definition
from agentchat.tools.custom.declaration.file_import import ImportProblem, import_source
from agentchat.tools.custom.declaration.files import GONE
from agentchat.tools.custom.declaration.parameters import BoundFunction, bind
from agentchat.tools.custom.declaration.processor import NAMES, ProcessorDefinition
from agentchat.tools.custom.declaration.registration import NO_REGISTRAR, registering_with
from agentchat.tools.custom.declaration.spec import ASKS, OVER, RESOURCES
from agentchat.tools.custom.process.call_context import LinkedCall
from agentchat.tools.custom.process.printing import PrintedBytes, Printer
from agentchat.tools.trust import Source


class UserCodeError(Exception):
    """A function raised the cause; the message is that of the cause."""


class ToolServer:
    """Serves one connection with the plugin, one request after the other.

    ``definitions`` has the tools by the key of their file and by name. ``interrupt`` is called, in
    another thread, to end the request that runs.
    """

    def __init__(
        self, connection: socket.socket, interrupt: Callable[[], None] = lambda: None
    ) -> None:
        self.definitions: dict[str, dict[str, Definition]] = {}
        self.printer = Printer()
        self._interrupt = interrupt
        self._interruptible = False
        self._current: IncomingRequest | None = None
        self._waiting: queue.SimpleQueue[IncomingRequest | None] = queue.SimpleQueue()
        self._checkpoints: dict[str, dict[str, CheckpointDefinition]] = {}
        self._processors: dict[str, dict[str, ProcessorDefinition]] = {}
        self._previews: dict[int, dict[str, BoundFunction]] = {}
        self._numbers = itertools.count(1)
        self._handlers = {
            "ready": lambda params: None,
            "import": self._import,
            "check": self._check,
            "run": self._run,
            "hook": self._hook,
            "resolve": self._resolve,
            "checkpoint": self._checkpoint,
            "process_result": self._process_result,
        }
        sink = os.dup(connection.fileno())
        self.peer = Peer(connection.makefile("rb"), sink, self._waiting.put)
        connection.close()  # the peer has it now

    def serve(self) -> None:
        """Serve requests in this thread until the connection ends."""
        self.peer.end_reason.add_done_callback(lambda _: self._waiting.put(None))
        self.peer.start()
        with registering_with(self):
            while (incoming := self._waiting.get()) is not None:
                self._serve(incoming)

    def register(self, definition: Definition) -> None:
        """Add a tool that a function registers to its file; raises ToolError."""
        file = self._current_file()
        self._ask_plugin("register", {"file": file, "spec": asdict(definition.spec)})
        self.definitions.setdefault(file, {})[definition.spec.name] = definition

    def unregister(self, name: str) -> bool:
        """Remove a tool that a function of the file has registered."""
        params = {"file": self._current_file(), "name": str(name)}
        return bool(self._ask_plugin("unregister", params))

    def list_tools(self) -> list[dict[str, Any]]:
        """Return the tools of the chat whose call runs."""
        if self._current is None:
            raise ToolError(NO_REGISTRAR)
        return list(self._ask_plugin("tools", {"call": self._current.id}))

    def _current_file(self) -> str:
        file: str | None = self._current.params.get("file") if self._current is not None else None
        if file is None:
            raise ToolError(NO_REGISTRAR)
        return file

    def _ask_plugin(self, method: str, params: Mapping[str, Any]) -> Any:
        try:
            return self.peer.request_blocking(method, params)
        except RequestCancelled:
            raise ToolError(OVER) from None

    def interrupted(self) -> bool:
        """Whether the request that runs is cancelled and must end; true once for each."""
        current = self._current
        if not self._interruptible or current is None or not current.cancelled:
            return False
        self._interruptible = False
        return True

    def _serve(self, incoming: IncomingRequest) -> None:
        self._current = incoming
        incoming.on_cancel = self._interrupt
        self.printer.begin(incoming)
        try:
            try:
                self._interruptible = True
                answer = self._answer(incoming)
            finally:
                self._interruptible = False
        except BaseException as error:
            self.printer.end()
            incoming.fail(RequestCancelled() if incoming.cancelled else error)
        else:
            self.printer.end()
            incoming.reply(answer)

    def _answer(self, incoming: IncomingRequest) -> Any:
        if incoming.cancelled:
            raise RequestCancelled
        try:
            return self._handlers[incoming.method](incoming.params)
        except (ToolError, RequestCancelled):
            raise
        except BaseException as error:
            raise UserCodeError(error_text(error)) from error

    def _import(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Import a file; return its contents, or the line and the text of its problem."""
        source = Source(Path(params["path"]), params["data"])
        os.chdir("/")
        try:
            contents = import_source(source)
        except ImportProblem as error:
            return {"problem": [error.problem.line, error.problem.text]}
        # Of two tools with one name the first has it.
        by_name = {definition.spec.name: definition for definition in contents.definitions[::-1]}
        self.definitions[source.key] = by_name
        self._checkpoints[source.key] = {c.spec.name: c for c in contents.checkpoints}
        self._processors[source.key] = {found.name: found for found in contents.processors}
        return {
            "tools": [asdict(definition.spec) for definition in contents.definitions],
            "groups": [asdict(group) for group in contents.groups],
            "checkpoints": [asdict(handler.spec) for handler in contents.checkpoints],
            "processors": [found.name for found in contents.processors],
        }

    def _check(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments as JSON data, or their problems."""
        try:
            return {"plain": self._definition(params).parameters.plain(params["arguments"])}
        except ArgumentError as error:
            return {"problems": error.problems}

    def _run(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Run the step that is a function, and those after it up to the next command.

        Return the result, and as ``next`` the number of the step after it.
        """
        definition = self._definition(params)
        name, functions = definition.spec.name, definition.functions
        arguments = self._parse(definition, params["arguments"])
        step, given = params["step"], params["given"]
        with self._context(params) as context:
            while True:
                value = _value(functions[str(step)], arguments, context, *given)
                result, step = result_of(value, name), step + 1
                if result.is_error or str(step) not in functions:
                    return {"result": asdict(result), "next": step}
                context.progress(result.text)
                given = [result.text if isinstance(value, Result) else value]

    def _hook(self, params: Mapping[str, Any]) -> Any:
        """Call a function among the options; return its value as JSON data."""
        definition, role = self._definition(params), params["role"]
        function = definition.functions.get(role)
        if function is None:
            raise ToolError(GONE)
        given = [Result(**result) for result in params["given"]]
        values = dict(params["values"])
        if "result" in values:
            values["result"] = Result(**values["result"])
        if role == "description":  # there is no call
            arguments = {}
        elif role == "render_call":  # a call is shown while its arguments still arrive
            arguments = {**definition.parameters.defaults, **params["arguments"]}
        else:
            arguments = self._parse(definition, params["arguments"])
        with self._context(params) as context:
            value = _value(function, arguments, context, *given, values=values)
        if isinstance(value, Irreversible):
            raise value
        if role == ASKS:
            return bool(value)
        if role == RESOURCES:
            return texts_of(value, definition.spec.name)
        if role == "dry_run":
            return dry_run_of(value, definition.spec.name)
        if value is None or role in ("setup", "on_exit"):
            return None
        return asdict(result_of(value, definition.spec.name))

    def _resolve(self, params: Mapping[str, Any]) -> Any:
        """Apply or reject a preview; forget it when it is rejected, or applied without an error."""
        callbacks = self._previews.get(params["preview"])
        if callbacks is None:
            raise ToolError(GONE)
        context = Context(params["cwd"], params["call_id"])
        _enter(context.cwd)
        if params["action"] == "reject" and not params["standing"]:
            del self._previews[params["preview"]]  # it is gone even if this fails
        value = _value(callbacks[params["action"]], {}, context, params["reason"], params["extra"])
        answer = None if value is None else asdict(result_of(value, params["name"]))
        if not params["standing"]:
            self._previews.pop(params["preview"], None)
        return answer

    def _checkpoint(self, params: Mapping[str, Any]) -> Any:
        """Save the state before a call and return it as JSON data, or restore it."""
        name, action = params["name"], params["action"]
        handler = self._checkpoints.get(params["file"], {}).get(name)
        if handler is None:
            raise ToolError(GONE)
        call = {"tool": params["tool"], "arguments": params["arguments"]}
        with self._context(params) as context:
            if action == "save":
                return plain(_value(handler.functions[action], call, context), name)
            value = _value(handler.functions[action], call, context, params["saved"])
        if isinstance(value, Irreversible):
            raise value
        return result_of(value, name).text

    def _process_result(self, params: Mapping[str, Any]) -> dict[str, str] | None:
        """Return the text for the model in place of a large result, or ``None``.

        With ``stored_at`` in its details, the processor has stored the result there.
        """
        name = params["name"]
        processor = self._processors.get(params["file"], {}).get(name)
        if processor is None:
            raise ToolError(GONE)
        given = {key: params[key] for key in NAMES}
        with self._context(params) as context:
            value = _value(processor.function, given, context)
        if value is None:
            return None
        result = result_of(value, name)
        details = result.details if isinstance(result.details, dict) else {}
        return {"text": result.text, "stored_at": str(details.get("stored_at") or "")}

    def add_preview(self, **callbacks: Callable[..., Any] | None) -> int:
        """Keep the callbacks of a preview by action; return the number to resolve it by."""
        number = next(self._numbers)
        self._previews[number] = {
            action: bind(function, (), earlier=2, role=action)
            for action, function in callbacks.items()
            if function is not None
        }
        return number

    def _definition(self, params: Mapping[str, Any]) -> Definition:
        definition = self.definitions.get(params["file"], {}).get(params["name"])
        if definition is None:
            raise ToolError(GONE)
        return definition

    @contextmanager
    def _context(self, params: Mapping[str, Any]) -> Iterator[Context]:
        """Return the context of a call, which works until the call ends."""
        assert self._current is not None
        _enter(params["cwd"])
        fields = {name: params[name] for name in ("cwd", "call_id", "flags")}
        if not params["linked"]:
            yield Context(**fields)
            return
        call = LinkedCall(self._current, self.peer, self.printer, self.add_preview)
        try:
            yield Context(**fields, _call=call)
        finally:
            call.end()

    def _parse(self, definition: Definition, arguments: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return definition.parameters.parse(arguments)
        except ArgumentError as error:
            lines = [f"  - {name}: {reason}" for name, reason in error.problems]
            head = f'Validation failed for tool "{definition.spec.name}":'
            raise ToolError("\n".join([head, *lines])) from error


def _enter(folder: str) -> None:
    if not os.path.isdir(folder):
        raise ToolError(f"Working directory not found: {folder}. Nothing was run.")
    os.chdir(folder)


def _value(
    function: BoundFunction,
    arguments: Mapping[str, Any],
    context: Context,
    *earlier: Any,
    values: Mapping[str, Any] = MappingProxyType({}),
) -> Any:
    """Call a function; await an awaitable value, and make a list of an iterator."""
    value = function.call(arguments, context, *earlier, values=values)
    if inspect.isawaitable(value):
        value = asyncio.run(_awaited(value))
    return list(value) if isinstance(value, Iterator) else value


async def _awaited(value: Any) -> Any:
    return await value


def main(descriptor: int) -> None:
    """Serve the plugin at the other end of a socket."""
    os.set_inheritable(descriptor, False)
    thread = threading.get_ident()
    server = ToolServer(
        socket.socket(fileno=descriptor), lambda: signal.pthread_kill(thread, signal.SIGINT)
    )

    def interrupt(*_: object) -> None:
        if server.interrupted():
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    sys.stdout = sys.stderr = io.TextIOWrapper(
        cast("BinaryIO", PrintedBytes(server.printer)), "utf-8", "replace", write_through=True
    )
    # Everything in this process group ends with the connection.
    server.peer.end_reason.add_done_callback(lambda _: os.killpg(os.getpgrp(), signal.SIGKILL))
    server.serve()
