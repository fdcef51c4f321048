"""How many tokens a request should have, to notice a server that silently cuts it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

BYTES_PER_TOKEN = 6.0
"""Before a server was measured. English and code have 4 to 5, so this asks for few tokens."""

LEAST_TOKENS = 1_000
"""A request estimated below this is not judged: a server's own template weighs too much in it."""

LEAST_COUNTED = 512
"""A server that cuts the prompt fills its context, and no context is smaller than this."""

SHORTFALL = 0.8
"""A count below this share of the estimate means that the server left something out."""


EXCESS = 1.6
"""A count beyond this share of what the messages alone should have holds more than those."""


class TokenEstimate:
    """Learns from each count of one server how many bytes make a token there."""

    def __init__(self) -> None:
        self._bytes_per_token = BYTES_PER_TOKEN

    def check(self, body: Mapping[str, Any], counted: int, called: bool = False) -> str | None:
        """Return a warning if ``counted`` prompt tokens are far too few for ``body``, else None.

        Args:
            called: the model has made a call, so it was given the tools.
        """
        size = size_of(body)
        expected = size / self._bytes_per_token
        if expected >= LEAST_TOKENS and not called and self._counts_only_messages(body, counted):
            return (
                f"The server counted {counted} prompt tokens where about {round(expected)} were "
                "sent: as many as without the tools. The model's chat template seems to have no "
                "tools, so it cannot use any. Choose a model that has."
            )
        if counted < LEAST_COUNTED or expected < LEAST_TOKENS:
            return None
        if counted >= SHORTFALL * expected:
            self._bytes_per_token = size / counted
            return None
        return (
            f"The server counted {counted} prompt tokens where about {round(expected)} were sent: "
            "it seems to cut the conversation. Raise its context size, or start a new chat."
        )

    def _counts_only_messages(self, body: Mapping[str, Any], counted: int) -> bool:
        """Whether the messages are there and the tools are not; a call in them needs tools."""
        if any(message.get("tool_calls") for message in body["messages"]):
            return False
        size, whole = size_of({"messages": body["messages"]}), size_of(body)
        lacking = counted < SHORTFALL * whole / self._bytes_per_token
        share = counted * self._bytes_per_token / max(size, 1)
        return lacking and SHORTFALL <= share <= EXCESS


def size_of(body: Mapping[str, Any]) -> int:
    """Return the bytes of text in a request; images are not counted."""
    tools = body.get("tools")
    schemas = len(json.dumps(tools, ensure_ascii=False, separators=(",", ":"))) if tools else 0
    return schemas + sum(_message(message) for message in body["messages"])


def _message(message: Mapping[str, Any]) -> int:
    content = message.get("content") or ""
    if not isinstance(content, str):
        content = "".join(part.get("text", "") for part in content)
    calls = [call["function"]["arguments"] for call in message.get("tool_calls") or ()]
    return len("".join([content, *calls]).encode("utf-8", "replace"))
