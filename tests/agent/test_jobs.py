"""Tasks that nobody awaits: what fails in one is logged and shown."""

from __future__ import annotations

import asyncio
import warnings

import pytest

from agentchat.agent.jobs import BackgroundJobs
from agentchat.core.errors import UserError


class Lines:
    """Keeps the lines that the user is shown."""

    def __init__(self) -> None:
        self.shown: list[tuple[str, str]] = []

    def notify(self, level: str, text: str) -> None:
        self.shown.append((level, text))


async def fail(error: Exception) -> None:
    raise error


async def test_an_error_of_the_users_is_one_line_and_a_bug_is_in_the_log_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lines = Lines()
    background = BackgroundJobs(lines)
    await background.start(fail(UserError("The disk is full.")), "saving")
    assert caplog.text == ""
    await background.start(fail(RuntimeError("broken")), "saving")
    assert lines.shown == [
        ("warn", "The disk is full."),
        ("error", "saving failed: RuntimeError('broken'). See the log."),
    ]
    assert "Traceback" in caplog.text


async def test_closing_waits_for_what_ends_and_cancels_what_does_not() -> None:
    background, ended = BackgroundJobs(Lines()), []

    async def ends() -> None:
        await asyncio.sleep(0)
        ended.append("by itself")

    async def hangs() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    tasks = [background.start(ends()), background.start(hangs())]
    await background.close(0.05)
    assert ended == ["by itself", "cancelled"]
    assert all(task.done() for task in tasks)


async def test_a_task_that_is_cancelled_before_it_begins_leaves_no_warning() -> None:
    background = BackgroundJobs(Lines())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        task = background.start(fail(RuntimeError("never")))
        task.cancel()
        await asyncio.wait([task])
        await asyncio.sleep(0)
    assert task.cancelled()
