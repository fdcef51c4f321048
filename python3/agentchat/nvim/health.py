"""What ``:checkhealth agentchat`` asks of Python: model, rules and sandbox, without a host."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agentchat.agent.permissions.rule_store import RuleReading, RuleStore
from agentchat.core.errors import UserError
from agentchat.core.tools.ports import SandboxSetting
from agentchat.models.offline import OfflineModel
from agentchat.models.select import choose_model
from agentchat.nvim.settings import Settings, read_settings
from agentchat.workspace.process.sandbox import AUTO, IMPOSSIBLE, OFF, Sandbox

Line = tuple[str, str]
"""How bad it is (``ok``, ``info``, ``warn`` or ``error``), and what the user reads."""


def main(given: str) -> None:
    """Print what there is to say as JSON: a list of lines for each part.

    Args:
        given: JSON of ``settings`` as a chat gets them, ``config``: Neovim's folder of the
            user's configuration, ``trust``: the file of what is trusted, ``root``: the workspace.
    """
    asked = json.loads(given)
    settings = read_settings(asked["settings"])
    parts = {
        "model": list(model_lines(settings.model, os.environ)),
        "rules": list(rule_lines(settings, asked)),
        "sandbox": [sandbox_line(asked["root"], settings.sandbox)],
    }
    json.dump(parts, sys.stdout)


def model_lines(settings: Mapping[str, Any], environ: Mapping[str, str]) -> Iterator[Line]:
    """Yield what a new chat talks to, or what is missing for that."""
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


def rule_lines(settings: Settings, asked: Mapping[str, str]) -> Iterator[Line]:
    """Yield what is wrong with rules, in the settings and in both files, or how many there are."""
    book = RuleStore(asked["root"], Path(asked["config"]), Path(asked["trust"]))
    book.settings = RuleReading(settings.rules, settings.rule_problems)
    found = book.read()
    yield from (("error", problem) for problem in found.problems)
    yield from (("warn", line) for line in found.remarks if line not in found.problems)
    if not found.problems:
        yield "ok", f"{len(found.rules)} in force here" if found.rules else "none of your own"


def sandbox_line(root: str, wanted: SandboxSetting) -> Line:
    """Return how commands are confined here, or could be."""
    way = Sandbox(root, AUTO if wanted == OFF else wanted).describe()
    if wanted == OFF:
        able = f"one could be had here: a command then {way}" if way else "none can be had here"
        return "info", f"off; {able}"
    if way == IMPOSSIBLE:
        return "error", way
    return ("ok", f"{wanted}: a command {way}") if way else ("warn", f"{wanted}: none works here")
