"""The rates at which messages and progress of servers are taken."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import anyio

from agentchat.tools.mcp.transports import (
    BURST,
    BURST_SECONDS,
    PROGRESS_SECONDS,
    LatestProgress,
    PacedStream,
)


async def take(stream: PacedStream, count: int) -> None:
    for _ in range(count):
        await stream.receive()


async def test_messages_beyond_a_burst_wait_for_the_next_one() -> None:
    send, receive = anyio.create_memory_object_stream[Any](3 * BURST + 1)
    with send, receive:
        for _ in range(3 * BURST + 1):
            send.send_nowait(None)
        began, stream = time.monotonic(), PacedStream(receive)
        await take(stream, 2 * BURST + 1)
        assert time.monotonic() - began >= 2 * BURST_SECONDS
        await asyncio.sleep(2 * BURST_SECONDS)  # a burst that is long over delays nothing
        await take(stream, BURST)


async def test_of_progress_in_quick_succession_the_newest_is_sent() -> None:
    sent: list[int] = []
    progress = LatestProgress(sent.append)
    for number in range(100):
        progress.report(number)
    await asyncio.sleep(2 * PROGRESS_SECONDS)
    assert sent == [99]
    progress.report(100)
    progress.flush()
    assert sent == [99, 100]
