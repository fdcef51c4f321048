"""The agents that are connected to this Neovim, each with a chat of its own.

``mcp_server.runners`` connects through a socket in the state folder (``rpc.sockets``). It says
hello with the name of its agent, learns which directories this Neovim is in, and stays connected if
one of them is the agent's. The chat is opened at the first call: an agent that calls nothing is not
seen.
"""

from __future__ import annotations

import asyncio
import atexit
import itertools
import logging
import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from agentchat.agent.external.agent import CallAnswer, ExternalAgent
from agentchat.core.errors import ToolError
from agentchat.rpc import sockets
from agentchat.rpc.peer import IncomingRequest, RequestTasks

log = logging.getLogger(__name__)

PLACES_SECONDS = 1.0
"""How long Neovim may take to say where it is: it does not while it waits for a key."""

OPEN_SECONDS = 30.0
NOT_OPENED = "Neovim did not open a chat within {:g} s; it may wait for a key. Call again later."


NOT_HERE = "{} is in no directory of this Neovim: the user opens a chat where the work is."


def is_below(path: str, place: str) -> bool:
    """Whether an absolute path is a directory of Neovim, or below one."""
    if not os.path.isabs(path):
        return False
    place = os.path.realpath(place)
    return os.path.commonpath([place, os.path.realpath(path)]) == place


class ServedChat(Protocol):
    """The chat of an agent in Neovim."""

    @property
    def agent(self) -> ExternalAgent | None:
        """The agent."""

    @property
    def is_closed(self) -> bool:
        """Whether the user has closed it."""

    def show_departure(self) -> None:
        """Show that the agent has left."""


class ChatOpener(Protocol):
    """The Neovim of this process."""

    def open_chat(self, connection: int, name: str, cwd: str) -> None:
        """Open a chat for an agent; ``AgentConnection.take_chat`` or ``fail`` is called later."""

    async def places(self) -> Sequence[str]:
        """Return the directories that it is in."""


class AgentConnection:
    """The connection of one agent; ``number`` names it to Lua."""

    def __init__(self, number: int, host: AgentConnections) -> None:
        self.number = number
        self.name = "agent"
        self.cwd = ""
        self._has_left = False
        self._host = host
        self._chat: ServedChat | None = None
        self._opening: asyncio.Future[ServedChat] | None = None

    async def hello(self, request: IncomingRequest) -> Mapping[str, Any]:
        """Take the agent's name and directory; return the directories of this Neovim."""
        self.name, self.cwd = str(request.params["name"]), str(request.params["cwd"])
        return {"places": list(await self._host.places())}

    async def _place(self) -> str:
        """Return the directory of this Neovim that the agent is in; raises ToolError.

        The workspace of a chat is what the user opened. What the agent says of itself only chooses.
        """
        places = [place for place in await self._host.places() if is_below(self.cwd, place)]
        if not places:
            raise ToolError(NOT_HERE.format(self.cwd))
        return max(places, key=len)

    async def call(self, request: IncomingRequest) -> Mapping[str, Any]:
        """Run a call in the chat of the agent; return its answer."""
        chat = await self._open_chat()
        assert chat.agent is not None
        answer = await chat.agent.call(request.params["tool"], request.params["arguments"])
        return encode_answer(answer)

    def take_chat(self, chat: ServedChat) -> None:
        """Take the chat that was opened for this agent."""
        self._chat = chat
        if self._has_left:
            self.close()
        if self._opening is not None and not self._opening.done():
            self._opening.set_result(chat)

    def fail(self, reason: str) -> None:
        """Note that no chat can be opened."""
        if self._opening is not None and not self._opening.done():
            self._opening.set_exception(ToolError(reason))

    def close(self) -> None:
        """Note that the agent has left."""
        self._has_left = True
        self.fail("The connection has ended.")
        if self._chat is not None and self._chat.agent is not None:
            self._chat.agent.disconnect()
            if not self._chat.is_closed:
                self._chat.show_departure()

    async def _open_chat(self) -> ServedChat:
        """Return the chat; open one at the first call, and when the user has closed it."""
        if self._chat is not None and not self._chat.is_closed:
            return self._chat
        if self._opening is None or self._opening.done():
            place = await self._place()
        if self._opening is None or self._opening.done():
            self._opening = asyncio.get_running_loop().create_future()
            self._host.editor.open_chat(self.number, self.name, place)
        try:
            return await asyncio.wait_for(asyncio.shield(self._opening), OPEN_SECONDS)
        except TimeoutError:
            raise ToolError(NOT_OPENED.format(OPEN_SECONDS)) from None


class AgentConnections:
    """Listens for agents. Lives on the event loop of the host."""

    def __init__(self, editor: ChatOpener, folder: Path) -> None:
        self.editor = editor
        self._folder = folder
        self._listening: socket.socket | None = None
        self._numbers = itertools.count(1)
        self._connections: dict[int, AgentConnection] = {}
        self._places: Sequence[str] = ()

    async def listen(self, cwd: str) -> None:
        """Accept agents; ``cwd`` is where Neovim is as long as it says nothing else."""
        self._places = [cwd]
        try:
            self._listening = await asyncio.to_thread(sockets.listen, self._folder)
        except OSError as error:
            log.warning("agents of other programs cannot connect: %s", error)
            return
        atexit.register(self.close)
        self._listening.setblocking(False)
        asyncio.get_running_loop().add_reader(self._listening, self._accept)

    def close(self) -> None:
        """Accept no more agents."""
        if self._listening is not None:
            sockets.stop(self._listening, self._folder)
            self._listening = None

    def find(self, number: int) -> AgentConnection | None:
        """Return the connection with this number, if it has not ended."""
        return self._connections.get(number)

    async def places(self) -> Sequence[str]:
        """Return the directories that this Neovim is in."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PLACES_SECONDS):
                self._places = await self.editor.places()
        return self._places

    def _accept(self) -> None:
        if self._listening is None:
            return
        try:
            connected, _ = self._listening.accept()
        except OSError:  # the agent has left again
            return
        try:
            sockets.check_owner(connected)
        except OSError as error:
            log.warning("an agent was refused: %s", error)
            connected.close()
            return
        connection = AgentConnection(next(self._numbers), self)
        self._connections[connection.number] = connection
        serve = RequestTasks({"hello": connection.hello, "call": connection.call})
        peer = sockets.make_peer(connected, serve)
        loop = asyncio.get_running_loop()
        peer.end_reason.add_done_callback(
            lambda _: _call_soon(loop, self._forget, connection.number)
        )
        peer.start()

    def _forget(self, number: int) -> None:
        connection = self._connections.pop(number, None)
        if connection is not None:
            connection.close()


def encode_answer(answer: CallAnswer) -> dict[str, Any]:
    """Return an answer as data for ``rpc``."""
    images = [{"mime": image.mime, "data": image.data} for image in answer.images]
    return {"text": answer.text, "error": answer.is_error, "images": images}


def _call_soon(loop: asyncio.AbstractEventLoop, function: Any, *args: Any) -> None:
    with suppress(RuntimeError):  # the loop is closed
        loop.call_soon_threadsafe(function, *args)
