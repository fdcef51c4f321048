"""Results of tools, as they are sent to the model."""

from __future__ import annotations

from typing import Any

import mcp_types as types
import pytest

from agentchat.tools.mcp.contents import result_data


def texts(structured: Any, *texts: str) -> list[str]:
    result = types.CallToolResult(
        content=[types.TextContent(type="text", text=text) for text in texts],
        structured_content=structured,
    )
    return [part["text"] for part in result_data(result)["parts"]]


@pytest.mark.parametrize(
    ("structured", "shown"),
    [
        ({"a": 1, "b": [2]}, ['{ "b": [2],\n "a": 1 }']),
        ({"result": 5}, ["5"]),
        ({"result": "plain"}, ["plain"]),
        ({"result": ["one", "two"]}, ["one", "two"]),
        ({"result": [{"n": 1}, {"n": 2}]}, ['{"n": 1}', '{"n": 2}']),
        ({"content": "of a\nfile"}, ["of a\nfile"]),
        ({"content": "of a\nfile"}, ["of a", "file"]),
        ({"content": {"n": 1}}, ['{"n": 1}']),
    ],
)
def test_structured_content_that_repeats_the_text_is_left_out(
    structured: Any, shown: list[str]
) -> None:
    assert texts(structured, *shown) == shown


@pytest.mark.parametrize(
    ("structured", "shown"),
    [
        ({"celsius": 22}, ["It is warm."]),
        ({"celsius": 22, "wind": 3}, ["22"]),
        ({"celsius": [22]}, []),
        ({"celsius": []}, []),
    ],
)
def test_structured_content_that_says_more_is_sent(structured: Any, shown: list[str]) -> None:
    *parts, last = texts(structured, *shown)
    assert parts == shown
    assert "celsius" in last
