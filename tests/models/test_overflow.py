"""What servers answer when a conversation is too long, and what is learned from it."""

from __future__ import annotations

import json

import pytest

from agentchat.core.messages import History, Reply, UserText
from agentchat.core.model import ModelRequest
from agentchat.models.api_key import NoKey
from agentchat.models.client import ModelClient
from agentchat.models.prices import PriceList
from agentchat.models.protocols import protocol_class
from agentchat.models.protocols.options import PROTOCOL_NAMES, ModelOptions, ProtocolName
from agentchat.models.response.overflow import is_overflow, window_in
from agentchat.models.response.refusal import read_refusal
from agentchat.models.retry import RetryPolicy
from agentchat.models.select import choose_model
from tests.models.protocol_server import Answered, events, in_turn, lines, refusal, serving

REQUEST = ModelRequest(system="", history=History((UserText("hello"),)))

TEXTS: list[tuple[str, int | None]] = [
    (
        "This model's maximum context length is 128000 tokens. However, your messages resulted in "
        "130537 tokens. Please reduce the length of the messages.",
        128_000,
    ),
    (
        "Your input exceeds the context window of this model. Please adjust your input and try "
        "again.",
        None,
    ),
    ("prompt is too long: 213462 tokens > 200000 maximum", 200_000),
    (
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease "
        "input length or `max_tokens` and try again",
        200_000,
    ),
    (
        "The input token count (1500000) exceeds the maximum number of tokens allowed (1048576).",
        1_048_576,
    ),
    (
        "Unable to submit request because the input token count is 40000 but model only supports "
        "up to 32768.",
        32_768,
    ),
    ("the request exceeds the available context size (4096 tokens), try increasing it", 4_096),
    ("request (5012 tokens) exceeds the available context size (4096 tokens)", 4_096),
    (
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
        4_096,
    ),
    (
        "This model's maximum context length is 32768 tokens. However, you requested 33000 tokens "
        "(32000 in the messages, 1000 in the completion).",
        32_768,
    ),
    (
        "The number of tokens to keep from the initial prompt is greater than the context length. "
        "Try to load the model with a larger context length.",
        None,
    ),
    (
        "Trying to keep the first 5000 tokens when context the overflows. However, the model is "
        "loaded with context length of only 4096 tokens.",
        4_096,
    ),
    (
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum "
        "context length",
        32_768,
    ),
    (
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        131_072,
    ),
    (
        "This endpoint's maximum context length is 131072 tokens. However, you requested about "
        "150000 tokens.",
        131_072,
    ),
    ("Request body too large for gpt-4o model. Max size: 8000 tokens.", 8_000),
    ("prompt token count of 150000 exceeds the limit of 128000", 128_000),
    ("Your request exceeded model token limit: 8192 (requested: 9000)", 8_192),
    ("invalid params, context window exceeds limit (2013)", None),
    ("Prompt exceeds max length", None),
    ("prompt too long; exceeded max context length by 1234 tokens", None),
    ("Input is too long for requested model.", None),
    (
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097. Given: 9000",
        4_097,
    ),
    ("The prompt is too long: 140000, model maximum context length: 131071", 131_071),
]

NO_OVERFLOW = [
    "max_tokens is too large: 100000. This model supports at most 16384 completion tokens.",
    "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens",
    "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 34000.",
    "Invalid value for 'temperature'.",
    "The model does not exist.",
]


@pytest.mark.parametrize(("text", "window"), TEXTS)
def test_the_words_of_servers_are_recognised_with_the_window_they_name(
    text: str, window: int | None
) -> None:
    assert is_overflow(text)
    assert window_in(text) == window


@pytest.mark.parametrize("text", NO_OVERFLOW)
def test_other_limits_are_no_overflow(text: str) -> None:
    assert not is_overflow(text)


@pytest.mark.parametrize(
    "error",
    [
        {"message": "too long", "code": "context_length_exceeded"},
        {"message": "too long", "type": "exceed_context_size_error", "code": 400},
        {"message": "too long", "code": "tokens_limit_reached"},
        {"message": "Request exceeds the maximum size", "type": "request_too_large"},
    ],
)
def test_the_name_of_an_error_is_enough(error: dict[str, object]) -> None:
    assert read_refusal(400, {}, json.dumps({"error": error}).encode()).is_overflow


