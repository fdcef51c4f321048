"""Plans that only look: read, find, search, list."""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Generator

from agentchat.core.messages import Status, ToolResult
from agentchat.models.offline import wishes as w
from agentchat.models.offline.acts import Act, Outcome, Steps
from agentchat.models.offline.results import (
    at_least,
    count,
    failed,
    listed,
    matches,
    refused,
    some,
)


def read(path: str) -> Steps:
    """Read a file; if it is not there, one with a similar name."""
    result = yield Act("read", {"path": path}, f"read `{path}`")
    if not result.is_error:
        return Outcome(_has_read(path, result.text))
    end = refused(result, f"reading {path}")
    if end is not None:
        return end
    other, failure = yield from _similar(path, result)
    if other is None:
        return failure
    result = yield Act("read", {"path": other}, f"`{path}` is not there; read `{other}` instead")
    if result.is_error:
        return refused(result, f"reading {other}") or Outcome(f"{other}: {result.text}", False)
    return Outcome(
        f"{path} does not exist; the nearest name is {other}. {_has_read(other, result.text)}"
    )


def _similar(
    path: str, failed: ToolResult
) -> Generator[Act, ToolResult, tuple[str | None, Outcome]]:
    """Look for a file with a similar name; return it, or why there is none."""
    if not failed.text.startswith("Path not found"):
        return None, Outcome(f"I could not read {path}: {failed.text}", False)
    name = posixpath.basename(path) or path
    stem, dot, ending = name.rpartition(".")
    wide = f"*.{ending}" if dot and stem else f"*{name}*"
    why = f"`{path}` is not there; look for a similar name"
    result = yield Act("find", {"pattern": wide}, why, needed=False)
    if result.is_error:
        return None, Outcome(f"{path} does not exist.", False)
    names = listed(result.text)
    near = difflib.get_close_matches(name, [posixpath.basename(n) for n in names], n=1, cutoff=0.5)
    if not near:
        return None, Outcome(f"{path} does not exist, and no file has a similar name.", False)
    found = min((n for n in names if posixpath.basename(n) == near[0]), key=len)
    return found, Outcome("")


def _has_read(path: str, text: str) -> str:
    notice = re.search(r"^\[(Showing lines .*|\d+ more lines in file.*)\]$", text, re.M)
    if notice:
        return f"Read {path}, a part of it: {notice.group(1)}"
    return f"Read {path}: {count(len(text.splitlines()), 'line')}."


def find(wish: w.Find) -> Steps:
    """List the files that fit."""
    where = f" in {wish.path}" if wish.path else ""
    arguments = {"pattern": wish.pattern, **({"path": wish.path} if wish.path else {})}
    result = yield Act("find", arguments, f"find `{wish.pattern}`{where}")
    if result.is_error:
        return failed(result, f"finding {wish.pattern}")
    names = listed(result.text)
    if not names:
        return Outcome(f"No file matches {wish.pattern}{where}.")
    more = at_least(result.text)
    return Outcome(f"{more}{count(len(names), 'file')} for {wish.pattern}{where}: {some(names)}.")


def search(wish: w.Search) -> Steps:
    """Search files; a pattern that is no regular expression is taken as text."""
    narrow = scope(wish.path)
    result = yield Act("grep", {"pattern": wish.pattern, **narrow}, f"search `{wish.pattern}`")
    if result.is_error and "Path not found" not in result.text and not _blocked(result):
        result = yield Act(
            "grep",
            {"pattern": wish.pattern, "literal": True, **narrow},
            "that is no regular expression; search it as plain text",
        )
    if result.is_error:
        return failed(result, f"searching {wish.pattern}")
    places = matches(result.text)
    if not places:
        return Outcome(f"Nothing matches {wish.pattern}{f' in {wish.path}' if wish.path else ''}.")
    files = list(dict.fromkeys(file for file, _ in places))
    shown = some([f"{file}:{line}" for file, line in places])
    found = f"{at_least(result.text)}{count(len(places), 'match', 'matches')}"
    return Outcome(f"{found} for {wish.pattern} in {count(len(files), 'file')}: {shown}.")


def ls(path: str) -> Steps:
    """List a directory."""
    result = yield Act("ls", {"path": path} if path else {}, f"list `{path or '.'}`")
    if result.is_error:
        return failed(result, f"listing {path or 'the directory'}")
    names = listed(result.text)
    if not names:
        return Outcome(f"{path or 'The directory'} is empty.")
    return Outcome(f"{path or 'The directory'} has {count(len(names), 'entry', 'entries')}.")


def is_glob(path: str) -> bool:
    """Whether a path has wildcards."""
    return any(sign in path for sign in "*?[{")


def scope(where: str) -> dict[str, str]:
    """Return the arguments that narrow a search to a glob, a file or a directory."""
    if not where:
        return {}
    return {"glob": where} if is_glob(where) else {"path": where}


def _blocked(result: ToolResult) -> bool:
    return result.status is not Status.ERROR
