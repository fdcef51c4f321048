"""Prompts of servers: their arguments as they are typed."""

from __future__ import annotations

import pytest

from agentchat.core.errors import UserError
from agentchat.tools.mcp.prompts import parse_arguments

PROMPT = {
    "name": "review",
    "arguments": [{"name": "language", "required": True}, {"name": "focus"}],
}


@pytest.mark.parametrize(
    ("typed", "arguments"),
    [
        ("lua", {"language": "lua"}),
        ("lua the error paths", {"language": "lua", "focus": "the error paths"}),
        ("'plain c' names", {"language": "plain c", "focus": "names"}),
        ("focus=speed lua", {"focus": "speed", "language": "lua"}),
        ("it's lua", {"language": "it's", "focus": "lua"}),
    ],
)
def test_arguments_are_typed_in_order_or_by_name(typed: str, arguments: dict[str, str]) -> None:
    assert parse_arguments(PROMPT, typed) == arguments


def test_a_missing_argument_is_named_with_the_form() -> None:
    with pytest.raises(UserError, match=r"^The prompt needs language: <language> \[focus\]$"):
        parse_arguments(PROMPT, "focus=speed")
