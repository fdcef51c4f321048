"""What a request costs, by the price list that the plugin uses."""

from __future__ import annotations

import asyncio
import dataclasses
import sys
from typing import Any

import pytest

from agentchat.core.messages import Reply, Usage, UserText
from agentchat.core.model import Model, ModelRequest, Piece, StoppedUsage, TextDelta
from agentchat.models.prices import PriceList
from agentchat.models.select import choose_model
from tests.models.notation import C
from tests.models.protocol_server import events
from tests.models.raw_server import HEAD, sends, serving, waits
from tests.models.requests import request
from tests.models.test_anthropic import said, start
from tests.support.model_server import ModelServer
from tests.support.replies import text

MILLION = 1_000_000


async def cost(prices: PriceList, **usage: Any) -> float | None:
    counted = dataclasses.replace(Usage(), **usage)
    reply = await prices.add_cost(Reply("x", usage=counted))
    assert reply.usage is not None
    return reply.usage.cost


async def test_reads_from_the_cache_and_writes_to_it_have_their_own_price() -> None:
    prices = PriceList("anthropic", "claude-opus-4-6")
    plain = await cost(prices, prompt_tokens=1000)
    read = await cost(prices, prompt_tokens=1000, cache_read_tokens=1000)
    written = await cost(prices, prompt_tokens=1000, cache_write_tokens=1000)
    answer = await cost(prices, completion_tokens=1000)
    assert plain is not None
    assert [read, written, answer] == pytest.approx([plain * 0.1, plain * 1.25, plain * 5])


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("openai", "gpt-5"),
        ("gemini", "gemini-2.5-pro"),
        ("openrouter", "anthropic/claude-sonnet-4.5"),
        ("deepseek", "deepseek-chat"),
        ("mistral", "mistral-large-latest"),
        ("groq", "llama-3.3-70b-versatile"),
        ("xai", "grok-4"),
        ("azure", "gpt-4o"),
    ],
)
async def test_every_provider_that_charges_has_prices(provider: str, model: str) -> None:
    assert await cost(PriceList(provider, model), prompt_tokens=MILLION)


@pytest.mark.parametrize("provider", ["openai", "github", "nobody"])
async def test_the_price_of_an_unknown_model_is_not_known(provider: str) -> None:
    assert await cost(PriceList(provider, "test-model"), prompt_tokens=MILLION) is None


WORDS = "word " * 600
"""500 tokens, at six bytes each."""


@pytest.mark.parametrize("is_stopped", [True, False])
@pytest.mark.parametrize(
    ("provider", "name", "begin", "prompt", "dollars"),
    [
        ("openai", "gpt-4o", C(WORDS).encode(), 1001, 1001 * 2.5 + 500 * 10),
        (
            "anthropic",
            "claude-opus-4-6",
            events(start(input_tokens=9000), *said(WORDS)).body,
            9000,
            57_500,
        ),
    ],
)
async def test_an_answer_that_breaks_off_costs_at_least_what_was_sent_and_came(
    provider: str, name: str, begin: bytes, prompt: int, dollars: float, is_stopped: bool
) -> None:
    end = waits if is_stopped else sends
    async with serving(end(HEAD, begin)) as server:
        settings = {"provider": provider, "name": name, "base_url": server.url}
        model = choose_model(settings, {})
        asked = request(UserText("x" * 6000))
        used = await _broken_off(model, asked, is_stopped=is_stopped)
    assert used is not None
    assert used.is_lower_bound
    assert (used.prompt_tokens, used.completion_tokens) == (prompt, 500)
    assert used.cost == pytest.approx(dollars / MILLION)


async def _broken_off(model: Model, asked: ModelRequest, *, is_stopped: bool) -> Usage | None:
    """Ask, stop where the server falls silent after the text, and return what that used."""
    pieces: list[Piece] = []
    whole = asyncio.Event()

    def take(piece: Piece) -> None:
        pieces.append(piece)
        if sum(len(piece.text) for piece in pieces if isinstance(piece, TextDelta)) == len(WORDS):
            whole.set()

    asking = asyncio.ensure_future(model.ask(asked, take))
    await whole.wait()
    if not is_stopped:
        return (await asking).usage
    asking.cancel()
    await asyncio.wait([asking])
    last = pieces[-1]
    return last.usage if isinstance(last, StoppedUsage) else None


async def test_counts_that_contradict_each_other_have_no_price() -> None:
    prices = PriceList("anthropic", "claude-opus-4-6")
    assert await cost(prices, prompt_tokens=1, cache_read_tokens=9) is None


async def test_what_the_server_says_counts() -> None:
    assert await cost(PriceList("openrouter", "x"), prompt_tokens=1, cost=0.25) == 0.25


@pytest.mark.parametrize("provider", ["ollama", "llamacpp", "vllm", "lmstudio"])
async def test_a_server_of_ones_own_costs_nothing(provider: str, server: ModelServer) -> None:
    settings = {"provider": provider, "name": "m", "base_url": server.url}
    model = choose_model({**settings, "protocol": "openai-chat"}, {})
    server.script(text("ok"))
    reply = await model.ask(request(), lambda piece: None)
    await model.close()
    assert reply.usage is not None
    assert reply.usage.cost == 0


async def test_the_library_is_loaded_in_another_process_which_may_die() -> None:
    code = (
        "import asyncio, os, signal, sys\n"
        "from agentchat.core.messages import Usage\n"
        "from agentchat.models import prices\n"
        "def cost():\n"
        "    asked = prices.PriceList('openai', 'gpt-5').cost_of(Usage(prompt_tokens=1000))\n"
        "    return asyncio.run(asked)\n"
        "first = cost()\n"
        "prices._process._running.kill()\n"
        "prices._process._running.wait()\n"
        "print(first > 0, cost() == first, 'genai_prices' in sys.modules)\n"
    )
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE, env={"PYTHONPATH": "python3"}
    )
    answer, _ = await child.communicate()
    assert answer.split() == [b"True", b"True", b"False"]
