"""The agents that can be started: known ones and those of the user's settings."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, Final

from agentchat.core.errors import UserError
from agentchat.core.frozen import frozen
from agentchat.workspace.process.programs import find_program

TIMEOUT_SECONDS = 60

VARIABLES: Final = frozenset(
    {
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TZ", "TMPDIR",
        "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
        "http_proxy", "https_proxy", "all_proxy", "no_proxy",
        "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
    }
)  # fmt: skip
"""What an agent may know of the user without being named. No keys: one that is set by chance would
bill another account."""
PREFIXES: Final = ("LC_", "XDG_")

ASK_OPENCODE = json.dumps(dict.fromkeys(("edit", "bash", "webfetch", "task"), "ask"))


@frozen
class AgentDefinition:
    """How an agent is started.

    ``install`` is the command that installs it; empty if that is unknown. ``modes`` has the agent's
    own mode for each of ours. ``ask_env`` are variables that make it ask.
    """

    name: str
    command: tuple[str, ...]
    install: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    env_pass: tuple[str, ...] = ()
    modes: Mapping[str, str] = field(default_factory=dict)
    ask_env: Mapping[str, str] = field(default_factory=dict)
    timeout: float = TIMEOUT_SECONDS


def _known(name: str, command: str, install: str, ask: str = "", **ask_env: str) -> AgentDefinition:
    modes = {"ask": ask} if ask else {}
    return AgentDefinition(name, tuple(command.split()), install, modes=modes, ask_env=ask_env)


NPM = "npm install -g "
KNOWN: Final = (
    _known("claude", "claude-agent-acp", NPM + "@agentclientprotocol/claude-agent-acp", "default"),
    _known("codex", "codex-acp", NPM + "@agentclientprotocol/codex-acp", "read-only"),
    _known("copilot", "copilot --acp", NPM + "@github/copilot"),
    _known("gemini", "gemini --acp", NPM + "@google/gemini-cli", "default"),
    _known(
        "opencode", "opencode acp", NPM + "opencode-ai", "build", OPENCODE_PERMISSION=ASK_OPENCODE
    ),
    _known("qwen", "qwen --acp", NPM + "@qwen-code/qwen-code", "default"),
    _known("vibe", "vibe-acp", "pipx install mistral-vibe", "ask"),
)

Agents = Mapping[str, AgentDefinition]


def read_agents(settings: Mapping[str, Any]) -> Agents:
    """Return the known agents with the user's settings merged over them, and the user's own."""
    agents = {agent.name: agent for agent in KNOWN}
    for name, given in settings.items():
        agents[name] = _merged(agents.get(name) or AgentDefinition(name, ()), given)
    return agents


def _merged(agent: AgentDefinition, given: Mapping[str, Any]) -> AgentDefinition:
    command = given.get("command")
    if isinstance(command, str):
        command = shlex.split(command)
    return replace(
        agent,
        command=tuple(command or agent.command),
        env={str(k): str(v) for k, v in dict(given.get("env") or {}).items()},
        env_pass=tuple(given.get("env_pass") or ()),
        modes={**agent.modes, **dict(given.get("modes") or {})},
        timeout=float(given.get("timeout_s") or agent.timeout),
    )


def find_agent(agents: Agents, name: str) -> AgentDefinition:
    """Return the agent of this name; raises UserError that lists them."""
    agent = agents.get(name)
    if agent is None:
        raise UserError(f"Unknown agent {name}. Known: {', '.join(sorted(agents))}.")
    return agent


@frozen
class AgentProgram:
    """An agent that can be started: ``argv`` begins with an absolute path."""

    definition: AgentDefinition
    argv: tuple[str, ...]
    env: Mapping[str, str]


def resolve(
    agent: AgentDefinition, root: str, environ: Mapping[str, str] = os.environ
) -> AgentProgram:
    """Return the program of an agent for a workspace.

    Raises:
        UserError: it is not installed, or lies in the workspace.
    """
    if not agent.command:
        raise UserError(f"Agent {agent.name} has no command: set g:agentchat.agents.{agent.name}.")
    program, *arguments = agent.command
    program = os.path.expanduser(program)
    path = find_program(program, root)
    within = _inside(path or program, root)
    if path is None and not within:
        within = _find_inside(program, root, environ)
    if within:
        raise UserError(
            f"Agent {agent.name} is not started: its program lies in the workspace ({within})."
        )
    if path is None or not os.path.isabs(path):
        advice = f"Run: {agent.install}" if agent.install else f"Install {program}."
        raise UserError(f"Agent {agent.name} is not installed. {advice}")
    return AgentProgram(agent, (path, *arguments), environment(agent, environ))


def _inside(path: str, root: str) -> str:
    """Return a path if it is one inside the workspace, by its name or where it leads."""
    if "/" not in path:
        return ""
    full = os.path.join(root, path)
    for known in (os.path.abspath(full), os.path.realpath(full)):
        if os.path.commonpath([known, root]) == root:
            return known
    return ""


def _find_inside(name: str, root: str, environ: Mapping[str, str]) -> str:
    """Return the program of this name that the PATH has in the workspace, or relative to it."""
    for folder in environ.get("PATH", "").split(os.pathsep):
        path = os.path.join(root, folder, name)
        if os.access(path, os.X_OK) and _inside(path, root):
            return path
    return ""


def environment(agent: AgentDefinition, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for an agent: few of ours, those that the user names, those it sets."""
    kept = {name: value for name, value in environ.items() if _is_passed(agent, name)}
    return {**kept, **agent.ask_env, **agent.env}


def _is_passed(agent: AgentDefinition, name: str) -> bool:
    if name in VARIABLES or name.startswith(PREFIXES) or name in agent.env_pass:
        return True
    beginnings = (each[:-1] for each in agent.env_pass if each.endswith("*"))
    return any(name.startswith(beginning) for beginning in beginnings)


def list_states(agents: Agents, root: str) -> list[tuple[str, str]]:
    """Return each agent with what a choice shows of it: ``ready``, or why it cannot be started."""
    real = os.path.realpath(root)
    return [(name, _state(agent, real)) for name, agent in sorted(agents.items())]


def _state(agent: AgentDefinition, root: str) -> str:
    try:
        resolve(agent, root)
    except UserError as error:
        return str(error)
    return "ready"
