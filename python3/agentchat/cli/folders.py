"""The folders of Neovim as ``stdpath`` would name them, for a process that Neovim did not start."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Folders:
    """Where the plugin keeps its own files, and where the user's configuration is."""

    state: Path
    config: Path

    @property
    def trust_file(self) -> Path:
        """Neovim's trust database."""
        return self.state.parent / "trust"


def find_folders() -> Folders:
    """Return the folders for this user and this ``$NVIM_APPNAME``."""
    app = os.environ.get("NVIM_APPNAME") or "nvim"
    state = _base("XDG_STATE_HOME", ".local/state") / app / "agentchat"
    return Folders(state, _base("XDG_CONFIG_HOME", ".config") / app)


def _base(variable: str, default: str) -> Path:
    value = os.environ.get(variable, "")
    return Path(value) if value.startswith("/") else Path.home() / default
