"""When a request that failed before its first byte is sent again, and after how long."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

from agentchat.core.frozen import frozen

TRIES = 4
FIRST_DELAY = 0.5
LONGEST_DELAY = 8.0
LONGEST_RETRY_AFTER = 60.0
"""The most that a server's own wish counts."""


@frozen
class RetryPolicy:
    """How often a request is sent at most, and the seconds before it is sent again."""

    tries: int = TRIES
    first: float = FIRST_DELAY
    longest: float = LONGEST_DELAY

    def delay(self, tries: int, wanted: float | None) -> float:
        """Return the seconds to wait after ``tries`` tries; ``wanted`` is what the server says."""
        if wanted is not None:
            return min(wanted, LONGEST_RETRY_AFTER)
        return min(self.first * 2.0 ** (tries - 1), self.longest)


def is_worth_retrying(status: int, headers: Mapping[str, str], code: str) -> bool:
    """Whether the same request may succeed later; ``code`` is the server's own error code."""
    if headers.get("x-should-retry") == "false" or code == "insufficient_quota":
        return False
    return status == 429 or status >= 500


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds a server asks to wait, None if it says nothing usable.

    Args:
        headers: with lower-case names.
        now: unix time in seconds, for a header that names a date.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("retry-after", "").strip()
    seconds = _number(value)
    return seconds if seconds is not None else _until(value, now)


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if value >= 0 and not math.isnan(value) else None


def _until(date: str, now: float) -> float | None:
    try:
        then = parsedate_to_datetime(date)
    except (TypeError, ValueError, IndexError):
        return None
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    return max(0.0, then.timestamp() - now)
