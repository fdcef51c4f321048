"""The settings that Lua sends."""

from __future__ import annotations

from agentchat.app.settings import parse_groups


def test_the_users_groups_join_and_replace_the_built_in_ones() -> None:
    groups = {g.name: g for g in parse_groups({"files": {"tools": ["read"]}, "x": {}})}
    assert groups["files"].tools == ("read",)
    assert groups["x"].tools == ()
    assert "bash" in groups["agent"].tools
