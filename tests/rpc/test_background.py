"""Work that nobody waits for: none of it is lost, and what it raises is logged."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Sequence

import pytest

from agentchat.rpc.background import BackgroundTasks, Batcher, run_in_thread, run_to_completion


async def test_what_a_task_raises_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise ValueError("bad")

    task = BackgroundTasks().start(fail())
    await asyncio.wait({task})
    await asyncio.sleep(0)
    assert "ValueError: bad" in caplog.text


async def test_a_task_is_kept_until_it_ends() -> None:
    go, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        await go.wait()
        ended.set()

    tasks = BackgroundTasks()
    tasks.start(work())
    await asyncio.sleep(0)
    gc.collect()
    go.set()
    await asyncio.wait_for(ended.wait(), 5)


async def test_cancelling_waits_until_all_tasks_have_ended() -> None:
    ended = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append(1)

    tasks = BackgroundTasks()
    tasks.start(work())
    tasks.start(work())
    await asyncio.sleep(0)
    await tasks.cancel()
    assert ended == [1, 1]


async def test_blocking_work_returns_or_raises_in_the_loop() -> None:
    def fail() -> None:
        raise ValueError("bad")

    assert await run_in_thread(lambda: 3) == 3
    with pytest.raises(ValueError, match="bad"):
        await run_in_thread(fail)


async def test_blocking_work_may_be_left_alone() -> None:
    go, ended = threading.Event(), threading.Event()

    def work() -> None:
        go.wait(5)
        ended.set()

    waiting = asyncio.ensure_future(run_in_thread(work))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    go.set()
    assert await asyncio.to_thread(ended.wait, 5)


async def test_work_is_finished_even_if_its_caller_is_cancelled() -> None:
    started, allowed, finished = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        started.set()
        await allowed.wait()
        finished.set()

    caller = asyncio.ensure_future(run_to_completion(work()))
    await started.wait()
    caller.cancel()
    allowed.set()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert finished.is_set()


async def test_what_is_requested_together_is_performed_together() -> None:
    performed: list[list[int]] = []

    async def double(numbers: Sequence[int]) -> list[int | Exception]:
        performed.append(list(numbers))
        return [ValueError("three") if number == 3 else number * 2 for number in numbers]

    batcher = Batcher(double)
    requests = (batcher.request(number) for number in (1, 2, 3))
    first, second, third = await asyncio.gather(*requests, return_exceptions=True)
    assert (first, second, str(third)) == (2, 4, "three")
    assert await batcher.request(5) == 10
    assert performed == [[1, 2, 3], [5]]


async def test_an_error_of_the_whole_batch_is_raised_for_each_request() -> None:
    async def fail(items: Sequence[int]) -> list[int]:
        raise OSError("gone")

    batcher = Batcher(fail)
    errors = await asyncio.gather(batcher.request(1), batcher.request(2), return_exceptions=True)
    assert [str(error) for error in errors] == ["gone", "gone"]
