"""Keeps the previews of a chat: stages, rebases, applies and discards them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Collection
from dataclasses import replace

from agentchat.agent.execution.journaled_workspace import JournaledWorkspace
from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.errors import StalePreview, ToolError
from agentchat.core.permissions.grants import Scope, hides_characters, path_scope, tool_scope
from agentchat.core.tools.call import ValidCall
from agentchat.core.tools.tool import DryRunResult, Extra, StagedPreview, ToolOutput
from agentchat.core.turn.effects import Action
from agentchat.core.turn.hunk_decisions import rebase_change
from agentchat.core.turn.preview_stack import (
    Preview,
    PreviewStack,
    discard_message,
    make_preview,
    resolution_details,
)
from agentchat.core.turn.view import Observer, View
from agentchat.core.workspace import FileTarget, Workspace
from agentchat.journal import records as r
from agentchat.journal.entries import command_record, preview_record
from agentchat.journal.writer import JournalWriter
from agentchat.tools.files import apply_notes

log = logging.getLogger(__name__)

ONLY_HUNKS = "This preview is applied by its hunks: use :AgentResolve apply."

GRACE_SECONDS = 0.8
"""How long a stop waits for a resolution that has begun, to show its true result."""


class Previews:
    """The previews of one chat: on the stack, on screen and in the journal."""

    def __init__(
        self,
        stack: PreviewStack,
        *,
        workspace: Workspace,
        view: View,
        journal: JournalWriter,
        observer: Observer,
        overlay: Workspace | None = None,
    ) -> None:
        self._stack = stack
        self._workspace = workspace
        self._overlay = overlay or workspace
        self._view = view
        self._journal = journal
        self._observer = observer
        self._resolving: dict[str, asyncio.Task[ToolOutput]] = {}

    async def stage(
        self, call: ValidCall, changes: list[StagedPreview], *, in_overlay: bool = False
    ) -> None:
        """Add what one call staged, in order; a change that extends a preview replaces it."""
        for change in changes:
            earlier = self.find_collecting() if change.collects else None
            preview = await self._make_preview(call, change, in_overlay)
            if preview.is_standing:
                self._stack.tool_handler = preview
                continue
            if earlier is not None:
                self.replace(_extend(earlier, preview))
            else:
                self.push(preview)

    def of_change(
        self, label: str, source: str, change: ChangeSet, *, in_overlay: bool = False
    ) -> Preview:
        """Return a preview, not pending yet, that makes its change as it is when it is applied."""

        async def make(preview: DryRunResult) -> ToolOutput:
            assert preview.change is not None
            id = f"{source}-{uuid.uuid4().hex}"
            workspace = JournaledWorkspace(self._workspace, self._journal, id)
            applied = await (self._overlay if in_overlay else workspace).apply(preview.change)
            headline = preview.headline or f"Applied {label.partition(': ')[2] or label}."
            notes = [note for file in applied for note in apply_notes(file)]
            return ToolOutput("\n".join([headline, *notes]))

        return Preview(
            label,
            source,
            _refuse,
            preview=DryRunResult(change),
            make=make,
            id=uuid.uuid4().hex,
            in_overlay=in_overlay,
        )

    async def restore(self, preview: Preview) -> None:
        """Show a preview of an earlier process again, on top of what its files are now.

        Raises StalePreview, or ToolError if its files cannot be reached.
        """
        workspace = self._workspace_of(preview)
        await workspace.ready()
        targets = {path: await workspace.locate(path) for path in _paths(preview)}
        files = preview.preview.change.files if preview.preview.change is not None else ()
        change = ChangeSet(tuple(_located(file, targets[file.path]) for file in files))
        preview = replace(preview, targets=tuple(targets.values()), preview=DryRunResult(change))
        self.push(await self._rebase(preview))

    def push(self, preview: Preview) -> None:
        """Put a preview on top and show it."""
        self._stack.push(preview)
        self._journal.add(preview_record(preview, self._journal.store))
        self._view.show_preview(preview)
        self._send_event("AgentPreviewStaged", preview)

    def withdraw(self, preview: Preview) -> None:
        """Take a preview away that has nothing left to change."""
        self._stack.remove(preview)
        self._view.close_preview(preview)
        self._journal.add(
            r.PreviewResolved(preview.id, preview.label, "discard", "nothing is left to change")
        )
        self._send_event("AgentPreviewResolved", preview, action="discard", status="success")

    def clear_standing(self) -> None:
        """Remove the standing handler that a tool has set."""
        self._stack.tool_handler = None

    def find_collecting(self) -> Preview | None:
        """Return the preview that the calls of this reply extend.

        A preview of an earlier reply is resolved by now, or only ``resolve`` can run.
        """
        return next((preview for preview in self._stack if preview.collects), None)

    async def refresh(self, pending: Preview, left_out: Collection[str] = frozenset()) -> Preview:
        """Rebase a preview on what its files are now, and show it under the same id.

        Returns the preview itself if nothing changed.

        Args:
            left_out: the paths of files that will not be applied: they need not fit.

        Raises:
            StalePreview: a file changed where the preview does.
        """
        try:
            fresh = await self._rebase(pending, left_out)
        except StalePreview:
            self._send_event("AgentPreviewResolved", pending, action="apply", status="error")
            raise
        if fresh is not pending:
            self.replace(fresh)
        return fresh

    def replace(self, pending: Preview) -> None:
        """Show a preview in the place of the one with its id."""
        self._stack.replace(pending)
        self._journal.add(preview_record(pending, self._journal.store))
        self._view.show_preview(pending)

    def record_command(self, preview: Preview, action: Action, reason: str) -> None:
        """Record that the user's command decided about a preview."""
        self._journal.add(command_record(preview, action, reason))

    async def resolve(
        self, pending: Preview, action: Action, reason: str, extra: Extra = None
    ) -> ToolOutput:
        """Apply or discard a preview. After an exception, an error result, it stays pending.

        A resolution that has begun is not interrupted when the caller is cancelled: files, journal
        and stack must agree. The caller waits ``GRACE_SECONDS`` for it. After that a change of
        files goes on in the background and a tool's callback is cancelled; a note reports the
        result to the model.

        Raises:
            StalePreview: a file changed since the preview was shown. Nothing was changed.
        """
        if pending.id in self._resolving:
            raise ToolError(f"{pending.label} is being resolved: wait until it ends.")
        task = asyncio.ensure_future(self._resolve(pending, action, reason, extra))
        self._resolving[pending.id] = task
        task.add_done_callback(lambda _: self._resolving.pop(pending.id, None))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait({task}, timeout=GRACE_SECONDS)
            if task.done() and not task.cancelled():
                return task.result()
            task.add_done_callback(lambda done: self._report_late(pending, action, done))
            if pending.make is None or action == "discard":
                task.cancel()
            raise

    def _report_late(
        self, pending: Preview, action: Action, done: asyncio.Task[ToolOutput]
    ) -> None:
        """Report the result of a resolution whose call was cancelled."""
        if done.cancelled():
            return
        error = done.exception()
        if error is not None and not isinstance(error, ToolError):
            log.error("resolving %s failed", pending.label, exc_info=error)
        text = str(error) if error is not None else done.result().text
        verb = {"apply": "applied", "discard": "discarded"}[action]
        failed = error is not None or done.result().is_error
        outcome = f"could not be {verb}" if failed else f"was {verb} all the same"
        self._observer.add_note(
            f"The preview {pending.label!r} {outcome}: that had begun before the stop.\n{text}"
        )

    async def _resolve(
        self, pending: Preview, action: Action, reason: str, extra: Extra
    ) -> ToolOutput:
        self._journal.add(r.PreviewResolving(pending.id, action))
        try:
            result = await _call_back(pending, action, reason, extra)
        except StalePreview as stale:
            if pending.make is not None:
                raise
            result = ToolOutput(str(stale), is_error=True)
        except ToolError as error:
            result = ToolOutput(str(error), is_error=True)
        except Exception as error:
            log.exception("resolving %s failed", pending.label)
            prefix = "Apply failed: " if action == "apply" else ""
            text = str(error) or type(error).__name__
            result = ToolOutput(f"{prefix}{text}", is_error=True)
        else:
            return await self._finish(pending, action, reason, extra, result)
        if action == "apply":
            self._send_event("AgentPreviewResolved", pending, action=action, status="error")
            return result
        # Kept, it would fail again each time, and nothing but applying could end it.
        return await self._finish(pending, action, reason, extra, result)

    async def _finish(
        self, pending: Preview, action: Action, reason: str, extra: Extra, result: ToolOutput | None
    ) -> ToolOutput:
        if any(pending.id == other.id for other in self._stack):
            self._stack.remove(pending)
            self._view.close_preview(pending)
        details = resolution_details(pending, action, reason, extra, result)
        text = discard_message(pending, reason) if action == "discard" else ""
        output = result or ToolOutput(text)
        self._journal.add(r.PreviewResolved(pending.id, pending.label, action, reason))
        if action == "apply":
            # Before the event: a program that resolves the next preview then sees it rebased.
            await self._rebase_older(pending)
        status = "error" if output.is_error else "success"
        self._send_event("AgentPreviewResolved", pending, action=action, status=status)
        applied = pending.preview.change if action == "apply" and not output.is_error else None
        return replace(output, details=details, change=applied)

    async def _rebase_older(self, applied: Preview) -> None:
        """Rebase the older previews of the files that were just changed."""
        paths = set(_paths(applied))
        for other in list(self._stack):
            if not paths.intersection(_paths(other)):
                continue
            try:
                fresh = await self._rebase(other)
            except StalePreview:
                continue  # applying or discarding it reports that
            except Exception:
                # The newer one is applied and recorded, whatever becomes of this one.
                log.exception("%s could not be rebased", other.label)
                continue
            if fresh is not other:
                self.replace(fresh)

    async def _rebase(self, pending: Preview, left_out: Collection[str] = frozenset()) -> Preview:
        """Return the preview on top of what its files are now; raises StalePreview."""
        change = pending.preview.change
        if change is None or pending.make is None:
            return pending
        workspace = self._workspace_of(pending)
        files = [file for file in change.files if file.path not in left_out]
        paths = [file.origin for file in files]
        read = await asyncio.gather(*(_read(workspace, path) for path in paths))
        contents = dict(zip(paths, read, strict=True))
        rebased = rebase_change(change, contents)
        if rebased is change:
            return pending
        proposed = pending.original_change
        if proposed is not None:
            with contextlib.suppress(StalePreview):
                proposed = rebase_change(proposed, contents)
        preview = replace(pending.preview, change=rebased, places=())
        return replace(pending, preview=preview, original_change=proposed)

    def _workspace_of(self, pending: Preview) -> Workspace:
        return self._overlay if pending.in_overlay else self._workspace

    async def _make_preview(
        self, call: ValidCall, staged: StagedPreview, in_overlay: bool
    ) -> Preview:
        workspace = self._overlay if in_overlay else self._workspace
        targets = tuple(await asyncio.gather(*map(workspace.locate, _paths(staged))))
        preview = make_preview(staged, uuid.uuid4().hex, targets, in_overlay=in_overlay)
        from_destructive = call.tool.metadata.destructive
        preview = replace(preview, calls=(call.call.id,), from_destructive=from_destructive)
        return replace(preview, scope=_scope(call, preview))

    def _send_event(self, name: str, pending: Preview, **more: str) -> None:
        self._observer.refresh()
        details = {} if pending.details is None else {"details": pending.details}
        data = {"label": pending.label, "source": pending.source, **details, **more}
        self._view.fire_event(name, data)


