"""Noticing a server that silently cuts the prompt."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentchat.core.messages import History, Image, Reply, ToolCall, UserText
from agentchat.core.model import ModelRequest, Notice, Piece
from agentchat.models.api_key import NoKey
from agentchat.models.client import ModelClient
from agentchat.models.token_estimate import TokenEstimate, part_sizes
from tests.models.requests import request, tool
from tests.support.model_server import ModelServer
from tests.support.replies import text


def size_of(request: ModelRequest) -> int:
    return sum(size for _, size in part_sizes(request))


def said(characters: int) -> ModelRequest:
    return ModelRequest(system="", history=History((UserText("x" * characters),)))


def test_a_count_far_below_the_estimate_is_a_warning() -> None:
    warning = TokenEstimate().check(said(60_000), 4096)
    assert warning is not None
    assert "counted 4096 prompt tokens where about 10000 were sent" in warning


@pytest.mark.parametrize(
    ("characters", "counted"),
    [(60_000, 15_000), (60_000, 8_000), (600, 10), (60_000, 100), (60_000, 0)],
    ids=["as usual", "dense", "too small to judge", "made up", "not counted"],
)
def test_other_counts_are_none(characters: int, counted: int) -> None:
    assert TokenEstimate().check(said(characters), counted) is None


def with_tools(characters: int, schemas: int) -> ModelRequest:
    described = replace(tool("read"), description="x" * schemas)
    return replace(said(characters), tools=(described,))


def test_a_count_of_the_messages_alone_means_that_the_template_has_no_tools() -> None:
    warning = TokenEstimate().check(with_tools(2_400, 12_000), 450)
    assert warning is not None
    assert "template seems to have no tools" in warning


@pytest.mark.parametrize("counted", [2_500, 100], ids=["all", "made up"])
def test_other_counts_say_nothing_of_tools(counted: int) -> None:
    assert TokenEstimate().check(with_tools(2_400, 12_000), counted) is None


def test_a_model_that_makes_calls_has_its_tools() -> None:
    assert TokenEstimate().check(with_tools(2_400, 12_000), 450, called=True) is None


def test_a_count_between_the_two_is_a_conversation_that_was_cut() -> None:
    warning = TokenEstimate().check(with_tools(12_000, 60_000), 4_096)
    assert warning is not None
    assert "cut the conversation" in warning


def test_a_request_that_forces_a_tool_is_not_judged_for_that_tool_may_be_sent_alone() -> None:
    forced = replace(with_tools(12_000, 60_000), forced="resolve")
    assert TokenEstimate().check(forced, 4_096) is None


def test_the_estimate_learns_from_the_server() -> None:
    estimate = TokenEstimate()
    assert estimate.check(said(40_000), 10_000) is None
    assert estimate.check(said(80_000), 15_000) is not None
    assert estimate.check(said(80_000), 17_000) is None


def test_images_do_not_count_but_calls_and_schemas_do() -> None:
    seen = UserText("see", images=(Image("image/png", b"x" * 9000),))
    history = History((seen, Reply(calls=(ToolCall("1", "read", "{}"),))))
    assert size_of(ModelRequest(system="", history=history)) == len("seeread{}")
    assert size_of(ModelRequest(system="", history=history, tools=(tool("read"),))) > 5 + 40


async def test_the_user_is_told_once(server: ModelServer) -> None:
    server.script(text("a", usage=(2048, 1)), text("b", usage=(2048, 1)))
    model = ModelClient("m", server.url, NoKey("K"))
    pieces: list[Piece] = []
    for _ in range(2):
        await model.ask(request(UserText("x" * 60_000)), pieces.append)
    await model.close()
    (notice,) = [piece for piece in pieces if isinstance(piece, Notice)]
    assert "seems to cut the conversation" in notice.text
