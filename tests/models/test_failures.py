"""What goes wrong on the way, in every protocol: said clearly, stopped at once, run by nobody."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

import pytest

from agentchat.core.messages import Reply
from agentchat.core.model import Piece, RetryDelay
from agentchat.models.api_key import FixedKey
from agentchat.models.client import ModelClient
from agentchat.models.http import Timeouts
from agentchat.models.protocols import protocol_class
from agentchat.models.protocols.options import PROTOCOL_NAMES, ProtocolName
from agentchat.models.response.body import NOTHING, BodyReader
from agentchat.models.response.reply import MOST_CHARACTERS, TOO_LARGE, ReplyAssembly
from agentchat.models.response.sse import EVENT_BYTES, JsonLinesDecoder
from agentchat.models.retry import RetryPolicy
from tests.models import test_anthropic, test_gemini, test_ollama, test_openai_responses
from tests.models.notation import C, F, T, Z
from tests.models.protocol_server import Answered, events, in_turn, lines, refusal, serving
from tests.models.raw_server import CERTIFICATE, HEAD, repeats, resets, sends, waits
from tests.models.raw_server import serving as raw_serving
from tests.models.requests import request

pytestmark = pytest.mark.slow

WHOLE: dict[ProtocolName, bytes] = {
    "openai-chat": (C("I read") + C(".") + T(0, "x", "read", "{}") + F("tool_calls") + Z).encode(),
    "openai-responses": events(*test_openai_responses.FULL).body,
    "anthropic": events(*test_anthropic.FULL).body,
    "gemini": events(*test_gemini.FULL).body,
    "ollama": test_ollama.FULL.body,
}
QUICK = RetryPolicy(first=0.01)
SHORT = Timeouts(connect=1.0, byte_idle=0.4, data_idle=0.3, after_finish=0.2)

protocols = pytest.mark.parametrize("protocol", PROTOCOL_NAMES)


async def ask(url: str, protocol: ProtocolName, **more: Any) -> tuple[Reply, list[Piece]]:
    more.setdefault("retry", QUICK)
    model = ModelClient("m", url, FixedKey("sk-secret", "KEY"), protocol=protocol, **more)
    pieces: list[Piece] = []
    try:
        return await model.ask(request(), pieces.append), pieces
    finally:
        await model.close()


def waits_in(pieces: list[Piece]) -> list[float]:
    return [piece.seconds for piece in pieces if isinstance(piece, RetryDelay)]


def many(protocol: ProtocolName, text: str) -> bytes:
    """An event that brings this text."""
    delta = {"type": "text_delta", "text": text}
    event: dict[ProtocolName, dict[str, Any]] = {
        "openai-chat": {"choices": [{"index": 0, "delta": {"content": text}}]},
        "openai-responses": {"type": "response.output_text.delta", "delta": text},
        "anthropic": {"type": "content_block_delta", "index": 0, "delta": delta},
        "gemini": {"candidates": [{"content": {"parts": [{"text": text}]}}]},
        "ollama": {"message": {"content": text}, "done": False},
    }
    return (lines if protocol == "ollama" else events)(event[protocol]).body


@protocols
@pytest.mark.parametrize(
    ("code", "says"),
    [
        (400, "refused the request (400): no. Choose another model with :AgentModel."),
        (401, "refused the key (401). Check $KEY"),
        (402, "has no quota left for this key (402): no. Check the plan and the billing."),
        (403, "refused the key (403). Check $KEY. The server says: no."),
        (404, "answered 404: no. Check the model's name (m) and base_url"),
        (405, "answered 405: no. Check the model's name (m) and base_url"),
        (407, "The proxy refused the request (407): no. Check the proxy settings."),
        (408, "did not take the request (408): no. Send it again."),
        (409, "did not take the request (409): no. Send it again."),
        (413, "The conversation is too long for m"),
        (422, "refused the request (422): no"),
    ],
)
async def test_a_refusal_is_explained_and_not_sent_again(
    protocol: ProtocolName, code: int, says: str
) -> None:
    async with serving(in_turn(refusal(code, "no"))) as server:
        reply, pieces = await ask(f"{server.url}/v1", protocol)
        chats = [asked for asked in server.asked if "show" not in asked.path]
    assert says in (reply.error or "")
    assert "sk-secret" not in (reply.error or "")
    assert sum(asked.method == "POST" for asked in chats) == 1
    assert waits_in(pieces) == []


@protocols
@pytest.mark.parametrize("code", [429, 500, 501, 502, 503, 504, 520, 529])
async def test_a_busy_server_is_asked_four_times(protocol: ProtocolName, code: int) -> None:
    async with serving(in_turn(refusal(code, "busy"))) as server:
        reply, pieces = await ask(f"{server.url}/v1", protocol)
    assert f"{code}" in (reply.error or "")
    assert len(waits_in(pieces)) == 3


@protocols
async def test_a_busy_server_that_recovers_answers(protocol: ProtocolName) -> None:
    whole = Answered(WHOLE[protocol])
    show = [refusal(404, "")] if protocol == "ollama" else []
    async with serving(in_turn(*show, refusal(529, "busy"), whole)) as server:
        reply, _ = await ask(f"{server.url}/v1", protocol)
    assert reply.error is None
    assert reply.text.startswith("I read")


@protocols
async def test_the_wait_that_a_server_names_is_obeyed(protocol: ProtocolName) -> None:
    in_header = replace(refusal(429, "busy"), headers={"Retry-After": "0.07"})
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.08s"}
    in_body = refusal(429, "busy", details=[info])
    show = [refusal(404, "")] if protocol == "ollama" else []
    async with serving(in_turn(*show, in_header, in_body, Answered(WHOLE[protocol]))) as server:
        reply, pieces = await ask(f"{server.url}/v1", protocol)
    assert reply.error is None
    assert waits_in(pieces) == [0.07, 0.08]


@protocols
async def test_a_server_that_is_not_there_is_named(protocol: ProtocolName) -> None:
    reply, pieces = await ask("http://127.0.0.1:9/v1", protocol)
    assert "Is the server running?" in (reply.error or "")
    assert len(waits_in(pieces)) == 3


@protocols
async def test_a_host_that_does_not_exist_is_named(protocol: ProtocolName) -> None:
    reply, _ = await ask("http://nowhere.invalid/v1", protocol)
    assert "The host nowhere.invalid is not found. Check base_url" in (reply.error or "")


@protocols
async def test_a_proxy_that_is_not_there_is_named_without_its_password(
    protocol: ProtocolName, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://me:secret@127.0.0.1:9")
    reply, pieces = await ask("https://models.invalid/v1", protocol)
    assert "the proxy 127.0.0.1:9 does not answer. Check $HTTPS_PROXY" in (reply.error or "")
    assert "secret" not in f"{reply.error} {pieces}"


@protocols
async def test_a_certificate_that_nobody_signed_is_named(
    protocol: ProtocolName, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with raw_serving(sends(HEAD, WHOLE[protocol]), secure=True) as server:
        url = server.url.replace("http:", "https:")
        reply, pieces = await ask(url, protocol)
        monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
        trusting, _ = await ask(url, protocol)
    assert "self-signed certificate" in (reply.error or "")
    assert "set $SSL_CERT_FILE to a file with its certificate" in (reply.error or "")
    assert waits_in(pieces) == []
    assert trusting.text.startswith("I read")


@protocols
async def test_a_web_page_is_no_answer(protocol: ProtocolName) -> None:
    page = Answered(b"<!doctype html><p>Sign in", 200, "text/html")
    async with serving(in_turn(page)) as server:
        reply, _ = await ask(f"{server.url}/v1", protocol)
    assert "web page" in (reply.error or "")


@protocols
@pytest.mark.parametrize("body", [b"", b"  \n"])
async def test_an_empty_answer_is_an_error(protocol: ProtocolName, body: bytes) -> None:
    async with serving(in_turn(Answered(body))) as server:
        reply, pieces = await ask(f"{server.url}/v1", protocol)
    assert reply.error == NOTHING
    assert waits_in(pieces) == []


@protocols
@pytest.mark.parametrize("form", ["object", "event", "named event"])
async def test_an_error_inside_a_200_is_shown_and_nothing_is_sent_again(
    protocol: ProtocolName, form: str
) -> None:
    whole = refusal(529, "the model is overloaded").body
    name = b"event: error\n" if form == "named event" else b""
    is_object = form == "object" or protocol == "ollama"
    body = whole + b"\n" if is_object else name + b"data: " + whole + b"\n\n"
    async with serving(in_turn(Answered(body))) as server:
        reply, pieces = await ask(f"{server.url}/v1", protocol)
    said = "The server stopped with an error: the model is overloaded. Send the request again."
    assert reply.error == said
    assert waits_in(pieces) == []


@protocols
async def test_a_model_without_tools_is_named_with_the_way_out(protocol: ProtocolName) -> None:
    no_tools = refusal(400, "library/gemma does not support tools")
    async with serving(in_turn(no_tools)) as server:
        reply, _ = await ask(f"{server.url}/v1", protocol)
    assert "m cannot call tools (400)" in (reply.error or "")
    assert "Choose another with :AgentModel." in (reply.error or "")


async def test_a_router_adds_the_words_of_the_server_behind_it() -> None:
    behind = {"raw": '{"error": "the real reason"}', "provider_name": "Else"}
    routed = refusal(400, "Provider returned error", metadata=behind)
    async with serving(in_turn(routed)) as server:
        reply, _ = await ask(f"{server.url}/v1", "openai-chat")
    assert "the real reason" in (reply.error or "")


@protocols
@pytest.mark.parametrize("other", PROTOCOL_NAMES)
async def test_an_answer_in_another_protocol_is_named(
    protocol: ProtocolName, other: ProtocolName
) -> None:
    async with serving(in_turn(Answered(WHOLE[other]))) as server:
        reply, _ = await ask(f"{server.url}/v1", protocol)
    if protocol == other:
        assert reply.error is None
    else:
        assert f"Set protocol = {other!r} in g:agentchat.model." in (reply.error or "")


@protocols
async def test_text_that_is_no_answer_is_an_error(protocol: ProtocolName) -> None:
    async with serving(in_turn(Answered(b"data: nonsense\n\n"))) as server:
        reply, _ = await ask(f"{server.url}/v1", protocol)
    assert reply.error is not None
    assert reply.parts == ()


@protocols
@pytest.mark.parametrize("share", [0.3, 0.5, 0.7, 0.9])
async def test_calls_of_a_connection_that_breaks_do_not_run(
    protocol: ProtocolName, share: float
) -> None:
    body = WHOLE[protocol]
    part = body[: int(len(body) * share)]
    async with raw_serving(resets(HEAD, part)) as server:
        reply, _ = await ask(server.url, protocol)
    assert reply.error is not None
    assert all(call.cut_off for call in reply.calls)


@protocols
async def test_a_server_that_falls_silent_is_given_up(protocol: ProtocolName) -> None:
    body = WHOLE[protocol]
    async with raw_serving(waits(HEAD, body[: len(body) // 2])) as server:
        reply, _ = await ask(server.url, protocol, timeouts=SHORT)
    assert "sent nothing" in (reply.error or "")


@pytest.mark.parametrize("protocol", [name for name in PROTOCOL_NAMES if name != "ollama"])
async def test_a_server_that_sends_only_signs_of_life_is_given_up(protocol: ProtocolName) -> None:
    async with raw_serving(repeats(b": ping\n\n", 0.05)) as server:
        reply, _ = await ask(server.url, protocol, timeouts=SHORT)
    assert "no part of an answer" in (reply.error or "")


@protocols
async def test_a_trickle_of_single_bytes_is_read_to_its_end(protocol: ProtocolName) -> None:
    body = WHOLE[protocol]
    async with raw_serving(sends(HEAD, *(body[i : i + 1] for i in range(len(body))))) as server:
        reply, _ = await ask(server.url, protocol, timeouts=SHORT)
    assert reply.error is None
    assert reply.text.startswith("I read")


@protocols
async def test_a_hundred_megabytes_of_text_are_stopped_and_their_beginning_is_kept(
    protocol: ProtocolName,
) -> None:
    piece = many(protocol, "word " * 1000) * 20
    async with raw_serving(sends(HEAD, *[piece] * (100_000_000 // len(piece)))) as server:
        reply, _ = await ask(server.url, protocol)
    assert reply.error == TOO_LARGE
    assert MOST_CHARACTERS < len(reply.text) < MOST_CHARACTERS + 10_000


@protocols
async def test_a_stop_closes_the_connection_within_a_second(protocol: ProtocolName) -> None:
    body = WHOLE[protocol]
    async with raw_serving(waits(HEAD, body[: len(body) // 2])) as server:
        asking = asyncio.ensure_future(ask(server.url, protocol))
        await server.asked.wait()
        begun = time.monotonic()
        asking.cancel()
        await asyncio.wait([asking])
        await asyncio.wait_for(server.gone.wait(), 1)
    assert time.monotonic() - begun < 1


@protocols
@pytest.mark.parametrize("size", [1, 7, 100])
def test_a_stream_is_read_the_same_however_it_is_cut(protocol: ProtocolName, size: int) -> None:
    body = WHOLE[protocol]

    def read(step: int) -> Reply:
        reader = BodyReader(protocol_class(protocol)("m").reader(ReplyAssembly()))
        for at in range(0, len(body), step):
            reader.add(body[at : at + step])
        reader.end()
        return reader.reply()

    whole = read(len(body))
    assert whole.error is None
    assert whole.parts
    assert read(size) == whole


@protocols
@pytest.mark.parametrize(
    "event",
    [
        b"null", b"[]", b"3", b'"x"', b"{}", b'{"type": 3}', b'{"choices": 3}', b'{"error": []}',
        b'{"type": "content_block_delta", "delta": 3, "index": "x"}',
        b'{"type": "message_start", "message": []}',
        b'{"type": "response.output_item.done", "item": null}',
        b'{"type": "response.completed", "response": {"output": [null, 3], "usage": []}}',
        b'{"candidates": [{"content": {"parts": [null, {"functionCall": {"args": 3}}]}}]}',
        b'{"message": {"content": 3, "tool_calls": [{"function": {"name": null}}]}, "done": 1}',
        b'{"choices": [{"delta": {"reasoning_details": [3, {}], "tool_calls": {"index": -1}}}]}',
    ],
)  # fmt: skip
def test_nothing_that_a_server_sends_raises(protocol: ProtocolName, event: bytes) -> None:
    reader = BodyReader(protocol_class(protocol)("m").reader(ReplyAssembly()))
    reader.add(b"data: " + event + b"\n\n")
    reader.add(event + b"\n")
    reader.end()
    assert isinstance(reader.reply(), Reply)


def test_a_line_without_end_is_given_up() -> None:
    reader = BodyReader(protocol_class("ollama")("m").reader(ReplyAssembly()))
    for _ in range(EVENT_BYTES // (1 << 20) + 1):
        reader.add(b"x" * (1 << 20))
    assert "larger than" in (reader.reply().error or "")


def test_lines_come_whole_however_they_are_cut() -> None:
    decoder = JsonLinesDecoder()
    found = [e.data for at in "ab\n\ncé\r\nd" for e in decoder.add(at.encode())]
    assert [text.strip() for text in found] == ["ab", "cé"]
    assert [event.data for event in decoder.end()] == ["d"]


async def test_a_key_of_its_own_header_does_not_follow_a_redirect() -> None:
    async with serving(in_turn(refusal(500, "never asked"))) as other:
        moved = f"HTTP/1.1 307 X\r\nLocation: {other.url}\r\nContent-Length: 0\r\n\r\n"
        async with raw_serving(waits(moved.encode())) as server:
            reply, _ = await ask(server.url, "anthropic")
        assert other.asked == []
    assert "307" in (reply.error or "")
