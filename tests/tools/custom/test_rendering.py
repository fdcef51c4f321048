"""What functions that render are given, and what becomes of their text."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentchat import Context, Result
from agentchat.core.messages import Reply
from agentchat.core.tools.tool import ShownArguments
from tests.agent.scene import Scene
from tests.core.turn.world import a_call, calls
from tests.tools.custom.making import made, start_pool

DONE = Reply("Done.")


def shown_bodies(scene: Scene) -> list[str]:
    blocks = scene.screen.blocks.get("1", ())
    return ["\n".join(block.body) for block in blocks if block.body is not None]


async def test_render_call_knows_whether_arguments_arrive_and_what_it_returned_before(
    tmp_path: Path,
) -> None:
    def render_call(text: str, partial: bool, last_output: str | None) -> str:
        return f"{text} {partial} {last_output}"

    await start_pool()
    tool = made(tmp_path, lambda text: "", name="say", render_call=render_call)
    assert tool.title(ShownArguments({"text": "a"}, "1", is_partial=True)) == "a True None"
    assert tool.title(ShownArguments({"text": "ab"}, "1")) == "ab False a True None"
    assert tool.title(ShownArguments({"text": "c"}, "2")) == "c False None"


async def test_render_result_with_partial_renders_the_output_while_the_call_runs(
    tmp_path: Path,
) -> None:
    seen = threading.Event()

    def work(ctx: Context) -> str:
        ctx.progress("one")
        seen.wait(10)
        return "two"

    def render(result: Result, partial: bool, expanded: bool, last_output: str | None) -> str:
        return f"{result.text.strip()} {partial} {expanded} after {last_output}"

    tool = made(tmp_path, work, name="work", render_result=render)
    scene = Scene(tmp_path, [calls(a_call("1", "work")), DONE], tool)
    scene.session.send("go")
    await scene.screen.until(lambda: "one True True after None" in shown_bodies(scene))
    seen.set()
    await scene.finished()
    assert shown_bodies(scene)[-1] == "two False True after one True True after None"
    assert scene.results() == {"1": "two"}


@pytest.mark.parametrize("render", [lambda result, partial: 1 / 0, lambda result: "final"])
async def test_output_is_shown_as_it_is_where_nothing_renders_it(
    tmp_path: Path, render: Callable[..., Any]
) -> None:
    seen = threading.Event()

    def work(ctx: Context) -> str:
        ctx.progress("one")
        seen.wait(10)
        return "two"

    tool = made(tmp_path, work, name="work", render_result=render)
    scene = Scene(tmp_path, [calls(a_call("1", "work")), DONE], tool)
    scene.session.send("go")
    blocks = scene.screen.blocks
    await scene.screen.until(
        lambda: any("one" in f"{b.append} {b.body}" for b in blocks.get("1", ()))
    )
    seen.set()
    await scene.finished()
    assert scene.results() == {"1": "two"}
