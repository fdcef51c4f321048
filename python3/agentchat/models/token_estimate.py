"""How large a request is: to notice a server that cuts it, and to say what makes it too long."""

from __future__ import annotations

import json
from collections.abc import Iterator

from agentchat.core.messages import Note, Reply, UserText
from agentchat.core.tools.model import ModelRequest
from agentchat.core.turn.validate import offered_description, offered_schema

BYTES_PER_TOKEN = 6.0
"""Before a server was measured. English and code have 4 to 5, so this asks for few tokens."""

LEAST_TOKENS = 1_000
"""A request estimated below this is not judged: a server's own template weighs too much in it."""

LEAST_COUNTED = 512
"""A server that cuts the prompt fills its context, and no context is smaller than this."""

SHORTFALL = 0.8
"""A count below this share of the estimate means that the server left something out."""


class TokenEstimate:
    """Learns from each count of one server how many bytes make a token there."""

    def __init__(self) -> None:
        self._bytes_per_token = BYTES_PER_TOKEN

    def check(self, request: ModelRequest, counted: int) -> str | None:
        """Return a warning if ``counted`` prompt tokens are far too few, else None."""
        size = size_of(request)
        expected = size / self._bytes_per_token
        if counted < LEAST_COUNTED or expected < LEAST_TOKENS:
            return None
        if counted >= SHORTFALL * expected:
            self._bytes_per_token = size / counted
            return None
        return (
            f"The server counted {counted} prompt tokens where about {round(expected)} were sent: "
            "it seems to cut the conversation. Raise its context size, or start a new chat."
        )


def size_of(request: ModelRequest) -> int:
    """Return the bytes of text in a request; images and reasoning are not counted."""
    return sum(size for _, size in _sizes(request))


def biggest_part(request: ModelRequest) -> str:
    """Name the biggest part of a request, with its size."""
    name, size = max(_sizes(request), key=lambda part: part[1])
    return f"{name} ({max(1, size // 1024)} KiB)"


def _sizes(request: ModelRequest) -> Iterator[tuple[str, int]]:
    schemas = [
        [tool.name, offered_description(tool), offered_schema(tool)] for tool in request.tools
    ]
    dumped = json.dumps(schemas, ensure_ascii=False, separators=(",", ":"))
    yield "the tools' schemas", len(dumped.encode("utf-8", "replace")) if schemas else 0
    yield "the system prompt", _bytes(request.system)
    yield "a message of the user", _bytes(request.reminder or "")
    for message in request.history.messages:
        if isinstance(message, Reply):
            calls = (call.arguments for call in message.calls)
            yield "an answer of the model", _bytes("".join([message.text, *calls]))
        elif isinstance(message, UserText | Note):
            yield "a message of the user", _bytes(message.text)
        else:
            yield "a tool's result", _bytes(message.text)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
