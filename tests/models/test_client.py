"""The client of OpenAI-compatible servers against real servers on loopback."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import threading
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from email.utils import formatdate
from typing import Any

import pytest

from agentchat.core.errors import UserError
from agentchat.core.messages import Reply, ToolCall, ToolResult, UserText
from agentchat.core.model import ModelRequest, Piece, RetryDelay, TextDelta
from agentchat.models.api_key import ApiKey, CommandKey, FixedKey, NoKey
from agentchat.models.client import ModelClient
from agentchat.models.http import Timeouts
from agentchat.models.response.reply import CUT_OFF
from agentchat.models.retry import RetryPolicy
from tests.models.notation import C, F, T, Z
from tests.models.raw_server import BARE_HEAD, HEAD, repeats, resets, sends, serving, waits
from tests.models.requests import request, tool
from tests.support.model_server import ModelServer
from tests.support.replies import Hold, raw, status, stream, text

QUICK = RetryPolicy(first=0.01)
KEY = "sk-very-secret-0123456789"
SHORT = Timeouts(connect=1.0, byte_idle=0.4, data_idle=0.3, after_finish=0.2)

MakeClient = Callable[..., ModelClient]


@pytest.fixture
async def make(server: ModelServer) -> AsyncIterator[MakeClient]:
    models: list[ModelClient] = []

    def making(
        url: str = "", name: str = "m", key: ApiKey | None = None, **more: Any
    ) -> ModelClient:
        more.setdefault("retry", QUICK)
        key = key or FixedKey(KEY, "OPENAI_API_KEY")
        models.append(ModelClient(name, url or server.url, key, **more))
        return models[-1]

    yield making
    for model in models:
        await model.close()


class Asked:
    """One request: its reply, and the pieces on the way."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.reply = Reply()

    async def ask(self, model: ModelClient, what: ModelRequest | None = None) -> Asked:
        self.reply = await model.ask(what or request(), self.pieces.append)
        return self

    @property
    def waits(self) -> list[float]:
        return [piece.seconds for piece in self.pieces if isinstance(piece, RetryDelay)]

    @property
    def error(self) -> str:
        assert self.reply.error is not None
        return self.reply.error


async def ask(model: ModelClient, what: ModelRequest | None = None) -> Asked:
    return await Asked().ask(model, what)


async def test_text_streams_and_the_reply_has_it_all(server: ModelServer, make: MakeClient) -> None:
    server.script(text("one two three", usage=(7, 3)))
    asked = await ask(make())
    assert asked.pieces == [TextDelta("one "), TextDelta("two "), TextDelta("three")]
    assert asked.reply.text == "one two three"
    assert asked.reply.usage is not None
    assert asked.reply.usage.total_tokens == 10
    assert asked.reply.model == "m"


async def test_the_key_travels_in_the_header_only(server: ModelServer, make: MakeClient) -> None:
    server.script(text("ok"))
    await ask(make())
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in str(server.requests[0].body)


async def test_a_server_that_ignores_the_forced_tool_gets_that_tool_alone_from_then_on(
    server: ModelServer, make: MakeClient
) -> None:
    model = make()
    server.script(*[text("I would rather talk.")] * 5)
    forced = request(tools=(tool("resolve"), tool("other")), forced="resolve")
    for asked in (*[forced] * 4, replace(forced, forced=None)):
        await ask(model, asked)
    bodies = [made.body for made in server.requests]
    named = {"type": "function", "function": {"name": "resolve"}}
    assert [body.get("tool_choice") for body in bodies] == [named] * 3 + ["required", None]
    assert [len(body["tools"]) for body in bodies] == [2, 2, 2, 1, 2]


@pytest.mark.parametrize("provider", ["llamacpp", ""])
async def test_llama_cpp_is_known_to_ignore_the_name_of_a_tool(
    server: ModelServer, make: MakeClient, provider: str
) -> None:
    model = make(provider=provider)
    server.name = "scripted" if provider else "llama.cpp"
    server.script(text("ok"), text("ok"))
    await ask(model)
    await ask(model, request(tools=(tool("resolve"), tool("other")), forced="resolve"))
    body = server.requests[-1].body
    assert body["tool_choice"] == "required"
    assert [sent["function"]["name"] for sent in body["tools"]] == ["resolve"]


