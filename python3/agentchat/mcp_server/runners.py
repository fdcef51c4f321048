"""Where the calls of an agent run: in the Neovim of its project, or without one by the rules."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from agentchat.agent.external.agent import CallAnswer, ExternalAgent
from agentchat.agent.permissions.rule_store import FILE
from agentchat.app.settings import read_settings
from agentchat.app.silent_view import SilentView
from agentchat.app.state import State
from agentchat.app.unattended_chat import UnattendedChat, open_chat
from agentchat.core.errors import ToolError
from agentchat.core.frozen import frozen
from agentchat.core.messages import Image
from agentchat.core.permissions.policy import NOBODY
from agentchat.rpc import sockets
from agentchat.rpc.frames import Disconnected, RemoteError
from agentchat.rpc.peer import Peer

HELLO_SECONDS = 3.0
"""How long a host may take to say which directories its Neovim is in."""

LOST = (
    "The agentchat process of Neovim ended during this call ({}). Look at what was done before you "
    "call again."
)
NO_EDITOR = (
    "No Neovim with agentchat runs in this project, so nobody could be asked, and rules are read "
    "from {} only. The user can run :AgentChat in a Neovim there and let you call again."
)


@frozen
class AgentInfo:
    """The agent as it introduced itself, and the directory it works in."""

    name: str
    cwd: str


class EditorRunner:
    """Runs calls in a Neovim; the agent has a chat there."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    @property
    def is_alive(self) -> bool:
        """Whether calls can be made."""
        return self._peer.alive

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> CallAnswer:
        """Run a call; raises ToolError."""
        try:
            params = {"tool": tool, "arguments": dict(arguments)}
            answer = await self._peer.request("call", params)
        except Disconnected as error:
            raise ToolError(LOST.format(error)) from error
        except RemoteError as error:
            raise ToolError(f"Neovim could not run {tool}: {error}") from error
        images = tuple(Image(image["mime"], image["data"]) for image in answer["images"])
        return CallAnswer(answer["text"], answer["error"], images)

    async def close(self) -> None:
        """Leave the Neovim."""
        self._peer.close()


class RulesRunner:
    """Runs calls without a Neovim: what would ask is denied."""

    def __init__(self, chat: UnattendedChat, rules_file: Path) -> None:
        assert chat.agent is not None
        self._rules_file = rules_file
        self._agent: ExternalAgent = chat.agent
        self._chat = chat

    @classmethod
    async def open(cls, agent: AgentInfo, state: State) -> RulesRunner:
        """Open a chat in the agent's directory; raises UserError."""
        view = SilentView()
        uuid = str(uuid4())
        chat = await open_chat(uuid, agent.cwd, read_settings({}), state, view, agent.name)
        return cls(chat, state.config / FILE)

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> CallAnswer:
        """Run a call."""
        answer = await self._agent.call(tool, arguments)
        if answer.text.startswith(NOBODY):
            return replace(answer, text=f"{answer.text}\n{NO_EDITOR.format(self._rules_file)}")
        return answer

    async def close(self) -> None:
        """Stop what runs."""
        self._agent.disconnect()
        await self._chat.close()


class ToolRunners:
    """Finds where a call runs, anew for each call: a Neovim may have been started or closed."""

    def __init__(self, state: State, cwd: str) -> None:
        self._state = state
        self._cwd = cwd
        self._editor: EditorRunner | None = None
        self._rules: RulesRunner | None = None
        self._finding = asyncio.Lock()

    async def call(self, agent: str, tool: str, arguments: Mapping[str, Any]) -> CallAnswer:
        """Run a call of the agent with this name; raises ToolError."""
        async with self._finding:
            runner = await self._find(AgentInfo(agent, self._cwd))
        return await runner.call(tool, arguments)

    async def close(self) -> None:
        """Stop what runs."""
        for runner in (self._editor, self._rules):
            if runner is not None:
                await runner.close()

    async def _find(self, agent: AgentInfo) -> EditorRunner | RulesRunner:
        if self._editor is None or not self._editor.is_alive:
            peer = await find_editor(self._state.agent_sockets, agent)
            self._editor = EditorRunner(peer) if peer is not None else None
        if self._editor is not None:
            return self._editor
        if self._rules is None:
            self._rules = await RulesRunner.open(agent, self._state)
        return self._rules


async def find_editor(folder: Path, agent: AgentInfo) -> Peer | None:
    """Return a connection to the Neovim whose directory is nearest to the agent's.

    Of several in the same directory it is the one that was started last. The agent's directory is
    that of the Neovim, or below it.
    """
    best: tuple[int, Peer] | None = None
    for path in await asyncio.to_thread(sockets.find, folder):
        try:
            peer = sockets.make_peer(await asyncio.to_thread(sockets.connect, path))
        except OSError:
            continue
        nearness = await _nearness(peer, agent)
        if nearness and (best is None or nearness > best[0]):
            if best is not None:
                best[1].close()
            best = nearness, peer
        else:
            peer.close()
    return best[1] if best is not None else None


async def _nearness(peer: Peer, agent: AgentInfo) -> int:
    """Say hello; return how much of the agent's path the Neovim is in, 0 if it is elsewhere."""
    peer.start()
    with suppress(TimeoutError, Disconnected, RemoteError):
        async with asyncio.timeout(HELLO_SECONDS):
            answer = await peer.request("hello", {"name": agent.name, "cwd": agent.cwd})
        return max((shared_length(place, agent.cwd) for place in answer["places"]), default=0)
    return 0


def shared_length(place: str, cwd: str) -> int:
    """Return the number of characters of ``place`` if ``cwd`` is in it, else 0."""
    place = os.path.realpath(place)
    return len(place) if os.path.commonpath([place, cwd]) == place else 0
