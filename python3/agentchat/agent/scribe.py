"""Writes down what happens in a chat, before its effect is visible."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.messages import Message, ToolResult
from agentchat.core.permissions.policy import Decision
from agentchat.core.tools.tool import Undo
from agentchat.core.tools.toolset import Held
from agentchat.core.turn.effects import Answer, Question, Ready
from agentchat.core.turn.preview_stack import Pending
from agentchat.journal.records import Record


class Scribe(Protocol):
    """The chat's journal, as the performer sees it."""

    def held(self, held: Held) -> None:
        """The user gave the chat a tool or group, or took one back; this is what it has."""

    def turn_started(self, number: int) -> None:
        """A turn begins."""

    def turn_finished(self, number: int, reason: str) -> None:
        """A turn is over."""

    def said(self, message: Message, decision: Decision | None) -> None:
        """Something joins the history; ``decision`` is why a call was answered as it was."""

    def answered(self, question: Question, answer: Answer) -> None:
        """The user answered a question."""

    def so_far(self, text: str) -> None:
        """An answer is arriving; this is its text until now."""

    def started(self, ready: Ready) -> None:
        """A call is about to run; durable when this returns."""

    def changing(self, source: str, change: ChangeSet, takes: Sequence[int] = ()) -> None:
        """Files are about to change; their bytes before and after are durable when this returns.

        ``takes`` are the numbers of the changes that this one takes back.
        """

    def changed(self, source: str, settled: Sequence[FileChange] = ()) -> None:
        """The change was made; ``settled`` is what saving made of some of its files."""

    def settled(self, source: str) -> None:
        """The last change of this source is over, made or not: no recovery looks at it again."""

    def recovering(self, id: str, source: str) -> None:
        """What a process that ended left of a change is about to be taken back.

        Durable when this returns; ``id`` will be the source of the changes.
        """

    def finished(self, result: ToolResult) -> None:
        """A call that ran has ended."""

    def staged(self, pending: Pending) -> None:
        """A preview is pending."""

    def resolving(self, pending: Pending, action: str) -> None:
        """A preview is about to be applied or discarded; durable when this returns."""

    def resolved(self, pending: Pending, action: str, reason: str) -> None:
        """A preview was applied or discarded."""

    def undo_noted(self, call_id: str, undo: Undo) -> None:
        """A call that succeeded told how it can be taken back."""

    def undone(self, saga: str, turn: int, calls: Mapping[str, str]) -> None:
        """A turn is about to be taken back; durable when this returns.

        ``saga`` will be the source of the changes; ``calls`` names the calls that take others
        back, each with that other.
        """

    def redone(self, saga: str, undone: str, calls: Mapping[str, str]) -> None:
        """An undo is about to be taken back; durable when this returns."""

    def records(self) -> Iterable[Record]:
        """Return all that was written so far, oldest first; read when it is iterated."""