async def test_a_server_that_takes_a_word_only_gets_that_tool_alone(
    server: ModelServer, make: MakeClient
) -> None:
    refusal = "Invalid tool_choice type: 'object'. Supported string values: none, auto, required"
    server.script(status(400, refusal), text("ok"))
    await ask(make(), request(tools=(tool("resolve"),), forced="resolve"))
    assert server.requests[-1].body["tool_choice"] == "required"


async def test_the_tool_choice_is_forced(server: ModelServer, make: MakeClient) -> None:
    server.script(text("ok"))
    await ask(make(), request(tools=(tool("resolve"),), forced="resolve"))
    choice = server.requests[0].body["tool_choice"]
    assert choice == {"type": "function", "function": {"name": "resolve"}}


async def test_a_server_that_takes_no_forced_choice_is_asked_without_from_then_on(
    server: ModelServer, make: MakeClient
) -> None:
    server.script(status(400, "tool_choice: only 'auto' is supported"), text("ok"), text("ok"))
    model = make()
    forced = request(tools=(tool("resolve"),), forced="resolve", reminder="Call resolve.")
    asked = await ask(model, forced)
    await ask(model, forced)
    assert asked.reply.text == "ok"
    assert [("tool_choice" in r.body) for r in server.requests] == [True, False, False]
    assert server.requests[1].last == "Call resolve."


async def test_a_server_that_takes_no_stream_options_is_asked_without_from_then_on(
    server: ModelServer, make: MakeClient
) -> None:
    server.script(status(400, "Unknown parameter: 'stream_options'"), text("ok"), text("ok"))
    model = make()
    await ask(model)
    await ask(model)
    assert [("stream_options" in r.body) for r in server.requests] == [True, False, False]


async def test_a_server_that_takes_no_reasoning_back_is_asked_without_from_then_on(
    server: ModelServer, make: MakeClient
) -> None:
    server.script(
        status(400, "property 'reasoning_content' is unsupported"), text("ok"), text("ok")
    )
    model = make()
    thought = Reply(calls=(ToolCall("1", "ls", "{}"),), reasoning="hm", model="m")
    history = request(UserText("a"), thought, ToolResult("1", "ls", "x"))
    assert (await ask(model, history)).reply.text == "ok"
    await ask(model, history)
    sent = [request.messages[2].get("reasoning_content") for request in server.requests]
    assert sent == ["hm", None, None]


@pytest.mark.parametrize("code", [400, 500])
async def test_a_server_whose_template_wants_turns_is_asked_in_turns_from_then_on(
    server: ModelServer, make: MakeClient, code: int
) -> None:
    refusal = "Conversation roles must alternate user/assistant/user/assistant/..."
    server.script(status(code, refusal), text("ok"), text("ok"))
    model = make()
    twice = request(UserText("a"), UserText("b"))
    assert (await ask(model, twice)).reply.text == "ok"
    await ask(model, twice)
    counts = [sum(m["role"] == "user" for m in r.body["messages"]) for r in server.requests]
    assert counts == [2, 1, 1]


@pytest.mark.parametrize("code", [429, 500, 502, 503, 529])
async def test_a_busy_server_is_asked_again(
    server: ModelServer, make: MakeClient, code: int
) -> None:
    server.script(status(code), status(code), text("ok"))
    asked = await ask(make())
    assert asked.reply.text == "ok"
    assert asked.waits == [0.01, 0.02]


async def test_a_server_that_stays_busy_is_asked_four_times(
    server: ModelServer, make: MakeClient
) -> None:
    server.always(status(503, "overloaded!."))
    asked = await ask(make())
    assert len(server.requests) == 4
    assert "failed with status 503: overloaded. Try again" in asked.error


@pytest.mark.parametrize("code", [400, 401, 403, 404, 422])
async def test_a_refused_request_is_never_sent_again(
    server: ModelServer, make: MakeClient, code: int
) -> None:
    server.always(status(code))
    asked = await ask(make())
    assert len(server.requests) == 1
    assert str(code) in asked.error


async def test_a_used_up_quota_is_not_waited_for(server: ModelServer, make: MakeClient) -> None:
    body = {"error": {"message": "You exceeded your quota.", "code": "insufficient_quota"}}
    server.always(raw(json.dumps(body).encode(), 429))
    asked = await ask(make())
    assert len(server.requests) == 1
    assert "no quota left" in asked.error


async def test_the_server_says_how_long_to_wait(server: ModelServer, make: MakeClient) -> None:
    server.script(status(429, Retry_After="0"), text("ok"))
    asked = await ask(make())
    assert asked.waits == [0.0]


