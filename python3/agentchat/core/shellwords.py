"""One word of a shell command: what it surely is, or what it may come to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Node = Mapping[str, Any]

_PLAIN = re.compile(
    r"(?:[A-Za-z0-9_./:@%+,=^~#-]|'[^'\x00-\x08\x0b-\x1f\x7f]*'"
    r'|"[^"$`\\\x00-\x08\x0b-\x1f\x7f]*")+'
)
"""The bytes of a word that no shell expands; quotes may hold any text that is shown as it is."""

_TILDE = re.compile(r"(?:^|[:=])~|^#")
_QUOTES = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_BRACES = re.compile(r"\{[^{}]*(?:,|\.\.)[^{}]*\}")


@dataclass(frozen=True, slots=True)
class Word:
    """One word. ``text`` is exact if ``plain``, else what is known of it, for rules that refuse.

    ``others`` are further texts it may come to: the alternatives of braces.
    """

    text: str
    plain: bool
    others: tuple[str, ...] = ()


def read_word(node: Node, source: bytes) -> Word:
    """Return a word of the syntax tree of ``source``, read from its own bytes where it is plain."""
    written = slice_of(node, source)
    if _PLAIN.fullmatch(written) and not _TILDE.search(written):
        return Word(_QUOTES.sub(_inner, written), True)
    text = "".join(map(_likely, node.get("Parts") or ()))
    others = tuple(re.split(r"[{},]", text)) if _BRACES.search(text) else ()
    return Word(text, False, tuple(other for other in others if other))


def slice_of(node: Node, source: bytes) -> str:
    """Return the text a node was read from."""
    start, end = node["Pos"]["Offset"], node["End"]["Offset"]
    return source[start:end].decode("utf-8", "replace")


def _inner(quoted: re.Match[str]) -> str:
    return quoted[1] if quoted[1] is not None else quoted[2]


def _likely(part: Node) -> str:
    """Return the text of a part as far as it is known without running anything."""
    kind = part.get("Type")
    if kind == "SglQuoted":
        return _unescaped(part["Value"]) if part.get("Dollar") else str(part.get("Value", ""))
    if kind == "DblQuoted":
        return "".join(map(_likely, part.get("Parts") or ()))
    if kind == "Lit":
        return _ESCAPED.sub(lambda m: "" if m[1] == "\n" else m[1], part.get("Value", ""))
    return ""


def _unescaped(text: str) -> str:
    """Return what ``$'…'`` means, as nearly as Python's own escapes do."""
    try:
        return text.encode("ascii", "backslashreplace").decode("unicode_escape")
    except UnicodeDecodeError:
        return text


def inner_nodes(value: Any) -> Iterator[Node]:
    """Yield the nodes right below a value of the tree, whatever holds them."""
    children = value.values() if isinstance(value, Mapping) else value
    for child in children:
        if isinstance(child, Mapping) and "Offset" not in child:
            yield child
        elif isinstance(child, list):
            yield from inner_nodes(child)
