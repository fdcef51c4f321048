"""Results of tools, as they are sent to the model."""

from __future__ import annotations

from typing import Any

import mcp_types as types
import pytest
from mcp.shared.message import SessionMessage

from agentchat.tools.mcp.contents import drop_invalid_tools, result_data
from agentchat.tools.mcp.stdio import ServerLog
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


def test_a_tool_that_the_sdk_refuses_is_left_out_and_the_others_stay() -> None:
    tools = [{"name": "a", "inputSchema": "x"}, {"name": "b", "inputSchema": {"type": "object"}}]
    answer = types.JSONRPCResponse(jsonrpc="2.0", id=1, result={"tools": [*tools, {"name": "c"}]})
    log = ServerLog()
    drop_invalid_tools(log.note, SessionMessage(answer))
    assert answer.result == {"tools": [tools[1]]}
    assert 'the tool "a" was left out: inputSchema: Input should be' in log.lines[0]
    assert log.lines[1] == 'agentchat: the tool "c" was left out: inputSchema: Field required'


def test_what_a_server_was_given_in_its_environment_is_not_shown_in_its_log() -> None:
    log = ServerLog(("hunter2hunter2", "on"))
    log.add(b"on, key=hunter2hunter2\n")
    assert log.lines == ["on, key=[secret]"]
    assert log.last_error_line == "on, key=[secret]"


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
