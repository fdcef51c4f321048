"""Every protocol against a server that somebody else wrote: what we send is understood there."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from agentchat.core.messages import Message, Reply, ThinkingPart, ToolResult, UserText
from agentchat.core.model import ModelRequest, Piece, RetryDelay, TextDelta
from agentchat.models.api_key import FixedKey
from agentchat.models.client import ModelClient
from agentchat.models.protocols.options import PROTOCOL_NAMES, ProtocolName
from tests.models.requests import request, tool
from tests.support import aimock
from tests.support.aimock import Aimock

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("aimock")]

USAGE = {
    "prompt_tokens": 11,
    "completion_tokens": 7,
    "total_tokens": 18,
    "input_tokens": 11,
    "output_tokens": 7,
    "promptTokenCount": 11,
    "candidatesTokenCount": 7,
    "totalTokenCount": 18,
}
GREETING = "Hello é𝄞, how are you?"
CALLS = [
    {"name": "read", "arguments": json.dumps({"path": "a"})},
    {"name": "grep", "arguments": json.dumps({"pattern": 'é "𝄞"\n', "n": 1.5})},
]
BUSY = {"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429}
FIXTURES: list[dict[str, Any]] = [
    {
        "match": {"userMessage": "hello"},
        "response": {"content": GREETING, "reasoning": "They greet me.", "usage": USAGE},
        "chunkSize": 3,
    },
    {
        "match": {"userMessage": "two files", "hasToolResult": True},
        "response": {"content": "Both were read."},
    },
    {
        "match": {"userMessage": "two files"},
        "response": {"content": "I look.", "toolCalls": CALLS},
        "chunkSize": 3,
    },
    *(
        {"match": {"userMessage": f"busy {protocol}", **first}, "response": response}
        for protocol in PROTOCOL_NAMES
        for first, response in (
            ({"sequenceIndex": 0}, {**BUSY, "retryAfter": 1}),
            ({}, {"content": "Free."}),
        )
    ),
    {
        "match": {"userMessage": "refuse"},
        "response": {"error": {"message": "not this"}, "status": 400},
    },
]
NAMES = {"anthropic": "claude-opus-4-6", "gemini": "gemini-3-pro", "ollama": "qwen3"}
ROOTS = {"gemini": "/v1beta", "ollama": ""}
TOOLS = (tool("read"), tool("grep"))

protocols = pytest.mark.parametrize("protocol", PROTOCOL_NAMES)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aimock]:
    with aimock.serving(FIXTURES, tmp_path_factory.mktemp("aimock")) as server:
        yield server


async def ask(
    server: Aimock, protocol: ProtocolName, asked: ModelRequest
) -> tuple[Reply, list[Piece]]:
    root = server.url + ROOTS.get(protocol, "/v1")
    name, key = NAMES.get(protocol, "gpt-4o"), FixedKey("k", "K")
    model = ModelClient(name, root, key, protocol=protocol, provider=f"{protocol}-server")
    pieces: list[Piece] = []
    try:
        return await model.ask(asked, pieces.append), pieces
    finally:
        await model.close()


@protocols
async def test_its_text_streams_with_reasoning_and_usage(
    server: Aimock, protocol: ProtocolName
) -> None:
    reply, pieces = await ask(server, protocol, request(UserText("hello"), tools=TOOLS))
    assert reply.error is None
    assert reply.text == GREETING
    assert sum(isinstance(piece, TextDelta) for piece in pieces) > 3
    if protocol != "ollama":  # where it sends neither
        assert [p.text for p in reply.parts if isinstance(p, ThinkingPart)] == ["They greet me."]
        assert reply.usage is not None
        assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (11, 7)


@protocols
async def test_it_understands_calls_and_their_results(
    server: Aimock, protocol: ProtocolName
) -> None:
    said: list[Message] = [UserText("two files")]
    reply, _ = await ask(server, protocol, request(*said, tools=TOOLS))
    assert reply.text == "I look."
    made = [(call.name, json.loads(call.arguments)) for call in reply.calls]
    assert made == [(call["name"], json.loads(call["arguments"])) for call in CALLS]
    said += [reply, *(ToolResult(c.id, c.name, f"what {c.name} found") for c in reply.calls)]
    reply, _ = await ask(server, protocol, request(*said, tools=TOOLS))
    assert reply.text == "Both were read."
    understood = server.newest_request()
    assert [offered["function"]["name"] for offered in understood["tools"]] == ["read", "grep"]
    messages = understood["messages"]
    results = [flat(message["content"]) for message in messages if message["role"] == "tool"]
    assert results == ["what read found", "what grep found"]
    own = [message for message in messages if message["role"] == "assistant"]
    assert "".join(message["content"] or "" for message in own) == "I look."
    calls = [call["function"] for message in own for call in message.get("tool_calls") or ()]
    assert [(call["name"], json.loads(call["arguments"])) for call in calls] == made
    roles = [role for role, _ in itertools.groupby(message["role"] for message in messages)]
    assert roles == ["system", "user", "assistant", "tool"]


def flat(content: str) -> str:
    """The text of a result, which Gemini wants in an object."""
    return str(json.loads(content)["output"]) if content.startswith("{") else content


async def test_its_wait_is_obeyed_in_every_protocol(server: Aimock) -> None:
    asking = (ask(server, name, request(UserText(f"busy {name}"))) for name in PROTOCOL_NAMES)
    for reply, pieces in await asyncio.gather(*asking):
        waits = [piece.seconds for piece in pieces if isinstance(piece, RetryDelay)]
        assert (reply.text, waits) == ("Free.", [1.0])


@protocols
async def test_its_refusal_is_shown(server: Aimock, protocol: ProtocolName) -> None:
    reply, _ = await ask(server, protocol, request(UserText("refuse")))
    assert "refused the request (400): not this." in (reply.error or "")
