"""What a server that bills by prefix reads from its cache in an ordinary chat."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from agentchat.core.messages import History, Reply, ToolCall, ToolResult, Usage, UserText
from agentchat.core.tools.registry import Registry
from agentchat.core.tools.tool import Environment, Extra, Tool, ToolOutput
from agentchat.core.tools.toolset import Toolset
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.preview_stack import Preview
from agentchat.models.api_key import FixedKey
from agentchat.models.client import ModelClient
from agentchat.tools.builtin.catalogue import BUILTIN_GROUPS, BUILTINS
from tests.core.turn.world import a_tool
from tests.models.protocol_server import Answered, Asked, events, refusal, serving

MODEL = "claude-opus-4-6"
TURNS = 20
ROUNDS = 3
LOOKED_BACK = 20
"""How many blocks before a mark the server searches for what it has."""


@dataclass
class BillingServer:
    """Caches the prefixes that end in a mark, and bills what it did not have."""

    cached: set[str] = field(default_factory=set)
    answers: int = 0
    bills: list[dict[str, int]] = field(default_factory=list)
    searches: frozenset[int] = frozenset()
    """The numbers of the answers that search for tools."""

    def __call__(self, asked: Asked) -> Answered:
        self.answers += 1
        self.bills.append(self._bill(asked.body))
        return events(*self._answer(self.bills[-1]))

    def shares(self) -> list[float]:
        """For each request: how much of its prompt was read from the cache."""
        return [bill["cache_read_input_tokens"] / sum(bill.values()) for bill in self.bills]

    def _bill(self, body: dict[str, Any]) -> dict[str, int]:
        """Return the tokens that are read, written and neither."""
        digest, end = hashlib.sha256(body["model"].encode()), 0
        prefixes: list[tuple[str, int]] = []
        marks: list[int] = []
        for block in _blocks(body):
            plain = {key: value for key, value in block.items() if key != "cache_control"}
            text = json.dumps(plain).encode()
            digest.update(text)
            end += len(text)
            prefixes.append((digest.hexdigest(), end // 4))
            if "cache_control" in block:
                marks.append(len(prefixes) - 1)
        read = max(self._hits(prefixes, marks), default=0)
        written = max((prefixes[mark][1] for mark in marks), default=0)
        self.cached.update(prefixes[mark][0] for mark in marks)
        return {
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": max(0, written - read),
            "input_tokens": end // 4 - max(written, read),
        }

    def _hits(self, prefixes: list[tuple[str, int]], marks: list[int]) -> Iterator[int]:
        for mark in marks:
            for digest, size in prefixes[max(0, mark - LOOKED_BACK) : mark + 1]:
                if digest in self.cached:
                    yield size

    def _answer(self, usage: dict[str, int]) -> list[dict[str, Any]]:
        calls = 2 if self.answers % ROUNDS else 0
        blocks: list[tuple[dict[str, Any], dict[str, Any]]] = [
            ({"type": "text", "text": ""}, {"type": "text_delta", "text": "I look at it. " * 9})
        ]
        for index in range(calls):
            name, arguments = "read", {"path": f"src/module_{self.answers}.py"}
            if self.answers in self.searches:
                name, arguments = "tool_search", {"query": f"late_{index}"}
            begin = {"type": "tool_use", "id": f"toolu_{self.answers}_{index}", "name": name}
            blocks.append(
                (begin, {"type": "input_json_delta", "partial_json": json.dumps(arguments)})
            )
        stream: list[dict[str, Any]] = [{"type": "message_start", "message": {"usage": usage}}]
        for index, (begin, delta) in enumerate(blocks):
            stream += [
                {"type": "content_block_start", "index": index, "content_block": begin},
                {"type": "content_block_delta", "index": index, "delta": delta},
            ]
        delta = {"stop_reason": "tool_use" if calls else "end_turn"}
        return [*stream, {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 50}}]


def _blocks(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The blocks in the order in which they are cached; their role is a part of them."""
    yield from (tool for tool in body.get("tools", ()) if not tool.get("defer_loading"))
    yield {"thinking": body.get("thinking"), "tool_choice": body.get("tool_choice")}
    yield from body.get("system", ())
    for message in body["messages"]:
        for block in message["content"]:
            yield {"role": message["role"], **block}


def new_chat(*more: Tool) -> Chat:
    names = (tool.name for tool in more)
    toolbox = Toolset(Registry([*BUILTINS, *more]), BUILTIN_GROUPS, ("agent", *names))
    return Chat("uuid", toolbox, Environment("/work", date="2026-11-22"))


async def turn(chat: Chat, model: ModelClient) -> list[Usage]:
    """Play one turn; return what each of its requests used."""
    chat.history = chat.history.add(UserText("Now look at the next module, and say what it does."))
    used: list[Usage] = []
    while True:
        reply: Reply = await model.ask(chat.request(), lambda piece: None)
        assert reply.error is None
        assert reply.usage is not None
        used.append(reply.usage)
        results = (ToolResult(call.id, call.name, "def f(): ...\n" * 40) for call in reply.calls)
        chat.history = chat.history.add(reply, *results)
        if not reply.calls:
            return used


