"""How servers say that a conversation is too long for the model, and how long it may be.

The patterns are compiled by their first use: the first request waits until this is imported.
"""

from __future__ import annotations

import re

LEAST_WINDOW, MOST_WINDOW = 256, 100_000_000
"""A number outside these is not a window."""

CODES = frozenset(
    {
        "context_length_exceeded",
        "exceed_context_size_error",
        "context_window_exceeded",
        "model_context_window_exceeded",
        "tokens_limit_reached",
        "request_too_large",
        "string_above_max_length",
    }
)
"""Names of the error, as ``code`` or ``type``."""

_OVERFLOW = (
    r"(?i)context[ _-]?(length|size|window|limit)|maximum context|maximum prompt length"
    r"|(prompt|input|request|conversation) (is )?too (long|large)|prompt exceeds"
    r"|too many (input )?tokens|input is too long|input length and"
    r"|exceeds? the (available|model|maximum number of tokens|limit of \d)"
    r"|exceeded (the )?(model|max) (token|context)|longer than the maximum model length"
    r"|input (validation error: `inputs`|token count)|reduce the length"
    r"|number of tokens to keep|request body too large"
)
_OTHER = r"(?i)tokens per (min|day|hour)|\b(TPM|TPD|RPM)\b|completion tokens|output tokens"
"""Limits of an account or of the answer: a shorter conversation does not help."""

_NUMBER = r"(\d[\d,._]*\d|\d+)"
_LIMITS = (
    r"tokens > NUMBER maximum",
    r"exceed context limit: [\d +]+> NUMBER",
    r"available context size \(NUMBER",
    r"(?:maximum|max|model's) (?:context|prompt|model) (?:length|window|size)(?: is| of|:)?"
    r" NUMBER",
    r"model with NUMBER maximum context length",
    r"maximum number of tokens allowed \(NUMBER",
    r"only supports up to NUMBER",
    r"context length of only NUMBER",
    r"context (?:length|size|window|limit)(?: is| of|:)? NUMBER",
    r"exceeds the limit of NUMBER",
    r"model token limit: NUMBER",
    r"must be <= NUMBER",
    r"cannot exceed NUMBER",
    r"max size: NUMBER tokens",
    r"maximum of NUMBER tokens",
)


def is_overflow(message: str, code: str = "") -> bool:
    """Whether an error says that the conversation is too long for the model."""
    if code in CODES:
        return True
    return bool(re.search(_OVERFLOW, message)) and not re.search(_OTHER, message)


def window_in(message: str) -> int | None:
    """Return the window in tokens that an error names, ``None`` if it names none."""
    for limit in _LIMITS:
        found = re.search(limit.replace("NUMBER", _NUMBER), message, re.IGNORECASE)
        if found:
            tokens = int(re.sub(r"\D", "", found[1]))
            return tokens if LEAST_WINDOW <= tokens <= MOST_WINDOW else None
    return None
