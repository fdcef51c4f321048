"""What a chat draws in one frame is sent together, each block once."""

from __future__ import annotations

import asyncio
from typing import Any

from agentchat.core.turn.view import ToolBlock
from agentchat.nvim.lua_api import LuaFunction
from agentchat.nvim.view import BATCH_SECONDS, OPS_PER_CALL, NvimView


class Calls:
    """Keeps the operations that Neovim would draw, call by call."""

    def __init__(self) -> None:
        self.drawn: list[list[list[Any]]] = []
        self.parts: list[dict[str, bool]] = []
        self.called = asyncio.Event()

    def call(self, name: LuaFunction, *args: Any) -> None:
        assert name in ("chat.apply", "chat.prepend")
        self.drawn.append(args[1])
        self.parts += args[2:]
        self.called.set()

    def notify(self, level: str, text: str) -> None:
        raise AssertionError(text)


def a_view() -> tuple[NvimView, Calls]:
    calls = Calls()
    return NvimView(calls, "chat", "/ws"), calls


async def test_changes_of_a_block_in_one_frame_are_sent_as_one() -> None:
    view, calls = a_view()
    view.update_block("1", ToolBlock(title="read a", state="running"))
    view.fire_event("AgentToolStarted", {"call_id": "1"})
    view.update_block("2", ToolBlock(state="running"))
    view.update_block("1", ToolBlock(state="done", body=["text"]))
    view.flush()
    (ops,) = calls.drawn
    assert ops == [
        ["block", "1", {"title": "read a", "state": "done", "body": ["text"]}],
        ["event", "AgentToolStarted", {"call_id": "1"}],
        ["block", "2", {"state": "running"}],
    ]


async def test_output_before_a_result_is_not_drawn_after_it() -> None:
    view, calls = a_view()
    view.update_block("1", ToolBlock(state="running"))
    view.update_block("1", ToolBlock(tool="bash", append="half\n"))
    view.update_block("1", ToolBlock(state="failed", append="cut off"))
    view.update_block("1", ToolBlock(state="done", body=["all"]))
    view.flush()
    blocks = [op[2] for op in calls.drawn[0] if op[0] == "block"]
    assert blocks == [{"state": "running"}, {"state": "done", "body": ["all"]}]


async def test_blocks_are_drawn_after_a_moment_or_with_the_next_message() -> None:
    view, calls = a_view()
    view.update_block("1", ToolBlock(state="running"))
    view.update_block("2", ToolBlock(state="running"))
    await asyncio.wait_for(calls.called.wait(), 10)
    assert [op[1] for op in calls.drawn[0]] == ["1", "2"]
    view.update_block("1", ToolBlock(state="done"))
    await asyncio.sleep(0)
    assert len(calls.drawn) == 1
    view.add_note("info", "a message takes along what waits")
    await asyncio.sleep(0)
    assert [op[0] for op in calls.drawn[1]] == ["block", "message"]


async def test_calls_that_follow_each_other_fast_are_drawn_once() -> None:
    view, calls = a_view()
    loop = asyncio.get_running_loop()
    began = loop.time()
    number = 0
    while not calls.drawn:
        number += 1
        view.update_block(str(number), ToolBlock(state="running"))
        await asyncio.sleep(0)
        view.update_block(str(number), ToolBlock(state="done"))
    assert loop.time() - began >= BATCH_SECONDS
    assert [op[2] for op in calls.drawn[0]] == [{"state": "done"}] * len(calls.drawn[0])


async def test_text_does_not_wait_for_calls_that_begin_and_end() -> None:
    calls = Calls()
    busy, view = NvimView(calls, "busy", "/ws"), NvimView(calls, "chat", "/ws")
    busy.update_block("1", ToolBlock(state="running"))
    view.add_text("so far")
    while not calls.drawn:
        busy.update_block("1", ToolBlock(state="running"))
        view.update_block("1", ToolBlock(state="running"))
        await asyncio.sleep(0)
    assert calls.drawn[0][0] == ["text", "so far"]


async def test_many_operations_are_sent_in_parts_so_that_keys_come_in_between() -> None:
    view, calls = a_view()
    for number in range(3 * OPS_PER_CALL):
        view.update_block(str(number), ToolBlock(state="done", body=["line"] * 100))
    view.flush()
    assert len(calls.drawn) == 15
    assert sum(map(len, calls.drawn)) == 3 * OPS_PER_CALL


async def test_older_messages_are_sent_no_faster_than_they_are_drawn() -> None:
    view, calls = a_view()

    def draw() -> None:
        for number in range(2 * OPS_PER_CALL):
            view.update_block(str(number), ToolBlock(title="read", state="done"))

    task = asyncio.ensure_future(view.prepend(draw, continues=True))
    for number in (1, 2):
        await asyncio.wait_for(calls.called.wait(), 10)
        calls.called.clear()
        await asyncio.sleep(0)
        assert len(calls.drawn) == number
        view.is_drawn.set()
    await task
    assert [(part["first"], part["last"]) for part in calls.parts] == [(True, False), (False, True)]


async def test_older_messages_of_a_closed_chat_are_not_drawn() -> None:
    view, calls = a_view()
    task = asyncio.ensure_future(view.prepend(view.finish_reply, continues=False))
    await asyncio.wait_for(calls.called.wait(), 10)
    view.close()
    await asyncio.wait_for(task, 10)
    await view.prepend(view.finish_reply, continues=False)
    assert len(calls.drawn) == 1
