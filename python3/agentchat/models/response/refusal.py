"""An answer other than 200: what the server means, and what the user can do about it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import field

from agentchat.core.frozen import frozen
from agentchat.models.response.overflow import is_overflow

MESSAGE_CHARACTERS = 300
"""How much of a server's own message is shown."""

NOT_THERE = frozenset({404, 405, 501})
"""Statuses of a path or a model that the server does not have."""

NOT_NOW = frozenset({408, 409, 425})
"""Statuses of a request that came too late or in between; the same one may be taken."""

_NO_TOOLS = re.compile(
    r"not support (tool|function)|support tool use|(tool|function)[ _-]?calling\W+is not", re.I
)


@frozen
class ServerRefusal:
    """``message`` is the server's own, in one line; ``code`` its name for the error."""

    status: int
    message: str = ""
    code: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def short(self) -> str:
        """What is shown while a try is awaited."""
        return f"The server answered {self.status}"

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
    named = {name.lower(): value for name, value in headers.items()}
    if isinstance(value, dict):
        error = value.get("error", value)
        message = _message(error) or text
        code = _code(error)
        named = {**_retry_delay(error), **named}
    elif text.lstrip().startswith("<"):
        message = "a web page"
    return ServerRefusal(status=status, message=one_line(message), code=code, headers=named)


def explain(
    refusal: ServerRefusal, *, url: str, model: str, protocol: str, key_hint: str, biggest: str
) -> str:
    """Return the line for the user.

    Args:
        url: the base URL.
        key_hint: where the key comes from, as a sentence without its full stop.
        biggest: which part of the request is the biggest.
    """
    status = refusal.status
    message = f": {refusal.message.rstrip('.!? ')}" if refusal.message else ""
    if status // 100 == 3:
        target = refusal.headers.get("location", "another place")
        return f"{url} redirects to {one_line(target)} ({status}). Set base_url to that server."
    if status in (401, 403):
        answer = f" The server says{message}." if message and status == 403 else ""
        return f"{url} refused the key ({status}). {key_hint}.{answer}"
    if refusal.is_overflow:
        return (
            f"The conversation is too long for {model}{message}. The biggest part is {biggest}. "
            "Start a new chat with :AgentChat!, or choose another model with :AgentModel."
        )
    if _NO_TOOLS.search(refusal.message):
        return f"{model} cannot call tools ({status}){message}. Choose another with :AgentModel."
    if status in NOT_THERE:
        return (
            f"{url} answered {status}{message}. Check the model's name ({model}) and base_url, "
            f"which usually ends in /v1, and the protocol ({protocol})."
        )
    return _explain_status(refusal, url, message)


def _explain_status(refusal: ServerRefusal, url: str, message: str) -> str:
    status = refusal.status
    if status == 402 or refusal.code == "insufficient_quota":
        return (
            f"{url} has no quota left for this key ({status}){message}. "
            "Check the plan and the billing."
        )
    if status == 407:
        return f"The proxy refused the request (407){message}. Check the proxy settings."
    if status in NOT_NOW:
        return f"{url} did not take the request ({status}){message}. Send it again."
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
    """Return what an error says; a router adds the words of the server behind it."""
    behind = error.get("metadata") if isinstance(error, dict) else None
    raw = behind.get("raw") if isinstance(behind, dict) else None
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail")
    text = error if isinstance(error, str) else ""
    return f"{text}: {raw}" if isinstance(raw, str) and raw else text


def _retry_delay(error: object) -> dict[str, str]:
    """Return the wait that Gemini names in the body, in the form of a header."""
    details = error.get("details") if isinstance(error, dict) else None
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and delay.endswith("s"):
            return {"retry-after": delay[:-1]}
    return {}


def _code(error: object) -> str:
    """Return the name of an error; a number says no more than the status."""
    if not isinstance(error, dict):
        return ""
    named = (str(error.get(key) or "") for key in ("code", "type"))
    names = [name for name in named if name]
    return next((name for name in names if not name.isdigit()), names[0] if names else "")
