"""Commands that nobody was asked about run isolated: what counts is what they changed.

An isolated run works on an overlay of the workspace, without network, sockets and secrets. So it
needs no question; one comes afterwards, about the change, if there is one that asks.
:func:`isolation_of` says whether and how a command runs isolated:

========  =========================================================================
``ask``   each change asks: what neither a rule nor a grant decides, rules *stage*
``apply`` changes of ordinary files apply, others ask: rules with ``isolated = true``,
          a grant that was given to an isolated run, the mode *yolo*
``drop``  what it changed is dropped: the mode *plan*
========  =========================================================================

The words of a command decide only where the user's rule says so, and where no overlay works.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from agentchat.core.diff.aspects import entry_of
from agentchat.core.diff.changeset import FileChange
from agentchat.core.frozen import frozen
from agentchat.core.permissions.sensitive_paths import runs_by_itself
from agentchat.core.workspace import FileTarget

ISOLATED = "isolated"
"""Among the details of a result: that its command ran isolated."""

Isolation = Literal["", "ask", "apply", "drop"]
"""What becomes of the changes of an isolated run; empty for a run in the workspace itself."""

Unasked = Literal["isolated", "readers", "none"]
"""The setting ``commands.unasked``: which commands run without a question."""

StageIgnored = Literal["drop", "ask", "apply"]
"""The setting ``stage.ignored``: what applying a preview of stage mode does to ignored files."""


@frozen
class IsolatedFile:
    """A file that an isolated run changed, and what it is in the workspace.

    ``targets`` are the paths that the change touches: two of a renamed file, none of a group of
    changes, whose members are all ordinary, or the data of git.
    """

    change: FileChange
    targets: tuple[FileTarget, ...] = ()
    is_privileged: bool = False
    """Whether a program may gain the rights of its owner or group by the change."""
    is_restricted: bool = False
    """Whether a rule denies one of its paths, or asks about it."""

    @property
    def asks(self) -> bool:
        """Whether the change needs the user's approval in every mode."""
        return self.is_privileged or self.is_restricted or self.special is not None

    @property
    def special(self) -> FileTarget | None:
        """The first of its paths that is not an ordinary one."""
        return next((target for target in self.targets if not target.ordinary), None)

    @property
    def runs_by_itself(self) -> bool:
        """Whether something runs it without being asked to: it is left out unless taken in."""
        return any(runs_by_itself(target.display_path.split("/")) for target in self.targets)


def leave_out_self_running(file: FileChange, root: str) -> FileChange:
    """Return a change, left out unless taken in if something runs the file by itself.

    Args:
        root: of the workspace; a group of changes, like the data of git, has no such file.
    """
    names = [] if file.members else [entry_of(path) for path in file.paths]
    found = any(runs_by_itself(name.removeprefix(f"{root}/").split("/")) for name in names)
    return replace(file, left_out=True) if found else file


def describe_special(files: Sequence[IsolatedFile]) -> list[str]:
    """Return a line for each file that needs approval in every mode."""
    lines = []
    for file in files:
        if file.is_privileged:
            lines.append(f"{file.change.name} runs as its owner or group (setuid, setgid)")
        elif (target := file.special) is not None:
            why = "has a second hard link" if target.hard_linked else target.zone.value
            verb = "" if target.hard_linked else "is "
            lines.append(f"{file.change.name} {verb}{why}")
    return lines
