"""Generated answers of a foreign server: we read each as the official client of its protocol does.

``make nightly`` reads 25 times as many and prints the counts. The clients take seconds to load, so
each is imported where it is used.
"""

from __future__ import annotations

import json
import random
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from agentchat.core.messages import Reply, TextPart, ThinkingPart, UserText
from agentchat.models.api_key import FixedKey
from agentchat.models.client import ModelClient
from agentchat.models.protocols.options import ProtocolName
from tests.models.requests import request, tool
from tests.permissions.report import generated, seed, tell
from tests.support import aimock
from tests.support.aimock import Aimock

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("aimock"),
    pytest.mark.filterwarnings("ignore:FUNCTION_CALL is not a valid FinishReason"),
]

COUNT = min(generated() // 100, 250)
WORDS = (
    "I ",
    "look. ",
    "é",
    "\n",
    "\n\n",
    "```py\nx = 1\n```\n",
    "<b>",
    "data: ",
    "{",
    '"',
    " ",
)
VALUES: tuple[Any, ...] = (
    "a.py",
    "é",
    'say "no"\n',
    "",
    3,
    1.5,
    True,
    None,
    [],
    [1, "b"],
    {"k": {}},
)
MODELS: dict[ProtocolName, tuple[str, str]] = {
    "openai-chat": ("gpt-4o", "/v1"),
    "openai-responses": ("gpt-5", "/v1"),
    "anthropic": ("claude-opus-4-6", "/v1"),
    "gemini": ("gemini-3-pro", "/v1beta"),
}

Parts = tuple[str, str, list[tuple[str, Any]]]
"""What is compared of an answer: reasoning, text, and calls as name and arguments."""

Read = Callable[[str, str, str], Awaitable[Parts]]
"""Asks a model of the server at a URL for the answer to a message."""


def answers(chance: random.Random) -> Iterator[dict[str, Any]]:
    """Fixtures: the answer to each message, in pieces of some size.

    The server cuts characters beyond the first 65,536 in half, which the clients do not mend.
    """
    for number in range(COUNT):
        calls = [
            {"name": chance.choice(["read", "grep"]), "arguments": json.dumps(arguments(chance))}
            for _ in range(chance.choice([0, 0, 1, 2, 3]))
        ]
        text = "".join(chance.choices(WORDS, k=chance.randrange(0 if calls else 1, 40)))
        response: dict[str, Any] = {"content": f"{text.strip()}." if text.strip() else "So."}
        if calls:
            response["toolCalls"] = calls
        if chance.random() < 0.5:
            response["reasoning"] = "".join(chance.choices(WORDS[:4], k=8)).strip() or "Hm."
        match = {"userMessage": f"answer {number:04}"}
        yield {"match": match, "response": response, "chunkSize": chance.randrange(1, 20)}


def arguments(chance: random.Random) -> dict[str, Any]:
    return {f"k{index}": chance.choice(VALUES) for index in range(chance.randrange(4))}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aimock]:
    fixtures = list(answers(random.Random(seed())))
    with aimock.serving(fixtures, tmp_path_factory.mktemp("aimock")) as server:
        yield server


def compared(reply: Reply) -> Parts:
    assert reply.error is None
    thoughts = "".join(part.text for part in reply.parts if isinstance(part, ThinkingPart))
    text = "".join(part.text for part in reply.parts if isinstance(part, TextPart))
    return thoughts, text, [(call.name, json.loads(call.arguments)) for call in reply.calls]


async def read_by_anthropic(url: str, model: str, message: str) -> Parts:
    import anthropic

    async with anthropic.AsyncAnthropic(base_url=url, api_key="k") as client:
        asked: Any = {"messages": [{"role": "user", "content": message}]}
        async with client.messages.stream(model=model, max_tokens=9, **asked) as stream:
            blocks = (await stream.get_final_message()).content
    thoughts = "".join(block.thinking for block in blocks if block.type == "thinking")
    text = "".join(block.text for block in blocks if block.type == "text")
    return thoughts, text, [(b.name, b.input) for b in blocks if b.type == "tool_use"]


async def read_by_openai(url: str, model: str, message: str) -> Parts:
    import openai

    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="k") as client:
        asked: Any = [{"role": "user", "content": message}]
        async with client.chat.completions.stream(model=model, messages=asked) as stream:
            said = (await stream.get_final_completion()).choices[0].message
    calls = [(c.function.name, json.loads(c.function.arguments)) for c in said.tool_calls or ()]
    return getattr(said, "reasoning_content", None) or "", said.content or "", calls


async def read_responses_by_openai(url: str, model: str, message: str) -> Parts:
    import openai

    async with (
        openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="k") as client,
        client.responses.stream(model=model, input=message) as stream,
    ):
        items = (await stream.get_final_response()).output
    summaries = [part.text for i in items if i.type == "reasoning" for part in i.summary]
    texts = [getattr(p, "text", "") for i in items if i.type == "message" for p in i.content]
    calls = [(i.name, json.loads(i.arguments)) for i in items if i.type == "function_call"]
    return "".join(summaries), "".join(texts), calls


async def read_by_google(url: str, model: str, message: str) -> Parts:
    from google import genai

    client = genai.Client(api_key="k", http_options={"base_url": url, "api_version": "v1beta"})
    parts: list[Any] = []
    async for chunk in await client.aio.models.generate_content_stream(
        model=model, contents=message
    ):
        content = chunk.candidates[0].content if chunk.candidates else None
        parts += (content.parts if content else None) or ()
    await client.aio.aclose()
    client.close()
    thoughts = "".join(part.text or "" for part in parts if part.thought)
    text = "".join(part.text or "" for part in parts if not part.thought)
    made = [part.function_call for part in parts if part.function_call]
    return thoughts, text, [(call.name, call.args or {}) for call in made]


CLIENTS: dict[ProtocolName, Read] = {
    "openai-chat": read_by_openai,
    "openai-responses": read_responses_by_openai,
    "anthropic": read_by_anthropic,
    "gemini": read_by_google,
}


@pytest.mark.parametrize("protocol", CLIENTS)
async def test_each_answer_is_read_as_by_the_official_client(
    server: Aimock, protocol: ProtocolName
) -> None:
    name, root = MODELS[protocol]
    model = ModelClient(name, server.url + root, FixedKey("k", "K"), protocol=protocol)
    tools = (tool("read"), tool("grep"))
    different: list[tuple[Parts, Parts]] = []
    for number in range(COUNT):
        message = f"answer {number:04}"
        ours = compared(await model.ask(request(UserText(message), tools=tools), lambda _: None))
        theirs = await CLIENTS[protocol](server.url, name, message)
        different += [(ours, theirs)] if ours != theirs else []
    await model.close()
    tell(f"{COUNT} answers in {protocol}, {len(different)} read otherwise by the official client")
    assert different == []
