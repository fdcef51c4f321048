"""A valid call, and the target that it would act on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentchat.core.messages import ToolCall
from agentchat.core.shell.parse import Script
from agentchat.core.tools.ports import FileTarget, Zone
from agentchat.core.tools.tool import Tool
from agentchat.core.urls import Url


@dataclass(frozen=True)
class ValidCall:
    """A call of a known tool with arguments that fit its schema.

    ``raw_arguments`` is the JSON object as sent, ``arguments`` the tool's own form of it.
    """

    call: ToolCall
    tool: Tool
    raw_arguments: Mapping[str, Any]
    arguments: Any
    changed_by_user: bool = False
    reserved: Mapping[str, Any] = field(default_factory=dict)
    """Values of the reserved fields, see ``turn.validate``."""


@dataclass(frozen=True, slots=True)
class CallTarget:
    """The files that a call would read and write, its directory, command and web addresses."""

    cwd: str
    reads: tuple[FileTarget, ...] = ()
    writes: tuple[FileTarget, ...] = ()
    command: str | None = None
    urls: tuple[Url, ...] = ()
    script: Script | None = None
    """The parsed command."""
    evidence: tuple[str, ...] = ()
    """Names and fingerprints of what the command would run; a grant is void when they change."""
    asks: bool | None = None
    """Whether the tool itself wants to ask; ``None``: the policy decides."""
    host: str = ""
    """The machine, as the user calls it; empty for the user's own."""
    targets_by_path: Mapping[str, FileTarget] = field(default_factory=dict)
    """The same files by the paths that the model wrote: a run need not locate them again."""

    @property
    def unusual(self) -> tuple[FileTarget, ...]:
        """Return the targets that ask in every mode: protected, secret or outside ones."""
        reads = (t for t in self.reads if t.zone in (Zone.OUTSIDE, Zone.SECRET))
        writes = (t for t in self.writes if not t.ordinary)
        return (*reads, *writes)
