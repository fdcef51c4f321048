"""A valid call, and the target that it would act on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from agentchat.core.frozen import frozen
from agentchat.core.messages import ToolCall
from agentchat.core.shell.parse import Script
from agentchat.core.tools.tool import DryRunResult, Metadata, Tool
from agentchat.core.urls import Url
from agentchat.core.workspace import FileTarget, Zone

SAVED_FILES = "files"
"""The checkpoint that consists of files in the journal."""
CONFIRMATION = "confirmation "
"""Begins the name of a checkpoint that is only confirmed: it restores nothing."""
CUSTOM = "custom"
"""The permission class of a custom tool that declares none."""

UNUSUAL_READS = (Zone.OUTSIDE, Zone.SECRET)
"""The zones in which reading asks in every mode."""


PACKAGES = frozenset({"node_modules", "site-packages", ".pnpm", ".git"})
"""Folders in which package managers and git give files a second hard link."""


def asks_to_read(target: FileTarget) -> bool:
    """Whether reading a file asks in every mode: it may be another one than its name says."""
    is_linked = target.hard_linked and PACKAGES.isdisjoint(target.display_path.split("/"))
    return target.zone in UNUSUAL_READS or is_linked


@frozen
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


@frozen
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
    unfixed: str = ""
    """Why other files may decide what the command does; then a direct run is not remembered."""
    network: bool = False
    """Whether the command asks for the network where commands have none."""
    direct: bool = False
    """Whether the command asks to run in the workspace itself, not isolated."""
    asks: bool | None = None
    """Whether the tool itself wants to ask; ``None``: the policy decides."""
    settings_ask: bool | None = None
    """Whether the user's options of the tool ask, in every mode; ``None``: they do not say."""
    allowed_in_yolo: bool | None = None
    """Whether the user's options let it run in the mode yolo; ``None``: unless destructive."""
    host: str = ""
    """The machine, as the user calls it; empty for the user's own."""
    targets_by_path: Mapping[str, FileTarget] = field(default_factory=dict)
    """The same files by the paths that the model wrote: a run need not locate them again."""
    resources: tuple[str, ...] = ()
    """What the tool says that the call affects."""
    savable: tuple[FileTarget, ...] = ()
    """The files to save before a call that needs a checkpoint, if it affects nothing else."""
    checkpoint: str = ""
    """What makes the checkpoint before the call, if it needs one."""

    @property
    def restores(self) -> bool:
        """Whether the checkpoint before the call can be restored."""
        return bool(self.checkpoint) and not self.checkpoint.startswith(CONFIRMATION)

    @property
    def unusual(self) -> tuple[FileTarget, ...]:
        """Return the targets that ask in every mode: protected, secret or outside ones."""
        reads = (t for t in self.reads if asks_to_read(t))
        writes = (t for t in self.writes if not t.ordinary)
        return (*reads, *writes)


def declared_effects(
    call: ValidCall, target: CallTarget, preview: DryRunResult | None
) -> dict[str, Any]:
    """Return what the tool and its dry run declare of a call, as JSON data by name.

    What is not declared is left out; built-in tools show theirs in other ways.
    """
    if not call.tool.source:
        return {}
    metadata, shown = call.tool.metadata, preview or DryRunResult()
    declared = {
        "permission_class": metadata.permission_class,
        "audit_operation": metadata.audit_operation,
        "affected_resources": list(target.resources),
        "summary": shown.summary,
        "would_affect": list(shown.would_affect),
        "estimated_impact": dict(shown.impact),
        "reversible": shown.reversible,
    }
    undeclared = {"permission_class": CUSTOM, "audit_operation": Metadata().audit_operation}
    return {
        name: value
        for name, value in declared.items()
        if value not in ("", [], {}, None, undeclared.get(name))
    }
