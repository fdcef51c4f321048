"""Format results of tools: notices, names on one line, plain text of terminal output."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from typing import Any

from agentchat.core.text import escape_line


def add_notices(text: str, notices: Sequence[str]) -> str:
    """Return a text with notices below it, a blank line between."""
    if not notices:
        return text
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return text + gap + "\n".join(notices)


def limit_notice(limit: int, what: str) -> str:
    """Return the notice of a listing that was cut after ``limit`` of ``what``."""
    return f"[{limit} {what} limit reached. Use limit={2 * limit} for more, or refine pattern]"


def truncation_details(by: str, text: str, **more: Any) -> dict[str, Any]:
    """Return the details of a result that is only a part of the whole.

    Args:
        by: what was cut at its limit: ``bytes``, ``lines``, or things like ``matches``.
        text: what is left; its ``lines`` and ``bytes`` are counted.
        more: what is known of the whole, like ``total_bytes``, ``limit`` and ``path``.
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    counted = {"lines": len(text.splitlines()), "bytes": size}
    return {"truncation": {"truncated": True, "by": by, **counted, **more}}


def count_summary(number: int, noun: str) -> str:
    """Return ``1 file`` or ``2 files``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def argument_text(value: object, missing: str = "...") -> str:
    """Return an argument on one line; ``missing`` if it has not arrived yet."""
    return escape_line(value) if isinstance(value, str) and value else missing


_ESCAPES = re.compile(
    r"\x1b(?:"
    r"\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)"  # OSC (titles, links), DCS and the like
    r"|[ -/]*[0-~]"  # the short ones
    r")"
)
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]{0,4096}\x1b?|[ -/]*)\Z")
_CONTROLS = dict.fromkeys([*range(9), 0x0B, 0x0C, *range(0x0E, 0x20), 0x7F])


class TerminalText:
    """Turns a stream of bytes into plain text; pieces may end anywhere."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def feed(self, data: bytes, final: bool = False) -> str:
        """Return the text up to an escape sequence that may continue in the next piece."""
        text = self._rest + self._decoder.decode(data, final)
        end = len(text) if final else _complete_end(text)
        self._rest = text[end:]
        return _ESCAPES.sub("", text[:end]).translate(_CONTROLS)


def _complete_end(text: str) -> int:
    """Return where an unfinished escape sequence begins, or the end of the text."""
    last = text.rfind("\x1b")
    for index in (text.rfind("\x1b", 0, max(last, 0)), last):
        if index >= 0 and _UNFINISHED.match(text, index):
            return index
    return len(text)


def strip_terminal_codes(data: bytes) -> str:
    """Return the plain text of a whole output."""
    return TerminalText().feed(data, final=True)


def path_sort_key(path: str) -> tuple[str, ...]:
    """Return the sort key of a path: folder by folder."""
    return tuple(path.split("/"))
