"""How replies are shown while they stream."""

from __future__ import annotations

from agentchat.agent.stream import call_title
from tests.core.turn.world import a_call, a_tool


def test_what_a_call_says_for_the_plugin_is_not_in_its_header() -> None:
    arguments = '{"path": "a", "_confidence": 90, "_reverse_thinking": {"verdict": "pro'
    assert call_title(a_tool("deploy"), a_call("1", "deploy", arguments)) == 'deploy path="a"'
