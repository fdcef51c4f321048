"""The generateContent protocol: requests as they are sent, streams as they are read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentchat.core.messages import (
    Image,
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
from agentchat.models.protocols.conversation import SKIP_SIGNATURE
from agentchat.models.protocols.features import REASONING_REFUSED
from agentchat.models.protocols.gemini import Gemini
from agentchat.models.protocols.options import ModelOptions
from tests.models.protocol_server import Answered, ProtocolServer, events, in_turn, refusal, serving
from tests.models.requests import request, tool

MODEL = "gemini-3-pro"
ASKED = UserText("look")


def signed(value: str, **more: Any) -> dict[str, Any]:
    return {"gemini": {"thoughtSignature": value, **more}}


FIRST = ToolCall("c1", "read", '{"path": "a"}', "c1", opaque=signed("sig-1+/=", id="c1"))
SECOND = ToolCall("c2", "ls", "{}", "c2")
ANSWERS = (ToolResult("c1", "read", "text"), ToolResult("c2", "ls", "no", Status.ERROR))


def own(*parts: Any) -> Reply:
    return Reply(parts=parts, model=MODEL, provider="gemini")


def protocol(model: str = MODEL, **options: Any) -> Gemini:
    return Gemini(model, "gemini", ModelOptions(**options))


def contents(*said: Any, **more: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = protocol().body(request(*said, **more))["contents"]
    return found


def event(*parts: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": list(parts)}}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": MODEL, **more}


USAGE = {
    "promptTokenCount": 100,
    "candidatesTokenCount": 5,
    "thoughtsTokenCount": 7,
    "totalTokenCount": 112,
    "cachedContentTokenCount": 60,
}
FULL = [
    event({"text": "Let me ", "thought": True}),
    event({"text": "see.", "thought": True}),
    event({"text": "I "}),
    event({"text": "read."}),
    event({"text": " Now.", "thoughtSignature": "sig-0"}),
    event(
        {
            "functionCall": {"id": "c1", "name": "read", "args": {"path": "a"}},
            "thoughtSignature": "sig-1+/=",
        },
        {"functionCall": {"name": "ls", "args": {}}},
    ),
    event({"text": ""}, finish="STOP", usageMetadata=USAGE),
]


async def ask(
    server: ProtocolServer, what: ModelRequest | None = None
) -> tuple[Reply, list[Piece]]:
    client = ModelClient(
        MODEL, server.url, FixedKey("k", "KEY"), protocol="gemini", provider="gemini"
    )
    pieces: list[Piece] = []
    reply = await client.ask(what or request(), pieces.append)
    await client.close()
    return reply, pieces


async def test_a_stream_becomes_parts_in_their_order() -> None:
    async with serving(in_turn(events(*FULL))) as server:
        reply, pieces = await ask(server)
        (asked,) = server.asked
    assert reply == Reply(
        parts=(
            ThinkingPart("Let me see."),
            TextPart("I read."),
            TextPart(" Now.", signed("sig-0")),
            FIRST,
            ToolCall("call_2", "ls", "{}", "call_2"),
        ),
        finish="stop",
        usage=Usage(100, 12, 112, None, 60),
        model=MODEL,
        provider="gemini",
    )
    assert "".join(p.text for p in pieces if isinstance(p, ReasoningDelta)) == "Let me see."
    assert "".join(p.text for p in pieces if isinstance(p, TextDelta)) == "I read. Now."
    assert asked.path == f"/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"
    assert asked.headers["x-goog-api-key"] == "k"
    assert "authorization" not in asked.headers


async def test_a_list_of_events_is_the_answer_that_their_stream_is() -> None:
    listed = Answered(json.dumps(FULL).encode(), 200, "application/json")
    async with serving(in_turn(events(*FULL), listed)) as server:
        streamed, _ = await ask(server)
        assert (await ask(server))[0] == streamed


@pytest.mark.parametrize(
    ("last", "finish", "error"),
    [
        (event(finish="MAX_TOKENS"), "length", ""),
        (event(finish="SAFETY"), "content_filter", "content filter"),
        ({"promptFeedback": {"blockReason": "OTHER"}}, "content_filter", "content filter"),
        (event(finish="MALFORMED_FUNCTION_CALL"), "unknown", "MALFORMED_FUNCTION_CALL"),
        ({"error": {"code": 503, "message": "overloaded"}}, "unknown", "overloaded"),
    ],
)
async def test_the_end_of_a_stream_is_understood(
    last: dict[str, Any], finish: str, error: str
) -> None:
    async with serving(in_turn(events(event({"text": "so far"}), last))) as server:
        reply, _ = await ask(server)
    assert (reply.text, reply.finish) == ("so far", finish)
    assert error in (reply.error or "")
    assert bool(reply.error) == bool(error)


async def test_a_cut_stream_is_an_error_and_its_calls_do_not_run() -> None:
    async with serving(in_turn(events(*FULL[:-1]))) as server:
        reply, _ = await ask(server)
    assert "cut off" in (reply.error or "")
    assert [call.cut_off for call in reply.calls] == [True, True]


def test_signatures_go_back_on_the_part_that_they_came_with() -> None:
    reply = own(ThinkingPart("hm"), TextPart("I read.", signed("sig-0")), FIRST, SECOND)
    _, model, user = contents(ASKED, reply, *ANSWERS)
    assert model == {
        "role": "model",
        "parts": [
            {"text": "I read.", "thoughtSignature": "sig-0"},
            {
                "functionCall": {"id": "c1", "name": "read", "args": {"path": "a"}},
                "thoughtSignature": "sig-1+/=",
            },
            {"functionCall": {"name": "ls", "args": {}}},
        ],
    }
    assert user == {
        "role": "user",
        "parts": [
            {"functionResponse": {"id": "c1", "name": "read", "response": {"output": "text"}}},
            {"functionResponse": {"name": "ls", "response": {"error": "no"}}},
        ],
    }


@pytest.mark.parametrize(
    "reply",
    [
        Reply(parts=(FIRST, SECOND), model="gemini-2.5-pro", provider="gemini"),
        Reply(parts=(FIRST, SECOND), model=MODEL, provider="openai"),
        Reply(parts=(FIRST, SECOND), model=MODEL, provider="gemini", error="cut"),
    ],
    ids=["model", "provider", "broken"],
)
def test_the_first_call_of_another_server_has_the_word_that_skips_the_check(reply: Reply) -> None:
    parts = contents(ASKED, reply, *ANSWERS)[1]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == [SKIP_SIGNATURE, None]


def test_images_are_sent_as_data() -> None:
    image = Image("image/png", b"x")
    result = ToolResult("c1", "read", "", images=(image,))
    said = contents(UserText("see", images=(image,)), own(FIRST), result)
    data = {"inlineData": {"mimeType": "image/png", "data": "eA=="}}
    assert said[0]["parts"] == [{"text": "see"}, data]
    assert said[3]["parts"][1] == data


def test_options_have_their_names_here() -> None:
    asked = request(ASKED, tools=(tool("read"),), forced="read", reminder="Now.")
    options = {"topK": 3}
    body = protocol(
        effort="low", temperature=0.2, max_tokens=9, params={"generationConfig": options}
    ).body(asked)
    assert body["generationConfig"] == {
        "temperature": 0.2,
        "maxOutputTokens": 9,
        "thinkingConfig": {"includeThoughts": True, "thinkingLevel": "low"},
        "topK": 3,
    }
    choice = {"mode": "ANY", "allowedFunctionNames": ["read"]}
    assert body["toolConfig"] == {"functionCallingConfig": choice}
    assert body["tools"][0]["functionDeclarations"][0]["name"] == "read"
    assert body["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert body["contents"][-1] == {"role": "user", "parts": [{"text": "Now."}]}
    older = protocol("gemini-2.5-flash", effort="low").body(request())
    assert older["generationConfig"]["thinkingConfig"]["thinkingBudget"] == 1024


@pytest.mark.parametrize(
    ("model", "effort", "sent"),
    [
        ("gemini-2.5-flash", "none", 0),
        ("gemini-2.5-pro", "none", 128),
        ("gemini-2.5-pro", "max", 24_576),
        ("gemini-3-flash", "none", "minimal"),
        ("gemini-3-pro", "minimal", "low"),
        ("gemini-3-pro", "xhigh", "high"),
    ],
)
def test_the_effort_is_one_that_the_model_takes(model: str, effort: Any, sent: Any) -> None:
    thinking = protocol(model, effort=effort).body(request())["generationConfig"]["thinkingConfig"]
    key = "thinkingLevel" if isinstance(sent, str) else "thinkingBudget"
    assert thinking == {"includeThoughts": True, key: sent}


OK = events(event({"text": "ok"}, finish="STOP", usageMetadata=USAGE))


async def test_a_refused_signature_is_left_out_and_the_user_is_told() -> None:
    refused = refusal(400, "Corrupted thought signature.", status="INVALID_ARGUMENT")
    async with serving(in_turn(refused, OK)) as server:
        reply, pieces = await ask(server, request(ASKED, own(FIRST, SECOND), *ANSWERS))
        first, second = server.bodies
    assert reply.text == "ok"
    assert [p.text for p in pieces if isinstance(p, Notice)] == [REASONING_REFUSED]
    assert "sig-1" in json.dumps(first)
    assert "sig-1" not in json.dumps(second)
    assert SKIP_SIGNATURE in json.dumps(second)


async def test_a_model_that_has_no_thoughts_is_asked_without() -> None:
    refused = refusal(400, "Thinking is not enabled for this model.")
    async with serving(in_turn(refused, OK)) as server:
        reply, _ = await ask(server)
    assert reply.text == "ok"
    assert "generationConfig" not in server.bodies[1]


async def test_an_error_in_a_list_is_read() -> None:
    message = "The input token count (9) exceeds the maximum number of tokens allowed (8)."
    body = json.dumps([{"error": {"code": 400, "message": message}}]).encode()
    async with serving(in_turn(Answered(body, 400, "application/json"))) as server:
        reply, _ = await ask(server)
    assert "The conversation is too long" in (reply.error or "")


async def test_an_unknown_model_is_answered_with_those_there_are() -> None:
    names = json.dumps({"models": [{"name": "models/gemini-x"}]}).encode()
    missing = refusal(404, "models/gemini-3-pro is not found")
    async with serving(in_turn(missing, Answered(names, 200, "application/json"))) as server:
        reply, _ = await ask(server)
    assert "It has: gemini-x." in (reply.error or "")
