"""Puts ``python3/`` on the path, which a remote plugin host does not do, and loads the plugin."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python3"))

from agentchat.nvim.plugin import AgentChat

__all__ = ["AgentChat"]
