"""What a command that ran in the overlay tells of itself, beside its output."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace

from agentchat.agent.execution.journaled_workspace import JournaledWorkspace
from agentchat.core.diff.aspects import entry_of, split_aspect
from agentchat.core.diff.changeset import ChangeSet, FileChange, count_lines
from agentchat.core.text import escape_line
from agentchat.core.tools.tool import ToolOutput
from agentchat.workspace.files.steps import order_steps
from agentchat.workspace.overlay.workspace import OverlayWorkspace

NAMED_FILES = 20

NO_NETWORK = (
    "Commands have no network in stage mode. If that is why it failed, call bash again with "
    "network set to true: the user is asked."
)
READ_ONLY = "Outside the workspace and /tmp, everything is read-only in stage mode."
TOO_LARGE = "A file exceeded the quota of stage mode (stage.quota_mb)."

_NO_NETWORK = re.compile(
    r"could not resolve host|name or service not known|temporary failure in name resolution"
    r"|network is unreachable|no route to host|EAI_AGAIN|ENOTFOUND|getaddrinfo"
    r"|failed to establish a new connection|dial tcp|unable to resolve"
    r"|connection refused|ECONNREFUSED",
    re.IGNORECASE,
)
_READ_ONLY = re.compile(r"read-only file system|EROFS", re.IGNORECASE)
_TOO_LARGE = re.compile(r"file too large|file size limit|EFBIG|killed by signal 25", re.IGNORECASE)


async def apply_overlay(
    overlay: OverlayWorkspace, workspace: JournaledWorkspace, change: ChangeSet
) -> None:
    """Apply what was staged, all or nothing; empty the overlay. Raises StalePreview or ToolError.

    Of two files, the one that was changed later in the overlay is the newer one, too: so ``make``
    does not build again what was built there.
    """
    # Undo goes through the journal backwards, file by file: in this order it can.
    files = [file for step in order_steps(change.singly.files) for file in step]
    applied = await workspace.apply(ChangeSet(tuple(files)))
    saved = [file.path for file in applied if file.saved]
    await asyncio.to_thread(overlay.changes.restore_order, saved)
    await overlay.clear()


def add_remarks(
    result: ToolOutput, changed: Sequence[FileChange], *, network: bool = False
) -> ToolOutput:
    """Return the result of a command with the files it changed, and why it may have failed.

    Args:
        network: whether the command had the network.
    """
    reasons = [(_READ_ONLY, READ_ONLY), (_TOO_LARGE, TOO_LARGE)]
    reasons += [] if network else [(_NO_NETWORK, NO_NETWORK)]
    lines = [text for pattern, text in reasons if pattern.search(result.text)]
    lines = [*lines, *([describe_changes(changed)] if changed else [])]
    if not lines:
        return result
    return replace(result, text="\n\n".join((result.text, *lines)))


def describe_changes(changed: Sequence[FileChange]) -> str:
    """Return a line like ``Changed 2 files: a.py (+1 -0), b.py (+3 -2)``."""
    number = len(changed)
    plain = sorted((file for file in changed if not _is_git(file)), key=lambda file: file.path)
    names = [_describe(file) for file in plain[:NAMED_FILES]]
    if len(plain) > NAMED_FILES:
        names.append(f"and {len(plain) - NAMED_FILES} more")
    if len(plain) < number:
        names.append(f".git ({number - len(plain)} files)")
    return escape_line(f"Changed {number} {'file' if number == 1 else 'files'}: {', '.join(names)}")


def _is_git(file: FileChange) -> bool:
    return "/.git/" in f"{entry_of(file.path)}/"


def _describe(file: FileChange) -> str:
    if split_aspect(file.path)[1]:
        return file.name
    if file.is_binary:
        return f"{file.name} (binary)"
    added, removed = count_lines(file)
    return f"{file.name} (+{added} -{removed})"
