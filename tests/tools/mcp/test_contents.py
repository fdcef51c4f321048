"""Results of tools, as they are sent to the model."""

from __future__ import annotations

from typing import Any

import mcp_types as types
import pytest

from agentchat.tools.mcp.contents import result_data
from agentchat.tools.mcp.tool import make_output

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
    "awAAAABJRU5ErkJggg=="
)


async def test_each_kind_of_content_reaches_the_model() -> None:
    embedded = types.TextResourceContents(uri="note://one", text="embedded")
    contents: list[types.ContentBlock] = [
        types.TextContent(type="text", text="plain"),
        types.ImageContent(type="image", data=PIXEL, mime_type="image/png"),
        types.AudioContent(type="audio", data="UklGRg==", mime_type="audio/wav"),
        types.EmbeddedResource(type="resource", resource=embedded),
        types.ResourceLink(type="resource_link", name="two", uri="note://two"),
    ]
    output = await make_output(result_data(types.CallToolResult(content=contents)))
    assert output.text == (
        "plain\n[image, image/png, 70 bytes]\n"
        "[audio, audio/wav, 4 bytes: it cannot be shown to you]\n"
        "Resource note://one:\nembedded\n[resource note://two (two)]"
    )
    assert [image.mime for image in output.images] == ["image/png"]


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
