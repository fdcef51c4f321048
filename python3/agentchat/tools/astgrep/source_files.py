"""Which files a structural search looks at: a path that may be a pattern, a glob, a language."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agentchat.core.errors import ToolError
from agentchat.core.globs import matcher
from agentchat.core.permissions.sensitive_paths import is_secret
from agentchat.core.tools.ports import FileTarget, Workspace
from agentchat.core.tools.tool import ToolContext
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
    extension: language for language, all_of in _EXTENSIONS.items() for extension in all_of.split()
}

DATA = frozenset({"css", "hcl", "html", "json", "yaml"})
"""Languages that are only searched where they are asked for by name."""


def language(name: str) -> str:
    """Return the language that a name, another name or an extension means; raises ToolError."""
    wanted = name.strip().lower().removeprefix(".")
    if wanted in _EXTENSIONS:
        return wanted
    found = _OTHER_NAMES.get(wanted) or _BY_EXTENSION.get(wanted)
    if found is None:
        known = ", ".join(_EXTENSIONS)
        raise ToolError(f'Unknown language "{name}". Known languages: {known}.')
    return found


def language_of(path: str) -> str | None:
    """Return the language of a file by its extension, if it is known."""
    return _BY_EXTENSION.get(path.rpartition("/")[2].rpartition(".")[2].lower())


_WILD = re.compile(r"[*?\[{]")


@dataclass(frozen=True, slots=True)
class SearchScope:
    """What the call says about files; ``path`` may have wildcards where no such file is."""

    path: str
    glob: str | None
    lang: str | None


@dataclass(frozen=True, slots=True)
class _Folder:
    """A directory, and which paths below it are wanted."""

    path: str
    wanted: Callable[[str], bool]


def fixed_part(path: str) -> str:
    """Return the leading folders of a path that hold no wildcard; ``.`` if there are none."""
    found = _WILD.search(path)
    if found is None:
        return path
    return path[: found.start()].rpartition("/")[0] or ("/" if path.startswith("/") else ".")


async def select_sources(where: SearchScope, context: ToolContext) -> list[SourceSelection]:
    """Return the files to look at, by language; raises ToolError.

    The text of an unsaved buffer counts instead of its file. Secrets files are left out unless
    they are named.
    """
    wanted = language(where.lang) if where.lang else None
    if await _is_there(where.path, context.workspace):
        target, kind = await locate_existing(where.path, context)
        if kind == "other":
            raise ToolError(f"Path is a device, socket or pipe: {target.display_path}")
        if kind == "file":
            return await _single(target, wanted, context.workspace)
        folder = _Folder(target.path, matcher(where.glob or "*", _below(target.display_path)))
    else:
        base = fixed_part(where.path)
        target, _ = await locate_existing(base, context)
        rest = where.path.removeprefix(base).lstrip("/") if base != "." else where.path
        folder = _Folder(target.path, _wild(rest.removeprefix("./"), where.glob or "*"))
    return await _grouped(folder, wanted, where.glob or where.path, context.workspace)


def _below(shown: str) -> str:
    return "" if shown == "." else shown


async def _is_there(path: str, workspace: Workspace) -> bool:
    """Whether the path is meant literally: it has no wildcard, or it exists as it is."""
    if not _WILD.search(path):
        return True
    return await workspace.kind((await workspace.locate(path)).path) is not None


def _wild(pattern: str, glob: str) -> Callable[[str], bool]:
    """Return whether a path fits a pattern, or lies in a folder that does and fits the glob."""
    fits, fits_glob = matcher(f"./{pattern.rstrip('/')}"), matcher(glob)

    def wanted(name: str) -> bool:
        if fits(name):
            return fits_glob(name)
        cuts = (at for at, char in enumerate(name) if char == "/")
        return any(fits(name[:at]) and fits_glob(name[at + 1 :]) for at in cuts)

    return wanted


async def _single(
    target: FileTarget, wanted: str | None, workspace: Workspace
) -> list[SourceSelection]:
    """Return one file that was named; with a language it need not have its extension."""
    path = target.path
    known = language_of(path)
    chosen = wanted or known
    if chosen is None:
        raise ToolError(f"The language of {target.display_path} is not known. Give lang.")
    text = (await workspace.unsaved()).get(path)
    if text is None and chosen != known:
        text = await workspace.read(path)
    if text is not None:
        return [SourceSelection(chosen, (), ((path, text),))]
    return [SourceSelection(chosen, (path,))]


async def _grouped(
    folder: _Folder, wanted: str | None, asked: str, workspace: Workspace
) -> list[SourceSelection]:
    prefix = folder.path.rstrip("/") + "/"
    unsaved = {
        path.removeprefix(prefix): text
        for path, text in (await workspace.unsaved()).items()
        if path.startswith(prefix)
    }
    names = {*await list_files(folder.path, workspace), *unsaved}
    paths: dict[str, list[str]] = {}
    texts: dict[str, list[tuple[str, bytes]]] = {}
    for name in _allowed(folder, names, workspace.root):
        found = language_of(name)
        if found is None or found != (wanted or _by_default(found, name, asked)):
            continue
        if name in unsaved:
            texts.setdefault(found, []).append((prefix + name, unsaved[name]))
        else:
            paths.setdefault(found, []).append(prefix + name)
    return [
        SourceSelection(each, tuple(paths.get(each, ())), tuple(texts.get(each, ())))
        for each in sorted({*paths, *texts})
    ]


def _by_default(found: str, name: str, asked: str) -> str | None:
    """Return the language of a file if it is searched without being named."""
    extension = name.rpartition(".")[2]
    return None if found in DATA and f".{extension}" not in asked else found


def _allowed(folder: _Folder, names: set[str], root: str) -> Iterator[str]:
    inside = root.rstrip("/") + "/"
    for name in sorted(names, key=path_sort_key):
        parts = os.path.join(folder.path, name).removeprefix(inside).split("/")
        odd = "\n" in name or not _is_plain(name)
        if not odd and folder.wanted(name) and not is_secret(parts) and ".git" not in parts:
            yield name


def _is_plain(name: str) -> bool:
    """Whether the name is text: what is no UTF-8 cannot be told to a program and back."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
