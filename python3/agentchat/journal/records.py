"""The records of a journal: one small frozen value for each event of a chat.

Theory
======

A chat has one journal: a file that is appended to and never rewritten, and the only source of
truth. The chat buffer, ``:AgentLog``, resume, fork, undo and crash recovery are computed from it.

Rules
-----

1. *A record is written before its effect is visible.* A message is in the journal before it is on
   the screen, ``CallStarted`` before the tool runs, and ``ChangeStarted`` with the old and new
   bytes before the first file is touched. So a dead process has done nothing that its journal
   does not name, and only the effects of its open records are uncertain.
2. *Records that protect the user's work are durable before the effect* (``fsync``): calls that do
   more than read and change files, changes of files, previews, undo and redo. All others survive
   the death of the process, not a power cut. What makes a record durable does so for all before it.
3. *A record is never changed or removed.* A later record adds to it. Decisions are kept for audit
   and are never read as consent.
4. *A secret is never written.* Values known to be secret are masked in records; stored bytes that
   contain one are left out, and that version of the file cannot be restored.
5. *One process writes.* It holds a lock on the file. The next process that opens the file cuts off
   an incomplete tail, which can only be a record whose effect did not begin.

States
------

=========  ===================  ============================  ===================================
what       begins with          ends with                     without an end, after a crash
=========  ===================  ============================  ===================================
reply      ``ReplyProgress``    ``MessageRecorded``           the text so far, marked as cut off
call       ``CallStarted``      ``CallFinished``              unknown outcome; never run again
change     ``ChangeStarted``    ``ChangeApplied`` (made),     recovery finishes the record or
                                ``ChangeSettled`` (failed)    takes the files back
preview    ``PreviewStaged``    ``PreviewResolved``           shown again if it changes files
undo       ``UndoStarted``,     the changes with its id       each of its changes by itself
           ``RedoStarted``
=========  ===================  ============================  ===================================

A call of a reply that no ``CallStarted`` follows was not run. A call with ``CheckpointCreated``
that did not end: recovery records what it changed in the files of its checkpoint.

Format
------

``time`` is unix seconds. Each record is one msgpack map, see ``codec``. A reader skips kinds and
fields that it does not know, so old and new versions read each other's journals.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from agentchat.core.frozen import frozen
from agentchat.core.messages import Message
from agentchat.core.turn.effects import Action
from agentchat.core.turn.loop import TurnReason


@frozen
class ChatOpened:
    """A chat was opened, or opened again, with this workspace and model.

    A fork has ``source``, the chat that it was copied from. Its first ``copied`` messages were said
    there, and so were their costs.
    """

    chat: str
    cwd: str
    model: str = ""
    version: str = ""
    source: str = ""
    copied: int = 0
    time: float = 0.0


@frozen
class ModelChosen:
    """The user chose the model of the chat; without a provider, one of that in the settings."""

    provider: str = ""
    name: str = ""
    time: float = 0.0


@frozen
class AgentStarted:
    """An agent of another program began a session in the chat, which is with it from then on."""

    agent: str
    version: str = ""
    program: tuple[str, ...] = ()
    session: str = ""
    time: float = 0.0


@frozen
class ModeChanged:
    """The mode of the chat was changed."""

    mode: str
    time: float = 0.0


@frozen
class ToolsGiven:
    """The tools of the chat after a change of them, see ``core.tools.toolset.ToolSelection``."""

    given: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    activated: tuple[str, ...] = ()
    time: float = 0.0


@frozen
class TurnStarted:
    """A turn began; ``number`` counts from 1."""

    number: int
    time: float = 0.0


@frozen
class TurnFinished:
    """A turn ended."""

    number: int
    reason: TurnReason
    time: float = 0.0


@frozen
class MessageRecorded:
    """A message joined the history."""

    message: Message
    time: float = 0.0


@frozen
class ReplyProgress:
    """More text of a reply that is still arriving; the whole reply replaces it.

    ``text`` replaces the text recorded so far from character ``start`` on.
    """

    text: str
    start: int = 0
    time: float = 0.0


@frozen
class DecisionMade:
    """A call was allowed, refused or answered by the user, for audit only.

    A preview that the user's command applies or discards is one, too: ``call_id`` is its id.
    ``verdict`` is ``allow``, ``deny`` or the user's choice; ``why`` is the policy's reason, or the
    user's, and ``asked`` the reason why the user was asked. ``effects`` are those that the tool
    declares of the call, see ``core.tools.call.declared_effects``.
    """

    call_id: str
    tool: str
    scope: str
    verdict: str
    why: str
    who: Literal["user", "policy"]
    effects: Mapping[str, Any] = field(default_factory=dict)
    asked: str = ""
    time: float = 0.0


@frozen
class CallStarted:
    """A call is about to run with these arguments.

    ``operation``, ``permission`` and ``destructive`` are declared by the tool. ``reserved`` are the
    reserved arguments of the model, like its confidence. ``staged``: it works in an overlay, so
    its effects are recorded as changes of files, when they are applied.
    """

    call_id: str
    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    operation: str = ""
    permission: str = ""
    destructive: bool = False
    reserved: Mapping[str, Any] = field(default_factory=dict)
    staged: bool = False
    time: float = 0.0


@frozen
class CallFinished:
    """A call ended; ``status`` as in a tool result."""

    call_id: str
    status: str
    time: float = 0.0


@frozen
class RecordedFile:
    """One file of a change: hashes of its bytes before and after, ``None`` for no file.

    The other fields are those of ``core.diff.changeset.FileChange``. Only a preview has renamed
    files; a change creates one and deletes one.
    """

    path: str
    before: str | None
    after: str | None
    mode: int | None = None
    owner: tuple[int, int] | None = None
    attributes: tuple[tuple[str, bytes], ...] = ()
    folders: int = 0
    old_path: str = ""


@frozen
class ChangeStarted:
    """Files are about to change; ``source`` is the id of the call that changes or staged it.

    ``reverts`` are the changes of the same file that this one reverts, as numbers: the first
    ``ChangeStarted`` of a journal is 0.
    """

    source: str
    files: tuple[RecordedFile, ...]
    reverts: tuple[int, ...] = ()
    time: float = 0.0


@frozen
class CheckpointCreated:
    """The state before a call was saved by ``handler``: as ``files``, or by a function of the user.

    What the call changed in ``files`` is recorded as a change before the call ends.
    """

    call_id: str
    handler: str
    files: tuple[RecordedFile, ...] = ()
    time: float = 0.0


@frozen
class ChangeApplied:
    """The newest change of this source was made.

    ``files`` are those that saving changed further (a formatter), with the bytes they have now.
    """

    source: str
    files: tuple[RecordedFile, ...] = ()
    time: float = 0.0


@frozen
class ChangeSettled:
    """The newest change of this source failed or was recovered; recovery skips it from now on.

    ``files`` are those that have their new bytes nevertheless.
    """

    source: str
    files: tuple[RecordedFile, ...] = ()
    time: float = 0.0


@frozen
class RecoveryStarted:
    """An unfinished change is reverted by changes that have ``id`` as their source."""

    id: str
    source: str
    time: float = 0.0


@frozen
class PreviewStaged:
    """A preview is pending, or its change was replaced under the same id.

    ``calls``, ``for_user`` and ``in_overlay`` are those of
    ``core.turn.preview_stack.Preview``.
    """

    preview: str
    label: str
    source: str
    files: tuple[RecordedFile, ...] = ()
    calls: tuple[str, ...] = ()
    for_user: bool = False
    in_overlay: bool = False
    time: float = 0.0


@frozen
class PreviewResolving:
    """A preview is about to be applied or discarded."""

    preview: str
    action: Action
    time: float = 0.0


@frozen
class PreviewResolved:
    """A preview was applied or discarded."""

    preview: str
    label: str
    action: Action
    reason: str
    time: float = 0.0


@frozen
class UndoOffered:
    """How a successful call can be undone; the fields are those of ``core.tools.tool.UndoCall``."""

    call_id: str
    description: str
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    irreversible: bool = False
    guide: str = ""
    result: Mapping[str, Any] = field(default_factory=dict)
    is_redo: bool = False
    time: float = 0.0


@frozen
class UndoStarted:
    """The user undoes a turn, by changes with this id as their source and by calls.

    ``calls`` maps the id of each such call to the id of the call that it undoes. ``partial``: only
    a hunk of what the turn changed; a change that reverts nothing as a whole is a part of it.
    """

    id: str
    turn: int
    calls: Mapping[str, str] = field(default_factory=dict)
    partial: bool = False
    time: float = 0.0


@frozen
class RedoStarted:
    """The user reverts the undo ``undone``, in the same way."""

    id: str
    undone: str
    calls: Mapping[str, str] = field(default_factory=dict)
    time: float = 0.0


@frozen
class ContentStored:
    """Bytes that later records name by their hash; stored once per journal.

    ``withheld``: they contain a secret and are not stored.
    """

    sha256: str
    data: bytes
    withheld: bool = False
    time: float = 0.0

    @property
    def is_whole(self) -> bool:
        """Whether the bytes are those that were stored."""
        return self.withheld or hashlib.sha256(self.data).hexdigest() == self.sha256


@frozen
class ContextCompacted:
    """A summary is sent in place of older messages, which stay in the journal.

    The fields are those of ``core.context.context.Compaction``.
    """

    before: int
    text: str
    summary: str
    newest: int = -1
    length: int = 0
    time: float = 0.0


@frozen
class RequestCounted:
    """What a request used whose answer is no message, like that for a summary.

    ``usage`` has the fields of ``core.messages.Usage``.
    """

    model: str
    usage: Mapping[str, Any]
    time: float = 0.0


@frozen
class ResultsShortened:
    """Older results are sent in short form; see ``core.context.context.Shortening``."""

    before: int
    length: int = 0
    time: float = 0.0


@frozen
class CompactionUndone:
    """The newest summary, or else the short results, are taken back."""

    time: float = 0.0


@frozen
class TodoChanged:
    """The todo list as it is from now on; each item has a ``text`` and a ``status``."""

    items: Sequence[Mapping[str, str]]
    time: float = 0.0


@frozen
class UnknownRecord:
    """A record of a kind that this version does not know."""

    fields: Mapping[str, Any]
    time: float = 0.0


Record = (
    ChatOpened
    | ModelChosen
    | AgentStarted
    | ModeChanged
    | ToolsGiven
    | TurnStarted
    | TurnFinished
    | MessageRecorded
    | ReplyProgress
    | DecisionMade
    | CallStarted
    | CallFinished
    | ChangeStarted
    | CheckpointCreated
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
    | ContextCompacted
    | RequestCounted
    | ResultsShortened
    | CompactionUndone
    | TodoChanged
    | UnknownRecord
)
