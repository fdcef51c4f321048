"""Runs the parts of a tool around one call, and turns what they return into one result."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from agentchat.agent.execution.checkpoints import Checkpoints
from agentchat.agent.execution.isolated_runs import (
    NO_OVERLAY,
    IsolatedWorkspace,
    apply_isolated,
    locate_changes,
    with_remarks,
)
from agentchat.agent.execution.journaled_workspace import (
    JournaledWorkspace,
    LocatedWorkspace,
    TakeChange,
    ignore_change,
)
from agentchat.agent.execution.locate import locate_call
from agentchat.agent.execution.overlay_command import add_remarks, describe_changes
from agentchat.agent.execution.previews import Previews
from agentchat.agent.execution.results import ResultStore, process_result, with_truncation
from agentchat.agent.execution.steps import OutOfTime, failure, limited, run_step, run_steps_safely
from agentchat.core.diff.changeset import ChangeSet, FileChange, combine_all
from agentchat.core.diff.diff_text import count_text, diff_lines_of
from agentchat.core.errors import ToolError, Unreachable
from agentchat.core.frontend import Frontend
from agentchat.core.messages import Status, ToolResult
from agentchat.core.permissions.isolation import ISOLATED
from agentchat.core.permissions.policy import Policy, works_in_overlay
from agentchat.core.permissions.rules import named_hosts, restricts_path
from agentchat.core.text import clip, mask_secrets
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.tools.description import describe_tools
from agentchat.core.tools.todo import TodoList
from agentchat.core.tools.tool import (
    CallOutcome,
    DryRunResult,
    ResultProcessor,
    StagedPreview,
    Step,
    ToolContext,
    ToolOutput,
    refuse_staging,
)
from agentchat.core.tools.toolset import Toolset
from agentchat.core.turn.effects import IsolatedCall, ReadyCall
from agentchat.core.turn.view import ToolBlock, View
from agentchat.core.workspace import Workspace
from agentchat.journal.entries import undo_record
from agentchat.journal.writer import JournalWriter
from agentchat.workspace.overlay.isolation import Isolation
from agentchat.workspace.overlay.workspace import OverlayWorkspace

log = logging.getLogger(__name__)

HOOK_SECONDS = 30.0
FORMAT_SECONDS = 2.0
STAGED = "Staged as a preview - nothing has been changed yet."
NOT_STAGED = "The call ran, but its preview could not be staged: {}"


class ToolRunner:
    """Runs the tools of one chat in one workspace."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        view: View,
        journal: JournalWriter,
        previews: Previews,
        results: ResultStore,
        toolbox: Toolset,
        policy: Policy,
        todo: TodoList | None = None,
        overlay: OverlayWorkspace | None = None,
        isolation: Isolation | None = None,
        frontend: Frontend | None = None,
    ) -> None:
        self._workspace = workspace
        self._overlay = overlay
        self._isolation = isolation
        self._toolbox = toolbox
        self._policy = policy
        self._todo = todo or TodoList()
        self._frontend = frontend
        self._journal = journal
        self._view = view
        self._previews = previews
        self._results = results
        self._flags: dict[str, bool] = {}
        self._checkpoints = Checkpoints(workspace, journal, toolbox)

    async def locate(self, call: ValidCall) -> CallTarget:
        """Return where a call would act; raises ToolError.

        In stage mode this is the overlay. There everything outside is read-only, so a call about
        other files works on them directly, as far as the user allows it.
        """
        if self._overlay is None or self._policy.mode != "stage" or not call.tool.metadata.confined:
            return await locate_call(call, self._workspace)
        target = await locate_call(call, self._overlay)
        if works_in_overlay(call, target, self._policy.mode):
            return target
        return await locate_call(call, self._workspace)

    async def run(self, ready: ReadyCall, *, shown: bool = True) -> ToolResult:
        """Run a call; an error is its result.

        Args:
            shown: whether the chat shows its progress.

        Raises:
            StalePreview: a file changed since the preview. Nothing was changed.
        """
        call = ready.call
        staged: list[StagedPreview] = []
        changed: list[FileChange] = []
        in_overlay = ready.decision.in_overlay
        context = self._context(
            call,
            staged.append,
            ready.preview,
            ready.target,
            overlay=self._overlay if in_overlay else None,
            shown=shown,
            on_applied=lambda change: changed.extend(change.files),
        )
        if in_overlay:
            result = await self._run_in_overlay(ready, context)
        else:
            result = await self._checkpoints.run(
                ready, context, lambda: run_steps_safely(call.tool, call.arguments, context)
            )
        result = _with_change(result, changed or _staged_files(result, staged))
        if _status(result) is Status.SUCCESS and not ready.target.restores:
            await self._record_undo(call, result)
        heading, result = await self._stage(call, staged, result, in_overlay)
        answer = self.make_result(call.call.id, call.tool.name, result, heading)
        is_staged = in_overlay or not changed
        answer = await with_diff(answer, result.change, is_staged=is_staged)
        processor = self._toolbox.result_processor
        return answer if processor is None else await self._process(answer, processor, context)

    async def _stage(
        self, call: ValidCall, staged: list[StagedPreview], result: ToolOutput, in_overlay: bool
    ) -> tuple[str, ToolOutput]:
        """Stage what a call left; return the heading of its result, and the result.

        The call ran, so a preview that cannot be made is an error that says so.
        """
        try:
            await self._previews.stage(call, staged, in_overlay=in_overlay)
        except Exception as error:
            log.exception("a preview of %s could not be staged", call.tool.name)
            text = f"{result.text}\n{NOT_STAGED.format(str(error) or type(error).__name__)}"
            return "", replace(result, text=text, is_error=True)
        return STAGED if any(not change.is_standing for change in staged) else "", result

    def warm_up(self) -> None:
        """Start what runs commands isolated, if the next one may need it."""
        if self._isolation is not None and self._policy.isolates:
            self._isolation.warm_up()

    async def run_isolated(self, ready: ReadyCall, *, shown: bool = True) -> IsolatedCall:
        """Run a command on an overlay of its own, and return what it did.

        Raises:
            Unreachable: no overlay works here.
        """
        call = ready.call
        if self._isolation is None:
            raise Unreachable(NO_OVERLAY)
        await self._isolation.ready()
        workspace = IsolatedWorkspace(self._workspace, self._isolation)
        context = self._context(
            call, refuse_staging, None, ready.target, overlay=workspace, shown=shown
        )
        output = await run_steps_safely(call.tool, call.arguments, context)
        if workspace.failure is not None:
            raise workspace.failure
        run = workspace.done
        if run is None:  # it did not come to run
            return IsolatedCall(self._isolated_result(call, output), DryRunResult())
        output = with_remarks(output, run, call.tool.name, network=ready.target.network)
        result = self._isolated_result(call, output)
        if run.change.changes_nothing:
            return IsolatedCall(result, DryRunResult(text=result.text))
        restricts = partial(restricts_path, self._policy.rules, call.tool.name)
        files = await locate_changes(run.change, self._workspace, restricts)
        change = ChangeSet(tuple(file.change for file in files))
        preview = DryRunResult(change=change, text=result.text)
        return IsolatedCall(result, preview, files, moved=run.moved, times=run.times)

    def _isolated_result(self, call: ValidCall, output: ToolOutput) -> ToolResult:
        result = self.make_result(call.call.id, call.tool.name, output)
        return replace(result, details={**(result.details or {}), ISOLATED: True})

    async def apply_isolated(self, ready: ReadyCall, isolated: IsolatedCall) -> ToolResult:
        """Apply what is kept of what a command changed; raises StalePreview or ToolError."""
        preview, result = ready.preview or DryRunResult(), isolated.result
        lines = [preview.headline]
        if preview.change is not None:
            call_id = ready.call.call.id
            workspace = JournaledWorkspace(self._workspace, self._journal, call_id)
            await apply_isolated(isolated, preview.change, workspace)
            lines.insert(0, describe_changes(preview.change.singly.files))
        result = replace(result, text="\n\n".join(filter(None, (result.text, *lines))))
        return await with_diff(result, preview.change)

    async def _run_in_overlay(self, ready: ReadyCall, context: ToolContext) -> ToolOutput:
        """Run a call on what the user sees; a command also tells what it did to files."""
        assert self._overlay is not None
        try:
            await self._overlay.sync()
        except ToolError as error:
            return ToolOutput(str(error), is_error=True)
        if ready.target.command is not None:
            await self._overlay.update()  # what earlier calls changed is not of this command
        result = await run_steps_safely(ready.call.tool, ready.call.arguments, context)
        if ready.target.command is None:
            return result
        changed = await self._overlay.update()
        result = _with_change(result, changed)
        return add_remarks(result, changed, network=ready.target.network)

    async def dry_run(self, call: ValidCall, target: CallTarget) -> DryRunResult:
        """Return what a call would do; raises ToolError if it would fail."""
        if call.tool.dry_run is None:
            return DryRunResult()
        in_overlay = works_in_overlay(call, target, self._policy.mode)
        overlay = self._overlay if in_overlay else None
        context = self._context(call, refuse_staging, None, target, overlay=overlay)
        try:
            return await call.tool.dry_run(call.arguments, context)
        except ToolError:
            raise
        except Exception as error:
            log.exception("%s failed to preview", call.tool.name)
            raise failure(call.tool, error) from error

    async def set_up(self, call: ValidCall) -> None:
        """Run the set-up hook; raises ToolError."""
        await self._hook(call, call.tool.hooks.setup)

    async def tear_down(self, call: ValidCall) -> None:
        """Run the exit hook; an error in it is only logged."""
        try:
            await self._hook(call, call.tool.hooks.exit)
        except ToolError as error:
            log.warning("the exit hook of %s failed: %s", call.tool.name, error)

    async def format(
        self, result: ToolResult, call: ValidCall | None = None, reason: str = ""
    ) -> ToolResult:
        """Return a result as the tool's own hook formats it.

        The hook changes text, details and images, never the id or the status. A hook that raises,
        takes too long or returns something else changes nothing.

        Args:
            call: the call that it answers, if that is valid.
            reason: why the user rejected the call.
        """
        tool = self._toolbox.find(result.name) if call is None else call.tool
        if tool is None or tool.hooks.result is None:
            return result
        outcome = CallOutcome(result, None if call is None else call.arguments, reason)
        try:
            async with asyncio.timeout(FORMAT_SECONDS):
                formatted = await _format_result(tool.hooks.result, outcome)
            return self._limit_format(_copy_format(result, formatted), result)
        except Exception:
            log.exception("%s could not format its result", tool.name)
            return result

    def _limit_format(self, formatted: ToolResult, result: ToolResult) -> ToolResult:
        """Return a formatted result without secrets, of limited length, and marked as staged."""
        if formatted.text == result.text:
            return formatted
        text = mask_secrets(formatted.text)
        if result.text.startswith(STAGED) and not text.startswith(STAGED):
            text = f"{STAGED}\n{text}"
        text, stored = self._results.shorten(result.name, text)
        return replace(formatted, text=text, full_text_path=stored or result.full_text_path)

    def make_result(
        self, call_id: str, tool: str, result: ToolOutput, heading: str = ""
    ) -> ToolResult:
        """Return a tool's result as the model gets it: without secrets, of limited length."""
        text = mask_secrets(result.text)
        full = f"{heading}\n{text}" if heading else text
        text, stored = self._results.shorten(tool, full)
        stored = result.full_text_path or stored
        return ToolResult(
            call_id=call_id,
            name=tool,
            text=text,
            status=_status(result),
            details=with_truncation(result.details, stored),
            images=result.images,
            display_text=result.display_text,
            full_text_path=stored,
        )

    async def _process(
        self, result: ToolResult, processor: ResultProcessor, context: ToolContext
    ) -> ToolResult:
        """Return a large result as the user's processor shortens it; a failure changes nothing."""
        try:
            return await process_result(result, processor, context)
        except Exception as error:
            log.exception("the result of %s could not be processed", result.name)
            text = str(error) or type(error).__name__
            self._view.notify("warn", f"The result processor failed: {clip(text)}")
            return result

    async def _hook(self, call: ValidCall, hook: Step | None) -> None:
        if hook is None:
            return
        context = self._context(call, refuse_staging, None)
        try:
            await limited(run_step(hook, call.arguments, context), HOOK_SECONDS)
        except ToolError:
            raise
        except OutOfTime as error:
            text = f"{call.tool.name} timed out after {HOOK_SECONDS:g} s."
            raise ToolError(text) from error
        except Exception as error:
            log.exception("a hook of %s failed", call.tool.name)
            raise failure(call.tool, error) from error

    async def _record_undo(self, call: ValidCall, result: ToolOutput) -> None:
        """Journal how a call can be undone; an error in the tool's hook is only logged."""
        hook = call.tool.hooks.undo
        if hook is None:
            return
        try:
            async with asyncio.timeout(HOOK_SECONDS):
                undo = await asyncio.to_thread(hook, call.arguments, result)
            if undo is not None:
                self._journal.add(undo_record(call.call.id, undo))
        except Exception:
            log.exception("the undo hook of %s failed", call.tool.name)

    def _context(
        self,
        call: ValidCall,
        stage: Callable[[StagedPreview], None],
        preview: DryRunResult | None,
        target: CallTarget | None = None,
        *,
        overlay: Workspace | None = None,
        shown: bool = True,
        on_applied: TakeChange = ignore_change,
    ) -> ToolContext:
        def progress(text: str) -> None:
            if shown:
                self._view.update_block(call.call.id, ToolBlock(tool=call.tool.name, append=text))

        def show(text: str) -> None:
            if shown:
                block = ToolBlock(tool=call.tool.name, body=text.split("\n"))
                self._view.update_block(call.call.id, block)

        located = target.targets_by_path if target is not None else {}
        workspace = (
            LocatedWorkspace(overlay, located, on_applied)
            if overlay is not None
            else JournaledWorkspace(
                self._workspace,
                self._journal,
                call.call.id,
                located=located,
                on_applied=on_applied,
            )
        )
        rules = self._policy.rules
        return ToolContext(
            workspace=workspace,
            cwd=self._workspace.root,
            call_id=call.call.id,
            progress=progress,
            stage=stage,
            store=self._results.keep,
            free_path=self._results.free_path,
            preview=preview,
            open_preview=self._previews.find_collecting(),
            frontend=self._frontend,
            tool_finder=self._toolbox,
            is_restricted=lambda path: restricts_path(self._policy.rules, call.tool.name, path),
            private_hosts=named_hosts(rules, call, target) if target is not None else frozenset(),
            clear_standing=self._previews.clear_standing,
            flags=self._flags,
            todo=self._todo,
            show=show,
            describe_tools=lambda: describe_tools(self._toolbox, self._policy.forbids),
        )


