"""What a user can ask of the planner, read from plain text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agentchat.models.offline.splitting import split


@dataclass(frozen=True, slots=True)
class Read:
    """Show a file."""

    path: str


@dataclass(frozen=True, slots=True)
class Find:
    """List files whose name fits a glob."""

    pattern: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class Search:
    """Look for a regular expression in files."""

    pattern: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class Ls:
    """List a directory."""

    path: str = ""


@dataclass(frozen=True, slots=True)
class Replace:
    """Put one text in place of another in a file, or in all files that fit a glob."""

    old: str
    new: str
    path: str


@dataclass(frozen=True, slots=True)
class Rename:
    """Rename an identifier in files: ``where`` is a glob, a file or a directory."""

    old: str
    new: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """Run a shell command."""

    command: str


@dataclass(frozen=True, slots=True)
class Write:
    """Create or replace a file."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete a file."""

    path: str


@dataclass(frozen=True, slots=True)
class Resolve:
    """Finish the pending preview."""

    action: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something the rules do not cover."""

    text: str


Wish = Read | Find | Search | Ls | Replace | Rename | Run | Write | Delete | Resolve | Unknown
Chain = tuple[Wish, ...]
"""Wishes of which each one starts only when the one before it went well."""

_POLITE = re.compile(
    r"^(?:(?:please|now|and|also|first|finally|can you|could you|[-*]|\d+[.)])\s+"
    r"|@\{?[\w-]+\}?\s*|(?:use |with )?the [\w-]+ tools?\s+(?:to\s+)?)+",
    re.IGNORECASE,
)
_WORDS = "files? (?:named|matching|called) |files? |the file |the directory |directory |for "
_QUOTE = "['\"`]"
_WHERE = r"(?:\s+in\s+(?P<where>\S.*?))?"
_NAME = r"[\w$.-]+"

_FORMS = {
    "run": re.compile(r"run:\s*(?P<what>.+)|run\s+`(?P<quoted>[^`]+)`", re.I | re.S),
    "write": re.compile(r"write\s+(?P<path>[^:\n]+?):[ \t]?(?P<what>.*)", re.I | re.S),
    "replace": re.compile(
        rf"replace\s+(?P<q>{_QUOTE})(?P<old>.+?)(?P=q)\s+(?:with|by)\s+"
        rf"(?P<p>{_QUOTE})(?P<new>.*?)(?P=p)\s+in\s+(?:the\s+)?(?:files?\s+)?(?P<path>\S.*)",
        re.I | re.S,
    ),
    "rename": re.compile(
        rf"rename\s+(?:the\s+)?(?:(?:function|class|method|variable|name|symbol)\s+)?"
        rf"{_QUOTE}?(?P<old>{_NAME}){_QUOTE}?\s+to\s+{_QUOTE}?(?P<new>{_NAME}?){_QUOTE}?{_WHERE}",
        re.I,
    ),
    "read": re.compile(rf"(?:read|show)\s+(?:{_WORDS})?(?P<what>\S.*)", re.I),
    "find": re.compile(rf"find\s+(?:{_WORDS})?(?P<what>\S.*?){_WHERE}", re.I),
    "search": re.compile(rf"(?:search|grep)\s+(?:for\s+)?(?P<what>\S.*?){_WHERE}", re.I),
    "ls": re.compile(rf"(?:ls|list)(?:\s+(?:{_WORDS})?(?P<what>\S.*))?", re.I),
    "delete": re.compile(rf"(?:delete|remove)\s+(?:{_WORDS})?(?P<what>\S.*)", re.I),
    "resolve": re.compile(r"(?P<what>apply|discard)(?:[:\s]+(?P<reason>.+))?", re.I | re.S),
}
_VERBATIM = ("run", "write", "search")
"""Where a full stop at the end may be meant."""


def parse(text: str) -> tuple[Chain, ...]:
    """Return the wishes in ``text``: a chain a line or ``;``, in it the parts of `` then ``."""
    return tuple(tuple(read_wish(part) for part in parts) for parts in split(text))


def read_wish(text: str) -> Wish:
    """Return the one wish that ``text`` says."""
    said = _POLITE.sub("", text.strip()).strip()
    said = re.sub(r",?\s+please[.!]?$", "", said, flags=re.I)
    plain = re.sub(r"(?<=[\w'\"`])[.!]$", "", said)
    for kind, form in _FORMS.items():
        match = form.fullmatch(said if kind in _VERBATIM else plain)
        if match:
            return _wish(kind, match.groupdict())
    return Unknown(text.strip())


def _wish(kind: str, said: dict[str, str | None]) -> Wish:
    what, where = said.get("what") or "", bare(said.get("where") or "")
    if kind == "run":
        return Run((what or said["quoted"] or "").strip())
    if kind == "write":
        return Write(bare(said["path"] or ""), _content(what))
    if kind == "replace":
        return Replace(said["old"] or "", said["new"] or "", bare(said["path"] or ""))
    if kind == "rename":
        return Rename(said["old"] or "", said["new"] or "", where)
    if kind == "resolve":
        return Resolve(what.lower(), (said["reason"] or "").strip())
    return _looking(kind, bare(what), where)


def _looking(kind: str, what: str, where: str) -> Wish:
    if kind == "find":
        return Find(what, where)
    if kind == "search":
        return Search(what, where)
    if kind == "delete":
        return Delete(what)
    return Read(what) if kind == "read" else Ls(what)


def bare(text: str) -> str:
    """Return a name without the quotes, or the ``#file:``, around it."""
    text = text.strip().removeprefix("#file:")
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\"`"
    return text[1:-1] if quoted else text


def _content(text: str) -> str:
    """Return a file's content; a fenced block gives the lines inside the fence."""
    fenced = re.fullmatch(r"\s*```[^\n]*\n(?P<inside>.*?)\n?```\s*", text, re.S)
    inside = fenced["inside"] if fenced else text
    return inside if inside.endswith("\n") or not inside else inside + "\n"
