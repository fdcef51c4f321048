"""Serves a local workspace to a connection: the half that runs on the other machine.

It is sent there with the modules it imports (see ``parcel``), so it is the very same code that
works on files and processes here. When its input ends, or says nothing for a while, whatever it
runs is killed and it ends.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any, BinaryIO

from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.errors import Stale, ToolError
from agentchat.core.tools.ports import Command
from agentchat.workspace.frames import HEADER, Message, lengths, pack, unpack
from agentchat.workspace.local import LocalWorkspace

GREETING = b"agentchat far end 1\n"
"""What goes out first: anything before it was said by the login shell."""

SILENCE = 30.0
"""Seconds without a word from the near end after which it is taken to be gone."""

STOPPING = 3.0
_KEPT = 2
"""Bytes of output kept here: all of it goes to the near end as it comes."""


def main(stream: BinaryIO) -> None:
    """Serve until the input ends."""
    out = os.dup(1)
    os.set_inheritable(out, False)
    # Nothing that runs here may read or write what belongs to the connection.
    os.dup2(2, 1)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        asyncio.run(FarEnd(stream, out).serve())
    finally:
        _end(0)  # a thread may still wait for input, and would hold up an ordinary end


class FarEnd:
    """Answers each message with one that has its number."""

    def __init__(self, stream: BinaryIO, out: int) -> None:
        self._stream = stream
        self._out = out
        self._heard = time.monotonic()
        self._workspace: LocalWorkspace | None = None
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._over = asyncio.Event()
        self._answers: dict[str, Callable[[Message], Awaitable[Any]]] = {
            "open": self._open,
            "ping": self._ping,
            "locate": self._locate,
            "kind": self._kind,
            "size": self._size,
            "read": self._read,
            "list": self._list,
            "apply": self._apply,
            "environment": self._environment,
            "evidence": self._evidence,
            "confines": self._confines,
            "run": self._run,
        }

    async def serve(self) -> None:
        """Answer until the input ends; then nothing is left running."""
        self._write(GREETING)
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._listen, args=(loop,), daemon=True).start()
        threading.Thread(target=self._watch, daemon=True).start()
        await self._over.wait()
        for task in self._tasks.values():
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=STOPPING)

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        """Take messages, on a thread of its own."""
        with contextlib.suppress(Exception):
            while len(header := self._stream.read(HEADER)) == HEADER:
                text, data = lengths(header)
                message = unpack(self._stream.read(text), self._stream.read(data))
                self._heard = time.monotonic()
                loop.call_soon_threadsafe(self._take, message)
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(self._over.set)

    def _watch(self) -> None:
        """End everything when the near end is silent, even while the loop waits to write."""
        while time.monotonic() - self._heard < SILENCE:
            time.sleep(SILENCE / 10)
        _end(1)

    def _take(self, message: Message) -> None:
        number = message["id"]
        if message["op"] == "cancel":
            if number in self._tasks:
                self._tasks[number].cancel()
            return
        task = asyncio.ensure_future(self._answer(number, message))
        self._tasks[number] = task
        task.add_done_callback(lambda _: self._tasks.pop(number, None))

    async def _answer(self, number: int, message: Message) -> None:
        try:
            answer = {"answer": await self._answers[message["op"]](message)}
        except asyncio.CancelledError:
            answer = {"cancelled": True}
        except Exception as error:
            answer = {"error": _told(error)}
        self._write(pack({"id": number, **answer}))

    def _write(self, data: bytes) -> None:
        """Write all of it, and wait as long as the line is full: so nothing piles up here."""
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._out, view) :]
        except OSError:
            self._over.set()

    @property
    def _place(self) -> LocalWorkspace:
        if self._workspace is None:
            raise ToolError("No workspace is open.")
        return self._workspace

    async def _open(self, given: Message) -> str:
        """Open the directory; return its resolved path."""
        path = await asyncio.to_thread(_directory, given["path"])
        self._workspace = LocalWorkspace(path, given["guarded"])
        return self._workspace.root

    async def _ping(self, given: Message) -> None:
        """Say that this end is there."""

    async def _locate(self, given: Message) -> Any:
        return asdict(await self._place.locate(given["path"]))

    async def _kind(self, given: Message) -> Any:
        return await self._place.kind(given["path"])

    async def _size(self, given: Message) -> Any:
        return await self._place.size(given["path"])

    async def _read(self, given: Message) -> Any:
        return await self._place.read(given["path"], given["limit"], given["start"])

    async def _list(self, given: Message) -> Any:
        return [(entry.name, entry.kind) for entry in await self._place.list(given["path"])]

    async def _apply(self, given: Message) -> None:
        files = tuple(FileChange(**file) for file in given["files"])
        await self._place.apply(ChangeSet(files))

    async def _environment(self, given: Message) -> Any:
        return await self._place.environment()

    async def _evidence(self, given: Message) -> Any:
        return await self._place.evidence(given["commands"], given["command"], given["cwd"])

    async def _confines(self, given: Message) -> Any:
        self._place.confinement.wanted = given["wanted"]
        return await asyncio.to_thread(self._place.confinement.describe)

    async def _run(self, given: Message) -> Any:
        number = given["id"]
        command = Command(**{**given["command"], "argv": tuple(given["command"]["argv"])})
        self._place.confinement.wanted = given["confinement"]
        finished = await self._place.run(
            command, lambda data: self._write(pack({"id": number, "output": data}))
        )
        return {"code": finished.code, "stderr": finished.stderr}


def _end(code: int) -> None:
    """Kill what runs, remove what is temporary, and end, whatever the threads do."""
    atexit._run_exitfuncs()
    os._exit(code)


def _directory(path: str) -> str:
    """Return a directory's path from the home directory on; raises OSError if it is none."""
    home = os.path.expanduser("~")
    full = os.path.join(home, os.path.expanduser(path))
    os.scandir(full).close()
    return full


def _told(error: Exception) -> Message:
    """Return an error as the near end raises it again."""
    if isinstance(error, Stale):
        return {"kind": "stale", "path": error.path}
    if isinstance(error, ToolError):
        return {"kind": "tool", "text": str(error)}
    if isinstance(error, OSError) and error.errno is not None:
        name = error.filename if isinstance(error.filename, str) else None
        return {"kind": "os", "errno": error.errno, "text": error.strerror, "path": name}
    return {"kind": "bug", "text": f"{type(error).__name__}: {error}"}
