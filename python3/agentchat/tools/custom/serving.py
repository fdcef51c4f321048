"""The process in which the functions of tools run: imports files, calls functions, tells results.

Its loop only passes messages on; every function has a thread of its own. It ends, with all that
its functions started, when the plugin hangs up.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import signal
import socket
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agentchat.core.errors import ToolError
from agentchat.core.tools.tool import Result
from agentchat.tools.custom.asking import HostLink
from agentchat.tools.custom.binding import Bound
from agentchat.tools.custom.context import Context
from agentchat.tools.custom.context import Result as OwnResult
from agentchat.tools.custom.definition import Definition
from agentchat.tools.custom.description import described
from agentchat.tools.custom.files import Source
from agentchat.tools.custom.importing import Contents, ImportProblem, import_source
from agentchat.tools.custom.outcome import result_of, text_of
from agentchat.tools.custom.thread import finished
from agentchat.tools.custom.wire import (
    CHUNK,
    GONE,
    error_told,
    packed,
    result_heard,
    result_told,
    unpacker,
)

Body = Mapping[str, Any]


class Server:
    """Serves one connection with the plugin.

    ``files`` has the definitions of every file by its key, and those by name.
    """

    def __init__(self, line: socket.socket) -> None:
        self.files: dict[str, dict[str, Definition]] = {}
        self._line = line
        self._loop = asyncio.get_running_loop()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._links: dict[int, HostLink] = {}
        self._kept: dict[int, Any] = {}
        self._held: dict[int, Bound] = {}
        self._numbers = itertools.count()
        self._writer: asyncio.StreamWriter | None = None
        self._kinds = {
            "ready": self._be_ready,
            "import": self._import,
            "check": self._check,
            "call": self._call,
            "callback": self._call_back,
        }

    async def serve(self) -> None:
        """Take messages until the plugin hangs up."""
        reader, self._writer = await asyncio.open_connection(sock=self._line)
        messages = unpacker()
        while data := await reader.read(CHUNK):
            messages.feed(data)
            for number, kind, body in messages:
                self._take(number, kind, body)
        self._writer.close()

    def _take(self, number: int, kind: str, body: Any) -> None:
        if kind == "give_up":
            self._give_up(number)
        elif kind == "answer":
            link = self._links.get(number)
            if link is not None:
                link.answered(*body)
        else:
            self._tasks[number] = asyncio.ensure_future(self._serve(number, kind, body))

    def _give_up(self, number: int) -> None:
        self._send(number, "heard")
        task, link = self._tasks.get(number), self._links.get(number)
        if task is None:
            self._send(number, "over")
            return
        task.cancel()
        if link is not None:
            link.close()

    async def _serve(self, number: int, kind: str, body: Body) -> None:
        try:
            value = await self._kinds[kind](number, body)
        except asyncio.CancelledError:
            self._send(number, "over")
        except Exception as error:
            self._send(number, "failed", error_told(error))
        else:
            self._send(number, "done", value)
        finally:
            del self._tasks[number]

    def _send(self, *message: Any) -> None:
        if self._writer is not None:
            self._writer.write(packed(*message))

    async def _be_ready(self, number: int, body: Body) -> None:
        """Answer, which tells that the process is up."""

    async def _import(self, number: int, body: Body) -> dict[str, Any]:
        """Import a file; return what it holds, or the line and the text of what is wrong."""
        source = Source(Path(body["path"]), body["data"])
        found = await finished(lambda: _imported(source), lambda found: found, None, _drop)
        if isinstance(found, ImportProblem):
            return {"problem": [found.problem.line, found.problem.text]}
        # Of two with one name the first has it, as everywhere.
        self.files[source.key] = {one.name: one for one in reversed(found.definitions)}
        return {
            "tools": [described(definition) for definition in found.definitions],
            "groups": json.dumps([asdict(group) for group in found.groups], default=str),
            "made": bool(found.made),
        }

    async def _check(self, number: int, body: Body) -> Any:
        """Return arguments in their plain form."""
        parameters = self._definition(body).parameters
        return await finished(
            lambda: parameters.plain(body["given"]), lambda found: found, None, _drop
        )

    async def _call(self, number: int, body: Body) -> Any:
        """Call one of the functions of a tool."""
        definition, role = self._definition(body), body["role"]
        bound = self._bound(definition, role, body["number"])
        first = tuple(self._first(*said) for said in body["first"])
        # A call is shown while it arrives: what is there already cannot be checked.
        whole = role != "render_call"
        with self._linked(number, body["linked"]) as link:
            context = Context(body["cwd"], body["call_id"], body["flags"], link)

            def work() -> Any:
                given = json.loads(body["given"])
                defaults = definition.parameters.defaults
                whole_given = definition.parameters.parse(given) if whole else {**defaults, **given}
                return bound.call(whole_given, context, *first)

            def finish(value: Any) -> Any:
                solid = list(value) if isinstance(value, Iterator) else value
                told = _told(role, solid, definition.name)
                if body["keep"]:
                    self._kept[number] = _passed_on(solid)
                return {**told, "kept": number} if role == "work" else told

            printed = _drop if link is None else link.printed.add
            return await finished(work, finish, body["cwd"], printed)

    async def _call_back(self, number: int, body: Body) -> Any:
        """Call what applies or discards a preview; once it did, it is not kept any longer."""
        bound = self._held.get(body["held"])
        if bound is None:
            raise ToolError(GONE)
        context = Context(body["cwd"], body["call_id"])
        extra = None if body["extra"] is None else json.loads(body["extra"])
        told = await finished(
            lambda: bound.call({}, context, body["reason"], extra),
            lambda value: None if value is None else result_told(result_of(value, body["name"])),
            body["cwd"],
            _drop,
        )
        self._held.pop(body["held"], None)
        return told

    def _definition(self, body: Body) -> Definition:
        found = self.files.get(body["file"], {}).get(body["name"])
        if found is None:
            raise ToolError(GONE)
        return found

    def _bound(self, definition: Definition, role: str, number: int) -> Bound:
        found = definition.works[number] if role == "work" else getattr(definition, role)
        if not isinstance(found, Bound):
            raise ToolError(GONE)
        return found

    def _first(self, kind: str, value: Any) -> Any:
        if kind == "kept":
            if value not in self._kept:
                raise ToolError(GONE)
            return self._kept.pop(value)
        if kind == "result":
            result = result_heard(value)
            return OwnResult(result.text, result.details, result.is_error, result.shown)
        return value

    @contextlib.contextmanager
    def _linked(self, number: int, wanted: bool) -> Iterator[HostLink | None]:
        if not wanted:
            yield None
            return

        def show(text: str) -> None:
            self._send(number, "progress", text)

        def post(question: int, what: str, about: Any) -> None:
            self._loop.call_soon_threadsafe(self._send, number, "ask", question, what, about)

        link = self._links[number] = HostLink(show, post, self._hold)
        try:
            yield link
        finally:
            link.close()
            del self._links[number]

    def _hold(self, bound: Bound) -> int:
        number = next(self._numbers)
        self._held[number] = bound
        return number


def _imported(source: Source) -> Contents | ImportProblem:
    try:
        return import_source(source)
    except ImportProblem as found:
        return found


def _passed_on(value: Any) -> Any:
    """Return what the next step is given."""
    return text_of(value.text, "") if isinstance(value, (OwnResult, Result)) else value


def _told(role: str, value: Any, name: str) -> Any:
    """Return what a function returned, as it travels."""
    if role in ("work", "undo"):
        return result_told(result_of(value, name))
    if role == "dry_run":
        return result_of(value, name).text
    if role == "asks":
        return bool(value)
    if role in ("render_call", "render_result"):
        return None if value is None else text_of(value, name)
    return None


def _drop(text: str) -> None:
    """Drop what is printed where there is nobody to show it to."""


def main(line: int) -> None:
    """Serve the plugin at the other end of a socket, then end with everything that was started."""
    os.set_inheritable(line, False)
    try:
        asyncio.run(_serve(line))
    finally:
        os.killpg(os.getpgrp(), signal.SIGKILL)


async def _serve(line: int) -> None:
    with socket.socket(fileno=line) as open_line:
        await Server(open_line).serve()
