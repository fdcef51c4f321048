"""The built-in planner as a model: replays what was said, then makes the next calls."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator

from agentchat.core.messages import Reply
from agentchat.core.tools.model import CallDelta, ModelRequest, Piece, TextDelta
from agentchat.models.offline.planner import next_reply

PACE_SECONDS = 0.005
"""Time between two pieces of an answer, so that it streams as one from a server does."""

ARGUMENT_PIECE = 24
"""Characters of a call's arguments that arrive at a time."""


class OfflineModel:
    """A deterministic planner over plain requests; no key, no network, no language model."""

    def __init__(self, pace: float = PACE_SECONDS) -> None:
        self._pace = pace

    @property
    def name(self) -> str:
        """What the user reads as the model's name."""
        return "offline"

    def warm_up(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to close."""

    async def ask(self, request: ModelRequest, on_piece: Callable[[Piece], None]) -> Reply:
        """Return the next step of what the user asked for, in small pieces."""
        reply = next_reply(request)
        for piece in _pieces(reply):
            on_piece(piece)
            await asyncio.sleep(self._pace)
        return reply


def _pieces(reply: Reply) -> Iterator[Piece]:
    for word in re.findall(r"\S*\s*", reply.text):
        if word:
            yield TextDelta(word)
    for call in reply.calls:
        for end in range(ARGUMENT_PIECE, len(call.arguments) + ARGUMENT_PIECE, ARGUMENT_PIECE):
            yield CallDelta(call.id, call.name, call.arguments[:end])
