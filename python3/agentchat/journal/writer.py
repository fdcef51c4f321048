"""Writes the events of a chat into its journal, before their effect is visible."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, field
from types import MappingProxyType
from typing import Any, Final

from agentchat.core.context.context import Compaction, ContextStep
from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.frozen import frozen
from agentchat.core.messages import History, Message, ToolResult, Usage
from agentchat.core.permissions.policy import Decision
from agentchat.core.spending import Totals
from agentchat.core.tools.call import declared_effects
from agentchat.core.tools.todo import TodoItem
from agentchat.core.tools.tool import UndoCall
from agentchat.core.tools.toolset import ToolSelection
from agentchat.core.turn.effects import Action, ApprovalRequest, ApprovalResponse, ReadyCall
from agentchat.core.turn.hunk_decisions import decision_note
from agentchat.core.turn.loop import TurnReason
from agentchat.core.turn.preview_stack import Preview
from agentchat.journal import records as r
from agentchat.journal.file import JournalFile
from agentchat.journal.reader import (
    PastCalls,
    read_history,
    read_past_calls,
    read_steps,
    read_todo,
    read_totals,
    todo_record,
)
from agentchat.journal.timeline import Timeline, read_timeline

NO_EFFECTS: Final[Mapping[str, Any]] = MappingProxyType({})


@frozen
class RestoredChat:
    """The state of a chat as its journal has it when opened; ``tools`` if they were changed."""

    history: History
    timeline: Timeline
    tools: ToolSelection | None
    steps: tuple[ContextStep, ...] = ()
    """What is sent in place of older messages."""
    used: Totals = field(default_factory=Totals)
    """What all requests used."""
    todo: tuple[TodoItem, ...] = ()
    model: r.ModelChosen | None = None
    mode: str = ""
    """The mode that it was changed to."""
    calls: PastCalls = field(default_factory=PastCalls)


class JournalWriter:
    """The journal of one session; ``restored`` is the state it had when it was opened."""

    def __init__(self, file: JournalFile) -> None:
        self._file = file
        self._progress = ""
        self.restored = _restore(file.take_previous())

    @classmethod
    def open(
        cls, state_dir: str | os.PathLike[str], chat: str, secrets: Iterable[str] = ()
    ) -> JournalWriter:
        """Open the journal of a chat as ``JournalFile.open`` does; reads it once."""
        return cls(JournalFile.open(state_dir, chat, secrets))

    def mask_secrets(self, secrets: Iterable[str]) -> None:
        """Mask these values in all later records."""
        self._file.mask_secrets(secrets)

    def records(self) -> Iterator[r.Record]:
        """Yield all records so far, from the file."""
        return self._file.records()

    def close(self) -> None:
        """Release the file immediately; it can be opened again once this returns."""
        self._file.close()

    def record_chat_opened(self, chat: str, cwd: str, model: str, version: str) -> None:
        """Record that the chat was opened, or opened again."""
        self._file.append(r.ChatOpened(chat=chat, cwd=cwd, model=model, version=version))

    def record_tools(self, selection: ToolSelection) -> None:
        """Record the tools of the chat, after the user added or removed one."""
        self._file.append(
            r.ToolsGiven(
                given=selection.given,
                removed=selection.removed,
                activated=selection.activated,
            )
        )

    def record_model(self, provider: str, name: str) -> None:
        """Record the model that the user chose."""
        self._file.append(r.ModelChosen(provider, name))

    def record_mode(self, mode: str) -> None:
        """Record the mode that the chat has now."""
        self._file.append(r.ModeChanged(mode))

    def record_turn_started(self, number: int) -> None:
        """Record that a turn begins."""
        self._file.append(r.TurnStarted(number))

    def record_turn_finished(self, number: int, reason: TurnReason) -> None:
        """Record how a turn ended."""
        self._file.append(r.TurnFinished(number, reason))

    def record_message(self, message: Message, decision: Decision | None = None) -> None:
        """Record a message of the history, before it is shown.

        Args:
            decision: the decision about the call, for a result of a call that did not run.
        """
        decisions: list[r.Record] = []
        if isinstance(message, ToolResult) and decision is not None:
            decisions = _decision_records(message.call_id, message.name, decision)
        self._file.append(*decisions, r.MessageRecorded(message))
        self._progress = ""

    def record_progress(self, text: str) -> None:
        """Record the text so far of a reply that is arriving; only new text is written."""
        text = self._file.mask(text)
        start = len(self._progress)
        if not text.startswith(self._progress):
            # Another reply, or the new text completes a secret.
            start = _common_length(self._progress, text)
        if text != self._progress:
            self._file.append(r.ReplyProgress(text[start:], start))
            self._progress = text

    def record_step(self, step: ContextStep) -> None:
        """Record that something shorter is sent in place of older messages."""
        self._file.append(step_record(step))

    def record_request(self, model: str, usage: Usage) -> None:
        """Record what a request used whose answer is no message."""
        self._file.append(r.RequestCounted(model, asdict(usage)))

    def record_compaction_undone(self) -> None:
        """Record that the newest summary is taken back."""
        self._file.append(r.CompactionUndone())

    def record_todo(self, items: Sequence[TodoItem]) -> None:
        """Record the todo list, after the model or the user changed it."""
        self._file.append(todo_record(items))

    def record_response(self, request: ApprovalRequest, response: ApprovalResponse) -> None:
        """Record the user's response to an approval request."""
        call, scope = request.call, request.decision.scope
        why = [response.reason, decision_note(request.preview, response.hunk_decisions)]
        if response.choice == "edit" and request.draft:
            why.append("Edited the text")
        elif response.choice == "edit":
            edits = (f"Edited {file.path}" for file in response.replacements)
            why += [response.arguments or "", *edits]
        self._file.append(
            r.DecisionMade(
                call_id=call.call.id,
                tool=call.tool.name,
                scope=scope.description if scope else "",
                verdict=response.choice,
                why=" ".join(filter(None, why)),
                who="user",
                effects=declared_effects(call, request.target, request.preview),
                asked=request.decision.reason_text,
            )
        )

    def record_call_started(self, ready: ReadyCall) -> None:
        """Record that a call is about to run; durable if it may have an effect of its own.

        The record of a change of files makes the start of its call durable, too.
        """
        call, metadata = ready.call, ready.call.tool.metadata
        effects = declared_effects(call, ready.target, ready.preview)
        decisions = _decision_records(call.call.id, call.tool.name, ready.decision, effects)
        started = r.CallStarted(
            call_id=call.call.id,
            tool=call.tool.name,
            arguments=call.raw_arguments,
            operation=metadata.audit_operation,
            permission=metadata.permission_class,
            destructive=metadata.destructive,
            reserved=call.reserved,
            staged=ready.decision.in_overlay,
        )
        only_files = call.tool.changes_only_files and not ready.decision.in_overlay
        self._file.append(*decisions, started, durable=not (metadata.read_only or only_files))

    def record_call_finished(self, result: ToolResult) -> None:
        """Record that a call ended."""
        self._file.append(r.CallFinished(result.call_id, result.status.value))

    def record_change_started(
        self, source: str, change: ChangeSet, reverts: Sequence[int] = ()
    ) -> None:
        """Record that files are about to change; durable, with the bytes before and after.

        Args:
            reverts: the numbers of the changes that this one reverts.
        """
        started = r.ChangeStarted(source, self._store_files(change.parts), tuple(reverts))
        self._file.append(started, durable=True)

    def record_checkpoint(
        self, call_id: str, handler: str, files: Sequence[FileChange] = ()
    ) -> None:
        """Record the checkpoint before a call; durable, with the bytes of its files."""
        checkpoint = r.CheckpointCreated(call_id, handler, self._store_files(files))
        self._file.append(checkpoint, durable=True)

    def record_change_applied(self, source: str, resaved: Sequence[FileChange] = ()) -> None:
        """Record that the newest change of a source was made.

        Args:
            resaved: the files that saving changed further, with the bytes they have now.
        """
        self._file.append(r.ChangeApplied(source, self._store_files(resaved)))

    def record_change_settled(self, source: str, changed: Sequence[FileChange] = ()) -> None:
        """Record that the newest change of a source failed or was recovered.

        Args:
            changed: the files that have their new bytes nevertheless.
        """
        self._file.append(r.ChangeSettled(source, self._store_files(changed)))

    def record_recovery_started(self, id: str, source: str) -> None:
        """Record that an unfinished change is about to be reverted; durable.

        Args:
            id: the source of the changes that will revert it.
        """
        self._file.append(r.RecoveryStarted(id, source), durable=True)

    def record_preview_staged(self, preview: Preview) -> None:
        """Record that a preview is pending; durable, with the bytes before and after."""
        change = preview.preview.change
        files = change.files if change is not None else ()
        shown = [each for file in files for each in (file.parts if file.members else (file,))]
        staged = r.PreviewStaged(
            preview=preview.id,
            label=preview.label,
            source=preview.source,
            files=self._store_files(shown),
            calls=preview.calls,
            for_user=preview.for_user,
            in_overlay=preview.in_overlay,
        )
        self._file.append(staged, durable=True)

    def record_command(self, preview: Preview, action: Action, reason: str) -> None:
        """Record that the user's command decided about a preview."""
        self._file.append(
            r.DecisionMade(
                call_id=preview.id,
                tool=preview.source,
                scope=preview.label,
                verdict=action,
                why=reason,
                who="user",
            )
        )

    def record_preview_resolving(self, preview: Preview, action: Action) -> None:
        """Record that a preview is about to be applied or discarded; durable."""
        self._file.append(r.PreviewResolving(preview.id, action), durable=True)

    def record_preview_resolved(self, preview: Preview, action: Action, reason: str) -> None:
        """Record that a preview was applied or discarded."""
        self._file.append(
            r.PreviewResolved(preview=preview.id, label=preview.label, action=action, reason=reason)
        )

    def record_undo_offered(self, call_id: str, undo: UndoCall) -> None:
        """Record how a successful call can be undone."""
        self._file.append(
            r.UndoOffered(
                call_id=call_id,
                description=undo.description,
                tool=undo.tool,
                arguments=undo.arguments,
                irreversible=undo.irreversible,
                guide=undo.guide,
                result=undo.result,
                is_redo=undo.is_redo,
            )
        )

    def record_undo_started(
        self, id: str, turn: int, calls: Mapping[str, str], *, partial: bool = False
    ) -> None:
        """Record that a turn is about to be undone; durable.

        Args:
            id: the source of the changes that will undo it.
            calls: by id of the calls that will undo it, the call that each undoes.
            partial: only a part of a change is undone.
        """
        self._file.append(r.UndoStarted(id, turn, calls, partial), durable=True)

    def record_redo_started(self, id: str, undone: str, calls: Mapping[str, str]) -> None:
        """Record that the undo ``undone`` is about to be reverted; durable."""
        self._file.append(r.RedoStarted(id, undone, calls), durable=True)

    def _store_files(self, files: Sequence[FileChange]) -> tuple[r.RecordedFile, ...]:
        return tuple(self._store_file(file) for file in files)

    def _store_file(self, file: FileChange) -> r.RecordedFile:
        return r.RecordedFile(
            path=file.path,
            before=None if file.before is None else self._file.store(file.before),
            after=None if file.after is None else self._file.store(file.after),
            mode=file.mode,
            owner=file.owner,
            attributes=file.attributes,
            folders=file.folders,
            old_path=file.old_path,
        )


