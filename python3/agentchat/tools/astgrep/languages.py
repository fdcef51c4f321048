"""The languages whose structure can be matched: their names, and the file names they have."""

from __future__ import annotations

from agentchat.core.errors import ToolError

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
