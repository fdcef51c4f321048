"""The user's settings as Lua hands them over: checked there, typed here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentchat.core.limits import DEFERRED_THRESHOLD, MAX_ROUNDS, PARALLEL_TOOLS
from agentchat.core.permissions.policy import Mode, parse_mode
from agentchat.core.permissions.rules import Rule, parse_rules
from agentchat.core.tools.registry import Group, parse_groups


@dataclass(frozen=True, slots=True)
class Settings:
    """``g:agentchat`` merged with ``b:agentchat``; ``problems`` are lines for the user."""

    model: Mapping[str, Any] = field(default_factory=dict)
    default_tools: tuple[str, ...] = ("agent",)
    groups: tuple[Group, ...] = ()
    max_parallel: int = PARALLEL_TOOLS
    deferred_threshold: int = DEFERRED_THRESHOLD
    always_load: tuple[str, ...] = ()
    tool_paths: tuple[str, ...] = ()
    edits: str = "ask"
    mode: Mode = "ask"
    max_rounds: int = MAX_ROUNDS
    plain_save: bool = False
    rules: tuple[Rule, ...] = ()
    rule_problems: tuple[str, ...] = ()
    sandbox: str = "off"
    ssh_command: tuple[str, ...] = ("ssh",)
    ssh_python: str = ""
    problems: tuple[str, ...] = ()


def read_settings(given: Mapping[str, Any]) -> Settings:
    """Return the settings; a rule that cannot be read is named in ``problems``."""
    tools = table(given.get("tools"))
    ssh = table(given.get("ssh"))
    rules, problems = parse_rules(given.get("rules"))
    default = tools.get("default")
    return Settings(
        model=table(given.get("model")),
        default_tools=tuple(default) if default is not None else ("agent",),
        groups=parse_groups(table(tools.get("groups"))),
        max_parallel=int(tools.get("max_parallel") or PARALLEL_TOOLS),
        deferred_threshold=int(tools.get("deferred_threshold") or DEFERRED_THRESHOLD),
        always_load=tuple(tools.get("always_load") or ()),
        tool_paths=tuple(tools.get("paths") or ()),
        edits=tools.get("edits") or "ask",
        mode=parse_mode(given.get("mode") or "ask"),
        max_rounds=int(given.get("max_rounds") or MAX_ROUNDS),
        plain_save=given.get("save") == "plain",
        rules=rules,
        rule_problems=problems,
        sandbox=given.get("sandbox") or "off",
        ssh_command=tuple(ssh.get("command") or ("ssh",)),
        ssh_python=ssh.get("python") or "",
        problems=problems,
    )


def table(value: Any) -> Mapping[str, Any]:
    """Return a Lua table as a mapping: an empty one arrives as a list."""
    return value if isinstance(value, Mapping) else {}
