"""Plans that have an effect: each of them is asked about before it happens."""

from __future__ import annotations

import difflib
import re
from collections.abc import Generator

from agentchat.core.messages import ToolResult
from agentchat.models.offline import wishes as w
from agentchat.models.offline.acts import Act, Outcome, Steps
from agentchat.models.offline.looking import is_glob, scope
from agentchat.models.offline.results import (
    at_least,
    count,
    failed,
    first_line,
    is_staged,
    matches,
    refused,
    some,
)


def replace(wish: w.Replace) -> Steps:
    """Edit one file, or all files of a glob."""
    return _replace_in_glob(wish) if is_glob(wish.path) else _replace_in_file(wish)


def _replace_in_file(wish: w.Replace) -> Steps:
    edit = {"old_text": wish.old, "new_text": wish.new}
    why = f"replace {wish.old!r} with {wish.new!r} in `{wish.path}`"
    result = yield Act("edit", {"path": wish.path, "edits": [edit]}, why)
    if re.search(r"matches \d+ places", result.text) and result.is_error:
        everywhere = {**edit, "replace_all": True}
        why = "it stands in several places; replace all of them"
        result = yield Act("edit", {"path": wish.path, "edits": [everywhere]}, why)
    if not result.is_error:
        return Outcome(first_line(result.text))
    end = refused(result, f"the edit of {wish.path}")
    if end is not None:
        return end
    if "not found" in result.text and not result.text.startswith("Path not found"):
        return (yield from _nearest(wish))
    return Outcome(f"I could not edit {wish.path}: {result.text}", False)


def _nearest(wish: w.Replace) -> Steps:
    """The old text is not there: read the file and say what comes nearest."""
    why = f"{wish.old!r} is not there; read `{wish.path}` to see what is"
    result = yield Act("read", {"path": wish.path}, why, needed=False)
    nothing = f"{wish.path} does not contain {wish.old!r}, so I changed nothing."
    if result.is_error:
        return Outcome(f"{nothing} Reading it failed as well: {first_line(result.text)}", False)
    lines = result.text.splitlines()
    wanted = wish.old.splitlines()[0].strip() if wish.old.strip() else wish.old
    near = difflib.get_close_matches(wanted, [line.strip() for line in lines], n=3, cutoff=0.5)
    at = [n for n, line in enumerate(lines, 1) if line.strip() and line.strip() in near][:3]
    if not at:
        return Outcome(f"{nothing} No line comes near it.", False)
    shown = "\n".join(f"    {n}: {lines[n - 1]}" for n in at)
    return Outcome(f"{nothing} The nearest lines:\n\n{shown}", False)


def _replace_in_glob(wish: w.Replace) -> Steps:
    arguments = {"pattern": wish.old, "literal": True, "glob": wish.path}
    result = yield Act("grep", arguments, f"find the files of `{wish.path}` with {wish.old!r}")
    if result.is_error:
        return failed(result, f"searching {wish.path}")
    files = list(dict.fromkeys(file for file, _ in matches(result.text)))
    if not files:
        return Outcome(f"No file of {wish.path} contains {wish.old!r}; I changed nothing.", False)
    edit = {"old_text": wish.old, "new_text": wish.new, "replace_all": True}
    said: list[str] = []
    for file in files:
        result = yield Act("edit", {"path": file, "edits": [edit]}, f"edit `{file}`")
        if result.is_error:
            end = refused(result, f"the edit of {file}") or failed(result, f"editing {file}")
            done = f"{len(said)} of {count(len(files), 'file')} changed before that."
            return Outcome(f"{end.text} {done}", False)
        said.append(first_line(result.text))
    return Outcome(" ".join(said))