async def _read(workspace: Workspace, path: str) -> bytes | None:
    """Return the content of a file; a file that cannot be read counts as missing."""
    try:
        return await workspace.read(path)
    except OSError:
        return None


def _paths(pending: StagedPreview) -> tuple[str, ...]:
    change = pending.preview.change
    return change.paths if change is not None else ()


def _located(file: FileChange, target: FileTarget) -> FileChange:
    anchor = target.anchor if file.before is None else None
    return replace(file, display_path=target.display_path, anchor=anchor)


async def _refuse(reason: str, extra: Extra) -> ToolOutput:
    raise ToolError(ONLY_HUNKS)  # it is applied with ``make``


def _extend(earlier: Preview, preview: Preview) -> Preview:
    """Return a preview under the id of the earlier one, with the text proposed before edits."""
    change, edited = preview.preview.change, earlier.original_change
    proposed = None
    if edited is not None and change is not None:
        texts = {file.path: file.after for file in edited.files}
        proposed = ChangeSet(
            tuple(replace(file, after=texts.get(file.path, file.after)) for file in change.files)
        )
    calls = (*earlier.calls, *preview.calls)
    return replace(preview, id=earlier.id, original_change=proposed, calls=calls)


def _scope(call: ValidCall, pending: Preview) -> Scope | None:
    """Return what *always* would mean: the tool on ordinary files, else exactly these paths."""
    if hides_characters(call):
        return None
    name, definition, targets = call.tool.name, call.tool.definition, pending.targets
    unusual = pending.destructive or len(pending.collects) > 1
    if not unusual and all(target.ordinary for target in targets):
        return tool_scope(name, definition, bool(targets))
    # The paths of collected edits differ each time: an answer for them would never hold again.
    return None if pending.collects else path_scope(name, definition, targets)


async def _call_back(
    pending: Preview, action: Action, reason: str, extra: Extra
) -> ToolOutput | None:
    if action == "apply":
        if pending.make is not None:
            return await pending.make(pending.preview)
        return await pending.apply(reason, extra)
    if pending.reject is None:
        return None
    return await pending.reject(reason, extra)
