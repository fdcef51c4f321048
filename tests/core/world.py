"""A small honest world for plans: answers effects from a script and keeps what was asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentchat.core.errors import Cancelled
from agentchat.core.messages import Message, Reply, Status, ToolCall, ToolResult, UserText
from agentchat.core.tools.call import Call, Place
from agentchat.core.tools.model import ModelRequest
from agentchat.core.tools.ports import Target
from agentchat.core.tools.registry import Group, Registry
from agentchat.core.tools.tool import ArgumentError, Preview, Surroundings, Tool, Touch
from agentchat.core.tools.toolset import Toolbox
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import (
    Answer,
    AskModel,
    AskUser,
    DryRun,
    Effect,
    Locate,
    Moved,
    Parse,
    Phrase,
    Plan,
    Prepare,
    Question,
    Refresh,
    ResolvePending,
    RunTools,
    Say,
    SetUp,
    TakeSteering,
    TearDown,
)
from agentchat.core.turn.preview_stack import Pending


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


def _touches(arguments: Given) -> Touch:
    writes = (arguments.path,) if arguments.path else ()
    return Touch(writes=writes, command=arguments.command)


RESOLVE = a_tool("resolve", hidden=True, arguments=Anything(("action", "reason")))


def a_chat(*tools: Tool) -> Chat:
    """Return a chat that was given exactly these tools."""
    registry = Registry([*tools, RESOLVE])
    group = Group("all", tuple(tool.name for tool in tools))
    return Chat("chat-1", Toolbox(registry, [group], ["all"]), Surroundings("/ws"))


def a_call(call_id: str, name: str, arguments: str = "{}", **about: Any) -> ToolCall:
    return ToolCall(call_id, name, arguments, **about)


def calls(*called: ToolCall) -> Reply:
    return Reply(calls=called, finish="tool_calls")


@dataclass
class World:
    """Plays a plan. ``answers`` are the user's, in order; a string is a choice."""

    replies: list[Reply]
    answers: list[Answer | str] = field(default_factory=list)
    steering: list[tuple[Message, ...]] = field(default_factory=list)
    previews: dict[str, Preview | str] = field(default_factory=dict)
    targets: dict[str, Target] = field(default_factory=dict)
    outcomes: dict[str, list[ToolResult | Moved]] = field(default_factory=dict)
    refreshed: list[Pending | str] = field(default_factory=list)
    moves: list[Moved] = field(default_factory=list)
    setup_fails: dict[str, str] = field(default_factory=dict)
    on_run: Callable[[Call], None] = lambda call: None
    stop_at: Callable[[Effect], bool] = lambda effect: False

    def __post_init__(self) -> None:
        self.requests: list[ModelRequest] = []
        self.questions: list[Question] = []
        self.ran: list[tuple[str, ...]] = []
        self.applied: list[Preview | None] = []
        self.said: list[Message] = []
        self.lives: list[tuple[str, str]] = []
        self.resolved: list[tuple[str, str, str]] = []
        self.steering.insert(0, (UserText("go"),))

    def play(self, plan: Plan[Any]) -> Any:
        """Run the plan to its end and return what it returns."""
        try:
            effect = next(plan)
            while True:
                if self.stop_at(effect):
                    effect = plan.throw(Cancelled())
                else:
                    effect = plan.send(self._answer(effect))
        except StopIteration as end:
            return end.value

    def results(self) -> dict[str, str]:
        """Return the text of each result by call id; each id must have exactly one."""
        found = [m for m in self.said if isinstance(m, ToolResult)]
        assert len({m.call_id for m in found}) == len(found)
        return {m.call_id: m.text for m in found}

    def _answer(self, effect: Effect) -> Any:
        if isinstance(effect, Say):
            self.said.append(effect.message)
            return None
        if isinstance(effect, Prepare):
            return None
        if isinstance(effect, Phrase):
            return effect.result
        if isinstance(effect, TakeSteering):
            return self.steering.pop(0) if self.steering else ()
        if isinstance(effect, AskModel):
            self.requests.append(effect.request)
            return self.replies.pop(0)
        return self._about_a_call(effect)

    def _about_a_call(self, effect: Effect) -> Any:
        if isinstance(effect, Parse):
            return _parsed(effect)
        if isinstance(effect, Locate):
            return self._place(effect.call)
        if isinstance(effect, DryRun):
            return self.previews.get(effect.call.call.id, Preview())
        if isinstance(effect, AskUser):
            self.questions.append(effect.question)
            answer = self.answers.pop(0)
            return Answer(answer) if isinstance(answer, str) else answer
        if isinstance(effect, (SetUp, TearDown)):
            self.lives.append((type(effect).__name__, effect.call.call.id))
            return self.setup_fails.get(effect.call.call.id)
        if isinstance(effect, Refresh):
            return self.refreshed.pop(0) if self.refreshed else effect.pending
        if isinstance(effect, ResolvePending):
            self.applied.append(effect.pending.preview)
            if self.moves:
                return self.moves.pop(0)
            self.resolved.append((effect.pending.label, effect.action, effect.reason))
            text = f"{effect.action}: {effect.reason}"
            return ToolResult(effect.call.id, "resolve", text)
        assert isinstance(effect, RunTools)
        self.applied += [ready.preview for ready in effect.calls]
        self.ran.append(tuple(ready.call.call.id for ready in effect.calls))
        return tuple(self._outcome(ready.call) for ready in effect.calls)

    def _outcome(self, call: Call) -> ToolResult | Moved:
        self.on_run(call)
        planned = self.outcomes.get(call.call.id)
        if planned:
            return planned.pop(0)
        return ToolResult(call.call.id, call.tool.name, "done", Status.SUCCESS)

    def _place(self, call: Call) -> Place:
        touch = call.tool.touches(call.arguments)
        writes = tuple(self._target(path) for path in touch.writes)
        reads = tuple(self._target(path) for path in touch.reads)
        asks = call.tool.asks
        said = asks if asks is None or isinstance(asks, bool) else bool(asks(call.arguments))
        return Place("/ws", reads, writes, touch.command, asks=said)

    def _target(self, path: str) -> Target:
        return self.targets.get(path, Target(f"/ws/{path}", path))


def _parsed(effect: Parse) -> Any:
    try:
        return effect.tool.arguments.parse(effect.given)
    except ArgumentError as error:
        return error
