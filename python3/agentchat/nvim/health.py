"""The Python part of ``:checkhealth agentchat``: what is set up and works, without a host."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agentchat.agent.permissions.rule_store import RuleReading, RuleStore
from agentchat.app.settings import Settings, read_settings
from agentchat.app.workspaces import OVERLAYS
from agentchat.core.errors import Unreachable, UserError
from agentchat.core.permissions.isolation import Unasked
from agentchat.core.text import escape_hidden_characters
from agentchat.core.workspace import SandboxSetting
from agentchat.models.offline import OfflineModel
from agentchat.models.select import choose_model
from agentchat.tools.format import count_summary
from agentchat.tools.mcp.config import ConfigError, ServerConfig
from agentchat.tools.mcp.registry import read_configuration
from agentchat.workspace.local import LocalWorkspace
from agentchat.workspace.overlay.folder import OverlayFolder
from agentchat.workspace.overlay.launcher import OverlayLauncher
from agentchat.workspace.overlay.workspace import OverlayWorkspace
from agentchat.workspace.process.sandbox import AUTO, IMPOSSIBLE, OFF, Sandbox

Line = tuple[str, str]
"""A level (``ok``, ``info``, ``warn`` or ``error``) and a text for the user."""


READERS = "commands that only read run without a question, others ask"


def main(given: str) -> None:
    """Print the lines of each part as JSON.

    Args:
        given: JSON with the ``settings`` of a chat, ``config``: the folder of the user's Neovim
            configuration, ``trust``: the file of Neovim's trust database, ``root``: the workspace,
            ``state``: the folder of the plugin's own files, ``servers``: the MCP servers by name
            with ``state``, ``tools`` and ``problem``, if a host runs.
    """
    request = json.loads(given)
    settings = read_settings(request["settings"])
    parts = {
        "model": list(model_lines(settings.model, os.environ)),
        "rules": list(rule_lines(settings, request)),
        "mcp": list(mcp_lines(settings, request)),
        "sandbox": [sandbox_line(request["root"], settings.sandbox)],
    }
    parts["stage"] = [asyncio.run(stage_line(request["root"], Path(request["state"])))]
    parts["commands"] = [commands_line(settings.unasked, parts["stage"][0])]
    json.dump(parts, sys.stdout)


def model_lines(settings: Mapping[str, Any], environ: Mapping[str, str]) -> Iterator[Line]:
    """Yield the model of a new chat, or what is missing."""
    try:
        model = choose_model(settings, environ)
    except UserError as error:
        yield "error", str(error)
        return
    if isinstance(model, OfflineModel):
        connect = "set $OPENAI_API_KEY, or g:agentchat.model, to connect one"
        yield "info", f"the built-in offline model: {connect}"
    else:
        yield "ok", f"{model.name} at {model.base_url}"


def rule_lines(settings: Settings, request: Mapping[str, str]) -> Iterator[Line]:
    """Yield the problems of the rules in settings and files, or their number."""
    store = RuleStore(request["root"], Path(request["config"]), Path(request["trust"]))
    store.settings = RuleReading(settings.rules, settings.rule_problems)
    reading = store.read()
    yield from (("error", problem) for problem in reading.problems)
    yield from (("warn", line) for line in reading.remarks if line not in reading.problems)
    if not reading.problems:
        yield "ok", f"{len(reading.rules)} in force here" if reading.rules else "none of your own"


def mcp_lines(settings: Settings, request: Mapping[str, Any]) -> Iterator[Line]:
    """Yield a line for each MCP server, each mistake, and each file that waits for trust."""
    config, trust = Path(request["config"]), Path(request["trust"])
    found = read_configuration(
        Path(request["root"]), settings.mcp_servers, config=config, trust=trust
    )
    yield from (("error", str(problem)) for problem in found.problems)
    for path in found.untrusted:
        yield "warn", f"not trusted, so not used: {path}. Run :AgentMcp trust"
    live = request.get("servers") or {}
    for name, server in found.servers.items():
        yield server_line(server, os.environ, live.get(name) or {})
    if not (found.servers or found.problems or found.untrusted):
        yield "info", "none configured; see :help agentchat-mcp"


def server_line(server: ServerConfig, environ: Mapping[str, str], live: Mapping[str, Any]) -> Line:
    """Return what an MCP server is and does, or why it cannot start; ``live`` may be empty."""
    identity = f"{server.name}: {escape_hidden_characters(server.identity)}"
    try:
        expanded = server.expand(environ)
    except ConfigError as error:
        return "error", f"{server.place}: {server.name}: {error}"
    if expanded.command and not _is_program(expanded, environ):
        command = escape_hidden_characters(server.command)
        return "error", f"{server.place}: {server.name}: {command} does not exist"
    match live.get("state"):
        case "failed":
            problem = escape_hidden_characters(live["problem"])
            return "error", f"{identity}: {problem} See :AgentMcp log {server.name}"
        case "running":
            return "ok", f"{identity} (running, {count_summary(live['tools'], 'tool')})"
        case "starting":
            return "info", f"{identity} (starting)"
    return ("info", f"{identity} (disabled)") if server.disabled else ("ok", identity)


def _is_program(server: ServerConfig, environ: Mapping[str, str]) -> bool:
    path = server.env.get("PATH") or environ.get("PATH")
    command = server.command
    if os.path.dirname(command):
        command = os.path.join(server.cwd, command)
    return shutil.which(command, path=path) is not None


def sandbox_line(root: str, mode: SandboxSetting) -> Line:
    """Return how commands are confined here, or could be."""
    effect = Sandbox(root, AUTO if mode == OFF else mode).describe()
    if mode == OFF:
        text = f"available here: a command then {effect}" if effect else "none works here"
        return "info", f"off; {text}"
    if effect == IMPOSSIBLE:
        return "error", effect
    return ("ok", f"{mode}: a command {effect}") if effect else ("warn", f"{mode}: none works here")


def commands_line(unasked: Unasked, stage: Line) -> Line:
    """Return which commands run without a question, and why; ``stage``: whether overlays work."""
    if unasked == "none":
        return "info", 'every command asks (commands.unasked = "none")'
    if unasked == "readers":
        return "info", f'{READERS} (commands.unasked = "readers")'
    if stage[0] == "ok":
        return "ok", "commands run isolated without a question; what they changed asks"
    return "warn", f"{READERS}: they cannot run isolated. {stage[1]}"


async def stage_line(root: str, state: Path) -> Line:
    """Return whether overlays work here, or why they do not."""
    folder = OverlayFolder(state / OVERLAYS / f"health-{os.getpid()}")
    launcher = OverlayLauncher(root, folder, hidden=(str(state),))
    overlay = OverlayWorkspace(launcher, LocalWorkspace(root))
    try:
        await overlay.ready()
    except Unreachable as error:
        return "warn", str(error)
    finally:
        await overlay.close()
    return "ok", "overlays work, by user and mount namespaces of Linux"
