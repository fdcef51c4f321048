"""Questions that a server asks the user in the middle of a call.

A form becomes questions, one for each field, and the answers are checked against its schema. An
address is shown in full, with its host, and never opened: that is the user's to do.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from itertools import chain, repeat
from typing import Any
from urllib.parse import urlsplit

from agentchat.core.errors import ToolError
from agentchat.core.frontend import AnswerOption, Frontend, UserQuestion
from agentchat.core.text import clip, escape_hidden_characters

DECLINE = AnswerOption("Decline", "Tell the server that you do not answer")
MOST_TRIES = 3
LONGEST_TEXT = 2_000

FORMATS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "email": ("an email address", re.compile(r"[^@\s]+@[^@\s]+").fullmatch),
    "uri": ("an address like https://example.org", re.compile(r"[A-Za-z][\w+.-]*:\S+").fullmatch),
    "date": ("a date like 2026-11-30", date.fromisoformat),
    "date-time": ("a time like 2026-11-30T12:00:00Z", datetime.fromisoformat),
}
"""The formats of texts: what is wanted, and a check that fails or returns nothing for others."""

Answer = Mapping[str, Any]
"""The ``action`` (accept, decline or cancel) and the ``content`` of a form."""


class FieldError(Exception):
    """An answer does not fit its field; the message says what does."""


class Elicitation:
    """Puts the questions of a server to the user, one form after the other."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def ask(
        self, server: str, params: Mapping[str, Any], frontend: Frontend | None
    ) -> Answer:
        """Return the user's answer to a form or an address."""
        if frontend is None:
            return {"action": "cancel"}
        async with self._lock:
            try:
                if params.get("mode") == "url":
                    return await _ask_about_address(server, params, frontend)
                return await _ask_form(server, params, frontend)
            except ToolError:  # nobody is there to answer
                return {"action": "cancel"}


async def _ask_about_address(server: str, params: Mapping[str, Any], frontend: Frontend) -> Answer:
    url = str(params.get("url") or "")
    question = (
        f"The MCP server {server} wants you to open a page of {_visible(_host(url))}: "
        f'"{_visible(params.get("message"))}" The address: {escape_hidden_characters(url)}'
    )
    agree = AnswerOption("Done", "You opened it yourself")
    return await _ask_to_go_on(question, agree, frontend)


async def _ask_form(server: str, params: Mapping[str, Any], frontend: Frontend) -> Answer:
    schema = params.get("requestedSchema") or {}
    fields: Mapping[str, Any] = schema.get("properties") or {}
    required = frozenset(schema.get("required") or ())
    question = f'The MCP server {server} asks: "{_visible(params.get("message"))}"'
    if fields:
        question += f" It wants: {_visible(', '.join(fields))}"
    agree = AnswerOption("Answer", "The server gets your answers")
    consent = await _ask_to_go_on(question, agree, frontend)
    if consent["action"] != "accept":
        return consent
    content: dict[str, Any] = {}
    for name, field in fields.items():
        answer = await _ask_field(name, field, name in required, frontend)
        if answer is None:
            return {"action": "cancel"}
        content.update(answer)
    return {"action": "accept", "content": content}


async def _ask_to_go_on(question: str, agree: AnswerOption, frontend: Frontend) -> Answer:
    asked = UserQuestion(question, "MCP", (agree, DECLINE), is_open=False)
    answers = await frontend.ask([asked])
    if not answers:
        return {"action": "cancel"}
    return {"action": "accept" if agree.label in answers[0] else "decline"}


async def _ask_field(
    name: str, field: Mapping[str, Any], required: bool, frontend: Frontend
) -> dict[str, Any] | None:
    """Return the value of a field by its name, nothing if it is left out; ``None``: cancelled."""
    problem = ""
    for _ in range(MOST_TRIES):
        answers = await frontend.ask([field_question(name, field, required, problem)])
        if not answers:
            return None
        texts = [text for text in answers[0] if text]
        if not texts and "default" in field:
            return {name: field["default"]}
        if not texts and not required:
            return {}
        try:
            return {name: field_value(field, texts)}
        except FieldError as error:
            problem = str(error)
    return None


