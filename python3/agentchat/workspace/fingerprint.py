"""What a command would run, as files: named and fingerprinted, so that a change is seen."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Sequence

from agentchat.core.shell.parse import scan
from agentchat.core.shell.programs import INTERPRETERS, LAUNCHERS

MAX_SCRIPT_BYTES = 4 * 1024 * 1024
"""Bytes of a script; a larger one is known by its times and size alone."""

_MOST_WORDS = 500
_RECIPES = {
    "make": ("GNUmakefile", "makefile", "Makefile"),
    "gmake": ("GNUmakefile", "makefile", "Makefile"),
    "just": ("justfile", "Justfile", ".justfile"),
    "npm": ("package.json",),
    "pnpm": ("package.json",),
    "yarn": ("package.json",),
    "npx": ("package.json",),
    "cargo": ("Cargo.toml", "build.rs", ".cargo/config.toml"),
    "pytest": ("conftest.py", "pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg"),
    "tox": ("tox.ini", "pyproject.toml"),
    "nox": ("noxfile.py",),
    "rake": ("Rakefile",),
    "docker": ("Dockerfile", "compose.yaml", "docker-compose.yml"),
}
_GIT_FILES = ("config", "config.worktree", "info/attributes", "hooks")


def command_fingerprint(
    commands: Sequence[Sequence[str]], command: str, cwd: str
) -> tuple[str, ...]:
    """Return a line for each file that decides what ``command`` does in ``cwd``.

    ``commands`` are the words of each command it consists of.
    """
    words = dict.fromkeys([*(w for texts in commands for w in texts), *scan(command)])
    known = list(words)[:_MOST_WORDS]
    programs = dict.fromkeys([*(texts[0] for texts in commands), *known[:1]])
    lines = [*_programs(programs, cwd), *_configured(known, cwd), *_scripts(known, cwd)]
    return tuple(dict.fromkeys(lines))


def _programs(names: Iterable[str], cwd: str) -> Iterator[str]:
    for name in names:
        found = os.path.join(cwd, name) if "/" in name else shutil.which(name)
        if found:
            real = os.path.realpath(found)
            yield f"{name} is {real} {_times(real)}"


def _configured(words: Iterable[str], cwd: str) -> Iterator[str]:
    """Yield the files beside the work from which the programs take what to run."""
    names = {word.rpartition("/")[2] for word in words}
    if any(name == "git" or name.startswith("git-") for name in names):
        yield from _git(cwd)
    for name in sorted(names & _RECIPES.keys()):
        for recipe in _RECIPES[name]:
            yield from _content(os.path.join(cwd, recipe))


def _git(cwd: str) -> Iterator[str]:
    folder = cwd
    while True:
        yield from _content(os.path.join(folder, ".gitattributes"))
        if os.path.lexists(os.path.join(folder, ".git")) or os.path.dirname(folder) == folder:
            break
        folder = os.path.dirname(folder)
    data = _git_folder(os.path.join(folder, ".git"))
    for place in dict.fromkeys((data, _common(data))):
        for name in _GIT_FILES:
            yield from _content(os.path.join(place, name))
    yield from _content(os.path.expanduser("~/.gitconfig"))


def _git_folder(found: str) -> str:
    """Return the folder that a ``.git`` is or names."""
    said = _text(found)
    if not said.startswith("gitdir:"):
        return found
    return os.path.join(os.path.dirname(found), said[len("gitdir:") :].strip())


def _common(data: str) -> str:
    said = _text(os.path.join(data, "commondir")).strip()
    return os.path.join(data, said) if said else data


def _scripts(words: list[str], cwd: str) -> Iterator[str]:
    """Yield the files a command names that are run: executable ones, and what interpreters get."""
    interpreted = any(_interprets(word.rpartition("/")[2]) for word in words)
    for word in words:
        path = os.path.join(cwd, word)
        try:
            found = os.stat(path)
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(found.st_mode) and (interpreted or found.st_mode & 0o111):
            yield from _content(path)


def _interprets(name: str) -> bool:
    return name in (".", "source", *_RECIPES) or any(
        programs.fullmatch(name) for programs in (INTERPRETERS, LAUNCHERS)
    )


def _content(path: str) -> Iterator[str]:
    """Yield the hash of a file, or the names, times and sizes of what is in a folder."""
    try:
        found = os.stat(path)
        if stat.S_ISDIR(found.st_mode):
            inside = sorted(os.listdir(path))
            said = "\n".join(f"{name} {_times(os.path.join(path, name))}" for name in inside)
            yield f"{path} {_hash(said.encode('utf-8', 'surrogateescape'))}"
        elif not stat.S_ISREG(found.st_mode) or found.st_size > MAX_SCRIPT_BYTES:
            yield f"{path} {_times(path)}"
        else:
            with open(path, "rb") as file:
                yield f"{path} {_hash(file.read(MAX_SCRIPT_BYTES))}"
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        yield f"{path} {type(error).__name__}"


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(4096)
    except (OSError, ValueError):
        return ""


def _times(path: str) -> str:
    try:
        found = os.stat(path)
    except OSError:
        return "missing"
    return f"{found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
