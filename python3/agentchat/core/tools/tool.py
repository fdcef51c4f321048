"""The definition of a tool, as a value, and what its functions take and return."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import KW_ONLY, field
from typing import Any, Literal, Protocol

from agentchat.core.diff.changeset import ChangeSet, ReplacedLines
from agentchat.core.errors import ToolError
from agentchat.core.frontend import Frontend
from agentchat.core.frozen import frozen
from agentchat.core.messages import Image, ToolResult
from agentchat.core.text import clip
from agentchat.core.tools.todo import TodoList
from agentchat.core.workspace import Workspace


@frozen
class Environment:
    """The environment of a chat: ``date`` as ISO text, ``rules`` of the project.

    ``host`` is the machine; empty for the user's own machine. ``skills`` have a name and a
    description.
    """

    cwd: str
    date: str = ""
    rules: str = ""
    host: str = ""
    skills: tuple[tuple[str, str], ...] = ()


log = logging.getLogger(__name__)

TITLE_CHARACTERS = 2_000
"""Most characters of a call's title."""

NO_STORE = "Pending action store unavailable for custom tools in this runtime."


def refuse_staging(staged: StagedPreview) -> None:
    """Raise ToolError: there is no preview stack here."""
    raise ToolError(NO_STORE)


class ArgumentError(Exception):
    """Arguments that do not fit the schema; ``problems`` are pairs of field and reason."""

    def __init__(self, problems: tuple[tuple[str, str], ...]) -> None:
        super().__init__("; ".join(f"{name}: {reason}" for name, reason in problems))
        self.problems = problems


class Arguments(Protocol):
    """The shape of a tool's arguments."""

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema (an object) for the model."""

    def parse(self, value: Mapping[str, Any]) -> Any:
        """Return the arguments in the tool's own form, or an awaitable; raises ArgumentError."""


@frozen
class Metadata:
    """The nature of a tool; the defaults are the cautious values."""

    concurrency_safe: bool = False
    read_only: bool = False
    destructive: bool = False
    aliases: tuple[str, ...] = ()
    search_hint: str = ""
    permission_class: str = "generic"
    audit_operation: str = "invoke"
    requires_checkpoint: bool = False
    requires_reverse_thinking: bool = False
    server: str = ""
    """The server that the tool comes from, if any."""
    claims_read_only: bool = False
    """Whether that server claims that the tool only reads: a rule may trust it, nothing else."""
    confined: bool = False
    """Whether it touches files and programs only through the workspace of its call."""
    runs_commands: bool = False
    """Whether each call is a shell command: it can run isolated."""


UndoMethod = Literal["", "tool", "manual"]


@frozen
class Capability:
    """The safety features of a tool; the defaults are the cautious values."""

    dry_run: bool = False
    reversible: bool = False
    min_confidence: int = 0
    undo_method: UndoMethod = ""
    """What undoes a call: another tool, the user by hand, or nothing that is declared."""
    undo_tool: str = ""
    """The tool that undoes a call, for the method ``tool``."""
    undo_description: str = ""
    """What undoing does, or what the user can do by hand."""

    @property
    def undo_text(self) -> str:
        """What the user is told about undoing before a call; empty if nothing is declared."""
        if self.undo_method == "manual":
            return f"by hand: {self.undo_description}"
        by = f"by {self.undo_tool}" if self.undo_tool else ""
        return ": ".join(filter(None, (by, self.undo_description)))

    @property
    def safety_level(self) -> int:
        """Return 2 if it can be previewed, 1 if it can be undone, else 0."""
        return 2 if self.dry_run else int(self.reversible)


