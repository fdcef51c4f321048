"""The official clients as judges: they take every body, and read every stream as we do.

They take seconds to load, so each is imported where it is used.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from agentchat.core.messages import (
    Image,
    Note,
    Reply,
    ReplyPart,
    Status,
    TextPart,
    ThinkingPart,
    ToolCall,
    ToolResult,
    UserText,
)
from agentchat.core.model import ModelRequest
from agentchat.models.api_key import FixedKey
from agentchat.models.client import ModelClient
from agentchat.models.protocols import protocol_class
from agentchat.models.protocols.options import ModelOptions, ProtocolName
from agentchat.models.protocols.protocol import Body
from tests.models import test_anthropic, test_gemini, test_openai_responses
from tests.models.protocol_server import Answered, ProtocolServer, events, in_turn, serving
from tests.models.requests import request, tool
from tests.models.typed_dicts import problems

pytestmark = pytest.mark.slow

PNG = Image("image/png", b"\x89PNG")
OPTIONS = ModelOptions(effort="high", temperature=0.5, max_tokens=20_000)
MODELS: dict[ProtocolName, str] = {
    "openai-chat": "gpt-4.1",
    "openai-responses": "gpt-5",
    "anthropic": "claude-opus-4-6",
}


def declared(protocol: ProtocolName) -> Any:
    """What the client declares for a streaming request."""
    if protocol == "anthropic":
        from anthropic.types.message_create_params import MessageCreateParamsStreaming

        return MessageCreateParamsStreaming
    if protocol == "openai-chat":
        from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

        return CompletionCreateParamsStreaming
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

    return ResponseCreateParamsStreaming


def vendor(protocol: str) -> list[ReplyPart]:
    """The parts of a reply with what its server sent along."""
    if protocol == "anthropic":
        return [test_anthropic.SIGNED, test_anthropic.REDACTED]
    if protocol == "openai-responses":
        item = {**test_openai_responses.SUMMED, "status": "completed"}
        return [ThinkingPart("Look.", {protocol: {"item": item}}), test_openai_responses.TEXT]
    if protocol == "gemini":
        return [TextPart("I read.", test_gemini.signed("c2ln"))]
    return [TextPart("I read.")]


def requests(protocol: ProtocolName, model: str) -> list[ModelRequest]:
    """Requests with all that a chat may hold."""
    calls = (
        ToolCall("a", "read", '{"path": "x"}', "a"),
        ToolCall("b|~2", "re ad", "no JSON", "b|", cut_off=True),
    )
    results = (
        ToolResult("a", "read", "", images=(PNG,)),
        ToolResult("b|~2", "re ad", "no", Status.ERROR),
    )
    own = Reply(parts=(*vendor(protocol), *calls), model=model, provider="p")
    foreign = Reply(parts=(ThinkingPart("hm"), *calls), model="else", provider="q")
    tools = (tool("read"), tool("resolve", dry_run=True))
    user = UserText("look", images=(PNG,))
    return [
        request(),
        request(user, Note("meanwhile"), own, *results, UserText("go on"), tools=tools),
        request(user, foreign, *results, tools=tools, forced="resolve", reminder="Now."),
        request(user, Reply("half", error="cut"), user, own, *results, tools=tools),
    ]


def bodies(protocol: ProtocolName, model: str) -> list[Body]:
    options = (ModelOptions(), OPTIONS)
    if protocol == "anthropic":  # the newest models take no temperature, nor does the client
        options = (ModelOptions(), replace(OPTIONS, temperature=None))
    return [
        protocol_class(protocol)(model, "p", option).body(asked)
        for option in options
        for asked in requests(protocol, model)
    ]


def misfits(protocol: ProtocolName, body: Body) -> list[str]:
    """Return what of a body the official client does not take, a line each."""
    if protocol != "gemini":
        return problems(body, declared(protocol))
    from google.genai import types as google

    known = {"contents", "tools", "toolConfig", "generationConfig", "systemInstruction"}
    try:
        for content in body["contents"]:
            google.Content.model_validate(content)
        for offered in body.get("tools", ()):
            google.Tool.model_validate(offered)
        google.ToolConfig.model_validate(body.get("toolConfig", {}))
        google.GenerationConfig.model_validate(body["generationConfig"])
    except ValueError as error:
        return [str(error)]
    return sorted(set(body) - known)


@pytest.mark.parametrize("protocol", [*MODELS, "gemini"])
def test_the_official_client_takes_all_that_a_body_holds(protocol: ProtocolName) -> None:
    for body in bodies(protocol, MODELS.get(protocol, "gemini-3-pro")):
        assert misfits(protocol, body) == []


# --- streams --------------------------------------------------------------------------------


def numbered(stream: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events of a response with the fields that the client needs."""
    found: list[dict[str, Any]] = []
    for event in stream:
        if event["type"] == "response.output_text.delta" and found[-1]["type"].endswith("added"):
            empty = {"type": "output_text", "text": "", "annotations": []}
            added = {**event, "type": "response.content_part.added", "part": empty}
            found.append({**added, "content_index": 0})
        found.append({"content_index": 0, "summary_index": 0, "logprobs": [], **event})
    return [{**event, "sequence_number": number} for number, event in enumerate(found)]


def described(reply: Reply) -> list[Any]:
    """The parts of a reply in the form in which the clients are compared."""
    kinds = {TextPart: "text", ThinkingPart: "thinking"}
    return [
        ("call", part.provider_id, part.name, json.loads(part.arguments))
        if isinstance(part, ToolCall)
        else (kinds[type(part)], part.text)
        for part in reply.parts
    ]


