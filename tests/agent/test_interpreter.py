"""How a turn is performed: tools that fail or hang, hooks, the user's stop, and its end."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentchat.core.errors import UserError
from agentchat.core.messages import Note, Reply, ToolResult
from agentchat.core.tools.tool import CallOutcome, Hooks, Metadata, Tool, ToolContext
from agentchat.core.turn.effects import ApprovalResponse
from agentchat.core.turn.loop import turn
from agentchat.journal import records as r
from agentchat.tools.builtin import edit, grep, read, write
from tests.agent.execution.test_journaled_workspace import SlowWorkspace
from tests.agent.scene import Scene, fail_on
from tests.agent.test_preview_actions import BEFORE, staging
from tests.core.turn.world import a_call, a_tool, calls

DONE = Reply("Done.")
CALL = calls(a_call("1", "t"))
BESIDE_OTHERS = Metadata(read_only=True, concurrency_safe=True)


def tool(run: Callable[..., Any], name: str = "t", **about: Any) -> Tool:
    about.setdefault("asks", False)
    return dataclasses.replace(a_tool(name, **about), steps=(run,))


async def works(arguments: Any, context: ToolContext) -> str:
    return "worked"


async def test_a_result_is_journaled_and_shown_once_with_the_arguments_the_user_wrote(
    tmp_path: Path,
) -> None:
    scene = Scene(tmp_path, [CALL, DONE], tool(works, asks=True))
    await scene.play("go", ApprovalResponse("edit", arguments='{"a": 1}'), "accept")
    said = 'The user changed the arguments before running: {"a": 1}\nworked'
    assert scene.results() == {"1": said}
    assert scene.journal_lines().count("ToolResult 1") == 1
    assert [block.state for block in scene.screen.blocks["1"]].count("done") == 1
    assert len(scene.screen.named("AgentToolFinished")) == 1


# --- tools that fail --------------------------------------------------------------------------


async def test_a_timeout_inside_a_tool_without_a_limit_is_the_error_of_its_call(
    tmp_path: Path,
) -> None:
    async def run(arguments: Any, context: ToolContext) -> str:
        raise TimeoutError("the server did not answer")

    scene = Scene(tmp_path, [CALL, DONE], tool(run))
    assert await scene.play() == "stop"
    assert scene.results() == {"1": "t failed: the server did not answer"}


async def test_a_timeout_inside_a_tool_is_not_taken_for_the_limit_of_the_tool(
    tmp_path: Path,
) -> None:
    async def run(arguments: Any, context: ToolContext) -> str:
        raise TimeoutError

    scene = Scene(tmp_path, [CALL, DONE], tool(run, timeout=60))
    await scene.play()
    assert scene.results() == {"1": "t failed: TimeoutError"}


async def test_a_tool_that_awaits_something_cancelled_ends_its_call_only(tmp_path: Path) -> None:
    async def run(arguments: Any, context: ToolContext) -> str:
        raise asyncio.CancelledError

    scene = Scene(tmp_path, [CALL, DONE], tool(run))
    assert await scene.play() == "stop"
    assert scene.results() == {"1": "t failed: it was cancelled from inside"}


def _broken(*arguments: Any) -> Any:
    raise OverflowError("cannot convert float infinity to integer")


@pytest.mark.parametrize("hook", ["render_call", "describe"])
async def test_a_hook_that_only_words_something_costs_no_more_than_the_words(
    tmp_path: Path, hook: str
) -> None:
    broken: dict[str, Any] = {hook: _broken}
    scene = Scene(tmp_path, [CALL, DONE], tool(works, **broken))
    assert await scene.play() == "stop"
    assert scene.results() == {"1": "worked"}


async def test_a_tool_that_cannot_name_what_it_touches_ends_its_call_only(tmp_path: Path) -> None:
    scene = Scene(tmp_path, [CALL, DONE], tool(works, touches=_broken))
    assert await scene.play() == "stop"
    assert scene.results() == {"1": "t failed: cannot convert float infinity to integer"}


@pytest.mark.parametrize(
    ("number", "why"),
    [
        ("NaN", "NaN is not JSON"),
        ("-Infinity", "-Infinity is not JSON"),
        ("1e999", "the number 1e999 is too large"),
    ],
)
@pytest.mark.parametrize("field", ["offset", "limit"])
async def test_a_number_that_is_none_is_refused_and_the_turn_goes_on(
    tmp_path: Path, field: str, number: str, why: str
) -> None:
    call = a_call("1", "read", f'{{"path": "a.txt", "{field}": {number}}}')
    scene = Scene(tmp_path, [calls(call), DONE], read.TOOL)
    assert await scene.play() == "stop"
    said = f'Arguments for "read" are not valid JSON: {why}. Send one JSON object.'
    assert scene.results() == {"1": said}


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        (read.TOOL, {}),
        (grep.TOOL, {"pattern": "x"}),
        (edit.TOOL, {"edits": [{"old_text": "a", "new_text": "b"}]}),
        (write.TOOL, {"content": "x"}),
    ],
)
async def test_a_path_of_megabytes_is_not_repeated_in_the_error(
    tmp_path: Path, tool: Tool, given: dict[str, Any]
) -> None:
    call = a_call("1", tool.name, json.dumps({"path": "x" * 8_000_000, **given}))
    scene = Scene(tmp_path, [calls(call), DONE], tool)
    assert await scene.play() == "stop"
    assert scene.results()["1"].startswith("The path is too long: xxx")
    assert len(scene.results()["1"]) < 1_000


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("n" * 8_000_000, "{}"),
        ("read", json.dumps({"f" * 8_000_000: 1})),
        ("read", '{{"{0}": 1, "{0}": 2}}'.format("f" * 4_000_000)),
    ],
    ids=["name", "field", "key"],
)
async def test_what_the_model_invents_is_not_repeated_in_full(
    tmp_path: Path, name: str, arguments: str
) -> None:
    scene = Scene(tmp_path, [calls(a_call("1", name, arguments)), DONE], read.TOOL)
    assert await scene.play() == "stop"
    assert len(scene.results()["1"]) < 2_000


# --- calls that run at the same time ------------------------------------------------------------


async def test_no_neighbour_runs_on_after_the_turn_has_failed(tmp_path: Path) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def hangs(arguments: Any, context: ToolContext) -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    async def ends(arguments: Any, context: ToolContext) -> str:
        await begun.wait()
        return "ended"

    batch = calls(a_call("1", "hangs"), a_call("2", "ends"))
    two = [
        tool(run, name, metadata=BESIDE_OTHERS) for name, run in (("hangs", hangs), ("ends", ends))
    ]
    scene = Scene(tmp_path, [batch], *two)

    fail_on(scene.journal, r.CallFinished, UserError("The disk is full."))
    assert await scene.play() == "error"
    assert ended.is_set()
    assert scene.results() == {"1": "The disk is full.", "2": "The disk is full."}


# --- exit hooks ---------------------------------------------------------------------------------


class Exits:
    """An exit hook that counts, and takes for ever if it is told so."""

    def __init__(self, *, hangs: bool = False) -> None:
        self.calls: list[str] = []
        self.begun = asyncio.Event()
        self._hangs = hangs

    async def hook(self, arguments: Any, context: ToolContext) -> None:
        self.calls.append(context.call_id)
        self.begun.set()
        if self._hangs:
            await asyncio.Event().wait()


async def hangs(arguments: Any, context: ToolContext) -> str:
    context.progress("begun")
    await asyncio.Event().wait()
    return "never"


def _runs(scene: Scene) -> bool:
    return any(block.append == "begun" for block in scene.screen.blocks.get("1", []))


async def test_a_stop_does_not_wait_for_exit_hooks_that_hang(tmp_path: Path) -> None:
    one, other = Exits(hangs=True), Exits(hangs=True)
    batch = calls(a_call("1", "one"), a_call("2", "t"))
    tools = [
        tool(works, "one", hooks=Hooks(exit=one.hook, once=True)),
        tool(hangs, hooks=Hooks(exit=other.hook)),
    ]
    scene = Scene(tmp_path, [batch], *tools)
    scene.session.send("go")
    await one.begun.wait()
    scene.session.stop()
    async with asyncio.timeout(2):
        await scene.finished()
    assert one.calls == ["1"]
    assert scene.results()["2"] == "Cancelled by the user."


async def test_a_stop_while_a_tool_runs_gives_its_exit_hook_a_second(tmp_path: Path) -> None:
    exits = Exits(hangs=True)
    scene = Scene(tmp_path, [CALL], tool(hangs, hooks=Hooks(exit=exits.hook)))
    scene.session.send("go")
    await scene.screen.until(lambda: _runs(scene))
    scene.session.stop()
    async with asyncio.timeout(2):
        await scene.finished()
    assert exits.calls == ["1"]


async def test_a_stop_does_not_wait_for_a_result_that_is_being_formatted(tmp_path: Path) -> None:
    begun, goes_on = threading.Event(), threading.Event()

    def slow(outcome: CallOutcome) -> ToolResult:
        begun.set()
        goes_on.wait(30)
        return outcome.result

    scene = Scene(tmp_path, [CALL], tool(works, hooks=Hooks(result=slow)))
    scene.session.send("go")
    await asyncio.to_thread(begun.wait)
    scene.session.stop()
    async with asyncio.timeout(1.6):
        await scene.finished()
    goes_on.set()
    assert scene.results() == {"1": "worked"}


async def test_the_exit_hook_runs_once_when_the_turn_fails(tmp_path: Path) -> None:
    exits = Exits()
    scene = Scene(tmp_path, [CALL], tool(works, hooks=Hooks(exit=exits.hook)))

    fail_on(scene.journal, r.CallFinished, UserError("The disk is full."))
    assert await scene.play() == "error"
    assert exits.calls == ["1"]


@pytest.mark.parametrize("stop", [True, False])
async def test_the_exit_hook_runs_once_when_the_turn_is_stopped_or_its_task_cancelled(
    tmp_path: Path, stop: bool
) -> None:
    exits = Exits()
    scene = Scene(tmp_path, [CALL], tool(hangs, hooks=Hooks(exit=exits.hook)))
    interpreter = scene.session._interpreter
    playing = asyncio.ensure_future(interpreter.play(turn(scene.chat)))
    await scene.screen.until(lambda: _runs(scene))
    if stop:
        interpreter.stop()
        assert (await playing).stopped
    else:
        playing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await playing
    assert exits.calls == ["1"]
    assert scene.results() == {"1": "Cancelled by the user."}


# --- a stop while something is applied ------------------------------------------------------------


async def test_the_model_is_told_of_a_preview_that_was_applied_long_after_a_stop(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.txt"
    path.write_text(BEFORE)
    workspace = SlowWorkspace(tmp_path)
    resolve = calls(a_call("2", "resolve", '{"action": "apply", "reason": "ok"}'))
    stage = calls(a_call("1", "stage"))
    scene = Scene(tmp_path, [stage, resolve, DONE], staging(path, 5), workspace=workspace)
    scene.session.send("go")
    await scene.answer("accept")
    await workspace.writing.wait()
    scene.session.stop()
    await scene.finished()
    assert scene.results()["2"] == "Cancelled by the user."
    workspace.may_write.set()
    await scene.screen.until(lambda: bool(scene.screen.named("AgentPreviewResolved")))
    await scene.play("go on")
    (note,) = [m for m in scene.model.requests[-1].history.messages if isinstance(m, Note)]
    assert note.text == (
        "The preview 'Stage: 5' was applied all the same: that had begun before the stop.\nmade"
    )
