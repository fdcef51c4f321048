"""The wire form that is kept from request to request, compared with one that is made anew."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentchat.core.messages import (
    Image,
    Message,
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
from agentchat.core.tools.toolset import TOOL_SEARCH
from agentchat.models.protocols import protocol_class
from agentchat.models.protocols.options import PROTOCOL_NAMES, ProtocolName
from agentchat.models.protocols.protocol import WireProtocol
from agentchat.models.protocols.wire_history import KeptJson, encode_body
from agentchat.models.response.refusal import ServerRefusal
from tests.models.requests import request, tool

TEXTS = st.sampled_from(["", " ", "plain", "größer 🙂", 'a "quote"\n', "\ud800"])
IMAGES = st.sampled_from([(), (Image("image/png", b"\x89PNG"),)])
VENDOR = {
    "openai-chat": {"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
    "openai-responses": {"item": {"type": "reasoning", "id": "r", "encrypted_content": "x"}},
    "anthropic": {"type": "thinking", "signature": "s"},
    "gemini": {"thoughtSignature": "s"},
}
FOUND = {"tools": ["write"]}
EXAMPLES = 20


@st.composite
def turns(draw: st.DrawFn, number: int) -> list[Message]:
    """Messages of a turn: of the user, and replies with calls and results, if there are any."""
    turn: list[Message] = [UserText(draw(TEXTS), images=draw(IMAGES))]
    turn += [Note("meanwhile")] * draw(st.integers(0, 1))
    for round_ in range(draw(st.integers(0, 2))):
        calls = [
            ToolCall(f"{number}|{round_}{n}", name, arguments, "given", opaque=VENDOR)
            for n, (name, arguments) in enumerate(
                draw(st.lists(st.sampled_from([("read", '{"a": 1}'), (TOOL_SEARCH, "no")])))
            )
        ]
        parts: tuple[ReplyPart, ...] = (ThinkingPart("hm", VENDOR), TextPart(draw(TEXTS)), *calls)
        model = draw(st.sampled_from(["claude-opus-4-6", "another"]))
        error = draw(st.sampled_from([None, "broken"]))
        turn.append(Reply(parts=parts, model=model, provider="p", error=error))
        answered = calls[: draw(st.integers(0, len(calls)))] if error else calls
        details = FOUND if draw(st.booleans()) else None
        turn += [
            ToolResult(c.id, c.name, draw(TEXTS), Status.SUCCESS, details, draw(IMAGES))
            for c in answered
        ]
    return turn


@st.composite
def conversations(draw: st.DrawFn) -> list[list[Message]]:
    return [draw(turns(number)) for number in range(draw(st.integers(1, 5)))]


def asked(messages: Sequence[Message], reminder: str | None) -> ModelRequest:
    tools = (tool("read"), tool("write"), tool(TOOL_SEARCH))
    late = frozenset({"write"})
    more = {"catalogue": tools, "deferrable": late, "reminder": reminder, "chat": "c"}
    return request(*messages, tools=tools, **more)


def protocol_of(name: ProtocolName) -> WireProtocol:
    return protocol_class(name)("claude-opus-4-6", "p")


def dumped(protocol: WireProtocol, wanted: ModelRequest) -> bytes:
    """Return the JSON of a body as the library makes it."""
    return json.dumps(protocol.body(wanted), ensure_ascii=False).encode("utf-8", "replace")


@pytest.mark.parametrize("name", get_args(ProtocolName))
@settings(max_examples=EXAMPLES, deadline=None)
@given(conversation=conversations(), reminder=st.sampled_from([None, "Now."]), cut=st.booleans())
def test_every_request_has_the_bytes_of_one_that_is_made_anew(
    name: ProtocolName, conversation: list[list[Message]], reminder: str | None, cut: bool
) -> None:
    kept, messages = protocol_of(name), list[Message]()
    for turn in conversation:
        for message in turn:
            messages.append(message)
            wanted = asked(messages, reminder)
            assert encode_body(kept.body(wanted)) == dumped(protocol_of(name), wanted)
        if cut:  # as after a summary
            messages = [Note("summary"), *messages[len(messages) // 2 :]]


@pytest.mark.parametrize("name", ["openai-chat", "openai-responses", "anthropic", "gemini"])
@settings(max_examples=EXAMPLES, deadline=None)
@given(conversation=conversations())
def test_what_the_server_refused_is_not_sent_with_messages_that_are_kept(
    name: ProtocolName, conversation: list[list[Message]]
) -> None:
    kept, fresh = protocol_of(name), protocol_of(name)
    messages = [message for turn in conversation for message in turn]
    refusal = ServerRefusal(400, "thought_signature thinking reasoning_details encrypted")
    wanted = asked(messages, None)
    body = kept.body(wanted)
    kept.adapt(refusal, body, wanted)
    fresh.adapt(refusal, body, wanted)
    assert encode_body(kept.body(wanted)) == dumped(fresh, wanted)


@pytest.mark.parametrize("name", get_args(ProtocolName))
def test_messages_of_earlier_requests_are_not_encoded_again(name: ProtocolName) -> None:
    kept, messages = protocol_of(name), list[Message]()
    for number in range(20):
        messages += [UserText(f"question {number}"), Reply("answer", model="m", provider="p")]
        kept.body(asked(messages, None))
    body = kept.body(asked([*messages, UserText("last")], None))
    sent = next(value for key, value in body.items() if key in ("messages", "input", "contents"))
    new = [message for message in sent if not isinstance(message, KeptJson)]
    assert len(new) <= 4


@pytest.mark.parametrize("protocol", PROTOCOL_NAMES)
@pytest.mark.parametrize(
    "corrupt",
    [
        3, "x", [], [3], None, {"item": 3}, {"item": {"type": 3, "encrypted_content": []}},
        {"type": "thinking", "signature": 3}, {"type": "redacted_thinking"}, {"type": []},
        {"thoughtSignature": {}}, {"id": []}, {"reasoning_details": 3},
        {"reasoning_details": "text"}, {"reasoning_details": [3, None]}, {"extra_content": "x"},
    ],
)  # fmt: skip
def test_corrupt_vendor_data_never_stops_a_request(protocol: ProtocolName, corrupt: Any) -> None:
    opaque: dict[str, Any] = {protocol: corrupt}
    parts = (
        ThinkingPart("hm", opaque),
        TextPart("I read.", opaque),
        ToolCall("a", "read", "{}", "a", opaque=opaque),
    )
    reply = Reply(parts=parts, model="m", provider="p")
    asked = request(UserText("go"), reply, ToolResult("a", "read", "text"))
    body = encode_body(protocol_class(protocol)("m", "p").body(asked))
    assert b"I read." in body
    assert b"text" in body
