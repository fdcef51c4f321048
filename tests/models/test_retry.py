"""How long to wait before a request is sent again."""

from __future__ import annotations

from email.utils import formatdate

import pytest

from agentchat.models.retry import RetryPolicy, is_worth_retrying, retry_after

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("2", 2.0),
        ("0", 0.0),
        ("1.5", 1.5),
        ("1e9", 60.0),
        ("inf", 60.0),
        (formatdate(NOW + 7, usegmt=True), 7.0),
        (formatdate(NOW - 7, usegmt=True), 0.0),
        (formatdate(NOW + 1e6, usegmt=True), 60.0),
    ],
)
def test_the_server_is_obeyed_up_to_a_minute(said: str, seconds: float) -> None:
    asked = retry_after({"retry-after": said}, NOW)
    assert RetryPolicy().delay(1, asked) == seconds


@pytest.mark.parametrize("said", ["", "-1", "nan", "soon", "Sat, 99 Foo"])
def test_a_server_that_says_nothing_usable_is_asked_after_a_growing_while(said: str) -> None:
    assert retry_after({"retry-after": said}, NOW) is None
    assert [RetryPolicy().delay(tried, None) for tried in (1, 2, 3, 9)] == [0.5, 1.0, 2.0, 8.0]


def test_milliseconds_come_first() -> None:
    assert retry_after({"retry-after-ms": "1500", "retry-after": "9"}, NOW) == 1.5


@pytest.mark.parametrize(
    ("status", "headers", "code", "again"),
    [
        (429, {}, "", True),
        (500, {}, "", True),
        (529, {}, "", True),
        (408, {}, "", False),
        (400, {}, "", False),
        (429, {}, "insufficient_quota", False),
        (503, {"x-should-retry": "false"}, "", False),
    ],
)
def test_only_what_may_pass_is_tried_again(
    status: int, headers: dict[str, str], code: str, again: bool
) -> None:
    assert is_worth_retrying(status, headers, code) is again
