"""Writes what a session does into its chat's journal, before the effect is visible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.diff.hunk_decisions import noted
from agentchat.core.messages import Message, ToolResult
from agentchat.core.permissions.policy import Decision
from agentchat.core.tools.tool import Undo
from agentchat.core.tools.toolset import Held
from agentchat.core.turn.effects import Answer, Question, Ready
from agentchat.core.turn.preview_stack import Pending
from agentchat.journal import records as r
from agentchat.journal.journal import Journal


class JournalScribe:
    """The session's hand in the journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def opened(self, chat: str, cwd: str, model: str, version: str) -> None:
        """The chat was opened, or opened again."""
        self._journal.append(r.Opened(chat, cwd, model, version))

    def held(self, held: Held) -> None:
        """The user gave the chat a tool or group, or took one back."""
        self._journal.append(r.Tools(held.given, held.taken, held.activated))

    def turn_started(self, number: int) -> None:
        """A turn begins."""
        self._journal.append(r.TurnStarted(number))

    def turn_finished(self, number: int, reason: str) -> None:
        """A turn is over."""
        self._journal.append(r.TurnFinished(number, reason))

    def said(self, message: Message, decision: Decision | None) -> None:
        """Something joins the history; ``decision`` is why a call was answered as it was."""
        if isinstance(message, ToolResult) and decision is not None:
            self._decided(message.call_id, message.name, decision, decision.verdict.value)
        self._journal.append(r.Said(message))

    def so_far(self, text: str) -> None:
        """An answer is arriving: keep its text, at most about once a second."""
        self._journal.append(r.SoFar(text))

    def answered(self, question: Question, answer: Answer) -> None:
        """The user answered a question."""
        call = question.call
        scope = question.decision.scope
        said = [answer.reason, noted(question.preview, answer.hunks)]
        if answer.choice == "edit":
            said += [answer.arguments or "", *(f"Edited {one.path}" for one in answer.replaced)]
        why = " ".join(filter(None, said))
        self._journal.append(
            r.Decided(
                call.call.id,
                call.tool.name,
                scope.shown if scope else "",
                answer.choice,
                why,
                "user",
            )
        )

    def started(self, ready: Ready) -> None:
        """A call is about to run; durable when this returns, unless it only reads."""
        call = ready.call
        durable = not call.tool.metadata.read_only
        self._decided(call.call.id, call.tool.name, ready.decision, ready.decision.verdict.value)
        about = call.tool.metadata
        said = (about.audit_operation, about.permission_class, call.reserved)
        self._journal.append(
            r.CallStarted(call.call.id, call.tool.name, call.given, *said), durable
        )

    def changing(self, source: str, change: ChangeSet, takes: Sequence[int] = ()) -> None:
        """Files are about to change; their bytes before and after are durable on return."""
        changing = r.Changing(source, self._files(change.parts), tuple(takes))
        self._journal.append(changing, durable=True)

    def changed(self, source: str, settled: Sequence[FileChange] = ()) -> None:
        """The change was made; ``settled`` is what saving made of some of its files."""
        self._journal.append(r.Changed(source, self._files(settled)))

    def settled(self, source: str) -> None:
        """The last change of this source is over, made or not."""
        self._journal.append(r.Settled(source))

    def recovering(self, id: str, source: str) -> None:
        """What was left of a change is about to be taken back; durable when this returns."""
        self._journal.append(r.Recovering(id, source), durable=True)

    def finished(self, result: ToolResult) -> None:
        """A call ended."""
        self._journal.append(r.CallFinished(result.call_id, result.status.value))

    def staged(self, pending: Pending) -> None:
        """A preview is pending, or pending anew; the bytes it would change are durable."""
        change = pending.preview.change
        files = self._files(change.parts) if change is not None else ()
        staged = r.Staged(pending.id, pending.label, pending.source, files)
        self._journal.append(staged, durable=True)

    def resolving(self, pending: Pending, action: str) -> None:
        """A preview is about to be applied or discarded; durable when this returns."""
        self._journal.append(r.Resolving(pending.id, action), durable=True)

    def resolved(self, pending: Pending, action: str, reason: str) -> None:
        """A preview was applied or discarded."""
        self._journal.append(r.Resolved(pending.id, pending.label, action, reason))

    def undo_noted(self, call_id: str, undo: Undo) -> None:
        """A call that succeeded told how it can be taken back."""
        noted = (undo.description, undo.tool, undo.given, undo.irreversible, undo.guide)
        self._journal.append(r.UndoNoted(call_id, *noted))

    def undone(self, saga: str, turn: int, calls: Mapping[str, str]) -> None:
        """A turn is about to be taken back; durable when this returns."""
        self._journal.append(r.Undone(saga, turn, calls), durable=True)

    def redone(self, saga: str, undone: str, calls: Mapping[str, str]) -> None:
        """An undo is about to be taken back; durable when this returns."""
        self._journal.append(r.Redone(saga, undone, calls), durable=True)

    def records(self) -> Iterator[r.Record]:
        """Return all that was written so far, oldest first; read when it is iterated."""
        return self._journal.records()

    def _decided(self, call_id: str, tool: str, decision: Decision, verdict: str) -> None:
        scope = decision.scope.shown if decision.scope else ""
        self._journal.append(r.Decided(call_id, tool, scope, verdict, decision.why, "policy"))

    def _files(self, files: Sequence[FileChange]) -> tuple[r.FileBytes, ...]:
        return tuple(self._file(file) for file in files)

    def _file(self, file: FileChange) -> r.FileBytes:
        before = None if file.before is None else self._journal.keep(file.before)
        after = None if file.after is None else self._journal.keep(file.after)
        about = (file.mode, file.owner, file.attributes, file.folders)
        return r.FileBytes(file.path, before, after, *about)
