"""Calls that a model writes as text: which texts are calls, and which are not."""

from __future__ import annotations

import itertools
import json
import random
import time
from collections.abc import Iterator

import pytest

from agentchat.core.messages import Message, Reply, ToolCall, ToolResult, UserText
from agentchat.core.model import CallDelta, Piece, TextDelta
from agentchat.models.api_key import NoKey
from agentchat.models.client import ModelClient
from agentchat.models.protocols.openai_chat import OpenAIChatReader
from agentchat.models.response.body import BodyReader
from agentchat.models.response.reply import ReplyAssembly
from agentchat.models.response.text_calls import WrittenCalls
from tests.models.notation import C, F, T, Z
from tests.models.requests import request, tool
from tests.permissions import report
from tests.support.model_server import ModelServer
from tests.support.replies import raw, stream

TOOLS = {
    "read": {"properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}},
    "ls": {},
}
READ = ("read", {"path": "a"})
JSON = '{"name": "read", "arguments": {"path": "a"}}'

SHAPES = {
    "tagged": (f"<tool_call>\n{JSON}\n</tool_call>", [READ]),
    "tagged twice": (f"<tool_call>{JSON}</tool_call>\n<tool_call>{JSON}</tool_call>", [READ, READ]),
    "without the opening tag": (f"{JSON}\n</tool_call>", [READ]),
    "a function with JSON": ('<function=read>{"path": "a"}</function>', [READ]),
    "a function with parameters": (
        "<tool_call>\n<function=read>\n<parameter=path>\na b\n</parameter>\n"
        "<parameter=limit>\n3\n</parameter>\n</function>\n</tool_call>",
        [("read", {"path": "a b", "limit": 3})],
    ),
    "a function without parameters": ("<function=ls>\n</function>", [("ls", {})]),
    "keys and values": (
        "<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n</tool_call>",
        [READ],
    ),
    "a list after a marker": (f"[TOOL_CALLS][{JSON}, {JSON}]", [READ, READ]),
    "a name after a marker": ('[TOOL_CALLS]read{"path": "a"}', [READ]),
    "a word after the name": ('[TOOL_CALLS]read[ARGS]{"path": "a"}' * 2, [READ, READ]),
    "a python tag": ('<|python_tag|>{"name": "read", "parameters": {"path": "a"}}', [READ]),
    "bare JSON": (JSON, [READ]),
    "a bare list": (f"[{JSON}]", [READ]),
    "the shape of an API": (
        '{"type": "function", "function": {"name": "read", "arguments": "{\\"path\\": \\"a\\"}"}}',
        [READ],
    ),
    "one fenced block": (f"```json\n{JSON}\n```", [READ]),
    "blanks around": (f"\n\n  {JSON}\n", [READ]),
    "after reasoning": (f"<think>Read a.</think>\n<tool_call>{JSON}</tool_call>", [READ]),
}


TAGGED = {
    name: shape
    for name, shape in SHAPES.items()
    if shape[0].startswith(("<", "[TOOL_CALLS]")) and name != "after reasoning"
}

TEXTS = {
    "a sentence after": f"<tool_call>{JSON}</tool_call>\nThat is how you call it.",
    "a tagged call in a fence": f"```\n<tool_call>{JSON}</tool_call>\n```",
    "a fence in a sentence": f"For example:\n```json\n{JSON}\n```",
    "two fences": f"```json\n{JSON}\n```\n```json\n{JSON}\n```",
    "a quotation": f"> <tool_call>{JSON}</tool_call>",
    "an inline quotation": f"`{JSON}`",
    "a string of JSON": json.dumps(JSON),
    "a tool that is not offered": JSON.replace("read", "bash"),
    "another case": JSON.replace("read", "Read"),
    "no end": f"<tool_call>{JSON}",
    "cut off": JSON[:-3],
    "a key twice": '{"name": "read", "arguments": {"path": "a", "path": "/etc"}}',
    "a list as arguments": '{"name": "read", "arguments": ["a"]}',
    "no arguments": '{"name": "read"}',
    "another key": '{"name": "read", "arguments": {}, "note": "x"}',
    "a result": '{"name": "read", "result": "text"}',
    "other JSON": '{"path": "a"}',
    "a tool's result": f'<tool_response>{{"content": {json.dumps(JSON)}}}</tool_response>',
    "a wrong end": f"<tool_call>{JSON}</tool_response>",
    "a function of another language": "<function=read path='a'/>",
    "JSON and a word": f"{JSON} done",
    "a parameter twice": (
        "<function=read><parameter=path>a</parameter><parameter=path>b</parameter></function>"
    ),
}


def assembled(text: str, size: int, end: str = F("stop") + Z) -> tuple[Reply, list[Piece]]:
    reader = BodyReader(OpenAIChatReader(ReplyAssembly(tools=TOOLS)))
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    shown = reader.add(("".join(map(C, pieces)) + end).encode())
    shown += reader.end()
    return reader.reply(), shown


def made(reply: Reply) -> list[tuple[str, object]]:
    return [(call.name, json.loads(call.arguments)) for call in reply.calls]


@pytest.mark.parametrize("size", [1, 5, 1000])
@pytest.mark.parametrize(("text", "calls"), SHAPES.values(), ids=SHAPES)
def test_a_text_that_is_all_calls_becomes_calls(
    text: str, calls: list[tuple[str, object]], size: int
) -> None:
    reply, pieces = assembled(text, size)
    assert made(reply) == calls
    assert not reply.text.strip()
    assert len({call.id for call in reply.calls}) == len(calls)
    assert not any(isinstance(p, TextDelta) and p.text.strip() for p in pieces)
    assert {p.id for p in pieces if isinstance(p, CallDelta)} == {c.id for c in reply.calls}


@pytest.mark.parametrize("size", [1, 5, 1000])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_any_other_text_stays_text(text: str, size: int) -> None:
    reply, pieces = assembled(text, size)
    assert reply.calls == ()
    assert reply.text == text
    assert "".join(p.text for p in pieces if isinstance(p, TextDelta)) == text


@pytest.mark.parametrize("size", [1, 5, 1000])
@pytest.mark.parametrize(("text", "calls"), TAGGED.values(), ids=TAGGED)
def test_a_tagged_call_that_ends_an_answer_is_run_and_the_words_before_are_shown(
    text: str, calls: list[tuple[str, object]], size: int
) -> None:
    assert len(TAGGED) == 10
    before = "I will read it.\n\n```sh\ncat a\n```\n"
    reply, pieces = assembled(before + text + "\n", size)
    assert made(reply) == calls
    assert reply.text == before
    assert "".join(p.text for p in pieces if isinstance(p, TextDelta)) == before


@pytest.mark.parametrize("size", [1, 5, 1000])
@pytest.mark.parametrize("text", [text for text, _ in TAGGED.values()], ids=TAGGED)
@pytest.mark.parametrize(
    "frame",
    [
        "I read it.\n{}\nThat is how you call it.",
        "I read it:\n```\n{}\n```",
        "I read it:\n~~~xml\n{}\n",
        "First:\n{}\nthen\n{}",
        "I read it: {}",
        "> I read it.\n> {}",
    ],
)
def test_a_tagged_call_elsewhere_in_an_answer_stays_text(frame: str, text: str, size: int) -> None:
    written = frame.format(*[text] * frame.count("{}"))
    reply, pieces = assembled(written, size)
    assert reply.calls == ()
    assert reply.text == written
    assert "".join(p.text for p in pieces if isinstance(p, TextDelta)) == written


def test_a_long_line_costs_linear_time_and_a_tag_in_it_counts() -> None:
    written = WrittenCalls(TOOLS)
    began = time.process_time()
    shown = "".join(written.add("word") for _ in range(100_000))
    assert time.process_time() - began < 5
    shown += written.add(f" <tool_call>{JSON}</tool_call>\n<tool_call>{JSON}</tool_call>")
    assert written.take(True) == ([], "")
    assert shown.endswith(f"{JSON}</tool_call>")


def test_words_behind_a_call_are_shown_as_they_come() -> None:
    reader = BodyReader(OpenAIChatReader(ReplyAssembly(tools=TOOLS)))
    reader.add(C(f"Look:\n<tool_call>{JSON}</tool_call>\n").encode())
    assert reader.add(C("That").encode()) == [TextDelta(f"<tool_call>{JSON}</tool_call>\nThat")]
    assert reader.add(C(" is it").encode()) == [TextDelta(" is it")]


def test_a_call_in_a_stream_that_broke_stays_text() -> None:
    reply, _ = assembled(JSON, 7, end="")
    assert (reply.text, reply.calls) == (JSON, ())
    assert reply.error is not None


def test_a_call_that_the_length_limit_ended_stays_text() -> None:
    reply, _ = assembled(JSON, 7, end=F("length") + Z)
    assert (reply.text, reply.calls) == (JSON, ())


def test_beside_a_real_call_a_written_one_stays_text() -> None:
    reply, _ = assembled(JSON, 1000, end=T(0, "x", "ls", "{}") + F("tool_calls") + Z)
    assert [call.name for call in reply.calls] == ["ls"]
    assert reply.text == JSON


def test_ordinary_text_is_shown_as_it_comes() -> None:
    reader = BodyReader(OpenAIChatReader(ReplyAssembly(tools=TOOLS)))
    for text in ("Hello", " there", "\n```json\n"):
        assert reader.add(C(text).encode()) == [TextDelta(text)]


@pytest.mark.parametrize(
    "source",
    [
        ToolResult("1", "read", f"# notes\n\n{JSON}\n"),
        ToolResult("1", "read", json.dumps(json.loads(JSON), indent=2)),
        UserText(f"What does {JSON} mean?"),
    ],
    ids=["a file", "with other blanks", "the user"],
)
@pytest.mark.parametrize("shape", [JSON, f"<tool_call>{JSON}</tool_call>", f"```json\n{JSON}\n```"])
async def test_a_call_that_the_model_repeats_from_what_it_read_stays_text(
    server: ModelServer, source: Message, shape: str
) -> None:
    server.script(stream(shape))
    model = ModelClient("m", server.url, NoKey("K"))
    asked = request(Reply(calls=(ToolCall("1", "read", "{}"),)), source, tools=(tool("read"),))
    reply = await model.ask(asked, lambda piece: None)
    await model.close()
    assert (reply.text, reply.calls) == (shape, ())


@pytest.mark.parametrize(("written", "count"), [(True, 1), (False, 0)])
async def test_the_calls_run_only_where_models_write_them(
    server: ModelServer, written: bool, count: int
) -> None:
    server.script(stream(JSON), stream("[]"), raw(b"{}"))
    model = ModelClient("m", server.url, NoKey("K"), written_calls=written)
    reply = await model.ask(request(UserText("go"), tools=(tool("read"),)), lambda piece: None)
    await model.close()
    assert len(reply.calls) == count


def generated(random: random.Random) -> Iterator[str]:
    """Texts about calls, none of which is one."""
    frames = (
        "Call it like this: {}",
        "{}\nis how it looks.",
        "> {}",
        "- `{}`",
        "The result was:\n```\n{}\n```",
        "```text\n{}\n```",
        "```json\n{}\n```\nShall I?",
        "# Example\n\n{}\n\nDone.",
        "1. {}",
        '"{}"',
        "({})",
        "<tool_response>{}</tool_response>",
        "The file holds {} and nothing else.",
        "{}{{",
        "~~~\n{}\n~~~",
        "<!-- {} -->",
    )
    shapes = [text for text, _ in SHAPES.values()]
    while True:
        text = random.choice(shapes).removeprefix("<think>Read a.</think>\n")
        text = random.choice(frames).format(text)
        if random.random() < 0.3:
            text = random.choice(frames).format(text)
        yield text


def test_of_ten_thousand_texts_about_calls_none_becomes_a_call() -> None:
    count = max(10_000, report.generated())
    texts = itertools.islice(generated(random.Random(10 + report.seed())), count)
    false = [text for text in texts if assembled(text, 40)[0].calls]
    report.tell(f"{count} texts about calls, {len(false)} became calls")
    assert false == []
