"""The Responses protocol: requests as they are sent, streams as they are read."""

from __future__ import annotations

from typing import Any

import pytest

from agentchat.core.messages import (
    Image,
    Reply,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
    Usage,
    UserText,
)
from agentchat.core.model import ModelRequest, Notice, Piece, ReasoningDelta
from agentchat.models.api_key import FixedKey
from agentchat.models.client import ModelClient
from agentchat.models.learned import LearnedServers
from agentchat.models.protocols.features import REASONING_REFUSED
from agentchat.models.protocols.openai_responses import OpenAIResponses
from agentchat.models.protocols.options import ModelOptions
from tests.models.protocol_server import ProtocolServer, events, in_turn, refusal, serving
from tests.models.requests import request, tool

NAME = "openai-responses"
REASONING: dict[str, Any] = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [],
    "encrypted_content": "gAAAA+/=",
    "status": None,
}
CALL_ITEM = {
    "id": "fc_1",
    "type": "function_call",
    "status": "completed",
    "call_id": "call_1",
    "name": "read",
    "arguments": '{"path": "a"}',
}
MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed"}
CONTENT = [{"type": "output_text", "text": "I read.", "annotations": []}]
THOUGHT = ThinkingPart("", {NAME: {"item": REASONING}})
TEXT = TextPart("I read.", {NAME: {"item": {**MESSAGE, "phase": "commentary"}}})
CALL = ToolCall(
    "call_1",
    "read",
    '{"path": "a"}',
    "call_1",
    opaque={NAME: {"item": {"id": "fc_1", "status": "completed"}}},
)
RESULT = ToolResult("call_1", "read", "text")
ASKED = UserText("look")
HISTORY = request(
    ASKED,
    Reply(parts=(THOUGHT, TEXT, CALL), model="gpt", provider="openai"),
    RESULT,
    tools=(tool("read"),),
)


def protocol(**options: Any) -> OpenAIResponses:
    return OpenAIResponses("gpt", "openai", ModelOptions(**options))


def item(index: int, whole: dict[str, Any], begin: dict[str, Any], *deltas: Any) -> list[Any]:
    """The events of one item; deltas are pairs of kind and text."""
    shared = {"output_index": index, "item_id": whole["id"]}
    return [
        {"type": "response.output_item.added", "output_index": index, "item": {**whole, **begin}},
        *({"type": f"response.{kind}", "delta": text, **shared} for kind, text in deltas),
        {"type": "response.output_item.done", "output_index": index, "item": whole},
    ]


def completed(*output: dict[str, Any], **more: Any) -> dict[str, Any]:
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 80},
        "output_tokens": 5,
        "total_tokens": 105,
    }
    response = {"id": "resp_1", "object": "response", "output": list(output), "usage": usage}
    kind = more.get("status", "completed")
    return {"type": f"response.{kind}", "response": {"status": kind, **response, **more}}


