"""Declarations as data: what the plugin knows of a tool or a handler of the user's.

The functions stay in the process that imported the file; the plugin calls them by the name of
their role.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from typing import Any

from agentchat.core.frozen import frozen
from agentchat.tools.custom.declaration.template import Template

ASKS = "require_approval_before"
RESOURCES = "affected_resources"
HOOKS = (
    "dry_run", "undo", "redo", "setup", "on_exit", "render_call", "render_result", ASKS, RESOURCES,
    "prompt", "on_success", "on_error", "on_rejected", "on_cancelled",
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
