"""A small honest world for plans: answers effects from a script and keeps what was asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from agentchat.core.context.context import ContextStep
from agentchat.core.errors import Cancelled, StalePreview, ToolError
from agentchat.core.messages import Message, Reply, Status, ToolCall, ToolResult, UserText
from agentchat.core.model import ModelRequest
from agentchat.core.permissions.isolation import IsolatedFile
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.tools.registry import Group, Registry
from agentchat.core.tools.tool import Access, ArgumentError, DryRunResult, Environment, Tool
from agentchat.core.tools.toolset import Toolset
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import (
    Announce,
    AnswerPromptCall,
    ApplyIsolated,
    ApprovalRequest,
    ApprovalResponse,
    AskModel,
    BeginStage,
    Choice,
    ComputeDryRun,
    Effect,
    EndStage,
    FindPromptCalls,
    IsolatedCall,
    Locate,
    Parse,
    Plan,
    Prepare,
    PromptCall,
    ReadyCall,
    Record,
    RecordStep,
    RefreshPreview,
    ReportBudget,
    RequestApproval,
    ResolvePreview,
    RunIsolated,
    RunPromptCall,
    RunTool,
    RunTools,
    SetUp,
    Summarize,
    TakeSteering,
    TearDown,
)
from agentchat.core.turn.preview_stack import Preview
from agentchat.core.workspace import FileTarget


@dataclass(frozen=True)
class Anything:
    """Arguments that need the names in ``required`` and allow any other."""

    required: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "required": list(self.required)}

    def parse(self, value: Mapping[str, Any]) -> Any:
        missing = tuple((name, "Field required") for name in self.required if name not in value)
        if missing:
            raise ArgumentError(missing)
        return Given(dict(value))


class Given:
    """Arguments by attribute; what was not given is ``None``."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values

    def __getattr__(self, name: str) -> Any:
        return self.values.get(name)


def a_tool(name: str, **about: Any) -> Tool:
    """Return a tool whose arguments ``path`` and ``command`` are what it touches."""
    about.setdefault("arguments", Anything())
    about.setdefault("touches", _touches)
    return Tool(name=name, description=name, steps=(), **about)


def _touches(arguments: Given) -> Access:
    writes = (arguments.path,) if arguments.path else ()
    return Access(writes=writes, command=arguments.command)


RESOLVE = a_tool("resolve", hidden=True, arguments=Anything(("action", "reason")))


def a_chat(*tools: Tool) -> Chat:
    """Return a chat that was given exactly these tools."""
    registry = Registry([*tools, RESOLVE])
    group = Group("all", tuple(tool.name for tool in tools))
    return Chat("chat-1", Toolset(registry, [group], ["all"]), Environment("/ws"))


def a_call(call_id: str, name: str, arguments: str = "{}", **about: Any) -> ToolCall:
    return ToolCall(call_id, name, arguments, **about)


def calls(*called: ToolCall) -> Reply:
    return Reply(calls=called, finish="tool_calls")


def a_response(answer: ApprovalResponse | str) -> ApprovalResponse:
    """Return a response; a string is a choice."""
    if isinstance(answer, ApprovalResponse):
        return answer
    return ApprovalResponse(cast("Choice", answer))