async def with_diff(
    result: ToolResult, change: ChangeSet | None, *, is_staged: bool = False
) -> ToolResult:
    """Return a result with what its call changed in files, as the chat shows it.

    Args:
        is_staged: nothing is changed yet, the user decides later.
    """
    if change is None or change.changes_nothing:
        return result
    # Comparing large files takes a while.
    return await asyncio.to_thread(_add_diff, result, change, is_staged)


def _add_diff(result: ToolResult, change: ChangeSet, is_staged: bool) -> ToolResult:
    """Return a result with a diff; the line that names the same files is for the model alone."""
    diff, counts = mask_secrets("\n".join(diff_lines_of(change))), count_text(change)
    shown = result.display_text
    names = f"\n\n{describe_changes(change.singly.files)}"
    if shown is None and names in result.text:
        shown = result.text.replace(names, "")
    counts = f"{counts} staged" if is_staged else counts
    return replace(result, diff=diff, counts=counts, display_text=shown)


def _staged_files(result: ToolOutput, staged: Sequence[StagedPreview]) -> tuple[FileChange, ...]:
    """Return what a call has staged, unless it says itself what it would change."""
    changes = [each.preview.change for each in staged if result.change is None]
    return tuple(file for change in changes if change is not None for file in change.files)


def _with_change(result: ToolOutput, changed: Sequence[FileChange]) -> ToolOutput:
    """Return the output of a call with what it changed, if it did."""
    change = combine_all(changed)
    return replace(result, change=change) if change.files else result


async def _format_result(
    hook: Callable[[CallOutcome], Any], outcome: CallOutcome
) -> ToolResult | Any:
    if inspect.iscoroutinefunction(hook):
        return await hook(outcome)
    return await asyncio.to_thread(hook, outcome)


def _copy_format(result: ToolResult, formatted: object) -> ToolResult:
    if not isinstance(formatted, ToolResult) or not isinstance(formatted.text, str):
        raise TypeError(f"the hook returned {type(formatted).__name__}, no result")
    return replace(
        result,
        text=formatted.text,
        display_text=formatted.display_text,
        details=formatted.details,
        images=formatted.images,
    )


def _status(result: ToolOutput) -> Status:
    if result.cancelled:
        return Status.CANCELLED
    return Status.ERROR if result.is_error else Status.SUCCESS
