"""What requests cost: the prices of public servers, from a library in a process of its own."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentchat.core.frozen import frozen
from agentchat.core.messages import Reply, Usage

PROGRAM = Path(__file__).with_name("price_process.py")

log = logging.getLogger(__name__)


@frozen
class PriceList:
    """The prices of one model of one server.

    Args:
        provider: as in ``PROVIDERS``; its prices also apply at another URL, as of a proxy.
        is_free: the server is the user's own.
    """

    provider: str
    model: str
    is_free: bool = False

    def warm_up(self) -> None:
        """Start the process in a thread. Needs a running event loop."""
        if not self.is_free:
            asyncio.get_running_loop().run_in_executor(None, self._ask, "window")

    async def add_cost(self, reply: Reply) -> Reply:
        """Return the reply with what it cost, unless that is unknown or the server says it."""
        usage = reply.usage
        if usage is None or usage.cost is not None:
            return reply
        return replace(reply, usage=replace(usage, cost=await self.cost_of(usage)))

    async def cost_of(self, usage: Usage) -> float | None:
        """Return US dollars, None if the library does not know the model."""
        return 0.0 if self.is_free else await asyncio.to_thread(self._cost_of, usage)

    async def window(self) -> int | None:
        """Return the context window of the model in tokens, None if the library does not know."""
        return None if self.is_free else await asyncio.to_thread(self._ask, "window")

    def _cost_of(self, usage: Usage) -> float | None:
        cost: float | None = self._ask(
            "cost",
            {
                "input_tokens": usage.prompt_tokens,
                "output_tokens": usage.completion_tokens,
                "cache_read_tokens": usage.cache_read_tokens,
                "cache_write_tokens": usage.cache_write_tokens,
            },
        )
        return cost

    def _ask(self, what: str, *counts: dict[str, int]) -> Any:
        return _process.ask([what, self.provider, self.model, *counts])


class PriceProcess:
    """The process that knows the prices: started when it is first asked, and again if it ended.

    It ends when its standard input does, so at the latest with this process.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: subprocess.Popen[str] | None = None

    def ask(self, question: list[Any]) -> Any:
        """Return the answer to a question, None if there is none. Blocks."""
        with self._lock:
            try:
                answer = self._exchange(json.dumps(question))
            except (OSError, ValueError) as error:
                log.warning("the prices of models cannot be read: %r", error)
                self._running = None
                return None
        if isinstance(answer, dict):
            log.warning("no price of %s: %s", question[2], answer["error"])
            return None
        return answer

    def _exchange(self, question: str) -> Any:
        if self._running is None or self._running.poll() is not None:
            # Not from the directory of the plugin, nor by what the user's variables name.
            self._running = subprocess.Popen(
                [sys.executable, "-I", str(PROGRAM)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
                start_new_session=True,
            )
        assert self._running.stdin is not None
        assert self._running.stdout is not None
        self._running.stdin.write(f"{question}\n")
        self._running.stdin.flush()
        return json.loads(self._running.stdout.readline())


_process = PriceProcess()
