"""Find files by name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from agentchat.core.globs import matcher
from agentchat.core.limits import FIND_RESULTS
from agentchat.core.tools.ports import FileTarget
from agentchat.core.tools.tool import Access, Metadata, Tool, ToolContext, ToolOutput
from agentchat.tools.files import locate_directory
from agentchat.tools.format import argument_text, escape_name, limit_reached, with_notices
from agentchat.tools.schema import PydanticArguments, ToolArguments, WholeNumber
from agentchat.tools.search.walk import list_files


class FindArguments(ToolArguments):
    """What ``find`` takes."""

    pattern: str = Field(
        min_length=1, description="Glob like *.py; with a / it matches the path, like src/**/*.py"
    )
    path: str | None = Field(None, description="Directory; the workspace by default")
    limit: WholeNumber | None = Field(
        None, ge=1, description=f"The most paths to return; {FIND_RESULTS} by default"
    )


async def run(arguments: FindArguments, context: ToolContext) -> ToolOutput:
    """Return the paths that fit, one a line."""
    limit = arguments.limit or FIND_RESULTS
    target = await locate_directory(arguments.path or ".", context)
    pattern = arguments.pattern.removeprefix(target.path + "/")
    fits = matcher(pattern, "" if target.display_path == "." else target.display_path)
    found = [name for name in await list_files(target.path, context.workspace) if fits(name)]
    if not found:
        return ToolOutput("No files found matching pattern", details={"results": 0})
    notices = [limit_reached(limit, "results")] if len(found) > limit else []
    lines = [escape_name(shown_below(target, name)) for name in found[:limit]]
    return ToolOutput(with_notices("\n".join(lines), notices), details={"results": len(found)})


def shown_below(folder: FileTarget, name: str) -> str:
    """Return how a file below a folder is shown: a path that ``read`` takes."""
    return name if folder.display_path == "." else os.path.join(folder.display_path, name)


def touches(arguments: FindArguments) -> Access:
    """Return what a call reads."""
    return Access(reads=(arguments.path or ".",))


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
    arguments=PydanticArguments(FindArguments),
    steps=(run,),
    metadata=Metadata(
        concurrency_safe=True,
        read_only=True,
        aliases=("file_search",),
        search_hint="files by name or glob",
        permission_class="read",
        audit_operation="find",
    ),
    touches=touches,
    render_call=render_call,
    snippet="Find files by glob pattern",
)
