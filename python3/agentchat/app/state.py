"""The folders in which the plugin keeps its own files, and its log."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path

from agentchat.app.settings import Settings
from agentchat.core.errors import UserError
from agentchat.core.frozen import frozen
from agentchat.journal.file import SecretMask
from agentchat.models.learned import LearnedServers


class LogFormatter(logging.Formatter):
    """Formats a log entry, traceback included, without the secrets."""

    def __init__(self, secrets: SecretMask) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        """Return a masked entry."""
        text: str = self._secrets.mask(super().format(record))
        return text


@frozen
class State:
    """The folders of the plugin and of Neovim.

    Args:
        folder: where the plugin keeps its own files.
        runtime: the directories that Neovim loads code from.
        config: the folder of the user's Neovim configuration.
        secrets: values that never appear in the log.
        learned: what was learned of model servers.
    """

    folder: Path = Path()
    runtime: tuple[str, ...] = ()
    config: Path = Path()
    secrets: SecretMask = field(default_factory=SecretMask)
    learned: LearnedServers = field(default_factory=LearnedServers)

    def guarded(self, settings: Settings, root: str) -> tuple[str, ...]:
        """Return what Neovim, the plugin or the user's settings run in a workspace: it always asks.

        Folders stand for all that is in them.
        """
        tool_paths = map(os.path.expanduser, settings.tool_paths)
        scripts = _scripts_of_servers(settings.mcp_servers, root)
        return (*self.runtime, str(self.folder), *tool_paths, *scripts)

    @property
    def log_file(self) -> Path:
        """The log, with tracebacks."""
        return self.folder / "log"

    @property
    def agent_sockets(self) -> Path:
        """The folder with the sockets at which agents of other programs reach a Neovim."""
        return self.folder / "agents"

    @property
    def trust_file(self) -> Path:
        """Neovim's trust database."""
        return self.folder.parent / "trust"

    def prepare(self) -> None:
        """Make the folder, readable by the user only, and start the log in it.

        Raises:
            UserError: nothing can be written there.
        """
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handler = logging.FileHandler(
                self.log_file, encoding="utf-8", errors="backslashreplace"
            )
        except OSError as error:
            problem = f"{error.strerror}: {error.filename}"
            raise UserError(
                f"Chats cannot be saved ({problem}). Make the folder writable, "
                "or set $XDG_STATE_HOME to one that is."
            ) from error
        handler.setFormatter(LogFormatter(self.secrets))
        logging.basicConfig(handlers=[handler], level=logging.INFO, force=True)


def _scripts_of_servers(servers: object, root: str) -> Iterator[str]:
    """Yield what may be a file in the commands of the user's own MCP servers."""
    for server in servers.values() if isinstance(servers, Mapping) else ():
        fields = server if isinstance(server, Mapping) else {}
        args = fields.get("args")
        words = [fields.get("command"), *(args if isinstance(args, (list, tuple)) else ())]
        for word in (os.path.expanduser(word) for word in words if isinstance(word, str)):
            if ("/" in word or "." in word) and not os.path.isdir(os.path.join(root, word)):
                yield word


def find_state(environ: Mapping[str, str]) -> State:
    """Return the folders that the plugin has in a Neovim with this environment."""
    name = environ.get("NVIM_APPNAME") or "nvim"
    home = Path(environ.get("HOME") or Path.home())
    state = Path(environ.get("XDG_STATE_HOME") or home / ".local" / "state")
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / name
    return State(state / name / "agentchat", runtime=(str(config),), config=config)
