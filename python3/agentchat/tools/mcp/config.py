"""The configuration of MCP servers: in the user's settings and in files of JSON."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from agentchat.core.frozen import frozen

SETTING = "g:agentchat.mcp.servers"
USER_FILE = Path("agentchat", "mcp.json")
PROJECT_FILES = (Path(".mcp.json"), Path(".vscode", "mcp.json"), Path(".cursor", "mcp.json"))
"""Files of a project, the strongest first; each needs the user's trust."""

TABLES = ("mcpServers", "servers")
"""The key of a file under which its servers are."""

KEYS = frozenset(
    {"type", "command", "args", "env", "cwd", "url", "headers", "timeout", "disabled"}
    | {"oauth", "start_timeout"}
)
TRANSPORTS = {"stdio": "stdio", "http": "http", "streamable-http": "http", "sse": "sse"}
CALL_SECONDS = 120.0
START_SECONDS = 30.0

NAME = re.compile(r"\w(?:[\w.-]*\w)?")
"""What can be mentioned."""
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_]\w*)(?::-([^}]*))?\}")
_FOLDER = "${workspaceFolder}"


class ConfigError(Exception):
    """A server is not configured properly; the message says what to change."""


@frozen
class ServerConfig:
    """One server as it is written: ``${VAR}`` is not expanded, so it can be shown.

    ``place`` is where it is written, ``root`` the project of the chat. Times are seconds.
    """

    name: str
    place: str
    root: str
    transport: str = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float = CALL_SECONDS
    start_timeout: float = START_SECONDS
    disabled: bool = False
    oauth: Mapping[str, Any] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """What the server is, for the user: its command with arguments, or its URL."""
        return self.url or " ".join([self.command, *self.args])

    def expand(self, environ: Mapping[str, str]) -> ServerConfig:
        """Return the configuration with the values of variables; raises ConfigError."""

        def expand(text: str) -> str:
            return expand_variables(text, environ, self.root)

        cwd = os.path.join(self.root, os.path.expanduser(expand(self.cwd)))
        return ServerConfig(
            name=self.name,
            place=self.place,
            root=self.root,
            transport=self.transport,
            command=os.path.expanduser(expand(self.command)),
            args=tuple(map(expand, self.args)),
            env={key: expand(value) for key, value in self.env.items()},
            cwd=cwd.rstrip("/") or "/",
            url=expand(self.url),
            headers={key: expand(value) for key, value in self.headers.items()},
            timeout=self.timeout,
            start_timeout=self.start_timeout,
            disabled=self.disabled,
            oauth=self.oauth,
        )

    @property
    def fingerprint(self) -> str:
        """A hash of what the server is: call it on the expanded configuration."""
        text = json.dumps([self.transport, self.command, self.args, self.cwd, self.url])
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@frozen
class ConfigProblem:
    """Why a server, or a file, cannot be used; ``place`` names file and line."""

    place: str
    text: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"


@frozen
class ConfigSource:
    """The servers of the settings or of one file, by name, with what is wrong there."""

    servers: Mapping[str, ServerConfig] = field(default_factory=dict)
    problems: tuple[ConfigProblem, ...] = ()


def expand_variables(text: str, environ: Mapping[str, str], root: str) -> str:
    """Return a text with ``${VAR}`` replaced; raises ConfigError that names what is not set."""

    def value(match: re.Match[str]) -> str:
        name, default = match.groups()
        found = environ.get(name)
        if found is None and default is None:
            raise ConfigError(f"${{{name}}} is not set: set it in the environment of Neovim.")
        return found or default or ""

    text = _VARIABLE.sub(value, text.replace(_FOLDER, root))
    if "${input:" in text:
        raise ConfigError("${input:…} is a question of VS Code: use ${VAR} instead.")
    return text


def parse_settings(servers: Any, root: str) -> ConfigSource:
    """Return the servers in the user's settings."""
    return _parse_servers(servers, root, SETTING, lambda name: f"{SETTING}.{name}")


def parse_file(data: bytes, path: Path, root: str) -> ConfigSource:
    """Return the servers in a file, whose JSON may have comments and commas at the end."""
    try:
        text = strip_comments(data.decode("utf-8-sig"))
        contents = json.loads(text)
    except UnicodeDecodeError:
        return ConfigSource(problems=(ConfigProblem(str(path), "it is not UTF-8"),))
    except RecursionError:
        return ConfigSource(problems=(ConfigProblem(str(path), "it is nested too deeply"),))
    except json.JSONDecodeError as error:
        place = f"{path}:{error.lineno}"
        return ConfigSource(problems=(ConfigProblem(place, f"not valid JSON: {error.msg}"),))
    table = contents if isinstance(contents, Mapping) else {}
    servers = next((table[key] for key in TABLES if key in table), None)
    if servers is None:
        text = f'it has no table "{TABLES[0]}"'
        return ConfigSource(problems=(ConfigProblem(f"{path}:1", text),))
    return _parse_servers(servers, root, f"{path}:1", lambda name: f"{path}:{_line(text, name)}")


