"""The definition of a server's tool: what the model is told, and what the user consents to."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from agentchat.core.frozen import frozen
from agentchat.core.text import clip, escape_hidden_characters

LONGEST_NAME = 64
"""Characters of a tool's name that every model server accepts."""
LONGEST_DESCRIPTION = 4_000
LARGEST_SCHEMA = 64 * 1024
"""Characters of a schema as JSON."""
DEEPEST_SCHEMA = 40
MOST_TOOLS = 1_000
MOST_DIFFERENCES = 40
"""Lines of a difference that a question shows."""

HINTS = (
    ("readOnlyHint", False, "read-only", "changes things"),
    ("destructiveHint", True, "destructive", "not destructive"),
    ("idempotentHint", False, "idempotent", ""),
    ("openWorldHint", True, "reaches the outside world", "stays in its own domain"),
)
"""The annotations: name, the value if it is not set, and what it claims if true and if false."""


@frozen
class ToolDefinition:
    """One tool as its server defines it; ``name`` is what the model calls it."""

    server: str
    tool: str
    name: str
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict)
    annotations: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """All of it as lines, for a difference."""
        parts = {"schema": self.schema, "annotations": self.annotations}
        data = json.dumps(parts, indent=1, sort_keys=True, ensure_ascii=False)
        return f"name: {self.tool}\ndescription: {self.description}\n{data}"

    @property
    def digest(self) -> str:
        """A hash of name, description, schema and annotations."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()

    def hint(self, name: str) -> bool:
        """Return an annotation; one that is not set has the cautious value."""
        default = next(default for hint, default, _, _ in HINTS if hint == name)
        value = self.annotations.get(name)
        return value if isinstance(value, bool) else default

    @property
    def claims_read_only(self) -> bool:
        """Whether the server claims that it changes nothing."""
        return self.hint("readOnlyHint")

    @property
    def is_destructive(self) -> bool:
        """Whether the server does not even claim that it destroys nothing."""
        return not self.claims_read_only and self.hint("destructiveHint")

    @property
    def claims(self) -> str:
        """What the server claims of the tool, for the user."""
        hints = [hint for hint in HINTS if isinstance(self.annotations.get(hint[0]), bool)]
        if self.claims_read_only:
            hints = [hint for hint in hints if hint[0] != "destructiveHint"]
        texts = [yes if self.annotations[name] else no for name, _, yes, no in hints]
        return ", ".join(filter(None, texts)) or "nothing: counts as destructive and open-world"


def read_definitions(
    server: str, tools: Sequence[Mapping[str, Any]]
) -> tuple[tuple[ToolDefinition, ...], tuple[str, ...]]:
    """Return the definitions of a server's tools, and a line for each that cannot be used."""
    found: dict[str, ToolDefinition] = {}
    problems = []
    names = {str(item.get("name") or "") for item in tools}
    named = Counter(safe_name(server, each) for each in names)
    for item in tools[:MOST_TOOLS]:
        tool = str(item.get("name") or "")
        shown = escape_hidden_characters(clip(tool, 60))
        name = safe_name(server, tool)
        schema = item.get("inputSchema") or {}
        if not tool:
            problems.append("a tool without a name was left out")
        elif name in found:
            problems.append(f'a second tool "{shown}" was left out')
        elif named[name] > 1:
            problems.append(f'the tool "{shown}" was left out: {named[name]} tools are {name}')
        elif problem := _task_problem(item) or _schema_problem(schema):
            problems.append(f'the tool "{shown}" was left out: {problem}')
        else:
            found[name] = ToolDefinition(
                server=server,
                tool=tool,
                name=name,
                description=_description(item),
                schema=schema,
                annotations=item.get("annotations") or {},
            )
    if len(tools) > MOST_TOOLS:
        problems.append(f"only the first {MOST_TOOLS} of {len(tools)} tools are used")
    return tuple(found.values()), tuple(dict.fromkeys(problems))


def safe_name(server: str, tool: str) -> str:
    """Return ``server__tool`` with characters that every model server accepts, not too long."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", f"{server}__{tool}")
    if len(name) <= LONGEST_NAME:
        return name
    digest = hashlib.sha256(tool.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[: LONGEST_NAME - 9]}_{digest}"


def _description(item: Mapping[str, Any]) -> str:
    text = str(item.get("description") or item.get("title") or "")
    return clip(escape_hidden_characters(text), LONGEST_DESCRIPTION)


def _task_problem(item: Mapping[str, Any]) -> str:
    """Return why a tool cannot be called as tools are; empty if it can."""
    execution = item.get("execution")
    support = execution.get("taskSupport") if isinstance(execution, Mapping) else None
    return "it runs only as a task in the background" if support == "required" else ""


def _schema_problem(schema: Any) -> str:
    if not isinstance(schema, Mapping):
        return "its schema is no object"
    if _depth(schema) > DEEPEST_SCHEMA:
        return "its schema is nested too deeply"
    if len(json.dumps(schema)) > LARGEST_SCHEMA:
        return "its schema is too large"
    if not isinstance(schema.get("properties", {}), Mapping):
        return 'its schema has "properties" that are no object'
    return ""


def _depth(value: Any) -> int:
    """Return how deeply a JSON value is nested, at most a little over the limit."""
    depth, level = 0, [value]
    while level and depth <= DEEPEST_SCHEMA:
        depth += 1
        level = [inner for item in level for inner in _children(item)]
    return depth


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else ()


def ambiguous_names(servers: Iterable[Sequence[ToolDefinition]]) -> frozenset[str]:
    """Return the names that tools of several servers have, as of ``a_`` and ``_b`` of ``a``.

    None of them is used: which one came first must not decide whose tool a name is.
    """
    named = Counter(tool.name for tools in servers for tool in tools)
    return frozenset(name for name, number in named.items() if number > 1)


def differences(old: ToolDefinition, new: ToolDefinition) -> str:
    """Return what changed between two definitions, as lines with ``-`` and ``+``."""
    before, after = old.text.splitlines(), new.text.splitlines()
    lines = list(difflib.unified_diff(before, after, lineterm="", n=0))[2:]
    changed = [line for line in lines if not line.startswith("@@")]
    more = len(changed) - MOST_DIFFERENCES
    shown = changed[:MOST_DIFFERENCES] + ([f"and {more} more lines"] if more > 0 else [])
    return "\n".join(clip(line, 400) for line in shown)
