"""The Messages protocol: requests as they are sent, streams as they are read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentchat.core.messages import (
    Image,
    Note,
    Reply,
    Status,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
    Usage,
    UserText,
)
from agentchat.core.model import ModelRequest, Notice, Piece, ReasoningDelta, TextDelta
from agentchat.models.api_key import FixedKey
from agentchat.models.client import ModelClient
from agentchat.models.protocols.anthropic import Anthropic
from agentchat.models.protocols.features import REASONING_REFUSED
from agentchat.models.protocols.options import ModelOptions
from tests.models.protocol_server import ProtocolServer, events, in_turn, refusal, serving
from tests.models.requests import request, tool

MODEL = "claude-opus-4-6"
SIGNED = ThinkingPart("hm", {"anthropic": {"type": "thinking", "signature": "s+/="}})
REDACTED = ThinkingPart("", {"anthropic": {"type": "redacted_thinking", "data": "ZGF0YQ=="}})
CALL = ToolCall("toolu_1", "read", '{"path": "a"}', "toolu_1")
RESULT = ToolResult("toolu_1", "read", "text")
ASKED = UserText("look")
CACHED = {"cache_control": {"type": "ephemeral"}}


def own(*parts: Any, **more: Any) -> Reply:
    return Reply(parts=parts, model=MODEL, provider="anthropic", **more)


def protocol(model: str = MODEL, **options: Any) -> Anthropic:
    return Anthropic(model, "anthropic", ModelOptions(**options))


def sent(*said: Any, **more: Any) -> dict[str, Any]:
    return protocol().body(request(*said, **more))


def start(**usage: int) -> dict[str, Any]:
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 1, **usage},
    }
    return {"type": "message_start", "message": message}


def block(index: int, begin: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": begin},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def stop(reason: str = "end_turn") -> list[dict[str, Any]]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    usage = {"output_tokens": 9}
    return [
        {"type": "message_delta", "delta": delta, "usage": usage},
        {"type": "message_stop"},
    ]


def said(text: str) -> list[dict[str, Any]]:
    pieces = [{"type": "text_delta", "text": word} for word in (text[:2], text[2:])]
    return block(0, {"type": "text", "text": ""}, *pieces)


FULL = [
    start(cache_read_input_tokens=100, cache_creation_input_tokens=20),
    *block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "Let me "},
        {"type": "thinking_delta", "thinking": "see."},
        {"type": "signature_delta", "signature": "abc+/="},
    ),
    {"type": "ping"},
    *block(1, {"type": "redacted_thinking", "data": "ZGF0YQ=="}),
    *block(
        2,
        {"type": "text", "text": ""},
        {"type": "text_delta", "text": "I read "},
        {"type": "text_delta", "text": "two files."},
    ),
    *block(
        3,
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}},
        {"type": "input_json_delta", "partial_json": ""},
        {"type": "input_json_delta", "partial_json": '{"path": '},
        {"type": "input_json_delta", "partial_json": '"a"}'},
    ),
    *block(4, {"type": "tool_use", "id": "toolu_2", "name": "ls", "input": {}}),
    *stop("tool_use"),
]


async def ask(
    server: ProtocolServer, what: ModelRequest | None = None, model: str = MODEL
) -> tuple[Reply, list[Piece]]:
    client = ModelClient(
        model, server.url, FixedKey("k", "KEY"), protocol="anthropic", provider="anthropic"
    )
    pieces: list[Piece] = []
    reply = await client.ask(what or request(), pieces.append)
    await client.close()
    return reply, pieces


async def test_a_stream_becomes_parts_in_their_order() -> None:
    async with serving(in_turn(events(*FULL))) as server:
        reply, pieces = await ask(server)
    assert reply == Reply(
        parts=(
            ThinkingPart("Let me see.", {"anthropic": {"type": "thinking", "signature": "abc+/="}}),
            REDACTED,
            TextPart("I read two files."),
            ToolCall("toolu_1", "read", '{"path": "a"}', "toolu_1"),
            ToolCall("toolu_2", "ls", "{}", "toolu_2"),
        ),
        finish="tool_calls",
        usage=Usage(123, 9, 132, None, 100, 20),
        model=MODEL,
        provider="anthropic",
    )
    assert [p.text for p in pieces if isinstance(p, ReasoningDelta)] == ["Let me ", "see."]
    assert [p.text for p in pieces if isinstance(p, TextDelta)] == ["I read ", "two files."]


async def test_a_call_that_the_server_makes_itself_is_none_of_ours() -> None:
    own = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    searched = block(1, own, {"type": "input_json_delta", "partial_json": '{"query": "x"}'})
    async with serving(in_turn(events(start(), *said("Hi."), *searched, *stop()))) as server:
        reply, _ = await ask(server)
    assert (reply.text, reply.calls) == ("Hi.", ())


async def test_the_key_and_the_version_travel_in_headers() -> None:
    async with serving(in_turn(events(start(), *said("ok"), *stop()))) as server:
        await ask(server)
        (asked,) = server.asked
    assert asked.path == "/v1/messages"
    assert asked.headers["x-api-key"] == "k"
    assert asked.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in asked.headers


async def test_a_whole_message_instead_of_a_stream_is_an_answer() -> None:
    message = {**start()["message"], "content": [{"type": "text", "text": "ok"}]}
    async with serving(in_turn(events({**message, "stop_reason": "end_turn"}))) as server:
        reply, _ = await ask(server)
    assert (reply.text, reply.finish, reply.error) == ("ok", "stop", None)


@pytest.mark.parametrize(
    ("reason", "finish"),
    [("max_tokens", "length"), ("refusal", "content_filter"), ("pause_turn", "stop")],
)
async def test_the_reason_to_stop_is_understood(reason: str, finish: str) -> None:
    async with serving(in_turn(events(start(), *said("ok"), *stop(reason)))) as server:
        reply, _ = await ask(server)
    assert reply.finish == finish


async def test_an_error_in_the_stream_keeps_the_text_and_runs_nothing() -> None:
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    async with serving(in_turn(events(*FULL[:-2], overloaded))) as server:
        reply, _ = await ask(server)
    assert reply.error is not None
    assert "Overloaded" in reply.error
    assert reply.text == "I read two files."
    assert [call.cut_off for call in reply.calls] == [True, True]


async def test_a_cut_stream_keeps_the_text_and_says_so() -> None:
    async with serving(in_turn(events(start(), *said("half")))) as server:
        reply, _ = await ask(server)
    assert reply.text == "half"
    assert reply.error is not None
    assert "cut off" in reply.error


def test_reasoning_goes_back_unchanged_and_in_place() -> None:
    reply = own(SIGNED, TextPart("I read."), REDACTED, CALL)
    assert sent(ASKED, reply, RESULT)["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "s+/="},
        {"type": "text", "text": "I read."},
        {"type": "redacted_thinking", "data": "ZGF0YQ=="},
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a"}},
    ]


@pytest.mark.parametrize(
    "reply",
    [
        Reply(parts=(SIGNED, CALL), model="claude-other", provider="anthropic"),
        Reply(parts=(SIGNED, CALL), model=MODEL, provider="proxy"),
        own(ThinkingPart("hm"), CALL),
        own(ThinkingPart("hm", {"anthropic": {"type": "thinking", "signature": ""}}), CALL),
        own(ThinkingPart("hm", {"anthropic": "corrupt"}), CALL),
        own(SIGNED, CALL, error="cut"),
    ],
    ids=["model", "provider", "unsigned", "blank", "corrupt", "broken"],
)
def test_reasoning_that_would_be_refused_is_left_out(reply: Reply) -> None:
    blocks = sent(ASKED, reply, RESULT)["messages"][1]["content"]
    assert [block["type"] for block in blocks] == ["tool_use"]


def test_reasoning_after_which_nothing_came_is_left_out() -> None:
    messages = sent(ASKED, own(TextPart("a"), SIGNED), UserText("b"))["messages"]
    assert messages[1]["content"] == [{"type": "text", "text": "a"}]
    assert len(sent(ASKED, own(SIGNED), UserText("b"))["messages"]) == 1


def test_messages_of_one_side_are_one_message_and_results_come_first() -> None:
    image = Image("image/png", b"\x89PNG")
    result = ToolResult("toolu_1", "read", "no", Status.ERROR, images=(image,))
    messages = sent(ASKED, Note("n"), own(CALL), result, UserText("go on"))["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    first, second = messages[2]["content"]
    assert (first["type"], first["tool_use_id"], first["is_error"]) == (
        "tool_result",
        "toolu_1",
        True,
    )
    assert [block["type"] for block in first["content"]] == ["image", "text"]
    assert second["text"] == "go on"


def test_ids_of_other_servers_are_made_plain_and_stay_apart() -> None:
    calls = (ToolCall("a|b~2", "read", "{}", "a|b"), ToolCall("a+b~2", "read", "{}", "a|b"))
    results = [ToolResult(call.id, "read", "ok") for call in calls]
    messages = sent(ASKED, Reply(parts=calls), *results)["messages"]
    ids = [block["id"] for block in messages[1]["content"]]
    assert ids == [block["tool_use_id"] for block in messages[2]["content"]]
    assert len(set(ids)) == 2
    assert all(id.replace("_", "").isalnum() for id in ids)


def marks(body: dict[str, Any]) -> list[str]:
    """What is marked for the cache."""
    places = [f"tool {tool['name']}" for tool in body.get("tools", ()) if "cache_control" in tool]
    places += ["system" for block in body.get("system", ()) if "cache_control" in block]
    for index, message in enumerate(body["messages"]):
        blocks = enumerate(message["content"])
        places += [f"{index}.{at}" for at, block in blocks if "cache_control" in block]
    return places


def test_four_places_are_marked_for_the_cache_and_the_reminder_is_none() -> None:
    tools = (tool("ls"), tool("read"))
    first = request(ASKED, tools=tools)
    assert marks(protocol().body(first)) == ["tool read", "system", "0.0"]
    second = request(ASKED, own(SIGNED, CALL), RESULT, UserText("x"), tools=tools, reminder="Now.")
    body = protocol().body(second)
    assert marks(body) == ["tool read", "system", "0.0", "2.1"]
    assert body["messages"][-1]["content"][-1] == {"type": "text", "text": "Now."}


def test_the_model_chooses_how_much_to_reason() -> None:
    body = sent()
    assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert body["max_tokens"] == 32_000
    assert "output_config" not in body
    body = protocol(effort="high", max_tokens=500).body(request())
    assert body["output_config"] == {"effort": "high"}
    assert body["max_tokens"] == 500
    assert "thinking" not in protocol(effort="none").body(request())
    assert protocol(temperature=0.5).body(request())["temperature"] == 0.5


@pytest.mark.parametrize(
    "model", ["claude-3-7-sonnet-latest", "claude-sonnet-4-5-20250929", "claude-opus-4-1", "kimi"]
)
def test_older_models_get_a_budget_where_the_user_wants_reasoning(model: str) -> None:
    assert "thinking" not in protocol(model).body(request())
    body = protocol(model, effort="low").body(request())
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    assert "output_config" not in body


def test_a_forced_choice_is_sent_without_reasoning() -> None:
    body = sent(tools=(tool("resolve"),), forced="resolve")
    assert body["tool_choice"] == {"type": "tool", "name": "resolve"}
    assert "thinking" not in body


def test_a_turn_that_another_model_began_goes_on_without_reasoning() -> None:
    foreign = Reply(calls=(CALL,), model="gpt", provider="openai")
    assert "thinking" not in sent(ASKED, foreign, RESULT)
    assert "thinking" in sent(ASKED, foreign, RESULT, Reply("Done."), UserText("next"))


def test_parameters_of_the_user_are_put_in() -> None:
    body = protocol(params={"top_k": 5, "thinking": {"type": "disabled"}}).body(request())
    assert body["top_k"] == 5
    assert body["thinking"]["type"] == "disabled"


OK = events(start(), *said("ok"), *stop())
HISTORY = request(ASKED, own(SIGNED, CALL), RESULT, tools=(tool("read"),))


async def test_refused_reasoning_is_left_out_and_the_user_is_told() -> None:
    refused = refusal(400, "messages.1.content.0: Invalid `signature` in `thinking` block")
    async with serving(in_turn(refused, OK)) as server:
        reply, pieces = await ask(server, HISTORY)
        bodies = server.bodies
    assert reply.text == "ok"
    assert [p.text for p in pieces if isinstance(p, Notice)] == [REASONING_REFUSED]
    kinds = [[b["type"] for b in body["messages"][1]["content"]] for body in bodies]
    assert kinds == [["thinking", "tool_use"], ["tool_use"]]


async def test_reasoning_after_the_refused_one_is_sent_again() -> None:
    refused = refusal(400, "Invalid `signature` in `thinking` block")
    async with serving(in_turn(refused, OK)) as server:
        client = ModelClient(
            MODEL, server.url, FixedKey("k", "K"), protocol="anthropic", provider="anthropic"
        )
        await client.ask(HISTORY, lambda piece: None)
        later = own(SIGNED, ToolCall("toolu_2", "read", "{}", "toolu_2"))
        more = HISTORY.history.add(later, ToolResult("toolu_2", "read", "x"))
        await client.ask(ModelRequest(system="", history=more), lambda piece: None)
        await client.close()
    messages = server.bodies[-1]["messages"]
    assert [b["type"] for b in messages[1]["content"]] == ["tool_use"]
    assert [b["type"] for b in messages[3]["content"]] == ["thinking", "tool_use"]


async def test_reasoning_that_is_refused_for_ever_ends_in_an_error() -> None:
    async with serving(in_turn(refusal(400, "thinking is broken here"))) as server:
        reply, _ = await ask(server, HISTORY)
    assert reply.error is not None
    assert "thinking is broken here" in reply.error
    assert len(server.bodies) < 6


@pytest.mark.parametrize(
    ("message", "key"),
    [
        ("adaptive thinking is not supported on this model", "thinking"),
        ("thinking.adaptive.display: Extra inputs are not permitted", "display"),
        ("tool_choice: forcing a tool is not supported", "tool_choice"),
        ("cache_control: Extra inputs are not permitted", "cache_control"),
    ],
)
async def test_what_a_server_refuses_is_left_out(message: str, key: str) -> None:
    forced = "read" if key == "tool_choice" else None
    async with serving(in_turn(refusal(400, message), OK)) as server:
        reply, _ = await ask(server, request(ASKED, tools=(tool("read"),), forced=forced))
        first, second = server.bodies
    assert reply.text == "ok"
    assert f'"{key}"' in json.dumps(first)
    assert f'"{key}"' not in json.dumps(second)


async def test_the_limit_of_an_answer_is_learned() -> None:
    refused = refusal(400, "max_tokens: 32000 > 8192, which is the maximum allowed for this model")
    async with serving(in_turn(refused, OK)) as server:
        await ask(server)
    assert [body["max_tokens"] for body in server.bodies] == [32_000, 8192]


async def test_a_model_that_sees_nothing_is_asked_without_images() -> None:
    image = UserText("look", images=(Image("image/png", b"x"),))
    async with serving(in_turn(refusal(400, "image input is not supported"), OK)) as server:
        reply, pieces = await ask(server, request(image))
    assert reply.text == "ok"
    (text,) = server.bodies[1]["messages"][0]["content"]
    assert text["text"] == "look\n\n[1 image left out: this model takes no images.]"
    assert any(isinstance(piece, Notice) for piece in pieces)


async def test_too_long_a_chat_is_recognised() -> None:
    long = refusal(400, "prompt is too long: 210000 tokens > 200000 maximum")
    async with serving(in_turn(long)) as server:
        reply, _ = await ask(server)
    assert reply.error is not None
    assert "The conversation is too long" in reply.error


async def test_a_server_of_another_protocol_is_named() -> None:
    chunk = {"choices": [{"index": 0, "delta": {"content": "hi"}}]}
    async with serving(in_turn(events(chunk))) as server:
        reply, _ = await ask(server)
    assert reply.error is not None
    assert "Set protocol = 'openai-chat'" in reply.error
