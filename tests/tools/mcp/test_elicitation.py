"""Questions of servers, asked of a user who answers by a script."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from agentchat.core.frontend import Diagnostic, UserQuestion
from agentchat.tools.mcp.elicitation import Elicitation, FieldError, field_question, field_value

FORM = {
    "message": "Which\u202e?",
    "requestedSchema": {
        "properties": {
            "size": {"type": "string", "enum": ["small", "large"]},
            "count": {"type": "integer", "minimum": 1, "maximum": 9},
            "sure": {"type": "boolean"},
            "note": {"type": "string", "title": "A note"},
        },
        "required": ["size", "count", "sure"],
    },
}


class User:
    """Gives the next answer to each question; an empty list closes it."""

    def __init__(self, *answers: str | None) -> None:
        self._answers = list(answers)
        self.asked: list[UserQuestion] = []

    async def ask(self, questions: Sequence[UserQuestion]) -> Sequence[tuple[str, ...]]:
        self.asked += questions
        answer = self._answers.pop(0)
        return [] if answer is None else [(answer,) if answer else ()]

    async def diagnostics(
        self, path: str | None = None, severity: str | None = None
    ) -> Sequence[Diagnostic]:
        return ()


async def ask(user: User, params: dict[str, Any] = FORM) -> Any:
    return await Elicitation().ask("shop", params, user)


async def test_a_form_is_asked_field_by_field_and_checked() -> None:
    user = User("Answer", "small", "ten", "10", "3", "true", "")
    assert await ask(user) == {
        "action": "accept",
        "content": {"size": "small", "count": 3, "sure": True},
    }
    texts = [question.question for question in user.asked]
    assert texts[0].startswith('The MCP server shop asks: "Which<U+202E>?"')
    assert texts[3] == "Write a whole number.\n\ncount"
    assert texts[4] == "Write a number of at most 9.\n\ncount"
    assert texts[6] == "A note (optional)"
    assert [option.label for option in user.asked[1].options] == ["small", "large"]
    assert not any(question.is_open for question in user.asked)
    assert [question.is_optional for question in user.asked[5:]] == [False, True]


LETTERS = {"type": "array", "items": {"enum": ["a", "b"]}}


@pytest.mark.parametrize(
    ("field", "answer", "value"),
    [
        ({"type": "string", "format": "email"}, ["a@b"], "a@b"),
        ({"type": "string", "format": "date"}, ["2026-02-28"], "2026-02-28"),
        ({"type": "string", "format": "of tomorrow"}, ["x"], "x"),
        (LETTERS, ["b"], ["b"]),
    ],
)
def test_an_answer_that_fits_its_field_is_sent(
    field: dict[str, Any], answer: list[str], value: Any
) -> None:
    assert field_value(field, answer) == value


@pytest.mark.parametrize(
    ("field", "answer", "problem"),
    [
        ({"type": "string", "format": "email"}, ["ab"], "Write an email address."),
        ({"type": "string", "format": "uri"}, ["x y"], "Write an address like https://exam"),
        ({"type": "string", "format": "date"}, ["2026-02-30"], "Write a date like 2026-11-30."),
        ({"type": "string", "format": "date-time"}, ["now"], "Write a time like 2026-11-30T"),
        ({**LETTERS, "minItems": 2}, ["a"], "Choose at least 2."),
        ({**LETTERS, "maxItems": 1}, ["a", "b"], "Choose at most 1."),
    ],
)
def test_an_answer_that_does_not_fit_its_field_is_refused(
    field: dict[str, Any], answer: list[str], problem: str
) -> None:
    with pytest.raises(FieldError, match=problem):
        field_value(field, answer)


@pytest.mark.parametrize(
    "field",
    [
        {"oneOf": [{"const": "h1", "title": "Superman"}, {"const": "h2"}]},
        {
            "type": "array",
            "items": {"anyOf": [{"const": "h1", "title": "Superman"}, {"const": "h2"}]},
        },
        {"enum": ["h1", "h2"], "enumNames": ["Superman"]},
    ],
)
def test_choices_are_shown_with_their_titles(field: dict[str, Any]) -> None:
    options = field_question("hero", field, required=True).options
    assert [(option.label, option.description) for option in options] == [
        ("h1", "Superman"),
        ("h2", ""),
    ]


async def test_an_answer_that_is_left_empty_takes_the_default() -> None:
    form = {"requestedSchema": {"properties": {"n": {"type": "integer", "default": 42}}}}
    answer = await ask(User("Answer", ""), form)
    assert answer == {"action": "accept", "content": {"n": 42}}


@pytest.mark.parametrize(
    ("answers", "action"),
    [(("Decline",), "decline"), ((None,), "cancel"), (("Answer", None), "cancel")],
)
async def test_a_form_can_be_declined_and_closed(
    answers: tuple[str | None, ...], action: str
) -> None:
    assert await ask(User(*answers)) == {"action": action}


async def test_an_address_is_shown_in_full_with_its_host() -> None:
    url = "https://user@evil.example:8443/a?b=c#d"
    user = User("Done")
    assert await ask(user, {"mode": "url", "message": "Pay", "url": url}) == {"action": "accept"}
    assert 'open a page of evil.example: "Pay"' in user.asked[0].question
    assert url in user.asked[0].question


async def test_without_anybody_to_ask_a_server_is_told_so() -> None:
    assert await Elicitation().ask("shop", FORM, None) == {"action": "cancel"}
