"""The scripted model server, seen through the official client of its protocol."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import openai
import pytest

from tests.support.model_server import ModelServer
from tests.support.replies import (
    Hangup,
    Hold,
    Reasoning,
    call,
    calls,
    held,
    raw,
    status,
    stream,
    text,
)

pytestmark = pytest.mark.slow

HELLO: Any = [{"role": "user", "content": "hello"}]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    server = ModelServer()
    yield server
    server.close()


@pytest.fixture
def client(server: ModelServer) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.url, api_key="k", max_retries=0, timeout=10)


def chunks(client: openai.OpenAI, **more: Any) -> list[Any]:
    options = {"stream_options": {"include_usage": True}, **more}
    return list(client.chat.completions.create(model="m", messages=HELLO, stream=True, **options))


def said(received: list[Any]) -> str:
    deltas = [chunk.choices[0].delta for chunk in received if chunk.choices]
    return "".join(delta.content or "" for delta in deltas)


def test_text_arrives_in_pieces_and_ends_with_usage(
    server: ModelServer, client: openai.OpenAI
) -> None:
    server.script(text("one two three", usage=(7, 3)))
    received = chunks(client)
    assert said(received) == "one two three"
    assert len([c for c in received if c.choices and c.choices[0].delta.content]) == 3
    assert received[-1].usage.total_tokens == 10


def test_calls_arrive_with_their_arguments_in_pieces(
    server: ModelServer, client: openai.OpenAI
) -> None:
    server.script(calls(call("read", {"path": "a/long/path/to/a/file.py"}), call("ls")))
    deltas = [c.choices[0].delta for c in chunks(client) if c.choices]
    parts = [part for delta in deltas for part in delta.tool_calls or []]
    assert [part.function.name for part in parts if part.function.name] == ["read", "ls"]
    first = "".join(part.function.arguments for part in parts if part.index == 0)
    assert first == '{"path": "a/long/path/to/a/file.py"}'
    assert len(parts) > 4


def test_a_request_that_does_not_stream_gets_one_answer(
    server: ModelServer, client: openai.OpenAI
) -> None:
    server.script(stream("hi ", Reasoning("hm"), "there", call("ls")))
    answer = client.chat.completions.create(model="m", messages=HELLO)
    assert answer.choices[0].message.content == "hi there"
    assert answer.choices[0].finish_reason == "tool_calls"


def test_requests_are_recorded_with_headers_body_and_time(
    server: ModelServer, client: openai.OpenAI
) -> None:
    server.script(text("x"))
    chunks(client)
    (request,) = server.requests
    assert request.headers["authorization"] == "Bearer k"
    assert request.last == "hello"
    assert request.at > 0


def test_a_reply_waits_at_a_hold_until_it_is_released(
    server: ModelServer, client: openai.OpenAI
) -> None:
    gate = threading.Event()
    server.script(stream("before ", Hold(gate), "after"))
    response = client.chat.completions.create(model="m", messages=HELLO, stream=True)
    seen = [next(iter(response)), next(iter(response))]
    gate.set()
    assert said([*seen, *response]) == "before after"


def test_a_client_that_hangs_up_in_a_hold_is_noticed(
    server: ModelServer, client: openai.OpenAI
) -> None:
    server.script(held(text("never"), threading.Event()))
    response = client.chat.completions.create(model="m", messages=HELLO, stream=True)
    response.close()
    assert server.requests[0].hung_up.wait(5)


def test_a_hangup_cuts_the_stream(server: ModelServer, client: openai.OpenAI) -> None:
    server.script(stream("half", Hangup()))
    with pytest.raises(Exception, match=r"(?i)connection|peer|incomplete"):
        chunks(client)


def test_a_status_comes_with_its_headers(server: ModelServer, client: openai.OpenAI) -> None:
    server.script(status(429, "slow down", Retry_After="2"))
    with pytest.raises(openai.RateLimitError, match="slow down") as caught:
        chunks(client)
    assert caught.value.response.headers["retry-after"] == "2"


def test_raw_bytes_are_sent_as_they_stand(server: ModelServer, client: openai.OpenAI) -> None:
    server.script(raw(b"<html>", Content_Type="text/html"))
    answer = client.chat.completions.with_raw_response.create(model="m", messages=HELLO)
    assert answer.content == b"<html>"


def test_replies_can_wait_for_the_request_they_fit(
    server: ModelServer, client: openai.OpenAI
) -> None:
    server.script(text("other"), when="something else")
    server.script(text("mine"), when="hello")
    assert said(chunks(client)) == "mine"


def test_a_request_without_a_scripted_reply_fails_the_check(
    server: ModelServer, client: openai.OpenAI
) -> None:
    with pytest.raises(openai.InternalServerError, match="No reply is scripted"):
        chunks(client)
    with pytest.raises(AssertionError, match="'hello'"):
        server.check()


def test_the_models_are_listed(server: ModelServer, client: openai.OpenAI) -> None:
    server.models = ["a", "b"]
    assert [model.id for model in client.models.list()] == ["a", "b"]
