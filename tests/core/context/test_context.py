"""What of a history is sent: in generated chats with generated steps, the rules always hold."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest

from agentchat.core.context.context import (
    ChatContext,
    Compaction,
    compact,
    find_cut,
    find_shortening,
    steps_after_undo,
)
from agentchat.core.context.quotes import OMITTED, decision_in, quotes
from agentchat.core.context.shorten import shorten
from agentchat.core.messages import (
    History,
    Image,
    Message,
    Note,
    Reply,
    Status,
    ToolCall,
    ToolResult,
    UserText,
)

DECISIONS = (
    "User rejected the bash call. Reason: use make\nand nothing else",
    "The user changed the arguments before running: {}\nthe output",
    "Applied 1 of 3 hunks in a.py. Rejected: hunk 2 (lines 3-4): keep the name",
    "The user edited the proposed text of a.py:\n-a\n+b",
)


class Generated:
    """A chat that grows by rounds, notes and decisions, and whose context takes steps."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.history = History((UserText("begin"),))
        self.context = ChatContext()
        self.newest = "begin"
        self.decisions: list[str] = []

    def grow(self) -> None:
        chance, number = self.random.random(), len(self.history.messages)
        if chance < 0.15:
            self.newest = f"request {number}" + "!" * self.random.randrange(400)
            self.history = self.history.add(UserText(self.newest))
        elif chance < 0.2:
            self.history = self.history.add(Note(f"note {number}"))
        else:
            self.history = self.history.add(*self.round(number))

    def round(self, number: int) -> Iterator[Message]:
        calls = [ToolCall(f"c{number}.{i}", "read", "{}") for i in range(self.random.randrange(4))]
        yield Reply(f"reply {number}", tuple(calls))
        for call in calls:
            text = "x" * self.random.choice([10, 900, 5_000])
            if self.random.random() < 0.1:
                text = f"{self.random.choice(DECISIONS)} {call.id}"
                self.decisions.append(text)
            rejected = text.startswith("User rejected")
            yield ToolResult(call.id, "read", text, Status.REJECTED if rejected else Status.SUCCESS)

    def step(self, window: int) -> bool:
        messages = self.history.messages
        cut = find_cut(messages, self.context.start, window)
        step = find_shortening(messages, self.context, window)
        if step is not None and self.random.random() < 0.5:
            self.context.add(step, self.history)
        elif cut is not None:
            self.context.add(compact(messages, cut, "Summary.", window=window), self.history)
        return step is not None or cut is not None


@pytest.mark.parametrize("seed", range(40))
def test_in_generated_chats_the_rules_hold_after_each_step(seed: int) -> None:
    chat = Generated(seed)
    steps = 0
    for _ in range(120):
        before = chat.context.view(chat.history).messages
        chat.grow()
        view = chat.context.view(chat.history)
        assert view.messages[: len(before)] == before  # nothing changes between the steps
        if chat.random.random() < 0.15:
            steps += chat.step(chat.random.choice([2_000, 10_000]))
            view = chat.context.view(chat.history)
        check_pairs(view.messages)
        assert UserText(chat.newest) in view.messages
        text = "\n".join(getattr(message, "text", "") for message in view.messages)
        assert [d for d in chat.decisions if d not in text] == []
        restored = ChatContext()
        restored.restore(chat.context.steps, chat.history)
        assert restored.view(chat.history) == view
    assert steps > 2


def check_pairs(messages: Sequence[Message]) -> None:
    """Check that the results of each reply follow it, each once."""
    left: list[str] = []
    for message in messages:
        if isinstance(message, ToolResult):
            assert message.call_id == left.pop(0)
        else:
            assert left == []
            left = [call.id for call in message.calls] if isinstance(message, Reply) else []


def test_a_pending_preview_and_the_approved_plan_stay_word_for_word() -> None:
    details = {"sourceToolName": "plan", "action": "apply"}
    messages: list[Message] = [
        Reply("1. Rename.\n2. Test.", (ToolCall("c1", "resolve", "{}"),)),
        ToolResult("c1", "resolve", "The user approved the plan.", details=details),
        Reply("", (ToolCall("c2", "ast_edit", "{}"), ToolCall("c3", "ast_edit", "{}"))),
        ToolResult("c2", "ast_edit", "Staged as a preview - nothing yet.\n-a\n+b"),
        ToolResult("c3", "ast_edit", "Staged as a preview - nothing yet.\n-c\n+d"),
    ]
    text = "\n".join(map(str, quotes(messages, ["c2"], 1_000)))
    assert "1. Rename.\n2. Test." in text
    assert "-a\n+b" in text
    assert "-c\n+d" not in text


def test_of_many_messages_of_the_user_the_newest_stay_and_the_others_are_counted() -> None:
    messages = [UserText(f"message {number} " + "x" * 400) for number in range(50)]
    found = quotes(messages, (), 1_000)
    assert str(found[0]) == f"<note>\n{OMITTED.format(50 - len(found) + 1)}\n</note>"
    assert "message 49" in str(found[-1])
    assert 5 < len(found) < 12


def test_answers_of_the_user_to_questions_are_their_words() -> None:
    assert decision_in(ToolResult("c", "ask", "Which? Blue")) == "Which? Blue"
    assert decision_in(ToolResult("c", "read", "Discarding: x")) == ""


def test_a_long_result_keeps_its_beginning_and_says_how_to_get_the_rest() -> None:
    image = Image("image/png", b"x")
    short = shorten(ToolResult("c", "read", "a" * 5_000, images=(image,)))
    assert isinstance(short, ToolResult)
    assert short.text.startswith("a" * 200 + "\n[4800 characters of this old result")
    assert "Call read again" in short.text
    assert short.images == ()
    assert shorten(short) == short


def test_an_undo_takes_the_newest_summary_and_all_later_steps_back() -> None:
    first = Compaction(before=4, text="one", summary="one")
    second = Compaction(before=8, text="two", summary="two")
    assert steps_after_undo((first, second)) == (first,)
    assert steps_after_undo((first,)) == ()
    assert steps_after_undo(()) == ()


def test_steps_beyond_a_shorter_history_are_left_out() -> None:
    context = ChatContext()
    history = History((UserText("a"), Reply("b"), UserText("c")))
    context.restore((Compaction(before=9, text="x", summary="x"),), history)
    assert context.view(history) == history
