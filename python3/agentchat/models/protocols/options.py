"""What the user sets about a model, checked: sampling, limits and parameters of the request."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import KW_ONLY, field
from typing import Any, Literal, cast, get_args

from agentchat.core.errors import UserError
from agentchat.core.frozen import frozen

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How much a model reasons."""

ProtocolName = Literal["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"]

EFFORTS: tuple[Effort, ...] = get_args(Effort)
PROTOCOL_NAMES: tuple[ProtocolName, ...] = get_args(ProtocolName)

RESERVED_PARAMS = frozenset(
    {"model", "messages", "input", "contents", "stream", "system", "instructions", "tools"}
)
"""Parts of a request that ``params`` cannot replace."""


@frozen
class ModelOptions:
    """What every request of a model has; None leaves a value to the server.

    Args:
        max_tokens: the most tokens of an answer.
        context: the window in tokens.
        params: further fields of the request, as the server's protocol names them.
    """

    _: KW_ONLY

    effort: Effort | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    context: int | None = None
    params: Mapping[str, Any] = field(default_factory=dict)


def read_options(settings: Mapping[str, Any]) -> ModelOptions:
    """Return the options in ``g:agentchat.model``.

    Raises:
        UserError: one is of the wrong type or out of range.
    """
    return ModelOptions(
        effort=cast(Effort | None, _choice(settings, "effort", EFFORTS)),
        temperature=_temperature(settings.get("temperature")),
        max_tokens=_whole(settings, "max_tokens", 1),
        context=_whole(settings, "context", 512),
        params=_params(settings.get("params")),
    )


def read_protocol(settings: Mapping[str, Any]) -> ProtocolName | None:
    """Return the protocol in ``g:agentchat.model``; raises UserError if there is no such."""
    return cast(ProtocolName | None, _choice(settings, "protocol", PROTOCOL_NAMES))


def _choice(settings: Mapping[str, Any], key: str, choices: tuple[str, ...]) -> str | None:
    value = settings.get(key)
    if value is None or value in choices:
        return value
    near = difflib.get_close_matches(str(value), choices, n=1)
    guess = f" Did you mean {near[0]!r}?" if near else ""
    raise UserError(
        f"Unknown {key} {value!r} in g:agentchat.model.{guess} Known are: {', '.join(choices)}."
    )


def _temperature(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 2:
        return float(value)
    raise UserError(
        f"temperature in g:agentchat.model must be a number from 0 to 2, got {value!r}."
    )


def _whole(settings: Mapping[str, Any], key: str, least: int) -> int | None:
    value = settings.get(key)
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer():  # Lua has no other numbers
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= least:
        return value
    raise UserError(
        f"{key} in g:agentchat.model must be a whole number, at least {least}, got {value!r}."
    )


def _params(value: object) -> Mapping[str, Any]:
    if value is None or value == []:  # an empty table of Lua
        return {}
    if not isinstance(value, Mapping):
        raise UserError(f"params in g:agentchat.model must be a table, got {value!r}.")
    reserved = sorted(RESERVED_PARAMS & set(value))
    if reserved:
        raise UserError(
            f"params in g:agentchat.model cannot hold {reserved[0]!r}: the chat sets it itself."
        )
    return value