@dataclass
class World:
    """Plays a plan. ``answers`` are the user's, in order; a string is a choice.

    ``previews``, ``outcomes``, ``isolated``, ``refreshed``, ``moves`` and ``setup_fails`` hold what
    an effect answers; an exception among them is thrown into the plan.
    """

    replies: list[Reply]
    answers: list[ApprovalResponse | str] = field(default_factory=list)
    steering: list[tuple[Message, ...]] = field(default_factory=list)
    previews: dict[str, DryRunResult | ToolError | list[DryRunResult | ToolError]] = field(
        default_factory=dict
    )
    targets: dict[str, FileTarget] = field(default_factory=dict)
    outcomes: dict[str, list[ToolResult | StalePreview]] = field(default_factory=dict)
    isolated: dict[str, list[DryRunResult | ToolError]] = field(default_factory=dict)
    refreshed: list[Preview | ToolError] = field(default_factory=list)
    prompt_calls: tuple[PromptCall, ...] = ()
    moves: list[StalePreview] = field(default_factory=list)
    setup_fails: dict[str, ToolError] = field(default_factory=dict)
    summaries: list[Reply] = field(default_factory=list)
    on_run: Callable[[ValidCall], None] = lambda call: None
    stop_at: Callable[[Effect[Any]], bool] = lambda effect: False

    def __post_init__(self) -> None:
        self.requests: list[ModelRequest] = []
        self.summary_requests: list[ModelRequest] = []
        self.steps: list[ContextStep] = []
        self.announced: list[Announce] = []
        self.budgets: list[ReportBudget] = []
        self.questions: list[ApprovalRequest] = []
        self.located: list[str] = []
        self.ran: list[tuple[str, ...]] = []
        self.applied: list[DryRunResult | None] = []
        self.said: list[Message] = []
        self.lives: list[tuple[str, str]] = []
        self.resolved: list[tuple[str, str, str]] = []
        self.overlay: list[str] = []
        self.steering.insert(0, (UserText("go"),))

    def play(self, plan: Plan[Any]) -> Any:
        """Run the plan to its end and return what it returns."""
        try:
            effect = next(plan)
            while True:
                try:
                    if self.stop_at(effect):
                        raise Cancelled
                    answer = self.perform(effect)
                except Exception as error:
                    effect = plan.throw(error)
                else:
                    effect = plan.send(answer)
        except StopIteration as end:
            return end.value

    def results(self) -> dict[str, str]:
        """Return the text of each result by call id; each id must have exactly one."""
        found = [m for m in self.said if isinstance(m, ToolResult)]
        assert len({m.call_id for m in found}) == len(found)
        return {m.call_id: m.text for m in found}

    def perform(self, effect: Effect[Any]) -> Any:
        """Return the answer to one effect, or raise what it fails with."""
        match effect:
            case Prepare():
                return None
            case TakeSteering():
                return self.steering.pop(0) if self.steering else ()
            case AskModel():
                self.requests.append(effect.request)
                return self.replies.pop(0)
            case Summarize():
                self.summary_requests.append(effect.request)
                return self.summaries.pop(0)
            case RecordStep():
                self.steps.append(effect.step)
                return None
            case Announce():
                self.announced.append(effect)
                return None
            case Record() | ReportBudget():
                return self._recorded(effect)
            case RefreshPreview():
                return _one(self.refreshed.pop(0) if self.refreshed else effect.preview)
            case ResolvePreview():
                return self._resolution(effect)
        return self._about_a_call(effect)

    def _about_a_call(self, effect: Effect[Any]) -> Any:
        match effect:
            case FindPromptCalls():
                waiting, self.prompt_calls = self.prompt_calls, ()
                return waiting
            case Parse():
                return effect.tool.arguments.parse(effect.raw_arguments)
            case Locate():
                self.located += [call.call.id for call in effect.calls]
                return tuple(self._target_of(call) for call in effect.calls)
            case ComputeDryRun():
                found = self.previews.get(effect.call.call.id, DryRunResult())
                return _one(found.pop(0) if isinstance(found, list) else found)
            case RequestApproval():
                self.questions.append(effect.request)
                return a_response(self.answers.pop(0))
            case SetUp() | TearDown():
                self.lives.append((type(effect).__name__, effect.call.call.id))
                failure = self.setup_fails.get(effect.call.call.id)
                return _one(failure if isinstance(effect, SetUp) else None)
            case RunTool():
                self.ran.append((effect.ready.call.call.id,))
                return self._outcome(effect.ready)
            case RunPromptCall():
                self.ran.append((effect.ready.call.call.id,))
                return self._outcome(effect.ready)
            case AnswerPromptCall():
                self.said.append(effect.result)
                return None
        return self._in_an_overlay(effect)

    def _in_an_overlay(self, effect: Effect[Any]) -> Any:
        match effect:
            case BeginStage() | EndStage():
                self.overlay.append(type(effect).__name__)
                return None
            case RunIsolated():
                return self._isolated_call(effect.ready)
            case ApplyIsolated():
                self.overlay.append(f"apply {effect.ready.call.call.id}")
                return self._outcome(effect.ready, effect.isolated.result)
        assert isinstance(effect, RunTools)
        self.ran.append(tuple(ready.call.call.id for ready in effect.ready))
        return tuple(self._outcome(ready) for ready in effect.ready)

    def _recorded(self, effect: Record | ReportBudget) -> Message | None:
        if isinstance(effect, ReportBudget):
            self.budgets.append(effect)
            return None
        message = effect.message
        if isinstance(message, ToolResult) and effect.heading:
            message = replace(message, text=f"{effect.heading}\n{message.text}")
        self.said.append(message)
        return message

    def _resolution(self, effect: ResolvePreview) -> ToolResult:
        self.applied.append(effect.preview.preview)
        if self.moves:
            raise self.moves.pop(0)
        self.resolved.append((effect.preview.label, effect.action, effect.reason))
        text = f"{effect.action}: {effect.reason}"
        return ToolResult(effect.call.id, "resolve", text)

    def _isolated_call(self, ready: ReadyCall) -> IsolatedCall:
        call = ready.call.call
        self.overlay.append(f"run {call.id}")
        planned = self.isolated.get(call.id)
        preview: DryRunResult = _one(planned.pop(0)) if planned else DryRunResult()
        result = ToolResult(call.id, call.name, "ran isolated")
        if preview.change is None:
            return IsolatedCall(result, preview)
        files = preview.change.files
        targets = ((self._target(file.path.removeprefix("/ws/")),) for file in files)
        return IsolatedCall(result, preview, tuple(map(IsolatedFile, files, targets)))

    def _outcome(self, ready: ReadyCall, done: ToolResult | None = None) -> ToolResult:
        call = ready.call
        self.applied.append(ready.preview)
        self.on_run(call)
        planned = self.outcomes.get(call.call.id)
        if planned:
            result: ToolResult = _one(planned.pop(0))
            return result
        return done or ToolResult(call.call.id, call.tool.name, "done", Status.SUCCESS)

    def _target_of(self, call: ValidCall) -> CallTarget:
        touch = call.tool.touches(call.arguments)
        writes = tuple(self._target(path) for path in touch.writes)
        reads = tuple(self._target(path) for path in touch.reads)
        asks = call.tool.asks
        said = asks if asks is None or isinstance(asks, bool) else bool(asks(call.arguments))
        return CallTarget("/ws", reads, writes, touch.command, asks=said)

    def _target(self, path: str) -> FileTarget:
        return self.targets.get(path, FileTarget(f"/ws/{path}", path))


def _one(answer: Any) -> Any:
    if isinstance(answer, Exception):
        raise answer
    return answer