async def test_after_the_first_turn_nearly_all_of_a_prompt_is_read_from_the_cache() -> None:
    chat = new_chat()
    async with serving(BillingServer()) as server:
        model = ModelClient(MODEL, server.url, FixedKey("k", "K"), protocol="anthropic")
        turns = [await turn(chat, model) for _ in range(TURNS)]
        await model.close()
    later = [usage for used in turns[1:] for usage in used]
    assert len(later) == (TURNS - 1) * ROUNDS
    read = sum(usage.cache_read_tokens for usage in later)
    assert read / sum(usage.prompt_tokens for usage in later) >= 0.95
    assert all(usage.cache_read_tokens for usage in later)


async def test_many_parallel_calls_do_not_lose_the_cache() -> None:
    chat = new_chat()
    async with serving(BillingServer()) as server:
        model = ModelClient(MODEL, server.url, FixedKey("k", "K"), protocol="anthropic")
        before = (await turn(chat, model))[-1]
        chat.history = many_results(chat)
        reply = await model.ask(chat.request(), lambda piece: None)
        await model.close()
    assert reply.usage is not None
    assert reply.usage.cache_read_tokens >= before.prompt_tokens - 20


LATE = [a_tool(f"late_{n}", always_load=False) for n in range(10)]


async def shares_of_a_varied_chat(model: ModelClient, chat: Chat) -> list[float]:
    """Play turns with changes in between; return the share of each turn read from the cache."""
    shares = []
    for number in range(1, TURNS + 1):
        if number == 5:
            chat.history = chat.history.add(*search(chat, "late_3"))
        chat.policy.mode = "plan" if number in (8, 9, 14) else "ask"
        plan = Preview("Plan", "plan", no_action, no_action, is_standing=True)
        chat.previews.standing = plan if chat.policy.mode == "plan" else None
        used = await turn(chat, model)
        read = sum(usage.cache_read_tokens for usage in used)
        shares.append(read / sum(usage.prompt_tokens for usage in used))
    return shares


async def no_action(reason: str, extra: Extra) -> ToolOutput:
    return ToolOutput("")


def search(chat: Chat, name: str) -> tuple[UserText, Reply, ToolResult]:
    """The messages of a search that finds one tool."""
    found = [tool.name for tool in chat.toolset.search(name)]
    call = ToolCall("s", "tool_search", json.dumps({"query": name}), "s")
    result = ToolResult("s", "tool_search", f"You can call {found}.", details={"tools": found})
    return UserText("Find it."), Reply(calls=(call,), model=MODEL), result


async def test_neither_a_tool_that_is_found_nor_a_mode_costs_the_cache() -> None:
    chat = new_chat(*LATE)
    async with serving(BillingServer()) as server:
        model = ModelClient(MODEL, server.url, FixedKey("k", "K"), protocol="anthropic")
        shares = await shares_of_a_varied_chat(model, chat)
        await model.close()
    assert min(shares[number - 1] for number in (5, 8, 9, 10, 14, 15)) >= 0.95
    tools = server.bodies[-1]["tools"]
    assert {tool["name"] for tool in tools if tool.get("defer_loading")} == {t.name for t in LATE}
    results = [b for m in server.bodies[-1]["messages"] for b in m["content"] if "tool_use_id" in b]
    found = next(block for block in results if block["tool_use_id"] == "s")
    assert found["content"] == [{"type": "tool_reference", "tool_name": "late_3"}]


async def test_a_server_without_deferred_tools_is_offered_what_was_found() -> None:
    chat = new_chat(*LATE)
    chat.history = chat.history.add(*search(chat, "late_3"))
    billing = BillingServer()

    def answering(asked: Asked) -> Answered:
        if "defer_loading" in json.dumps(asked.body):
            return refusal(400, "tools.14.defer_loading: Extra inputs are not permitted")
        return billing(asked)

    async with serving(answering) as server:
        model = ModelClient(MODEL, server.url, FixedKey("k", "K"), protocol="anthropic")
        reply = await model.ask(chat.request(), lambda piece: None)
        await model.close()
    assert reply.error is None
    names = [tool["name"] for tool in server.bodies[-1]["tools"]]
    assert [name for name in names if name.startswith("late")] == ["late_3"]
    assert "You can call" in json.dumps(server.bodies[-1]["messages"])


def many_results(chat: Chat) -> History:
    """The history with one more reply of thirty calls, and their results."""
    calls = tuple(ToolCall(f"c{n}", "read", "{}", f"c{n}") for n in range(30))
    results = (ToolResult(call.id, "read", "text") for call in calls)
    return chat.history.add(UserText("all"), Reply(calls=calls, model=MODEL), *results)
