"""How many tokens messages take, as an estimate, and how full a context window may become."""

from __future__ import annotations

import json
from collections.abc import Iterable

from agentchat.core.frozen import frozen
from agentchat.core.messages import Message, Note, Reply
from agentchat.core.tools.tool import Tool

CHARACTERS_PER_TOKEN = 4
"""English and code have about as many; counts of the server correct the estimate."""

MESSAGE_TOKENS = 6
"""What the form of one message takes, whatever its text."""

IMAGE_TOKENS = 1_500

ANSWER_TOKENS = 16_000
"""The most that is kept free for the next answer; the rest is the room for the conversation."""

SHORTEN_SHARE = 0.8
COMPACT_SHARE = 0.95
"""Shares of that room at which old results are shortened, and at which a summary is proposed."""

TAIL_TOKENS = 20_000
QUOTED_TOKENS = 20_000
"""The most that stays of the newest rounds, and of the user's earlier messages."""


def message_tokens(message: Message) -> int:
    """Return the estimated tokens of one message; reasoning and vendor data count too."""
    if isinstance(message, Reply):
        size = len(message.text) + len(message.reasoning)
        size += sum(len(call.name) + len(call.arguments) for call in message.calls)
        return MESSAGE_TOKENS * (1 + len(message.calls)) + size // CHARACTERS_PER_TOKEN
    images = () if isinstance(message, Note) else message.images
    text = len(message.text) // CHARACTERS_PER_TOKEN
    return MESSAGE_TOKENS + text + IMAGE_TOKENS * len(images)


def total_tokens(messages: Iterable[Message]) -> int:
    """Return the estimated tokens of messages."""
    return sum(map(message_tokens, messages))


def fixed_tokens(system: str, tools: Iterable[Tool]) -> int:
    """Return the estimated tokens of what every request has: system prompt and tools."""
    size = len(system)
    for tool in tools:
        schema = json.dumps(tool.arguments.schema(), ensure_ascii=False)
        size += len(tool.name) + len(tool.description) + len(schema)
    return size // CHARACTERS_PER_TOKEN


@frozen
class Window:
    """The context window of a model: ``tokens`` for the conversation and the answer together."""

    tokens: int

    @property
    def room(self) -> int:
        """The tokens that the conversation may take, without the next answer."""
        return self.tokens - min(ANSWER_TOKENS, self.tokens // 5)

    @property
    def shorten_at(self) -> int:
        """The tokens at which old results are shortened."""
        return int(self.room * SHORTEN_SHARE)

    @property
    def compact_at(self) -> int:
        """The tokens at which the conversation is compacted."""
        return int(self.room * COMPACT_SHARE)


def tail_tokens(window: int | None) -> int:
    """Return how many tokens of the newest rounds stay when the rest is summarised."""
    return TAIL_TOKENS if window is None else min(TAIL_TOKENS, window // 5)


def quoted_tokens(window: int | None) -> int:
    """Return how many tokens of the user's earlier messages stay word for word."""
    return QUOTED_TOKENS if window is None else min(QUOTED_TOKENS, window // 8)
