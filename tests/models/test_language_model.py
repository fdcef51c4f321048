"""A real language model behind a real server, in the three protocols that llama.cpp speaks.

Part of `make nightly`, which sets ``AGENTCHAT_LANGUAGE_MODEL``: 130 MB are fetched once.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from scripts import local_model, nvim, playback

from agentchat.core.messages import UserText
from agentchat.core.model import Piece, TextDelta
from agentchat.models.api_key import NoKey
from agentchat.models.client import ModelClient
from agentchat.models.protocols.options import ModelOptions, ProtocolName
from tests.models.requests import request, tool

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        "AGENTCHAT_LANGUAGE_MODEL" not in os.environ,
        reason="fetches 130 MB: set AGENTCHAT_LANGUAGE_MODEL=1, or run make nightly",
    ),
]

CALL = r"""
root ::= "<tool_call>{\"name\": \"read\", \"arguments\": {\"path\": \"" [a-z]+ ".py\"}}</tool_call>"
"""
"""A grammar that lets the model write nothing but a call."""

protocols = pytest.mark.parametrize("protocol", ["openai-chat", "openai-responses", "anthropic"])


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with local_model.serving() as url:
        yield url


def language_model(url: str, protocol: ProtocolName, **options: Any) -> ModelClient:
    given = ModelOptions(**{"max_tokens": 24, "temperature": 0.0, **options})
    return ModelClient(
        local_model.NAME, url, NoKey("K"), protocol=protocol, provider="llamacpp", options=given
    )


@protocols
async def test_a_real_answer_streams_and_is_counted(url: str, protocol: ProtocolName) -> None:
    model = language_model(url, protocol)
    pieces: list[Piece] = []
    asked = request(UserText("What is the capital of France?"))
    reply = await model.ask(asked, pieces.append)
    await model.close()
    assert reply.error is None
    assert sum(isinstance(piece, TextDelta) for piece in pieces) > 1
    assert "".join(p.text for p in pieces if isinstance(p, TextDelta)) == reply.text
    assert reply.usage is not None
    assert reply.usage.prompt_tokens > reply.usage.completion_tokens > 1


@protocols
async def test_a_real_answer_stops_at_once_and_the_server_is_free_again(
    url: str, protocol: ProtocolName
) -> None:
    model = language_model(url, protocol, max_tokens=2000)
    heard = asyncio.Event()
    story = request(UserText("Tell me a long story."))
    asking = asyncio.ensure_future(model.ask(story, lambda piece: heard.set()))
    await asyncio.wait_for(heard.wait(), 60)
    began = time.monotonic()
    asking.cancel()
    await asyncio.wait([asking])
    assert time.monotonic() - began < 1
    await model.close()
    short = language_model(url, protocol)
    reply = await asyncio.wait_for(short.ask(request(), lambda piece: None), 60)
    await short.close()
    assert reply.error is None


@protocols
async def test_too_long_a_chat_is_recognised_with_the_window(
    url: str, protocol: ProtocolName
) -> None:
    model = language_model(url, protocol)
    reply = await model.ask(request(UserText("sea " * 12_000)), lambda piece: None)
    await model.close()
    assert reply.finish == "overflow"
    assert model.window == local_model.CONTEXT


async def test_a_call_that_the_model_writes_as_text_becomes_one(url: str) -> None:
    params = {"grammar": CALL, "tool_choice": "none"}
    model = language_model(url, "openai-chat", params=params, max_tokens=60)
    asked = request(UserText("Read the file shop.py"), tools=(tool("read"),))
    reply = await model.ask(asked, lambda piece: None)
    await model.close()
    assert [call.name for call in reply.calls] == ["read"]
    assert reply.calls[0].arguments.endswith('.py"}')


@pytest.mark.timeout(playback.LIMIT + 60)
def test_the_demo_talks_to_it_and_stops_an_answer() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scripts.demo", local_model.NAME],
        cwd=nvim.ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "answered: " in done.stdout
    assert "cancelled after 0." in done.stdout
