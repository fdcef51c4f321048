"""Where a name is defined in source code, found by how a definition looks in most languages."""

from __future__ import annotations

import re
from collections.abc import Sequence

KEYWORDS = (
    "async|export|default|public|private|protected|static|final|abstract|pub|local|inline|unsafe"
)
DEFINES = (
    "def|class|function|func|fun|fn|struct|enum|interface|trait|impl|type|module|namespace|macro|"
    "const|let|var|val|record|protocol|object|sub|proc"
)
MOST_LINES = 400
"""Lines of one definition."""


def definition_pattern(name: str) -> str:
    """Return a regular expression for the first line of a definition: ``def NAME``, ``NAME =``."""
    word = rf"{re.escape(name)}\b"
    return (
        rf"^\s*(?:(?:{KEYWORDS})\s+)*(?:{DEFINES})\b[^=;{{]*?\b{word}"
        rf"|^(?:M\.)?{word}\s*(?::[^=]+)?=[^=]"
        rf"|^[A-Za-z_][\w\s*<>,:&]*\b{word}\s*\([^;]*$"
    )


def definition_end(lines: Sequence[str], first: int) -> int:
    """Return the index after the last line of the definition that begins at ``first``.

    It goes on while lines are blank or indented deeper; a closing line like ``}`` belongs to it.
    """
    indent = _indent(lines[first])
    end = first + 1
    for index in range(first + 1, min(len(lines), first + MOST_LINES)):
        line = lines[index]
        if not line.strip():
            continue
        if _indent(line) > indent:
            end = index + 1
        elif re.match(r"\s*(?:[)\]}]|end\b)", line):
            return index + 1
        else:
            break
    return end


def _indent(line: str) -> int:
    expanded = line.expandtabs()
    return len(expanded) - len(expanded.lstrip())
