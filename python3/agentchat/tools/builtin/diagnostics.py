"""List what language servers and linters report on the files that are open in the editor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from agentchat.core.errors import ToolError
from agentchat.core.frontend import Diagnostic
from agentchat.core.frozen import frozen
from agentchat.core.limits import DIAGNOSTICS
from agentchat.core.text import escape_line
from agentchat.core.tools.tool import Metadata, Tool, ToolContext, ToolOutput
from agentchat.tools.arguments import ToolArguments, ValueArguments
from agentchat.tools.files import locate_existing, reads_path
from agentchat.tools.format import add_notices, argument_text

ELSEWHERE = "There are no diagnostics: the files are on {host}. Run a linter there with bash."
NO_EDITOR = "There are no diagnostics: this chat runs without an editor. Run a linter with bash."

_SPELLINGS = {"warn": "warning", "information": "info"}

Severity = Literal["error", "warning", "info", "hint"]


@frozen
class DiagnosticsArguments(ToolArguments):
    """What ``diagnostics`` takes."""

    path: Annotated[str | None, "File or directory; the workspace by default"] = None
    severity: Annotated[
        Severity | None, "Only diagnostics of this severity or worse; all by default"
    ] = None

    @classmethod
    def normalize(cls, value: Any) -> Any:
        """Return the arguments with our name of the severity."""
        severity = value.get("severity")
        if not isinstance(severity, str):
            return value
        return {**value, "severity": _SPELLINGS.get(severity.lower(), severity.lower())}


async def run(arguments: DiagnosticsArguments, context: ToolContext) -> ToolOutput:
    """Return one line for each diagnostic."""
    if context.frontend is None:
        raise ToolError(NO_EDITOR)
    if context.workspace.host:
        raise ToolError(ELSEWHERE.format(host=context.workspace.host))
    path = (await locate_existing(arguments.path, context))[0].path if arguments.path else None
    diagnostics = await context.frontend.diagnostics(path, arguments.severity)
    listed = diagnostics[:DIAGNOSTICS]
    paths = {item.path for item in listed}
    names = {path: (await context.workspace.locate(path)).display_path for path in paths}
    lines = [_line(names[item.path], item) for item in listed]
    more = len(diagnostics) - len(lines)
    notices = [f"[{more} more diagnostics. Give path or severity to see them]"] if more else []
    text = "\n".join(lines) or "No diagnostics found"
    return ToolOutput(add_notices(text, notices), details={"diagnostics": len(diagnostics)})


def _line(name: str, item: Diagnostic) -> str:
    origin = " ".join(part for part in (item.source, item.code) if part)
    message = " ".join(item.message.split())
    place = f"{escape_line(name)}:{item.line}:{item.column}"
    return f"{place}: {item.severity}: {message}" + (f" [{origin}]" if origin else "")


def render_call(given: Mapping[str, Any]) -> str:
    """Return the call in one line, like ``diagnostics src/a.py (error)``."""
    which = f" ({argument_text(given['severity'])})" if given.get("severity") else ""
    return f"diagnostics {argument_text(given.get('path'), '.')}{which}"


TOOL = Tool(
    name="diagnostics",
    description=(
        "List what language servers and linters report on files that are open in the editor, as "
        f"PATH:LINE:COL: SEVERITY: MESSAGE. At most {DIAGNOSTICS}."
    ),
    arguments=ValueArguments(DiagnosticsArguments),
    steps=(run,),
    metadata=Metadata(
        concurrency_safe=True,
        read_only=True,
        aliases=("get_diagnostics",),
        search_hint="errors and warnings of language servers",
        permission_class="read",
        audit_operation="diagnose",
    ),
    touches=reads_path,
    render_call=render_call,
    snippet="List errors and warnings of open files",
)
