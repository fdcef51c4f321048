"""What a model server may send, and what is made of it: cases/streams.md as a table."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest

from agentchat.core.messages import Reply, ToolCall
from agentchat.core.model import CallDelta, ReasoningDelta, TextDelta
from agentchat.models.api_key import FixedKey
from agentchat.models.client import ModelClient
from agentchat.models.protocols.openai_chat import OpenAIChatReader
from agentchat.models.response.body import NOT_AN_ANSWER, NOTHING, WEB_PAGE, BodyReader
from agentchat.models.response.reply import CUT_OFF, FILTERED, ReplyAssembly
from tests.models.notation import ABSENT, C, D, F, T, Z, chunk
from tests.models.requests import request
from tests.support.model_server import ModelServer
from tests.support.replies import raw

LONG_ID = "a+b/c=d|" * 50
EIGHT_MB = "x" * (8 * 1024 * 1024)

Call = tuple[str, str, str]
"""Id as the server sent it, name, arguments."""


@dataclass(frozen=True)
class Case:
    """A body and what it must become; ``error`` is a part of the message."""

    body: str | bytes
    text: str = ""
    calls: tuple[Call, ...] = ()
    finish: str = "stop"
    error: str = ""
    reasoning: str = ""
    tokens: int = 0
    kind: str | None = "text/event-stream"

    @property
    def bytes(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else self.body.encode()


def whole(**message: Any) -> str:
    """One JSON object as a whole answer."""
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps({"object": "chat.completion", "choices": [choice]})


def two_choices() -> str:
    first = {"index": 0, "delta": {"content": "a"}, "finish_reason": None}
    return chunk(choices=[first, {**first, "index": 1, "delta": {"content": "b"}}])


def other_choice(text: str, index: int) -> str:
    return chunk(choices=[{"index": index, "delta": {"content": text}, "finish_reason": None}])


X = ("x", "w", '{"p":1}')
Y = ("y", "w", '{"p":2}')
ONE, TWO = '{"p":1}', '{"p":2}'
TWICE = '{"path":"a","path":"/etc/x"}'

FINISHED = {"index": 0, "delta": {}, "finish_reason": "stop"}

CASES = {
    "S02 comments and pings are ignored": Case(
        f": KEEPALIVE PROCESSING\n\n{C('a')}: x\n\nevent: ping\n\n"
        f'event: ping\ndata: {{"type": "ping"}}\n\n{C("b")}{F("stop")}{Z}',
        text="ab",
    ),
    "S04 lines end in CRLF": Case((C("a") + C("b") + F("stop") + Z).replace("\n", "\r\n"), "ab"),
    "S04 lines end in CR": Case((C("a") + C("b") + F("stop") + Z).replace("\n", "\r"), "ab"),
    "S04 a byte order mark comes first": Case("\ufeff" + C("a") + F("stop") + Z, "a"),
    "S04 no blank after the colon": Case((C("a") + F("stop") + Z).replace("data: ", "data:"), "a"),
    "S04 one event in two data lines": Case(
        'data: {"choices":[{"index":0,\ndata: "delta":{"content":"a"}}]}\n\n' + F("stop") + Z, "a"
    ),
    "S06 an end without a finish reason": Case(C("a") + Z, "a", finish="unknown"),
    "S06 an end without its blank line": Case(C("a") + "data: [DONE]", "a", finish="unknown"),
    "S08 the stream ends in a call": Case(
        T(0, "x", "edit", '{"path":"a"}'),
        calls=(("x", "edit", '{"path":"a"}'),),
        finish="unknown",
        error=CUT_OFF,
    ),
    "S08 the stream ends in the middle of an event": Case(
        C("a") + T(0, "x", "edit", "{}")[:-9],
        text="a",
        finish="unknown",
        error=CUT_OFF,
    ),
    "S10 calls with the finish reason stop": Case(
        T(0, "x", "ls", "{}") + F("stop") + Z, calls=(("x", "ls", "{}"),)
    ),
    "S12 two calls without an index": Case(
        T(ABSENT, "x", "w", ONE) + T(ABSENT, "y", "w", TWO) + F("tool_calls") + Z,
        calls=(X, Y),
        finish="tool_calls",
    ),
    "S12 two calls with the same index": Case(
        T(0, "x", "w", ONE) + T(0, "y", "w", TWO) + F("tool_calls") + Z,
        calls=(X, Y),
        finish="tool_calls",
    ),
    "two calls with the same id at two indexes": Case(
        T(0, "x", "w", "")
        + T(0, ABSENT, ABSENT, ONE)
        + T(1, "x", "r", "")
        + T(1, ABSENT, ABSENT, "{}")
        + F("tool_calls")
        + Z,
        calls=(X, ("x", "r", "{}")),
        finish="tool_calls",
    ),
    "S14 two calls with the same index and no id": Case(
        T(0, ABSENT, "w", "{}") + T(0, ABSENT, "r", "{}") + F("stop") + Z,
        calls=(("call_1", "w", "{}"), ("call_2", "r", "{}")),
    ),
    "S16 the id is said again with the rest": Case(
        T(0, "x", "w", '{"p"') + T(0, "x", ABSENT, ":1}") + F("tool_calls"),
        calls=(X,),
        finish="tool_calls",
    ),
    "S16 the id and the name are said again with the rest": Case(
        T(0, "x", "w", '{"p"') + T(0, "x", "w", ":1}") + F("stop") + Z, calls=(X,)
    ),
    "S16 the id is empty in the rest": Case(
        T(0, "x", "w", '{"p"') + T(0, "", "", ":1}") + F("stop") + Z, calls=(X,)
    ),
    "a new id with every piece belongs to the call at its index": Case(
        T(0, "x", "w", '{"p"') + T(0, "z", None, ":1}") + F("stop") + Z, calls=(X,)
    ),
    "an id that comes after the name": Case(
        T(0, ABSENT, "w", "") + T(0, "x", ABSENT, ONE) + F("stop") + Z, calls=(X,)
    ),
    "calls whose pieces alternate": Case(
        T(0, "x", "w", '{"p"')
        + T(1, "y", "w", '{"p"')
        + T(0, ABSENT, ABSENT, ":1}")
        + T(1, ABSENT, ABSENT, ":2}")
        + F("tool_calls")
        + Z,
        calls=(X, Y),
        finish="tool_calls",
    ),
    "S18 the id is null": Case(
        T(0, None, "w", '{"p"') + T(0, None, None, ":1}") + F("stop") + Z,
        calls=(("call_1", "w", ONE),),
    ),
    "S20 an id of 400 characters": Case(
        T(0, LONG_ID, "w", ONE) + F("stop") + Z, calls=((LONG_ID, "w", ONE),)
    ),
    "S22 a name in pieces": Case(
        T(0, "x", "ed", ABSENT) + T(0, ABSENT, "it", "{}") + F("stop") + Z,
        calls=(("x", "edit", "{}"),),
    ),
    "S24 arguments that are an object": Case(
        T(0, "x", "w", {"p": 1}) + F("stop") + Z, calls=(("x", "w", '{"p": 1}'),)
    ),
    **{
        f"S24 arguments {said!r}": Case(
            T(0, "x", "w", said) + F("stop") + Z, calls=(("x", "w", "{}"),)
        )
        for said in ("", None, "{}", "  \n")
    },
    "S24 arguments absent": Case(T(0, "x", "w", ABSENT) + F("stop") + Z, calls=(("x", "w", "{}"),)),
    "S26 two objects in one call": Case(
        T(0, "x", "w", ONE + TWO) + F("stop") + Z, calls=(("x", "w", ONE + TWO),)
    ),
    "S26 two objects in one call, in pieces": Case(
        T(0, "x", "w", ONE) + T(0, "x", ABSENT, TWO) + F("stop") + Z,
        calls=(("x", "w", ONE + TWO),),
    ),
    "S28 a key twice": Case(T(0, "x", "r", TWICE) + F("stop") + Z, calls=(("x", "r", TWICE),)),
    "S30 a name with an invisible character": Case(
        T(0, "x", "edit\u200b", "{}") + F("stop") + Z, calls=(("x", "edit\u200b", "{}"),)
    ),
    "S32 the whole call once more at the end": Case(
        T(0, "x", "w", '{"p"')
        + T(0, ABSENT, ABSENT, ":1}")
        + T(0, "x", "w", '{"p": 1}')
        + F("tool_calls")
        + Z,
        calls=(X,),
        finish="tool_calls",
    ),
    "S32 the whole call once more, without ids": Case(
        T(0, ABSENT, "w", ONE) + T(0, ABSENT, "w", ONE) + F("stop") + Z,
        calls=(("call_1", "w", ONE),),
    ),
    "two calls of one name, without ids": Case(
        T(0, ABSENT, "w", ONE) + T(0, ABSENT, "w", TWO) + F("stop") + Z,
        calls=(("call_1", "w", ONE), ("call_2", "w", TWO)),
    ),
    "one call without ids whose name is said with every piece": Case(
        T(0, ABSENT, "w", '{"p"') + T(0, ABSENT, "w", ":1}") + F("stop") + Z,
        calls=(("call_1", "w", ONE),),
    ),
    "a legacy function call in pieces": Case(
        D({"function_call": {"name": "w", "arguments": ""}})
        + D({"function_call": {"arguments": '{"p"'}})
        + D({"function_call": {"arguments": ":1}"}})
        + F("function_call")
        + Z,
        calls=(("call_1", "w", ONE),),
        finish="tool_calls",
    ),
    "a legacy function call beside the same call": Case(
        D(
            {
                "tool_calls": [
                    {"index": 0, "id": "x", "function": {"name": "w", "arguments": ONE}}
                ],
                "function_call": {"name": "w", "arguments": ONE},
            }
        )
        + F("stop")
        + Z,
        calls=(X,),
    ),
    "a legacy function call in one JSON object": Case(
        whole(content=None, function_call={"name": "w", "arguments": ONE}),
        calls=(("call_1", "w", ONE),),
    ),
    "a legacy function call that is cut off": Case(
        D({"function_call": {"name": "w", "arguments": '{"p"'}}),
        calls=(("call_1", "w", '{"p"'),),
        finish="unknown",
        error=CUT_OFF,
    ),
    **{
        f"S34 role {role!r}": Case(D({"role": role, "content": "a"}) + C("b") + F("stop") + Z, "ab")
        for role in ("", None, "assistant")
    },
    "S36 usage in a chunk of its own": Case(
        C("a") + F("stop") + 'data: {"choices":[],"usage":{"total_tokens":9}}\n\n' + Z,
        text="a",
        tokens=9,
    ),
    "S36 usage inside the choice that finishes": Case(
        C("a") + chunk(choices=[{**FINISHED, "usage": {"total_tokens": 9}}]) + Z,
        text="a",
        tokens=9,
    ),
    "S36 a count that is no number": Case(
        C("a") + F("stop") + 'data: {"choices":[],"usage":{"total_tokens":Infinity}}\n\n' + Z,
        text="a",
    ),
    "S38 chunks with nothing in them": Case(
        chunk(id="c")
        + chunk(choices=None)
        + chunk(choices=[])
        + chunk(choices=[{"index": 0}])
        + chunk(choices=[{"index": 0, "delta": None}])
        + "data: 1\n\ndata: null\n\n"
        + C("a")
        + F("stop")
        + Z,
        text="a",
    ),
    "S40 reasoning under two names": Case(
        D({"reasoning": "hm", "reasoning_content": "hm"}) + C("a") + F("stop") + Z,
        text="a",
        reasoning="hm",
    ),
    "reasoning in tags": Case(
        C("<think>\nhm, <b>\n</think>\n\na <think>b</think>") + F("stop") + Z,
        text="a <think>b</think>",
        reasoning="hm, <b>\n",
    ),
    "reasoning in tags that are split over chunks": Case(
        "".join(C(sign) for sign in " <think>h</t</think> a") + F("stop") + Z,
        text="a",
        reasoning="h</t",
    ),
    "reasoning in a tag that is not closed": Case(
        C("<think>hm</thin") + F("stop") + Z, reasoning="hm</thin"
    ),
    "reasoning in tags with nothing in them": Case(
        C("<think>\n\n</think>\n\na") + F("stop") + Z, text="a"
    ),
    "reasoning in tags in one JSON object": Case(
        whole(content="<think>hm</think>a"), text="a", reasoning="hm"
    ),
    "a tag that only looks like reasoning": Case(
        C(" <th") + C("ing> a") + F("stop") + Z, text=" <thing> a"
    ),
    "the beginning of a tag and no more": Case(C("<thin") + Z, text="<thin", finish="unknown"),
    "a tag that comes after text": Case(
        C("a") + C("<think>b</think>") + F("stop") + Z, text="a<think>b</think>"
    ),
    "S42 only reasoning": Case(D({"reasoning": "hm"}) + F("stop") + Z, reasoning="hm"),
    "S44 an error object": Case(
        C("a") + T(0, "x", "w", ONE) + 'data: {"object":"error","message":"boom"}\n\n' + Z,
        text="a",
        calls=(X,),
        finish="unknown",
        error="boom",
    ),
    "S44 an error event": Case(
        C("a") + "event: error\ndata: boom\n\n", text="a", finish="unknown", error="boom"
    ),
    "S44 an error field": Case(
        C("a") + 'data: {"error":{"message":"boom","code":500}}\n\n' + F("stop") + Z,
        text="a",
        finish="unknown",
        error="boom",
    ),
    "S44 an error as the finish reason": Case(
        C("a") + F("error") + Z, text="a", finish="unknown", error="error"
    ),
    "S44 no error at all": Case(chunk(error=None) + C("a") + F("stop") + Z, text="a"),
    "something that is not JSON": Case(
        C("a") + "data: oops\n\n" + C("b") + F("stop") + Z,
        text="a",
        finish="unknown",
        error="not JSON: oops",
    ),
    "S46 a web page": Case(
        "\n <!doctype html><p>Welcome", finish="unknown", error=WEB_PAGE, kind="text/html"
    ),
    "S46 one JSON object": Case(whole(content="a"), text="a", kind="application/json"),
    "S46 one JSON object with calls": Case(
        whole(content=None, tool_calls=[{"id": "x", "function": {"name": "w", "arguments": ONE}}]),
        calls=(X,),
    ),
    "S46 one JSON object with an error": Case(
        '{"error": {"message": "boom"}}', finish="unknown", error="boom"
    ),
    "S46 one JSON object that is no answer": Case(
        '{"status": "fine"}', finish="unknown", error=NOT_AN_ANSWER
    ),
    "S46 one JSON object, torn": Case(
        whole(content="a")[:-5], finish="unknown", error=NOT_AN_ANSWER
    ),
    "S46 no content type, a stream": Case(C("a") + F("stop") + Z, text="a", kind=None),
    "S46 no content type, an object": Case(whole(content="a"), text="a", kind=None),
    "S46 no content type, a page": Case("<html>", finish="unknown", error=WEB_PAGE, kind=None),
    "S46 nothing": Case("", finish="unknown", error=NOTHING),
    "S48 a choice that is numbered 1": Case(
        other_choice("a", 1) + other_choice("b", 1) + Z, "ab", finish="unknown"
    ),
    "S48 two choices in one chunk": Case(two_choices() + F("stop") + Z, "a"),
    "S48 two choices in turn": Case(C("a") + other_choice("b", 1) + C("c") + F("stop") + Z, "ac"),
    "S50 data after the finish": Case(
        C("a") + F("stop") + C("b") + T(0, "x", "w", "{}") + chunk(usage={"total_tokens": 7}) + Z,
        text="a",
        tokens=7,
    ),
    "S50 data after the end": Case(
        C("a") + Z + C("b") + chunk(choices=[], usage={"total_tokens": 7}),
        text="a",
        finish="unknown",
        tokens=7,
    ),
    "S50 an error after the finish": Case(
        C("a") + F("stop") + 'data: {"error": "late"}\n\n' + Z, text="a"
    ),
    "S52 characters that a terminal would obey": Case(
        C("\x1b[31m\u202e\x00") + F("stop") + Z, "\x1b[31m\u202e\x00"
    ),
    "half a character in one chunk, half in the next": Case(
        'data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n\n'
        'data: {"choices":[{"delta":{"content":"\\ude00b"}}]}\n\n' + F("stop") + Z,
        text="a\U0001f600b",
    ),
    "half a character and no more": Case(
        'data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n\n' + F("stop") + Z, text="a\ufffd"
    ),
    "characters of several bytes": Case(
        'data: {"choices":[{"delta":{"content":"é𝄞\u2028"}}]}\n\n' + F("stop") + Z, text="é𝄞\u2028"
    ),
    "text in parts": Case(
        D({"content": [{"type": "text", "text": "a"}, {"type": "image"}]}) + F("stop") + Z, "a"
    ),
    "the length limit in a call": Case(
        T(0, "x", "w", ONE) + T(1, "y", "w", '{"p":') + F("length") + Z,
        calls=(X, ("y", "w", '{"p":')),
        finish="length",
    ),
    "a content filter": Case(
        C("a") + T(0, "x", "w", ONE) + F("content_filter") + Z,
        text="a",
        calls=(X,),
        finish="content_filter",
        error=FILTERED,
    ),
}


def body_reader(used_ids: tuple[str, ...] = (), model: str = "") -> BodyReader:
    return BodyReader(OpenAIChatReader(ReplyAssembly(used_ids, model)))


def check(case: Case, reply: Reply) -> None:
    """The reply is what the case says."""
    assert reply.text == case.text
    assert reply.reasoning == case.reasoning
    assert tuple((c.provider_id, c.name, c.arguments) for c in reply.calls) == case.calls
    assert reply.finish == case.finish
    if case.error:
        assert reply.error is not None
        assert case.error in reply.error
        assert all(call.cut_off for call in reply.calls)
    else:
        assert reply.error is None
    if case.tokens:
        assert reply.usage is not None
        assert reply.usage.total_tokens == case.tokens


@pytest.mark.parametrize("size", [1, 7, 1 << 20], ids=["bytes", "sevens", "at-once"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_an_answer_is_what_its_bytes_say_however_they_are_cut(case: Case, size: int) -> None:
    body = case.bytes
    answer = body_reader(model="m")
    for at in range(0, len(body), size):
        answer.add(body[at : at + size])
    answer.end()
    check(case, answer.reply())


async def test_every_answer_is_the_same_over_http(server: ModelServer) -> None:
    model = ModelClient("m", server.url, FixedKey("k", "KEY"))
    for name, case in CASES.items():
        server.script(raw(case.bytes, 200, **({"Content_Type": case.kind} if case.kind else {})))
        reply = await model.ask(request(), lambda piece: None)
        assert seen(reply) == seen(fed(case)), name
    await model.close()


def fed(case: Case) -> Reply:
    """The reply from the body alone."""
    answer = body_reader(model="m")
    answer.add(case.bytes)
    answer.end()
    return answer.reply()


def seen(reply: Reply) -> object:
    """The reply but for what the client makes up: ids, and the usage of an answer cut short."""
    parts = (replace(p, id="") if isinstance(p, ToolCall) else p for p in reply.parts)
    return replace(reply, parts=tuple(parts), usage=reply.counted)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_pieces_add_up_to_the_reply(case: Case) -> None:
    answer = body_reader()
    pieces = [*answer.add(case.bytes), *answer.end()]
    reply = answer.reply()
    assert "".join(p.text for p in pieces if isinstance(p, TextDelta)) == reply.text
    assert "".join(p.text for p in pieces if isinstance(p, ReasoningDelta)) == reply.reasoning
    told = {p.id for p in pieces if isinstance(p, CallDelta)}
    assert told == {call.id for call in reply.calls}


def assembled(body: str, taken: tuple[str, ...] = ()) -> tuple[ToolCall, ...]:
    answer = body_reader(taken)
    answer.add(body.encode())
    answer.end()
    return answer.reply().calls


def test_an_id_that_the_chat_has_seen_becomes_unique_and_the_server_hears_its_own() -> None:
    (call,) = assembled(T(0, "call_0", "w", "{}") + F("stop") + Z, ("call_0", "call_0~2"))
    assert (call.id, call.provider_id) == ("call_0~3", "call_0")


def test_a_made_up_id_is_new_in_the_chat_and_is_what_the_server_hears() -> None:
    (call,) = assembled(T(0, None, "w", "{}") + F("stop") + Z, ("call_2",))
    assert call.id == call.provider_id == "call_3"


def test_only_the_last_call_is_cut_by_the_length_limit() -> None:
    first, second = assembled(T(0, "x", "w", ONE) + T(1, "y", "w", '{"p":2}') + F("length") + Z)
    assert (first.cut_off, second.cut_off) == (False, True)


def test_a_call_is_cut_off_where_the_stream_broke_even_if_it_looks_whole() -> None:
    (call,) = assembled(T(0, "x", "w", ONE))
    assert call.cut_off


def test_a_call_is_reported_while_it_grows_but_not_with_every_letter() -> None:
    text = json.dumps({"content": "x" * 20_000})
    body = T(0, "x", "write", "") + "".join(T(0, ABSENT, ABSENT, sign) for sign in text)
    answer = body_reader()
    pieces = answer.add((body + F("stop") + Z).encode())
    reports = [piece for piece in pieces if isinstance(piece, CallDelta)]
    assert 20 < len(reports) < 400
    assert sum(len(report.arguments) for report in reports) < 20 * len(text)
    assert all(text.startswith(report.arguments) for report in reports)


def test_an_event_of_eight_megabytes_is_taken() -> None:
    answer = body_reader()
    body = (C(EIGHT_MB) + F("stop") + Z).encode()
    for at in range(0, len(body), 65536):
        answer.add(body[at : at + 65536])
    assert answer.reply().text == EIGHT_MB


def test_a_line_without_end_is_given_up() -> None:
    answer = body_reader()
    megabyte = b"x" * (1 << 20)
    answer.add(C("a").encode() + b"data: ")
    for _ in range(65):
        answer.add(megabyte)
    reply = answer.reply()
    assert reply.text == "a"
    assert reply.error is not None
    assert "larger than" in reply.error
