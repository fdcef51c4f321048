"""What the plugin knows of a tool whose functions live in another process."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import Any

from agentchat.tools.custom.binding import Bound
from agentchat.tools.custom.definition import Definition
from agentchat.tools.custom.template import Template

HOOKS = ("dry_run", "undo", "setup", "on_exit", "render_call", "render_result")


@dataclass(frozen=True, slots=True)
class Described:
    """A definition without its functions: plain data, as JSON has it.

    Args:
        schema: the JSON Schema of the arguments.
        defaults: what arguments are that the model leaves out, as far as JSON can say it.
        works: for the function and each step: the parts of a command, ``None`` for a function.
        hooks: which functions there are among the options.
        asks: as the user said, or ``"function"``.
        render_needs: the arguments without which ``render_call`` cannot be called.
    """

    name: str
    description: str
    schema: dict[str, Any]
    defaults: dict[str, Any]
    works: tuple[tuple[str, ...] | None, ...]
    hooks: tuple[str, ...]
    asks: bool | str | None
    render_needs: tuple[str, ...]
    aliases: tuple[str, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    guidelines: tuple[str, ...]
    search_hint: str
    flag: str
    always_load: bool
    read_only: bool
    concurrency_safe: bool
    destructive: bool
    requires_checkpoint: bool
    requires_reverse_thinking: bool
    setup_once: bool
    min_confidence: int
    timeout: float | None
    line: int

    def template(self, number: int) -> Template | None:
        """Return the command that a work is, ``None`` if it is a function."""
        parts = self.works[number]
        return None if parts is None else Template(tuple(parts))


def described(definition: Definition) -> str:
    """Return a description of a definition, as JSON."""
    options = definition.options
    own = {f.name: getattr(options, f.name) for f in fields(Described) if hasattr(options, f.name)}
    found = Described(
        **{
            **own,
            "name": definition.name,
            "description": definition.description,
            "schema": definition.parameters.schema(),
            "defaults": definition.parameters.plain_defaults(),
            "works": tuple(w.parts if isinstance(w, Template) else None for w in definition.works),
            "hooks": tuple(name for name in HOOKS if getattr(definition, name) is not None),
            "asks": "function" if isinstance(definition.asks, Bound) else definition.asks,
            "render_needs": _needs(definition.render_call),
            "aliases": definition.aliases,
            "reads": definition.reads,
            "writes": definition.writes,
            "guidelines": definition.guidelines,
            "line": definition.line,
        }
    )
    return json.dumps(asdict(found))


def heard(text: str) -> Described:
    """Return a description that came as JSON."""
    said: dict[str, Any] = json.loads(text)
    listed: dict[str, Any] = {k: tuple(v) for k, v in said.items() if isinstance(v, list)}
    return Described(**{**said, **listed})


def _needs(bound: Bound | None) -> tuple[str, ...]:
    slots = () if bound is None else bound.slots
    return tuple(slot.name for slot in slots if slot.kind == "named" and not slot.optional)
