"""Protocols other than chat completions, and the options of a model, seen from the chat."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tests.conftest import StartEditor
from tests.models.protocol_server import (
    Answered,
    Answering,
    ProtocolServer,
    events,
    in_turn,
    refusal,
    serving,
)
from tests.models.test_anthropic import block, said, start, stop
from tests.models.test_caching import BillingServer
from tests.support.chat import Chat
from tests.support.model_server import ModelServer
from tests.support.replies import text

THINKING = {"type": "thinking", "thinking": "", "signature": ""}
READS = events(
    start(),
    *block(
        0,
        THINKING,
        {"type": "thinking_delta", "thinking": "I look first."},
        {"type": "signature_delta", "signature": "sig+/="},
    ),
    *block(
        1,
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}},
        {"type": "input_json_delta", "partial_json": '{"path": "shop/cart.py"}'},
    ),
    *stop("tool_use"),
)
DONE = events(start(), *said("It is a cart."), *stop())


@contextmanager
def served(*answers: Answered) -> Iterator[ProtocolServer]:
    """Serve these answers in a thread of its own."""
    with answered_by(in_turn(*answers)) as server:
        yield server


@contextmanager
def answered_by(answering: Answering) -> Iterator[ProtocolServer]:
    """Serve in a thread of its own."""
    ready, done = threading.Event(), asyncio.Event()
    found: list[tuple[ProtocolServer, Callable[[], object]]] = []

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        async with serving(answering) as server:
            found.append((server, lambda: loop.call_soon_threadsafe(done.set)))
            ready.set()
            await done.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    ready.wait(10)
    server, close = found[0]
    try:
        yield server
    finally:
        close()
        thread.join(10)


def test_a_chat_with_anthropic_reads_a_file_and_sends_its_reasoning_back(
    start_editor: StartEditor,
) -> None:
    with served(READS, DONE, DONE) as server:
        model = {
            "provider": "anthropic",
            "name": "claude-opus-4-6",
            "base_url": server.url,
            "effort": "high",
        }
        env = {"ANTHROPIC_API_KEY": "sk-ant-1"}
        chat = Chat.open(start_editor({"model": model}, env=env))
        chat.play("what is shop/cart.py?")
        assert "It is a cart." in chat.transcript()
        chat.play("thanks")
    first, second, third = server.bodies
    assert first["output_config"] == {"effort": "high"}
    signed = {"type": "thinking", "thinking": "I look first.", "signature": "sig+/="}
    assert second["messages"][1]["content"][0] == signed
    assert third["messages"][1]["content"][0] == signed
    assert server.asked[0].headers["x-api-key"] == "sk-ant-1"


LATE_TOOL = """
@tool(read_only=True)
def late_{number}(path: str) -> str:
    \"\"\"Look at a file in way {number}.\"\"\"
    return path
"""


def test_no_mode_and_no_search_costs_the_cache(start_editor: StartEditor, tmp_path: Path) -> None:
    folder = tmp_path / "home" / "config" / "nvim" / "agentchat" / "tools"
    folder.mkdir(parents=True)
    functions = (LATE_TOOL.format(number=number) for number in range(10))
    names = [f"late_{number}" for number in range(10)]
    source = ["from agentchat import tool", f"GROUPS = {{'late': {names}}}", *functions]
    (folder / "late.py").write_text("\n".join(source))
    billing = BillingServer(searches=frozenset({5}))
    with answered_by(billing) as server:
        model = {"provider": "anthropic", "name": "claude-opus-4-6", "base_url": server.url}
        given = {"model": model, "tools": {"default": ["agent", "late"]}}
        env = {"ANTHROPIC_API_KEY": "sk-ant-1"}
        editor = start_editor(given, env=env, home=tmp_path / "home")
        chat = Chat.open(editor)
        for mode in ("ask", "ask", "plan", "ask"):
            chat.focus()
            editor.command(f"AgentMode {mode}")
            editor.wait(partial(is_in_mode, chat, mode), why="the mode")
            chat.play("Look at the next module.")
    last = server.bodies[-1]
    assert sum(tool.get("defer_loading", False) for tool in last["tools"]) == 10
    assert "tool_reference" in str(last["messages"])
    assert "You are in plan mode" in str(server.bodies[6]["messages"][-1])
    assert "plan mode" not in str(last["messages"][-1])
    # Few messages: what is new in a request is a larger part of it than in a long chat.
    assert min(billing.shares()[1:]) > 0.85
    prefix = [[body["tools"], body["system"]] for body in server.bodies]
    assert [without_marks(one) for one in prefix] == [without_marks(prefix[0])] * len(prefix)


def is_in_mode(chat: Chat, mode: str) -> bool:
    return bool(chat.status()["mode"] == mode)


def without_marks(value: object) -> str:
    return str(value).replace(", 'cache_control': {'type': 'ephemeral'}", "")


def test_refused_reasoning_does_not_end_the_chat(start_editor: StartEditor) -> None:
    refused = refusal(400, "messages.1.content.0: Invalid `signature` in `thinking` block")
    with served(READS, refused, DONE) as server:
        model = {"provider": "anthropic", "name": "claude-opus-4-6", "base_url": server.url}
        env = {"ANTHROPIC_API_KEY": "sk-ant-1"}
        chat = Chat.open(start_editor({"model": model}, env=env))
        chat.play("what is shop/cart.py?")
        assert "It is a cart." in chat.transcript()
        assert "refused the reasoning" in chat.text()


def test_the_options_of_a_model_reach_the_server(
    start_editor: StartEditor, model_server: ModelServer
) -> None:
    model = {
        "name": "m",
        "base_url": model_server.url,
        "effort": "low",
        "temperature": 0.5,
        "max_tokens": 99,
        "params": {"top_p": 0.9},
    }
    chat = Chat.open(start_editor({"model": model}))
    model_server.script(text("ok"))
    chat.play("hello")
    body = model_server.requests[0].body
    assert (body["reasoning_effort"], body["temperature"]) == ("low", 0.5)
    assert (body["max_tokens"], body["top_p"]) == (99, 0.9)


def test_an_unknown_protocol_is_named_with_the_nearest_one(start_editor: StartEditor) -> None:
    editor = start_editor({"model": {"name": "m", "protocol": "antropic"}})
    chat = Chat.open(editor)
    chat.send("hello")
    chat.finished("error")
    assert "Did you mean 'anthropic'?" in chat.text() + str(editor.notices)
    editor.allow(".")
