"""The calls of an agent, as calls of our tools that describe them.

An agent says of a call its kind, a title, paths, a raw input whose keys are its own, and content.
``describe`` reads of that what our policy, the approval float and the journal need; the names of
the tools are those of ours, so the user's rules are about both.
"""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.errors import ToolError
from agentchat.core.messages import Status, ToolCall
from agentchat.core.text import clip
from agentchat.core.tools.call import ValidCall
from agentchat.core.tools.tool import Access, Capability, Metadata, Tool
from agentchat.core.urls import parse_url
from agentchat.core.workspace import Workspace
from agentchat.tools.json_schema import JsonSchemaArguments

TOOLS: Final[Mapping[str, str]] = {
    "execute": "bash",
    "edit": "edit",
    "move": "edit",
    "delete": "delete",
    "read": "read",
    "search": "read",
    "fetch": "fetch",
}
"""The tool that stands for a kind of call; ``other`` for all others."""
OTHER = "other"

COMMANDS = ("command", "cmd")
PATHS = ("file_path", "filePath", "filepath", "path", "abs_path")
FOLDERS = ("cwd", "workdir", "directory")
URLS = ("url", "uri")
"""What agents call these in a raw input."""

ENDS: Final[Mapping[str, Status]] = {"completed": Status.SUCCESS, "failed": Status.ERROR}
NOT_HERE = "This runs in a chat with a model only."

Update = Mapping[str, Any]


@dataclass
class AgentCall:
    """One call, as far as the agent has told of it."""

    id: str
    kind: str = OTHER
    title: str = ""
    status: str = "pending"
    raw_input: Any = None
    content: tuple[Update, ...] = ()
    locations: tuple[Update, ...] = ()
    raw_output: Any = None
    shown: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when its block is in the chat."""
    is_rejected: bool = False
    is_over: bool = False
    """Whether it has its result."""

    def update(self, given: Update) -> None:
        """Take over what an update names; the rest stays."""
        if isinstance(given.get("kind"), str):
            self.kind = given["kind"]
        if isinstance(given.get("title"), str) and given["title"]:
            self.title = given["title"]
        if isinstance(given.get("status"), str):
            self.status = given["status"]
        if given.get("rawInput") not in (None, {}):
            self.raw_input = given["rawInput"]
        if given.get("rawOutput") is not None:
            self.raw_output = given["rawOutput"]
        self.content = _items(given, "content") or self.content
        self.locations = _items(given, "locations") or self.locations

    @property
    def end(self) -> Status | None:
        """How it ended, ``None`` while it has not."""
        return ENDS.get(self.status)

    # --- what is known of it ----------------------------------------------------------------------

    @property
    def diffs(self) -> tuple[Update, ...]:
        """The changes of files that its content shows."""
        return tuple(part for part in self.content if part.get("type") == "diff")

    @property
    def text(self) -> str:
        """The text of its content, else its output."""
        texts = [_text(part) for part in self.content if part.get("type") == "content"]
        if any(texts):
            return "\n".join(filter(None, texts))
        output = self.raw_output
        return output if isinstance(output, str) else ""

    @property
    def command(self) -> str | None:
        """Its shell command."""
        given = _first(self.raw_input, COMMANDS)
        if isinstance(given, list) and all(isinstance(word, str) for word in given):
            return shlex.join(given)
        return given if isinstance(given, str) and given else None

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path it names."""
        named = [_first(self.raw_input, PATHS)]
        named += [part.get("path") for part in (*self.locations, *self.diffs)]
        return tuple(dict.fromkeys(path for path in named if isinstance(path, str) and path))

    def change(self) -> ChangeSet | None:
        """Return the change that it shows, as the agent has it: of whole files or of parts."""
        sides = ((d.get("path"), d.get("oldText"), d.get("newText")) for d in self.diffs)
        files = [
            FileChange(path, old.encode() if isinstance(old, str) else None, new.encode())
            for path, old, new in sides
            if isinstance(path, str) and isinstance(new, str)
        ]
        return ChangeSet(tuple(files)) if files else None

    @property
    def says_nothing(self) -> bool:
        """Whether nothing at all is known of it."""
        return not (self.title or self.command or self.paths or self.raw_input or self.text)

    @property
    def tool(self) -> str:
        """The name of the tool that stands for it; what has a command is one."""
        return "bash" if self.command is not None else TOOLS.get(self.kind, OTHER)

    @property
    def line(self) -> str:
        """It in one line."""
        return _title(self.tool, self.arguments())

    def as_tool_call(self) -> ToolCall:
        """Return it as a call of that tool."""
        return ToolCall(self.id, self.tool, json.dumps(self.arguments(), ensure_ascii=False))

    def arguments(self) -> dict[str, Any]:
        """Return what is known of it as the arguments of that tool."""
        urls = [_first(self.raw_input, URLS)] if self.tool == "fetch" else []
        known = {
            "title": self.title,
            "command": self.command,
            "cwd": _first(self.raw_input, FOLDERS) if self.command is not None else None,
            "paths": list(self.paths),
            "urls": [url for url in urls if isinstance(url, str) and _is_url(url)],
            "input": self.raw_input,
        }
        return {name: value for name, value in known.items() if value not in (None, "", [], {})}


