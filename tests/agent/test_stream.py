"""How replies are shown while they stream."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agentchat.agent.stream import call_title, replay, thinking_title
from agentchat.core.messages import History, Message, Reply, ToolResult, UserText
from tests.agent.scene import KeptScreen
from tests.core.turn.world import a_call, a_chat, a_tool


def test_what_a_call_says_for_the_plugin_is_not_in_its_header() -> None:
    arguments = '{"path": "a", "_confidence": 90, "_reverse_thinking": {"verdict": "pro'
    assert call_title(a_tool("deploy"), a_call("1", "deploy", arguments)) == 'deploy path="a"'


@pytest.mark.parametrize(
    ("seconds", "title"),
    [
        (0.2, "thought briefly"),
        (11.6, "thought for 12 s"),
        (59.9, "thought for 1 min 0 s"),
        (125, "thought for 2 min 5 s"),
    ],
)
def test_reasoning_says_how_long_it_took(seconds: float, title: str) -> None:
    assert thinking_title(seconds) == title


async def test_a_resumed_chat_says_how_long_the_model_thought() -> None:
    screen, chat = KeptScreen(), a_chat()
    old = Reply("Hello.", reasoning="From an older journal.")
    history = History((Reply("Hi.", reasoning="Hm.", thinking_seconds=12.3), old))
    await replay(history, screen, chat.toolset)
    assert screen.said == "|(Hm.)<thought for 12 s>Hi.|(From an older journal.)Hello."


def a_turn(number: int, rounds: int, words: str = "I read on.") -> list[Message]:
    """A turn in which ``rounds`` calls are made, every other one with these words."""
    messages: list[Message] = [UserText(f"question {number}")]
    for i in range(rounds):
        call = a_call(f"{number}-{i}", "read")
        messages.append(Reply(words * (i % 2), (call,)))
        messages.append(ToolResult(call.id, "read", "line\n" * 40))
    return [*messages, Reply(f"answer {number}")]


class Parts(KeptScreen):
    """Keeps what each part of the history draws."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[tuple[str, bool]] = []

    async def prepend(self, draw: Callable[[], None], *, continues: bool) -> None:
        self.said = ""
        draw()
        self.parts.append((self.said, continues))


async def test_a_resumed_chat_is_drawn_from_its_end() -> None:
    screen = Parts()
    messages = [message for number in range(9) for message in a_turn(number, 2)]
    await replay(History(tuple(messages)), screen, a_chat().toolset)
    assert "answer 8" in screen.parts[0][0]
    assert "answer 0" in screen.parts[-1][0]
    assert 3 <= len(screen.parts) <= 9
    assert screen.recalled == (*(f"question {number}" for number in range(9)), "question 0")


async def test_a_part_of_a_long_turn_begins_with_words_after_a_call() -> None:
    screen = Parts()
    await replay(History(tuple(a_turn(0, 20))), screen, a_chat().toolset)
    assert [continues for _, continues in screen.parts] == [True] * (len(screen.parts) - 1) + [
        False
    ]
    begun = [said[:11] for said, continues in screen.parts[1:] if continues]
    assert set(begun) == {"|I read on."}


async def test_a_long_turn_without_a_word_is_drawn_in_parts_too() -> None:
    screen = Parts()
    await replay(History(tuple(a_turn(0, 60, words=""))), screen, a_chat().toolset)
    assert len(screen.parts) > 2
