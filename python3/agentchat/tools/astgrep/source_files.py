"""Select the files of a structural search by path or pattern, glob and language."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator

from agentchat.core.errors import ToolError
from agentchat.core.frozen import frozen
from agentchat.core.globs import matcher
from agentchat.core.permissions.sensitive_paths import is_secret
from agentchat.core.tools.tool import ToolContext
from agentchat.core.workspace import FileTarget, Workspace
from agentchat.tools.astgrep.program import SourceSelection
from agentchat.tools.files import locate_existing
from agentchat.tools.format import path_sort_key
from agentchat.tools.search.walk import list_files

_EXTENSIONS = {
    "bash": "bash bats cgi command fcgi ksh sh tmux tool zsh",
    "c": "c h",
    "cpp": "c++ cc cpp cu cxx hh hpp ino",
    "csharp": "cs",
    "css": "css",
    "dart": "dart",
    "elixir": "ex exs",
    "go": "go",
    "haskell": "hs",
    "hcl": "hcl nomad tf tfvars workflow",
    "html": "htm html xhtml",
    "java": "java",
    "javascript": "cjs js jsx mjs",
    "json": "json",
    "kotlin": "kt ktm kts",
    "lua": "lua",
    "nix": "nix",
    "php": "php",
    "python": "bzl py py3 pyi",
    "ruby": "gemspec rb rbw",
    "rust": "rs",
    "scala": "sbt sc scala",
    "solidity": "sol",
    "swift": "swift",
    "tsx": "tsx",
    "typescript": "cts mts ts",
    "yaml": "yaml yml",
    "zig": "zig",
}
_OTHER_NAMES = {
    "c#": "csharp",
    "c++": "cpp",
    "golang": "go",
    "javascriptreact": "javascript",
    "node": "javascript",
    "shell": "bash",
    "terraform": "hcl",
    "typescriptreact": "tsx",
}
_BY_EXTENSION = {
    extension: language for language, names in _EXTENSIONS.items() for extension in names.split()
}

DATA = frozenset({"css", "hcl", "html", "json", "yaml"})
"""Languages that are searched only if the call names them."""


def parse_language(name: str) -> str:
    """Return the language of a name, an alias or an extension; raises ToolError."""
    text = name.strip().lower().removeprefix(".")
    if text in _EXTENSIONS:
        return text
    language = _OTHER_NAMES.get(text) or _BY_EXTENSION.get(text)
    if language is None:
        known = ", ".join(_EXTENSIONS)
        raise ToolError(f'Unknown language "{name}". Known languages: {known}.')
    return language


def language_of(path: str) -> str | None:
    """Return the language of a file by its extension, if it is known."""
    return _BY_EXTENSION.get(path.rpartition("/")[2].rpartition(".")[2].lower())


_WILD = re.compile(r"[*?\[{]")


@frozen
class SearchScope:
    """The files that a call names; ``path`` is a pattern if no file has that name."""

    path: str
    glob: str | None
    lang: str | None


@frozen
class _Folder:
    """A directory, and a filter for paths below it."""

    path: str
    matches: Callable[[str], bool]


def literal_folder(path: str) -> str:
    """Return the leading folders of a path without a wildcard; ``.`` if there are none."""
    wildcard = _WILD.search(path)
    if wildcard is None:
        return path
    return path[: wildcard.start()].rpartition("/")[0] or ("/" if path.startswith("/") else ".")


async def select_sources(scope: SearchScope, context: ToolContext) -> list[SourceSelection]:
    """Return the files to search, by language; raises ToolError.

    The text of an unsaved buffer replaces its file. Secrets files are left out unless they are
    named.
    """
    language = parse_language(scope.lang) if scope.lang else None
    if await _is_literal(scope.path, context.workspace):
        target, kind = await locate_existing(scope.path, context)
        if kind == "other":
            raise ToolError(f"Path is a device, socket or pipe: {target.display_path}")
        if kind == "file":
            return await _select_file(target, language, context.workspace)
        prefix = "" if target.display_path == "." else target.display_path
        folder = _Folder(target.path, matcher(scope.glob or "*", prefix))
    else:
        base = literal_folder(scope.path)
        target, _ = await locate_existing(base, context)
        rest = scope.path.removeprefix(base).lstrip("/") if base != "." else scope.path
        folder = _Folder(target.path, _pattern_filter(rest.removeprefix("./"), scope.glob or "*"))
    return await _select_by_language(folder, language, scope.glob or scope.path, context)


async def _is_literal(path: str, workspace: Workspace) -> bool:
    """Whether the path is literal: it has no wildcard, or a file has this name."""
    if not _WILD.search(path):
        return True
    return await workspace.kind((await workspace.locate(path)).path) is not None


def _pattern_filter(pattern: str, glob: str) -> Callable[[str], bool]:
    """Return a filter for paths that match both, or match the glob below a matching folder."""
    matches, matches_glob = matcher(f"./{pattern.rstrip('/')}"), matcher(glob)

    def is_selected(name: str) -> bool:
        if matches(name):
            return matches_glob(name)
        slashes = (index for index, char in enumerate(name) if char == "/")
        return any(matches(name[:index]) and matches_glob(name[index + 1 :]) for index in slashes)

    return is_selected


async def _select_file(
    target: FileTarget, language: str | None, workspace: Workspace
) -> list[SourceSelection]:
    """Return the one file that the call names; ``language`` overrides its extension."""
    path = target.path
    by_extension = language_of(path)
    language = language or by_extension
    if language is None:
        raise ToolError(f"The language of {target.display_path} is not known. Give lang.")
    text = (await workspace.unsaved()).get(path)
    if text is None and language != by_extension:
        text = await workspace.read(path)
    if text is not None:
        return [SourceSelection(language, (), ((path, text),))]
    return [SourceSelection(language, (path,))]


async def _select_by_language(
    folder: _Folder, only: str | None, pattern: str, context: ToolContext
) -> list[SourceSelection]:
    workspace = context.workspace
    prefix = folder.path.rstrip("/") + "/"
    unsaved = {
        path.removeprefix(prefix): text
        for path, text in (await workspace.unsaved()).items()
        if path.startswith(prefix)
    }
    names = {*await list_files(folder.path, workspace), *unsaved}
    paths: dict[str, list[str]] = {}
    texts: dict[str, list[tuple[str, bytes]]] = {}
    for name in _allowed(folder, names, context):
        language = language_of(name)
        if language is None or not (
            only == language if only else _is_code(language, name, pattern)
        ):
            continue
        if name in unsaved:
            texts.setdefault(language, []).append((prefix + name, unsaved[name]))
        else:
            paths.setdefault(language, []).append(prefix + name)
    return [
        SourceSelection(language, tuple(paths.get(language, ())), tuple(texts.get(language, ())))
        for language in sorted({*paths, *texts})
    ]


def _is_code(language: str, name: str, pattern: str) -> bool:
    """Whether a file is searched without a language: data only if the pattern names it."""
    extension = name.rpartition(".")[2]
    return language not in DATA or f".{extension}" in pattern


def _allowed(folder: _Folder, names: set[str], context: ToolContext) -> Iterator[str]:
    inside = context.workspace.root.rstrip("/") + "/"
    for name in sorted(names, key=path_sort_key):
        shown = os.path.join(folder.path, name).removeprefix(inside)
        parts = shown.split("/")
        if (
            _is_line_of_text(name)
            and folder.matches(name)
            and not is_secret(parts)
            and ".git" not in parts
            and not context.is_restricted(shown)
        ):
            yield name


def _is_line_of_text(name: str) -> bool:
    """Whether a name survives the way to the program and back: one line of valid Unicode."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return "\n" not in name
