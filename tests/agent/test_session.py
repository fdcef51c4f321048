"""A session: real tools and a scripted model, without an editor."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agentchat.agent.execution.tool_runner import STAGED
from agentchat.core.errors import StalePreview, ToolError, Unreachable, UserError
from agentchat.core.limits import RESULT_BYTES
from agentchat.core.messages import Note, Reply, Usage
from agentchat.core.model import CallDelta, ModelRequest, Piece, StoppedUsage, TextDelta
from agentchat.core.tools.registry import Registry
from agentchat.core.tools.tool import Environment, Metadata, Tool, ToolContext, ToolOutput
from agentchat.core.tools.toolset import Toolset
from agentchat.core.turn.chat import REMINDER, Chat
from agentchat.core.turn.effects import ApprovalResponse
from agentchat.core.turn.preview_stack import NOTHING_PENDING, Preview
from agentchat.journal import records as r
from agentchat.workspace.local import LocalWorkspace
from agentchat.workspace.process.sandbox import IMPOSSIBLE, Sandbox
from tests.agent.scene import Scene, fail_on
from tests.core.turn.world import RESOLVE, a_call, a_tool, calls

DONE = Reply("Done.")


def tool(run: Callable[..., Any], name: str = "t", **about: Any) -> Tool:
    about.setdefault("asks", False)
    base = a_tool(name, **about)
    return replace(base, steps=(run,))


async def works(arguments: Any, context: ToolContext) -> str:
    return "worked"


def a_resolve(call_id: str, action: str = "apply", more: str = "") -> Any:
    given = f'{{"action": "{action}", "reason": "ok"{more}}}'
    return calls(a_call(call_id, "resolve", given))


async def test_a_turn_from_prompt_to_last_word(tmp_path: Path) -> None:
    scene = Scene(tmp_path, [calls(a_call("1", "t", '{"a": 1}')), DONE], tool(works))
    assert await scene.play("use @t") == "stop"
    assert scene.screen.users == ["use @t"]
    assert scene.model.requests[0].history.messages[0].text == "use the t tool"
    assert scene.screen.said == "||Done."
    assert [b.state for b in scene.screen.blocks["1"]][-2:] == ["running", "done"]
    assert scene.screen.blocks["1"][-1].body == ["worked"]
    names = [name for name, _ in scene.screen.events]
    assert names == [
        "AgentTurnStarted",
        "AgentToolStarted",
        "AgentToolFinished",
        "AgentTurnFinished",
    ]
    assert scene.screen.statuses[-1].state == "idle"
    assert scene.screen.statuses[-1].turn == 1


async def test_what_happens_is_written_before_it_is_visible(tmp_path: Path) -> None:
    scene = Scene(tmp_path, [calls(a_call("1", "t")), DONE], tool(works, asks=True))
    await scene.play("go", "accept")
    assert scene.journal_lines() == [
        "turn 1",
        "UserText",
        "Reply",
        "answered accept",
        "started 1",
        "finished 1",
        "ToolResult 1",
        "so far Done.",
        "Reply",
        "turn 1 stop",
    ]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("bad"), "t failed: bad"),
        (ToolError("Path not found: x"), "Path not found: x"),
    ],
)
async def test_a_tool_that_raises_is_answered_and_its_neighbour_runs(
    tmp_path: Path, error: Exception, text: str
) -> None:
    async def fails(arguments: Any, context: ToolContext) -> str:
        raise error

    batch = calls(a_call("1", "t"), a_call("2", "ok"))
    scene = Scene(tmp_path, [batch, DONE], tool(fails), tool(works, "ok"))
    assert await scene.play() == "stop"
    assert scene.results() == {"1": text, "2": "worked"}
    assert scene.screen.named("AgentToolFinished")[0]["status"] == "error"


async def test_a_tool_that_never_returns_times_out_and_the_turn_goes_on(tmp_path: Path) -> None:
    async def sleeps(arguments: Any, context: ToolContext) -> None:
        await asyncio.Event().wait()

    scene = Scene(tmp_path, [calls(a_call("1", "t")), DONE], tool(sleeps, timeout=0.05))
    assert await scene.play() == "stop"
    assert scene.results()["1"] == "t timed out after 0.05 s."


async def test_steps_feed_each_other_and_an_error_ends_the_chain(tmp_path: Path) -> None:
    def first(arguments: Any, context: ToolContext) -> str:
        return "one"

    def second(arguments: Any, context: ToolContext) -> ToolOutput:
        return ToolOutput(
            f"{context.last_output} two", is_error=arguments.values.get("fail", False)
        )

    def third(arguments: Any, context: ToolContext) -> dict[str, str]:
        return {"given": context.last_output.text}

    chain = tool(first)
    chain = replace(chain, steps=(first, second, third))
    batch = calls(a_call("1", "t"), a_call("2", "t", '{"fail": true}'))
    scene = Scene(tmp_path, [batch, DONE], chain)
    await scene.play()
    assert scene.results() == {"1": '{"given": "one two"}', "2": "one two"}


async def test_never_more_than_ten_calls_run_at_once_and_all_are_answered_in_order(
    tmp_path: Path,
) -> None:
    running, most = 0, 0

    async def counts(arguments: Any, context: ToolContext) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return context.call_id

    safe = tool(counts, metadata=Metadata(concurrency_safe=True, read_only=True))
    batch = calls(*(a_call(str(i), "t") for i in range(25)))
    scene = Scene(tmp_path, [batch, DONE], safe)
    await scene.play()
    assert most == 10
    assert list(scene.results().items()) == [(str(i), str(i)) for i in range(25)]


async def test_stop_ends_a_running_tool_and_the_plan_answers_it(tmp_path: Path) -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def hangs(arguments: Any, context: ToolContext) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    batch = calls(a_call("1", "t"), a_call("2", "t"))
    scene = Scene(tmp_path, [batch], tool(hangs))
    scene.session.send("go")
    await started.wait()
    scene.session.stop()
    await scene.finished()
    assert ended.is_set()
    assert set(scene.results().values()) == {"Cancelled by the user."}
    assert scene.screen.named("AgentTurnFinished") == [{"reason": "cancelled"}]
    assert [e["status"] for e in scene.screen.named("AgentToolFinished")] == ["cancelled"] * 2


async def test_stop_in_mid_stream_keeps_the_text_so_far(tmp_path: Path) -> None:
    async def slow(request: ModelRequest, on_piece: Callable[[Piece], None]) -> Reply:
        on_piece(TextDelta("half an ans"))
        on_piece(CallDelta("1", "t", '{"pa'))
        try:
            await asyncio.Event().wait()
        finally:
            on_piece(StoppedUsage(used))
        return DONE

    used = Usage(900, 3, 903, 0.25, is_lower_bound=True)
    scene = Scene(tmp_path, [slow, DONE], tool(works))
    scene.session.send("go")
    await scene.screen.until(lambda: "1" in scene.screen.blocks)
    scene.session.stop()
    await scene.finished()
    stopped = Reply("half an ans", finish="cancelled", usage=used, model="scripted")
    assert scene.chat.history.messages[-1] == stopped
    assert scene.chat.spending.chat.cost == 0.25
    assert scene.screen.blocks["1"][-1].state == "cancelled"
    assert await scene.play("again") == "stop"


async def test_stop_while_asked_voids_the_prompt(tmp_path: Path) -> None:
    scene = Scene(tmp_path, [calls(a_call("1", "t")), DONE], tool(works, asks=True))
    scene.session.send("go")
    await scene.screen.until(lambda: bool(scene.screen.questions))
    (prompt,) = scene.screen.questions
    assert scene.screen.statuses[-1].state == "waiting"
    assert scene.screen.statuses[-1].prompts == 1
    scene.session.stop()
    await scene.finished()
    scene.session.answer(prompt, ApprovalResponse("always"))
    assert scene.chat.policy.grants.items() == ()
    assert scene.screen.named("AgentApprovalAnswered")[0]["choice"] == "cancel"
    assert scene.results() == {"1": "Cancelled by the user."}


async def test_a_second_answer_does_nothing(tmp_path: Path) -> None:
    batch = calls(a_call("1", "t"), a_call("2", "t"))
    scene = Scene(tmp_path, [batch, DONE], tool(works, asks=True))
    scene.session.send("go")
    await scene.screen.until(lambda: bool(scene.screen.questions))
    (first,) = scene.screen.questions
    scene.session.answer(first, ApprovalResponse("accept"))
    scene.session.answer(first, ApprovalResponse("accept"))
    await scene.screen.until(lambda: first not in scene.screen.questions)
    await scene.answer("reject")
    await scene.finished()
    assert scene.results()["2"] == "User rejected the t call."
    assert len(scene.screen.named("AgentApprovalAnswered")) == 2


async def test_what_is_sent_after_the_last_request_gets_a_turn_of_its_own(tmp_path: Path) -> None:
    async def meanwhile(request: ModelRequest, on_piece: Callable[[Piece], None]) -> Reply:
        scene.session.send("and this")
        return Reply("first")

    scene = Scene(tmp_path, [meanwhile, Reply("second")])
    scene.session.send("go")
    await scene.finished(2)
    assert scene.screen.users == ["go", "and this"]
    assert scene.chat.turn == 2


@pytest.mark.parametrize("stopped", [True, False])
async def test_what_was_queued_behind_a_cancelled_turn_is_not_sent(
    tmp_path: Path, stopped: bool
) -> None:
    scene = Scene(tmp_path, [calls(a_call("1", "t")), DONE], tool(works, asks=True))
    scene.session.send("go")
    await scene.screen.until(lambda: bool(scene.screen.questions))
    scene.session.send("queued")
    if stopped:
        scene.session.stop()
    else:
        await scene.answer("cancel")
    await scene.finished()
    assert scene.screen.users == ["go"]
    # The prompt has it again: after a stop the editor saw to that itself.
    assert scene.screen.given_back == (0 if stopped else 1)
    assert await scene.play("next") == "stop"
    assert scene.screen.users == ["go", "next"]


async def test_a_message_that_became_a_reason_is_not_sent_again(tmp_path: Path) -> None:
    scene = Scene(tmp_path, [calls(a_call("1", "t")), DONE], tool(works, asks=True))
    scene.session.send("go")
    await scene.screen.until(lambda: bool(scene.screen.questions))
    for text in ("use ruff", "and be quick"):
        scene.session.send(text)
    scene.session.withdraw("use ruff")
    await scene.answer(ApprovalResponse("reject", reason="use ruff"))
    await scene.finished()
    assert scene.screen.users == ["go", "and be quick"]


async def test_no_model_is_one_line_and_the_next_send_carries_everything(tmp_path: Path) -> None:
    scene = Scene(tmp_path, [DONE])
    scene.no_model = "No key: set $OPENAI_API_KEY."
    assert await scene.play("one") == "error"
    assert scene.screen.notes == [("error", "No key: set $OPENAI_API_KEY.")]
    scene.no_model = ""
    assert await scene.play("two") == "stop"
    said = [m.text for m in scene.model.requests[0].history.messages]
    assert said == ["one", "", "two"]


async def test_usage_shows_in_the_status(tmp_path: Path) -> None:
    scene = Scene(tmp_path, [Reply("x", usage=Usage(5, 4, 9, cost=0.5))])
    await scene.play()
    assert (scene.screen.statuses[-1].tokens, scene.screen.statuses[-1].cost) == (9, 0.5)


async def test_a_large_result_is_kept_whole_and_told_in_part(tmp_path: Path) -> None:
    large = "é" * RESULT_BYTES

    async def floods(arguments: Any, context: ToolContext) -> str:
        return large

    scene = Scene(tmp_path, [calls(a_call("1", "t")), DONE], tool(floods))
    await scene.play()
    told = scene.results()["1"]
    assert len(told.encode()) < RESULT_BYTES + 500
    assert "truncated; full output: " in told
    (kept,) = tmp_path.iterdir()
    assert str(kept) in told
    assert kept.read_text() == large
    assert kept.stat().st_mode & 0o777 == 0o600


async def test_moved_text_asks_again(tmp_path: Path) -> None:
    tries = iter([StalePreview("a.py"), None])

    async def edits(arguments: Any, context: ToolContext) -> str:
        error = next(tries)
        if error:
            raise error
        return "edited"

    scene = Scene(tmp_path, [calls(a_call("1", "t")), DONE], tool(edits, asks=True))
    await scene.play("go", "accept", "accept")
    assert scene.results() == {"1": "edited"}


class Stager:
    """A tool that stages a preview whose callbacks do what the test says."""

    def __init__(self, apply: Any = None, reject: Any = None, label: str = "Stage: x") -> None:
        self.applied: list[tuple[str, Any]] = []
        self._outcome, self._reject, self._label = apply, reject, label
        self.tool = tool(self.run, "stage")

    async def run(self, arguments: Any, context: ToolContext) -> str:
        context.stage(Preview(self._label, "stage", self.apply, self._reject))
        return "It would change x."

    async def apply(self, reason: str, extra: Any) -> ToolOutput | None:
        self.applied.append((reason, extra))
        outcome = self._outcome.pop(0) if isinstance(self._outcome, list) else self._outcome
        if isinstance(outcome, Exception):
            raise outcome
        return outcome or ToolOutput("done")


STAGE = calls(a_call("1", "stage"))


async def test_a_staged_preview_is_said_shown_and_forced(tmp_path: Path) -> None:
    scene = Scene(tmp_path, [STAGE, DONE], Stager().tool)
    await scene.play()
    assert scene.results()["1"] == f"{STAGED}\nIt would change x."
    assert [p.label for p in scene.screen.staged] == ["Stage: x"]
    assert scene.model.requests[1].forced == "resolve"
    assert scene.model.requests[1].reminder == REMINDER
    assert scene.screen.named("AgentPreviewStaged") == [{"label": "Stage: x", "source": "stage"}]
    assert scene.screen.statuses[-1].pending == 1


@pytest.mark.parametrize("details", [{}, {"n": 0}, None])
async def test_apply_by_the_model_runs_once_with_all_its_details(
    tmp_path: Path, details: dict[str, int] | None
) -> None:
    stager = Stager(ToolOutput("done", details=details))
    script = [STAGE, a_resolve("2", more=', "extra": {"k": 1}'), a_resolve("3"), DONE]
    scene = Scene(tmp_path, script, stager.tool)
    await scene.play("go", "accept")
    assert scene.results()["2"] == "done"
    assert scene.results()["3"] == NOTHING_PENDING
    assert stager.applied == [("ok", {"k": 1})]
    told = scene.screen.named("AgentToolFinished")[1]["details"]
    expected = {
        "action": "apply",
        "reason": "ok",
        "sourceToolName": "stage",
        "label": "Stage: x",
        "extra": {"k": 1},
    }
    if details is not None:
        expected["sourceResultDetails"] = details
    assert told == expected
    assert scene.screen.staged == []


async def test_a_resolution_that_is_stopped_is_drawn_as_cancelled(tmp_path: Path) -> None:
    started = asyncio.Event()

    async def waits(reason: str, extra: Any) -> ToolOutput:
        started.set()
        await asyncio.Event().wait()
        return ToolOutput("")

    stager = Stager()
    stager.apply = waits  # type: ignore[method-assign]
    scene = Scene(tmp_path, [STAGE, a_resolve("2"), DONE], stager.tool)
    scene.session.send("go")
    await scene.answer("accept")
    await asyncio.wait_for(started.wait(), 10)
    scene.session.stop()
    await scene.finished()
    titles = [block.title for block in scene.screen.blocks["2"] if block.title]
    assert titles[-2:] == ["Accept: x [Stage]", "Cancelled: x [Stage]"]
    assert len(scene.chat.previews) == 1


async def test_an_apply_that_raises_stays_pending(tmp_path: Path) -> None:
    stager = Stager([RuntimeError("boom"), ToolError("just so"), ToolOutput("done")])
    script = [STAGE, a_resolve("2"), a_resolve("3"), a_resolve("4"), DONE]
    scene = Scene(tmp_path, script, stager.tool)
    await scene.play("go", "accept", "accept", "accept")
    assert scene.results()["2"] == "Apply failed: boom"
    assert scene.results()["3"] == "just so"
    assert scene.results()["4"] == "done"
    statuses = [data["status"] for data in scene.screen.named("AgentPreviewResolved")]
    assert statuses == ["error", "error", "success"]


async def test_an_apply_that_returns_an_error_is_consumed(tmp_path: Path) -> None:
    stager = Stager(ToolOutput("no luck", is_error=True))
    scene = Scene(tmp_path, [STAGE, a_resolve("2"), DONE], stager.tool)
    await scene.play("go", "accept")
    assert scene.results()["2"] == "no luck"
    assert scene.screen.named("AgentToolFinished")[1]["status"] == "error"
    assert len(scene.chat.previews) == 0
    assert scene.screen.blocks["2"][-2].title == "Failed: x [Stage]"


async def test_a_discard_says_what_the_producer_says_or_the_usual(tmp_path: Path) -> None:
    async def cleans(reason: str, extra: Any) -> ToolOutput:
        return ToolOutput("cleaned")

    for reject, text in ((None, "Discarded: Stage: x. Reason: ok"), (cleans, "cleaned")):
        stager = Stager(reject=reject)
        scene = Scene(tmp_path, [STAGE, a_resolve("2", "discard"), DONE], stager.tool)
        await scene.play()
        assert scene.results()["2"] == text
        assert stager.applied == []
        assert len(scene.chat.previews) == 0


async def test_a_reject_that_raises_passes_unchanged_and_the_preview_is_gone(
    tmp_path: Path,
) -> None:
    async def fails(reason: str, extra: Any) -> ToolOutput:
        raise RuntimeError("stuck")

    scene = Scene(tmp_path, [STAGE, a_resolve("2", "discard"), DONE], Stager(reject=fails).tool)
    await scene.play()
    assert scene.results()["2"] == "stuck"
    assert scene.screen.blocks["2"][-2].title == "Failed: x [Stage]"
    assert scene.screen.named("AgentPreviewResolved")[0]["status"] == "error"
    assert len(scene.chat.previews) == 0
    assert scene.screen.staged == []


async def test_the_user_can_always_discard(tmp_path: Path) -> None:
    async def fails(reason: str, extra: Any) -> ToolOutput:
        raise RuntimeError("stuck")

    scene = Scene(tmp_path, [STAGE, DONE], Stager(reject=fails).tool)
    await scene.play()
    scene.resolve("discard")
    await scene.screen.until(lambda: bool(scene.screen.named("AgentPreviewResolved")))
    assert len(scene.chat.previews) == 0
    await scene.screen.until(
        lambda: scene.screen.notes[-1] == ("error", "Failed: x [Stage]\nstuck")
    )


async def test_a_yolo_chat_applies_a_preview_of_a_harmless_tool_without_a_question(
    tmp_path: Path,
) -> None:
    for destructive in (False, True):
        stager = Stager()
        metadata = Metadata(destructive=destructive)
        script = [STAGE, a_resolve("2"), DONE]
        scene = Scene(tmp_path, script, replace(stager.tool, metadata=metadata, asks=False))
        scene.session.set_mode("yolo")
        answers = ["accept"] if destructive else []
        await scene.play("go", *answers)
        assert stager.applied == [("ok", None)]


async def test_the_newest_preview_is_resolved_first(tmp_path: Path) -> None:
    first, second = Stager(label="Stage: a"), Stager(label="Stage: b")
    both = calls(a_call("1", "stage"), a_call("2", "later"))
    later = replace(second.tool, name="later")
    script = [both, a_resolve("3", "discard"), a_resolve("4"), DONE]
    scene = Scene(tmp_path, script, first.tool, later)
    await scene.play("go", "accept")
    assert scene.results()["3"] == "Discarded: Stage: b. Reason: ok"
    assert (first.applied, second.applied) == ([("ok", None)], [])


async def test_the_users_own_resolve_acts_at_once_and_is_told_at_the_next_request(
    tmp_path: Path,
) -> None:
    stager = Stager()
    scene = Scene(tmp_path, [STAGE, DONE, DONE], stager.tool)
    await scene.play()
    scene.resolve("apply")
    await scene.screen.until(lambda: bool(scene.screen.named("AgentPreviewResolved")))
    assert stager.applied == [("No reason provided", None)]
    await scene.play("next")
    notes = [m for m in scene.model.requests[-1].history.messages if isinstance(m, Note)]
    assert len(notes) == 1
    assert "Reason: No reason provided" in notes[0].text
    assert ("info", "Accept: x [Stage]") in scene.screen.notes
    assert scene.model.requests[-1].forced is None


async def test_the_users_own_resolve_answers_the_question_about_that_preview(
    tmp_path: Path,
) -> None:
    stager = Stager()
    scene = Scene(tmp_path, [STAGE, a_resolve("2"), DONE], stager.tool)
    scene.session.send("go")
    await scene.screen.until(lambda: bool(scene.screen.questions))
    scene.resolve("apply")
    await scene.finished()
    assert scene.results()["2"] == "done"
    assert len(stager.applied) == 1


async def test_resolve_with_nothing_pending_is_one_line(tmp_path: Path) -> None:
    scene = Scene(tmp_path, [])
    scene.resolve("apply")
    assert scene.screen.notes == [
        ("warn", "Nothing to resolve: no preview is pending in this chat.")
    ]


async def test_a_stop_while_applying_lets_it_end_and_shows_the_true_state(tmp_path: Path) -> None:
    begun, goes_on, wrote = asyncio.Event(), asyncio.Event(), []

    async def apply(reason: str, extra: Any) -> ToolOutput:
        begun.set()
        await goes_on.wait()
        wrote.append("all of it")
        return ToolOutput("done")

    stager = Stager()
    stager.apply = apply  # type: ignore[method-assign]
    scene = Scene(tmp_path, [STAGE, a_resolve("2")], stager.tool)
    scene.session.send("go")
    await scene.answer("accept")
    await begun.wait()
    scene.session.stop()
    goes_on.set()
    await scene.finished()
    assert scene.results()["2"] == "done"
    assert wrote == ["all of it"]
    assert len(scene.chat.previews) == 0
    assert scene.screen.statuses[-1].pending == 0


async def test_a_mode_change_answers_an_open_question_that_it_settles(tmp_path: Path) -> None:
    scene = Scene(tmp_path, [calls(a_call("1", "t")), DONE], tool(works, asks=True))
    scene.session.send("go")
    await scene.screen.until(lambda: bool(scene.screen.questions))
    scene.session.set_mode("yolo")
    await scene.finished()
    assert scene.results() == {"1": "worked"}
    with pytest.raises(
        UserError, match="Unknown mode x; choose one of ask, edit, plan, stage, yolo"
    ):
        scene.session.set_mode("x")


async def test_a_mode_that_forbids_what_is_asked_answers_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path, [calls(a_call("1", "t")), DONE], tool(works, asks=True))
    scene.session.send("go")
    await scene.screen.until(lambda: bool(scene.screen.questions))
    scene.session.set_mode("plan")
    await scene.finished()
    assert scene.results() == {"1": "Not allowed in plan mode: t."}
    (answered,) = scene.screen.named("AgentApprovalAnswered")
    assert answered["choice"] == "cancel"


async def test_closing_a_chat_that_asks_runs_nothing_and_forgets(tmp_path: Path) -> None:
    scene = Scene(tmp_path, [calls(a_call("1", "t"))], tool(works, asks=True))
    scene.session.send("go")
    await scene.screen.until(lambda: bool(scene.screen.questions))
    await scene.session.close()
    assert scene.results() == {"1": "Cancelled by the user."}
    assert scene.screen.questions == {}


async def test_resolve_is_a_hidden_tool(tmp_path: Path) -> None:
    scene = Scene(tmp_path, [DONE])
    await scene.play("@resolve this")
    assert scene.model.requests[0].history.messages[0].text == "@resolve this"
    assert RESOLVE not in scene.model.requests[0].tools


async def test_the_projects_rules_and_the_directory_reach_the_system_prompt(
    tmp_path: Path,
) -> None:
    (tmp_path / "AGENTS.md").write_text("Use tabs.\n")
    scene = Scene(tmp_path, [DONE])
    await scene.play()
    system = scene.model.requests[0].system
    assert "# AGENTS.md\nUse tabs." in system
    assert f"Working directory: {tmp_path}" in system


async def test_a_message_of_the_user_is_journaled_before_it_is_shown(tmp_path: Path) -> None:
    scene = Scene(tmp_path, [DONE])
    journaled: list[list[str]] = []
    show = scene.screen.add_user_message

    def user(text: str) -> None:
        journaled.append(scene.journal_lines())
        show(text)

    scene.screen.add_user_message = user  # type: ignore[method-assign]
    await scene.play()
    assert [lines[-1] for lines in journaled] == ["UserText"]
    assert scene.screen.users == ["go"]


async def test_a_message_that_cannot_be_journaled_goes_back_to_the_prompt(tmp_path: Path) -> None:
    scene = Scene(tmp_path, [DONE])

    fail_on(scene.journal, r.MessageRecorded, UserError("The disk is full."))
    assert await scene.play() == "error"
    assert (scene.screen.users, scene.screen.given_back) == ([], 1)
    assert scene.screen.statuses[-1].state == "idle"


class Files:
    """Files of tools that take as long to be loaded as the test wants."""

    def __init__(self, error: Exception | None = None) -> None:
        self.begun, self.goes_on = asyncio.Event(), asyncio.Event()
        self.error = error

    async def ready(self, chat: str) -> None:
        self.begun.set()
        await self.goes_on.wait()
        if self.error is not None:
            raise self.error

    async def connect(self, chat: str, names: Collection[str]) -> None:
        pass

    async def read_resource(self, chat: str, server: str, uri: str) -> None:
        return None


class Far(LocalWorkspace):
    """A workspace that cannot be reached until the test says so."""

    problem = "box refuses connections."

    async def ready(self) -> None:
        if self.problem:
            raise Unreachable(self.problem)


async def test_a_prompt_waits_for_tools_and_then_has_them(tmp_path: Path) -> None:
    files = Files()
    registry = Registry([RESOLVE])
    chat = Chat("c", Toolset(registry, [], []), Environment(str(tmp_path)))
    scene = Scene(tmp_path, [DONE, DONE], chat=chat, tool_files=files)
    scene.session.send("use @late")
    await files.begun.wait()
    assert scene.screen.statuses[-1].state == "running"
    scene.session.send("go on")
    registry.register(a_tool("late"))
    files.goes_on.set()
    await scene.finished()
    assert scene.screen.users == ["use @late", "go on"]
    assert [tool.name for tool in scene.model.requests[0].tools] == ["late"]
    assert scene.screen.mentions == ["late"]


@pytest.mark.parametrize("error", [RuntimeError("broken"), UserError("broken")])
async def test_a_prompt_comes_back_if_the_tools_cannot_be_loaded(
    tmp_path: Path, error: Exception
) -> None:
    files = Files(error)
    files.goes_on.set()
    scene = Scene(tmp_path, [DONE], tool_files=files)
    assert await scene.play() == "error"
    assert (scene.screen.users, scene.screen.given_back) == ([], 1)
    assert scene.screen.statuses[-1].state == "idle"
    assert "broken" in scene.screen.notes[-1][1]
    files.error = None
    assert await scene.play() == "stop"


async def test_a_prompt_comes_back_if_the_workspace_cannot_be_reached(tmp_path: Path) -> None:
    far = Far(str(tmp_path))
    scene = Scene(tmp_path, [DONE], workspace=far)
    assert await scene.play() == "error"
    assert scene.screen.notes == [("error", "box refuses connections.")]
    assert (scene.screen.users, scene.screen.given_back) == ([], 1)
    assert scene.screen.statuses[-1].state == "idle"
    far.problem = ""
    assert await scene.play() == "stop"


async def test_the_sandbox_of_the_settings_counts_from_the_next_message_on(
    tmp_path: Path,
) -> None:
    async def meanwhile(request: ModelRequest, on_piece: Callable[[Piece], None]) -> Reply:
        scene.session.set_sandbox("required")
        confined.append(scene.chat.policy.confinement)
        scene.session.send("confine it")
        return calls(a_call("1", "t"))

    async def later(request: ModelRequest, on_piece: Callable[[Piece], None]) -> Reply:
        confined.append(scene.chat.policy.confinement)
        return DONE

    confined: list[str] = []
    workspace = LocalWorkspace(str(tmp_path))
    workspace.confinement = Sandbox(str(tmp_path), methods=())
    scene = Scene(tmp_path, [meanwhile, later], tool(works), workspace=workspace)
    await scene.play()
    assert confined == ["", IMPOSSIBLE]


async def test_a_stop_ends_the_wait_for_tools(tmp_path: Path) -> None:
    files = Files()
    scene = Scene(tmp_path, [DONE], tool_files=files)
    scene.session.send("go")
    await files.begun.wait()
    scene.session.stop()
    await scene.finished()
    assert scene.screen.named("AgentTurnFinished") == [{"reason": "cancelled"}]
    assert scene.screen.users == []
    assert scene.screen.statuses[-1].state == "idle"


async def test_a_stop_before_the_turn_began_gives_the_prompt_back(tmp_path: Path) -> None:
    scene = Scene(tmp_path, [DONE])
    scene.session.send("go")
    scene.session.stop()
    assert scene.screen.given_back == 1
    assert await scene.play("again") == "stop"
    assert scene.screen.users == ["again"]


async def test_a_command_that_is_stopped_before_it_began_leaves_an_idle_chat(
    tmp_path: Path,
) -> None:
    scene = Scene(tmp_path, [DONE])
    scene.session.redo()
    scene.session.stop()
    await asyncio.sleep(0)
    assert [status.state for status in scene.screen.statuses][-2:] == ["running", "idle"]


async def test_a_chat_closed_in_mid_turn_leaves_no_task(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def hangs(request: ModelRequest, on_piece: Callable[[Piece], None]) -> Reply:
        begun.set()
        await asyncio.Event().wait()
        return DONE

    before = asyncio.all_tasks()
    scene = Scene(tmp_path, [hangs])
    scene.session.warm_up()
    scene.session.send("go")
    await begun.wait()
    scene.session.send("and this")
    scene.session.undo()
    await scene.session.close()
    assert asyncio.all_tasks() == before


async def test_a_chat_closed_while_it_connects_or_runs_a_job_leaves_no_task(
    tmp_path: Path,
) -> None:
    before, begun = asyncio.all_tasks(), asyncio.Event()

    class Slow(LocalWorkspace):
        async def ready(self) -> None:
            begun.set()
            await asyncio.Event().wait()

    scene = Scene(tmp_path, [], workspace=Slow(str(tmp_path)))
    for number in range(100):
        scene.chat.history = scene.chat.history.add(Note(str(number)))
    scene.session.warm_up()
    scene.session.replay()
    await begun.wait()
    await asyncio.wait_for(scene.session.close(), 2)
    assert asyncio.all_tasks() == before


async def test_what_fails_in_the_background_is_logged_and_shown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scene = Scene(tmp_path, [STAGE, DONE], Stager().tool)
    await scene.play()

    fail_on(scene.journal, r.PreviewResolving, RuntimeError("no way"))
    scene.resolve("apply")
    await scene.screen.until(lambda: bool(scene.screen.notes))
    ((level, text),) = scene.screen.notes
    assert level == "error"
    assert text.endswith("RuntimeError('no way'). See the log.")
    assert "Traceback" in caplog.text


async def test_what_a_failed_turn_never_took_goes_back_to_the_prompt(tmp_path: Path) -> None:
    scene = Scene(tmp_path, [DONE])
    scene.journal.close()
    assert await scene.play() == "error"
    assert scene.screen.given_back == 1
    assert scene.screen.users == []
    assert (
        "error",
        "This chat is closed: its journal cannot be written.",
    ) in scene.screen.notes


async def test_a_message_that_could_not_be_journaled_is_sent_once_by_the_next_turn(
    tmp_path: Path,
) -> None:
    scene = Scene(tmp_path, [DONE])
    works_again = fail_on(scene.journal, r.MessageRecorded, UserError("The disk is full."))
    scene.session.add_note("The user changed a file.")
    assert await scene.play() == "error"
    assert scene.chat.history.messages == ()
    works_again()
    assert await scene.play() == "stop"
    messages = [message.text for message in scene.model.requests[0].history.messages]
    assert messages == ["The user changed a file.", "go"]


async def test_a_stop_just_before_a_message_is_journaled_keeps_it_out_of_the_history(
    tmp_path: Path,
) -> None:
    class StoppingFiles(Files):
        """Tool files of which the second load ends in the moment of a stop."""

        loads = 0

        async def ready(self, chat: str) -> None:
            self.loads += 1
            if self.loads == 2:
                asyncio.get_running_loop().call_soon(scene.session.stop)

    scene = Scene(tmp_path, [DONE], tool_files=StoppingFiles())
    assert await scene.play() == "cancelled"
    assert scene.chat.history.messages == ()
    assert scene.screen.users == []
    assert await scene.play() == "stop"
    assert scene.screen.users == ["go"]


async def test_text_shown_soon_after_a_progress_record_is_journaled_by_a_timer(
    tmp_path: Path,
) -> None:
    async def slow(request: ModelRequest, on_piece: Callable[[Piece], None]) -> Reply:
        on_piece(TextDelta("one"))
        on_piece(TextDelta(" two"))
        await journaled.wait()
        return Reply("one two")

    scene, journaled = Scene(tmp_path, [slow]), asyncio.Event()
    record = scene.journal.add_progress

    def add_progress(text: str) -> None:
        record(text)
        if text == "one two":
            journaled.set()

    scene.journal.add_progress = add_progress  # type: ignore[method-assign]
    scene.session.send("go")
    await asyncio.wait_for(journaled.wait(), 5)
    await scene.finished()
    lines = [line for line in scene.journal_lines() if line.startswith("so far")]
    assert lines == ["so far one", "so far  two"]
    assert scene.screen.said == "|one two"


async def test_stage_mode_is_refused_where_the_workspace_has_no_overlay(tmp_path: Path) -> None:
    scene = Scene(tmp_path, [DONE])
    scene.session.set_mode("stage")
    await scene.screen.until(lambda: bool(scene.screen.notes))
    assert scene.screen.notes[0][0] == "warn"
    assert "Stage mode needs a workspace on this machine" in scene.screen.notes[0][1]
    assert scene.chat.policy.mode == "ask"


async def test_a_turn_that_fails_between_its_lines_leaves_a_chat_that_takes_messages(
    tmp_path: Path,
) -> None:
    scene = Scene(tmp_path, [DONE, DONE])
    scene.screen.fails = {"AgentTurnStarted": RuntimeError("broken")}
    assert await scene.play() == "error"
    assert any("The turn failed: RuntimeError('broken')" in text for _, text in scene.screen.notes)
    scene.screen.fails = {}
    assert await scene.play("again") == "stop"
    assert scene.screen.statuses[-1].state == "idle"
