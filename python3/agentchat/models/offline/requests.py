"""What a user can ask of the offline model, read from plain text."""

from __future__ import annotations

import re

from agentchat.core.frozen import frozen


@frozen
class PlainRequest:
    """One request.

    ``what`` is what the verb acts on: a path, pattern, command, or the reason of ``apply`` and
    ``discard``; ``where`` narrows it to a glob, file or directory; ``new`` is also the content of
    a file. The verb ``unknown`` has all of the text in ``what``.
    """

    verb: str
    what: str = ""
    where: str = ""
    old: str = ""
    new: str = ""


_POLITE = re.compile(
    r"^(?:(?:please|now|and|also|first|finally|can you|could you|[-*]|\d+[.)])\s+"
    r"|@\{?[\w-]+\}?\s*|(?:use |with )?the [\w-]+ tools?\s+(?:to\s+)?)+",
    re.IGNORECASE,
)
_NOUNS = "(?:files? (?:named|matching|called) |files? |the file |the directory |directory |for )?"
_WHERE = r"(?:\s+in\s+(?P<where>\S.*?))?"
_FORMS = [
    ("run", r"run:\s*(?P<what>.+)"),
    ("run", r"run\s+`(?P<what>[^`]+)`"),
    ("write", r"write\s+(?P<what>[^:\n]+?):[ \t]?(?P<new>.*)"),
    (
        "replace",
        r"replace\s+(?P<q>['\"`])(?P<old>.+?)(?P=q)\s+(?:with|by)\s+"
        r"(?P<p>['\"`])(?P<new>.*?)(?P=p)\s+in\s+(?:the\s+)?(?:files?\s+)?(?P<where>\S.*)",
    ),
    (
        "rename",
        r"rename\s+(?:the\s+)?(?:(?:function|class|method|variable|name|symbol)\s+)?['\"`]?"
        rf"(?P<old>[\w$.-]+)['\"`]?\s+to\s+['\"`]?(?P<new>[\w$.-]+?)['\"`]?{_WHERE}",
    ),
    ("read", rf"(?:read|show)\s+{_NOUNS}(?P<what>\S.*)"),
    ("find", rf"find\s+{_NOUNS}(?P<what>\S.*?){_WHERE}"),
    ("search", rf"(?:search|grep)\s+(?:for\s+)?(?P<what>\S.*?){_WHERE}"),
    ("ls", rf"(?:ls|list)(?:\s+{_NOUNS}(?P<what>\S.*))?"),
    ("delete", rf"(?:delete|remove)\s+{_NOUNS}(?P<what>\S.*)"),
    ("apply", r"apply(?:[:\s]+(?P<what>.+))?"),
    ("discard", r"discard(?:[:\s]+(?P<what>.+))?"),
]
_PATTERNS = [(verb, re.compile(form, re.IGNORECASE | re.DOTALL)) for verb, form in _FORMS]
_KEEPS_FULL_STOP = ("run", "write", "search")

_FENCE = re.compile(r"```.*?```", re.DOTALL)
_QUOTED = re.compile(r"(?<![^\s(=:,])(['\"`])(?:(?!\1(?!\w)).)+\1(?!\w)", re.DOTALL)
_BREAK = re.compile(r"(?P<new>\n|;)(?P<then>\s*(?:and )?then\s)?|\s(?:and )?then\s", re.IGNORECASE)
_SHELL = re.compile(r"^\s*(?:.*\s)?run:", re.IGNORECASE)
_NEVER_SHELL = re.compile(
    r"\s*(?:run:|write\s[^:]+:|replace\s+['\"`]|rename\s+\S+\s+to\s|search\s|delete\s)",
    re.IGNORECASE,
)
_BEGINNING = re.compile(
    r"\s*(?:run:|write\s[^:]+:|(?:replace|rename|read|find|search|ls|delete|apply|discard)\b)",
    re.IGNORECASE,
)


def parse(text: str) -> list[list[PlainRequest]]:
    """Return the requests in ``text``: outer by line or ``;``, inner by the word ``then``."""
    return [[parse_one(part) for part in parts] for parts in _split(text)]


def parse_one(text: str) -> PlainRequest:
    """Return the one request that ``text`` is."""
    words = _POLITE.sub("", text.strip()).strip()
    words = re.sub(r",?\s+please[.!]?$", "", words, flags=re.IGNORECASE)
    plain = re.sub(r"(?<=[\w'\"`])[.!]$", "", words)
    for verb, pattern in _PATTERNS:
        match = pattern.fullmatch(words if verb in _KEEPS_FULL_STOP else plain)
        if match:
            return _request(verb, {key: value or "" for key, value in match.groupdict().items()})
    return PlainRequest("unknown", text.strip())


def _request(verb: str, found: dict[str, str]) -> PlainRequest:
    what, new = found.get("what", ""), found.get("new", "")
    return PlainRequest(
        verb=verb,
        what=what.strip() if verb == "run" else _unquote(what),
        where=_unquote(found.get("where", "")),
        old=found.get("old", ""),
        new=_content(new) if verb == "write" else new,
    )


def _unquote(text: str) -> str:
    """Return a name without the quotes, or the ``#file:``, around it."""
    text = text.strip().removeprefix("#file:")
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\"`"
    return text[1:-1] if is_quoted else text


def _content(text: str) -> str:
    """Return a file's content; a fenced block gives the lines inside the fence."""
    fenced = re.fullmatch(r"\s*```[^\n]*\n(?P<inside>.*?)\n?```\s*", text, re.DOTALL)
    inside = fenced["inside"] if fenced else text
    return inside if inside.endswith("\n") or not inside else inside + "\n"


def _split(text: str) -> list[list[str]]:
    """Cut a text into requests, but none inside quotes or a fence.

    A ``run:`` takes the rest of its line, unless what follows can only be another request.
    """
    chains: list[list[str]] = [[""]]
    position = 0
    closed = [found.span() for form in (_FENCE, _QUOTED) for found in form.finditer(text)]
    for found in _BREAK.finditer(text):
        if any(start <= found.start() < end for start, end in closed):
            continue
        before = text[position : found.start()]
        if not _is_cut(chains[-1][-1] + before, found, text[found.end() :]):
            continue
        position = found.end()
        if found["new"] and not found["then"]:
            chains[-1][-1] += before
            chains.append([""])
        else:
            chains[-1][-1] += before.rstrip().removesuffix(",")
            chains[-1].append("")
    chains[-1][-1] += text[position:]
    return [parts for chain in chains if (parts := [part for part in chain if part.strip()])]


def _is_cut(before: str, found: re.Match[str], after: str) -> bool:
    """Whether a request ends here."""
    is_shell = _SHELL.match(before) is not None
    if found["new"] == "\n":
        return not re.match(r"\s*```", after)
    if found["then"]:
        return not is_shell
    if found["new"]:
        return not is_shell or _NEVER_SHELL.match(after) is not None
    return not (is_shell and before.rstrip().endswith(";")) and bool(_BEGINNING.match(after))
