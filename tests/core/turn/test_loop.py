"""A turn, stepped without an editor, a model or a disk."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest

from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.errors import StalePreview, ToolError, UserError
from agentchat.core.messages import Note, Reply, Status, ToolResult, UserText
from agentchat.core.permissions.policy import MODES, Mode
from agentchat.core.permissions.rules import Rule
from agentchat.core.tools.tool import (
    Capability,
    CheckpointHandler,
    DryRunResult,
    Hooks,
    Metadata,
    SaveFunction,
)
from agentchat.core.turn.chat import REMINDER, Chat
from agentchat.core.turn.effects import (
    ApprovalResponse,
    AskModel,
    Effect,
    Locate,
    Record,
    RequestApproval,
    RunTool,
)
from agentchat.core.turn.loop import RESOLVE_FIRST, turn
from agentchat.core.turn.preview_stack import Preview
from agentchat.core.workspace import FileTarget, Zone
from tests.core.turn.world import Anything, World, a_call, a_chat, a_tool, calls

READER = Metadata(read_only=True, concurrency_safe=True)
EFFECT = a_tool("m1")
QUIET = a_tool("quiet", asks=False)
READ = a_tool("read", metadata=READER)
BASH = a_tool("bash", metadata=Metadata(destructive=True))
EDIT = a_tool("edit", dry_run=lambda arguments, context: None)
DONE = Reply("Done.")


async def _nothing(reason: str, extra: object) -> None:
    return None


def a_preview(label: str = "Stage: x") -> Preview:
    return Preview(label, "stage", _nothing, id=label)


def a_chat_with_preview(*tools: object) -> Chat:
    chat = a_chat(*tools)  # type: ignore[arg-type]
    chat.previews.push(a_preview())
    return chat


def play(chat: Chat, world: World) -> str:
    ending = world.play(turn(chat))
    assert not chat.history.unanswered()
    assert chat.history.messages[-len(world.said) :] == tuple(world.said)
    reason: str = ending.reason
    return reason


def test_an_answer_without_calls_ends_the_turn() -> None:
    world = World([DONE])
    assert play(a_chat(EFFECT), world) == "stop"
    assert world.requests[0].history.messages == (UserText("go"),)


def test_a_call_runs_after_its_yes_and_its_result_goes_back() -> None:
    world = World([calls(a_call("1", "m1")), DONE], ["accept"])
    assert play(a_chat(EFFECT), world) == "stop"
    assert world.ran == [("1",)]
    assert isinstance(world.requests[1].history.messages[-1], ToolResult)


def test_a_rejected_call_is_not_run_and_the_model_hears_why() -> None:
    script = [calls(a_call("1", "m1"), a_call("2", "m1")), DONE]
    world = World(script, [ApprovalResponse("reject", "too bold"), "accept"])
    assert play(a_chat(EFFECT), world) == "stop"
    assert world.ran == [("2",)]
    assert world.results()["1"] == "User rejected the m1 call. Reason: too bold"


def test_an_empty_reason_is_left_out() -> None:
    world = World([calls(a_call("1", "m1")), DONE], ["reject"])
    play(a_chat(EFFECT), world)
    assert world.results()["1"] == "User rejected the m1 call."


@pytest.mark.parametrize("rounds", [1, 5])
def test_cancel_in_a_prompt_answers_all_and_sends_nothing(rounds: int) -> None:
    before = [calls(a_call(f"r{i}", "quiet")) for i in range(rounds - 1)]
    batch = calls(a_call("1", "m1"), a_call("2", "m1"), a_call("3", "quiet"))
    world = World([*before, batch], ["cancel"])
    assert play(a_chat(EFFECT, QUIET), world) == "cancelled"
    assert {world.results()[i] for i in "123"} == {"Cancelled by the user."}
    assert len(world.requests) == rounds


@pytest.mark.parametrize("kind", [RequestApproval, RunTool])
def test_a_stop_ends_like_a_cancel_wherever_it_comes(kind: type) -> None:
    batch = calls(a_call("1", "m1"), a_call("2", "m1"))
    world = World([batch], ["accept"], stop_at=lambda effect: isinstance(effect, kind))
    assert play(a_chat(EFFECT), world) == "cancelled"
    assert set(world.results().values()) == {"Cancelled by the user."}


def test_a_stop_before_the_reply_leaves_nothing_to_answer() -> None:
    world = World([], stop_at=lambda effect: isinstance(effect, AskModel))
    assert play(a_chat(EFFECT), world) == "cancelled"


def test_unknown_tools_and_bad_arguments_are_answered_in_place() -> None:
    needs = a_tool("needs", arguments=Anything(("path",)), asks=False)
    batch = calls(
        a_call("1", "missing_tool"),
        a_call("2", "quiet", '{"q":'),
        a_call("3", "quiet"),
        a_call("4", "needs"),
        a_call("5", "quiet", '{"a": 1, "a": 2}'),
        a_call("6", "quiet", '"{}"'),
    )
    world = World([batch, DONE])
    assert play(a_chat(QUIET, needs), world) == "stop"
    results = world.results()
    assert list(results) == ["1", "2", "3", "4", "5", "6"]
    assert results["1"] == 'Tool "missing_tool" not found. Available tools: quiet, needs.'
    assert results["2"].startswith('Arguments for "quiet" are not valid JSON: ')
    assert results["2"].endswith(". Send one JSON object.")
    assert results["4"] == 'Validation failed for tool "needs":\n  - path: Field required'
    assert "there twice" in results["5"]
    assert "expected an object" in results["6"]
    assert world.ran == [("3",)]


@pytest.mark.parametrize("sent", ["", "  ", "null", "{}"])
def test_no_arguments_at_all_are_an_empty_object(sent: str) -> None:
    world = World([calls(a_call("1", "quiet", sent)), DONE])
    play(a_chat(QUIET), world)
    assert world.ran == [("1",)]


def test_a_tool_the_chat_was_not_given_never_runs() -> None:
    chat = a_chat(QUIET, EFFECT)
    chat.toolset.remove("all")
    chat.toolset.add("quiet")
    world = World([calls(a_call("1", "m1")), DONE])
    play(chat, world)
    assert world.results()["1"] == 'Tool "m1" not found. Available tools: quiet.'


def test_a_cut_off_call_is_not_run_and_its_neighbours_are() -> None:
    batch = calls(a_call("1", "quiet"), a_call("2", "quiet", '{"p"', cut_off=True))
    world = World([batch, DONE])
    play(a_chat(QUIET), world)
    assert world.ran == [("1",)]
    assert world.results()["2"] == (
        'The call to "quiet" was cut off before it was complete; it was not run. Send it again.'
    )


def test_a_failed_stream_runs_nothing_and_ends_the_turn() -> None:
    broken = Reply("so far", (a_call("1", "quiet", cut_off=True),), error="The stream ended.")
    world = World([broken])
    assert play(a_chat(QUIET), world) == "error"
    assert world.ran == []
    assert "was cut off" in world.results()["1"]


def test_neighbouring_safe_calls_run_together_and_the_rest_alone_in_order() -> None:
    names = ["read", "read", "quiet", "read", "missing", "read"]
    batch = calls(*(a_call(str(i), name) for i, name in enumerate(names)))
    world = World([batch, DONE])
    play(a_chat(READ, QUIET), world)
    assert world.ran == [("0", "1"), ("2",), ("3",), ("5",)]
    assert list(world.results()) == ["0", "1", "2", "3", "4", "5"]


def test_the_question_says_its_place_among_those_of_the_reply() -> None:
    batch = calls(a_call("1", "m1"), a_call("2", "quiet"), a_call("3", "m1"), a_call("4", "bash"))
    world = World([batch, DONE], ["accept", "accept", "accept"])
    play(a_chat(EFFECT, QUIET, BASH), world)
    assert [(q.number, q.total) for q in world.questions] == [(1, 3), (2, 3), (3, 3)]


def test_always_also_answers_queued_calls_of_the_same_scope_and_only_those() -> None:
    same, other = '{"command": "ls"}', '{"command": "ls -la"}'
    batch = calls(a_call("1", "bash", same), a_call("2", "bash", same), a_call("3", "bash", other))
    world = World([batch, DONE], ["always", "accept"])
    play(a_chat(BASH), world)
    assert [q.call.call.id for q in world.questions] == ["1", "3"]
    assert world.ran == [("1",), ("2",), ("3",)]


def test_one_answer_accepts_the_waiting_calls_of_its_scope_until_the_turn_ends() -> None:
    chat = a_chat(EDIT)
    batch = calls(*(a_call(id, "edit", f'{{"path": "{id}"}}') for id in "abc"))
    first = World([batch, DONE], ["turn"])
    play(chat, first)
    (asked,) = first.questions
    assert [(call.title, call.is_covered) for call in asked.similar] == [
        ('edit path="b"', True),
        ('edit path="c"', True),
    ]
    assert first.ran == [("a",), ("b",), ("c",)]
    assert chat.policy.grants.items() == ()
    second = World([calls(a_call("d", "edit", '{"path": "d"}')), DONE], ["accept"])
    play(chat, second)
    assert [question.call.call.id for question in second.questions] == ["d"]


def test_one_answer_accepts_no_other_scope_and_nothing_alone() -> None:
    batch = calls(
        a_call("1", "bash", '{"command": "make"}'), a_call("2", "bash", '{"command": "ls -l /"}')
    )
    world = World([batch, DONE], ["turn", "accept"])
    play(a_chat(BASH), world)
    assert [question.call.call.id for question in world.questions] == ["1", "2"]
    assert [call.is_covered for call in world.questions[0].similar] == [False]


def test_always_holds_in_later_turns_and_not_in_another_chat() -> None:
    script = calls(a_call("1", "bash", '{"command": "ls"}'))
    chat = a_chat(BASH)
    play(chat, World([script, DONE], ["always"]))
    again = World([calls(a_call("2", "bash", '{"command": "ls"}')), DONE])
    play(chat, again)
    assert again.ran == [("2",)]
    other = World([script, DONE], ["reject"])
    play(a_chat(BASH), other)
    assert len(other.questions) == 1


def test_accept_is_for_once() -> None:
    chat = a_chat(EFFECT)
    play(chat, World([calls(a_call("1", "m1")), DONE], ["accept"]))
    again = World([calls(a_call("2", "m1")), DONE], ["accept"])
    play(chat, again)
    assert len(again.questions) == 1


def test_what_hides_characters_cannot_be_remembered() -> None:
    hidden = '{"command": "ls \\u202e"}'
    world = World([calls(a_call("1", "bash", hidden)), DONE], ["always"])
    chat = a_chat(BASH)
    play(chat, world)
    assert chat.policy.grants.items() == ()


@pytest.mark.parametrize("zone", [Zone.PROTECTED, Zone.OUTSIDE, Zone.SECRET])
@pytest.mark.parametrize("mode", [m for m in MODES if m != "plan"])
def test_unusual_paths_ask_in_every_mode_even_with_always_for_the_tool(
    zone: Zone, mode: Mode
) -> None:
    chat = a_chat(EDIT)
    play(chat, World([calls(a_call("0", "edit", '{"path": "a"}')), DONE], ["always"]))
    chat.policy.mode = mode
    target = FileTarget("/x", "/x", zone)
    batch = calls(a_call("1", "edit", '{"path": "a"}'), a_call("2", "edit", '{"path": "x"}'))
    world = World([batch, DONE], ["accept"], targets={"x": target})
    play(chat, world)
    assert [q.call.call.id for q in world.questions] == ["2"]


@pytest.mark.parametrize(
    ("mode", "unasked"),
    [("ask", set()), ("edit", {"edit"}), ("yolo", {"edit", "m1"})],
)
def test_each_mode_runs_just_what_it_says(mode: Mode, unasked: set[str]) -> None:
    chat = a_chat(EDIT, EFFECT, BASH)
    chat.policy.mode = mode
    names = ["edit", "m1", "bash"]
    world = World(
        [calls(*(a_call(name, name) for name in names)), DONE],
        ["accept"] * (3 - len(unasked)),
    )
    play(chat, world)
    assert {q.call.tool.name for q in world.questions} == set(names) - unasked


def test_plan_mode_runs_nothing_but_reading() -> None:
    chat = a_chat(EDIT, READ)
    chat.policy.mode = "plan"
    world = World([calls(a_call("1", "edit"), a_call("2", "read")), DONE])
    play(chat, world)
    assert world.results() == {"1": "Not allowed in plan mode: edit.", "2": "done"}


def test_a_deny_rule_wins_over_everything_and_is_named() -> None:
    chat = a_chat(BASH)
    chat.policy.rules = (Rule("allow", "bash"), Rule("deny", "bash", words=("rm",)))
    chat.policy.mode = "yolo"
    world = World([calls(a_call("1", "bash", '{"command": "git status && rm -rf x"}')), DONE])
    play(chat, world)
    assert world.results()["1"] == "Denied by rule: deny tool bash words rm"
    assert world.said[-2].status is Status.DENIED  # type: ignore[union-attr]


def test_confidence_is_asked_for_checked_and_stripped() -> None:
    careful = a_tool("careful", asks=False, capability=Capability(min_confidence=70))
    given: list[dict[str, object]] = []
    batch = calls(
        a_call("1", "careful"),
        a_call("2", "careful", '{"_confidence": 60}'),
        a_call("3", "careful", '{"_confidence": 70, "x": 1}'),
        a_call("4", "careful", '{"_confidence": true}'),
    )
    world = World([batch, DONE], on_run=lambda call: given.append(dict(call.raw_arguments)))
    play(a_chat(careful), world)
    assert world.results() == {
        "1": "requires _confidence (0-100) in input, min=70",
        "2": "confidence 60 below required 70",
        "3": "done",
        "4": "requires _confidence (0-100) in input, min=70",
    }
    assert given == [{"x": 1}]


def test_a_checkpoint_without_a_handler_denies() -> None:
    deploy = a_tool("deploy", metadata=Metadata(requires_checkpoint=True))
    world = World([calls(a_call("1", "deploy")), DONE])
    play(a_chat(deploy), world)
    assert world.results()["1"] == (
        'Checkpoint required: no handler is registered, so "deploy" was not run.'
    )


def test_a_checkpoint_is_what_the_question_and_the_run_are_about() -> None:
    deploy = a_tool("deploy", metadata=Metadata(requires_checkpoint=True))
    world = World([calls(a_call("1", "deploy")), DONE], ["accept"])
    chat = a_chat(deploy)
    save = cast("SaveFunction", None)
    handlers = [CheckpointHandler("other", ("x",), save, deploy)]
    chat.toolset.set_checkpoint_handlers(
        [*handlers, CheckpointHandler("dump", ("deploy",), save, deploy)]
    )
    play(chat, world)
    assert [question.target.checkpoint for question in world.questions] == ["dump"]
    assert world.ran == [("1",)]


def test_a_call_that_cannot_work_is_answered_before_any_question() -> None:
    world = World([calls(a_call("1", "edit")), DONE], previews={"1": ToolError("not found in a")})
    play(a_chat(EDIT), world)
    assert world.questions == []
    assert world.results()["1"] == "not found in a"


def test_text_that_moved_is_previewed_and_asked_again() -> None:
    done = ToolResult("1", "edit", "Edited a: 1 replacement.")
    world = World(
        [calls(a_call("1", "edit")), DONE],
        ["accept", "accept"],
        outcomes={"1": [StalePreview("a"), done]},
        previews={"1": DryRunResult(text="diff")},
    )
    play(a_chat(EDIT), world)
    assert len(world.questions) == 2
    assert world.results()["1"] == "Edited a: 1 replacement."


def test_text_that_never_rests_is_an_error_in_the_end() -> None:
    moved = StalePreview("a")
    world = World([calls(a_call("1", "edit")), DONE], ["accept"] * 3, outcomes={"1": [moved] * 3})
    play(a_chat(EDIT), world)
    assert world.results()["1"] == "a changed since the preview. Nothing was changed."


def test_a_question_is_not_put_again_when_it_would_be_the_same() -> None:
    moved = StalePreview("a")
    change = ChangeSet((FileChange("/w/a", b"1", b"2", "a"),))
    world = World(
        [calls(a_call("1", "edit")), DONE],
        ["accept"],
        outcomes={"1": [moved]},
        previews={"1": DryRunResult(change)},
    )
    play(a_chat(EDIT), world)
    assert len(world.questions) == 1
    assert world.results()["1"] == "a changed since the preview. Nothing was changed."


def test_arguments_the_user_changed_are_checked_and_told() -> None:
    needs = a_tool("needs", arguments=Anything(("path",)))
    world = World(
        [calls(a_call("1", "needs", '{"path": "a"}')), DONE],
        [
            ApprovalResponse("edit", arguments="{}"),
            ApprovalResponse("edit", arguments='{"path": "b"}'),
            "accept",
        ],
    )
    play(a_chat(needs), world)
    assert "Field required" in world.questions[1].problem
    assert world.questions[2].call.raw_arguments == {"path": "b"}
    head, _, rest = world.results()["1"].partition("\n")
    assert head == 'The user changed the arguments before running: {"path": "b"}'
    assert rest == "done"


def test_what_the_user_sends_meanwhile_joins_the_next_request() -> None:
    world = World([calls(a_call("1", "quiet")), DONE], steering=[(UserText("and b"),)])
    play(a_chat(QUIET), world)
    assert world.requests[1].history.messages[-1] == UserText("and b")


def test_a_pending_preview_forces_resolve_and_reminds() -> None:
    world = World([DONE])
    assert play(a_chat_with_preview(QUIET), world) == "stop"
    request = world.requests[0]
    assert request.forced == "resolve"
    assert request.reminder == REMINDER
    assert [tool.name for tool in request.tools] == ["quiet", "resolve"]


def test_nothing_pending_offers_no_resolve_yet_answers_it() -> None:
    call = a_call("1", "resolve", '{"action": "discard", "reason": "r"}')
    world = World([calls(call), DONE])
    play(a_chat(QUIET), world)
    assert [tool.name for tool in world.requests[0].tools] == ["quiet"]
    assert world.results()["1"] == ("No pending action to resolve. Nothing to apply or discard.")


def resolve(call_id: str, action: str = "apply", reason: str = "ok") -> object:
    return a_call(call_id, "resolve", f'{{"action": "{action}", "reason": "{reason}"}}')


def test_apply_asks_and_discard_does_not() -> None:
    for action, answers in (("apply", ["accept"]), ("discard", [])):
        world = World([calls(resolve("1", action)), DONE], list(answers))  # type: ignore[arg-type]
        play(a_chat_with_preview(), world)
        assert world.resolved == [("Stage: x", action, "ok")]


def test_rejecting_an_apply_discards_with_the_users_reason() -> None:
    world = World([calls(resolve("1")), DONE], [ApprovalResponse("reject", "not now")])  # type: ignore[arg-type]
    play(a_chat_with_preview(), world)
    assert world.resolved == [("Stage: x", "discard", "not now")]
    assert world.results()["1"].startswith("User rejected the resolve call. Reason: not now")


def test_cancelling_an_apply_leaves_it_pending() -> None:
    chat = a_chat_with_preview()
    world = World([calls(resolve("1"))], ["cancel"])  # type: ignore[arg-type]
    assert play(chat, world) == "cancelled"
    assert len(chat.previews) == 1
    assert world.resolved == []


def test_other_calls_beside_resolve_are_refused_and_the_third_time_ends_the_turn() -> None:
    chat = a_chat_with_preview(QUIET)
    batch = calls(resolve("1"), a_call("2", "quiet"))  # type: ignore[arg-type]
    more = [
        replace(batch, parts=tuple(replace(c, id=f"{c.id}{n}") for c in batch.calls)) for n in "abc"
    ]
    world = World(more)
    assert play(chat, world) == "error"
    assert set(world.results().values()) == {RESOLVE_FIRST}
    assert world.ran == []
    assert len(chat.previews) == 1


def test_notes_of_the_plugin_reach_the_model() -> None:
    world = World([calls(a_call("1", "quiet")), DONE], steering=[(Note("applied"),)])
    play(a_chat(QUIET), world)
    assert world.requests[1].history.messages[-1] == Note("applied")


# --- one judgement, one result, a clean end ---------------------------------------------------


def test_a_call_is_located_once() -> None:
    batch = calls(a_call("1", "read"), a_call("2", "read"), a_call("3", "m1"))
    world = World([batch, DONE], ["accept"])
    play(a_chat(READ, EFFECT), world)
    assert world.located == ["1", "2", "3"]


def test_a_call_is_located_again_once_something_happened_since() -> None:
    batch = calls(a_call("1", "m1"), a_call("2", "m1"), a_call("3", "quiet"))
    world = World([batch, DONE], ["accept", "reject"])
    play(a_chat(EFFECT, QUIET), world)
    # The first question counts the calls ahead; each is judged as things are in its turn.
    assert world.located == ["1", "2", "3", "2", "3"]


def test_a_call_that_cannot_act_is_located_once_and_answered_in_its_turn() -> None:
    class Nowhere(World):
        def perform(self, effect: Effect[Any]) -> Any:
            answer = super().perform(effect)
            if not isinstance(effect, Locate):
                return answer
            error = ToolError("The path is too long.")
            found = zip(effect.calls, answer, strict=True)
            return tuple(error if call.call.id == "2" else target for call, target in found)

    batch = calls(a_call("1", "quiet"), a_call("2", "read"), a_call("3", "read"))
    world = Nowhere([batch, DONE])
    play(a_chat(READ, QUIET), world)
    assert world.located == ["1", "2", "3"]
    assert list(world.results().items())[1] == ("2", "The path is too long.")


def test_arguments_the_user_changed_are_located_again() -> None:
    edit = ApprovalResponse("edit", arguments='{"path": "b"}')
    outside = FileTarget("/b", "/b", Zone.OUTSIDE)
    world = World(
        [calls(a_call("1", "m1", '{"path": "a"}')), DONE],
        [edit, "accept"],
        targets={"b": outside},
    )
    play(a_chat(EFFECT), world)
    assert world.questions[1].target.writes == (outside,)
    assert world.located == ["1", "1"]


def test_a_change_that_cannot_be_previewed_again_is_reported_as_a_changed_file() -> None:
    change = DryRunResult(ChangeSet((FileChange("/ws/a", b"1", b"2", "a"),)))
    world = World(
        [calls(a_call("1", "edit")), DONE],
        ["accept"],
        outcomes={"1": [StalePreview("a")]},
        previews={"1": [change, ToolError("edits[0]: old_text not found in a.")]},
    )
    play(a_chat(EDIT), world)
    assert len(world.questions) == 1
    assert world.results()["1"] == "a changed since the preview. Nothing was changed."


@pytest.mark.parametrize("error", [UserError("The disk is full."), ValueError("a bug")])
def test_a_turn_that_fails_leaves_no_call_without_its_result(error: Exception) -> None:
    def fail(call: object) -> None:
        raise error

    chat = a_chat(QUIET)
    world = World([calls(a_call("1", "quiet"), a_call("2", "quiet"))], on_run=fail)
    if isinstance(error, UserError):
        assert play(chat, world) == "error"
    else:
        with pytest.raises(ValueError, match="a bug"):
            play(chat, world)
    assert not chat.history.unanswered()
    assert all(str(error) in text for text in world.results().values())


def test_a_history_is_complete_even_if_the_journal_takes_nothing_more() -> None:
    class FullDisk(World):
        def perform(self, effect: Effect[Any]) -> Any:
            if isinstance(effect, Record) and isinstance(effect.message, ToolResult):
                raise UserError("The disk is full.")
            return super().perform(effect)

    chat = a_chat(QUIET)
    end = FullDisk([calls(a_call("1", "quiet"), a_call("2", "quiet"))]).play(turn(chat))
    assert (end.reason, end.message) == ("error", "The disk is full.")
    assert not chat.history.unanswered()


def test_a_plan_that_is_closed_asks_for_nothing_more() -> None:
    hooked = a_tool("hooked", asks=False, hooks=Hooks(exit=_exit))
    world = World([calls(a_call("1", "hooked"))])
    plan = turn(a_chat(hooked))
    effect = next(plan)
    while not isinstance(effect, RunTool):
        effect = plan.send(world.perform(effect))
    plan.close()
    assert world.lives == [("SetUp", "1")]


async def _exit(arguments: object, context: object) -> None:
    return None