@frozen
class Access:
    """The paths (as the model wrote them), command and web addresses in the arguments of a call.

    ``cwd`` is the directory of the command; empty for that of the chat. ``network``: it asks for
    the network where commands have none; ``direct``: it asks to run in the workspace itself.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    command: str | None = None
    urls: tuple[str, ...] = ()
    cwd: str = ""
    network: bool = False
    direct: bool = False


@frozen
class DryRunResult:
    """What a call would do, computed without doing it.

    ``headline`` replaces the tool's own description of the change, if the user kept only a part
    of the proposal or edited it.
    """

    change: ChangeSet | None = None
    text: str = ""
    notes: tuple[str, ...] = ()
    impact: Mapping[str, Any] = field(default_factory=dict)
    headline: str = ""
    places: tuple[ReplacedLines, ...] = ()
    """The lines of the replacements, for a tool that counts the applied ones."""
    summary: str = ""
    would_affect: tuple[str, ...] = ()
    question: str = ""
    """The tool's own words for the question to the user."""
    reversible: bool | None = None
    """Whether this very call can be undone, if the dry run found out."""


@frozen
class ToolOutput:
    """What a tool returns: ``text`` for the model, ``display_text`` for the user where it differs.

    ``details`` is JSON data for other programs; ``full_text_path`` is a file with the whole text,
    if ``text`` is only a part of it; ``cancelled`` means that the user cancelled the call.
    ``change`` is what it changed in files, which the chat shows.
    """

    text: str
    is_error: bool = False
    details: Any = None
    images: tuple[Image, ...] = ()
    display_text: str | None = None
    full_text_path: str | None = None
    cancelled: bool = False
    change: ChangeSet | None = None


Extra = Mapping[str, Any] | None
PreviewCallback = Callable[[str, Extra], Awaitable[ToolOutput | None]]
"""Takes the reason and the extra of a ``resolve`` call; an exception keeps the preview pending."""
ApplyFunction = Callable[[DryRunResult], Awaitable[ToolOutput]]
"""Applies a preview: the staged one, or what is left of it after decisions and rebasing."""


@frozen
class StagedPreview:
    """A preview of a tool; ``label`` is one line like ``AST Edit: 2 replacements in 1 file``.

    With ``make``, applying makes the change of ``preview`` as it is then: rebased, or with the
    hunks the user keeps.
    """

    label: str
    source: str
    apply: PreviewCallback
    reject: PreviewCallback | None = None
    preview: DryRunResult = field(default_factory=DryRunResult)
    make: ApplyFunction | None = None
    collects: tuple[str, ...] = ()
    """The tools whose later calls extend this preview instead of staging another one."""
    for_user: bool = False
    """Whether only the user resolves it: the model need not, and goes on with other work."""
    details: Any = None
    """JSON data of the producer for other programs: part of the events and of the result."""
    is_standing: bool = False
    """Whether it is a handler that stays: it is resolved many times, and only when nothing else is
    pending."""
    is_gone: Callable[[], bool] = lambda: False
    """Whether what would carry it out has ended: such a handler is offered no longer."""


class ToolFinder(Protocol):
    """The deferred tools of a chat."""

    def deferred(self) -> tuple[Tool, ...]:
        """Return the tools that are not sent to the model."""

    def search(self, query: str) -> tuple[Tool, ...]:
        """Find deferred tools, best first, and activate them for this chat."""


@frozen
class ToolContext:
    """What one call of a tool can use.

    ``preview`` is what the user accepted, if anything was shown; ``open_preview`` is the pending
    preview that the call may extend: what it stages then replaces that preview. ``last_output`` is
    the output of the previous step; ``progress`` shows live output; ``stage`` registers a preview;
    ``store`` saves a large text and returns its path; ``free_path`` returns a free path for the
    full output of a process; ``frontend`` is the user's editor, if there is one; ``tool_finder``
    finds the deferred tools of the chat.
    """

    workspace: Workspace
    cwd: str
    call_id: str
    progress: Callable[[str], None]
    stage: Callable[[StagedPreview], None]
    store: Callable[[str], str]
    free_path: Callable[[], str]
    preview: DryRunResult | None = None
    open_preview: StagedPreview | None = None
    last_output: Any = None
    frontend: Frontend | None = None
    tool_finder: ToolFinder | None = None
    is_restricted: Callable[[str], bool] = lambda path: False
    """Whether a rule denies or asks about a displayed path: what walks a tree leaves it out."""
    private_hosts: frozenset[str] = frozenset()
    """Hosts of the call that a rule names: only these may be in this computer or its network."""
    clear_standing: Callable[[], None] = lambda: None
    """Removes the standing handler that a tool has set."""
    flags: dict[str, bool] = field(default_factory=dict)
    """Flags that commands of this chat set, by name: whether the last one succeeded."""
    todo: TodoList = field(default_factory=TodoList)
    """The todo list of the chat."""
    show: Callable[[str], None] = lambda text: None
    """Shows a text in place of the output so far."""
    describe_tools: Callable[[], Sequence[Mapping[str, Any]]] = tuple
    """Returns the tools of the chat with all that they declare."""