async def test_a_wait_of_days_is_cut_to_a_minute_and_can_be_cancelled(
    server: ModelServer, make: MakeClient
) -> None:
    date = formatdate(time.time() + 1e6, usegmt=True)
    server.script(status(429, Retry_After=date))
    seen: list[Piece] = []
    await _cancelled_at_first_piece(make(), seen)
    assert seen == [RetryDelay(60.0, "The server answered 429 (try 1 of 4)")]
    assert len(server.requests) == 1


async def test_a_refused_key_names_the_variable_and_not_the_key(
    server: ModelServer, make: MakeClient
) -> None:
    server.script(status(401, f"Incorrect API key provided: {KEY}"))
    asked = await ask(make())
    assert asked.error == f"{server.url} refused the key (401). Check $OPENAI_API_KEY."


async def test_a_server_that_wants_a_key_says_how_to_give_one(
    server: ModelServer, make: MakeClient
) -> None:
    server.script(status(401))
    asked = await ask(make(key=NoKey("MY_KEY")))
    assert asked.error.endswith("It wants a key: set $MY_KEY, or api_key_cmd in g:agentchat.model.")


async def test_an_unknown_model_is_named(server: ModelServer, make: MakeClient) -> None:
    server.script(status(404, "model 'm' not found"))
    asked = await ask(make())
    assert "answered 404: model 'm' not found. Check the model's name (m) and base_url" in (
        asked.error
    )


async def test_too_long_a_conversation_names_its_biggest_part(
    server: ModelServer, make: MakeClient
) -> None:
    server.script(status(400, "This model's maximum context length is 8192 tokens."))
    asked = await ask(make(), request(UserText("x" * 90_000)))
    assert len(server.requests) == 1
    assert "The biggest part is a message of the user (87 KiB)." in asked.error
    assert ":AgentChat!" in asked.error


async def test_a_413_without_a_body_is_too_long_a_conversation(
    server: ModelServer, make: MakeClient
) -> None:
    server.script(raw(b"", 413))
    asked = await ask(make(), request(UserText("x" * 90_000)))
    assert asked.error == (
        "The conversation is too long for m. The biggest part is a message of the user (87 KiB). "
        "Start a new chat with :AgentChat!, or choose another model with :AgentModel."
    )


async def test_a_refusal_is_one_bounded_line(server: ModelServer, make: MakeClient) -> None:
    server.script(status(400, "bad\nrequest " * 500))
    asked = await ask(make())
    assert "\n" not in asked.error
    assert len(asked.error) < 500


async def test_a_page_with_an_error_status_is_not_shown(
    server: ModelServer, make: MakeClient
) -> None:
    server.script(raw(b"<html>" + b"x" * 9000, 404, Content_Type="text/html"))
    asked = await ask(make())
    assert "answered 404: a web page. Check" in asked.error


async def test_nobody_listens(make: MakeClient) -> None:
    asked = await ask(make("http://127.0.0.1:9/v1"))
    assert asked.error == "Cannot connect to http://127.0.0.1:9/v1. Is the server running?"
    assert len(asked.waits) == 3


async def test_a_host_that_does_not_exist(make: MakeClient) -> None:
    asked = await ask(make("http://nowhere.invalid/v1"))
    assert "The host nowhere.invalid is not found. Check base_url" in asked.error


async def test_https_to_a_server_that_speaks_http(server: ModelServer, make: MakeClient) -> None:
    asked = await ask(make(server.url.replace("http:", "https:")))
    assert "Check whether it is http or https." in asked.error
    assert asked.waits == []


async def test_a_server_that_hangs_up_before_it_answers_is_asked_again(make: MakeClient) -> None:
    async with serving(sends(), sends(BARE_HEAD, (C("ok") + F("stop") + Z).encode())) as wire:
        asked = await ask(make(wire.url))
    assert asked.reply.text == "ok"
    assert wire.connections == 2


async def test_a_reset_in_a_call_cuts_it_off_and_keeps_the_text(make: MakeClient) -> None:
    begun = C("I will edit.") + T(0, "x", "edit", '{"pa')
    async with serving(resets(HEAD, begun.encode())) as wire:
        asked = await ask(make(wire.url))
    assert asked.reply.text == "I will edit."
    assert asked.reply.error == CUT_OFF
    assert asked.reply.calls[0].cut_off
    assert wire.connections == 1


