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
from agentchat.core.tools.tool import ToolContext
from agentchat.rpc.background import run_in_thread
from agentchat.rpc.errors import Disconnected, RemoteError
from agentchat.rpc.peer import IncomingRequest, OutgoingRequest, Peer, RequestTasks
from agentchat.tools.builtin.bash import environment, how_it_ended
from agentchat.tools.custom.template import run_program

GRACE_SECONDS = 2.0
"""How long a function may take to end once its call is cancelled."""

END_SECONDS = 2.0
"""How long the end of a call waits for the end of what it asked the plugin for."""

OVER = "The call is over: nothing more can be done in its name."
STUBBORN = "a function in it did not end when its call was cancelled"
PACKAGES = str(Path(__file__).resolve().parents[3])
BOOT = """
import json, sys
sys.path[:] = json.loads(sys.argv[2])
from agentchat.tools.custom.server import main
main(int(sys.argv[1]))
"""


class WorkerEnded(RemoteError):
    """The process is gone; the message says how it ended."""


class Process(Protocol):
    """A process that runs a server, as far as a worker needs it."""

    def kill(self) -> None:
        """End it with all that it started."""

    def wait(self) -> str:
        """Wait in this thread for its end; return how it ended."""


class CallServices:
    """Serves the context of one call: what a function asks the plugin for while it runs.

    Args:
        stage: registers a preview of which the process keeps the callbacks.
    """

    def __init__(
        self, context: ToolContext, stage: Callable[[Worker, Mapping[str, Any]], None]
    ) -> None:
        self._context = context
        self._stage = stage
        self._running: set[asyncio.Task[Any]] = set()

    def progress(self, text: str) -> None:
        """Show text in the block of the call."""
        self._context.progress(text)

    async def serve(self, worker: Worker, method: str, params: Mapping[str, Any]) -> Any:
        """Return the answer to what the function asked."""
        task = asyncio.current_task()
        assert task is not None
        self._running.add(task)
        try:
            if method == "stage":
                return self._stage(worker, params)
            if method == "read":
                return await self._read(params["path"])
            return await self._run(params["command"], params["timeout"])
        finally:
            self._running.discard(task)

    async def close(self) -> None:
        """End what still runs for the call, programs too."""
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running, timeout=END_SECONDS)

    async def _read(self, path: str) -> bytes:
        target = await self._context.workspace.locate(path)
        return await self._context.workspace.read(target.path)

    async def _run(self, command: str, seconds: float | None) -> tuple[int, str]:
        seconds = BASH_SECONDS if seconds is None else seconds
        code, text = await run_program(command, self._context, seconds=seconds)
        if code is None:
            raise ToolError(f"{text}\n\n{how_it_ended(code, seconds)}".strip())
        return code, text


class Worker:
    """One process, used for one call at a time.

    ``loaded`` are the keys of the files that were imported there, ``previews`` the numbers of the
    previews whose callbacks it keeps.
    """

    def __init__(self, connection: socket.socket, process: Process) -> None:
        self.loaded: set[str] = set()
        self.previews: set[int] = set()
        self._process = process
        self._why = self._how = ""
        self._services: dict[int, CallServices] = {}
        self._cancelled: set[concurrent.futures.Future[Any]] = set()
        methods = dict.fromkeys(("stage", "read", "command"), self._serve)
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
        return self._peer.alive and not self._why

    def is_settled(self) -> bool:
        """Return whether everything that was cancelled in it has ended."""
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
            raise WorkerEnded(self._how) from error
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

    async def settle(self) -> bool:
        """Wait until what was cancelled has ended, or kill it; return whether it is alive."""
        waiting = [asyncio.wrap_future(answer) for answer in self._cancelled]
        if waiting:
            _, pending = await asyncio.wait(waiting, timeout=GRACE_SECONDS)
            if pending:
                self.kill(STUBBORN)
            await asyncio.gather(*waiting, return_exceptions=True)
        return self.alive

    def kill(self, why: str) -> None:
        """End the process; requests that wait fail with the reason."""
        self._why = self._why or why
        self._process.kill()

    def _cancel(self, outgoing: OutgoingRequest) -> None:
        self._cancelled.add(outgoing.answer)
        self._peer.cancel(outgoing)

    def _watch(self) -> None:
        """Hang up when the process has ended: a child of its own may still hold the connection."""
        how = self._process.wait()
        self._how = f"its process was ended: {self._why}" if self._why else f"its process {how}"
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()

    async def _serve(self, incoming: IncomingRequest) -> Any:
        services = self._services.get(incoming.params["call"])
        if services is None:
            raise ToolError(OVER)
        return await services.serve(self, incoming.method, incoming.params)


class Groups(Protocol):
    """Knows the process groups that must not outlive the plugin."""

    def add(self, group: int) -> None:
        """Kill this group when the plugin is gone."""

    def remove(self, group: int) -> None:
        """Forget a group that is dead."""


class WorkerProcess:
    """A process that leads a group."""

    def __init__(self, popen: subprocess.Popen[bytes], groups: Groups) -> None:
        self._popen = popen
        self._groups = groups
        groups.add(popen.pid)

    def kill(self) -> None:
        """End it with its group. Its id is its own until it was waited for."""
        if self._popen.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._popen.pid, signal.SIGKILL)

    def wait(self) -> str:
        """Wait for its end; return how it ended. What it started ends with it."""
        if hasattr(os, "waitid"):
            os.waitid(os.P_PID, self._popen.pid, os.WEXITED | os.WNOWAIT)
            self.kill()
        code = self._popen.wait()
        self._groups.remove(self._popen.pid)
        return f"ended (killed by signal {-code})" if code < 0 else f"ended (exit code {code})"


def start_worker(groups: Groups) -> Worker:
    """Start a process; raises OSError if that is impossible.

    Its environment is that of a command of ``bash``, and it can import what the plugin can.
    """
    ours, theirs = socket.socketpair()
    path = [PACKAGES, *(entry for entry in sys.path if entry not in ("", PACKAGES))]
    with theirs:
        popen = subprocess.Popen(
            [sys.executable, "-c", BOOT, str(theirs.fileno()), json.dumps(path)],
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            # Without it, it would import plugins of pydantic, which takes time.
            env={**environment(os.environ), "PYDANTIC_DISABLE_PLUGINS": "__all__"},
            start_new_session=True,
        )
    return Worker(ours, WorkerProcess(popen, groups))
