"""What is remembered of servers, on disk."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from agentchat.models.api_key import NoKey
from agentchat.models.client import ModelClient
from agentchat.models.learned import FILE, SECONDS, LearnedServers
from agentchat.models.protocols.options import ModelOptions
from tests.models.requests import request, tool
from tests.support.model_server import ModelServer
from tests.support.replies import status, text

URL, MODEL = "http://127.0.0.1:1/v1", "m"


async def ask(server: ModelServer, folder: Path) -> None:
    """Send a request with a forced choice and a temperature, as a new process would."""
    memory = LearnedServers(folder).of(server.url, MODEL)
    options = ModelOptions(temperature=0.5)
    model = ModelClient(MODEL, server.url, NoKey("K"), options=options, memory=memory)
    asked = request(tools=(tool("resolve"),), forced="resolve")
    assert (await model.ask(asked, lambda piece: None)).text == "ok"
    await model.close()


async def test_what_a_server_refuses_is_not_sent_by_the_next_process(
    server: ModelServer, tmp_path: Path
) -> None:
    server.script(status(400, "tool_choice is not supported"), text("ok"), text("ok"))
    await ask(server, tmp_path)
    await ask(server, tmp_path)
    assert ["tool_choice" in asked.body for asked in server.requests] == [True, False, False]


async def test_what_the_user_sets_is_tried_again_and_they_are_told_again(
    server: ModelServer, tmp_path: Path
) -> None:
    refused = status(400, "temperature is not supported")
    server.script(refused, text("ok"), refused, text("ok"))
    await ask(server, tmp_path)
    await ask(server, tmp_path)
    sent = ["temperature" in asked.body for asked in server.requests]
    assert sent == [True, False, True, False]


def test_two_processes_keep_what_both_learned(tmp_path: Path) -> None:
    one, two = LearnedServers(tmp_path).of(URL, MODEL), LearnedServers(tmp_path).of(URL, "n")
    one.learn_protocol("openai-responses")
    two.learn_refused("anthropic", frozenset({"cache"}))
    again = LearnedServers(tmp_path)
    assert again.of(URL, MODEL).protocol == "openai-responses"
    assert again.of(URL, "n").refused("anthropic") == {"cache"}


def test_servers_change_so_it_holds_for_a_week(tmp_path: Path) -> None:
    LearnedServers(tmp_path).of(URL, MODEL).learn_protocol("openai-responses")
    (entry,) = json.loads((tmp_path / FILE).read_text())
    entry["time"] = time.time() - SECONDS
    (tmp_path / FILE).write_text(json.dumps([entry]))
    assert LearnedServers(tmp_path).of(URL, MODEL).protocol is None


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"\xff", b"[[", b"7", b"[7, {}]", b'[{"url": "u", "model": "m", "refused": 1}]'],
)
def test_a_damaged_file_is_no_error_and_is_replaced(content: bytes, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(content)
    memory = LearnedServers(tmp_path).of(URL, MODEL)
    assert (memory.protocol, memory.refused("anthropic")) == (None, frozenset())
    memory.learn_protocol("openai-responses")
    assert LearnedServers(tmp_path).of(URL, MODEL).protocol == "openai-responses"


def test_a_folder_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    memory = LearnedServers(tmp_path / "missing").of(URL, MODEL)
    memory.learn_protocol("openai-responses")
    assert memory.protocol == "openai-responses"