def _is_url(text: str) -> bool:
    try:
        parse_url(text)
    except ToolError:
        return False
    return True


def _items(given: Update, name: str) -> tuple[Update, ...]:
    items = given.get(name)
    return tuple(i for i in items if isinstance(i, Mapping)) if isinstance(items, list) else ()


def _first(value: Any, names: tuple[str, ...]) -> Any:
    found = (value.get(name) for name in names) if isinstance(value, Mapping) else iter(())
    return next((each for each in found if each), None)


def _text(part: Update) -> str:
    inner = part.get("content")
    text = inner.get("text") if isinstance(inner, Mapping) else None
    return text if isinstance(text, str) else ""


# --- the tools that stand for them ----------------------------------------------------------------

_SCHEMA: Final = {
    "properties": {
        "title": {"type": "string"},
        "command": {"type": "string"},
        "cwd": {"type": "string"},
        "paths": {"type": "array", "items": {"type": "string"}},
        "urls": {"type": "array", "items": {"type": "string"}},
    }
}
_READING = frozenset({"read"})
_EDITING = frozenset({"edit"})


def described_tools(agent: str) -> tuple[Tool, ...]:
    """Return the tools that stand for the calls of an agent; none of them can run."""
    names = dict.fromkeys((*TOOLS.values(), OTHER))
    return tuple(_described_tool(name, agent) for name in names)


def _described_tool(name: str, agent: str) -> Tool:
    return Tool(
        name=name,
        label=agent,
        description=f"What {agent} does by itself.",
        arguments=JsonSchemaArguments(_SCHEMA),
        steps=(_refuse,),
        metadata=Metadata(read_only=name in _READING, destructive=name == "delete"),
        capability=Capability(reversible=name in _EDITING),
        touches=lambda arguments: _access(name, arguments),
        render_call=lambda given: _title(name, given),
        asks=True,
    )


def _refuse(arguments: Any, context: Any) -> None:
    raise ToolError(NOT_HERE)


def _access(name: str, arguments: Mapping[str, Any]) -> Access:
    paths = tuple(arguments.get("paths", ()))
    if name == "bash":
        return Access(command=arguments.get("command"), cwd=arguments.get("cwd", ""))
    reads, writes = (paths, ()) if name in _READING else ((), paths)
    return Access(reads=reads, writes=writes, urls=tuple(arguments.get("urls", ())))


def _title(name: str, given: Mapping[str, Any]) -> str:
    subject = given.get("command") or given.get("title") or ", ".join(given.get("paths", ()))
    return clip(" ".join(f"{name}: {subject}".split())) if subject else name


def valid_call(call: AgentCall, tool: Tool) -> ValidCall:
    """Return a call as one that can be located and judged."""
    arguments = call.arguments()
    return ValidCall(call.as_tool_call(), tool, arguments, arguments)


# --- the changes that it shows --------------------------------------------------------------------


async def proposed_change(call: AgentCall, workspace: Workspace) -> tuple[ChangeSet | None, str]:
    """Return the change that a call shows, and the text of those whose place is unknown."""
    files: dict[str, FileChange] = {}
    unplaced: list[str] = []
    for diff in call.diffs:
        change = await _placed(diff, workspace, files)
        if change is None:
            unplaced += _as_text(diff)
        else:
            files[change.path] = change
    return (ChangeSet(tuple(files.values())) if files else None), "\n".join(unplaced)


async def _placed(
    diff: Update, workspace: Workspace, files: Mapping[str, FileChange]
) -> FileChange | None:
    """Return a diff as a change of its file; ``None`` if its old text is not there just once."""
    path, old, new = diff.get("path"), diff.get("oldText"), diff.get("newText")
    if not isinstance(path, str) or not isinstance(new, str):
        return None
    try:
        target = await workspace.locate(path)
        before = await _read(workspace, target.path)
    except (ToolError, OSError):
        return None
    done = files.get(target.path)
    now = done.after if done is not None else before
    after = _replaced(now, old if isinstance(old, str) else None, new)
    if after is None:
        return None
    change = FileChange(target.path, before, after, target.display_path)
    return change if before is not None else replace(change, anchor=target.anchor)


async def _read(workspace: Workspace, path: str) -> bytes | None:
    try:
        return await workspace.read(path)
    except FileNotFoundError:
        return None


def _replaced(now: bytes | None, old: str | None, new: str) -> bytes | None:
    """Return a text with its old part, or all of it, replaced; ``None`` if that is not clear."""
    wanted = new.encode("utf-8", "surrogatepass")
    if now is None:
        return wanted if not old else None
    if old is None:
        return None
    known = old.encode("utf-8", "surrogatepass")
    if now == known:
        return wanted
    return now.replace(known, wanted) if known and now.count(known) == 1 else None


def _as_text(diff: Update) -> Iterator[str]:
    yield f"{diff.get('path')} (place unknown)"
    for sign, name in (("-", "oldText"), ("+", "newText")):
        text = diff.get(name)
        for line in text.split("\n") if isinstance(text, str) and text else ():
            yield f"{sign} {line}"
