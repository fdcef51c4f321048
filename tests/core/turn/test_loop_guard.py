"""A model that repeats its calls is told so, and then the user is asked."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from agentchat.core.messages import Note, Reply, UserText
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import ApprovalResponse
from agentchat.core.turn.loop import turn
from tests.core.turn.world import World, a_call, a_chat, a_tool, calls

LOOK = a_tool("look", asks=False)
DONE = Reply("Done.")


def rounds(*arguments: str) -> list[Reply]:
    """Return a reply with one call for each of the arguments."""
    texts = (json.dumps({"path": argument}) for argument in arguments)
    return [calls(a_call(str(i), "look", text)) for i, text in enumerate(texts)]


def play(world: World, chat: Chat | None = None) -> Chat:
    chat = chat or a_chat(LOOK)
    world.ending = world.play(turn(chat))  # type: ignore[attr-defined]
    return chat


def notes(world: World) -> list[Note]:
    return [message for message in world.said if isinstance(message, Note)]


def test_three_equal_rounds_get_the_model_a_note_with_the_next_request() -> None:
    world = World([*rounds("a", "a", "a"), DONE])
    play(world)
    assert world.questions == []
    assert "the same tool calls 3 times in a row" in notes(world)[0].text
    assert world.requests[3].history.messages[-1] == notes(world)[0]
    assert not any(isinstance(m, Note) for m in world.requests[2].history.messages)


def test_rounds_with_other_calls_get_no_note() -> None:
    world = World([*rounds("a", "a", "b", "a", "a"), DONE])
    play(world)
    assert notes(world) == []


def test_after_five_equal_rounds_the_user_is_asked_and_a_no_ends_the_turn() -> None:
    world = World(rounds("a", "a", "a", "a", "a"), [ApprovalResponse("reject", "use grep")])
    chat = play(world)
    assert len(world.requests) == 5
    assert world.questions[0].question == "Go on? The model made the same calls 5 times in a row."
    assert notes(world)[-1].text.endswith("Reason: use grep")
    assert chat.history.messages[-1] == notes(world)[-1]


def test_a_yes_goes_on_and_counts_again() -> None:
    world = World([*rounds(*("a" * 10)), DONE], ["accept", "accept"])
    play(world)
    assert len(world.requests) == 11
    assert len(world.questions) == 2


@pytest.mark.parametrize("cycle", ["ab", "abc"])
def test_rounds_that_repeat_in_turn_are_noticed_too(cycle: str) -> None:
    world = World(rounds(*cycle * 5), ["reject"])
    play(world)
    assert "5 times in a row" in world.questions[0].question


def test_what_the_user_writes_starts_the_comparison_again() -> None:
    world = World([*rounds(*("a" * 6)), DONE], steering=[(), (), (UserText("go on"),)])
    play(world)
    assert world.questions == []


def test_a_turn_of_very_many_rounds_asks_before_it_goes_on() -> None:
    chat = replace(a_chat(LOOK), max_rounds=4)
    world = World([*rounds("a", "b", "c", "d", "e"), DONE], ["accept"])
    play(world, chat)
    assert [q.question for q in world.questions] == ["Go on? This turn has made 4 requests."]
    assert len(world.requests) == 6


def test_cancelling_the_question_cancels_the_turn() -> None:
    world = World(rounds(*("a" * 5)), ["cancel"])
    play(world)
    assert world.ending.reason == "cancelled"  # type: ignore[attr-defined]


def test_without_anybody_there_the_turn_ends() -> None:
    chat = a_chat(LOOK)
    chat.policy.attended = False
    world = World(rounds(*("a" * 5)))
    play(world, chat)
    assert "No user can be asked" in world.ending.message  # type: ignore[attr-defined]
    assert world.questions == []