def field_question(
    name: str, field: Mapping[str, Any], required: bool, problem: str = ""
) -> UserQuestion:
    """Return the question for a field; ``problem`` is what was wrong with the last answer."""
    title = _visible(field.get("title") or name)
    about = _visible(field.get("description"))
    lines = [f"{problem}\n" if problem else "", title if required else f"{title} (optional)", about]
    default = field.get("default")
    if default is not None:
        lines.append(f"Default: {_visible(default)}")
    options = tuple(
        AnswerOption(_visible(value), _visible(title)) for value, title in choices(field).items()
    )
    is_list = field.get("type") == "array"
    return UserQuestion(
        question="\n".join(line for line in lines if line),
        header="MCP",
        options=options,
        multi_select=is_list,
        is_open=False,
        is_optional=is_list or not required,
    )


def choices(field: Mapping[str, Any]) -> dict[str, str]:
    """Return the values of a field that has a choice of them, with their titles."""
    if field.get("type") == "boolean":
        return {"true": "", "false": ""}
    shape = (field.get("items") or {}) if field.get("type") == "array" else field
    variants = shape.get("oneOf") or shape.get("anyOf") or ()
    titled = {str(each.get("const")): str(each.get("title") or "") for each in variants}
    names = [*(shape.get("enumNames") or ())]
    values = shape.get("enum") or ()
    return titled | dict(zip(map(str, values), chain(map(str, names), repeat("")), strict=False))


def field_value(field: Mapping[str, Any], texts: Sequence[str]) -> Any:
    """Return what the user wrote or chose as a value of the field; raises FieldError."""
    known = {_visible(choice): choice for choice in choices(field)}
    if known and not set(texts) <= known.keys():
        raise FieldError(f"Choose one of {', '.join(known)}.")
    values = [known.get(text, text) for text in texts]
    kind = field.get("type")
    if kind == "array":
        return _checked_list(field, values)
    text = "\n".join(values)
    if kind == "boolean":
        return text == "true"
    if kind in ("integer", "number"):
        return _number(field, text)
    return _checked_text(field, text)


def _number(field: Mapping[str, Any], text: str) -> float | int:
    try:
        value = int(text) if field.get("type") == "integer" else float(text)
    except ValueError:
        kind = "a whole number" if field.get("type") == "integer" else "a number"
        raise FieldError(f"Write {kind}.") from None
    low, high = field.get("minimum"), field.get("maximum")
    if low is not None and value < low:
        raise FieldError(f"Write a number of at least {low}.")
    if high is not None and value > high:
        raise FieldError(f"Write a number of at most {high}.")
    return value


def _checked_list(field: Mapping[str, Any], values: list[str]) -> list[str]:
    low, high = field.get("minItems") or 0, field.get("maxItems")
    if len(values) < low:
        raise FieldError(f"Choose at least {low}.")
    if high is not None and len(values) > high:
        raise FieldError(f"Choose at most {high}.")
    return values


def _checked_text(field: Mapping[str, Any], text: str) -> str:
    low, high = field.get("minLength") or 0, field.get("maxLength")
    if len(text) < max(low, 1):
        raise FieldError(f"Write at least {max(low, 1)} characters.")
    if high is not None and len(text) > high:
        raise FieldError(f"Write at most {high} characters.")
    wanted, is_valid = FORMATS.get(field.get("format") or "", ("", None))
    try:
        if is_valid is not None and not is_valid(text):
            raise ValueError
    except ValueError:
        raise FieldError(f"Write {wanted}.") from None
    return text


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or "an unknown host"
    except ValueError:
        return "an unknown host"


def _visible(value: Any) -> str:
    return escape_hidden_characters(clip(str(value or ""), LONGEST_TEXT))
