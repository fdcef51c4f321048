"""What a request costs, by the price list that the plugin uses."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from agentchat.core.messages import Reply, Usage
from agentchat.models.prices import PriceList
from agentchat.models.select import choose_model
from tests.models.requests import request
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
