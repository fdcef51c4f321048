"""Commands that run isolated before the user is asked: what becomes of what they changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.errors import StalePreview, ToolError
from agentchat.core.messages import Reply
from agentchat.core.permissions.policy import Decision, Reason, Verdict
from agentchat.core.tools.tool import DryRunResult, Metadata
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import (
    ApplyIsolated,
    ApprovalResponse,
    AskModel,
    BeginStage,
    Effect,
    RequestApproval,
    RunIsolated,
    TakeSteering,
)
from agentchat.core.turn.hunk_decisions import HunkDecision
from agentchat.core.turn.loop import turn
from tests.core.turn.world import World, a_call, a_chat, a_tool, calls

BASH = a_tool("bash", metadata=Metadata(destructive=True, confined=True, runs_commands=True))
DONE = Reply("Done.")
CALL = a_call("1", "bash", '{"command": "make"}')
CHANGE = DryRunResult(ChangeSet((FileChange("/ws/a", b"1\n", b"2\n", "a"),)))
DENIED = Decision(Verdict.DENY, Reason("rule", "deny"), message="Denied by rule: deny")


def a_trying_chat() -> Chat:
    chat = a_chat(BASH)
    chat.policy.has_overlay = True
    return chat


def play(world: World, chat: Chat | None = None) -> str:
    chat = chat or a_trying_chat()
    ending = world.play(turn(chat))
    assert not chat.history.unanswered()
    assert world.overlay[-1] == "EndStage"
    reason: str = ending.reason
    return reason


def steps(world: World) -> list[str]:
    """Return what happened to isolated calls."""
    return [step for step in world.overlay if not step.endswith("Stage")]


def a_world(*answers: ApprovalResponse | str, **more: Any) -> World:
    more.setdefault("isolated", {"1": [CHANGE, CHANGE]})
    return World([calls(CALL), DONE], list(answers), **more)


def test_what_is_accepted_is_applied_and_does_not_run_again() -> None:
    world = a_world("try", "accept")
    play(world)
    assert steps(world) == ["run 1", "apply 1"]
    assert world.ran == []
    assert world.applied == [CHANGE]
    assert world.results() == {"1": "ran isolated"}
    first, second = world.questions
    assert (first.can_try, first.isolated) == (True, None)
    assert (second.can_try, second.preview) == (False, CHANGE)
    assert second.isolated is not None


HUNK = HunkDecision("/ws/a", 0)


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        ("reject", "User rejected the bash call."),
        (ApprovalResponse("reject", "no"), "User rejected the bash call. Reason: no"),
        (ApprovalResponse("accept", hunk_decisions=(HUNK,)), "User rejected the bash call."),
        (ApprovalResponse("reject", decision=DENIED), "Denied by rule: deny"),
        ("cancel", "Cancelled by the user."),
    ],
)
def test_what_is_not_accepted_is_not_applied(answer: ApprovalResponse | str, result: str) -> None:
    world = a_world("try", answer)
    play(world)
    assert steps(world) == ["run 1"]
    assert world.results()["1"].startswith(result)


def test_an_edited_command_runs_again_and_only_its_change_is_applied() -> None:
    edited = ApprovalResponse("edit", arguments='{"command": "make all"}')
    world = a_world("try", edited, "try", "accept")
    play(world)
    assert steps(world) == ["run 1", "run 1", "apply 1"]


def test_edited_arguments_that_are_wrong_leave_the_question_as_it_is() -> None:
    world = a_world("try", ApprovalResponse("edit", arguments="["), "accept")
    play(world)
    assert steps(world) == ["run 1", "apply 1"]


def test_an_overlay_that_does_not_work_leaves_the_question_with_the_reason() -> None:
    world = a_world("try", "accept", isolated={"1": [ToolError("No overlay works here.")]})
    play(world)
    assert world.questions[1].problem == "No overlay works here."
    assert not world.questions[1].can_try
    assert world.ran == [("1",)]


def test_a_change_that_became_stale_is_tried_and_asked_again() -> None:
    again = DryRunResult(ChangeSet((FileChange("/ws/a", b"x\n", b"2\n", "a"),)))
    world = a_world(
        "try",
        "accept",
        "accept",
        outcomes={"1": [StalePreview("a")]},
        isolated={"1": [CHANGE, again]},
    )
    play(world)
    assert steps(world) == ["run 1", "apply 1", "run 1", "apply 1"]
    assert world.questions[2].problem.startswith("a changed since it was shown")
    assert world.questions[2].preview == again
    assert world.ran == []


def _fails(kind: type) -> Callable[[Effect[Any]], bool]:
    return lambda effect: isinstance(effect, kind)


def _second_question() -> Callable[[Effect[Any]], bool]:
    seen: list[int] = []

    def is_it(effect: Effect[Any]) -> bool:
        seen.extend([1] * isinstance(effect, RequestApproval))
        return isinstance(effect, RequestApproval) and len(seen) == 2

    return is_it


@pytest.mark.parametrize(
    ("stops", "expected"),
    [
        (_second_question(), ["run 1"]),
        (_fails(ApplyIsolated), ["run 1"]),
        (_fails(RunIsolated), []),
    ],
)
def test_a_stop_applies_nothing_wherever_it_comes(
    stops: Callable[[Effect[Any]], bool], expected: list[str]
) -> None:
    world = a_world("try", "accept", stop_at=stops)
    assert play(world) == "cancelled"
    assert steps(world) == expected


@pytest.mark.parametrize("kind", [BeginStage, TakeSteering, AskModel, RequestApproval, RunIsolated])
def test_stage_mode_ends_with_every_turn(kind: type) -> None:
    world = a_world("try", "accept", stop_at=_fails(kind))
    play(world)
    assert world.overlay[-1] == "EndStage"
    assert world.overlay.count("EndStage") == 1


class _Broken(World):
    """A world in which the model fails with an error that nobody expects."""

    def perform(self, effect: Effect[Any]) -> Any:
        if isinstance(effect, AskModel):
            raise RuntimeError("broken")
        return super().perform(effect)


def test_stage_mode_ends_with_a_turn_that_fails() -> None:
    world = _Broken([])
    with pytest.raises(RuntimeError):
        world.play(turn(a_trying_chat()))
    assert world.overlay == ["BeginStage", "EndStage"]
