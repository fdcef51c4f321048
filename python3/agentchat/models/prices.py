"""What requests cost: the prices of public servers, from a library that is loaded when needed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from agentchat.core.frozen import frozen
from agentchat.core.messages import Reply, Usage

LIBRARY_NAMES: Mapping[str, str] = {"gemini": "google", "xai": "x-ai"}
"""Providers under the name that the library has for them."""

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
        """Load the library in a thread: it takes 150 ms. Needs a running event loop."""
        if not self.is_free:
            asyncio.get_running_loop().run_in_executor(None, _load)

    async def add_cost(self, reply: Reply) -> Reply:
        """Return the reply with what it cost, unless that is unknown or the server says it."""
        usage = reply.usage
        if usage is None or usage.cost is not None:
            return reply
        cost = await asyncio.to_thread(self.cost_of, usage)
        return replace(reply, usage=replace(usage, cost=cost))

    async def window(self) -> int | None:
        """Return the context window of the model in tokens, None if the library does not know."""
        return None if self.is_free else await asyncio.to_thread(self._find_window)

    def _find_window(self) -> int | None:
        if not _load():
            return None
        from genai_prices import data_snapshot

        provider = LIBRARY_NAMES.get(self.provider, self.provider)
        try:
            found = data_snapshot.get_snapshot().find_provider_model(
                self.model, None, provider, None
            )
        except LookupError:
            return None
        return found[1].context_window

    def cost_of(self, usage: Usage) -> float | None:
        """Return US dollars, None if the library does not know the model; slow the first time."""
        if self.is_free:
            return 0.0
        if not _load():
            return None
        import genai_prices

        counts = genai_prices.Usage(
            input_tokens=usage.prompt_tokens,
            output_tokens=usage.completion_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
        )
        provider = LIBRARY_NAMES.get(self.provider, self.provider)
        try:
            price = genai_prices.calc_price(counts, self.model, provider_id=provider)
        except LookupError:
            return None
        except Exception:  # a count that the prices of the model cannot be applied to
            log.exception("the price of %s cannot be calculated", self.model)
            return None
        return float(price.total_price)


@cache
def _load() -> bool:
    """Import the library; return whether it is installed."""
    try:
        import genai_prices  # noqa: F401
    except ImportError:
        log.warning("genai-prices is not installed, so no price is known: run :AgentInstall")
        return False
    return True
