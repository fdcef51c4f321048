"""What went wrong with a model server, in one line that ends in what to do."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SAID_CHARACTERS = 300
"""How much of a server's own words is shown."""

_OVERFLOW = re.compile(
    r"context[ _-]?(length|size|window)|maximum context|prompt is too long|too many tokens"
    r"|exceeds? the (available|model)|reduce the length|input is too long",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer other than 200: ``said`` is the server's own message in one line."""

    status: int
    said: str = ""
    code: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def overflow(self) -> bool:
        """Whether the request was too long for the model."""
        if self.status not in (400, 413, 422, 500):
            return False
        return "context_length" in self.code or bool(_OVERFLOW.search(self.said))

    def names(self, parameter: str) -> bool:
        """Whether the server refused the request because of that parameter."""
        return self.status in (400, 404, 405, 422, 500, 501) and parameter in self.said


def refusal(status: int, headers: Mapping[str, str], body: bytes) -> Refusal:
    """Read a server's refusal; ``body`` is JSON with an ``error``, or any text."""
    text = body.decode("utf-8", "replace")
    said, code = text, ""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        error = value.get("error", value)
        said = _message(error) or text
        code = str(error.get("code") or "") if isinstance(error, dict) else ""
    elif text.lstrip().startswith("<"):
        said = "a web page"
    return Refusal(status, one_line(said), code, {k.lower(): v for k, v in headers.items()})


def explain(refused: Refusal, url: str, model: str, key_hint: str, biggest: str) -> str:
    """Return the line for the user.

    Args:
        url: the base URL.
        key_hint: where the key comes from, as a sentence without its full stop.
        biggest: which part of the request is the biggest.
    """
    status, said = refused.status, f": {refused.said.rstrip('.')}" if refused.said else ""
    if status in (401, 403):
        return f"{url} refused the key ({status}). {key_hint}."
    if refused.overflow:
        return (
            f"The conversation is too long for {model}{said}. The biggest part is {biggest}. "
            "Start a new chat with :AgentChat!, or choose another model with :AgentModel."
        )
    if status == 404:
        return (
            f"{url} answered 404{said}. Check the model's name ({model}) and base_url, "
            "which usually ends in /v1."
        )
    if refused.code == "insufficient_quota":
        return f"{url} has no quota left for this key (429){said}. Check the plan and the billing."
    if status == 429:
        return f"{url} takes no more requests now (429){said}. Try again later."
    if status >= 500:
        return f"{url} failed with status {status}{said}. Try again, or look at the server's log."
    return f"{url} refused the request ({status}){said}. Choose another model with :AgentModel."


def biggest_part(body: Mapping[str, Any]) -> str:
    """Name the biggest part of a request, with its size."""
    parts = {"the tools' schemas": _size(body.get("tools"))}
    for message in body["messages"]:
        name = _PARTS.get(message["role"], "a message")
        parts[name] = max(parts.get(name, 0), _size(message))
    name = max(parts, key=lambda part: parts[part])
    return f"{name} ({max(1, parts[name] // 1024)} KiB)"


_PARTS = {
    "system": "the system prompt",
    "user": "a message of the user",
    "assistant": "an answer of the model",
    "tool": "a tool's result",
}


def one_line(text: str) -> str:
    """Return text on one line, bounded."""
    line = " ".join(text.split())
    return line if len(line) <= SAID_CHARACTERS else line[: SAID_CHARACTERS - 1] + "…"


def _message(error: object) -> str:
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail")
    return error if isinstance(error, str) else ""


def _size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")) if value else 0
