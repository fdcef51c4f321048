"""Calls of a chat leave in order, and building one stops nothing else."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest

from agentchat.nvim.lua_api import LuaFunction
from agentchat.nvim.view import LIST_ITEMS, Outbox


class Calls:
    """Notes what Neovim would be told."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.changed = asyncio.Event()

    def call(self, name: LuaFunction, *args: Any) -> None:
        self.names.append(" ".join((name, *map(str, args))))
        self.changed.set()

    def notify(self, level: str, text: str) -> None:
        self.names.append(f"{level} {text}")
        self.changed.set()

    async def until(self, count: int) -> None:
        """Wait until so many calls were made."""
        while len(self.names) < count:
            self.changed.clear()
            await asyncio.wait_for(self.changed.wait(), 10)


async def test_what_is_built_holds_up_what_comes_after_it_and_nothing_else() -> None:
    calls, ready = Calls(), threading.Event()
    outbox, other = Outbox(calls), Outbox(calls)

    def slow() -> dict[str, Any]:
        assert ready.wait(10)
        return {}

    outbox.call("chat.apply")
    outbox.call_built("approval.show", "chat", build=slow)
    outbox.call("approval.close")
    other.call("page.show")
    assert calls.names == ["chat.apply", "page.show"]
    ready.set()
    await calls.until(4)
    assert calls.names[2:] == ["approval.show chat {}", "approval.close"]


async def test_two_that_are_built_come_in_their_order() -> None:
    calls, ready = Calls(), threading.Event()
    outbox = Outbox(calls)
    outbox.call_built("approval.show", build=lambda: {"on": ready.wait(10)})
    outbox.call_built("review.show", build=dict)
    ready.set()
    await calls.until(2)
    assert [name.split()[0] for name in calls.names] == ["approval.show", "review.show"]


async def test_what_cannot_be_built_is_logged_and_shown_and_the_rest_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    calls = Calls()
    outbox = Outbox(calls)
    with caplog.at_level(logging.ERROR):
        outbox.call_built("approval.show", build=lambda: {"no": 1 / 0})
        outbox.call("approval.close")
        await calls.until(2)
    problem, closed = calls.names
    assert problem.startswith("error Something cannot be shown: ZeroDivisionError")
    assert closed == "approval.close"
    assert "approval.show was not called" in caplog.text
    outbox.call("chat.apply")
    await calls.until(3)


async def test_calls_go_at_once_again_when_nothing_is_built() -> None:
    calls = Calls()
    outbox = Outbox(calls)
    outbox.call_built("approval.show", build=dict)
    await calls.until(1)
    await asyncio.sleep(0)
    outbox.call("chat.apply")
    assert calls.names == ["approval.show {}", "chat.apply"]


async def test_a_long_list_of_a_document_goes_before_it_in_parts() -> None:
    calls = Calls()
    lines, long = ["a line"] * LIST_ITEMS, ["b"] * (2 * LIST_ITEMS + 1)
    outbox = Outbox(calls)
    outbox.call_built("review.show", build=lambda: {"doc": {"lines": lines, "marks": long}})
    await calls.until(4)
    parts = [call.split(" ", 2) for call in calls.names[:3]]
    assert [name for name, _, _ in parts] == ["list.add"] * 3
    assert [items.count("b") for _, _, items in parts] == [LIST_ITEMS, LIST_ITEMS, 1]
    shown = {"doc": {"lines": lines, "marks": {"$list": parts[0][1]}}}
    assert calls.names[3] == f"review.show {shown}"