async def ours(server: ProtocolServer, protocol: ProtocolName) -> Reply:
    model = ModelClient("m", f"{server.url}/v1", FixedKey("k", "K"), protocol=protocol)
    reply = await model.ask(request(), lambda piece: None)
    await model.close()
    assert reply.error is None
    return reply


async def test_a_message_is_read_as_by_the_client_of_anthropic() -> None:
    import anthropic

    async with serving(in_turn(events(*test_anthropic.FULL))) as server:
        reply = await ours(server, "anthropic")
        async with anthropic.AsyncAnthropic(base_url=server.url, api_key="k") as client:
            asked: Any = {"model": "m", "max_tokens": 9, "messages": []}
            async with client.messages.stream(**asked) as stream:
                message = await stream.get_final_message()
    theirs: list[Any] = []
    for block in message.content:
        if block.type == "text":
            theirs.append(("text", block.text))
        elif block.type == "thinking":
            theirs.append(("thinking", block.thinking))
            assert reply.parts[0].opaque["anthropic"]["signature"] == block.signature
        elif block.type == "redacted_thinking":
            theirs.append(("thinking", ""))
            assert reply.parts[1].opaque["anthropic"]["data"] == block.data
        elif block.type == "tool_use":
            theirs.append(("call", block.id, block.name, block.input))
    assert described(reply) == theirs
    assert reply.usage is not None
    assert reply.usage.completion_tokens == message.usage.output_tokens


async def test_a_response_is_read_as_by_the_client_of_openai() -> None:
    import openai

    stream = numbered(test_openai_responses.FULL)
    async with serving(in_turn(events(*stream))) as server:
        reply = await ours(server, "openai-responses")
        async with (
            openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="k") as client,
            client.responses.stream(model="m", input="x") as running,
        ):
            response = await running.get_final_response()
    theirs: list[Any] = []
    for item in response.output:
        if item.type == "message":
            theirs.append(("text", "".join(getattr(c, "text", "") for c in item.content)))
        elif item.type == "reasoning":
            theirs.append(("thinking", "".join(summary.text for summary in item.summary)))
            kept = reply.parts[0].opaque["openai-responses"]["item"]
            assert kept["encrypted_content"] == item.encrypted_content
        elif item.type == "function_call":
            theirs.append(("call", item.call_id, item.name, json.loads(item.arguments)))
    assert described(reply) == theirs


async def test_content_is_read_as_by_the_client_of_gemini() -> None:
    from google import genai

    stream = [
        event
        if "candidates" not in event
        else json.loads(json.dumps(event).replace("sig-0", "c2ln").replace("sig-1+/=", "c2lnMQ=="))
        for event in test_gemini.FULL
    ]
    theirs: list[Any] = []
    signatures: list[bytes] = []
    async with serving(in_turn(events(*stream))) as server:
        reply = await ours(server, "gemini")
        client = genai.Client(api_key="k", http_options={"base_url": server.url})
        chunks = await client.aio.models.generate_content_stream(model="m", contents="x")
        async for chunk in chunks:
            assert chunk.candidates
            content = chunk.candidates[0].content
            for part in (content.parts if content else None) or ():
                signatures += [part.thought_signature] if part.thought_signature else []
                if part.function_call:
                    call = part.function_call
                    theirs.append(("call", call.id, call.name, call.args))
                elif part.text:
                    theirs.append(("thinking" if part.thought else "text", part.text))
        await client.aio.aclose()
        client.close()
    mine = [
        ("call", part.opaque.get("gemini", {}).get("id"), part.name, json.loads(part.arguments))
        if isinstance(part, ToolCall)
        else ("thinking" if isinstance(part, ThinkingPart) else "text", part.text)
        for part in reply.parts
    ]
    assert mine == joined(theirs)
    kept = [part.opaque.get("gemini", {}).get("thoughtSignature") for part in reply.parts]
    assert [signature for signature in kept if signature] == ["c2ln", "c2lnMQ=="]
    assert len(signatures) == 2


def joined(parts: list[Any]) -> list[Any]:
    """Parts with the pieces of one text joined, but for the signed one at its end."""
    found: list[Any] = []
    for part in parts:
        is_piece = found and part[0] in ("text", "thinking") and found[-1][0] == part[0]
        if is_piece and part[1] != " Now.":
            found[-1] = (part[0], found[-1][1] + part[1])
        else:
            found.append(part)
    return found


async def test_a_chat_completion_is_read_as_by_the_client_of_openai() -> None:
    import openai

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        about = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        return {**about, "choices": [choice]}

    def call(index: int, arguments: str, **more: Any) -> dict[str, Any]:
        function = {"arguments": arguments, **({"name": "read"} if more else {})}
        return {"tool_calls": [{"index": index, "function": function, **more}]}

    stream = [
        chunk({"role": "assistant", "content": "I "}),
        chunk({"content": "read."}),
        chunk(call(0, "", id="x", type="function")),
        chunk(call(0, '{"path": "a"}')),
        chunk(call(1, "{}", id="y", type="function")),
        chunk({}, "tool_calls"),
    ]
    body = events(*stream).body + b"data: [DONE]\n\n"
    async with serving(in_turn(Answered(body))) as server:
        reply = await ours(server, "openai-chat")
        async with (
            openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="k") as client,
            client.chat.completions.stream(model="m", messages=[]) as running,
        ):
            message = (await running.get_final_completion()).choices[0].message
    theirs: list[Any] = [("text", message.content)]
    for made in message.tool_calls or ():
        function = made.function
        theirs.append(("call", made.id, function.name, json.loads(function.arguments)))
    assert described(reply) == theirs