def _parse_servers(servers: Any, root: str, top: str, place: Callable[[str], str]) -> ConfigSource:
    if servers in (None, [], {}):
        return ConfigSource()
    if not isinstance(servers, Mapping):
        return ConfigSource(problems=(ConfigProblem(top, "must be a table of servers by name."),))
    found: dict[str, ServerConfig] = {}
    problems = []
    for name, item in servers.items():
        where = place(str(name))
        try:
            found[str(name)] = parse_server(str(name), item, where, root)
        except ConfigError as error:
            problems.append(ConfigProblem(where, f"{name}: {error}", str(name)))
    return ConfigSource(found, tuple(problems))


def parse_server(name: str, item: Any, place: str, root: str) -> ServerConfig:
    """Return one server; raises ConfigError."""
    if not NAME.fullmatch(name) or "__" in name or len(name) > 32:
        raise ConfigError('a name is up to 32 letters, digits, "_", "-" and ".", without "__".')
    if not isinstance(item, Mapping):
        raise ConfigError('must be a table like { command = "npx", args = { … } }.')
    command, url = item.get("command") or "", item.get("url") or ""
    if not isinstance(command, str) or not isinstance(url, str) or bool(command) == bool(url):
        raise ConfigError('needs either "command" or "url", a string.')
    kind = item.get("type") or ("stdio" if command else "http")
    if kind not in TRANSPORTS or (TRANSPORTS[kind] == "stdio") != bool(command):
        raise ConfigError(f"type {kind!r} does not fit: use one of {', '.join(TRANSPORTS)}.")
    if url and not re.match(r"https?://[^/]", _VARIABLE.sub("x", url)) and "${" not in url:
        raise ConfigError("url must begin with https:// or http://.")
    return ServerConfig(
        name=name,
        place=place,
        root=root,
        transport=TRANSPORTS[kind],
        command=command,
        args=tuple(_texts(item, "args")),
        env=_text_table(item, "env"),
        cwd=_text(item, "cwd"),
        url=url,
        headers=_text_table(item, "headers"),
        timeout=_seconds(item, "timeout", CALL_SECONDS),
        start_timeout=_seconds(item, "start_timeout", START_SECONDS),
        disabled=bool(item.get("disabled")),
        oauth=item["oauth"] if isinstance(item.get("oauth"), Mapping) else {},
    )


def _text(item: Mapping[str, Any], key: str) -> str:
    value = item.get(key) or ""
    if not isinstance(value, str):
        raise ConfigError(f"{key} must be a string.")
    return value


def _texts(item: Mapping[str, Any], key: str) -> Iterator[str]:
    value = item.get(key) or ()
    if isinstance(value, (str, Mapping)) or not all(isinstance(v, (str, int)) for v in value):
        raise ConfigError(f"{key} must be a list of strings.")
    return map(str, value)


def _text_table(item: Mapping[str, Any], key: str) -> dict[str, str]:
    value = item.get(key) or {}
    scalar = (str, int, float)
    if not isinstance(value, Mapping) or not all(isinstance(v, scalar) for v in value.values()):
        raise ConfigError(f"{key} must be a table of strings.")
    return {str(name): str(text) for name, text in value.items()}


def _seconds(item: Mapping[str, Any], key: str, default: float) -> float:
    value = item.get(key, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise ConfigError(f"{key} must be a number of seconds.")
    return float(value)


_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])', re.DOTALL)


def strip_comments(text: str) -> str:
    """Return JSON with comments as plain JSON of the same lines."""
    text = _TOKEN.sub(_keep_strings, text)
    # A comment may have stood between a last comma and the bracket.
    return _TOKEN.sub(_keep_strings, text)


def _keep_strings(match: re.Match[str]) -> str:
    return match[0] if match[0].startswith('"') else "\n" * match[0].count("\n")


def _line(text: str, name: str) -> int:
    """Return the line of a server in a file, 1 if it cannot be found."""
    found = re.search(re.escape(json.dumps(name, ensure_ascii=False)) + r"\s*:", text)
    return text.count("\n", 0, found.start()) + 1 if found else 1