async def ask(
    answered: Answered, protocol: ProtocolName, context: int | None = None
) -> tuple[Reply, int, int | None]:
    """Return the reply, how many requests were made, and the window that is known then."""
    async with serving(in_turn(answered)) as server:
        client = ModelClient(
            "m",
            server.url,
            NoKey("KEY"),
            protocol=protocol,
            options=ModelOptions(context=context or 9_999_999),
            retry=RetryPolicy(tries=4),
        )
        reply = await client.ask(REQUEST, lambda piece: None)
        await client.close()
        return reply, len(server.bodies), client.window


MESSAGE = "prompt is too long: 213462 tokens > 200000 maximum"
FAILED = {
    "type": "response.failed",
    "response": {"error": {"code": "context_length_exceeded", "message": MESSAGE}},
}
IN_STREAM: dict[ProtocolName, Answered] = {
    "openai-chat": events({"error": {"message": MESSAGE}}),
    "openai-responses": events(FAILED),
    "anthropic": events({"type": "error", "error": {"message": MESSAGE}}),
    "gemini": events({"error": {"message": MESSAGE}}),
    "ollama": lines({"error": MESSAGE}),
}


@pytest.mark.parametrize("protocol", PROTOCOL_NAMES)
@pytest.mark.parametrize("status", [400, 413, 422, 500])
async def test_in_every_protocol_a_refusal_ends_as_overflow_and_is_not_repeated(
    protocol: ProtocolName, status: int
) -> None:
    reply, requests, window = await ask(refusal(status, MESSAGE), protocol)
    assert (reply.finish, requests, window) == ("overflow", 1, 200_000)
    assert reply.error is not None
    assert "too long" in reply.error


@pytest.mark.parametrize("protocol", PROTOCOL_NAMES)
async def test_in_every_protocol_an_error_in_the_stream_ends_as_overflow(
    protocol: ProtocolName,
) -> None:
    reply, requests, window = await ask(IN_STREAM[protocol], protocol)
    assert (reply.finish, requests, window) == ("overflow", 1, 200_000)


async def test_a_window_that_the_user_set_smaller_stays() -> None:
    *_, window = await ask(refusal(400, MESSAGE), "openai-chat", context=32_000)
    assert window == 32_000


@pytest.mark.parametrize(
    ("prices", "window"),
    [
        (PriceList("anthropic", "claude-sonnet-4-5"), 200_000),
        (PriceList("anthropic", "no-such-model"), None),
        (PriceList("vllm", "gpt-4o", is_free=True), None),
    ],
)
async def test_the_window_of_a_public_model_is_known(prices: PriceList, window: int | None) -> None:
    assert await prices.window() == window


async def test_a_table_is_not_believed_that_says_less_than_the_server_has_taken() -> None:
    usage = {"prompt_tokens": 400_000, "completion_tokens": 1}
    answer = events(
        {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]},
        {"choices": [], "usage": usage},
    )
    async with serving(in_turn(answer)) as server:
        prices = PriceList("openai", "gpt-4o")
        client = ModelClient("gpt-4o", server.url, NoKey("KEY"), prices=prices)
        await client.learn_window()
        before = client.window
        await client.ask(REQUEST, lambda piece: None)
        assert (before, client.window) == (128_000, None)
        await client.close()


async def test_a_local_server_is_asked_for_its_window() -> None:
    props = {"default_generation_settings": {"n_ctx": 8192}}
    answer = Answered(json.dumps(props).encode(), 200, "application/json")
    async with serving(in_turn(answer)) as server:
        client = choose_model({"provider": "llamacpp", "base_url": f"{server.url}/v1"}, {})
        await client.learn_window()
        assert client.window == 8192
        assert [asked.path for asked in server.asked] == ["/props"]
        await client.close()


LISTS: list[tuple[ProtocolName, dict[str, object]]] = [
    ("openai-chat", {"data": [{"id": "other"}, {"id": "m", "max_model_len": 5000}]}),
    ("openai-chat", {"data": [{"id": "m", "context_length": 5000}]}),
    ("openai-chat", {"data": [{"id": "m", "context_window": 5000}]}),
    ("openai-chat", {"data": [{"id": "m", "max_context_length": 5000}]}),
    ("anthropic", {"data": [{"id": "m", "max_input_tokens": 5000}]}),
    ("gemini", {"models": [{"name": "models/m", "inputTokenLimit": 5000}]}),
]


@pytest.mark.parametrize(("protocol", "page"), LISTS)
def test_the_servers_list_of_models_tells_the_window(
    protocol: ProtocolName, page: dict[str, object]
) -> None:
    assert protocol_class(protocol)("m").window_in(page) == 5000
    assert protocol_class(protocol)("unlisted").window_in(page) is None
