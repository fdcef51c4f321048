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
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, cast

from typing_extensions import override

from agentchat.core.errors import Irreversible, ToolError
from agentchat.core.tools.tool import ArgumentError
from agentchat.rpc.frames import RequestCancelled, error_text
from agentchat.rpc.peer import IncomingRequest, Peer
from agentchat.tools.custom.checkpoint import CheckpointDefinition
from agentchat.tools.custom.context import (
    OVER,
    CommandResult,
    Context,
    Result,
    dry_run_of,
    plain,
    result_of,
    texts_of,
)
from agentchat.tools.custom.definition import ASKS, RESOURCES, Definition
from agentchat.tools.custom.files import GONE, ImportProblem, Source, import_source
from agentchat.tools.custom.parameters import BoundFunction, bind
from agentchat.tools.custom.processor import NAMES, ProcessorDefinition
from agentchat.tools.custom.registration import NO_REGISTRAR, registering_with

PRINT_SECONDS = 1 / 30
MOST_PRINTED = 16 * 1024
"""Characters that wait to be shown; the older part of a flood is dropped."""


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
        if role == "render_call":  # a call is shown while its arguments still arrive
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
        """Apply or reject a preview; forget it if that succeeds."""
        callbacks = self._previews.get(params["preview"])
        if callbacks is None:
            raise ToolError(GONE)
        context = Context(params["cwd"], params["call_id"])
        _enter(context.cwd)
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

    def _process_result(self, params: Mapping[str, Any]) -> str | None:
        """Return the text for the model in place of a large result, or ``None``."""
        name = params["name"]
        processor = self._processors.get(params["file"], {}).get(name)
        if processor is None:
            raise ToolError(GONE)
        given = {key: params[key] for key in NAMES}
        with self._context(params) as context:
            value = _value(processor.function, given, context)
        return None if value is None else result_of(value, name).text

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
        context = CallContext(**fields, _server=self, _incoming=self._current)
        try:
            yield context
        finally:
            context.end()

    def _parse(self, definition: Definition, arguments: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return definition.parameters.parse(arguments)
        except ArgumentError as error:
            lines = [f"  - {name}: {reason}" for name, reason in error.problems]
            head = f'Validation failed for tool "{definition.spec.name}":'
            raise ToolError("\n".join([head, *lines])) from error


@dataclass(frozen=True, kw_only=True)
class CallContext(Context):
    """The context of a call: it sends requests to the plugin and blocks the calling thread."""

    _server: ToolServer = field(repr=False)
    _incoming: IncomingRequest = field(repr=False)
    _over: threading.Event = field(default_factory=threading.Event, repr=False)

    @override
    def progress(self, text: object) -> None:
        line = str(text)
        if not self._over.is_set():
            self._server.printer.write(line if line.endswith("\n") else f"{line}\n")

    @override
    def stage(
        self,
        label: str,
        apply: Callable[..., Any],
        reject: Callable[..., Any] | None = None,
        source: str = "custom_tool",
        preview: str = "",
        details: Any = None,
    ) -> None:
        texts = {"label": str(label), "source": str(source), "text": str(preview)}
        self._stage(apply, reject, texts, details)

    @override
    def set_standing_resolve_handler(
        self,
        label: str,
        apply: Callable[..., Any],
        reject: Callable[..., Any] | None = None,
        source: str = "custom_tool",
        preview: str = "",
        details: Any = None,
    ) -> None:
        texts = {"label": str(label), "source": str(source), "text": str(preview)}
        self._stage(apply, reject, texts, details, standing=True)

    @override
    def clear_standing_resolve_handler(self) -> None:
        self._request("clear_standing")

    @override
    def read(self, path: str) -> str:
        data: bytes = self._request("read", path=str(path))
        return data.decode("utf-8-sig")

    @override
    def run(self, command: str, timeout: float | None = None) -> CommandResult:
        code, text = self._request("command", command=str(command), timeout=timeout)
        return CommandResult(code, text)

    def end(self) -> None:
        """End the call: from now on the context does nothing."""
        self._over.set()

    def _stage(
        self,
        apply: Callable[..., Any],
        reject: Callable[..., Any] | None,
        texts: Mapping[str, str],
        details: Any,
        standing: bool = False,
    ) -> None:
        details = plain(details, "stage")
        number = self._server.add_preview(apply=apply, reject=reject)
        self._request(
            "stage",
            preview=number,
            has_reject=reject is not None,
            details=details,
            standing=standing,
            **texts,
        )

    def _request(self, method: str, **params: Any) -> Any:
        if self._over.is_set():
            raise ToolError(OVER)
        try:
            return self._server.peer.request_blocking(method, {"call": self._incoming.id, **params})
        except RequestCancelled:
            raise ToolError(OVER) from None


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


class Printer:
    """Sends what a function prints as progress: bounded, and at most 30 times a second."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ready = threading.Event()
        self._text = ""
        self._incoming: IncomingRequest | None = None
        threading.Thread(target=self._run, name="print", daemon=True).start()

    def begin(self, incoming: IncomingRequest) -> None:
        """Send printed text for this request from now on."""
        with self._lock:
            self._incoming = incoming

    def end(self) -> None:
        """Send the rest; text that is printed between requests is dropped."""
        self._flush()
        with self._lock:
            self._incoming = None

    def write(self, text: str) -> None:
        """Add some text, from any thread."""
        with self._lock:
            if self._incoming is None:
                return
            self._text = (self._text + text[-MOST_PRINTED:])[-MOST_PRINTED:]
        self._ready.set()

    def _flush(self) -> None:
        with self._lock:
            text, self._text = self._text, ""
            if text and self._incoming is not None:
                self._incoming.progress(text.encode("utf-8", "replace").decode("utf-8"))

    def _run(self) -> None:
        while True:
            self._ready.wait()
            self._ready.clear()
            self._flush()
            time.sleep(PRINT_SECONDS)


class PrintedBytes(io.RawIOBase):
    """The raw stream below ``sys.stdout`` and ``sys.stderr``, which writes to the printer."""

    def __init__(self, printer: Printer) -> None:
        self._printer = printer

    def writable(self) -> bool:
        """Return true."""
        return True

    def fileno(self) -> int:
        """Return the descriptor of the real output, which is discarded."""
        return 1

    def write(self, data: Any) -> int:
        """Show some bytes."""
        self._printer.write(bytes(data).decode("utf-8", "replace"))
        return len(data)


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
