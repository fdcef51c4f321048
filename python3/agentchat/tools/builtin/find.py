"""Find files by name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Any

from agentchat.core.frozen import frozen
from agentchat.core.globs import matcher
from agentchat.core.limits import FIND_RESULTS
from agentchat.core.text import escape_line
from agentchat.core.tools.tool import Metadata, Tool, ToolContext, ToolOutput
from agentchat.core.workspace import FileTarget
from agentchat.tools.arguments import ToolArguments, ValueArguments
from agentchat.tools.files import locate_directory, reads_path
from agentchat.tools.format import (
    add_notices,
    argument_text,
    limit_notice,
    truncation_details,
)
from agentchat.tools.search.walk import list_files


@frozen
class FindArguments(ToolArguments):
    """What ``find`` takes."""

    pattern: Annotated[
        str, "Glob like *.py; with a / it matches the path, like src/**/*.py", {"minLength": 1}
    ]
    path: Annotated[str | None, "Directory; the workspace by default"] = None
    limit: Annotated[
        int | None, f"The most paths to return; {FIND_RESULTS} by default", {"minimum": 1}
    ] = None


async def run(arguments: FindArguments, context: ToolContext) -> ToolOutput:
    """Return the paths that match, one per line."""
    limit = arguments.limit or FIND_RESULTS
    target = await locate_directory(arguments.path or ".", context)
    pattern = arguments.pattern.removeprefix(target.path + "/")
    matches = matcher(pattern, "" if target.display_path == "." else target.display_path)
    found = [name for name in await list_files(target.path, context.workspace) if matches(name)]
    names = [name for name in found if not context.is_restricted(_display_path(target, name))]
    if not names:
        return ToolOutput("No files found matching pattern", details={"results": 0})
    text = "\n".join(escape_line(_display_path(target, name)) for name in names[:limit])
    details: dict[str, Any] = {"results": len(names)}
    if len(names) <= limit:
        return ToolOutput(text, details=details)
    details |= truncation_details("results", text, limit=limit, total=len(names))
    return ToolOutput(add_notices(text, [limit_notice(limit, "results")]), details=details)


def _display_path(folder: FileTarget, name: str) -> str:
    """Return the path of a file below a folder, as ``read`` accepts it."""
    return name if folder.display_path == "." else os.path.join(folder.display_path, name)


def render_call(given: Mapping[str, Any]) -> str:
    """Return the call in one line, like ``find *.py in src``."""
    where = f" in {argument_text(given['path'])}" if given.get("path") else ""
    return f"find {argument_text(given.get('pattern'))}{where}"


TOOL = Tool(
    name="find",
    description=(
        "Find files by a glob pattern. Returns paths relative to the workspace, sorted; hidden "
        f"files included, ignored files left out. At most {FIND_RESULTS} results."
    ),
    arguments=ValueArguments(FindArguments),
    steps=(run,),
    metadata=Metadata(
        confined=True,
        concurrency_safe=True,
        read_only=True,
        aliases=("file_search",),
        search_hint="files by name or glob",
        permission_class="read",
        audit_operation="find",
    ),
    touches=reads_path,
    render_call=render_call,
    snippet="Find files by glob pattern",
)
