"""Names of files that always ask: files that run code on their own, and files with secrets.

Names are compared after :func:`fold_name`, because file systems fold case and composition in
different ways: a name that matches on any of them is treated as a match everywhere.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from agentchat.core.globs import glob_to_regex

PROTECTED_FOLDERS = frozenset(
    {
        ".git", ".vim", ".nvim", ".vscode", ".idea", ".fleet", ".devcontainer", ".zed",
        ".agentchat", ".husky", ".githooks", ".git-hooks", ".hooks", ".lefthook", ".cargo",
        ".github", ".gitlab", ".gitea", ".forgejo", ".circleci", ".buildkite", ".woodpecker",
        ".teamcity", ".tekton", ".semaphore",
        ".agents", ".agent", ".cursor", ".claude", ".codex", ".gemini", ".windsurf", ".continue",
        ".roo", ".kiro", ".opencode", ".copilot", ".amazonq", ".augment", ".cline", ".clinerules",
        ".crush", ".factory", ".goose", ".junie", ".kilocode", ".qwen", ".rules", ".trae",
    }
)  # fmt: skip
"""A file in a folder of this name, at any depth, and the folder's name itself.

Whole names only: then a file that is moved or copied is protected in every folder, or in none.
"""

SELF_RUNNING_FILES = (
    ".gitattributes", ".gitmodules", ".gitconfig", ".gitlab-ci.yml", "jenkinsfile",
    ".nvim.lua", ".nvimrc", ".exrc", "_exrc", ".vimrc", "_vimrc", ".gvimrc", ".lazy.lua",
    ".luarc.json", ".luarc.jsonc", ".mcp.json", ".devcontainer.json", ".envrc",
    "agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md",
    ".cursorrules", ".windsurfrules", ".clinerules", ".roorules*", "copilot-instructions.md",
    ".aider*", ".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml",
)  # fmt: skip
"""Patterns of files that git, CI, an editor or an agent runs or obeys by itself, folded."""

SELF_RUNNING_FOLDERS = PROTECTED_FOLDERS | {".circleci", ".agents"}

PROTECTED_FILES = (
    ".gitattributes", ".gitmodules", ".gitconfig",
    ".gitlab-ci*.yml", "jenkinsfile*", ".travis.yml", "azure-pipelines*.yml",
    "azure-pipelines*.yaml", "bitbucket-pipelines.yml", ".drone.yml", ".drone.yaml",
    ".woodpecker.yml", ".woodpecker.yaml", "appveyor.yml", ".appveyor.yml", ".cirrus.yml",
    "cloudbuild.yaml", "cloudbuild.yml", "buildspec.yml", "buildspec.yaml", ".devcontainer.json",
    "*.code-workspace",
    ".nvim.lua", ".nvimrc", ".exrc", "_exrc", ".vimrc", "_vimrc", ".gvimrc", ".lazy.lua",
    ".luarc.json", ".luarc.jsonc", ".mcp.json",
    "agents.md", "agents.override.md", "claude.md", "claude.local.md", "gemini.md",
    ".cursorrules", ".windsurfrules", ".clinerules", ".roorules*", "copilot-instructions.md",
    ".aider*", "agent.md", "skill.md", "qwen.md", "warp.md", "crush.md", "crush.json",
    ".crush.json", "opencode.json", "opencode.jsonc", ".goosehints", ".replit", "replit.md",
    ".env*", "mise.toml", "mise.*.toml", ".mise.toml", ".mise.*.toml", ".tool-versions",
    ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".ripgreprc",
    ".profile", ".login", ".logout", ".inputrc",
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases",
    ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc",
    "config.fish", ".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml",
    "pyproject.toml", "setup.py", "conftest.py", "package.json", "makefile", "gnumakefile",
    "justfile", ".justfile", "build.rs",
)  # fmt: skip
"""Patterns of a file's own name, folded."""

SECRET_FILES = (
    ".env*", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_xmss", "id_*_sk",
    "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.ppk", "*.kdbx",
    ".netrc", "_netrc", ".pgpass", ".git-credentials", ".pypirc", ".htpasswd", ".my.cnf",
    ".vault-token",
)  # fmt: skip
"""Patterns of a file's own name, folded."""

SECRET_FOLDERS = frozenset({".ssh", ".gnupg"})
SECRET_PATHS = ((".aws", "credentials"), (".docker", "config.json"), (".kube", "config"))

SECRET_GLOBS = (
    *(f"**/{name}" for name in SECRET_FILES),
    *(f"**/{folder}/**" for folder in sorted(SECRET_FOLDERS)),
    *("**/" + "/".join(path) for path in SECRET_PATHS),
)
"""The same as globs, for programs that leave such files out."""

_PROTECTED = re.compile("|".join(map(glob_to_regex, PROTECTED_FILES)))
_SELF_RUNNING = re.compile("|".join(map(glob_to_regex, SELF_RUNNING_FILES)))
_SECRET = re.compile("|".join(map(glob_to_regex, SECRET_FILES)))

_IGNORABLE = dict.fromkeys((173, 847, 1564, 6158, 65279)) | dict.fromkeys(
    (*range(8203, 8208), *range(8234, 8239), *range(8288, 8304))
)


def fold_name(name: str) -> str:
    """Return a path component as the most tolerant file system compares it."""
    if name.isascii():
        return name.lower()
    plain = unicodedata.normalize("NFKC", name.translate(_IGNORABLE)).casefold()
    return unicodedata.normalize("NFKC", plain)


def is_protected(parts: Sequence[str]) -> bool:
    """Whether writing this path could run code later, or change what the agent may do.

    Args:
        parts: the components of a path, outermost first; of a workspace file, those below the
            workspace's root.
    """
    folded = [fold_name(part) for part in parts]
    return not PROTECTED_FOLDERS.isdisjoint(folded) or _has_name(folded, _PROTECTED)


def runs_by_itself(parts: Sequence[str]) -> bool:
    """Whether git, CI, an editor or an agent runs or obeys this file without being asked to."""
    folded = [fold_name(part) for part in parts]
    return (
        not SELF_RUNNING_FOLDERS.isdisjoint(folded)
        or _contains(folded, (".github", "workflows"))
        or _contains(folded, (".github", "actions"))
        or _has_name(folded, _SELF_RUNNING)
    )


def is_secret(parts: Sequence[str]) -> bool:
    """Whether the file at this path may contain a key or a password; ``parts`` as above."""
    folded = [fold_name(part) for part in parts]
    return (
        not SECRET_FOLDERS.isdisjoint(folded[:-1])
        or any(_contains(folded, path) for path in SECRET_PATHS)
        or _has_name(folded, _SECRET)
    )


def _has_name(folded: Sequence[str], names: re.Pattern[str]) -> bool:
    return bool(folded) and names.fullmatch(folded[-1]) is not None


def _contains(folded: Sequence[str], path: tuple[str, ...]) -> bool:
    length = len(path)
    starts = range(len(folded) - length + 1)
    return any(tuple(folded[start : start + length]) == path for start in starts)
