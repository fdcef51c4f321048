"""What goes wrong on the way, in every protocol: said clearly, stopped at once, run by nobody."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from agentchat.core.messages import Reply
from agentchat.core.tools.model import Piece, RetryDelay
from agentchat.models.api_key import FixedKey
from agentchat.models.client import ModelClient
from agentchat.models.http import Timeouts
from agentchat.models.protocols import protocol_class
from agentchat.models.protocols.options import PROTOCOL_NAMES, ProtocolName
from agentchat.models.response.reply import ReplyAssembly
from agentchat.models.response.stream import EVENT_BYTES, BodyReader, JsonLinesDecoder
from agentchat.models.retry import RetryPolicy
from tests.models import test_anthropic, test_gemini, test_ollama, test_openai_responses
from tests.models.notation import C, F, T, Z
from tests.models.protocol_server import Answered, events, in_turn, refusal, serving
from tests.models.raw_server import HEAD, repeats, resets, waits
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


@protocols
@pytest.mark.parametrize(
    ("code", "says"),
    [
        (400, "refused the request (400): no"),
        (401, "refused the key (401). Check $KEY"),
        (403, "refused the key (403). Check $KEY"),
        (404, "answered 404: no"),
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
    assert not any(isinstance(piece, RetryDelay) for piece in pieces)


@protocols
@pytest.mark.parametrize("code", [429, 500, 502, 503, 529])
async def test_a_busy_server_is_asked_four_times(protocol: ProtocolName, code: int) -> None:
    async with serving(in_turn(refusal(code, "busy"))) as server:
        reply, pieces = await ask(f"{server.url}/v1", protocol)
    assert f"{code}" in (reply.error or "")
    assert sum(isinstance(piece, RetryDelay) for piece in pieces) == 3


@protocols
async def test_a_busy_server_that_recovers_answers(protocol: ProtocolName) -> None:
    whole = Answered(WHOLE[protocol])
    show = [refusal(404, "")] if protocol == "ollama" else []
    async with serving(in_turn(*show, refusal(529, "busy"), whole)) as server:
        reply, _ = await ask(f"{server.url}/v1", protocol)
    assert reply.error is None
    assert reply.text.startswith("I read")


@protocols
async def test_a_server_that_is_not_there_is_named(protocol: ProtocolName) -> None:
    reply, _ = await ask("http://127.0.0.1:9/v1", protocol)
    assert "Is the server running?" in (reply.error or "")


@protocols
async def test_a_web_page_is_no_answer(protocol: ProtocolName) -> None:
    page = Answered(b"<!doctype html><p>Sign in", 200, "text/html")
    async with serving(in_turn(page)) as server:
        reply, _ = await ask(f"{server.url}/v1", protocol)
    assert "web page" in (reply.error or "")


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
