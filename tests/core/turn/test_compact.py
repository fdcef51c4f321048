"""A conversation that fills the window is shortened, then summarised with the user's consent."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from agentchat.core.context.size import message_tokens, total_tokens
from agentchat.core.messages import Note, Reply, Status, ToolCall, ToolResult, Usage, UserText
from agentchat.core.model import ModelRequest
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.compact import COMPACT
from agentchat.core.turn.effects import (
    ApprovalResponse,
    AskModel,
    Effect,
    RequestApproval,
    Summarize,
)
from agentchat.core.turn.loop import TurnEnd, compact_command, turn
from tests.core.turn.world import Anything, World, a_call, a_chat, a_tool, calls

LOOK = a_tool("look", asks=False)
DONE = Reply("Done.")
WINDOW = 10_000
FULL = Usage(total_tokens=7_900)
SUMMARY = Reply("Goal: fix the cart.")
OVERFLOW = Reply(error="The conversation is too long.", finish="overflow")


def an_old_chat(**about: Any) -> Chat:
    """Return a chat with a round in the past, in a window that it nearly fills."""
    chat = replace(a_chat(LOOK), window=WINDOW, **about)
    chat.history = chat.history.add(
        UserText("fix the cart"),
        calls(
            a_call("c1", "look", '{"path": "cart.py"}'), a_call("c2", "bash", '{"command": "rm"}')
        ),
        ToolResult("c1", "look", "price = 1\n" * 40),
        ToolResult("c2", "bash", "User rejected the bash call. Reason: never rm", Status.REJECTED),
        Reply("Fixed.", usage=FULL),
    )
    return chat


def play(world: World, chat: Chat) -> TurnEnd:
    end: TurnEnd = world.play(turn(chat))
    return end


def sent(world: World, number: int = -1) -> str:
    return "\n".join(getattr(m, "text", "") for m in world.requests[number].history.messages)


def test_a_nearly_full_window_asks_for_a_summary_before_the_next_request() -> None:
    world = World([DONE], ["accept"], summaries=[SUMMARY])
    chat = an_old_chat()
    assert play(world, chat).reason == "stop"
    assert world.questions[0].call.tool is COMPACT
    assert "Goal: fix the cart." in world.questions[0].preview.text  # type: ignore[union-attr]
    first, *rest = world.requests[0].history.messages
    assert isinstance(first, Note)
    assert "Goal: fix the cart." in first.text
    assert rest == [UserText("go")]
    assert [a.compacted["messages"] for a in world.announced if a.compacted] == [5]


def test_the_users_words_and_reasons_stay_word_for_word() -> None:
    world = World([DONE], ["accept"], summaries=[Reply("All was said.")])
    play(world, an_old_chat())
    assert "User rejected the bash call. Reason: never rm" in sent(world)
    assert "fix the cart" in sent(world)
    assert "price = 1" not in sent(world)


def test_the_request_for_the_summary_begins_as_the_others_and_offers_the_same_tools() -> None:
    world = World([DONE], ["accept"], summaries=[SUMMARY])
    chat = an_old_chat()
    before = chat.history.messages
    play(world, chat)
    asked = world.summary_requests[0]
    assert asked.history.messages[:-1] == before
    assert "replaced by a summary" in asked.history.messages[-1].text
    assert asked.tools == world.requests[0].tools
    assert asked.system == world.requests[0].system


def test_an_edited_summary_counts_as_the_user_wrote_it() -> None:
    edited = ApprovalResponse("edit", arguments="My own summary.")
    world = World([DONE], [edited], summaries=[SUMMARY])
    play(world, an_old_chat())
    assert "My own summary." in sent(world)
    assert "Goal: fix" not in sent(world)


def test_an_empty_edit_asks_again() -> None:
    world = World([DONE], [ApprovalResponse("edit", arguments="  "), "accept"], summaries=[SUMMARY])
    play(world, an_old_chat())
    assert "empty" in world.questions[1].problem


def test_a_rejected_summary_changes_nothing_and_is_not_proposed_again_at_once() -> None:
    look = a_call("c9", "look", '{"path": "a"}')
    asked = replace(calls(look), usage=FULL)
    world = World([asked, DONE], ["reject"], summaries=[SUMMARY])
    chat = an_old_chat()
    assert play(world, chat).reason == "stop"
    assert len(world.questions) == 1
    assert world.requests[-1].history == chat.history.__class__(chat.history.messages[:-1])
    assert world.steps == []


def test_auto_asks_nothing_and_off_does_nothing() -> None:
    world = World([DONE], summaries=[SUMMARY])
    play(world, an_old_chat(compact="auto"))
    assert (len(world.steps), world.questions) == (1, [])
    world = World([DONE])
    play(world, an_old_chat(compact="off"))
    assert (world.steps, world.summary_requests) == ([], [])


def test_without_a_known_window_nothing_is_compacted() -> None:
    world = World([DONE])
    play(world, replace(an_old_chat(), window=None))
    assert world.summary_requests == []


@pytest.mark.parametrize(
    "reply", [Reply(error="The server failed."), Reply(""), Reply("  ", finish="stop")]
)
def test_a_summary_that_fails_or_is_empty_is_reported_and_the_turn_goes_on(reply: Reply) -> None:
    world = World([DONE], summaries=[reply])
    chat = an_old_chat()
    assert play(world, chat).reason == "stop"
    assert [a.level for a in world.announced] == ["error"]
    assert "nothing is compacted" in world.announced[0].text
    assert chat.context.steps == ()


def test_old_results_are_shortened_first_and_all_in_one_step() -> None:
    chat = an_old_chat()
    long = [ToolResult(f"d{i}", "look", "x" * 4_000) for i in range(4)]
    looks = calls(*(a_call(f"d{i}", "look") for i in range(4)))
    newest = replace(Reply("I have looked."), usage=Usage(total_tokens=7_000))
    chat.history = chat.history.add(looks, *long, UserText("x" * 8_000), newest)
    world = World([DONE])
    play(world, chat)
    assert len(world.steps) == 1
    assert world.questions == []
    results = [m for m in world.requests[0].history.messages if isinstance(m, ToolResult)]
    assert all(len(r.text) <= 400 for r in results)
    assert results[1].text == "User rejected the bash call. Reason: never rm"
    assert chat.history.messages[6] == long[0]


def test_an_overflow_leads_to_the_question_and_the_turn_goes_on_after_it() -> None:
    world = World([OVERFLOW, DONE], ["accept"], summaries=[SUMMARY])
    chat = replace(an_old_chat(), window=None)
    assert play(world, chat).reason == "stop"
    assert len(world.requests) == 2
    assert "Goal: fix the cart." in sent(world)
    assert OVERFLOW not in chat.history.messages


def test_an_overflow_with_nothing_older_ends_the_turn_with_its_error() -> None:
    world = World([OVERFLOW])
    end = play(world, a_chat(LOOK))
    assert end.reason == "error"
    assert end.message.startswith("The conversation is too long.")
    assert "nothing to compact" in end.message


def test_a_window_smaller_than_the_system_prompt_is_a_clear_error() -> None:
    tool = a_tool("look", asks=False, arguments=Anything(("x" * 5_000,)))
    chat = replace(a_chat(tool), window=512)
    world = World([OVERFLOW])
    end = play(world, chat)
    assert end.reason == "error"
    assert "The context of the model has 512 tokens" in end.message
    assert ":AgentModel" in end.message
    assert [a.level for a in world.announced] == ["error"]


def test_an_overflow_that_is_rejected_ends_the_turn() -> None:
    world = World([OVERFLOW], ["reject"], summaries=[SUMMARY])
    end = play(world, replace(an_old_chat(), window=None))
    assert (end.reason, len(world.requests)) == ("error", 1)


@pytest.mark.parametrize("rounds", [2, 3, 9, 30])
def test_nothing_is_asked_again_that_is_as_long_as_what_was_refused(rounds: int) -> None:
    plain = [
        message
        for number in range(rounds)
        for message in (UserText(f"question {number} " * 40), Reply(f"answer {number} " * 60))
    ]
    chat = replace(a_chat(LOOK), window=None)
    chat.history = chat.history.add(*plain)
    world = World([OVERFLOW, DONE], summaries=[OVERFLOW] * 9)
    play(world, chat)
    refused = total_tokens(world.requests[0].history.messages)
    assert world.summary_requests
    for request in world.summary_requests:
        size = total_tokens(request.history.messages)
        assert size < refused
        refused = size


def test_a_summary_that_is_itself_too_long_is_asked_for_with_less_and_less() -> None:
    world = World([DONE], ["accept"], summaries=[OVERFLOW, SUMMARY])
    play(world, an_old_chat())
    sizes = [len(str(request.history)) for request in world.summary_requests]
    assert len(sizes) == 2
    assert sizes[1] < sizes[0]
    for request in world.summary_requests:
        _check_pairs(request.history.messages)


def test_in_a_long_turn_the_newest_message_and_the_newest_rounds_stay_as_they_are() -> None:
    chat = an_old_chat()
    chat.history = chat.history.add(UserText("now the catalog"))
    for number in range(30):
        call = a_call(f"n{number}", "look", f'{{"path": "{number}"}}')
        chat.history = chat.history.add(calls(call), ToolResult(call.id, "look", "y" * 900))
    chat.history = chat.history.add(Reply("So far.", usage=FULL))
    world = World([DONE], steering=[], summaries=[SUMMARY], answers=["accept"])
    world.steering = [()]
    play(world, chat)
    note, user, *tail = world.requests[0].history.messages
    assert isinstance(note, Note)
    assert user == UserText("now the catalog")
    assert tail == list(chat.history.messages[-len(tail) - 1 : -1])
    assert 2 < len(tail) < 30
    _check_pairs(world.requests[0].history.messages)


def test_a_second_compaction_starts_from_the_first_and_keeps_the_words_of_both() -> None:
    chat = an_old_chat()
    play(World([DONE], ["accept"], summaries=[SUMMARY]), chat)
    chat.history = chat.history.add(replace(Reply("More."), usage=FULL))
    world = World([DONE], ["accept"], summaries=[Reply("Second summary.")])
    play(world, chat)
    assert "Goal: fix the cart." in world.summary_requests[0].history.messages[0].text
    assert "Second summary." in sent(world)
    assert "Goal: fix the cart." not in sent(world)
    assert "never rm" in sent(world)


def test_a_cancelled_question_cancels_the_turn_and_changes_nothing() -> None:
    world = World([DONE], ["cancel"], summaries=[SUMMARY])
    chat = an_old_chat()
    assert play(world, chat).reason == "cancelled"
    assert chat.context.steps == ()


def test_the_command_asks_whatever_the_setting_and_passes_its_focus_on() -> None:
    chat = an_old_chat(compact="off")
    chat.history = chat.history.add(UserText("next"), Reply("Yes."))
    world = World([], ["accept"], summaries=[SUMMARY])
    end = world.play(compact_command(chat, "the API names"))
    assert end == TurnEnd("stop")
    assert "the API names" in world.summary_requests[0].history.messages[-1].text
    assert len(world.steps) == 1


def test_the_command_says_when_there_is_nothing_to_compact() -> None:
    world = World([])
    end = world.play(compact_command(a_chat(LOOK), ""))
    assert "nothing to compact" in end.message


def test_ids_of_summarised_calls_stay_in_use() -> None:
    world = World([DONE], ["accept"], summaries=[SUMMARY])
    play(world, an_old_chat())
    assert world.requests[0].used_ids == {"c1", "c2"}


def test_stopping_while_the_summary_is_written_cancels_the_turn() -> None:
    world = World([DONE], stop_at=lambda effect: isinstance(effect, Summarize))
    assert play(world, an_old_chat()).reason == "cancelled"


def _check_pairs(messages: tuple[Any, ...]) -> None:
    """Check that each call has its result right after its reply, and each result its call."""
    open_calls: list[ToolCall] = []
    for message in messages:
        if isinstance(message, ToolResult):
            assert message.call_id == open_calls.pop(0).id
        else:
            assert open_calls == []
            open_calls = list(message.calls) if isinstance(message, Reply) else []
    assert open_calls == []


class SmallServer(World):
    """A server with a small window, which it enforces; it counts otherwise than the estimate."""

    def begin(self, seed: int, tokens: int, *, counts: bool) -> None:
        self.random = random.Random(seed)
        self.tokens = tokens
        self.counts = counts
        self.calls_left = 0
        self.number = 0
        self.refused = 0

    def perform(self, effect: Effect[Any]) -> Any:
        if isinstance(effect, AskModel):
            return self.answer(effect.request)
        if isinstance(effect, Summarize):
            return self.answer(effect.request, "So far all went well.")
        if isinstance(effect, RequestApproval):
            return ApprovalResponse("accept")
        return super().perform(effect)

    def answer(self, request: ModelRequest, text: str = "") -> Reply:
        _check_pairs(request.history.messages)
        used = sum(map(message_tokens, request.history.messages)) * 4 // 3
        if used > self.tokens:
            self.refused += 1
            return replace(OVERFLOW, error=f"maximum context length is {self.tokens} tokens")
        usage = Usage(total_tokens=used) if self.counts else None
        self.calls_left -= 1
        if text or self.calls_left < 0:
            return Reply(text or "Done.", usage=usage)
        self.number += 1
        call = a_call(f"s{self.number}", "look", f'{{"path": "{self.number}"}}')
        size = self.random.choice([100, 2_000, 9_000, 30_000])
        self.outcomes[call.id] = [ToolResult(call.id, "look", "z" * size)]
        return replace(calls(call), usage=usage)


@pytest.mark.parametrize("counts", [True, False], ids=["counts", "does not count"])
@pytest.mark.parametrize("window", [None, 8_000], ids=["unknown window", "known window"])
@pytest.mark.parametrize("seed", range(5))
def test_a_long_chat_goes_on_whatever_the_server_takes(
    seed: int, window: int | None, counts: bool
) -> None:
    chat = replace(a_chat(LOOK), window=window, compact="auto")
    server = SmallServer([])
    server.begin(seed, 8_000, counts=counts)
    for number in range(12):
        server.calls_left = server.random.randrange(12)
        server.steering = [(UserText(f"request {number}"),)]
        end = play(server, chat)
        assert (end.reason, end.message) == ("stop", "")
    assert len(server.steps) > 2
    if window is not None and counts:
        assert server.refused < server.number / 3
