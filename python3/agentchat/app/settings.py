"""The user's settings: checked in Lua, typed here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from typing import Any

from agentchat.agent.external.acp.known_agents import Agents, read_agents
from agentchat.core.frozen import frozen
from agentchat.core.limits import (
    COMMAND_MEMORY_MB,
    COMMAND_PROCESSES,
    DEFERRED_THRESHOLD,
    MAX_ROUNDS,
    PARALLEL_TOOLS,
)
from agentchat.core.permissions.isolation import StageIgnored, Unasked
from agentchat.core.permissions.policy import Mode, StageNetwork, parse_mode
from agentchat.core.permissions.rules import Rule, parse_rules
from agentchat.core.spending import SCOPES, Budget
from agentchat.core.tools.registry import Group
from agentchat.core.tools.tool import Condition, ToolOptions
from agentchat.core.turn.chat import CompactSetting
from agentchat.core.workspace import SandboxSetting
from agentchat.tools.builtin.catalogue import BUILTIN_GROUPS
from agentchat.workspace.overlay.client import QUOTA_MB

FUNCTION = "function"
"""The value of an option that a Lua function decides."""


@frozen
class Settings:
    """``g:agentchat`` merged with ``b:agentchat``; ``problems`` are lines for the user."""

    model: Mapping[str, Any] = field(default_factory=dict)
    default_tools: tuple[str, ...] = ("agent",)
    groups: tuple[Group, ...] = ()
    max_parallel: int = PARALLEL_TOOLS
    deferred_threshold: int = DEFERRED_THRESHOLD
    always_load: tuple[str, ...] = ()
    tool_paths: tuple[str, ...] = ()
    tool_options: Mapping[str, Any] = field(default_factory=dict)
    """``tools.opts``, see ``parse_tool_options``."""
    edits: str = "ask"
    mode: Mode = "ask"
    max_rounds: int = MAX_ROUNDS
    budget: Budget = field(default_factory=Budget)
    compact: CompactSetting = "ask"
    plain_save: bool = False
    rules: tuple[Rule, ...] = ()
    rule_problems: tuple[str, ...] = ()
    sandbox: SandboxSetting = "off"
    unasked: Unasked = "isolated"
    command_processes: int = COMMAND_PROCESSES
    command_memory_mb: int = COMMAND_MEMORY_MB
    stage_network: StageNetwork = "ask"
    stage_ignored: StageIgnored = "drop"
    stage_quota_mb: int = QUOTA_MB
    stage_visible: tuple[str, ...] = ()
    ssh_command: tuple[str, ...] = ("ssh",)
    ssh_python: str = ""
    mcp_servers: Any = field(default_factory=dict)
    """``mcp.servers``, see ``tools.mcp.config``."""
    agents: Agents = field(default_factory=lambda: read_agents({}))
    problems: tuple[str, ...] = ()


def read_settings(settings: Mapping[str, Any]) -> Settings:
    """Return the settings; ``problems`` names the rules that are not valid."""
    tools = _table(settings.get("tools"))
    ssh, budget = _table(settings.get("ssh")), _table(settings.get("budget"))
    stage = _table(settings.get("stage"))
    commands = _table(settings.get("commands"))
    limits = _table(commands.get("limits"))
    rules, problems = parse_rules(settings.get("rules"))
    default = tools.get("default")
    return Settings(
        model=_table(settings.get("model")),
        default_tools=tuple(default) if default is not None else ("agent",),
        groups=parse_groups(_table(tools.get("groups"))),
        max_parallel=int(tools.get("max_parallel") or PARALLEL_TOOLS),
        deferred_threshold=int(tools.get("deferred_threshold") or DEFERRED_THRESHOLD),
        always_load=tuple(tools.get("always_load") or ()),
        tool_paths=tuple(tools.get("paths") or ()),
        tool_options=_table(tools.get("opts")),
        edits=tools.get("edits") or "ask",
        mode=parse_mode(settings.get("mode") or "ask"),
        budget=Budget(**{scope: budget.get(scope) for scope in SCOPES}),
        max_rounds=int(settings.get("max_rounds") or MAX_ROUNDS),
        compact=settings.get("compact") or "ask",
        plain_save=settings.get("save") == "plain",
        rules=rules,
        rule_problems=problems,
        sandbox=settings.get("sandbox") or "off",
        stage_network=stage.get("network") or "ask",
        unasked=commands.get("unasked") or "isolated",
        command_processes=int(limits.get("processes") or COMMAND_PROCESSES),
        command_memory_mb=int(limits.get("memory_mb") or COMMAND_MEMORY_MB),
        stage_ignored=stage.get("ignored") or "drop",
        stage_quota_mb=int(stage.get("quota_mb") or QUOTA_MB),
        stage_visible=tuple(stage.get("visible") or ()),
        ssh_command=tuple(ssh.get("command") or ("ssh",)),
        ssh_python=ssh.get("python") or "",
        mcp_servers=_table(settings.get("mcp")).get("servers"),
        agents=read_agents(_table(settings.get("agents"))),
        problems=problems,
    )


def parse_groups(settings: Mapping[str, Mapping[str, Any]]) -> tuple[Group, ...]:
    """Return the built-in groups and the user's; a user's group replaces one of the same name."""
    groups = {group.name: group for group in BUILTIN_GROUPS}
    for name, spec in settings.items():
        groups[name] = Group(
            name=name,
            tools=tuple(spec.get("tools") or ()),
            prompt=spec.get("prompt") or "",
            system_prompt=spec.get("system_prompt") or "",
            replace_system_prompt=bool(spec.get("replace_system_prompt", False)),
            collapse=bool(spec.get("collapse", True)),
            ignore_tool_prompts=bool(spec.get("ignore_tool_prompts", False)),
        )
    return tuple(groups.values())


AskOption = Callable[[str, str, Mapping[str, Any]], Awaitable[bool]]
"""Asks Lua what a function says: the name in ``tools.opts``, the option, the arguments."""


def parse_tool_options(opts: Mapping[str, Any], ask: AskOption) -> dict[str, ToolOptions]:
    """Return ``tools.opts`` by tool; ``ask`` calls the functions in it."""

    def condition(tool: str, option: str, value: Any) -> Condition | None:
        if value != FUNCTION:
            return None if value is None else bool(value)
        return lambda arguments: ask(tool, option, arguments)

    return {
        tool: ToolOptions(
            enabled=table.get("enabled", True),
            system_prompt=table.get("system_prompt"),
            **{
                option: condition(tool, option, table.get(option))
                for option in ("require_approval_before", "allowed_in_yolo_mode")
            },
        )
        for tool, table in opts.items()
        if isinstance(table, Mapping)
    }


def _table(value: Any) -> Mapping[str, Any]:
    """Return a Lua table as a mapping: an empty one arrives as a list."""
    return value if isinstance(value, Mapping) else {}
