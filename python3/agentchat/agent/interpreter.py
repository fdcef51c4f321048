"""Plays a plan: performs its effects one after the other, and lets the user stop it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from agentchat.agent.execution.locate import survey
from agentchat.agent.execution.previews import Staging
from agentchat.agent.execution.tool_runner import Phrasing, Runner, parsed
from agentchat.agent.message_queue import MessageQueue
from agentchat.agent.permissions.approvals import Judging
from agentchat.agent.preparation import Preparation
from agentchat.agent.scribe import Scribe
from agentchat.agent.stream import Teller
from agentchat.core.errors import Cancelled, UserError
from agentchat.core.messages import Message, Reply, Status, ToolResult, UserText
from agentchat.core.tools.call import Call, Place
from agentchat.core.tools.model import Model
from agentchat.core.tools.ports import Workspace
from agentchat.core.tools.tool import ArgumentError, Preview
from agentchat.core.turn import effects
from agentchat.core.turn.effects import Answer, Effect, Moved, Phrase, Plan, Ready, Say, TearDown
from agentchat.core.turn.loop import Ending
from agentchat.core.turn.preview_stack import Pending, resolution_line
from agentchat.core.turn.view import Block, Screen


class Performer:
    """Does what the plan asks, with the real model, tools, user and journal."""

    def __init__(
        self,
        *,
        workspace: Workspace,
        screen: Screen,
        scribe: Scribe,
        runner: Runner,
        staging: Staging,
        judging: Judging,
        preparation: Preparation,
        queue: MessageQueue,
        model: Callable[[], Model],
        max_parallel: int,
        phrasing: Phrasing,
    ) -> None:
        self._workspace = workspace
        self._screen = screen
        self._scribe = scribe
        self._runner = runner
        self._staging = staging
        self._judging = judging
        self._preparation = preparation
        self._queue = queue
        self._teller = Teller(screen, scribe)
        self._phrasing = phrasing
        self._slots = asyncio.Semaphore(max_parallel)
        self._model = model
        self._kinds: dict[type, Callable[[Any], Awaitable[Any]]] = {
            effects.Prepare: self._prepare,
            effects.AskModel: self._ask_model,
            effects.Parse: self._parse,
            effects.Locate: self._locate,
            effects.DryRun: self._dry_run,
            effects.SetUp: self._set_up,
            effects.TearDown: self._tear_down,
            effects.AskUser: self._ask_user,
            effects.RunTools: self._run_tools,
            effects.Refresh: self._refresh,
            effects.ResolvePending: self._resolve_pending,
            effects.Phrase: self._phrase,
            effects.Say: self._say,
            effects.TakeSteering: self._take_steering,
        }

    async def perform(self, effect: effects.Effect) -> Any:
        """Perform one effect and return its answer."""
        return await self._kinds[type(effect)](effect)

    async def _prepare(self, effect: effects.Prepare) -> None:
        await self._preparation.prepare()

    async def _ask_model(self, effect: effects.AskModel) -> Reply:
        try:
            model = self._model()
        except UserError as error:
            return Reply(error=str(error))
        return await self._teller.ask(model, effect.request)

    async def _parse(self, effect: effects.Parse) -> Any:
        try:
            return await parsed(effect.tool, effect.given)
        except ArgumentError as error:
            return error

    async def _locate(self, effect: effects.Locate) -> Place | str:
        await self._judging.refresh()
        return await survey(effect.call, self._workspace)

    async def _dry_run(self, effect: effects.DryRun) -> Preview | str:
        return await self._runner.preview(effect.call, effect.place)

    async def _set_up(self, effect: effects.SetUp) -> str | None:
        return await self._runner.set_up(effect.call)

    async def _tear_down(self, effect: effects.TearDown) -> None:
        await self._runner.tear_down(effect.call)

    async def _ask_user(self, effect: effects.AskUser) -> Answer:
        question = effect.question
        self._screen.block(question.call.call.id, Block(state="waiting"))
        answer = await self._judging.ask(question)
        if answer.decision is None:
            self._scribe.answered(question, answer)
        return answer

    async def _run_tools(self, effect: effects.RunTools) -> tuple[ToolResult | Moved, ...]:
        return tuple(await asyncio.gather(*map(self._run, effect.calls)))

    async def _run(self, ready: Ready) -> ToolResult | Moved:
        async with self._slots:
            self._scribe.started(ready)
            self._start(ready.call)
            outcome = await self._runner.run(ready)
        if isinstance(outcome, ToolResult):
            outcome = await self._phrasing.phrased(outcome)
            self._scribe.finished(outcome)
            self._teller.finished(outcome)
        return outcome

    async def _refresh(self, effect: effects.Refresh) -> Pending | str:
        return await self._staging.refresh(effect.pending)

    async def _resolve_pending(self, effect: effects.ResolvePending) -> ToolResult | Moved:
        call = effect.call
        title = resolution_line(effect.pending.label, effect.action, failed=False)
        self._screen.block(call.id, Block(title=title, state="running"))
        self._screen.event("AgentToolStarted", {"tool": call.name, "call_id": call.id})
        result = await self._staging.resolve(
            effect.pending, effect.action, effect.reason, effect.extra
        )
        if isinstance(result, Moved):
            return result
        if result.is_error:
            title = resolution_line(effect.pending.label, effect.action, failed=True)
            self._screen.block(call.id, Block(title=title))
        status = Status.ERROR if result.is_error else Status.SUCCESS
        return ToolResult(call.id, call.name, result.text, status, result.details)

    async def _phrase(self, effect: effects.Phrase) -> ToolResult:
        return await self._phrasing.phrased(effect.result)

    async def _say(self, effect: effects.Say) -> None:
        self._scribe.said(effect.message, effect.decision)
        self._show(effect.message)

    async def _take_steering(self, effect: effects.TakeSteering) -> tuple[Message, ...]:
        return await self._queue.take()

    def _start(self, call: Call) -> None:
        self._screen.block(call.call.id, Block(title=_title(call), state="running"))
        data = {"tool": call.tool.name, "call_id": call.call.id}
        self._screen.event("AgentToolStarted", data)

    def _show(self, message: Message) -> None:
        if isinstance(message, UserText):
            self._queue.show(message)
        elif isinstance(message, Reply):
            self._teller.replied(message)
        elif isinstance(message, ToolResult):
            self._teller.finished(message)


def _title(call: Call) -> str:
    return call.tool.render_call(call.given)


Perform = Callable[[Effect], Awaitable[Any]]


class Player:
    """Plays one plan; ``stop`` cancels the running effect, and the plan answers the rest."""

    def __init__(self, perform: Perform) -> None:
        self._perform = perform
        self._running: asyncio.Task[Any] | None = None
        self._stopped = False

    @property
    def stopped(self) -> bool:
        """Whether the user stopped it, and not an answer of theirs."""
        return self._stopped

    def stop(self) -> None:
        """Cancel what is running; a second stop does nothing more."""
        if self._stopped:
            return
        self._stopped = True
        if self._running is not None:
            self._running.cancel()

    async def play(self, plan: Plan[Ending]) -> Ending:
        """Perform the plan to its end and return what it returns."""
        try:
            effect = next(plan)
            while True:
                try:
                    answer = await self._answer(effect)
                except Exception as error:
                    # The plan knows what a stop means, and ends what it began before a bug.
                    effect = plan.throw(error)
                else:
                    effect = plan.send(answer)
        except StopIteration as end:
            ending: Ending = end.value
            return ending

    async def _answer(self, effect: Effect) -> Any:
        if isinstance(effect, (Phrase, Say, TearDown)):
            # What was said is kept, and what was set up is cleaned, even while all else stops.
            return await self._perform(effect)
        if self._stopped:
            raise Cancelled
        self._running = asyncio.ensure_future(self._perform(effect))
        try:
            return await self._running
        except asyncio.CancelledError:
            if not self._stopped:
                raise
            raise Cancelled from None
        finally:
            self._running = None
