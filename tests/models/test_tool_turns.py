"""Generated tool turns against servers that check signatures and items: none is refused."""

from __future__ import annotations

import random
from contextlib import AsyncExitStack

import pytest

from agentchat.core.context.context import ChatContext, compact, find_cut, find_shortening
from agentchat.core.messages import History, Message, Reply, ToolResult, UserText
from agentchat.core.tools.model import ModelRequest
from agentchat.journal.codec import from_fields, to_fields
from agentchat.journal.records import MessageRecorded
from agentchat.models.api_key import FixedKey
from agentchat.models.client import ModelClient
from agentchat.models.protocols.options import ProtocolName
from tests.models.protocol_server import serving
from tests.models.requests import tool
from tests.models.strict_servers import (
    StrictAnthropic,
    StrictGemini,
    StrictResponses,
    StrictServer,
)

pytestmark = pytest.mark.slow

TURNS = 1000
TURNS_IN_A_CHAT = 10
SERVERS: dict[ProtocolName, tuple[type[StrictServer], str]] = {
    "anthropic": (StrictAnthropic, "claude-opus-4-6"),
    "openai-responses": (StrictResponses, "gpt-5"),
    "gemini": (StrictGemini, "gemini-3-pro"),
}
TOOLS = (tool("read"), tool("resolve"))


class GeneratedChat:
    """One chat: the user writes, switches models, stops, compacts, closes and opens it again."""

    def __init__(self, random: random.Random, models: list[ModelClient]) -> None:
        self.random = random
        self.models = models
        self.model = random.choice(models)
        self.history = History()
        self.context = ChatContext()

    async def turn(self) -> None:
        """Play one turn to its end."""
        self.history = self.history.add(UserText("go on é𝄞"))
        for _ in range(6):
            if self.random.random() < 0.1:
                self.model = self.random.choice(self.models)
            reply = await self.ask()
            self.history = self.history.add(reply, *map(result, reply.calls))
            if self.random.random() < 0.1:
                self.history = History(tuple(map(reopened, self.history.messages)))
            if self.random.random() < 0.2:
                self.take_step()
            if not reply.calls or reply.error:
                return

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
        reply = await self.model.ask(asked, lambda piece: None)
        if self.random.random() < 0.05:
            return Reply(text=reply.text[: len(reply.text) // 2], finish="cancelled")
        return reply


def result(call: object) -> Message:
    id, name = getattr(call, "id", ""), getattr(call, "name", "")
    return ToolResult(id, name, f"the text for {id}" * 40)


def reopened(message: Message) -> Message:
    """The message as a journal gives it back."""
    record = from_fields(to_fields(MessageRecorded(message)))
    assert isinstance(record, MessageRecorded)
    return record.message


async def test_of_a_thousand_generated_turns_none_is_refused() -> None:
    chance = random.Random(11)
    async with AsyncExitStack() as stack:
        servers: list[StrictServer] = []
        models: list[ModelClient] = []
        for protocol, (kind, name) in SERVERS.items():
            servers.append(kind(chance))
            server = await stack.enter_async_context(serving(servers[-1]))
            key = FixedKey("k", "KEY")
            for model in (name, f"{name}-other"):
                client = ModelClient(
                    model, f"{server.url}/v1", key, protocol=protocol, provider=protocol
                )
                stack.push_async_callback(client.close)
                models.append(client)
        for _ in range(TURNS // TURNS_IN_A_CHAT):
            chat = GeneratedChat(chance, models)
            for _ in range(TURNS_IN_A_CHAT):
                await chat.turn()
    assert [server.refused for server in servers] == [[], [], []]
    assert all(server.answers > TURNS // 5 for server in servers)
