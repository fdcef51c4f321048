"""What a session does with the result of a call, however the call ended."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from agentchat.core.errors import ToolError
from agentchat.core.frontend import Diagnostic, UserQuestion
from agentchat.core.limits import RESULT_BYTES
from agentchat.core.messages import Reply, ToolResult
from agentchat.core.permissions.policy import Policy
from agentchat.core.permissions.rules import parse_rules
from agentchat.core.tools.tool import (
    CallOutcome,
    Hooks,
    Metadata,
    ResultProcessor,
    Tool,
    ToolContext,
    ToolOutput,
)
from agentchat.tools.builtin import ask, tool_search
from tests.agent.scene import Scene
from tests.core.turn.world import a_call, a_tool, calls

DONE = Reply("Done.")


def tool(run: Callable[..., Any], name: str = "t", **about: Any) -> Tool:
    return dataclasses.replace(a_tool(name, **about), steps=(run,))


def a_hooked_tool(hook: Callable[[CallOutcome], ToolResult], **about: Any) -> Tool:
    async def run(arguments: Any, context: ToolContext) -> str:
        if arguments.fail:
            raise ToolError("no luck")
        return "worked"

    return tool(run, hooks=Hooks(result=hook), **about)


class Wording:
    """A hook that says a result twice: once for the model, once for the user."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def __call__(self, outcome: CallOutcome) -> ToolResult:
        result = outcome.result
        self.heard.append(result.status.value)
        return dataclasses.replace(
            result, text=f"[{result.text}]", display_text=result.status.value
        )


ENDINGS = [
    ("{}", "accept", "success", "[worked]"),
    ('{"fail": 1}', "accept", "error", "[no luck]"),
    ("{}", "reject", "rejected", "[User rejected the t call.]"),
    ("{}", "cancel", "cancelled", "[Cancelled by the user.]"),
]


@pytest.mark.parametrize(("given", "answer", "status", "text"), ENDINGS)
async def test_a_tool_says_every_ending_once_to_model_and_user(
    tmp_path: Path, given: str, answer: str, status: str, text: str
) -> None:
    hook = Wording()
    scene = Scene(tmp_path, [calls(a_call("1", "t", given)), DONE], a_hooked_tool(hook))
    await scene.play("go", answer)
    assert hook.heard == [status]
    assert scene.results() == {"1": text}
    shown = scene.screen.blocks["1"][-1]
    assert "\n".join(shown.body or [shown.append or ""]) == status


async def test_a_tool_says_its_denial(tmp_path: Path) -> None:
    hook = Wording()
    scene = Scene(tmp_path, [calls(a_call("1", "t")), DONE], a_hooked_tool(hook))
    rules, _ = parse_rules([{"action": "deny", "tool": "t"}])
    scene.chat.policy = Policy(scene.chat.policy.grants, rules=rules)
    await scene.play()
    assert hook.heard == ["denied"]
    assert scene.results()["1"].startswith("[Denied by rule: ")


