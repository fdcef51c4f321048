"""What a tool is: a value that says how it is called, what it does, and how careful to be."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from agentchat.core.diff.changeset import ChangeSet, ReplacedLines
from agentchat.core.errors import ToolError
from agentchat.core.messages import Image, ToolResult
from agentchat.core.text import clip
from agentchat.core.tools.ports import Frontend, Workspace


@dataclass(frozen=True, slots=True)
class Environment:
    """What a chat knows of where it works: ``date`` as ISO text, ``rules`` of the project.

    ``host`` is the machine, empty for the user's own.
    """

    cwd: str
    date: str = ""
    rules: str = ""
    host: str = ""


log = logging.getLogger(__name__)

TITLE_CHARACTERS = 2_000
"""Characters of a call that its line shows."""

NO_STORE = "Pending action store unavailable for custom tools in this runtime."


def refuse_staging(staged: StagedChange) -> None:
    """Refuse a preview where nothing could resolve it."""
    raise ToolError(NO_STORE)


class ArgumentError(Exception):
    """The arguments do not fit the schema: ``problems`` are pairs of field and reason."""

    def __init__(self, problems: tuple[tuple[str, str], ...]) -> None:
        super().__init__("; ".join(f"{name}: {reason}" for name, reason in problems))
        self.problems = problems


class Arguments(Protocol):
    """The shape of a tool's arguments."""

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema (an object) that the model is given."""

    def parse(self, value: Mapping[str, Any]) -> Any:
        """Return the arguments as the tool takes them, or an awaitable; raises ArgumentError."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a tool is. The defaults are the cautious ones."""

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
    """The name of the server a tool comes from, if it comes from one."""


@dataclass(frozen=True, slots=True)
class Capability:
    """What a tool can do for safety. The defaults are the cautious ones."""

    dry_run: bool = False
    reversible: bool = False
    min_confidence: int = 0

    @property
    def safety_level(self) -> int:
        """Return 2 if it can be previewed, 1 if it can be undone, else 0."""
        return 2 if self.dry_run else int(self.reversible)


@dataclass(frozen=True, slots=True)
class Access:
    """What a call would touch, from its arguments alone: paths as the model wrote them."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    command: str | None = None


@dataclass(frozen=True, slots=True)
class DryRunResult:
    """What a call would do, computed without doing it.

    ``headline`` stands in place of what the tool would say of the change, where the user keeps
    or makes something else than what was proposed.
    """

    change: ChangeSet | None = None
    text: str = ""
    notes: tuple[str, ...] = ()
    impact: Mapping[str, Any] = field(default_factory=dict)
    headline: str = ""
    places: tuple[ReplacedLines, ...] = ()
    """Where the replacements are, for a tool that counts those that are made."""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool returns: ``text`` for the model, ``shown`` for the user where it differs.

    ``stored`` is the path of a file with all of a text that was cut; ``cancelled`` says that the
    user called it off.
    """

    text: str
    is_error: bool = False
    details: Mapping[str, Any] | None = None
    images: tuple[Image, ...] = ()
    shown: str | None = None
    stored: str | None = None
    cancelled: bool = False


Extra = Mapping[str, Any] | None
PreviewCallback = Callable[[str, Extra], Awaitable[ToolOutput | None]]
"""Takes the reason and the call's free-form extra; raising keeps the preview pending."""
ApplyFunction = Callable[[DryRunResult], Awaitable[ToolOutput]]
"""Makes the change of a preview: the staged one, or what the user and the files left of it."""


@dataclass(frozen=True, slots=True)
class StagedChange:
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
    """The tools whose calls it stands for, if later calls of theirs join it."""


