"""The few lines that a chat shows of a text that is kept elsewhere."""

from __future__ import annotations

HEAD, TAIL = 4, 3
"""Lines: with the two between and below them no more than a block shows unfolded."""

WIDEST = 200
"""Characters of a line."""


def excerpt(text: str, path: str) -> list[str]:
    """Return the first and last lines of a text, and where all of it is.

    Args:
        text: what the model reads, cut already.
        path: the file with all of it; the last line ends in it, so that an editor can open it.
    """
    lines = text.rstrip("\n").split("\n")
    if len(lines) > HEAD + TAIL + 1:
        lines = [*lines[:HEAD], "[...]", *lines[-TAIL:]]
    return [*map(_clipped, lines), f"full output: {path}"]


def _clipped(line: str) -> str:
    return line if len(line) <= WIDEST else f"{line[: WIDEST - 4]} ..."
