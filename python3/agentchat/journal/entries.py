"""The records of what a chat does: of a decision, a call, a preview and others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any, Final

from agentchat.core.context.context import Compaction, ContextStep
from agentchat.core.diff.changeset import FileChange
from agentchat.core.messages import Message, ToolResult, Usage
from agentchat.core.permissions.policy import Decision
from agentchat.core.tools.call import declared_effects
from agentchat.core.tools.tool import UndoCall
from agentchat.core.tools.toolset import ToolSelection
from agentchat.core.turn.effects import Action, ApprovalRequest, ApprovalResponse, ReadyCall
from agentchat.core.turn.hunk_decisions import decision_note
from agentchat.core.turn.preview_stack import Preview
from agentchat.journal import records as r

NO_EFFECTS: Final[Mapping[str, Any]] = MappingProxyType({})

StoreFiles = Callable[[Sequence[FileChange]], tuple[r.RecordedFile, ...]]
"""Stores the bytes of files: ``JournalWriter.store``."""


def tools_record(selection: ToolSelection) -> r.Record:
    """Return the record of a chat's tools."""
    return r.ToolsGiven(
        given=selection.given, removed=selection.removed, activated=selection.activated
    )


def message_records(message: Message, decision: Decision | None = None) -> list[r.Record]:
    """Return the records of a message.

    Args:
        decision: the decision about the call, for a result of a call that did not run.
    """
    decisions: list[r.Record] = []
    if isinstance(message, ToolResult) and decision is not None:
        decisions = _decision_records(message.call_id, message.name, decision)
    return [*decisions, r.MessageRecorded(message)]


def request_record(model: str, usage: Usage) -> r.Record:
    """Return the record of what a request used whose answer is no message."""
    return r.RequestCounted(model, asdict(usage))


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


def response_record(request: ApprovalRequest, response: ApprovalResponse) -> r.Record:
    """Return the record of the user's response to an approval request."""
    call, scope = request.call, request.decision.scope
    why = [response.reason, decision_note(request.preview, response.hunk_decisions)]
    if response.choice == "edit" and request.draft:
        why.append("Edited the text")
    elif response.choice == "edit":
        edits = (f"Edited {file.path}" for file in response.replacements)
        why += [response.arguments or "", *edits]
    return r.DecisionMade(
        call_id=call.call.id,
        tool=call.tool.name,
        scope=scope.description if scope else "",
        verdict=response.choice,
        why=" ".join(filter(None, why)),
        who="user",
        effects=declared_effects(call, request.target, request.preview),
        asked=request.decision.reason_text,
    )


def command_record(preview: Preview, action: Action, reason: str) -> r.Record:
    """Return the record that the user's command decided about a preview."""
    return r.DecisionMade(
        call_id=preview.id,
        tool=preview.source,
        scope=preview.label,
        verdict=action,
        why=reason,
        who="user",
    )


def start_records(ready: ReadyCall) -> list[r.Record]:
    """Return the records of a call that is about to run."""
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
    return [*decisions, started]


def has_own_effect(ready: ReadyCall) -> bool:
    """Whether a call may have an effect that no record of a change of files makes durable."""
    tool, in_overlay = ready.call.tool, ready.decision.in_overlay
    return not (tool.metadata.read_only or (tool.changes_only_files and not in_overlay))


def preview_record(preview: Preview, store: StoreFiles) -> r.Record:
    """Return the record of a pending preview, with the bytes before and after."""
    change = preview.preview.change
    files = change.files if change is not None else ()
    shown = [each for file in files for each in (file.parts if file.members else (file,))]
    return r.PreviewStaged(
        preview=preview.id,
        label=preview.label,
        source=preview.source,
        files=store(shown),
        calls=preview.calls,
        for_user=preview.for_user,
        in_overlay=preview.in_overlay,
    )


def undo_record(call_id: str, undo: UndoCall) -> r.Record:
    """Return the record of how a successful call can be undone."""
    return r.UndoOffered(
        call_id=call_id,
        description=undo.description,
        tool=undo.tool,
        arguments=undo.arguments,
        irreversible=undo.irreversible,
        guide=undo.guide,
        result=undo.result,
        is_redo=undo.is_redo,
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
