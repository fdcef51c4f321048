"""Short forms of old tool results, so that the conversation takes less of the window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentchat.core.context.quotes import decision_in
from agentchat.core.context.size import message_tokens
from agentchat.core.messages import Message, ToolResult

LONG_RESULT = 1_000
"""Characters from which a result is shortened."""

KEPT_CHARACTERS = 200
"""Characters of its beginning that stay."""

SHORTENED = "[{} characters of this old result are left out. Call {} again if you still need them.]"


def shorten(message: Message) -> Message:
    """Return the short form of an old tool result, always the same one; any other message as is.

    What the user decided stays whole.
    """
    if not isinstance(message, ToolResult) or decision_in(message):
        return message
    if len(message.text) <= LONG_RESULT and not message.images:
        return message
    text = message.text
    if len(text) > LONG_RESULT:
        head = text[:KEPT_CHARACTERS]
        text = f"{head}\n{SHORTENED.format(len(text) - len(head), message.name)}"
    return replace(message, text=text, images=())


def saved_tokens(messages: Sequence[Message]) -> int:
    """Return how many tokens the short forms of ``messages`` save."""
    return sum(message_tokens(message) - message_tokens(shorten(message)) for message in messages)
