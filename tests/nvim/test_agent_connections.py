"""Agents that connect over a socket, with a chat that is opened at the first call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from agentchat.agent.external.agent import CallAnswer, ExternalAgent
from agentchat.core.errors import ToolError
from agentchat.nvim.agent_connections import AgentConnections
from agentchat.rpc import sockets
from agentchat.rpc.peer import Peer


class EchoAgent(ExternalAgent):
    """Answers each call with its name."""

    async def call(self, name: str, arguments: Any) -> CallAnswer:
        return CallAnswer(f"ran {name}")


class OpenedChat:
    """A chat as the connections see it."""

    def __init__(self, name: str) -> None:
        self.agent = EchoAgent(name)
        self.is_closed = False
        self.departures = 0

    def show_departure(self) -> None:
        self.departures += 1


class Opener:
    """Opens chats at once, or refuses, or leaves it to the test."""

    def __init__(self, folder: Path, refusal: str = "", at_once: bool = True) -> None:
        self.connections = AgentConnections(self, folder)
        self.opened: list[OpenedChat] = []
        self.numbers: list[int] = []
        self.cwds: list[str] = []
        self._refusal = refusal
        self._at_once = at_once

    def open_chat(self, connection: int, name: str, cwd: str) -> None:
        self.numbers.append(connection)
        self.cwds.append(cwd)
        found = self.connections.find(connection)
        assert found is not None
        if self._refusal:
            found.fail(self._refusal)
        elif self._at_once:
            self.opened.append(OpenedChat(name))
            found.take_chat(self.opened[-1])

    async def places(self) -> Sequence[str]:
        return ["/a", "/b"]


async def connect(
    folder: Path, opener: Opener, request: pytest.FixtureRequest, cwd: str = "/a"
) -> Peer:
    request.addfinalizer(opener.connections.close)
    await opener.connections.listen("/a")
    (path,) = sockets.find(folder)
    peer = sockets.make_peer(sockets.connect(path))
    peer.start()
    hello = await peer.request("hello", {"name": "Tester", "cwd": cwd})
    assert hello == {"places": ["/a", "/b"]}
    return peer


async def call(peer: Peer) -> Any:
    return await peer.request("call", {"tool": "ls", "arguments": {}})


async def until(seen: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not seen():  # noqa: ASYNC110 - what another thread does sets no event here
            await asyncio.sleep(0.001)


async def test_the_chat_is_opened_at_the_first_call_and_once(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    opener = Opener(tmp_path)
    peer = await connect(tmp_path, opener, request)
    assert opener.opened == []
    for _ in range(2):
        assert await call(peer) == {"text": "ran ls", "error": False, "images": []}
    assert len(opener.opened) == 1
    peer.close()
    await until(lambda: opener.opened[0].departures == 1)
    assert not opener.opened[0].agent.is_connected


async def test_a_chat_that_was_closed_is_opened_again(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    opener = Opener(tmp_path)
    peer = await connect(tmp_path, opener, request)
    await call(peer)
    opener.opened[0].is_closed = True
    await call(peer)
    assert len(opener.opened) == 2
    peer.close()
    await until(lambda: opener.opened[1].departures == 1)
    assert opener.opened[0].departures == 0


async def test_a_chat_that_cannot_be_opened_is_an_error(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    peer = await connect(tmp_path, Opener(tmp_path, "The journal is full."), request)
    with pytest.raises(ToolError, match=r"The journal is full\."):
        await call(peer)
    peer.close()


async def test_an_agent_that_leaves_while_its_chat_is_opened_has_left_it(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    opener = Opener(tmp_path, at_once=False)
    peer = await connect(tmp_path, opener, request)
    waiting = asyncio.ensure_future(call(peer))
    await until(lambda: bool(opener.numbers))
    connection = opener.connections.find(opener.numbers[0])
    assert connection is not None
    peer.close()
    await asyncio.wait([waiting])
    assert waiting.exception() is not None
    await until(lambda: opener.connections.find(opener.numbers[0]) is None)
    chat = OpenedChat("Tester")
    connection.take_chat(chat)
    assert not chat.agent.is_connected


@pytest.mark.parametrize("cwd", ["/b", "/b/deep/er", "/a/../b"])
async def test_the_workspace_is_what_the_user_opened(
    tmp_path: Path, request: pytest.FixtureRequest, cwd: str
) -> None:
    opener = Opener(tmp_path)
    peer = await connect(tmp_path, opener, request, cwd)
    await call(peer)
    assert opener.cwds == ["/b"]
    peer.close()


@pytest.mark.parametrize("cwd", ["/", "/etc", "/bb", "b", "/b/.."])
async def test_an_agent_gets_no_chat_where_the_user_is_not(
    tmp_path: Path, request: pytest.FixtureRequest, cwd: str
) -> None:
    opener = Opener(tmp_path)
    peer = await connect(tmp_path, opener, request, cwd)
    with pytest.raises(ToolError, match="is in no directory of this Neovim"):
        await call(peer)
    assert opener.opened == []
    peer.close()
