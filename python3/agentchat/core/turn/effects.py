"""The effects that the plan of a turn yields, each with the type of its answer.

``do(effect)`` yields an effect and returns its answer. Failures are thrown into the plan:
``ToolError`` (the message is the call's result), ``StalePreview`` (the files changed since the
user was asked), ``ArgumentError`` (the arguments do not fit), ``Cancelled`` (the user stopped).
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, Generic, Literal, TypeVar

from agentchat.core.context.context import ContextStep
from agentchat.core.diff.changeset import ChangeSet
from agentchat.core.errors import ToolError
from agentchat.core.frozen import frozen
from agentchat.core.messages import Message, Reply, ToolCall, ToolResult
from agentchat.core.model import ModelRequest
from agentchat.core.permissions.isolation import IsolatedFile
from agentchat.core.permissions.policy import Decision
from agentchat.core.spending import Scope
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.tools.tool import DryRunResult, Tool
from agentchat.core.turn.hunk_decisions import HunkDecision, ProposedText
from agentchat.core.turn.preview_stack import Preview

T = TypeVar("T")

Choice = Literal["always", "turn", "accept", "reject", "cancel", "edit", "try"]
Action = Literal["apply", "discard"]


@frozen
class SimilarCall:
    """A call of the same tool, in the same reply, that waits for its own request.

    ``is_covered`` says that the scope of the request that is shown covers it exactly.
    """

    title: str
    is_covered: bool


@frozen
class IsolatedCall:
    """A call that ran isolated: its result, and what it changed there.

    ``files`` are those of the change of ``preview``, if it has one.
    """

    result: ToolResult
    preview: DryRunResult
    files: tuple[IsolatedFile, ...] = ()
    moved: tuple[str, ...] = ()
    """The names of files that the user changed while the command did: they cannot be applied."""
    times: tuple[tuple[str, int], ...] = ()
    """When each changed file was written, in nanoseconds, by path."""

    @property
    def changes_nothing(self) -> bool:
        """Whether there is nothing to apply."""
        return self.preview.change is None

    @property
    def asks(self) -> bool:
        """Whether a file is changed that needs the user's approval in every mode."""
        return any(file.asks or file.change.left_out for file in self.files)


@frozen
class ApprovalRequest:
    """One question to the user: may this call run?

    ``number`` of ``total`` counts the requests of this reply. ``staged_preview`` is set if the
    question is whether to apply that preview.
    """

    call: ValidCall
    target: CallTarget
    decision: Decision
    preview: DryRunResult | None = None
    staged_preview: Preview | None = None
    number: int = 1
    total: int = 1
    similar: tuple[SimilarCall, ...] = ()
    problem: str = ""
    """Why the last response could not be used, if it could not."""
    original_change: ChangeSet | None = None
    """The change that was proposed, if the preview shows the user's own text instead."""
    question: str = ""
    """The question, if it is not about a call of the model."""
    facts: tuple[tuple[str, str], ...] = ()
    """What the user needs to know to answer such a question: labels and texts."""
    prompt: str = ""
    """The prompt that the call is for, like ``/review``, if the model did not make it."""
    draft: str = ""
    """A text that the user may edit before it counts, if the question is about one."""
    can_try: bool = False
    """Whether the command can run isolated first, for the user to see what it does."""
    isolated: IsolatedCall | None = None
    """What a command did that ran isolated; ``preview`` is what it changed, which accepting
    applies."""

    @property
    def change(self) -> ChangeSet | None:
        """The change that is shown, if any."""
        return self.preview.change if self.preview is not None else None


@frozen
class ApprovalResponse:
    """The answer to a request.

    For the choice ``try``, the request is shown again with what the command did isolated.
    For the choice ``edit``, ``arguments`` is the JSON text (or the draft) that the user wrote, or
    ``replacements`` are the texts that files get instead. ``hunk_decisions`` are about the hunks
    that the user rejected or commented on. A ``decision`` means that not the user answered: a rule
    or the mode changed and decides the request now.
    """

    choice: Choice
    reason: str = ""
    arguments: str | None = None
    hunk_decisions: tuple[HunkDecision, ...] = ()
    replacements: tuple[ProposedText, ...] = ()
    decision: Decision | None = None


@frozen
class ReadyCall:
    """A call that may run, with the decision that allows it and what was shown."""

    call: ValidCall
    target: CallTarget
    decision: Decision
    preview: DryRunResult | None = None


@frozen
class PromptCall:
    """A call whose result belongs into a message of the user; ``prompt`` is shown for it."""

    call: ToolCall
    prompt: str


class Effect(Generic[T]):
    """One request of the plan; ``T`` is the type of its answer."""

    __slots__ = ()


Plan = Generator[Effect[Any], Any, T]


