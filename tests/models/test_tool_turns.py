"""Generated tool turns against servers that check signatures and items: none is refused.

``make nightly`` plays ten times as many and prints the counts.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import pytest

from agentchat.core.context.context import ChatContext, compact, find_cut, find_shortening
from agentchat.core.messages import History, Message, Reply, Status, ToolResult, UserText
from agentchat.core.model import ModelRequest, Piece, TextDelta
from agentchat.journal.codec import from_fields, to_fields
from agentchat.journal.records import MessageRecorded
from agentchat.models.api_key import FixedKey
from agentchat.models.client import ModelClient
from agentchat.models.protocols.options import ProtocolName
from tests.models.protocol_server import ProtocolServer, serving
from tests.models.requests import tool
from tests.models.strict_servers import (
    StrictAnthropic,
    StrictChat,
    StrictGemini,
    StrictResponses,
    StrictServer,
)
from tests.models.test_official_clients import misfits
from tests.permissions.report import generated, seed, tell

pytestmark = pytest.mark.slow

TURNS = min(generated(), 10_000)
TURNS_IN_A_CHAT = 10
SERVERS: dict[ProtocolName, tuple[type[StrictServer], str]] = {
    "anthropic": (StrictAnthropic, "claude-opus-4-6"),
    "openai-responses": (StrictResponses, "gpt-5"),
    "gemini": (StrictGemini, "gemini-3-pro"),
    "openai-chat": (StrictChat, "anthropic/claude-opus-4-6"),
}
TOOLS = (tool("read"), tool("resolve"))


class GeneratedChat:
    """One chat: the user writes, switches models, stops, compacts, copies and opens it again."""

    def __init__(
        self, random: random.Random, models: list[ModelClient], events: Counter[str]
    ) -> None:
        self.random = random
        self.models = models
        self.model = random.choice(models)
        self.history = History()
        self.context = ChatContext()
        self.events = events

    def happens(self, event: str, chance: float) -> bool:
        """Whether something happens now; it is counted."""
        does = self.random.random() < chance
        self.events[event] += does
        return does

    async def turn(self) -> None:
        """Play one turn to its end."""
        if self.happens("fork", 0.05):
            self.fork()
        self.history = self.history.add(UserText("go on é𝄞"))
        for _ in range(6):
            if self.happens("model switched", 0.1):
                self.model = self.random.choice(self.models)
            reply = await self.ask()
            self.history = self.history.add(reply)
            if reply.calls and self.happens("host killed", 0.05):
                self.resume(reply)
                return
            self.history = self.history.add(*(result(c) for c in reply.calls))
            if self.happens("steered", 0.05):
                self.history = self.history.add(UserText("and mind the tests"))
            if self.happens("opened again", 0.1):
                self.history = History(tuple(map(reopened, self.history.messages)))
            if self.happens("context step", 0.2):
                self.take_step()
            self.events["parallel calls"] += len(reply.calls) > 1
            if not reply.calls or reply.error:
                return

    def fork(self) -> None:
        """Go on with a copy of the chat that ends before one of its user's messages."""
        messages = self.history.messages
        starts = [i for i, message in enumerate(messages) if isinstance(message, UserText)]
        if starts:
            self.history = History(messages[: self.random.choice(starts)])
            self.context = ChatContext()

    def resume(self, reply: Reply) -> None:
        """Open the chat after its process ended while calls ran: some have their results."""
        done = self.random.randrange(len(reply.calls))
        lost = [
            ToolResult(call.id, call.name, "The outcome is unknown.", Status.ERROR)
            for call in reply.calls[done:]
        ]
        self.history = self.history.add(*(result(c) for c in reply.calls[:done]), *lost)
        self.history = History(tuple(map(reopened, self.history.messages)))

    def take_step(self) -> None:
        """Compact the chat in a window of some size, or send its old results in short form."""
        messages, window = self.history.messages, self.random.choice([512, 1_000, 4_000])
        cut = find_cut(messages, self.context.start, window)
        if cut is not None and self.random.random() < 0.5:
            self.context.add(compact(messages, cut, "It went well.", window=window), self.history)
        else:
            step = find_shortening(messages, self.context, window)
            if step is not None:
                self.context.add(step, self.history)

    async def ask(self) -> Reply:
        """Send the chat as it is; some answers are stopped while they stream."""
        forced = "resolve" if self.random.random() < 0.1 else None
        asked = ModelRequest(
            system="Be brief.",
            history=self.context.view(self.history),
            used_ids=self.context.used_ids,
            tools=TOOLS,
            forced=forced,
            reminder="Resolve it." if forced else None,
            chat="uuid",
        )
        if self.happens("stopped in mid-stream", 0.1):
            return await self.ask_and_stop(asked)
        return await self.model.ask(asked, lambda piece: None)

    async def ask_and_stop(self, asked: ModelRequest) -> Reply:
        """Stop the answer after some of its pieces; what was shown is kept, as a chat does."""
        shown: list[str] = []
        left = self.random.randrange(1, 4)

        def show(piece: Piece) -> None:
            nonlocal left
            left -= 1
            if isinstance(piece, TextDelta):
                shown.append(piece.text)
            if left == 0:
                asking.cancel()

        asking = asyncio.ensure_future(self.model.ask(asked, show))
        try:
            return await asking
        except asyncio.CancelledError:
            return Reply(text="".join(shown), finish="cancelled")


