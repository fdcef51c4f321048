"""The process in a user namespace that runs commands on overlays, for the host that started it.

It is single-threaded and small, so that forking it costs little. For each command it forks the
*first process* of new mount, process, IPC and (unless asked otherwise) network namespaces. That one
builds the root (``root``), starts the command with few privileges, watches its limits, and ends
with everything that is left in its namespace. If this process ends, all of them die; it ends when
the host closes the connection, or dies.

The connection is a socket that keeps messages apart; each is JSON:

    {"id": 3, "run": true}            with 5 files: the spec, input, output, errors; see ``run``
    {"id": 3, "signal": 15}           pass a signal on to the command; 9 ends all of it
    {"ready": true}                   the first answer, or {"failed": "step: reason"}
    {"id": 3, "code": 0, "ended": 2}  the command ended, and background processes were; or
                                      {"id": 3, "failed": …}: it was not started
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from agentchat.workspace.overlay import namespace
from agentchat.workspace.overlay.namespace import StepFailed
from agentchat.workspace.overlay.root import Root, cover

FAILED = "agentchat overlay failed to "
MESSAGE_BYTES = 64 * 1024
FILES = 4
LIMIT_SECONDS = 0.1
"""Time between two looks at what a command uses."""

EXPENDABLE = "500"
"""Where memory is short, the kernel ends these processes before those of the user."""

Report = dict[str, Any]


def main(connection: int) -> NoReturn:
    """Serve the host at the other end of a socket until it closes it."""
    host = socket.socket(fileno=connection)
    try:
        namespace.enter_user_namespace()
        namespace.hide_memory()
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
            file.write(EXPENDABLE)
    except (StepFailed, OSError) as error:
        host.send(json.dumps({"failed": str(error)}).encode())
        os._exit(1)
    host.send(json.dumps({"ready": True}).encode())
    gc.freeze()
    with contextlib.suppress(OSError):
        Server(host).serve()
    os._exit(0)


def hold(connection: int) -> NoReturn:
    """Make one root for a workspace server and for commands, and serve both until that one ends.

    Standard input has the settings as JSON, then the program of the workspace server, each with its
    length before it: see ``launcher``. That one goes on with standard input and output.
    """
    stream = sys.stdin.buffer
    settings = json.loads(stream.read(int(stream.readline())))
    try:
        namespace.enter_user_namespace()
        kinds = namespace.CLONE_NEWNS | namespace.CLONE_NEWPID | namespace.CLONE_NEWIPC
        first = namespace.fork_into(kinds)
        if first:
            _exit_alike(first)
        namespace.die_with_parent()
        namespace.hide_memory()
        root = Root(settings)
        root.build()
        root.enter()
        workspace = namespace.fork_into(namespace.CLONE_NEWNET)
        if workspace == 0:
            os.close(connection)
            os.chdir(settings["root"])
            namespace.start_loopback()
            namespace.drop_privileges()
            namespace.hide_memory()
            sys.path.pop(0)
            exec(stream.read(int(stream.readline())), {"__name__": "__main__"})
            sys.exit()
    except (StepFailed, OSError) as error:
        os.write(2, f"{FAILED}{error}\n".encode("utf-8", "surrogateescape"))
        os._exit(1)
    for fd in (0, 1):
        os.close(fd)
        os.open(os.devnull, os.O_RDWR)
    with contextlib.suppress(OSError):
        Server(socket.socket(fileno=connection), until=os.pidfd_open(workspace)).serve()
    os._exit(0)


def _exit_alike(process: int) -> NoReturn:
    """Wait for a child, and exit as it did."""
    os.closerange(0, os.sysconf("SC_OPEN_MAX"))
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    os._exit(code if code >= 0 else 128 - code)


class Server:
    """Starts commands, and tells the host how each of them ended.

    Args:
        until: a process, by a handle, whose end ends all.
    """

    def __init__(self, host: socket.socket, until: int = -1) -> None:
        self._host = host
        self._until = until
        self._poll = select.poll()
        self._poll.register(host, select.POLLIN)
        self._running: dict[int, tuple[int, int, int]] = {}
        self._reporting: dict[int, int] = {}
        self._processes: dict[int, int] = {}
        self._alive, self._living = os.pipe()
        if until >= 0:
            self._poll.register(until, select.POLLIN)

    def serve(self) -> None:
        """Handle messages until the host closes the connection."""
        while True:
            for fd, _ in self._poll.poll():
                if fd == self._until:
                    return
                if fd in self._running:
                    self._finish(fd)
                elif fd in self._reporting:
                    self._report(fd)
                elif fd == self._host.fileno() and not self._receive():
                    return

    def _receive(self) -> bool:
        data, files, _, _ = socket.recv_fds(self._host, MESSAGE_BYTES, FILES)
        if not data:
            return False
        message = json.loads(data)
        if "run" in message:
            self._start(message["id"], files)
        elif message["id"] in self._processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._processes[message["id"]], message["signal"])
        return True

    def _start(self, number: int, files: list[int]) -> None:
        with open(files[0], "rb") as file:
            spec = json.load(file)
        read, write = os.pipe()
        try:
            flags = namespace.CLONE_NEWNS | namespace.CLONE_NEWPID | namespace.CLONE_NEWIPC
            flags |= 0 if spec["network"] else namespace.CLONE_NEWNET
            process = namespace.fork_into(flags)
            if process == 0:
                self._host.close()
                os.close(self._living)
                os.close(read)
                FirstProcess(spec, files[1:], write).run(self._alive)
        except StepFailed as error:
            os.close(read)
            self._send(number, {"failed": str(error)})
        else:
            self._processes[number] = process
            handle = os.pidfd_open(process)
            self._running[handle] = (number, process, read)
            self._reporting[read] = number
            for fd in (handle, read):
                self._poll.register(fd, select.POLLIN)
        finally:
            for fd in (*files[1:], write):
                os.close(fd)

    def _report(self, read: int) -> None:
        """Pass on how a command ended: all its processes are dead, but for the first one.

        That one is not waited for, since the kernel takes its time to take the mounts apart.
        """
        number = self._reporting.pop(read)
        self._poll.unregister(read)
        with open(read, "rb") as file:
            data = file.readline()
        if data:
            del self._processes[number]
            self._send(number, json.loads(data))

    def _finish(self, handle: int) -> None:
        """Forget a first process that ended; if it did not report, it was killed."""
        number, process, read = self._running.pop(handle)
        if self._reporting.get(read) == number:
            self._report(read)
        self._poll.unregister(handle)
        os.close(handle)
        os.waitpid(process, 0)
        if number in self._processes:
            del self._processes[number]
            self._send(number, {"code": -signal.SIGKILL, "ended": 0})

    def _send(self, number: int, report: Report) -> None:
        self._host.send(json.dumps({"id": number, **report}).encode())


class FirstProcess:
    """The first process of a command's namespace, until the command and all others there ended.

    Args:
        spec: ``argv``, ``cwd``, ``env``, ``network``; ``root``, see ``Root``, or what is ``hidden``
            of the root of the server; ``limits``.
        files: the command's input, output and errors.
        report: where it writes how the command ended.
    """

    def __init__(self, spec: Mapping[str, Any], files: list[int], report: int) -> None:
        self._spec = spec
        self._files = files
        self._report = report

    def run(self, alive: int) -> NoReturn:
        """Run the command, report how it ended, and exit; ``alive`` is at its end if the parent is.

        The kernel tells only of an end of the parent that comes after it was asked to.
        """
        try:
            namespace.die_with_parent()
            if select.select([alive], (), (), 0)[0]:
                os._exit(1)
            report = self._run()
        except (StepFailed, OSError) as error:
            report = {"failed": str(error)}
        except BaseException as error:
            report = {"failed": repr(error)}
        os.write(self._report, json.dumps(report).encode() + b"\n")
        os._exit(0)

    def _run(self) -> Report:
        if not self._spec["network"]:
            namespace.start_loopback()
        if "mounts" in self._spec["root"]:
            root = Root(self._spec["root"])
            root.build()
            root.enter()
        else:
            cover(self._spec["root"]["hidden"])
        signals = {signal.SIGCHLD, signal.SIGTERM}
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        failed, failing = os.pipe()
        command = os.fork()
        if command == 0:
            self._execute(failing)
        os.close(failing)
        for fd in self._files:
            os.close(fd)
        with open(failed, "rb") as file:
            reason = file.read().decode("utf-8", "surrogateescape")
        if reason:
            return {"failed": reason, "start": True}
        return self._supervise(command, signals)

    def _execute(self, failing: int) -> NoReturn:
        """Become the command."""
        try:
            os.setsid()
            for number, fd in enumerate(self._files):
                os.dup2(fd, number)
            os.dup2(failing, 3, inheritable=False)
            os.closerange(4, os.sysconf("SC_OPEN_MAX"))
            failing = 3
            try:
                os.chdir(self._spec["cwd"])
            except OSError:
                raise StepFailed(f"Working directory not found: {self._spec['cwd']}") from None
            namespace.limit_resources(**self._spec["limits"])
            namespace.drop_privileges()
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            argv, env = self._spec["argv"], self._spec["env"]
            os.execvpe(argv[0], argv, env)
        except BaseException as error:
            reason = getattr(error, "strerror", None)
            text = f"Cannot run {self._spec['argv'][0]}: {reason}" if reason else str(error)
            os.write(failing, text.encode("utf-8", "surrogateescape"))
        os._exit(127)

    def _supervise(self, command: int, signals: set[signal.Signals]) -> Report:
        consumption = Consumption(self._spec["limits"])
        look = time.monotonic() + LIMIT_SECONDS
        while True:
            arrived = signal.sigtimedwait(signals, max(0.0, look - time.monotonic()))
            if arrived is not None and arrived.si_signo == signal.SIGTERM:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(command, signal.SIGTERM)
            codes = dict(_ended_children())
            if command in codes:
                return self._end(codes[command], "")
            if time.monotonic() >= look:
                began = time.monotonic()
                exceeded = consumption.exceeded()
                if exceeded:
                    return self._end(-signal.SIGKILL, exceeded)
                # A look takes long where there is much to look at: most of the time, do not.
                look = time.monotonic() + max(LIMIT_SECONDS, 5 * (time.monotonic() - began))

    def _end(self, code: int, stopped: str) -> Report:
        """End what still runs; only then may this process report."""
        left = sum(1 for _ in live_processes())
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)
        return {"code": code, "ended": 0 if stopped else left, "stopped": stopped}


def _ended_children() -> Iterator[tuple[int, int]]:
    """Yield the id and the exit code of each child that ended."""
    with contextlib.suppress(ChildProcessError):
        while (child := os.waitpid(-1, os.WNOHANG))[0]:
            yield child[0], os.waitstatus_to_exitcode(child[1])


def live_processes() -> Iterator[str]:
    """Yield the ids of the processes of this namespace but the first one."""
    for name in os.listdir("/proc"):
        if name.isdigit() and name != "1":
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                if file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X"):
                    yield name


class Consumption:
    """What the processes of this namespace use together, against their limits."""

    def __init__(self, limits: Mapping[str, int]) -> None:
        self._processes = limits["processes"]
        self._memory = limits["memory"]

    def exceeded(self) -> str:
        """Return which limit is exceeded; empty if none is."""
        names = [name for name in os.listdir("/proc") if name.isdigit()]
        if len(names) - 1 > self._processes:
            return "processes"
        # Pages that processes share count for each of them, so only a large sum is looked into.
        if sum(map(_resident, names)) > self._memory >= 0:
            return "memory" if sum(map(_proportional, names)) > self._memory else ""
        return ""


PAGE = os.sysconf("SC_PAGE_SIZE")


def _resident(process: str) -> int:
    """Return the bytes of memory that a process has to itself, roughly; 0 if it ended."""
    try:
        with open(f"/proc/{process}/statm", "rb") as file:
            _, resident, shared, *_ = file.read().split()
    except OSError:
        return 0
    return (int(resident) - int(shared)) * PAGE


def _proportional(process: str) -> int:
    """Return the bytes of a process, its part of what it shares with others; 0 if it ended."""
    try:
        with open(f"/proc/{process}/smaps_rollup", "rb") as file:
            rows = file.read().splitlines()
    except OSError:
        return 0
    return sum(int(row.split()[1]) * 1024 for row in rows if row.startswith(b"Pss_Anon:"))
