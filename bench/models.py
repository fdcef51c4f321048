"""What each protocol costs: the first prompt, later ones, and each chunk of an answer."""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import time
from collections.abc import Callable
from typing import Any

from tests.support.editor import Editor

from agentchat.models.protocols import protocol_class
from agentchat.models.protocols.options import PROTOCOL_NAMES, ProtocolName
from agentchat.models.response.body import BodyReader
from agentchat.models.response.reply import ReplyAssembly
from bench.editors import bench_editor
from bench.figures import Row, compare
from bench.pinging import line, module

CHUNKS = 10_000
READ_BYTES = 16 * 1024
"""How much of a body arrives at once."""

RUNS = 7
COLD, WARM = 5, 15
PROMPT = "Explain what this function does and where it is called."


def measure() -> list[Row]:
    """Read long answers, then send prompts from a real editor."""
    return [*map(_chunk_cost, PROTOCOL_NAMES), *_prompts()]


def _chunk_cost(protocol: ProtocolName) -> Row:
    """Compare the reading of a chunk with that of its JSON alone, in microseconds."""
    chunks = [_chunk(protocol, f"word{number} ") for number in range(CHUNKS)]
    end = "\n" if protocol == "ollama" else "\n\n"
    start = "" if protocol == "ollama" else "data: "
    body = "".join(f"{start}{chunk}{end}" for chunk in chunks).encode()

    def parse() -> None:
        for chunk in chunks:
            json.loads(chunk)

    def read() -> None:
        reader = BodyReader(protocol_class(protocol)("m").reader(ReplyAssembly()))
        for at in range(0, len(body), READ_BYTES):
            reader.add(body[at : at + READ_BYTES])
        reader.reply()

    what = f"{protocol}, read / json.loads"
    return Row("a streamed chunk", what, _per_chunk(parse), _per_chunk(read), unit="us")


def _chunk(protocol: ProtocolName, text: str) -> str:
    delta = {"type": "text_delta", "text": text}
    events: dict[ProtocolName, dict[str, Any]] = {
        "openai-chat": {"choices": [{"index": 0, "delta": {"content": text}}]},
        "openai-responses": {
            "type": "response.output_text.delta", "output_index": 0, "delta": text
        },
        "anthropic": {"type": "content_block_delta", "index": 0, "delta": delta},
        "gemini": {"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}}]},
        "ollama": {"message": {"role": "assistant", "content": text}, "done": False},
    }  # fmt: skip
    return json.dumps(events[protocol])


def _per_chunk(act: Callable[[], None]) -> float:
    seconds = []
    for _ in range(RUNS):
        began = time.perf_counter()
        act()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds) / CHUNKS * 1e6


def _prompts() -> list[Row]:
    """Compare prompts with those of chat completions: the one with the command that opens the
    chat, and later ones. The protocols take turns, so that other load meets all of them."""
    with module("bench.instant") as server:
        url = line(server)
        rounds = [[_cold(server, url, name) for name in PROTOCOL_NAMES] for _ in range(COLD)]
        cold = [list(series) for series in zip(*rounds, strict=True)]
        warm = _warm(server, url)
    return [
        compare(figure, f"{protocol} / {PROTOCOL_NAMES[0]}", series[0], seconds)
        for figure, series in (("first prompt", cold), ("later prompt", warm))
        for protocol, seconds in zip(PROTOCOL_NAMES, series, strict=True)
    ]


def _cold(server: subprocess.Popen[str], url: str, protocol: ProtocolName) -> float:
    with bench_editor() as editor:
        _choose(editor, url, protocol)
        began = time.monotonic()
        editor.command(f"AgentChat {PROMPT}")
        return _arrival(server) - began


def _warm(server: subprocess.Popen[str], url: str) -> list[list[float]]:
    """Return the seconds of each protocol's prompts in its own open chat."""
    with contextlib.ExitStack() as stack:
        editors = [stack.enter_context(bench_editor()) for _ in PROTOCOL_NAMES]
        for editor, protocol in zip(editors, PROTOCOL_NAMES, strict=True):
            _choose(editor, url, protocol)
        rounds = [[_prompt(server, editor) for editor in editors] for _ in range(WARM + 1)]
    return [list(series) for series in zip(*rounds[1:], strict=True)]


def _prompt(server: subprocess.Popen[str], editor: Editor) -> float:
    began = time.monotonic()
    editor.command(f"AgentChat {PROMPT}")
    seconds = _arrival(server) - began
    editor.wait_event("AgentTurnFinished", limit=60)
    return seconds


def _choose(editor: Editor, url: str, protocol: ProtocolName) -> None:
    """Name the model; with a context, no protocol asks the server about it first."""
    code = "vim.g.agentchat = vim.tbl_extend('force', vim.g.agentchat, { model = ... })"
    model = {"base_url": url, "name": "m", "protocol": protocol, "context": 100_000}
    editor.lua(code, model)


def _arrival(server: subprocess.Popen[str]) -> float:
    return float(line(server))
