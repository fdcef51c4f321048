"""What the plan of a turn asks of the world, one typed effect at a time.

``do(effect)`` yields an effect and returns its answer. What goes wrong is thrown into the plan:
``ToolError`` (the message is the call's result), ``StalePreview`` (the files changed since the
user was asked), ``ArgumentError`` (the arguments do not fit), ``Cancelled`` (the user stopped).
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from agentchat.core.diff.changeset import ChangeSet
from agentchat.core.messages import Message, Reply, ToolCall, ToolResult
from agentchat.core.permissions.policy import Decision
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.tools.model import ModelRequest
from agentchat.core.tools.tool import DryRunResult, Tool
from agentchat.core.turn.hunk_decisions import HunkDecision, ProposedText
from agentchat.core.turn.preview_stack import Preview

T = TypeVar("T")

Choice = Literal["always", "accept", "reject", "cancel", "edit"]
Action = Literal["apply", "discard"]


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """One question to the user: what would run, and how it came to be asked.

    ``number`` of ``total`` counts the requests of this reply. ``pending`` is set when the
    question is whether to apply that preview.
    """

    call: ValidCall
    target: CallTarget
    decision: Decision
    preview: DryRunResult | None = None
    pending: Preview | None = None
    number: int = 1
    total: int = 1
    problem: str = ""
    """Why the last response could not be used, if it could not."""
    proposed: ChangeSet | None = None
    """The change as it was proposed, if the preview shows the user's own text."""
    question: str = ""
    """What is asked, where it is not about a call of the model's."""

    @property
    def change(self) -> ChangeSet | None:
        """The change that is shown, if there is one."""
        return self.preview.change if self.preview is not None else None


@dataclass(frozen=True, slots=True)
class ApprovalResponse:
    """The answer to a request.

    ``arguments`` is the JSON text the user wrote instead, or ``replaced`` what a file shall get
    instead, for the choice ``edit``. ``hunks`` are those that the user rejected or commented.
    With a ``decision`` it was not the user: a rule or the mode settled the question meanwhile.
    """

    choice: Choice
    reason: str = ""
    arguments: str | None = None
    hunks: tuple[HunkDecision, ...] = ()
    replaced: tuple[ProposedText, ...] = ()
    decision: Decision | None = None


@dataclass(frozen=True, slots=True)
class ReadyCall:
    """A call that may run, with the decision that lets it and what was shown."""

    call: ValidCall
    target: CallTarget
    decision: Decision
    preview: DryRunResult | None = None


class Effect(Generic[T]):
    """One thing the plan asks for; ``T`` is the type of its answer."""

    __slots__ = ()


Plan = Generator[Effect[Any], Any, T]


def do(effect: Effect[T]) -> Plan[T]:
    """Yield one effect and return its answer; a failure is raised here."""
    answer: T = yield effect
    return answer


@dataclass(frozen=True, slots=True)
class Prepare(Effect[None]):
    """Wait until workspace, sandbox and tools are ready; raises UserError or ToolError."""


@dataclass(frozen=True, slots=True)
class TakeSteering(Effect[tuple[Message, ...]]):
    """Fetch what the user sent and the plugin noted meanwhile."""


@dataclass(frozen=True, slots=True)
class AskModel(Effect[Reply]):
    """Send a request and show the reply while it streams."""

    request: ModelRequest


@dataclass(frozen=True, slots=True)
class Parse(Effect[Any]):
    """Fit what the model sent to a tool's schema; raises ArgumentError or ToolError."""

    tool: Tool
    given: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Locate(Effect[CallTarget]):
    """Find out where a call would act; raises ToolError if it cannot act at all."""

    call: ValidCall


@dataclass(frozen=True, slots=True)
class DryRun(Effect[DryRunResult]):
    """Compute what a call would do there; raises ToolError if it cannot work."""

    call: ValidCall
    target: CallTarget


@dataclass(frozen=True, slots=True)
class RefreshPreview(Effect[Preview]):
    """Rebase a staged preview on what its files are now; raises ToolError if it cannot be."""

    pending: Preview


@dataclass(frozen=True, slots=True)
class SetUp(Effect[None]):
    """Run a call's set-up hook; raises ToolError."""

    call: ValidCall


@dataclass(frozen=True, slots=True)
class TearDown(Effect[None]):
    """Run a call's exit hook, even while everything else stops."""

    call: ValidCall


@dataclass(frozen=True, slots=True)
class RequestApproval(Effect[ApprovalResponse]):
    """Show a question and wait for the answer."""

    request: ApprovalRequest


@dataclass(frozen=True, slots=True)
class RunTool(Effect[ToolResult]):
    """Run one call; raises StalePreview, and then nothing was done."""

    ready: ReadyCall


@dataclass(frozen=True, slots=True)
class RunTools(Effect[tuple[ToolResult, ...]]):
    """Run calls at the same time; the results come in the order of the calls."""

    ready: tuple[ReadyCall, ...]


@dataclass(frozen=True, slots=True)
class ResolvePreview(Effect[ToolResult]):
    """Apply or discard a preview as the result of ``call``; raises StalePreview."""

    call: ToolCall
    pending: Preview
    action: Action
    reason: str
    extra: Mapping[str, Any] | None
    kept: str = ""
    """How much of the preview is applied, where that is not all."""


@dataclass(frozen=True, slots=True)
class Record(Effect[Message]):
    """Format a message, write it in the journal and show it, even while everything else stops.

    The answer is the message as the model will read it. ``decision`` is why a call that did not
    run was answered so; ``heading`` is a line before the text, however the tool formats that.
    """

    message: Message
    decision: Decision | None = None
    heading: str = ""


# The old names, until every room uses the new ones.
