"""The notation of the stream cases: D a delta, F a finish, T a piece of a call, Z the end."""

from __future__ import annotations

import json
from typing import Any

Z = "data: [DONE]\n\n"
ABSENT: Any = object()
"""For a key that is left out."""


def chunk(**fields: Any) -> str:
    """One event with these fields at its top level."""
    return f"data: {json.dumps(fields)}\n\n"


def _choice(delta: Any, finish: str | None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return chunk(id="c", object="chat.completion.chunk", choices=[choice])


def D(delta: Any) -> str:  # noqa: N802
    """A delta."""
    return _choice(delta, None)


def F(reason: str) -> str:  # noqa: N802
    """A finish reason."""
    return _choice({}, reason)


def C(text: str) -> str:  # noqa: N802
    """A delta of text."""
    return D({"content": text})


def T(index: Any, id: Any, name: Any, arguments: Any) -> str:  # noqa: N802
    """A piece of a call; ABSENT leaves a key out."""
    function = _present(name=name, arguments=arguments)
    return D({"tool_calls": [_present(index=index, id=id, type="function", function=function)]})


def _present(**fields: Any) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not ABSENT}