@frozen
class UndoCall:
    """How to undo a successful call.

    ``tool`` with ``arguments`` is the call that undoes it; an ``irreversible`` one has only a
    ``guide`` for the user. A tool that undoes its own calls receives the ``result`` of the call
    (its text and details). If the call is itself an undo, ``is_redo`` is set, and the tool's
    ``redo`` reverts it.
    """

    description: str
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    irreversible: bool = False
    guide: str = ""
    result: Mapping[str, Any] = field(default_factory=dict)
    is_redo: bool = False


Condition = bool | Callable[[Mapping[str, Any]], Awaitable[bool]]
"""A value, or a function of a call's arguments as JSON data."""


@frozen
class ToolOptions:
    """What the user sets about one tool in ``tools.opts``; ``None`` leaves it to the tool."""

    _: KW_ONLY

    enabled: bool = True
    system_prompt: str | None = None
    require_approval_before: Condition | None = None
    allowed_in_yolo_mode: Condition | None = None


Step = Callable[[Any, ToolContext], Any | Awaitable[Any]]
DryRunFunction = Callable[[Any, ToolContext], Awaitable[DryRunResult]]


@frozen
class CallOutcome:
    """A result with the call it answers: ``arguments`` is ``None`` if that is not valid.

    ``reason`` is why the user rejected the call.
    """

    result: ToolResult
    arguments: Any = None
    reason: str = ""


@frozen
class Hooks:
    """Functions that run around a call, each exactly once.

    ``setup`` runs before the approval request, ``exit`` after the result. With ``once``,
    neighbouring calls of the tool share both. ``result`` may change every result.
    """

    setup: Step | None = None
    exit: Step | None = None
    once: bool = False
    result: Callable[[CallOutcome], ToolResult | Awaitable[ToolResult]] | None = None
    undo: Callable[[Any, ToolOutput], UndoCall | None] | None = None


class ShownArguments(dict[str, Any]):
    """The arguments of a call that is shown; ``is_partial`` while they still arrive."""

    def __init__(
        self, arguments: Mapping[str, Any], call_id: str = "", is_partial: bool = False
    ) -> None:
        super().__init__(arguments)
        self.call_id = call_id
        self.is_partial = is_partial


def plain_title(name: str, arguments: Mapping[str, Any]) -> str:
    """Return a call in one line, for a tool that does not render it."""
    given = " ".join(f"{key}={json.dumps(value)}" for key, value in arguments.items())
    return f"{name} {given[:200]}".rstrip()


