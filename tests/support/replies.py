"""What a scripted model says: one reply is a list of parts, sent in order.

``text("Hello")`` and ``calls(call("read", {"path": "a"}))`` are the usual ones; ``stream`` mixes
text, reasoning, calls, holds and hang-ups; ``status`` and ``raw`` answer without a stream.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

_ids = itertools.count(1)


@dataclass(frozen=True)
class Call:
    """One tool call; ``arguments`` is JSON text, sent in pieces of ``size`` characters."""

    name: str
    arguments: str
    id: str
    size: int = 16


@dataclass(frozen=True)
class Reasoning:
    """A piece of ``reasoning_content``."""

    text: str


@dataclass(frozen=True)
class Raw:
    """Bytes put into the stream as they stand."""

    data: bytes


@dataclass(frozen=True)
class Hold:
    """Wait here until ``gate`` is set, or the client hangs up."""

    gate: threading.Event


@dataclass(frozen=True)
class Hangup:
    """Close the connection here, without an end of the stream."""


Part = str | Call | Reasoning | Raw | Hold | Hangup


@dataclass(frozen=True)
class Reply:
    """One answer of the server.

    ``usage`` counts the tokens of prompt and answer; None counts what was really sent.
    ``parts`` are streamed in order and end in ``finish`` (None: no finish reason is sent), usage
    if the client asked for it, and ``[DONE]`` if ``done``. A reply with ``status`` other than 200
    or with a ``body`` is sent whole instead.
    """

    parts: Sequence[Part] = ()
    finish: str | None = "stop"
    done: bool = True
    usage: tuple[int, int] | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None

    @property
    def whole(self) -> bool:
        return self.body is not None


def call(
    name: str, arguments: Mapping[str, Any] | str | None = None, id: str | None = None
) -> Call:
    """A tool call; a mapping becomes JSON, a string is sent as it stands."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return Call(name, text, f"call_{next(_ids)}" if id is None else id)


def text(content: str, *, size: int | None = None, **more: Any) -> Reply:
    """A reply of text in pieces of ``size`` characters (default: words)."""
    return Reply(tuple(_pieces(content, size)), **more)


def calls(*wanted: Call, say: str = "", **more: Any) -> Reply:
    """A reply of tool calls, after the text ``say``."""
    more.setdefault("finish", "tool_calls")
    return Reply((*_pieces(say, None), *wanted), **more)


def stream(*parts: Part, **more: Any) -> Reply:
    """A reply part by part; the finish reason follows from what is in it."""
    has_calls = any(isinstance(part, Call) for part in parts)
    more.setdefault("finish", "tool_calls" if has_calls else "stop")
    return Reply(parts, **more)


def held(reply: Reply, gate: threading.Event) -> Reply:
    """The same reply, begun only when ``gate`` is set."""
    return replace(reply, parts=(Hold(gate), *reply.parts))


def status(code: int, message: str = "refused", **headers: str) -> Reply:
    """An error status; ``Retry_After="2"`` becomes the header ``Retry-After: 2``."""
    body = json.dumps({"error": {"message": message, "type": "error", "code": str(code)}})
    return Reply(status=code, body=body.encode(), headers=_headers(headers))


def raw(body: bytes, code: int = 200, **headers: str) -> Reply:
    """A body sent as it stands, with ``Content_Type="text/html"`` and the like as headers."""
    return Reply(status=code, body=body, headers=_headers(headers))


def _headers(named: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in named.items()}


def _pieces(content: str, size: int | None) -> list[str]:
    if size is None:
        return content.replace(" ", " \0").split("\0") if content else []
    return [content[at : at + size] for at in range(0, len(content), size)]