def step_record(step: ContextStep) -> r.Record:
    """Return the record of a step."""
    if not isinstance(step, Compaction):
        return r.ResultsShortened(step.before, step.length)
    return r.ContextCompacted(
        before=step.before,
        text=step.text,
        summary=step.summary,
        newest=step.newest,
        length=step.length,
    )


def _decision_records(
    call_id: str, tool: str, decision: Decision, effects: Mapping[str, Any] = NO_EFFECTS
) -> list[r.Record]:
    """Return the record of a decision; none if the response has it."""
    if decision.reason.kind == "user":
        return []
    return [
        r.DecisionMade(
            call_id=call_id,
            tool=tool,
            scope=decision.scope.description if decision.scope else "",
            verdict=decision.verdict.value,
            why=decision.reason_text,
            who="policy",
            effects=effects,
        )
    ]


def _common_length(old: str, new: str) -> int:
    """Return the length of the common start."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(old), len(new)))


def _restore(records: Sequence[r.Record]) -> RestoredChat:
    newest = tuple(reversed(records))
    tools = next((item for item in newest if isinstance(item, r.ToolsGiven)), None)
    return RestoredChat(
        history=read_history(records),
        timeline=read_timeline(records, reopened=True),
        steps=read_steps(records),
        used=read_totals(records),
        todo=read_todo(records),
        calls=read_past_calls(records),
        model=next((item for item in newest if isinstance(item, r.ModelChosen)), None),
        mode=next((item.mode for item in newest if isinstance(item, r.ModeChanged)), ""),
        tools=ToolSelection(tools.given, tools.removed, tools.activated)
        if tools is not None
        else None,
    )