@frozen
class Tool:
    """A tool's definition; calls never change it.

    Args:
        steps: run in order, each with the previous output in ``context.last_output``; sync or
            async; the last one returns the result (a ToolOutput, text, or a value shown as JSON).
        touches: the paths, the command and the web addresses that a call would touch.
        dry_run: what a call would do; raises ToolError if it cannot work at all.
        render_call: the call in one line; gets the arguments that have arrived so far.
        describe: the description, if it depends on the chat's environment.
        label: its name for people, if that is not ``name``.
        always_load: whether it is sent even while many tools are deferred.
        system_prompt: text for the model while it has the tool; the user does not see it.
        undo: reverts a call whose ``UndoCall`` names this tool; gets that call's arguments, and
            its output as ``context.last_output``.
        redo: does again what ``undo`` reverted; gets the same.
        source: a hash of the file that defines a custom tool; empty for a built-in one.
        options: what the user's settings say about it.
    """

    name: str
    description: str
    arguments: Arguments
    steps: tuple[Step, ...]
    metadata: Metadata = Metadata()
    capability: Capability = Capability()
    touches: Callable[[Any], Access] = lambda arguments: Access()
    dry_run: DryRunFunction | None = None
    render_call: Callable[[Mapping[str, Any]], str] | None = None
    snippet: str = ""
    guidelines: tuple[str, ...] = ()
    timeout: float | None = None
    hidden: bool = False
    label: str = ""
    hooks: Hooks = Hooks()
    always_load: bool = True
    describe: Callable[[Environment], str] | None = None
    system_prompt: str = ""
    asks: bool | Callable[[Any], bool | Awaitable[bool]] | None = None
    """Whether a call asks, or how to find out; ``None``: it asks unless it only reads."""
    undo: Step | None = None
    redo: Step | None = None
    source: str = ""
    options: ToolOptions = ToolOptions()
    facts: Callable[[], tuple[tuple[str, str], ...]] = lambda: ()
    """What a question about a call shows beside its arguments: labels and texts."""
    is_withdrawn: Callable[[], str] = lambda: ""
    """Why no call of this definition may run any more, for the model; empty if it may."""
    affected_resources: tuple[str, ...] | Callable[[Any], Awaitable[tuple[str, ...]]] = ()
    """What calls affect, or how to find out for one call; informs the user and the journal."""

    def title(self, arguments: Mapping[str, Any]) -> str:
        """Return the call in one line; the tool's name if the tool cannot render it."""
        if self.render_call is None:
            return plain_title(self.label or self.name, arguments)
        try:
            return clip(str(self.render_call(arguments)), TITLE_CHARACTERS)
        except Exception:
            log.exception("%s could not render its call", self.name)
            return self.name

    @property
    def full_name(self) -> str:
        """Its name in questions to the user: with a label, both."""
        return f"{self.label} ({self.name})" if self.label else self.name

    @property
    def runs_beside_others(self) -> bool:
        """Whether calls may run at the same time as their neighbours."""
        hooked = self.hooks.setup is not None or self.hooks.exit is not None
        return self.metadata.concurrency_safe and not hooked

    @property
    def changes_only_files(self) -> bool:
        """Whether the journal can undo all that it does."""
        return self.capability.reversible and self.hooks.undo is None

    @property
    def definition(self) -> str:
        """A hash of everything that defines what the tool does."""
        schema = json.dumps(self.arguments.schema(), sort_keys=True, default=str)
        text = "\0".join([self.name, self.description, schema, self.source])
        return hashlib.sha256(text.encode()).hexdigest()


SaveFunction = Callable[[str, Mapping[str, Any], ToolContext], Awaitable[Mapping[str, Any]]]
"""Saves the state before a call of this tool with these arguments; returns JSON data."""


@frozen
class ProcessedResult:
    """What a processor makes of a large result; ``stored_at``: where it stored all of it, if so."""

    text: str
    stored_at: str = ""


ResultProcessor = Callable[[str, str, str, ToolContext], Awaitable[ProcessedResult | str | None]]
"""Shortens a large result: takes the tool's name, the text cut as usual and the file with it all.
Returns ``None`` to keep the text."""


@frozen
class CheckpointHandler:
    """Saves the state before calls of ``tools`` (all if there are none), and restores it.

    ``restore`` is a tool that no model is given; its arguments are what ``save`` returned. Without
    it, the handler only confirms that the state is safe, and nothing is promised about undoing.
    """

    name: str
    tools: tuple[str, ...]
    save: SaveFunction
    restore: Tool | None

    def covers(self, tool: Tool) -> bool:
        """Whether the handler is for calls of this tool."""
        return not self.tools or not {tool.name, *tool.metadata.aliases}.isdisjoint(self.tools)
