"""Ollama's own protocol: requests as they are sent, lines as they are read."""

from __future__ import annotations

import json
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
from agentchat.core.model import ModelRequest, Notice, Piece, TextDelta
from agentchat.models.api_key import NoKey
from agentchat.models.client import ModelClient
from agentchat.models.protocols.ollama import Ollama, context_size
from agentchat.models.protocols.options import ModelOptions
from tests.models.protocol_server import Answered, Asked, ProtocolServer, lines, refusal, serving
from tests.models.requests import request, tool

ASKED = UserText("look")
CALL = ToolCall("call_1", "read", '{"path": "a"}', "call_1")


def protocol(model: str = "qwen3", **options: Any) -> Ollama:
    return Ollama(model, "ollama", ModelOptions(**options))


def line(content: str = "", **message: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": content, **message}
    return {"model": "qwen3", "created_at": "now", "message": said, "done": False}


def done(reason: str = "stop") -> dict[str, Any]:
    counts = {"prompt_eval_count": 40, "eval_count": 2}
    return {**line(), "done": True, "done_reason": reason, **counts}


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}}


FULL = lines(
    line(thinking="Let me "),
    line(thinking="see."),
    line("I "),
    line("read."),
    line(tool_calls=[call("read", path="a"), call("read", path="a")]),
    done(),
)
INFORMATION = {
    "parameters": 'stop "<|im_end|>"\nnum_ctx                        16384',
    "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40960},
}


def serve(*answers: Answered, information: dict[str, Any] | None = None) -> Any:
    """Answer chats in turn, and what is asked of the model."""
    rest = list(answers)

    def answer(asked: Asked) -> Answered:
        if asked.path.endswith("/api/show"):
            if information is None:
                return refusal(404, "not found")
            return Answered(json.dumps(information).encode(), 200, "application/json")
        return rest.pop(0) if len(rest) > 1 else rest[0]

    return serving(answer)


async def ask(
    server: ProtocolServer, what: ModelRequest | None = None, times: int = 1, **options: Any
) -> tuple[Reply, list[Piece]]:
    client = ModelClient(
        "qwen3",
        f"{server.url}/v1",
        NoKey("KEY"),
        protocol="ollama",
        provider="ollama",
        options=ModelOptions(**options),
    )
    pieces: list[Piece] = []
    for _ in range(times):
        reply = await client.ask(what or request(), pieces.append)
    await client.close()
    return reply, pieces


async def test_lines_become_parts_in_their_order() -> None:
    async with serve(FULL) as server:
        reply, pieces = await ask(server)
        paths = [asked.path for asked in server.asked]
    assert reply == Reply(
        parts=(
            ThinkingPart("Let me see."),
            TextPart("I read."),
            ToolCall("call_1", "read", '{"path": "a"}', "call_1"),
            ToolCall("call_2", "read", '{"path": "a"}', "call_2"),
        ),
        usage=Usage(40, 2, 42),
        model="qwen3",
        provider="ollama",
    )
    assert [p.text for p in pieces if isinstance(p, TextDelta)] == ["I ", "read."]
    assert paths == ["/api/show", "/api/chat"]


async def test_the_length_limit_is_understood() -> None:
    async with serve(lines(line("half"), done("length"))) as server:
        reply, _ = await ask(server)
    assert (reply.text, reply.finish, reply.error) == ("half", "length", None)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (lines(line("so far")), "cut off"),
        (lines(line("so far"), {"error": "out of memory"}), "out of memory"),
        (Answered(b"<html>proxy</html>", 200, "text/html"), "web page"),
        (Answered(b"", 200, "application/json"), "answered with nothing"),
    ],
)
async def test_a_broken_answer_is_an_error(answer: Answered, error: str) -> None:
    async with serve(answer) as server:
        reply, _ = await ask(server)
    assert error in (reply.error or "")


async def test_the_context_is_that_of_the_model_and_is_asked_for_once() -> None:
    async with serve(lines(line("ok"), done()), information=INFORMATION) as server:
        await ask(server, times=2)
        chats = [asked.body for asked in server.asked if asked.path == "/api/chat"]
        shows = [asked.body for asked in server.asked if asked.path == "/api/show"]
    assert [body["options"]["num_ctx"] for body in chats] == [16384, 16384]
    assert shows == [{"model": "qwen3"}]


async def test_the_context_in_the_settings_counts_first() -> None:
    async with serve(lines(line("ok"), done()), information=INFORMATION) as server:
        await ask(server, context=12_000)
        (asked,) = server.asked
    assert asked.body["options"]["num_ctx"] == 12_000


@pytest.mark.parametrize(
    ("parameters", "limit", "size"),
    [
        ("num_ctx 4096", 131072, 8192),
        ("num_ctx 4096", 2048, 2048),
        ("num_ctx 65536", 131072, 65536),
        ("", 131072, 32768),
        ("", 4096, 4096),
        ("", None, 8192),
        ("num_ctx many", "many", 8192),
    ],
)
def test_the_context_is_large_enough_where_the_model_allows(
    parameters: str, limit: object, size: int
) -> None:
    page = {"parameters": parameters, "model_info": {"llama.context_length": limit}}
    assert context_size(page) == size


def test_calls_and_results_go_back_by_name() -> None:
    reply = Reply(
        parts=(ThinkingPart("hm"), TextPart("I read."), CALL), model="qwen3", provider="ollama"
    )
    image = Image("image/png", b"x")
    result = ToolResult("call_1", "read", "text", images=(image,))
    body = protocol().body(request(ASKED, reply, result, tools=(tool("read"),)))
    assert body["messages"][2:] == [
        {
            "role": "assistant",
            "content": "I read.",
            "thinking": "hm",
            "tool_calls": [{"function": {"name": "read", "arguments": {"path": "a"}}}],
        },
        {"role": "tool", "tool_name": "read", "content": "text"},
        {
            "role": "user",
            "content": "Images in the results of read, in order:",
            "images": ["eA=="],
        },
    ]
    assert body["tools"][0]["function"]["name"] == "read"


def test_options_have_their_names_here() -> None:
    body = protocol(effort="high", temperature=0.2, max_tokens=9, params={"keep_alive": "1h"}).body(
        request()
    )
    assert body["think"] is True
    assert body["options"] == {"num_ctx": 8192, "temperature": 0.2, "num_predict": 9}
    assert body["keep_alive"] == "1h"
    assert protocol("gpt-oss:20b", effort="max").body(request())["think"] == "high"
    assert protocol(effort="none").body(request())["think"] is False
    assert "think" not in protocol().body(request())


async def test_a_model_that_does_not_reason_is_asked_without() -> None:
    refused = refusal(400, '"qwen3" does not support thinking')
    async with serve(refused, lines(line("ok"), done())) as server:
        reply, pieces = await ask(server, effort="high")
        chats = [asked.body for asked in server.asked if asked.path == "/api/chat"]
    assert reply.text == "ok"
    assert ["think" in body for body in chats] == [True, False]
    assert any(isinstance(piece, Notice) for piece in pieces)


async def test_a_model_without_tools_is_named() -> None:
    async with serve(refusal(400, "registry/qwen3 does not support tools")) as server:
        reply, _ = await ask(server, request(tools=(tool("read"),)))
    assert "does not support tools" in (reply.error or "")
    assert ":AgentModel" in (reply.error or "")