@pytest.mark.parametrize("nonsense", [ValueError("bad"), "text", None])
async def test_a_hook_that_raises_or_returns_nonsense_changes_nothing(
    tmp_path: Path, nonsense: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def hook(outcome: CallOutcome) -> Any:
        if isinstance(nonsense, Exception):
            raise nonsense
        return nonsense

    scene = Scene(tmp_path, [calls(a_call("1", "t")), DONE], a_hooked_tool(hook, asks=False))
    await scene.play()
    assert scene.results() == {"1": "worked"}
    assert "could not format its result" in caplog.text


async def test_a_hook_changes_what_is_said_and_nothing_else(tmp_path: Path) -> None:
    def hook(outcome: CallOutcome) -> ToolResult:
        return ToolResult("9", "other", "said")

    scene = Scene(
        tmp_path,
        [calls(a_call("1", "t", '{"fail": 1}')), DONE],
        a_hooked_tool(hook, asks=False),
    )
    await scene.play()
    assert scene.results() == {"1": "said"}
    assert scene.screen.named("AgentToolFinished")[0]["status"] == "error"


# --- large results --------------------------------------------------------------------------


async def test_a_large_result_shows_its_ends_and_where_all_of_it_is(tmp_path: Path) -> None:
    details = {"lines": 100_000}

    async def floods(arguments: Any, context: ToolContext) -> ToolOutput:
        return ToolOutput("\n".join(f"line {n}" for n in range(100_000)), details=details)

    scene = Scene(tmp_path, [calls(a_call("1", "t")), DONE], tool(floods, asks=False))
    await scene.play()
    (kept,) = tmp_path.iterdir()
    body = scene.screen.blocks["1"][-1].body
    assert body is not None
    assert list(body[:2]) == ["line 0", "line 1"]
    assert body[-2:] == ["line 99999", f"full output: {kept}"]
    assert len(body) <= 10
    (result,) = [m for m in scene.chat.history.messages if isinstance(m, ToolResult)]
    stored = {"truncated": True, "stored_path": str(kept)}
    assert result.details == {**details, **stored}
    assert result.full_text_path == str(kept)
    (event,) = scene.screen.named("AgentToolFinished")
    assert event.items() >= stored.items()
    assert len(result.text.encode()) < RESULT_BYTES + 500


async def play_processed(
    folder: Path, processor: ResultProcessor, name: str = "t", size: int = RESULT_BYTES + 1
) -> tuple[Scene, ToolResult]:
    """Return the result of a tool with ``size`` bytes, with this processor of large results."""

    async def floods(arguments: Any, context: ToolContext) -> str:
        return "x" * size

    scene = Scene(folder, [calls(a_call("1", name)), DONE], tool(floods, name, asks=False))
    scene.chat.toolset.set_result_processor(processor)
    await scene.play()
    (result,) = [m for m in scene.chat.history.messages if isinstance(m, ToolResult)]
    return scene, result


async def test_the_users_processor_shortens_a_large_result(tmp_path: Path) -> None:
    async def count(tool: str, text: str, path: str, context: ToolContext) -> str:
        return f"{tool}: {len(Path(path).read_bytes())} bytes, usually {'truncated' in text}"

    _, result = await play_processed(tmp_path, count)
    assert result.text == f"t: {RESULT_BYTES + 1} bytes, usually True"
    assert result.full_text_path is not None


async def test_a_small_result_and_one_limited_by_its_tool_are_not_processed(tmp_path: Path) -> None:
    async def fail(tool: str, text: str, path: str, context: ToolContext) -> str:
        raise AssertionError

    assert (await play_processed(tmp_path, fail, size=9))[1].text == "x" * 9
    scene, _ = await play_processed(tmp_path, fail, "read")
    assert scene.screen.notes == []


async def test_a_processor_that_returns_nothing_or_fails_changes_nothing(tmp_path: Path) -> None:
    async def nothing(tool: str, text: str, path: str, context: ToolContext) -> None:
        return None

    async def fail(tool: str, text: str, path: str, context: ToolContext) -> str:
        raise ValueError("no luck")

    scene, kept = await play_processed(tmp_path, nothing)
    assert "bytes truncated; full output:" in kept.text
    assert scene.screen.notes == []
    scene, kept = await play_processed(tmp_path, fail)
    assert "bytes truncated; full output:" in kept.text
    assert scene.screen.notes == [("warn", "The result processor failed: no luck")]


async def test_what_a_processor_returns_is_limited_too(tmp_path: Path) -> None:
    async def floods(tool: str, text: str, path: str, context: ToolContext) -> str:
        return "y" * 2 * RESULT_BYTES

    _, result = await play_processed(tmp_path, floods)
    assert len(result.text) < RESULT_BYTES + 500


# --- the editor and the toolbox -------------------------------------------------------------


class Answering:
    """A user who answers, and an editor without diagnostics."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.goes_on = asyncio.Event()

    async def ask(self, questions: Sequence[UserQuestion]) -> Sequence[tuple[str, ...]]:
        self.asked.set()
        await self.goes_on.wait()
        return [("yes",) for _ in questions]

    async def diagnostics(
        self, path: str | None = None, severity: str | None = None
    ) -> Sequence[Diagnostic]:
        return ()


ASK = a_call("1", "ask", '{"questions": [{"question": "Sure?"}]}')


async def test_a_chat_waits_while_a_tool_asks_the_user(tmp_path: Path) -> None:
    user = Answering()
    scene = Scene(tmp_path, [calls(ASK), DONE], ask.TOOL, frontend=user)
    scene.session.send("go")
    await user.asked.wait()
    assert [status.state for status in scene.screen.statuses][-1] == "waiting"
    user.goes_on.set()
    await scene.finished()
    assert scene.results() == {"1": "Sure?\n- yes"}
    assert scene.screen.statuses[-1].state == "idle"


async def test_a_chat_without_an_editor_can_ask_nobody_and_says_so(tmp_path: Path) -> None:
    scene = Scene(tmp_path, [calls(ASK), DONE], ask.TOOL)
    await scene.play()
    assert scene.results() == {"1": ask.NO_EDITOR}


async def test_a_tool_found_by_search_is_offered_from_then_on(tmp_path: Path) -> None:
    async def works(arguments: Any, context: ToolContext) -> str:
        return "worked"

    many = [tool(works, f"t{n}") for n in range(15)]
    hint = Metadata(search_hint="weather forecast")
    rain = tool(works, "rain", metadata=hint, always_load=False, asks=False)
    wanted = a_call("1", "tool_search", '{"query": "forecast"}')
    nothing = a_call("2", "tool_search", '{"query": "zebra"}')
    scene = Scene(
        tmp_path,
        [calls(nothing, wanted), calls(a_call("3", "rain")), DONE],
        *many,
        rain,
        tool_search.TOOL,
    )
    await scene.play()
    names = [[t.name for t in request.tools] for request in scene.model.requests]
    assert "tool_search" in names[0]
    assert "rain" not in names[0]
    assert "rain" in names[1]
    assert "tool_search" not in names[1]
    assert scene.results() == {
        "2": 'No tools found for "zebra". 1 tool is not loaded; try other words.',
        "1": "You can call these tools now:\n- rain: rain",
        "3": "worked",
    }
