"""The document of a review of what was changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentchat.core.diff.hunks import Hunk, hunks
from agentchat.core.turn.view import ChangesPage
from agentchat.nvim.render.diff import diff_document


def changes_table(page: ChangesPage, root: str) -> dict[str, Any]:
    """Return a review for Lua's ``changes.show``: lines of hunks are those of the files now.

    Each hunk has the ``stamp`` of its file.
    """
    document = diff_document(page.change, root, page.notes)
    for place, more in zip(document["hunks"], _places(page), strict=True):
        place.update(more)
    return {
        "title": page.title,
        "turn": page.turn,
        "summary": page.change.summary(),
        "doc": document,
    }


def _places(page: ChangesPage) -> Iterator[dict[str, Any]]:
    for file, stamp in zip(page.change.files, page.stamps, strict=True):
        for hunk in hunks(file):
            first, last = _new_lines(hunk)
            yield {"stamp": stamp, "first": first, "last": last}


def _new_lines(hunk: Hunk) -> tuple[int, int]:
    """Return the first and last line that a hunk added, or those around what it removed."""
    added = [line.new for line in hunk.lines if line.kind == "+" and line.new is not None]
    if added:
        return added[0], added[-1]
    before = [line.new for line in hunk.lines if line.kind == " " and line.new is not None]
    line = before[len(before) // 2] if before else max(hunk.new_start, 1)
    return line, line
