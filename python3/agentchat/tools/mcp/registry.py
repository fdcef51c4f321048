"""The servers of each project: read from the settings and files, kept while they are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentchat.core.frozen import frozen
from agentchat.rpc.background import BackgroundTasks
from agentchat.tools.custom.process.worker import Groups
from agentchat.tools.mcp.config import (
    PROJECT_FILES,
    USER_FILE,
    ConfigProblem,
    ConfigSource,
    ServerConfig,
    parse_file,
    parse_settings,
)
from agentchat.tools.mcp.servers import McpServer
from agentchat.tools.mcp.worker import McpWorker
from agentchat.tools.trust import Source, is_trusted, read_source, read_trust, stamp

Stamp = tuple[Any, ...]


@dataclass
class ProjectServers:
    """The servers of one project by name, and what is wrong with its configuration."""

    root: Path
    servers: dict[str, McpServer] = field(default_factory=dict)
    problems: tuple[ConfigProblem, ...] = ()
    untrusted: tuple[Path, ...] = ()
    settings: Any = None
    read: Stamp | None = None


@frozen
class Configuration:
    """What settings and files say of a project's servers; ``untrusted`` files were not read."""

    servers: Mapping[str, ServerConfig]
    problems: tuple[ConfigProblem, ...]
    untrusted: tuple[Path, ...]


class ServerRegistry:
    """All servers of this process.

    Args:
        config: the folder of the user's Neovim configuration.
        trust: the file of Neovim's trust database.
        tokens: the folder for the tokens of logins.
        on_login: called with the name of a server and the address at which the user logs in.
        on_change: called with the project whose servers or tools changed.
    """

    def __init__(
        self,
        groups: Groups,
        *,
        config: Path,
        trust: Path,
        tokens: Path,
        on_change: Callable[[Path], None],
        on_login: Callable[[str, str], None],
    ) -> None:
        self._worker = McpWorker(groups, self._take_report, self._take_worker_end)
        self._config = config
        self._trust = trust
        self._tokens = tokens
        self._on_change = on_change
        self._on_login = on_login
        self._projects: dict[Path, ProjectServers] = {}
        self._tasks = BackgroundTasks()

    @property
    def projects(self) -> tuple[ProjectServers, ...]:
        """The projects in use."""
        return tuple(self._projects.values())

    def project(self, root: Path) -> ProjectServers | None:
        """Return a project that is in use."""
        return self._projects.get(root)

    def update(self, root: Path, settings: Any) -> ProjectServers:
        """Return the servers of a project; read their configuration again if it changed.

        A server whose configuration changed is ended; a new one starts in the background.
        """
        project = self._projects.setdefault(root, ProjectServers(root))
        now = self._stamp(root, settings)
        if now != project.read:
            project.settings, project.read = settings, now
            self._read(project)
            self._on_change(root)
        return project

    def refresh(self, root: Path) -> ProjectServers:
        """Return the servers of a project, with the settings it had last."""
        known = self._projects.get(root)
        return self.update(root, known.settings if known is not None else None)

    def close(self) -> None:
        """End all servers."""
        self._worker.close()

    def _stamp(self, root: Path, settings: Any) -> Stamp:
        return (repr(settings), *stamp([*_files(root, self._config), self._trust]))

    def _read(self, project: ProjectServers) -> None:
        found = read_configuration(
            project.root, project.settings, config=self._config, trust=self._trust
        )
        project.problems, project.untrusted = found.problems, found.untrusted
        self._replace(project, found.servers)

    def _replace(self, project: ProjectServers, configs: Mapping[str, ServerConfig]) -> None:
        kept = {
            name: server
            for name, server in project.servers.items()
            if configs.get(name) == server.config
        }
        for name, server in project.servers.items():
            if name not in kept:
                self._tasks.start(server.stop())
        project.servers = {
            name: kept.get(name)
            or McpServer(config, self._worker, self._report_change, self._tokens)
            for name, config in configs.items()
        }
        for name, server in project.servers.items():
            if name not in kept and not server.config.disabled:
                server.start_soon()

    def _report_change(self, server: McpServer) -> None:
        self._on_change(Path(server.config.root))

    async def _take_report(self, method: str, params: Mapping[str, Any]) -> Any:
        """Take what the worker reports of a server."""
        server = self._find(params["key"])
        if server is None:
            return None
        if method == "changed":
            server.take_lists({name: value for name, value in params.items() if name != "key"})
        elif method == "elicit":
            return await server.elicit(params)
        elif method == "login":
            self._on_login(server.name, params["url"])
        elif method == "ended":
            server.take_end(params["reason"])
        return None

    def _take_worker_end(self, how: str) -> None:
        for project in self.projects:
            for server in project.servers.values():
                server.take_end(f"MCP server {server.name}: the worker for MCP {how}.")

    def _find(self, key: str) -> McpServer | None:
        servers = (server for project in self.projects for server in project.servers.values())
        return next((server for server in servers if server.key == key), None)


def read_configuration(root: Path, settings: Any, *, config: Path, trust: Path) -> Configuration:
    """Return what is configured for a project; nothing is started.

    Args:
        config: the folder of the user's Neovim configuration.
        trust: the file of Neovim's trust database.
    """
    sources = [parse_settings(settings, str(root))]
    untrusted = []
    trusted = read_trust(trust)
    for path in _files(root, config):
        source = _read_file(path)
        if isinstance(source, ConfigSource):
            sources.append(source)
        elif source is None:
            continue
        elif path.is_relative_to(root) and not is_trusted(source, root, trusted):
            untrusted.append(path)
        else:
            sources.append(parse_file(source.data, path, str(root)))
    problems = tuple(problem for source in sources for problem in source.problems)
    return Configuration(merge(source.servers for source in sources), problems, tuple(untrusted))


def merge(sources: Iterable[Mapping[str, ServerConfig]]) -> dict[str, ServerConfig]:
    """Return the servers of all sources; of those with one name the first."""
    merged: dict[str, ServerConfig] = {}
    for servers in sources:
        for name, config in servers.items():
            merged.setdefault(name, config)
    return merged


def _files(root: Path, config: Path) -> list[Path]:
    user = [config / USER_FILE] if config.is_absolute() else []
    return [*user, *(root / path for path in PROJECT_FILES)]


def _read_file(path: Path) -> Source | ConfigSource | None:
    try:
        return read_source(path)
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        return None
    except OSError as error:
        text = error.strerror or str(error)
        return ConfigSource(problems=(ConfigProblem(str(path), text),))
