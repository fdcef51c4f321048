"""What a journal holds: one small frozen value for each thing that happened to a chat.

Theory
======

A chat has one journal: a file that is appended to and never rewritten, and the only source of
truth. The chat buffer, ``:AgentLog``, resume, fork, undo and crash recovery are computed from it.

Rules
-----

1. *A record is written before its effect is visible.* A message is in the journal before it is on
   the screen, ``CallStarted`` before the tool runs, ``ChangeStarted`` with the bytes before and
   after before the first file is touched. So what a dead process did is a prefix of what its
   journal says, plus at most one effect per open record.
2. *What would cost the user work is durable before the effect* (``fsync``): calls that do more
   than read, changes of files, previews, undo and redo. Everything else survives the death of
   the process, not a power cut.
3. *A record is never taken back.* A later record adds to it. Decisions are kept for audit and are
   never read back as consent.
4. *A secret is never written.* Values known to be secret are masked in records; stored bytes that
   contain one are left out, and that version of the file cannot be restored.
5. *One process writes.* It holds a lock on the file; whoever opens the file next cuts off a torn
   tail, which can only be a record whose effect did not begin.

States
------

=========  ===================  ============================  ===================================
what       begins with          ends with                     without an end, after a crash
=========  ===================  ============================  ===================================
reply      ``ReplyProgress``    ``MessageRecorded``           the text so far, marked as cut off
call       ``CallStarted``      ``CallFinished``              unknown outcome; never run again
change     ``ChangeStarted``    ``ChangeApplied`` (made),     recovery finishes the record or
                                ``ChangeSettled`` (failed)    takes the files back
preview    ``PreviewStaged``    ``PreviewResolved``           lost; the model is told
undo       ``UndoStarted``,     the changes with its id       each of its changes by itself
           ``RedoStarted``
=========  ===================  ============================  ===================================

A call whose message says more than its records (a reply with calls that no ``CallStarted``
follows) was not run.

Format
------

``time`` is unix seconds. Each record is one msgpack map, see ``codec``; a reader skips kinds and
fields that it does not know, so an older version reads a newer journal and the other way round.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from agentchat.core.messages import Message


@dataclass(frozen=True, slots=True)
class ChatOpened:
    """A chat was opened, or opened again, with this workspace and model."""

    chat: str
    cwd: str
    model: str = ""
    version: str = ""
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class ToolsGiven:
    """The tools of the chat after its user added or removed one, see ``core.toolbox.Held``."""

    given: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    activated: tuple[str, ...] = ()
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A turn began; ``number`` counts from 1."""

    number: int
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """A turn ended: ``stop``, ``cancelled`` or ``error``."""

    number: int
    reason: str
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class MessageRecorded:
    """A message joined the history."""

    message: Message
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class ReplyProgress:
    """More text of a reply that is still arriving; the whole reply replaces it.

    ``text`` follows the first ``start`` characters of what was recorded before.
    """

    text: str
    start: int = 0
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class DecisionMade:
    """A call was allowed, refused or answered, for audit: never read back as consent.

    ``verdict`` is ``allow``, ``deny`` or the user's choice.
    """

    call_id: str
    tool: str
    scope: str
    verdict: str
    why: str
    who: Literal["user", "policy"]
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class CallStarted:
    """A call is about to run with these arguments.

    ``operation`` and ``permission`` are what the tool declares for audit, ``reserved`` is what
    the model sent besides the arguments, like its confidence.
    """

    call_id: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    operation: str = ""
    permission: str = ""
    reserved: Mapping[str, Any] = field(default_factory=dict)
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class CallFinished:
    """A call ended; ``status`` as in a tool result."""

    call_id: str
    status: str
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """One file of a change: hashes of its bytes before and after, None where there is no file.

    The other fields are those of ``core.changes.FileChange``.
    """

    path: str
    before: str | None
    after: str | None
    mode: int | None = None
    owner: tuple[int, int] | None = None
    attributes: tuple[tuple[str, bytes], ...] = ()
    folders: int = 0


@dataclass(frozen=True, slots=True)
class ChangeStarted:
    """Files are about to change; ``source`` is the id of the call that changes or staged it.

    ``reverts`` are the changes of the same file that this one takes back, as numbers: the first
    ``ChangeStarted`` of a journal is 0.
    """

    source: str
    files: tuple[RecordedFile, ...]
    reverts: tuple[int, ...] = ()
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class ChangeApplied:
    """The newest change of this source was made.

    ``files`` are those that saving changed further, with the bytes they have now.
    """

    source: str
    files: tuple[RecordedFile, ...] = ()
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class ChangeSettled:
    """The newest change of this source failed or was recovered; recovery skips it from now on.

    ``files`` are those that have their new bytes all the same.
    """

    source: str
    files: tuple[RecordedFile, ...] = ()
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class RecoveryStarted:
    """An unfinished change is taken back by changes that have ``id`` as their source."""

    id: str
    source: str
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class PreviewStaged:
    """A preview is pending, or its change was replaced under the same id."""

    preview: str
    label: str
    source: str
    files: tuple[RecordedFile, ...] = ()
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class PreviewResolving:
    """A preview is about to be applied or discarded."""

    preview: str
    action: str
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class PreviewResolved:
    """A preview was applied or discarded."""

    preview: str
    label: str
    action: str
    reason: str
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class UndoOffered:
    """How a call that succeeded can be undone; the fields are those of ``core.tool.Undo``."""

    call_id: str
    description: str
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    irreversible: bool = False
    guide: str = ""
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class UndoStarted:
    """The user undoes a turn; the changes with this id as their source do it.

    ``calls`` maps the id of each call that does it to the call that it undoes.
    """

    id: str
    turn: int
    calls: Mapping[str, str] = field(default_factory=dict)
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class RedoStarted:
    """The user redoes what the undo ``undone`` took back, in the same way."""

    id: str
    undone: str
    calls: Mapping[str, str] = field(default_factory=dict)
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class ContentStored:
    """Bytes that later records name by their hash; a journal has them once.

    ``withheld``: they contain a secret and are not written.
    """

    sha256: str
    data: bytes
    withheld: bool = False
    time: float = 0.0


@dataclass(frozen=True, slots=True)
class UnknownRecord:
    """A record of a kind that this version does not know."""

    fields: Mapping[str, Any]
    time: float = 0.0


Record = (
    ChatOpened
    | ToolsGiven
    | TurnStarted
    | TurnFinished
    | MessageRecorded
    | ReplyProgress
    | DecisionMade
    | CallStarted
    | CallFinished
    | ChangeStarted
    | ChangeApplied
    | ChangeSettled
    | RecoveryStarted
    | PreviewStaged
    | PreviewResolving
    | PreviewResolved
    | UndoOffered
    | UndoStarted
    | RedoStarted
    | ContentStored
    | UnknownRecord
)