def rename(wish: w.Rename) -> Steps:
    """Stage a structural rename, apply it, and look for what it leaves."""
    what = f"{wish.old} to {wish.new}"
    ops = [{"pat": wish.old, "out": wish.new}]
    where = f" in `{wish.where}`" if wish.where else ""
    arguments = {"ops": ops, **scope(wish.where)}
    result = yield Act("ast_edit", arguments, f"stage a rename of {what}{where}")
    if result.is_error:
        return failed(result, f"the rename of {what}")
    if not is_staged(result.text):
        return (yield from _no_code(wish, first_line(result.text)))
    skipped = result.text.partition("Parse issues:")[2].strip()
    result = yield Act(
        "resolve",
        {"action": "apply", "reason": f"The user asked to rename {what}."},
        "apply the preview",
    )
    if result.is_error:
        return (yield from _not_applied(result, what))
    if not result.text.startswith("Applied"):
        return Outcome(f"The rename of {what} is not made: {result.text}", False)
    said = first_line(result.text)
    note = f" Not parsed, so left alone: {' '.join(skipped.split())}." if skipped else ""
    left = yield from _left_over(wish)
    return Outcome(f"{said}{note}{left}")


def _not_applied(result: ToolResult, what: str) -> Steps:
    """The preview was not applied; take it away unless that is for the user to do."""
    end = refused(result, f"the rename of {what}")
    if end is not None:
        return end
    reason = f"It could not be applied: {first_line(result.text)}"
    yield Act(
        "resolve", {"action": "discard", "reason": reason}, "discard it, as it does not apply"
    )
    return Outcome(f"The rename of {what} failed: {first_line(result.text)}", False)


def _no_code(wish: w.Rename, said: str) -> Steps:
    """No identifier matched: see whether the name stands anywhere else."""
    narrow = scope(wish.where)
    why = f"no code matched; look for {wish.old} as text"
    result = yield Act("grep", {"pattern": wish.old, "literal": True, **narrow}, why, needed=False)
    places = [] if result.is_error else matches(result.text)
    if not places:
        return Outcome(f"{said.rstrip('.')}: {wish.old} does not occur there.", False)
    shown = some([f"{file}:{line}" for file, line in places])
    return Outcome(f"{said.rstrip('.')}: {wish.old} stands only in text, at {shown}.", False)


def _left_over(wish: w.Rename) -> Generator[Act, ToolResult, str]:
    """Look for what a rename of identifiers leaves: strings, comments, other languages."""
    arguments = {"pattern": rf"\b{re.escape(wish.old)}\b", **scope(wish.where)}
    why = f"look for {wish.old} in strings and comments"
    result = yield Act("grep", arguments, why, needed=False)
    places = [] if result.is_error else matches(result.text)
    if not places:
        return "" if result.is_error else f" {wish.old} stands nowhere else there."
    shown = some([f"{file}:{line}" for file, line in places])
    verb = "says" if len(places) == 1 else "say"
    found = f"{at_least(result.text)}{count(len(places), 'line')} still {verb} {wish.old}"
    return f" {found} (text or comments): {shown}."


def run(command: str) -> Steps:
    """Run a command and read how it ended."""
    result = yield Act("bash", {"command": command}, f"run `{command}`")
    end = refused(result, f"the command `{command}`")
    if end is not None:
        return end
    ending = re.search(r"^Command (exited with code|timed out|was killed).*$", result.text, re.M)
    if ending:
        output = result.text[: ending.start()].strip().splitlines()
        last = f" Its last line: {output[-1]}" if output and output != ["(no output)"] else ""
        return Outcome(f"`{command}` failed: {ending.group()}.{last}", False)
    if result.is_error:
        return failed(result, f"the command `{command}`")
    lines = [] if result.text.strip() == "(no output)" else result.text.splitlines()
    return Outcome(
        f"`{command}` ran and printed {count(len(lines), 'line') if lines else 'nothing'}."
    )


def write(wish: w.Write) -> Steps:
    """Create or replace a file."""
    arguments = {"path": wish.path, "content": wish.content}
    result = yield Act("write", arguments, f"write `{wish.path}`")
    return (
        failed(result, f"writing {wish.path}")
        if result.is_error
        else Outcome(first_line(result.text))
    )


def delete(path: str) -> Steps:
    """Delete a file."""
    result = yield Act("delete", {"path": path}, f"delete `{path}`")
    return (
        failed(result, f"deleting {path}") if result.is_error else Outcome(first_line(result.text))
    )


def resolve(wish: w.Resolve) -> Steps:
    """Finish the newest preview."""
    reason = wish.reason or f"The user asked to {wish.action} it."
    result = yield Act("resolve", {"action": wish.action, "reason": reason}, f"{wish.action} it")
    return failed(result, f"the {wish.action}") if result.is_error else Outcome(result.text)
