"""The bytes of the chat-completions protocol: chunks of a stream, or one whole answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from .replies import Call, Hangup, Hold, Raw, Reasoning, Reply

MODEL = "test-model"


def events(reply: Reply, asked: Mapping[str, Any]) -> Iterator[bytes | Hold | Hangup]:
    """The stream of ``reply``: data to send, and the places to wait or to hang up."""
    yield _delta({"role": "assistant"})
    index = 0
    for part in reply.parts:
        if isinstance(part, (Hold, Hangup)):
            yield part
        elif isinstance(part, Call):
            yield from _call(part, index)
            index += 1
        else:
            yield _words(part)
    yield from _ending(reply, asked)


def whole(reply: Reply, asked: Mapping[str, Any]) -> bytes:
    """``reply`` as one JSON answer, for a request that does not stream."""
    message: dict[str, Any] = {"role": "assistant", "content": _all_text(reply) or None}
    wanted = [part for part in reply.parts if isinstance(part, Call)]
    if wanted:
        message["tool_calls"] = [_function(part) for part in wanted]
    choice = {"index": 0, "message": message, "finish_reason": reply.finish}
    answer = {**_head("chat.completion"), "choices": [choice], "usage": usage(reply, asked)}
    return json.dumps(answer).encode()


def usage(reply: Reply, asked: Mapping[str, Any]) -> dict[str, int]:
    """Token counts as the server reports them."""
    prompt, completion = reply.usage or (len(json.dumps(asked)) // 4, 10)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }


def data(value: object) -> bytes:
    """One server-sent event."""
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def _words(part: str | Reasoning | Raw) -> bytes:
    if isinstance(part, Raw):
        return part.data
    if isinstance(part, Reasoning):
        return _delta({"reasoning_content": part.text})
    return _delta({"content": part})


def _call(part: Call, index: int) -> Iterator[bytes]:
    """The first chunk names the call; the arguments follow piece by piece."""
    head = {"index": index, **_function(part), "function": {"name": part.name, "arguments": ""}}
    yield _delta({"tool_calls": [head]})
    for at in range(0, len(part.arguments), part.size):
        piece = {"arguments": part.arguments[at : at + part.size]}
        yield _delta({"tool_calls": [{"index": index, "function": piece}]})


def _function(part: Call) -> dict[str, Any]:
    function = {"name": part.name, "arguments": part.arguments}
    return {"id": part.id, "type": "function", "function": function}


def _ending(reply: Reply, asked: Mapping[str, Any]) -> Iterator[bytes]:
    if reply.finish is not None:
        yield _delta({}, reply.finish)
    options = asked.get("stream_options") or {}
    if options.get("include_usage") and reply.done:
        yield data({**_head(), "choices": [], "usage": usage(reply, asked)})
    if reply.done:
        yield b"data: [DONE]\n\n"


def _delta(delta: dict[str, Any], finish: str | None = None) -> bytes:
    return data({**_head(), "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def _head(kind: str = "chat.completion.chunk") -> dict[str, Any]:
    return {"id": "chatcmpl-test", "object": kind, "created": 0, "model": MODEL}


def _all_text(reply: Reply) -> str:
    return "".join(part for part in reply.parts if isinstance(part, str))
