"""How large messages and tools are, in bytes and in estimated tokens; how full a window may become.

Whoever estimates does it with these sizes. Counts of a server correct the estimate.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from agentchat.core.frozen import frozen
from agentchat.core.messages import Message, Note, Reply
from agentchat.core.tools.tool import Tool

BYTES_PER_TOKEN = 4
"""English and code have 4 to 5; other scripts have more bytes, and more tokens."""

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


def text_bytes(*texts: str | None) -> int:
    """Return the bytes of texts in UTF-8."""
    return sum(len(text.encode("utf-8", "replace")) for text in texts if text)


def message_bytes(message: Message) -> int:
    """Return the bytes that every server is sent of a message: its text, and its calls."""
    calls = message.calls if isinstance(message, Reply) else ()
    return text_bytes(message.text, *(part for c in calls for part in (c.name, c.arguments)))


def tools_bytes(tools: Iterable[Tool]) -> int:
    """Return the bytes of what a request says of its tools."""
    schemas = [[tool.name, tool.description, tool.arguments.schema()] for tool in tools]
    if not schemas:
        return 0
    return text_bytes(json.dumps(schemas, ensure_ascii=False, separators=(",", ":"), default=str))


def message_tokens(message: Message) -> int:
    """Return the estimated tokens of one message, with its reasoning and images."""
    text = message_bytes(message)
    if isinstance(message, Reply):
        text += text_bytes(message.reasoning)
        return MESSAGE_TOKENS * (1 + len(message.calls)) + text // BYTES_PER_TOKEN
    images = () if isinstance(message, Note) else message.images
    return MESSAGE_TOKENS + text // BYTES_PER_TOKEN + IMAGE_TOKENS * len(images)


def total_tokens(messages: Iterable[Message]) -> int:
    """Return the estimated tokens of messages."""
    return sum(map(message_tokens, messages))


def fixed_tokens(system: str, tools: Iterable[Tool]) -> int:
    """Return the estimated tokens of what every request has: system prompt and tools."""
    return (text_bytes(system) + tools_bytes(tools)) // BYTES_PER_TOKEN


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