class ToolFinder(Protocol):
    """The tools of a chat that are not sent until they are looked for."""

    def deferred(self) -> tuple[Tool, ...]:
        """Return those that wait."""

    def search(self, query: str) -> tuple[Tool, ...]:
        """Find some, best first, and activate them for this chat."""


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What one call of a tool gets of the world.

    ``preview`` is what the user was shown and accepted, if anything was; ``collected`` the pending
    preview that a call may join, which then takes that one's place; ``given`` the last
    step's output; ``progress`` shows live output; ``stage`` registers a preview; ``store`` keeps
    a large text and returns its path; ``overflow`` is a free path for a process's full output;
    ``frontend`` is the user's editor, where there is one; ``toolbox`` finds
    the deferred tools of the chat.
    """

    workspace: Workspace
    cwd: str
    call_id: str
    progress: Callable[[str], None]
    stage: Callable[[StagedChange], None]
    store: Callable[[str], str]
    overflow: str
    preview: DryRunResult | None = None
    collected: StagedChange | None = None
    given: Any = None
    frontend: Frontend | None = None
    toolbox: ToolFinder | None = None
    flags: dict[str, bool] = field(default_factory=dict)
    """What commands of this chat left behind, by name: whether the last one went well."""


@dataclass(frozen=True, slots=True)
class UndoCall:
    """How a successful call can be taken back.

    ``tool`` with ``given`` is the call that undoes it; an ``irreversible`` one has only the
    ``guide``, what a person can do by hand.
    """

    description: str
    tool: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    irreversible: bool = False
    guide: str = ""


Step = Callable[[Any, ToolContext], Any | Awaitable[Any]]
DryRunFunction = Callable[[Any, ToolContext], Awaitable[DryRunResult]]


@dataclass(frozen=True, slots=True)
class Hooks:
    """What runs around a call, each exactly once whatever becomes of it.

    ``setup`` runs before the question, ``exit`` after the result. With ``once``, neighbouring
    calls of the tool share both. ``result`` has the last word on what the model and the user
    read, for every ending.
    """

    setup: Step | None = None
    exit: Step | None = None
    once: bool = False
    result: Callable[[ToolResult], ToolResult] | None = None
    undo: Callable[[Any, ToolOutput], UndoCall | None] | None = None


def summarize_arguments(arguments: Mapping[str, Any]) -> str:
    """Return the call's arguments as a short line, for tools that do not say better."""
    return " ".join(f"{name}={json.dumps(value)}" for name, value in arguments.items())[:200]


@dataclass(frozen=True)
class Tool:
    """A tool's definition; calls never change it.

    Args:
        steps: run in order, each with the last one's output in ``context.given``; sync or async;
            the last one's return value (a Result, text, or something shown as JSON) is the result.
        touches: the paths and command a call would touch, for the gate.
        dry_run: what a call would do; raises ToolError if it cannot work at all.
        render_call: the call in one line; gets whatever arguments have arrived so far.
        describe: the description where it depends on the chat's surroundings.
        always_load: whether it is sent even while many tools are deferred.
        system_prompt: what the model is told, hidden from the user, while it has the tool.
        undo: takes back a call whose ``UndoCall`` names this tool; gets that call's arguments.
        source: a hash of the file a custom tool comes from; empty for the plugin's own.
    """

    name: str
    description: str
    arguments: Arguments
    steps: tuple[Step, ...]
    metadata: Metadata = Metadata()
    capability: Capability = Capability()
    touches: Callable[[Any], Access] = lambda arguments: Access()
    dry_run: DryRunFunction | None = None
    render_call: Callable[[Mapping[str, Any]], str] = summarize_arguments
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
    """Whether a call asks first, or how to find out; ``None``: unless it only reads."""
    undo: Step | None = None
    source: str = ""

    def title(self, given: Mapping[str, Any]) -> str:
        """Return the call in one line; a hook that fails costs this line only."""
        try:
            return clip(str(self.render_call(given)), TITLE_CHARACTERS)
        except Exception:
            log.exception("%s could not render its call", self.name)
            return self.name

    @property
    def runs_beside_others(self) -> bool:
        """Whether calls may run at the same time as their neighbours."""
        hooked = self.hooks.setup is not None or self.hooks.exit is not None
        return self.metadata.concurrency_safe and not hooked

    @property
    def definition(self) -> str:
        """Return a hash that changes when what the tool means changes."""
        schema = json.dumps(self.arguments.schema(), sort_keys=True, default=str)
        said = [self.name, self.description, schema, self.source]
        return hashlib.sha256("\0".join(said).encode()).hexdigest()
