"""What random tests tell: their counts, and the seed with which a failure can be had again."""

from __future__ import annotations

import os
import sys


def seed() -> int:
    """Return the seed: ``AGENTCHAT_SEED``, or the one that every ordinary run has."""
    return int(os.environ.get("AGENTCHAT_SEED", "1"))


def generated() -> int:
    """Return how many cases to try: ``AGENTCHAT_GENERATED``, or 1,000."""
    return int(os.environ.get("AGENTCHAT_GENERATED", "1000"))


def tell(line: str) -> None:
    """Write a line that is shown when the test fails, and by ``make nightly`` always."""
    sys.stdout.write(f"{line} (AGENTCHAT_SEED={seed()})\n")
