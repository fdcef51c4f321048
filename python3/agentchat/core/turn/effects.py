"""What the plan of a turn asks of the world, one effect at a time, and the answers it gets."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from agentchat.core.diff.changeset import ChangeSet
from agentchat.core.diff.hunk_decisions import HunkDecision, Replacement
from agentchat.core.messages import Message, ToolCall, ToolResult
from agentchat.core.permissions.policy import Decision
from agentchat.core.tools.call import Call, Place
from agentchat.core.tools.model import ModelRequest
from agentchat.core.tools.tool import Preview, Tool
from agentchat.core.turn.preview_stack import Pending

Answered = TypeVar("Answered")


@dataclass(frozen=True, slots=True)
class Question:
    """One question to the user: what would run, and how it came to be asked.

    ``number`` of ``total`` counts the questions of this reply. ``pending`` is set when the
    question is whether to apply that preview.
    """

    call: Call
    place: Place
    decision: Decision
    preview: Preview | None = None
    pending: Pending | None = None
    number: int = 1
    total: int = 1
    problem: str = ""
    """Why the last answer could not be taken, if it could not."""
    proposed: ChangeSet | None = None
    """The change as it was proposed, if the preview shows the user's own text."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The user's answer; ``choice`` is ``always``, ``accept``, ``reject``, ``cancel`` or ``edit``.

    ``arguments`` is the JSON text the user wrote instead, or ``replaced`` what a file shall get
    instead, for ``edit``. ``hunks`` are those that the user rejected or commented. With a
    ``decision`` it was not the user: a rule or the mode settled the question meanwhile.
    """

    choice: str
    reason: str = ""
    arguments: str | None = None
    hunks: tuple[HunkDecision, ...] = ()
    replaced: tuple[Replacement, ...] = ()
    decision: Decision | None = None


@dataclass(frozen=True, slots=True)
class Ready:
    """A call that may run, with the decision that lets it and what was shown."""

    call: Call
    place: Place
    decision: Decision
    preview: Preview | None = None


@dataclass(frozen=True, slots=True)
class Moved:
    """A run that found the text changed since the preview; nothing was done."""

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class AskModel:
    """Send a request → Reply."""

    request: ModelRequest


@dataclass(frozen=True, slots=True)
class Parse:
    """Fit what the model sent to a tool's schema → the arguments, or ArgumentError."""

    tool: Tool
    given: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Locate:
    """Find out where a call would act → Place, or str: why it cannot."""

    call: Call


@dataclass(frozen=True, slots=True)
class DryRun:
    """Compute what a call would do there → Preview, or str: why it cannot."""

    call: Call
    place: Place


@dataclass(frozen=True, slots=True)
class SetUp:
    """Run a call's set-up hook → str, why it failed, or None."""

    call: Call


@dataclass(frozen=True, slots=True)
class TearDown:
    """Run a call's exit hook, even while everything else stops → None."""

    call: Call


@dataclass(frozen=True, slots=True)
class AskUser:
    """Show a question → Answer."""

    question: Question


@dataclass(frozen=True, slots=True)
class RunTools:
    """Run calls at the same time → a ToolResult or Moved for each, in order."""

    calls: tuple[Ready, ...]


@dataclass(frozen=True, slots=True)
class Refresh:
    """Put a preview on top of what its files are now → Pending, or str: why it cannot be."""

    pending: Pending


@dataclass(frozen=True, slots=True)
class ResolvePending:
    """Apply or discard a preview → ToolResult for ``call``, or Moved."""

    call: ToolCall
    pending: Pending
    action: str
    reason: str
    extra: Mapping[str, Any] | None
    decision: Decision


@dataclass(frozen=True, slots=True)
class Phrase:
    """Let the tool of a call say its result, even while everything else stops → ToolResult."""

    result: ToolResult


@dataclass(frozen=True, slots=True)
class Say:
    """Something was added to the history: write and show it → None."""

    message: Message
    decision: Decision | None = None


@dataclass(frozen=True, slots=True)
class TakeSteering:
    """Fetch what the user sent and the plugin noted meanwhile → tuple of messages."""


Effect = (
    AskModel
    | Parse
    | Locate
    | DryRun
    | SetUp
    | TearDown
    | AskUser
    | RunTools
    | Refresh
    | ResolvePending
    | Phrase
    | Say
    | TakeSteering
)
Plan = Generator[Effect, Any, Answered]


def phrased(message: Message) -> Plan[Message]:
    """Return a message as it is said: a result in the words of its tool."""
    if isinstance(message, ToolResult):
        return (yield from do(Phrase(message), ToolResult))
    return message


def do(effect: Effect, answer: type[Answered] | None = None) -> Plan[Answered]:
    """Yield one effect and return its answer."""
    return cast("Answered", (yield effect))
