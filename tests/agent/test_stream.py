"""How replies are shown while they stream."""

from __future__ import annotations

import pytest

from agentchat.agent.stream import call_title, replay, thinking_title
from agentchat.core.messages import History, Reply
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