def do(effect: Effect[T]) -> Plan[T]:
    """Yield one effect and return its answer, or raise its failure."""
    answer: T = yield effect
    return answer


@frozen
class Prepare(Effect[None]):
    """Wait until workspace, sandbox and tools are ready; raises UserError or ToolError."""


@frozen
class BeginStage(Effect[None]):
    """Start the overlay of a turn in stage mode; raises UserError if none works."""


@frozen
class EndStage(Effect[None]):
    """Show what the turn changed in the overlay, even while everything else stops."""


@frozen
class TakeSteering(Effect[tuple[Message, ...]]):
    """Fetch the messages of the user and the notes of the plugin that wait."""


@frozen
class FindPromptCalls(Effect[tuple[PromptCall, ...]]):
    """Expand the messages that wait, and return the calls whose results they need."""


@frozen
class RunPromptCall(Effect[ToolResult]):
    """Run a call of a prompt; raises StalePreview if its files changed."""

    ready: ReadyCall


@frozen
class AnswerPromptCall(Effect[None]):
    """Put the result of a call into the message that needs it."""

    result: ToolResult


@frozen
class AskModel(Effect[Reply]):
    """Send a request and show the reply while it streams."""

    request: ModelRequest


@frozen
class TakeResults(Effect[tuple[ToolResult, ...]]):
    """Fetch the results of calls that an agent has made by itself since the last time."""


@frozen
class Summarize(Effect[Reply]):
    """Send a request for a summary; only its progress is shown."""

    request: ModelRequest


@frozen
class RecordStep(Effect[None]):
    """Write a step that changes what the model is sent in the journal."""

    step: ContextStep


@frozen
class Announce(Effect[None]):
    """Show a line in the chat; ``compacted`` is the data of the event about a summary, if any."""

    text: str
    level: Literal["info", "error"] = "info"
    compacted: Mapping[str, int] | None = None


@frozen
class ReportBudget(Effect[None]):
    """Fire the event that a budget is reached; ``limit`` and ``spent`` are US dollars."""

    scope: Scope
    limit: float
    spent: float


@frozen
class Parse(Effect[Any]):
    """Parse arguments with a tool's schema; raises ArgumentError or ToolError."""

    tool: Tool
    raw_arguments: Mapping[str, Any]


@frozen
class Locate(Effect[tuple[CallTarget | ToolError, ...]]):
    """Find out where each of some calls would act; an error if it cannot act."""

    calls: tuple[ValidCall, ...]


@frozen
class ComputeDryRun(Effect[DryRunResult]):
    """Compute what a call would do; raises ToolError if it cannot work."""

    call: ValidCall
    target: CallTarget


@frozen
class RefreshPreview(Effect[Preview]):
    """Rebase a staged preview on its files as they are now; raises ToolError if that fails."""

    preview: Preview


@frozen
class SetUp(Effect[None]):
    """Run a call's set-up hook; raises ToolError."""

    call: ValidCall


@frozen
class TearDown(Effect[None]):
    """Run a call's exit hook, even while everything else stops."""

    call: ValidCall


@frozen
class RequestApproval(Effect[ApprovalResponse]):
    """Show an approval request and wait for the response."""

    request: ApprovalRequest


@frozen
class RunTool(Effect[ToolResult]):
    """Run one call; raises StalePreview if its files changed: then nothing was done."""

    ready: ReadyCall


@frozen
class RunIsolated(Effect[IsolatedCall]):
    """Run a command on an overlay of its own; raises Unreachable if none works.

    Nothing of what it changed is in the workspace: ``ApplyIsolated`` applies it. ``shown``: the
    call has a block in the chat.
    """

    ready: ReadyCall
    shown: bool = True


@frozen
class ApplyIsolated(Effect[ToolResult]):
    """Apply what an isolated call changed, as far as it is kept; raises StalePreview."""

    ready: ReadyCall
    isolated: IsolatedCall


@frozen
class RunTools(Effect[tuple[ToolResult, ...]]):
    """Run calls at the same time; the results come in the order of the calls."""

    ready: tuple[ReadyCall, ...]


@frozen
class ResolvePreview(Effect[ToolResult]):
    """Apply or discard a preview as the result of ``call``; raises StalePreview."""

    call: ToolCall
    preview: Preview
    action: Action
    reason: str
    extra: Mapping[str, Any] | None
    extent: str = ""
    """How much of the preview is applied, if not all of it."""


@frozen
class Record(Effect[Message]):
    """Format a message, write it in the journal and show it, even while everything else stops.

    The answer is the message as the model will read it. ``decision`` explains the result of a
    call that did not run; ``heading`` is a line before the text, whatever the tool's own format.
    ``call`` is the valid call that a result answers, ``reason`` why the user rejected it.
    """

    message: Message
    decision: Decision | None = None
    heading: str = ""
    call: ValidCall | None = None
    reason: str = ""
