"""Declarations as data: what the plugin knows of a tool or a handler of the user's.

The functions stay in the process that imported the file; the plugin calls them by the name of
their role.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any

from agentchat.core.frozen import frozen
from agentchat.core.tools.tool import UndoMethod
from agentchat.tools.custom.declaration.template import Template

ASKS = "require_approval_before"
RESOURCES = "affected_resources"
HOOKS = (
    "dry_run", "undo", "redo", "setup", "on_exit", "render_call", "render_result", ASKS, RESOURCES,
    "prompt", "on_success", "on_error", "on_rejected", "on_cancelled", "description",
)  # fmt: skip


NO_OUTPUT = "(no output)"
OVER = "The call is over: its context can do nothing more."


@frozen
class ToolSpec:
    """A tool as data.

    Args:
        schema: the JSON Schema of the arguments.
        defaults: the values of arguments that the model leaves out, if JSON can represent them.
        steps: the function or command, then its steps: the parts of a command's template, ``None``
            for a function.
        hooks: those of ``HOOKS`` that are defined.
        asks: ``require_approval_before`` if it is no function.
        resources: ``affected_resources`` if it is no function.
        render_needs: the arguments without which ``render_call`` cannot be called.
        renders_partial: whether ``render_result`` renders the output of a call that runs, too.
        line: the line of the function in its file.
        metadata: fields of ``core.tools.tool.Metadata``.
        cwd: the working directory of its calls, relative to the workspace.
    """

    _: KW_ONLY

    name: str
    description: str
    schema: dict[str, Any]
    defaults: dict[str, Any]
    steps: tuple[tuple[str, ...] | None, ...]
    hooks: tuple[str, ...]
    asks: bool | None
    render_needs: tuple[str, ...]
    aliases: tuple[str, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    urls: tuple[str, ...]
    resources: tuple[str, ...]
    guidelines: tuple[str, ...]
    renders_partial: bool
    line: int
    metadata: dict[str, Any]
    flag: str = ""
    always_load: bool = False
    setup_once: bool = False
    min_confidence: int = 0
    timeout: float | None = None
    label: str = ""
    prompt_snippet: str = ""
    system_prompt: str = ""
    cwd: str = ""
    undo_method: UndoMethod = ""
    undo_tool: str = ""
    undo_description: str = ""

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> ToolSpec:
        """Return a spec that was sent, where sequences arrive as lists."""
        lists = {name: tuple(value) for name, value in data.items() if isinstance(value, list)}
        return cls(**{**data, **lists})

    def command(self, step: int) -> Template | None:
        """Return the command that a step is, ``None`` if it is a function."""
        parts = self.steps[step]
        return None if parts is None else Template(tuple(parts))


@frozen
class CheckpointSpec:
    """A handler as data; without ``tools`` it is for the calls of every tool."""

    name: str
    tools: tuple[str, ...] = ()
    only_confirms: bool = False
    """Whether it restores nothing."""


COMMAND_ARGUMENT = "command"
FILE_ARGUMENTS = ("path", "paths", "file", "files", "file_path", "filename")
URL_ARGUMENTS = ("url", "urls")


def class_arguments(spec: ToolSpec) -> tuple[str, ...]:
    """Return the arguments that the permission class of a tool is about, by their names.

    The classes ``bash``, ``file`` and ``webfetch`` are judged as commands, files and addresses.
    """
    wanted = {
        "bash": (COMMAND_ARGUMENT,),
        "file": FILE_ARGUMENTS,
        "webfetch": URL_ARGUMENTS,
    }.get(spec.metadata.get("permission_class", ""), ())
    return tuple(name for name in wanted if name in (spec.schema.get("properties") or {}))


def missing_argument(spec: ToolSpec) -> str:
    """Return why a tool cannot be judged by its permission class; empty if it can."""
    kind = spec.metadata.get("permission_class")
    declared = {
        "bash": spec.steps[0] is not None,
        "file": bool(spec.reads or spec.writes),
        "webfetch": bool(spec.urls),
    }
    if declared.get(str(kind), True) or class_arguments(spec):
        return ""
    names = {
        "bash": "command=, or an argument named command",
        "file": "reads= or writes=, or an argument named path",
        "webfetch": "urls=, or an argument named url",
    }
    return f"permission_class={kind!r} needs {names[str(kind)]}"