async def test_a_reset_after_the_end_is_no_error(make: MakeClient) -> None:
    async with serving(resets(HEAD, (C("ok") + F("stop")).encode())) as wire:
        asked = await ask(make(wire.url))
    assert asked.reply == Reply("ok", model="m")


async def test_a_body_without_a_content_type_is_judged_by_its_bytes(make: MakeClient) -> None:
    async with serving(sends(BARE_HEAD, (C("ok") + F("stop") + Z).encode())) as wire:
        asked = await ask(make(wire.url))
    assert asked.reply.text == "ok"


async def test_signs_of_life_do_not_last_for_ever(make: MakeClient) -> None:
    async with serving(repeats(b": alive\n\n", 0.02)) as wire:
        asked = await ask(make(wire.url, timeouts=SHORT))
    assert "sent no part of an answer for 0.3 s" in asked.error


async def test_pings_with_data_are_no_progress_either(make: MakeClient) -> None:
    ping = b'event: ping\ndata: {"type": "ping"}\n\n'
    async with serving(repeats(ping, 0.02)) as wire:
        asked = await ask(make(wire.url, timeouts=SHORT))
    assert "sent no part of an answer" in asked.error


async def test_silence_in_the_middle_of_an_answer_ends_it(make: MakeClient) -> None:
    async with serving(waits(HEAD, C("half").encode())) as wire:
        asked = await ask(make(wire.url, timeouts=SHORT))
    assert asked.reply.text == "half"
    assert "sent nothing for 0.4 s" in asked.error


async def test_a_server_that_never_begins_to_answer_is_not_asked_again(make: MakeClient) -> None:
    async with serving(waits()) as wire:
        asked = await ask(make(wire.url, timeouts=SHORT))
    assert "sent nothing for 0.4 s" in asked.error
    assert wire.connections == 1


async def test_a_server_that_keeps_the_line_open_after_the_end_is_not_waited_for(
    make: MakeClient,
) -> None:
    async with serving(waits(HEAD, (C("ok") + F("stop")).encode())) as wire:
        asked = await ask(make(wire.url, timeouts=SHORT))
    assert asked.reply.text == "ok"
    assert asked.reply.error is None


async def test_closing_closes_a_connection_that_was_kept_open(make: MakeClient) -> None:
    body = (C("ok") + F("stop") + Z).encode()
    head = BARE_HEAD.replace(b"Connection: close", b"Content-Length: %d" % len(body))
    async with serving(waits(head, body)) as wire:
        model = make(wire.url)
        assert (await ask(model)).reply.text == "ok"
        assert not wire.gone.is_set()
        await model.close()
        await asyncio.wait_for(wire.gone.wait(), 1)


async def test_closing_waits_for_the_answer_that_is_on_its_way(
    server: ModelServer, make: MakeClient
) -> None:
    gate = threading.Event()
    server.script(stream("one ", Hold(gate), "two"))
    model, begun = make(), asyncio.Event()
    asked = asyncio.ensure_future(model.ask(request(), lambda piece: begun.set()))
    await asyncio.wait_for(begun.wait(), 5)
    closed = asyncio.ensure_future(model.close())
    gate.set()
    assert (await asked).text == "one two"
    await asyncio.wait_for(closed, 5)


async def test_a_key_that_no_header_can_hold_is_one_clear_line(
    server: ModelServer, make: MakeClient
) -> None:
    asked = await ask(make(key=FixedKey("schlüssel", "KEY")))
    assert "Check base_url and key." in asked.error
    assert "schl" not in asked.error


async def test_cancelling_closes_the_connection_in_mid_stream(make: MakeClient) -> None:
    async with serving(waits(HEAD, C("half").encode())) as wire:
        await _cancelled_at_first_piece(make(wire.url), [])
        await asyncio.wait_for(wire.gone.wait(), 1)


async def test_cancelling_closes_the_connection_before_the_first_byte(make: MakeClient) -> None:
    async with serving(waits()) as wire:
        asked = asyncio.ensure_future(make(wire.url).ask(request(), lambda piece: None))
        await asyncio.wait_for(wire.asked.wait(), 5)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        await asyncio.wait_for(wire.gone.wait(), 1)


async def _cancelled_at_first_piece(model: ModelClient, seen: list[Piece]) -> None:
    """Ask, and stop as soon as anything is heard."""
    heard = asyncio.Event()

    def note(piece: Piece) -> None:
        seen.append(piece)
        heard.set()

    asked = asyncio.ensure_future(model.ask(request(), note))
    await asyncio.wait_for(heard.wait(), 5)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked


