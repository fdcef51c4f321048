"""The rates at which messages and progress of servers are taken."""

from __future__ import annotations

import asyncio
import time

import anyio

from agentchat.tools.mcp.transports import (
    BURST,
    BURST_SECONDS,
    PROGRESS_SECONDS,
    LatestProgress,
    PacedStream,
)


async def test_messages_beyond_a_burst_wait_for_the_next_one() -> None:
    count = 2 * BURST + 1
    send, receive = anyio.create_memory_object_stream[int](count)
    with send, receive:
        for number in range(count):
            send.send_nowait(number)
        began, stream = time.monotonic(), PacedStream(receive)
        assert [await stream.receive() for _ in range(count)] == list(range(count))
    assert time.monotonic() - began >= 2 * BURST_SECONDS


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
