"""A call on its way from the model's reply to its run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentchat.core.messages import ToolCall
from agentchat.core.shell.parse import Script
from agentchat.core.tools.ports import FileTarget, Zone
from agentchat.core.tools.tool import Tool


@dataclass(frozen=True)
class ValidCall:
    """A call whose tool is known and whose arguments fit.

    ``raw_arguments`` is the JSON object as sent, ``arguments`` what the tool takes.
    """

    call: ToolCall
    tool: Tool
    raw_arguments: Mapping[str, Any]
    arguments: Any
    changed_by_user: bool = False
    reserved: Mapping[str, Any] = field(default_factory=dict)
    """What the model wrote in reserved fields: its confidence, its second thoughts."""


@dataclass(frozen=True, slots=True)
class CallTarget:
    """Where a call would act: what it reads and writes, the working directory, its command."""

    cwd: str
    reads: tuple[FileTarget, ...] = ()
    writes: tuple[FileTarget, ...] = ()
    command: str | None = None
    script: Script | None = None
    """What the command consists of, as far as it could be parsed."""
    evidence: tuple[str, ...] = ()
    """What the command would run, named and fingerprinted: a grant is void when that changes."""
    asks: bool | None = None
    """What the tool itself says about asking, if it says anything."""
    host: str = ""
    """The machine, as the user calls it; empty for the user's own."""
    targets_by_path: Mapping[str, FileTarget] = field(default_factory=dict)
    """The same files by their paths as the model wrote them: a run looks none up again."""

    @property
    def unusual(self) -> tuple[FileTarget, ...]:
        """Return the targets that ask in every mode: protected, secret or outside ones."""
        reads = (t for t in self.reads if t.zone in (Zone.OUTSIDE, Zone.SECRET))
        writes = (t for t in self.writes if not t.ordinary)
        return (*reads, *writes)
