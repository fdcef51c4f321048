"""Reading the body of an answer: how long a silence may last, and what a broken one means."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from agentchat.core.tools.model import Piece
from agentchat.models.reply import CUT_OFF
from agentchat.models.stream import Answer

CONNECT_SECONDS = 10.0
BYTE_IDLE_SECONDS = 300.0
"""How long a server may send nothing at all, the time before its first byte included."""

DATA_IDLE_SECONDS = 600.0
"""How long a server may send only signs of life (comments, pings) and no part of an answer."""

AFTER_FINISH_SECONDS = 2.0
"""How long the token count is waited for once the answer is complete."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Times in seconds after which a silent server is given up."""

    connect: float = CONNECT_SECONDS
    byte_idle: float = BYTE_IDLE_SECONDS
    data_idle: float = DATA_IDLE_SECONDS
    after_finish: float = AFTER_FINISH_SECONDS


async def receive(
    chunks: AsyncIterator[bytes],
    answer: Answer,
    on_piece: Callable[[Piece], None],
    limits: Limits,
) -> str | None:
    """Feed the body to ``answer`` to its end; return what broke it off, if anything did."""
    import httpx2

    try:
        return await _read(chunks, answer, on_piece, limits)
    except httpx2.TimeoutException:
        return silent("nothing", limits.byte_idle)
    except (httpx2.HTTPError, httpx2.StreamError, OSError):
        return CUT_OFF


def silent(what: str, seconds: float) -> str:
    """Say that a server was given up."""
    return (
        f"The server sent {what} for {seconds:g} s. "
        "See whether it still works, then send the request again."
    )


async def _read(
    chunks: AsyncIterator[bytes],
    answer: Answer,
    on_piece: Callable[[Piece], None],
    limits: Limits,
) -> str | None:
    clock = asyncio.get_running_loop().time
    progress, since = 0, clock()
    while not answer.satisfied:
        try:
            data = await _next(chunks, limits.after_finish if answer.complete else None)
        except StopAsyncIteration:
            break
        for piece in answer.feed(data):
            on_piece(piece)
        if answer.progress != progress:
            progress, since = answer.progress, clock()
        elif clock() - since > limits.data_idle:
            return silent("no part of an answer", limits.data_idle)
    for piece in answer.end():
        on_piece(piece)
    return None


async def _next(chunks: AsyncIterator[bytes], seconds: float | None) -> bytes:
    """Return the next bytes; raises StopAsyncIteration at the end or after ``seconds``."""
    if seconds is None:
        return await chunks.__anext__()
    try:
        return await asyncio.wait_for(chunks.__anext__(), seconds)
    except asyncio.TimeoutError:
        raise StopAsyncIteration from None
