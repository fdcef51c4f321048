"""Performs the effects of a turn in order, until its end or the user's stop."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any, TypeVar

from agentchat.agent.execution.previews import Previews
from agentchat.agent.execution.steps import parse_arguments
from agentchat.agent.execution.tool_runner import ToolRunner, with_diff
from agentchat.agent.message_queue import MessageQueue
from agentchat.agent.modes.stage import Stage
from agentchat.agent.permissions.approvals import Approvals
from agentchat.agent.preparation import Preparation
from agentchat.agent.spending import SpendingRecorder
from agentchat.agent.status import ModelSource
from agentchat.agent.stream import ReplyStream, show_result
from agentchat.core.errors import Cancelled, StalePreview, ToolError, UserError
from agentchat.core.messages import Message, Note, Reply, Status, ToolResult, Usage, UserText
from agentchat.core.model import ModelRequest, Piece, StoppedUsage
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.tools.tool import ShownArguments, ToolOutput
from agentchat.core.turn import effects as e
from agentchat.core.turn.loop import TurnEnd, internal_error_message
from agentchat.core.turn.preview_stack import resolution_line
from agentchat.core.turn.view import Observer, ToolBlock, View
from agentchat.journal import records as r
from agentchat.journal.entries import (
    has_own_effect,
    message_records,
    request_record,
    response_record,
    start_records,
    step_record,
)
from agentchat.journal.writer import JournalWriter

log = logging.getLogger(__name__)

T = TypeVar("T")

STOP_SECONDS = 1.0
"""The time for all exit hooks and formatting after a stop."""

SUMMARIZING = "summarising the older part of this chat"

ENDING = (e.Record, e.TearDown, e.EndStage)
"""The effects that are performed whatever else stops."""

LEAST_SECONDS = 0.05
"""The least time for each of them."""


class Interpreter:
    """Plays the turns of one chat, one at a time, with the real model, tools, user and journal.

    ``stop`` cancels the running effect and throws ``Cancelled`` into the plan, which answers the
    open calls. The effects that bring something to its end (``ENDING``) are performed even then, so
    that every result is in the journal, every exit hook runs and stage mode ends. Those that the
    plan did not yield, because it was closed or failed, are performed at the end.
    """

    def __init__(
        self,
        *,
        view: View,
        journal: JournalWriter,
        runner: ToolRunner,
        previews: Previews,
        approvals: Approvals,
        stage: Stage,
        queue: MessageQueue,
        touch: Callable[[Iterable[str]], None],
        preparation: Preparation,
        model: ModelSource,
        spending: SpendingRecorder,
        max_parallel: int,
        observer: Observer,
        take_results: Callable[[], tuple[ToolResult, ...]] = tuple,
    ) -> None:
        self._view = view
        self._take_results = take_results
        self._journal = journal
        self._runner = runner
        self._previews = previews
        self._approvals = approvals
        self._stage = stage
        self._queue = queue
        self._touch = touch
        self._preparation = preparation
        self._model = model
        self._spending = spending
        self._observer = observer
        self._stream = ReplyStream(view, journal)
        self._slots = asyncio.Semaphore(max_parallel)
        self._running: asyncio.Task[Any] | None = None
        self._hook_limit: asyncio.Timeout | None = None
        self._set_up_calls: dict[str, ValidCall] = {}
        self._started_ids: set[str] = set()
        self._deadline: float | None = None

    # --- the turn ---------------------------------------------------------------------------------

    async def play(self, plan: e.Plan[TurnEnd]) -> TurnEnd:
        """Perform a plan to its end and return its result.

        A stop before the first effect counts too. A cancelled task ends the plan as a stop does,
        then raises CancelledError.
        """
        try:
            end = await self._play(plan)
        except Exception as error:
            log.exception("the turn failed")
            end = TurnEnd("error", internal_error_message(error))
        finally:
            plan.close()
            await self._end_all()
            stopped, self._deadline = self._is_stopped, None
        if _is_cancelled():
            raise asyncio.CancelledError
        return replace(end, stopped=stopped)

    async def _end_all(self) -> None:
        """Bring to its end what the plan has not."""
        for call in list(self._set_up_calls.values()):
            await self._tear_down(call)
        await self._stage.end()
        self._started_ids.clear()

    def stop(self) -> None:
        """Cancel what is running; a second stop does nothing more."""
        if self._is_stopped:
            return
        self._deadline = asyncio.get_running_loop().time() + STOP_SECONDS
        if self._running is not None:
            self._running.cancel()
        if self._hook_limit is not None:
            self._hook_limit.reschedule(self._deadline)

    @property
    def _is_stopped(self) -> bool:
        return self._deadline is not None

    async def _play(self, plan: e.Plan[TurnEnd]) -> TurnEnd:
        try:
            effect = next(plan)
            while True:
                try:
                    answer = await self._answer(effect)
                except Exception as error:
                    # The plan answers the open calls before it ends.
                    effect = plan.throw(error)
                else:
                    effect = plan.send(answer)
        except StopIteration as end:
            result: TurnEnd = end.value
            return result

    async def _answer(self, effect: e.Effect[Any]) -> Any:
        try:
            if isinstance(effect, ENDING):
                return await self._perform(effect)
            if self._is_stopped or _is_cancelled():
                self.stop()
                raise Cancelled
            if _is_immediate(effect):
                return await self._perform(effect)
            self._running = asyncio.ensure_future(self._perform(effect))
            return await self._running
        except asyncio.CancelledError:
            self.stop()
            raise Cancelled from None
        finally:
            self._running = None
            if _changes_status(effect):
                self._observer.refresh()

    async def _perform(self, effect: e.Effect[Any]) -> Any:
        match effect:
            case e.Prepare():
                self._spending.refresh()
                return await self._preparation.prepare()
            case e.FindPromptCalls():
                return await self._queue.find_calls()
            case e.AnswerPromptCall():
                return self._queue.give_result(effect.result)
            case e.TakeSteering():
                return await self._queue.complete()
            case e.AskModel():
                return await self._ask_model(effect)
            case e.Record():
                return await self._record(effect)
            case e.RequestApproval():
                return await self._request_approval(effect.request)
            case e.RefreshPreview():
                return await self._previews.refresh(effect.preview)
            case e.ResolvePreview():
                return await self._resolve(effect)
        return await self._perform_on_context(effect)

    async def _perform_on_context(self, effect: e.Effect[Any]) -> Any:
        match effect:
            case e.TakeResults():
                return self._take_results()
            case e.Summarize():
                return await self._summarize(effect.request)
            case e.RecordStep():
                return self._journal.add(step_record(effect.step))
            case e.Announce():
                return self._announce(effect)
            case e.ReportBudget():
                return self._report_budget(effect)
        return await self._perform_on_calls(effect)

    async def _perform_on_calls(self, effect: e.Effect[Any]) -> Any:
        match effect:
            case e.Parse():
                return await parse_arguments(effect.tool, effect.raw_arguments)
            case e.Locate():
                return await self._locate(effect.calls)
            case e.ComputeDryRun():
                return await self._runner.dry_run(effect.call, effect.target)
            case e.SetUp():
                self._set_up_calls[effect.call.call.id] = effect.call
                return await self._runner.set_up(effect.call)
            case e.TearDown():
                return await self._tear_down(effect.call)
            case e.RunPromptCall():
                return await self._run_quietly(effect.ready)
            case e.RunTool():
                return await self._run(effect.ready)
            case e.RunTools():
                return await self._run_together(effect.ready)
        return await self._perform_on_overlay(effect)

    async def _perform_on_overlay(self, effect: e.Effect[Any]) -> Any:
        match effect:
            case e.BeginStage():
                self._runner.warm_up()
                return await self._stage.begin()
            case e.EndStage():
                return await self._stage.end()
            case e.RunIsolated():
                return await self._run_isolated(effect)
            case e.ApplyIsolated():
                return await self._apply_isolated(effect)
        raise TypeError(f"no effect: {effect!r}")

    # --- effects ----------------------------------------------------------------------------------

    async def _ask_model(self, effect: e.AskModel) -> Reply:
        try:
            model = self._model.current()
        except UserError as error:
            return Reply(error=str(error))
        reply = await self._stream.ask(model, effect.request)
        self._spending.add(reply)
        return reply

    async def _summarize(self, request: ModelRequest) -> Reply:
        """Ask for a summary; its text is not shown."""
        self._view.show_activity(SUMMARIZING)
        reply = await self._ask_quietly(request)
        self._spending.add(reply)
        if reply.usage is not None:
            self._journal.add(request_record(reply.model, reply.usage))
        self._view.finish_reply()
        return reply

    async def _ask_quietly(self, request: ModelRequest) -> Reply:
        """Ask the model without showing the answer; a stop returns what was used by then."""
        used: list[Usage] = []

        def keep_usage(piece: Piece) -> None:
            if isinstance(piece, StoppedUsage):
                used.append(piece.usage)

        try:
            model = self._model.current()
            return await model.ask(request, keep_usage)
        except UserError as error:
            return Reply(error=str(error))
        except asyncio.CancelledError:
            return Reply(finish="cancelled", usage=next(iter(used), None), model=model.name)

    def _report_budget(self, effect: e.ReportBudget) -> None:
        data = {"scope": effect.scope, "limit": effect.limit, "spent": effect.spent}
        self._view.fire_event("AgentBudgetReached", data)

    def _announce(self, effect: e.Announce) -> None:
        self._observer.refresh()
        self._view.add_note(effect.level, effect.text)
        if effect.compacted is not None:
            self._view.fire_event("AgentCompacted", effect.compacted)

    async def _locate(self, calls: tuple[ValidCall, ...]) -> tuple[CallTarget | ToolError, ...]:
        await self._approvals.refresh()
        targets = tuple(await asyncio.gather(*map(self._locate_one, calls)))
        for target in targets:
            if not isinstance(target, ToolError):
                self._touch(file.path for file in (*target.reads, *target.writes))
        return targets

    async def _locate_one(self, call: ValidCall) -> CallTarget | ToolError:
        try:
            return await self._runner.locate(call)
        except ToolError as error:
            return error

    async def _request_approval(self, request: e.ApprovalRequest) -> e.ApprovalResponse:
        if not (request.question or request.prompt):
            self._view.update_block(request.call.call.id, ToolBlock(state="waiting"))
        response = await self._approvals.ask(request)
        if response.decision is None:
            self._journal.add(response_record(request, response))
        return response

    async def _run(self, ready: e.ReadyCall) -> ToolResult:
        async with self._slots:
            call = ready.call
            title = call.tool.title(ShownArguments(call.raw_arguments, call.call.id))
            self._journal.add(*start_records(ready), durable=has_own_effect(ready))
            self._show_start(call.call.id, call.tool.name, title)
            result = await self._runner.run(ready)
            self._journal.add(r.CallFinished(result.call_id, result.status.value))
            return result

    async def _run_quietly(self, ready: e.ReadyCall) -> ToolResult:
        """Run a call of a prompt: it has no block, its result is part of the message."""
        self._journal.add(*start_records(ready), durable=has_own_effect(ready))
        result = await self._runner.run(ready, shown=False)
        self._journal.add(r.CallFinished(result.call_id, result.status.value))
        return result

    async def _run_isolated(self, effect: e.RunIsolated) -> e.IsolatedCall:
        call = effect.ready.call
        if effect.shown:
            self._show_start(call.call.id, call.tool.name, call.tool.title(call.raw_arguments))
        return await self._runner.run_isolated(effect.ready, shown=effect.shown)

    async def _apply_isolated(self, effect: e.ApplyIsolated) -> ToolResult:
        self._journal.add(*start_records(effect.ready), durable=has_own_effect(effect.ready))
        result = await self._runner.apply_isolated(effect.ready, effect.isolated)
        self._journal.add(r.CallFinished(result.call_id, result.status.value))
        return result

    async def _run_together(self, calls: tuple[e.ReadyCall, ...]) -> tuple[ToolResult, ...]:
        """Run calls at the same time; if one ends the turn, the others are cancelled first."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._run_beside(ready)) for ready in calls]
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from failed
        return tuple(task.result() for task in tasks)

    async def _run_beside(self, ready: e.ReadyCall) -> ToolResult:
        try:
            return await self._run(ready)
        except StalePreview as stale:
            call = ready.call
            return ToolResult(call.call.id, call.tool.name, str(stale), Status.ERROR)

    async def _resolve(self, effect: e.ResolvePreview) -> ToolResult:
        call, label = effect.call, effect.preview.label
        title = resolution_line(label, effect.action, failed=False, extent=effect.extent)
        self._show_start(call.id, call.name, title)
        failed, cancelled = True, False
        try:
            result = await self._previews.resolve(
                effect.preview, effect.action, effect.reason, effect.extra
            )
            failed = result.is_error
        except asyncio.CancelledError:
            cancelled = True
            raise
        finally:
            if failed:
                title = resolution_line(label, effect.action, True, effect.extent, cancelled)
                self._view.update_block(call.id, ToolBlock(title=title))
        answer = self._runner.make_result(call.id, call.name, _with_reason(result, effect.reason))
        return await with_diff(answer, result.change)

    async def _record(self, effect: e.Record) -> Message:
        message = effect.message
        if isinstance(message, UserText) and self._is_stopped:
            # The stop has put it back into the prompt: the history must not have it too.
            raise Cancelled
        if isinstance(message, ToolResult):
            message = await self._format(message, effect)
            if effect.heading:
                message = replace(message, text=f"{effect.heading}\n{message.text}")
        self._journal.add(*message_records(message, effect.decision))
        match message:
            case UserText() | Note():
                self._queue.finish(message)
            case Reply():
                self._stream.finish(message)
            case ToolResult():
                show_result(message, self._view)
        return message

    async def _format(self, result: ToolResult, effect: e.Record) -> ToolResult:
        work = self._runner.format(result, effect.call, effect.reason)
        try:
            return await self._limit_after_stop(work)
        except TimeoutError:
            log.warning("%s did not format its result in time after a stop", result.name)
            return result

    async def _tear_down(self, call: ValidCall) -> None:
        self._set_up_calls.pop(call.call.id, None)
        try:
            await self._limit_after_stop(self._runner.tear_down(call))
        except TimeoutError:
            log.warning("the exit hook of %s did not end in time after a stop", call.tool.name)

    async def _limit_after_stop(self, hook: Awaitable[T]) -> T:
        """Await a hook; raises TimeoutError when the time after a stop is over."""
        try:
            async with asyncio.timeout(None) as self._hook_limit:
                if self._deadline is not None:
                    least = asyncio.get_running_loop().time() + LEAST_SECONDS
                    self._hook_limit.reschedule(max(self._deadline, least))
                return await hook
        finally:
            self._hook_limit = None

    def _show_start(self, call_id: str, tool: str, title: str) -> None:
        """Show that a call runs; its event is fired once, however often it runs."""
        self._view.update_block(call_id, ToolBlock(title=title, state="running"))
        if call_id in self._started_ids:
            return
        self._started_ids.add(call_id)
        self._view.fire_event("AgentToolStarted", {"tool": tool, "call_id": call_id})


def _is_immediate(effect: e.Effect[Any]) -> bool:
    """Whether an effect waits for nothing, so that a stop cannot come in between."""
    return isinstance(effect, e.Parse) and not inspect.iscoroutinefunction(
        effect.tool.arguments.parse
    )


def _with_reason(result: ToolOutput, reason: str) -> ToolOutput:
    """Return the result of a resolution with its reason for the user."""
    line, shown = f"Reason: {reason}", result.display_text or result.text
    if not reason.strip() or line in shown:
        return result
    return replace(result, display_text=f"{line}\n{shown}".rstrip())


def _changes_status(effect: e.Effect[Any]) -> bool:
    """Whether an effect may change what the status of the chat shows."""
    if isinstance(effect, e.Record):
        return not isinstance(effect.message, ToolResult)
    return not isinstance(effect, (e.Parse, e.Locate))


def _is_cancelled() -> bool:
    """Whether the task that plays the turn was cancelled."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
