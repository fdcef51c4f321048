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

_WHOLE = {"[": "[", "]": "]", r"\(": "(", r"\)": ")", r"\!": "!", "!": "!"}
"""Whole words of ``test`` and ``find`` that no shell expands either."""

_TILDE = re.compile(r"(?:^|[:=])~|^#")
_QUOTES = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ANSI = re.compile(
    r"\\(x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|[0-7]{1,3}|.)", re.DOTALL
)
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b"}
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
    if written in _WHOLE:
        return Word(_WHOLE[written], True)
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
    """Return what ``$'…'`` means."""
    return _ANSI.sub(_meaning, text)


def _meaning(escape: re.Match[str]) -> str:
    said = escape[1]
    if said[0] in "xuU" and len(said) > 1:
        return chr(min(int(said[1:], 16), 0x10FFFF))
    if said[0] in "01234567":
        return chr(int(said, 8) & 0xFF)
    return _NAMED.get(said, said)


def inner_nodes(value: Any) -> Iterator[Node]:
    """Yield the nodes right below a value of the tree, whatever holds them."""
    children = value.values() if isinstance(value, Mapping) else value
    for child in children:
        if isinstance(child, Mapping) and "Offset" not in child:
            yield child
        elif isinstance(child, list):
            yield from inner_nodes(child)
