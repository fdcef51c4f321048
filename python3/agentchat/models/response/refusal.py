"""An answer other than 200: what the server means, and what the user can do about it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from agentchat.models.response.overflow import is_overflow

MESSAGE_CHARACTERS = 300
"""How much of a server's own message is shown."""


@dataclass(frozen=True, slots=True)
class ServerRefusal:
    """``message`` is the server's own, in one line; ``code`` its name for the error."""

    status: int
    message: str = ""
    code: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_overflow(self) -> bool:
        """Whether the request was too long for the model."""
        if self.status not in (400, 413, 422, 500):
            return False
        return self.status == 413 or is_overflow(self.message, self.code)

    def names(self, parameter: str) -> bool:
        """Whether the server refused the request because of that parameter."""
        return self.status in (400, 404, 405, 422, 500, 501) and parameter in self.message


def read_refusal(status: int, headers: Mapping[str, str], body: bytes) -> ServerRefusal:
    """Read a server's refusal; ``body`` is JSON with an ``error``, or any text."""
    text = body.decode("utf-8", "replace")
    message, code = text, ""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, list) and value:  # Gemini wraps its error in a list
        value = value[0]
    if isinstance(value, dict):
        error = value.get("error", value)
        message = _message(error) or text
        code = _code(error)
    elif text.lstrip().startswith("<"):
        message = "a web page"
    return ServerRefusal(
        status=status,
        message=one_line(message),
        code=code,
        headers={name.lower(): value for name, value in headers.items()},
    )


def explain(refusal: ServerRefusal, *, url: str, model: str, key_hint: str, biggest: str) -> str:
    """Return the line for the user.

    Args:
        url: the base URL.
        key_hint: where the key comes from, as a sentence without its full stop.
        biggest: which part of the request is the biggest.
    """
    status = refusal.status
    message = f": {refusal.message.rstrip('.')}" if refusal.message else ""
    if status in (401, 403):
        return f"{url} refused the key ({status}). {key_hint}."
    if refusal.is_overflow:
        return (
            f"The conversation is too long for {model}{message}. The biggest part is {biggest}. "
            "Start a new chat with :AgentChat!, or choose another model with :AgentModel."
        )
    if status == 404:
        return (
            f"{url} answered 404{message}. Check the model's name ({model}) and base_url, "
            "which usually ends in /v1."
        )
    if refusal.code == "insufficient_quota":
        return (
            f"{url} has no quota left for this key (429){message}. Check the plan and the billing."
        )
    if status == 429:
        return f"{url} takes no more requests now (429){message}. Try again later."
    if status >= 500:
        return (
            f"{url} failed with status {status}{message}. Try again, or look at the server's log."
        )
    return f"{url} refused the request ({status}){message}. Choose another model with :AgentModel."


def one_line(text: str) -> str:
    """Return text on one line, bounded."""
    line = " ".join(text.split())
    return line if len(line) <= MESSAGE_CHARACTERS else line[: MESSAGE_CHARACTERS - 1] + "…"


def _message(error: object) -> str:
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail")
    return error if isinstance(error, str) else ""


def _code(error: object) -> str:
    """Return the name of an error; a number says no more than the status."""
    if not isinstance(error, dict):
        return ""
    named = (str(error.get(key) or "") for key in ("code", "type"))
    names = [name for name in named if name]
    return next((name for name in names if not name.isdigit()), names[0] if names else "")
