"""The cost of many tools in a request, and of ``grep`` over a large tree."""

from __future__ import annotations

import asyncio
import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from agentchat.core.messages import History, UserText
from agentchat.core.tools.registry import Group, Registry
from agentchat.core.tools.tool import Environment, Tool
from agentchat.core.tools.toolset import Toolset
from agentchat.core.turn.chat import Chat
from agentchat.models.protocols.openai_chat import OpenAIChat
from agentchat.tools.builtin import grep, read
from agentchat.tools.builtin.catalogue import BUILTINS
from agentchat.tools.search import ripgrep
from bench.contexts import bare_context
from bench.figures import Row, compare

RUNS = 7
TOOLS = 1_000
FILES = 50_000
FOLDERS = 250
NEEDLE = "the needle"
EVERY = 1_000
"""One of so many files has the needle."""


def measure() -> list[Row]:
    """Measure requests with many tools, and searches."""
    return [*_requests(), *_searches()]


def _requests() -> list[Row]:
    few = chat_with(BUILTINS)
    many = (*BUILTINS, *(_named(f"extra_{n}") for n in range(TOOLS)))
    deferred, sent = chat_with(many), chat_with(many, threshold=TOOLS * 2)
    base = _times(lambda: request_text(few))
    return [
        compare(
            "request",
            f"{TOOLS:,} tools deferred / built-ins",
            base,
            _times(lambda: request_text(deferred)),
        ),
        compare(
            "request", f"{TOOLS:,} tools sent / built-ins", base, _times(lambda: request_text(sent))
        ),
    ]


def _named(name: str) -> Tool:
    metadata = replace(read.TOOL.metadata, aliases=())
    return replace(read.TOOL, name=name, metadata=metadata, always_load=False)


def chat_with(tools: Sequence[Tool], threshold: int = 0) -> Chat:
    """Return a chat that has tools, of which those over the threshold are deferred."""
    everything = Group("all", tuple(tool.name for tool in tools))
    toolbox = Toolset(Registry(tools), [everything], ["all"], deferred_threshold=threshold)
    history = History((UserText("go"),))
    return Chat("bench", toolbox, Environment("/"), history=history)


def request_text(chat: Chat) -> str:
    """Return what is sent to the model."""
    return json.dumps(OpenAIChat("bench").body(chat.request()))


def _searches() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        _plant(Path(folder))
        rg = ripgrep.program_paths()[-1]
        plain = (rg, "--no-config", "--hidden", "--line-number", NEEDLE, ".")

        def alone() -> None:
            subprocess.run(plain, cwd=folder, check=True, capture_output=True)

        alone()  # fills the cache of the file system
        context = bare_context(folder)
        arguments = grep.TOOL.arguments.parse({"pattern": NEEDLE})
        found = _times(lambda: asyncio.run(grep.run(arguments, context)))
        return [compare("search", f"grep in {FILES:,} files / rg", _times(alone), found)]


def _plant(root: Path) -> None:
    for number in range(FILES):
        folder = root / f"d{number % FOLDERS}"
        folder.mkdir(exist_ok=True)
        line = NEEDLE if number % EVERY == 0 else "hay"
        text = f"some {line} in file {number}\n" + "more hay\n" * 3
        (folder / f"f{number}.txt").write_text(text)


def _times(work: Callable[[], object]) -> list[float]:
    """Return the seconds of each run but the first, which fills caches."""
    work()
    seconds = []
    for _ in range(RUNS):
        before = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - before)
    return seconds
