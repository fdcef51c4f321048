"""Where one request ends and the next begins, quotes and shell commands respected."""

from __future__ import annotations

import re

_FENCE = re.compile(r"```.*?```", re.S)
_QUOTED = re.compile(r"(?<![^\s(=:,])(['\"`])(?:(?!\1(?!\w)).)+\1(?!\w)", re.S)
_BREAK = re.compile(r"(?P<new>\n|;)(?P<next>\s*(?:and )?then\s)?|\s(?:and )?then\s", re.I)
_SHELL = re.compile(r"^\s*(?:.*\s)?run:", re.I)
_NEVER_SHELL = re.compile(
    r"\s*(?:run:|write\s[^:]+:|replace\s+['\"`]|rename\s+\S+\s+to\s|search\s|delete\s)", re.I
)
_WISH = re.compile(
    r"\s*(?:run:|write\s[^:]+:|(?:replace|rename|read|find|search|ls|delete|apply|discard)\b)", re.I
)


def split(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the requests in ``text``: outer by line or ``;``, inner by the word ``then``.

    A request inside quotes or a fence is not cut. A ``run:`` takes the rest of its line, unless
    what follows can only be another request.
    """
    chains: list[list[str]] = [[""]]
    at, closed = 0, _closed(text)
    for found in _BREAK.finditer(text):
        if any(start <= found.start() < end for start, end in closed):
            continue
        before, after = text[at : found.start()], text[found.end() :]
        if not _parts(chains[-1][-1] + before, found, after):
            continue
        begins = found["new"] and not found["next"]
        chains[-1][-1] += before if begins else before.rstrip().removesuffix(",")
        at = found.end()
        if begins:
            chains.append([""])
        else:
            chains[-1].append("")
    chains[-1][-1] += text[at:]
    return tuple(
        tuple(part.strip() for part in chain if part.strip())
        for chain in chains
        if any(part.strip() for part in chain)
    )


def _closed(text: str) -> list[tuple[int, int]]:
    """Return the spans in which nothing is cut."""
    spans = [found.span() for found in _FENCE.finditer(text)]
    return spans + [found.span() for found in _QUOTED.finditer(text)]


def _parts(before: str, found: re.Match[str], after: str) -> bool:
    """Whether the text is cut at this place."""
    if found["new"] == "\n":
        return not re.match(r"\s*```", after)
    shell = _SHELL.match(before) is not None
    if found["next"]:
        return not shell
    if found["new"]:
        return not shell or _NEVER_SHELL.match(after) is not None
    if shell and before.rstrip().endswith(";"):
        return False
    return _WISH.match(after) is not None
