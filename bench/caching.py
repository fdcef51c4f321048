"""How much of what a chat sends is read from the cache of a server that bills by prefix."""

from __future__ import annotations

import asyncio

from tests.models.protocol_server import serving
from tests.models.test_caching import LATE, MODEL, BillingServer, new_chat, shares_of_a_varied_chat

from agentchat.models.api_key import FixedKey
from agentchat.models.client import ModelClient
from bench.figures import Row

CHANGES = ((5, "after a search for tools"), (8, "after :AgentMode plan"), (10, "after leaving it"))
"""Turns of the chat that begin with a change."""


def measure() -> list[Row]:
    """Play 20 turns of three requests each, with changes of mode and tools in between."""
    billing, shares = asyncio.run(_play())
    later = billing.bills[3:]
    rows = [
        Row(
            "cache: read of the prompt",
            "turns 2 to 20",
            base=sum(sum(bill.values()) for bill in later),
            value=sum(bill["cache_read_input_tokens"] for bill in later),
            unit="tokens",
        )
    ]
    for turn, what in CHANGES:
        of_turn = billing.bills[3 * turn - 3 : 3 * turn]
        whole = sum(sum(bill.values()) for bill in of_turn)
        rows.append(
            Row("cache: read of the prompt", what, whole, whole * shares[turn - 1], unit="tokens")
        )
    return rows


async def _play() -> tuple[BillingServer, list[float]]:
    billing = BillingServer()
    async with serving(billing) as server:
        model = ModelClient(MODEL, server.url, FixedKey("k", "K"), protocol="anthropic")
        shares = await shares_of_a_varied_chat(model, new_chat(*LATE))
        await model.close()
    return billing, shares
