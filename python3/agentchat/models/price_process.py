"""Answers what requests cost, in a process of its own; run as a script.

The library takes a fifth of a second of the processor to load and holds the interpreter meanwhile:
in the host, an answer that streams would halt. Each line on standard input is a JSON list, each
line on standard output its JSON answer:

    ["cost", provider, model, {input_tokens, output_tokens, cache_read_tokens, cache_write_tokens}]
    ["window", provider, model]                       the context window in tokens

The answer is a number, null where the library does not know the model, or ``{"error": text}``.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import Any

LIBRARY_NAMES = {"gemini": "google", "xai": "x-ai"}
"""Providers under the name that the library has for them."""


def answer(what: str, provider: str, model: str, counts: dict[str, int] | None = None) -> Any:
    """Return the answer to one line; raises whatever the library raises."""
    import genai_prices
    from genai_prices import data_snapshot

    provider = LIBRARY_NAMES.get(provider, provider)
    try:
        if what == "cost":
            usage = genai_prices.Usage(**(counts or {}))
            return float(genai_prices.calc_price(usage, model, provider_id=provider).total_price)
        found = data_snapshot.get_snapshot().find_provider_model(model, None, provider, None)
        return found[1].context_window
    except LookupError:
        return None


def main() -> None:
    """Answer lines until standard input ends."""
    with contextlib.suppress(OSError):
        os.nice(5)  # nobody waits for a price
    for line in sys.stdin:
        try:
            result = answer(*json.loads(line))
        except Exception as error:
            result = {"error": repr(error)}
        print(json.dumps(result), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