SUMMED = {**REASONING, "summary": [{"type": "summary_text", "text": "Look first."}]}
SPOKEN = {**MESSAGE, "content": CONTENT}
FULL = [
    {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress"}},
    *item(0, SUMMED, {"summary": []}, ("reasoning_summary_text.delta", "Look first.")),
    *item(
        1,
        SPOKEN,
        {"content": [], "status": "in_progress"},
        ("output_text.delta", "I "),
        ("output_text.delta", "read."),
    ),
    *item(
        2,
        CALL_ITEM,
        {"arguments": "", "status": "in_progress"},
        ("function_call_arguments.delta", '{"path"'),
        ("function_call_arguments.delta", ': "a"}'),
    ),
    *item(3, {**CALL_ITEM, "id": "fc_2", "call_id": "call_2"}, {"arguments": ""}),
    completed(SUMMED, SPOKEN, CALL_ITEM, {**CALL_ITEM, "id": "fc_2", "call_id": "call_2"}),
]
PARTS = (
    ThinkingPart("Look first.", {NAME: {"item": SUMMED}}),
    TextPart("I read.", {NAME: {"item": MESSAGE}}),
    CALL,
    ToolCall(
        "call_2",
        "read",
        '{"path": "a"}',
        "call_2",
        opaque={NAME: {"item": {"id": "fc_2", "status": "completed"}}},
    ),
)


async def ask(
    server: ProtocolServer, what: ModelRequest | None = None, **more: Any
) -> tuple[Reply, list[Piece]]:
    more.setdefault("protocol", NAME)
    key = FixedKey("k", "KEY")
    client = ModelClient("gpt", f"{server.url}/v1", key, provider="openai", **more)
    pieces: list[Piece] = []
    reply = await client.ask(what or request(), pieces.append)
    await client.close()
    return reply, pieces


async def test_a_stream_becomes_parts_in_their_order() -> None:
    async with serving(in_turn(events(*FULL))) as server:
        reply, pieces = await ask(server)
        (asked,) = server.asked
    assert reply == Reply(
        parts=PARTS,
        finish="tool_calls",
        usage=Usage(100, 5, 105, None, 80),
        model="gpt",
        provider="openai",
    )
    assert [p.text for p in pieces if isinstance(p, ReasoningDelta)] == ["Look first."]
    assert asked.path == "/v1/responses"
    assert asked.headers["authorization"] == "Bearer k"


async def test_a_server_that_sends_no_indexes_is_understood() -> None:
    bare = [{k: v for k, v in event.items() if k != "output_index"} for event in FULL]
    async with serving(in_turn(events(*bare))) as server:
        reply, _ = await ask(server)
    assert reply.parts == PARTS


async def test_a_response_without_pieces_is_read_from_its_end() -> None:
    async with serving(in_turn(events(FULL[-1]))) as server:
        reply, _ = await ask(server)
    assert reply.parts == PARTS


async def test_a_whole_response_instead_of_a_stream_is_an_answer() -> None:
    async with serving(in_turn(events(FULL[-1]["response"]))) as server:
        reply, _ = await ask(server)
    assert reply.parts == PARTS


async def test_a_failed_response_is_an_error() -> None:
    failed = completed(status="failed", error={"code": "server_error", "message": "Out of luck"})
    async with serving(in_turn(events(*FULL[:-1], failed))) as server:
        reply, _ = await ask(server)
    assert reply.error is not None
    assert "Out of luck" in reply.error
    assert [call.cut_off for call in reply.calls] == [True, True]


@pytest.mark.parametrize(
    ("why", "finish"), [("max_output_tokens", "length"), ("content_filter", "content_filter")]
)
async def test_an_incomplete_response_says_why(why: str, finish: str) -> None:
    end = completed(status="incomplete", incomplete_details={"reason": why})
    async with serving(in_turn(events(*FULL[:8], end))) as server:
        reply, _ = await ask(server)
    assert (reply.text, reply.finish) == ("I read.", finish)


async def test_a_cut_stream_is_an_error_and_its_calls_do_not_run() -> None:
    async with serving(in_turn(events(*FULL[:-1]))) as server:
        reply, _ = await ask(server)
    assert reply.error is not None
    assert [call.cut_off for call in reply.calls] == [True, True]


def test_items_go_back_as_they_came_and_nothing_is_stored() -> None:
    body = protocol().body(HISTORY)
    assert body["input"] == [
        {"role": "user", "content": "look"},
        REASONING,
        {**MESSAGE, "phase": "commentary", "content": CONTENT},
        CALL_ITEM,
        {"type": "function_call_output", "call_id": "call_1", "output": "text"},
    ]
    assert body["store"] is False
    assert body["include"] == ["reasoning.encrypted_content"]
    assert body["instructions"] == "Be brief."


@pytest.mark.parametrize(("model", "provider"), [("gpt-other", "openai"), ("gpt", "azure")])
def test_items_of_others_are_sent_without_what_only_they_can_read(
    model: str, provider: str
) -> None:
    reply = Reply(parts=(THOUGHT, TEXT, CALL), model=model, provider=provider)
    items = protocol().body(request(ASKED, reply, RESULT))["input"]
    assert items[1] == {"role": "assistant", "content": "I read."}
    plain = {key: CALL_ITEM[key] for key in ("type", "call_id", "name", "arguments")}
    assert items[2] == plain
    assert len(items) == 4


def test_the_chat_is_the_key_of_the_cache() -> None:
    asked = ModelRequest(system="", history=HISTORY.history, chat="uuid-1")
    assert protocol().body(asked)["prompt_cache_key"] == "uuid-1"


def test_options_have_their_names_here() -> None:
    body = protocol(effort="low", temperature=0.2, max_tokens=9, params={"top_p": 0.5}).body(
        request(ASKED, tools=(tool("read"),), forced="read")
    )
    assert body["reasoning"] == {"effort": "low", "summary": "auto"}
    assert (body["temperature"], body["max_output_tokens"], body["top_p"]) == (0.2, 9, 0.5)
    assert body["tool_choice"] == {"type": "function", "name": "read"}
    assert body["tools"][0]["parameters"] == {"type": "object", "properties": {}}


def test_images_are_part_of_the_message_or_the_result() -> None:
    image = Image("image/png", b"x")
    result = ToolResult("call_1", "read", "", images=(image,))
    asked = request(UserText("see", images=(image,)), HISTORY.history.messages[1], result)
    items = protocol().body(asked)["input"]
    url = {"type": "input_image", "image_url": "data:image/png;base64,eA==", "detail": "auto"}
    assert items[0]["content"] == [{"type": "input_text", "text": "see"}, url]
    assert items[-1]["output"] == [url]


OK = events(*item(0, SPOKEN, {"content": []}), completed(SPOKEN))


async def test_a_model_that_refuses_encrypted_content_is_asked_without_from_then_on() -> None:
    refused = refusal(400, "Encrypted content is not supported with this model.")
    async with serving(in_turn(refused, OK)) as server:
        reply, pieces = await ask(server, HISTORY)
        first, second = server.bodies
    assert reply.text == "I read."
    assert "include" in first
    assert "include" not in second
    assert all(item.get("type") != "reasoning" for item in second["input"])
    assert not [piece for piece in pieces if isinstance(piece, Notice)]


async def test_reasoning_that_cannot_be_verified_is_left_out_and_the_user_is_told() -> None:
    refused = refusal(400, "The encrypted content gAAAA could not be verified.")
    async with serving(in_turn(refused, OK)) as server:
        reply, pieces = await ask(server, HISTORY)
        second = server.bodies[1]
    assert reply.text == "I read."
    assert [p.text for p in pieces if isinstance(p, Notice)] == [REASONING_REFUSED]
    assert all(item.get("type") != "reasoning" for item in second["input"])
    assert "include" in second


@pytest.mark.parametrize(
    ("message", "key"),
    [
        ("Your organization must be verified to generate reasoning summaries.", "summary"),
        ("Unsupported parameter: 'reasoning.effort' is not supported with this model.", "effort"),
        ("Unsupported parameter: 'temperature'", "temperature"),
    ],
)
async def test_what_a_model_refuses_is_left_out(message: str, key: str) -> None:
    options = ModelOptions(effort="low", temperature=0.1)
    async with serving(in_turn(refusal(400, message), OK)) as server:
        reply, _ = await ask(server, options=options)
        first, second = server.bodies
    assert reply.text == "I read."
    assert f"'{key}'" in str(first)
    assert f"'{key}'" not in str(second)


async def test_a_chat_server_that_names_responses_is_asked_there_from_then_on() -> None:
    message = (
        "Function tools are not supported for this model in /v1/chat/completions. "
        "Please use /v1/responses instead."
    )
    servers = LearnedServers()
    async with serving(in_turn(refusal(400, message), OK)) as server:
        key = FixedKey("k", "KEY")
        memory = servers.of(server.url, "gpt")
        client = ModelClient("gpt", f"{server.url}/v1", key, memory=memory)
        first = await client.ask(request(), lambda piece: None)
        second = await client.ask(request(), lambda piece: None)
        await client.close()
    assert (first.text, second.text) == ("I read.", "I read.")
    assert [asked.path for asked in server.asked] == [
        "/v1/chat/completions",
        "/v1/responses",
        "/v1/responses",
    ]
    assert memory.protocol == "openai-responses"