def result(call: object) -> Message:
    id, name = getattr(call, "id", ""), getattr(call, "name", "")
    return ToolResult(id, name, f"the text for {id}" * 40)


def reopened(message: Message) -> Message:
    """The message as a journal gives it back."""
    record = from_fields(to_fields(MessageRecorded(message)))
    assert isinstance(record, MessageRecorded)
    return record.message


@dataclass(frozen=True)
class World:
    """Servers of every protocol, and two models of each."""

    chance: random.Random
    strict: dict[ProtocolName, StrictServer]
    http: dict[ProtocolName, ProtocolServer]
    models: list[ModelClient]
    events: Counter[str] = field(default_factory=Counter)

    async def play(self, turns: int) -> None:
        """Play chats of some turns each."""
        for _ in range(turns // TURNS_IN_A_CHAT):
            chat = GeneratedChat(self.chance, self.models, self.events)
            for _ in range(TURNS_IN_A_CHAT):
                await chat.turn()


@asynccontextmanager
async def world() -> AsyncIterator[World]:
    """Serve every protocol."""
    chance = random.Random(10 + seed())
    async with AsyncExitStack() as stack:
        made = World(chance, {}, {}, [])
        for protocol, (kind, name) in SERVERS.items():
            strict = made.strict[protocol] = kind(chance)
            http = made.http[protocol] = await stack.enter_async_context(serving(strict))
            provider = "openrouter" if protocol == "openai-chat" else protocol
            for model in (name, f"{name}-other"):
                url, key = f"{http.url}/v1", FixedKey("k", "KEY")
                client = ModelClient(model, url, key, protocol=protocol, provider=provider)
                stack.push_async_callback(client.close)
                made.models.append(client)
        yield made


@pytest.mark.timeout(300)
async def test_of_a_thousand_generated_turns_none_is_refused() -> None:
    async with world() as made:
        await made.play(TURNS)
    answers = {protocol: server.answers for protocol, server in made.strict.items()}
    tell(f"{TURNS} turns, answers {answers}, events {dict(made.events)}")
    assert {name: server.refused for name, server in made.strict.items()} == {
        name: [] for name in SERVERS
    }
    assert all(count > TURNS // 8 for count in answers.values())
    assert all(made.events.values())


@pytest.mark.timeout(300)
@pytest.mark.xdist_group("aimock")  # where the clients are loaded
async def test_the_official_clients_take_the_bodies_of_generated_turns() -> None:
    async with world() as made:
        await made.play(TURNS // 25)
    counts = {}
    for protocol in ("anthropic", "openai-responses", "gemini"):
        bodies = made.http[protocol].bodies
        counts[protocol] = len(bodies)
        assert [misfits(protocol, body) for body in bodies] == [[] for _ in bodies]
    tell(f"bodies that the official clients take, all of {counts}")
    assert all(count > TURNS // 200 for count in counts.values())
