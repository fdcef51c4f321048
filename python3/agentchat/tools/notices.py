"""Lines below a result that tell what was left out, and names that fit on one line."""

from __future__ import annotations

from collections.abc import Sequence

from agentchat.core.text import escape


def with_notices(text: str, notices: Sequence[str]) -> str:
    """Return a text with notices below it, a blank line between."""
    if not notices:
        return text
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return text + gap + "\n".join(notices)


def limit_reached(limit: int, what: str) -> str:
    """Return the notice of a listing that was cut after ``limit`` of ``what``."""
    return f"[{limit} {what} limit reached. Use limit={2 * limit} for more, or refine pattern]"


def given_text(value: object, missing: str = "...") -> str:
    """Return an argument as far as it has arrived, on one line; ``missing`` if it has not."""
    return one_line(value) if isinstance(value, str) and value else missing


def one_line(name: str) -> str:
    """Return a file name without anything that would break or hide the line."""
    return escape(name).replace("\n", "<U+000A>").replace("\t", "<U+0009>")