async def test_the_loop_stays_free_while_a_flood_arrives(make: MakeClient) -> None:
    flood = [(C("token ") * 1000).encode()] * 100
    async with serving(sends(HEAD, *flood, (F("stop") + Z).encode())) as wire:
        beats, done = 0, asyncio.Event()

        async def beat() -> None:
            nonlocal beats
            while not done.is_set():
                await asyncio.sleep(0)
                beats += 1

        beating = asyncio.ensure_future(beat())
        asked = await ask(make(wire.url))
        done.set()
        await beating
    assert asked.reply.text == "token " * 100_000
    assert beats > 100


@pytest.mark.parametrize("url", ["", "localhost:8080", "ftp://x/v1", "http://", "http://[x/v1"])
def test_a_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(UserError, match="must begin with http:// or https://"):
        ModelClient("m", url, NoKey("K"))


async def test_the_key_of_a_command_is_fetched_once(
    server: ModelServer, make: MakeClient, tmp_path: Any
) -> None:
    log = tmp_path / "runs"
    server.script(text("ok"), text("ok"))
    model = make(key=CommandKey(f"echo run >> {log}; echo from-command; echo more"))
    await ask(model)
    await ask(model)
    assert log.read_text() == "run\n"
    assert {r.headers["authorization"] for r in server.requests} == {"Bearer from-command"}


async def test_the_key_of_a_command_is_fetched_again_when_it_is_refused(
    server: ModelServer, make: MakeClient, tmp_path: Any
) -> None:
    log = tmp_path / "runs"
    server.script(status(401), text("ok"))
    model = make(key=CommandKey(["sh", "-c", f"echo run >> {log}; echo key"]))
    asked = await ask(model)
    assert asked.error.endswith("Check what api_key_cmd prints.")
    await ask(model)
    assert log.read_text() == "run\nrun\n"


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("echo secret; echo no key >&2; exit 3", "exited with code 3: no key. Run it"),
        ("true", "printed nothing"),
        (["/does/not/exist"], "cannot start /does/not/exist"),
        ([], "cannot start (empty)"),
        ("cat", "printed nothing"),
    ],
)
async def test_a_key_command_that_fails_says_so(
    make: MakeClient, command: str | list[str], says: str
) -> None:
    asked = await ask(make(key=CommandKey(command)))
    assert f"api_key_cmd {says}" in asked.error
    assert "secret" not in asked.error


async def test_a_key_command_that_hangs_is_ended(make: MakeClient) -> None:
    asked = await ask(make(key=CommandKey("sleep 60", seconds=0.1)))
    assert asked.error == "api_key_cmd took over 0.1 s. Run it in a terminal to see why."


class LastingServer:
    """Answers every request of a connection with the same bytes; counts the connections."""

    def __init__(self, *parts: bytes) -> None:
        self.parts = parts
        self.connections: list[asyncio.Task[None]] = []

    def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.append(asyncio.ensure_future(self._serve(reader, writer)))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = re.search(rb"content-length: (\d+)", head.lower())
                await reader.readexactly(int(length[1]) if length else 0)
                for part in self.parts:
                    writer.write(part)
                    await writer.drain()
        writer.close()
        await writer.wait_closed()


ANSWER = (
    b'data: {"choices": [{"delta": {"content": "hi"}}]}\n\n'
    b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n'
    b'data: {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 1}}\n\n'
    b"data: [DONE]\n\n"
)
OK = b"HTTP/1.1 200 OK\r\n"
CHUNK = b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (len(ANSWER), ANSWER)


@pytest.mark.parametrize(
    "parts",
    [(OK, b"Content-Length: %d\r\n\r\n%b" % (len(ANSWER), ANSWER)), (OK, CHUNK, b"0\r\n\r\n")],
    ids=["length", "chunked"],
)
async def test_later_answers_come_over_the_same_connection(parts: tuple[bytes, ...]) -> None:
    lasting = LastingServer(*parts)
    server = await asyncio.start_server(lasting.serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    model = ModelClient("m", url, NoKey("KEY"))
    replies = [(await ask(model)).reply for _ in range(3)]
    await model.close()
    await asyncio.gather(*lasting.connections)
    server.close()
    assert [reply.text for reply in replies] == ["hi"] * 3
    assert len(lasting.connections) == 1
