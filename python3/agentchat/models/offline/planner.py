"""One plan for each verb: the calls it takes, and the sentence that says what came of them."""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Callable, Generator, Mapping
from typing import Any

from agentchat.core.frozen import frozen
from agentchat.core.messages import Status, ToolResult
from agentchat.models.offline.requests import PlainRequest

LISTED = 10
"""How many names or lines a sentence repeats."""

_CAPPED = re.compile(r"^\[\d+ \w+ limit reached", re.MULTILINE)
_PARTIAL = re.compile(r"^\[(Showing lines .*|\d+ more lines in file.*)\]$", re.MULTILINE)
_EXIT = re.compile(r"^Command (exited with code|timed out|was killed).*$", re.MULTILINE)


class RequestFailed(Exception):
    """Ends a request and those that follow it; the message says why."""


@frozen
class PlannedCall:
    """A call that a plan wants to make, and why, in a few words."""

    tool: str
    arguments: Mapping[str, Any]
    reason: str


Steps = Generator[PlannedCall, ToolResult, str]
"""A plan: yields a call, is sent its result, returns what came of it; raises RequestFailed."""


def plan(request: PlainRequest) -> Steps:
    """Return the plan of a request whose verb is known."""
    return _PLANS[request.verb](request)


def count(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def is_staged(result: ToolResult) -> bool:
    """Whether a call left a preview pending."""
    return result.text.startswith("Staged as a preview")


def _read(request: PlainRequest) -> Steps:
    path = request.what
    result = yield PlannedCall("read", {"path": path}, f"read `{path}`")
    if result.text.startswith("Path not found"):
        return (yield from _read_similar(path))
    return _line_count(path, _text_of(result, f"reading {path}"))


def _read_similar(path: str) -> Steps:
    name = posixpath.basename(path) or path
    stem, dot, ending = name.rpartition(".")
    pattern = {"pattern": f"*.{ending}" if dot and stem else f"*{name}*"}
    reason = f"`{path}` does not exist; look for a similar name"
    result = yield PlannedCall("find", pattern, reason)
    if result.is_error:
        raise RequestFailed(f"{path} does not exist.")
    found = _names(result.text)
    near = difflib.get_close_matches(name, map(posixpath.basename, found), n=1, cutoff=0.5)
    if not near:
        raise RequestFailed(f"{path} does not exist, and no file has a similar name.")
    other = min((one for one in found if posixpath.basename(one) == near[0]), key=len)
    reason = f"`{path}` does not exist; read `{other}` instead"
    result = yield PlannedCall("read", {"path": other}, reason)
    lines = _line_count(other, _text_of(result, f"reading {other}"))
    return f"{path} does not exist; the nearest name is {other}. {lines}"


def _find(request: PlainRequest) -> Steps:
    where = f" in {request.where}" if request.where else ""
    arguments = {"pattern": request.what, **({"path": request.where} if request.where else {})}
    result = yield PlannedCall("find", arguments, f"find `{request.what}`{where}")
    names = _names(_text_of(result, f"finding {request.what}"))
    if not names:
        return f"No file matches {request.what}{where}."
    files = f"{_at_least(result)}{count(len(names), 'file')}"
    return f"{files} for {request.what}{where}: {_first(names)}."


def _search(request: PlainRequest) -> Steps:
    arguments = {"pattern": request.what, **_scope(request.where)}
    result = yield PlannedCall("grep", arguments, f"search `{request.what}`")
    if result.status is Status.ERROR and "Path not found" not in result.text:
        reason = "that is no regular expression; search it as plain text"
        result = yield PlannedCall("grep", {**arguments, "literal": True}, reason)
    places = _places(_text_of(result, f"searching {request.what}"))
    if not places:
        return f"Nothing matches {request.what}{f' in {request.where}' if request.where else ''}."
    files = count(len(_files(places)), "file")
    found = f"{_at_least(result)}{count(len(places), 'match', 'matches')}"
    return f"{found} for {request.what} in {files}: {_first(places)}."


def _list(request: PlainRequest) -> Steps:
    path = request.what
    result = yield PlannedCall("ls", {"path": path} if path else {}, f"list `{path or '.'}`")
    names = _names(_text_of(result, f"listing {path or 'the directory'}"))
    held = f"has {count(len(names), 'entry', 'entries')}" if names else "is empty"
    return f"{path or 'The directory'} {held}."


def _replace(request: PlainRequest) -> Steps:
    path, old = request.where, request.old
    if _is_glob(path):
        return (yield from _replace_in_glob(request))
    edit = {"old_text": old, "new_text": request.new}
    reason = f"replace {old!r} with {request.new!r} in `{path}`"
    result = yield PlannedCall("edit", {"path": path, "edits": [edit]}, reason)
    if result.is_error and re.search(r"matches \d+ places", result.text):
        arguments = {"path": path, "edits": [{**edit, "replace_all": True}]}
        result = yield PlannedCall("edit", arguments, "it occurs several times; replace all")
    if result.status is Status.ERROR and "old_text not found" in result.text:
        return (yield from _show_nearest(path, old))
    return _first_line(_text_of(result, f"the edit of {path}"))


def _show_nearest(path: str, old: str) -> Steps:
    reason = f"{old!r} is not there; read `{path}` to see what is"
    result = yield PlannedCall("read", {"path": path}, reason)
    lines = [] if result.is_error else result.text.splitlines()
    wanted = old.strip().partition("\n")[0].strip() or old
    near = difflib.get_close_matches(wanted, [line.strip() for line in lines], n=3, cutoff=0.5)
    shown = [f"    {n}: {line}" for n, line in enumerate(lines, 1) if line.strip() in near][:3]
    nothing = f"{path} does not contain {old!r}, so I changed nothing."
    if not shown:
        raise RequestFailed(f"{nothing} No line is similar to it.")
    raise RequestFailed("\n".join([f"{nothing} The nearest lines:\n", *shown]))


def _replace_in_glob(request: PlainRequest) -> Steps:
    glob, old = request.where, request.old
    arguments = {"pattern": old, "literal": True, "glob": glob}
    result = yield PlannedCall("grep", arguments, f"find the files of `{glob}` with {old!r}")
    files = _files(_places(_text_of(result, f"searching {glob}")))
    if not files:
        raise RequestFailed(f"No file of {glob} contains {old!r}; I changed nothing.")
    edit = {"old_text": old, "new_text": request.new, "replace_all": True}
    done: list[str] = []
    for file in files:
        result = yield PlannedCall("edit", {"path": file, "edits": [edit]}, f"edit `{file}`")
        changed = f"{len(done)} of {count(len(files), 'file')} changed before that."
        done.append(_first_line(_text_of(result, f"the edit of {file}", changed)))
    return " ".join(done)


def _rename(request: PlainRequest) -> Steps:
    """Stage a structural rename, apply it, and look for what it leaves."""
    name, where = f"{request.old} to {request.new}", request.where
    arguments = {"ops": [{"pat": request.old, "out": request.new}], **_scope(where)}
    reason = f"stage a rename of {name}{f' in `{where}`' if where else ''}"
    staged = yield PlannedCall("ast_edit", arguments, reason)
    text = _text_of(staged, f"the rename of {name}")
    if not is_staged(staged):
        return (yield from _find_as_text(request, _first_line(text).rstrip(".")))
    apply = {"action": "apply", "reason": f"The user asked to rename {name}."}
    result = yield PlannedCall("resolve", apply, "apply the preview")
    if result.status is Status.ERROR:
        reason = f"It could not be applied: {_first_line(result.text)}"
        yield PlannedCall("resolve", {"action": "discard", "reason": reason}, "discard it")
    applied = _first_line(_text_of(result, f"the rename of {name}"))
    unparsed = " ".join(text.partition("Parse issues:")[2].split())
    skipped = f" Not parsed, so left alone: {unparsed}." if unparsed else ""
    rest = (yield from _left_over(request)) if applied.startswith("Applied") else ""
    return f"{applied}{skipped}{rest}"


def _find_as_text(request: PlainRequest, line: str) -> Steps:
    """No identifier matched: see whether the name occurs as text."""
    arguments = {"pattern": request.old, "literal": True, **_scope(request.where)}
    reason = f"no code matched; look for {request.old} as text"
    result = yield PlannedCall("grep", arguments, reason)
    places = [] if result.is_error else _places(result.text)
    found = f"occurs only in text, at {_first(places)}" if places else "does not occur there"
    raise RequestFailed(f"{line}: {request.old} {found}.")


def _left_over(request: PlainRequest) -> Steps:
    """Look for what a rename of identifiers leaves: strings, comments, other languages."""
    name = request.old
    arguments = {"pattern": rf"\b{re.escape(name)}\b", **_scope(request.where)}
    result = yield PlannedCall("grep", arguments, f"look for {name} in strings and comments")
    if result.is_error:
        return ""
    places = _places(result.text)
    if not places:
        return f" No other occurrences of {name}."
    verb = "contains" if len(places) == 1 else "contain"
    lines = f"{_at_least(result)}{count(len(places), 'line')} still {verb} {name}"
    return f" {lines} (text or comments): {_first(places)}."


def _run(request: PlainRequest) -> Steps:
    command = f"`{request.what}`"
    result = yield PlannedCall("bash", {"command": request.what}, f"run {command}")
    text, ending = result.text.strip(), _EXIT.search(result.text)
    if ending and result.status in (Status.SUCCESS, Status.ERROR):
        output = text[: ending.start()].strip().removeprefix("(no output)").splitlines()
        last = f" Its last line: {output[-1]}" if output else ""
        raise RequestFailed(f"{command} failed: {ending.group()}.{last}")
    _text_of(result, f"the command {command}")
    printed = "nothing" if text == "(no output)" else count(len(text.splitlines()), "line")
    return f"{command} ran and printed {printed}."


def _write(request: PlainRequest) -> Steps:
    arguments = {"path": request.what, "content": request.new}
    result = yield PlannedCall("write", arguments, f"write `{request.what}`")
    return _first_line(_text_of(result, f"writing {request.what}"))


def _delete(request: PlainRequest) -> Steps:
    result = yield PlannedCall("delete", {"path": request.what}, f"delete `{request.what}`")
    return _first_line(_text_of(result, f"deleting {request.what}"))


def _resolve(request: PlainRequest) -> Steps:
    reason = request.what or f"The user asked to {request.verb} it."
    arguments = {"action": request.verb, "reason": reason}
    result = yield PlannedCall("resolve", arguments, f"{request.verb} the preview")
    return _text_of(result, f"the {request.verb}")


_PLANS: Mapping[str, Callable[[PlainRequest], Steps]] = {
    "read": _read,
    "find": _find,
    "search": _search,
    "ls": _list,
    "replace": _replace,
    "rename": _rename,
    "run": _run,
    "write": _write,
    "delete": _delete,
    "apply": _resolve,
    "discard": _resolve,
}


def _text_of(result: ToolResult, action: str, after: str = "") -> str:
    """Return the text of a result, or end the request; ``after`` is added to the reason."""
    if not result.is_error:
        return result.text
    if result.status is Status.REJECTED:
        reason = result.text.partition("Reason:")[2].partition("\nDiscarded:")[0].strip()
        why = f": {reason.rstrip('.')}" if reason else " without a reason"
        line = f"You rejected {action}{why}. I stopped there and do not try it again."
    elif result.status is Status.ERROR:
        line = f"{action[:1].upper()}{action[1:]} failed: {result.text}"
    else:
        line = f"I stopped before {action}: {result.text}"
    raise RequestFailed(f"{line} {after}".strip())


def _line_count(path: str, text: str) -> str:
    notice = _PARTIAL.search(text)
    if notice:
        return f"Read {path}, a part of it: {notice.group(1)}"
    return f"Read {path}: {count(len(text.splitlines()), 'line')}."


def _is_glob(path: str) -> bool:
    return any(sign in path for sign in "*?[{")


def _scope(where: str) -> dict[str, str]:
    """Return the arguments that narrow a search to a glob, a file or a directory."""
    if not where:
        return {}
    return {"glob": where} if _is_glob(where) else {"path": where}


def _names(text: str) -> list[str]:
    """Return the names in a listing, without notices."""
    lines = [line for line in text.splitlines() if line.strip() and not _CAPPED.match(line)]
    is_empty = text.startswith(("No files found matching", "(empty directory)"))
    return [] if is_empty else lines


def _places(text: str) -> list[str]:
    """Return ``FILE:LINE`` of each match that ``grep`` printed."""
    return re.findall(r"^(.+?:\d+):", text, re.MULTILINE)


def _files(places: list[str]) -> list[str]:
    return list(dict.fromkeys(place.rpartition(":")[0] for place in places))


def _at_least(result: ToolResult) -> str:
    return "At least " if _CAPPED.search(result.text) else ""


def _first(names: list[str]) -> str:
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more} more" if more > 0 else "")


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
