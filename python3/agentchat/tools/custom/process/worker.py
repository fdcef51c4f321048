"""The plugin's side of one process in which the user's functions run (see ``server``)."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from agentchat.core.errors import ToolError
from agentchat.core.limits import BASH_SECONDS
from agentchat.core.tools.tool import NO_STORE, StagedPreview, ToolContext
from agentchat.rpc.background import run_in_thread
from agentchat.rpc.frames import Disconnected, RemoteError
from agentchat.rpc.peer import IncomingRequest, OutgoingRequest, Peer, RequestTasks
from agentchat.tools.builtin.bash import environment, run_shell
from agentchat.tools.custom.declaration.spec import OVER

GRACE_SECONDS = 2.0
"""How long a function may take to end once its call is cancelled."""

END_SECONDS = 2.0
"""How long the end of a call waits for the end of the commands it runs."""

STUBBORN = "a function in it did not end when its call was cancelled"
PACKAGES = str(Path(__file__).resolve().parents[4])
BOOT = """
import importlib, json, sys
sys.path[:] = json.loads(sys.argv[2])
importlib.import_module(sys.argv[3]).main(int(sys.argv[1]))
"""


class WorkerEnded(RemoteError):
    """The process is gone; the message says how it ended."""


class Process(Protocol):
    """A process that runs a server."""

    def kill(self) -> None:
        """End it and all processes that it started."""

    def wait(self) -> str:
        """Block until it has ended; return how."""


class CallServices:
    """Serves the requests that the ``Context`` of one call sends while a function runs.

    Args:
        staged_change: makes a preview whose callbacks the worker keeps.
    """

    def __init__(
        self,
        context: ToolContext,
        staged_change: Callable[[Worker, ToolContext, Mapping[str, Any]], StagedPreview],
    ) -> None:
        self._context = context
        self._staged_change = staged_change
        self._running: set[asyncio.Task[Any]] = set()

    def progress(self, text: str) -> None:
        """Show text in the block of the call."""
        self._context.progress(text)

    async def serve(self, worker: Worker, method: str, params: Mapping[str, Any]) -> Any:
        """Return the answer to a request of the function."""
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        try:
            if method == "stage":
                return self._context.stage(self._staged_change(worker, self._context, params))
            if method == "clear_standing":
                return self._context.clear_standing()
            if method == "tools":
                return list(self._context.describe_tools())
            if method == "read":
                return await self._read(params["path"])
            return await self._run(params["command"], params["timeout"])
        finally:
            self._running.discard(task)

    async def close(self) -> None:
        """End the commands that still run for the call."""
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running, timeout=END_SECONDS)

    async def _read(self, path: str) -> bytes:
        target = await self._context.workspace.locate(path)
        return await self._context.workspace.read(target.path)

    async def _run(self, command: str, seconds: float | None) -> tuple[int, str]:
        seconds = BASH_SECONDS if seconds is None else seconds
        result = await run_shell(command, self._context, seconds)
        if result.code is None:
            raise ToolError(f"{result.text}\n\n{result.failure}".strip())
        return result.code, result.text


def refuse_previews(
    worker: Worker, context: ToolContext, params: Mapping[str, Any]
) -> StagedPreview:
    """Raise ToolError: what runs here is no call that could stage a preview."""
    raise ToolError(NO_STORE)


class Worker:
    """One process, used for one call at a time.

    ``loaded`` are the keys of the files that were imported there, ``previews`` the numbers of the
    previews whose callbacks it keeps, ``tools`` the names of the tools that its functions have
    registered. ``registrar`` takes these. ``idle_since`` is when its last call ended.
    """

    def __init__(self, connection: socket.socket, process: Process) -> None:
        self.loaded: set[str] = set()
        self.previews: set[int] = set()
        self.tools: set[str] = set()
        self.registrar: Registrar | None = None
        self.idle_since = 0.0
        self._process = process
        self._kill_reason = self._ending = ""
        self._services: dict[int, CallServices] = {}
        self._cancelled: set[concurrent.futures.Future[Any]] = set()
        methods = dict.fromkeys(
            ("stage", "clear_standing", "read", "command", "tools"), self._serve
        )
        methods |= dict.fromkeys(("register", "unregister"), self._register)
        sink = os.dup(connection.fileno())
        self._peer = Peer(connection.makefile("rb"), sink, RequestTasks(methods))
        self._peer.end_reason.add_done_callback(lambda _: process.kill())
        self._peer.start()
        self._connection = connection
        self._watcher = threading.Thread(target=self._watch, name="worker", daemon=True)
        self._watcher.start()

    @property
    def alive(self) -> bool:
        """Whether requests can be sent."""
        return self._peer.alive and not self._kill_reason

    def is_settled(self) -> bool:
        """Whether every cancelled request has ended."""
        self._cancelled = {answer for answer in self._cancelled if not answer.done()}
        return not self._cancelled

    async def request(
        self, method: str, params: Mapping[str, Any], services: CallServices | None = None
    ) -> Any:
        """Return the answer to a request, or raise what it failed with.

        Cancelled, it returns immediately; ``settle`` waits for the end of the function.

        Raises:
            WorkerEnded: the process ended.
        """
        outgoing = self._peer.send_request(method, params, services.progress if services else None)
        if services is not None:
            self._services[outgoing.id] = services
        try:
            return await asyncio.wrap_future(outgoing.answer)
        except Disconnected as error:
            await run_in_thread(self._watcher.join)
            raise WorkerEnded(self._ending) from error
        except asyncio.CancelledError:
            self._cancel(outgoing)
            raise
        finally:
            self._services.pop(outgoing.id, None)
            if services is not None:
                await services.close()

    def request_now(self, method: str, params: Mapping[str, Any], seconds: float) -> Any:
        """Wait in this thread for the answer to a request; raises TimeoutError."""
        outgoing = self._peer.send_request(method, params)
        try:
            return outgoing.answer.result(seconds)
        except TimeoutError:
            self._cancel(outgoing)
            raise

    async def settle(self) -> None:
        """Wait until every cancelled request has ended; kill the process if one does not."""
        waiting = [asyncio.wrap_future(answer) for answer in self._cancelled]
        if waiting:
            _, pending = await asyncio.wait(waiting, timeout=GRACE_SECONDS)
            if pending:
                self.kill(STUBBORN)
            await asyncio.gather(*waiting, return_exceptions=True)

    def kill(self, reason: str) -> None:
        """End the process; its requests fail with the reason."""
        self._kill_reason = self._kill_reason or reason
        self._process.kill()

    def _cancel(self, outgoing: OutgoingRequest) -> None:
        self._cancelled.add(outgoing.answer)
        self._peer.cancel(outgoing)

    def _watch(self) -> None:
        """Disconnect when the process has ended: a child of it may still hold the connection."""
        ending, reason = self._process.wait(), self._kill_reason
        self._ending = f"its process was ended: {reason}" if reason else f"its process {ending}"
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()

    async def _serve(self, incoming: IncomingRequest) -> Any:
        services = self._services.get(incoming.params["call"])
        if services is None:
            raise ToolError(OVER)
        return await services.serve(self, incoming.method, incoming.params)

    async def _register(self, incoming: IncomingRequest) -> bool:
        if self.registrar is None:
            raise ToolError("Tools cannot be registered in this runtime.")
        return self.registrar(self, incoming.method, incoming.params)


Registrar = Callable[[Worker, str, Mapping[str, Any]], bool]
"""Serves ``register`` and ``unregister`` of a worker; raises ToolError."""


class Groups(Protocol):
    """Process groups that must not outlive the plugin."""

    def add(self, group: int) -> None:
        """Kill this group when the plugin has ended."""

    def remove(self, group: int) -> None:
        """Forget a group that is dead."""


class WorkerProcess:
    """A process that leads a group."""

    def __init__(self, popen: subprocess.Popen[bytes], groups: Groups) -> None:
        self._popen = popen
        self._groups = groups
        groups.add(popen.pid)

    def kill(self) -> None:
        """End its group; the id is not used again before ``wait`` has returned."""
        if self._popen.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._popen.pid, signal.SIGKILL)

    def wait(self) -> str:
        """Block until it has ended, and end its group; return how."""
        if hasattr(os, "waitid"):
            os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOWAIT)
            self.kill()
        code = self._popen.wait()
        self._groups.remove(self._popen.pid)
        return f"ended (killed by signal {-code})" if code < 0 else f"ended (exit code {code})"


def start_worker(groups: Groups) -> Worker:
    """Start a process that runs custom tools; raises OSError if that is impossible."""
    return Worker(*start_process("agentchat.tools.custom.process.server", groups))


def start_process(module: str, groups: Groups) -> tuple[socket.socket, WorkerProcess]:
    """Start a process that runs ``main`` of a module; return the connection to it.

    It has the environment of a ``bash`` command, and the plugin's ``sys.path``. Raises OSError if
    that is impossible.
    """
    ours, theirs = socket.socketpair()
    path = [PACKAGES, *(entry for entry in sys.path if entry not in ("", PACKAGES))]
    with theirs:
        popen = subprocess.Popen(
            [sys.executable, "-c", BOOT, str(theirs.fileno()), json.dumps(path), module],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            # Importing plugins of pydantic takes time.
            env={**environment(os.environ), "PYDANTIC_DISABLE_PLUGINS": "__all__"},
            start_new_session=True,
        )
    return ours, WorkerProcess(popen, groups)
