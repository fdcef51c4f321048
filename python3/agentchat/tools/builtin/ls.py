"""List a directory."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from agentchat.core.frozen import frozen
from agentchat.core.limits import LS_ENTRIES
from agentchat.core.text import escape_line
from agentchat.core.tools.tool import Metadata, Tool, ToolContext, ToolOutput
from agentchat.core.workspace import DirectoryEntry
from agentchat.tools.arguments import ToolArguments, ValueArguments
from agentchat.tools.files import locate_directory, read_error, reads_path
from agentchat.tools.format import (
    add_notices,
    argument_text,
    limit_notice,
    truncation_details,
)
from agentchat.tools.search.walk import Ignores, load_ignores


@frozen
class LsArguments(ToolArguments):
    """What ``ls`` takes."""

    path: Annotated[str | None, "Directory; the workspace by default"] = None
    limit: Annotated[
        int | None, f"The most entries to return; {LS_ENTRIES} by default", {"minimum": 1}
    ] = None


async def run(arguments: LsArguments, context: ToolContext) -> ToolOutput:
    """Return the names in a directory, one per line."""
    limit = arguments.limit or LS_ENTRIES
    target = await locate_directory(arguments.path or ".", context)
    try:
        entries = await context.workspace.list(target.path)
    except OSError as error:
        raise read_error(target, error) from error
    rules = await load_ignores(context.workspace, target.path)
    names = await asyncio.to_thread(_names, entries, rules)
    notices = [limit_notice(limit, "entries")] if len(names) > limit else []
    if not names and entries:
        notices.append(f"[{len(entries)} ignored entries are not shown]")
    text = "\n".join(escape_line(name) for name in names[:limit]) or "(empty directory)"
    details: dict[str, Any] = {"entries": len(names)}
    if len(names) > limit:
        details |= truncation_details("entries", text, limit=limit, total=len(names))
    return ToolOutput(add_notices(text, notices), details=details)


def _names(entries: Sequence[DirectoryEntry], rules: Ignores) -> list[str]:
    """Return the names of the entries that are not ignored, sorted."""
    names = [
        entry.name + "/" * (entry.kind == "directory")
        for entry in entries
        if not rules.hides(entry.name, entry.kind == "directory")
    ]
    return sorted(names, key=lambda name: (name.casefold(), name))


def render_call(given: Mapping[str, Any]) -> str:
    """Return the call in one line, like ``ls src``."""
    return f"ls {argument_text(given.get('path'), '.')}"


TOOL = Tool(
    name="ls",
    description=(
        "List a directory: names sorted, / after directories, dot files included, ignored files "
        f"left out. At most {LS_ENTRIES} entries."
    ),
    arguments=ValueArguments(LsArguments),
    steps=(run,),
    metadata=Metadata(
        confined=True,
        concurrency_safe=True,
        read_only=True,
        search_hint="names in a directory",
        permission_class="read",
        audit_operation="list",
    ),
    touches=reads_path,
    render_call=render_call,
    snippet="List directory contents",
)
