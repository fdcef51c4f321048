"""What a journal holds: one small frozen value for each thing that happened.

``at`` is unix seconds. A reader of a later format skips kinds and fields it does not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from agentchat.core.messages import Message

FORMAT = 1
"""Version of the format, in each record."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A chat was opened, or opened again, with this workspace and model."""

    kind: ClassVar[str] = "opened"
    chat: str
    cwd: str
    model: str = ""
    version: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Tools:
    """What the chat has, after its user gave or took something, see ``core.toolbox.Held``."""

    kind: ClassVar[str] = "tools"
    given: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()
    activated: tuple[str, ...] = ()
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A turn began; ``number`` counts from 1."""

    kind: ClassVar[str] = "turn_started"
    number: int
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """A turn ended: ``stop``, ``cancelled`` or ``error``."""

    kind: ClassVar[str] = "turn_finished"
    number: int
    reason: str
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Said:
    """Something joined the history."""

    kind: ClassVar[str] = "said"
    message: Message
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class SoFar:
    """The text of an answer that is still arriving; the whole answer replaces it."""

    kind: ClassVar[str] = "so_far"
    text: str
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Decided:
    """A call was allowed, refused or answered, for audit: never read back as consent.

    ``verdict`` is ``allow``, ``deny`` or the user's choice, ``who`` is ``user`` or ``policy``.
    """

    kind: ClassVar[str] = "decided"
    call_id: str
    tool: str
    scope: str
    verdict: str
    why: str
    who: str
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A call is about to run with these arguments; without a finish its outcome is unknown.

    ``operation`` and ``permission`` are what the tool says of itself for audit, ``reserved`` is
    what the model said besides the arguments: its confidence, its second thoughts.
    """

    kind: ClassVar[str] = "call_started"
    call_id: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    operation: str = ""
    permission: str = ""
    reserved: Mapping[str, Any] = field(default_factory=dict)
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class CallFinished:
    """A call ended; ``status`` as in a tool result."""

    kind: ClassVar[str] = "call_finished"
    call_id: str
    status: str
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class FileBytes:
    """One file of a change: hashes of its bytes before and after, None where there is no file.

    The rest is as in ``core.changes.FileChange``.
    """

    path: str
    before: str | None
    after: str | None
    mode: int | None = None
    owner: tuple[int, int] | None = None
    attributes: tuple[tuple[str, bytes], ...] = ()
    folders: int = 0


@dataclass(frozen=True, slots=True)
class Changing:
    """Files are about to change; ``source`` is the id of the call that changes or staged it.

    ``takes`` are the changes of the same file that this one takes back, as numbers: the first
    ``Changing`` of a journal is 0.
    """

    kind: ClassVar[str] = "changing"
    source: str
    files: tuple[FileBytes, ...]
    takes: tuple[int, ...] = ()
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Changed:
    """The last change of this source was made; without this its outcome is unknown.

    ``files`` are those that saving changed further, with the bytes they have now.
    """

    kind: ClassVar[str] = "changed"
    source: str
    files: tuple[FileBytes, ...] = ()
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Settled:
    """The last change of this source is over, made or not: no recovery looks at it again."""

    kind: ClassVar[str] = "settled"
    source: str
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Recovering:
    """What a process that ended left half made is taken back by changes with this id as source."""

    kind: ClassVar[str] = "recovering"
    id: str
    source: str
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Staged:
    """A preview waits, or waits anew under the same id with another change."""

    kind: ClassVar[str] = "staged"
    preview: str
    label: str
    source: str
    files: tuple[FileBytes, ...] = ()
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Resolving:
    """A preview is about to be applied or discarded."""

    kind: ClassVar[str] = "resolving"
    preview: str
    action: str
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Resolved:
    """A preview was applied or discarded."""

    kind: ClassVar[str] = "resolved"
    preview: str
    label: str
    action: str
    reason: str
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class UndoNoted:
    """How a call that succeeded can be taken back; the fields are those of ``core.tool.Undo``."""

    kind: ClassVar[str] = "undo_noted"
    call_id: str
    description: str
    tool: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    irreversible: bool = False
    guide: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Undone:
    """The user takes a turn back; the changes that follow with this id as their source do it.

    ``calls`` names the calls that do it, each with the call it takes back.
    """

    kind: ClassVar[str] = "undone"
    id: str
    turn: int
    calls: Mapping[str, str] = field(default_factory=dict)
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Redone:
    """The user takes the undo ``undone`` back, in the same way."""

    kind: ClassVar[str] = "redone"
    id: str
    undone: str
    calls: Mapping[str, str] = field(default_factory=dict)
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Content:
    """Bytes that other records name by their hash; they stand in a journal once, before those.

    ``withheld``: they hold a secret and are not written.
    """

    kind: ClassVar[str] = "content"
    sha256: str
    data: bytes
    withheld: bool = False
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Foreign:
    """A record of a kind this version does not know."""

    kind: ClassVar[str] = "foreign"
    fields: Mapping[str, Any]
    at: float = 0.0


Record = (
    Opened
    | Tools
    | TurnStarted
    | TurnFinished
    | Said
    | SoFar
    | Decided
    | CallStarted
    | CallFinished
    | Changing
    | Changed
    | Settled
    | Recovering
    | Staged
    | Resolving
    | Resolved
    | UndoNoted
    | Undone
    | Redone
    | Content
    | Foreign
)
