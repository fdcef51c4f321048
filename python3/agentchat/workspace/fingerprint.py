"""Fingerprints of the files that decide what a shell command does, to notice their changes."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator, Sequence

from agentchat.core.shell.parse import candidate_words
from agentchat.core.shell.programs import INTERPRETERS, LAUNCHERS
from agentchat.workspace.process.regular import read_regular

MAX_SCRIPT_BYTES = 4 * 1024 * 1024
"""A larger script is compared by its times and size only."""

_MAX_WORDS = 500
_SETTINGS_FILES = {
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
_INCLUDE = re.compile(r"^\s*[-s]?include\b", re.MULTILINE)
_GIT_FILES = ("config", "config.worktree", "info/attributes", "hooks")


def command_fingerprint(
    programs: Sequence[str], command: str, cwd: str, files: Iterable[str]
) -> tuple[str, ...]:
    """Return a line for each file that decides what ``command`` does in ``cwd``.

    ``programs`` are the first words of the commands it consists of, ``files`` what they may run.
    """
    words = list(dict.fromkeys([*programs, *candidate_words(command)]))[:_MAX_WORDS]
    lines = [
        *_programs(dict.fromkeys((*programs, *words[:1])), cwd),
        *_settings(words, cwd),
        *_scripts(words, cwd),
    ]
    lines += (line for file in files for line in _regular(os.path.join(cwd, file)))
    return tuple(dict.fromkeys(lines))


def _programs(names: Iterable[str], cwd: str) -> Iterator[str]:
    for name in names:
        path = os.path.join(cwd, name) if "/" in name else shutil.which(name)
        if path:
            real = os.path.realpath(path)
            yield f"{name} is {real} {_times(real)}"


def _settings(words: Iterable[str], cwd: str) -> Iterator[str]:
    """Yield the files in ``cwd`` from which the programs read what to run."""
    names = {word.rpartition("/")[2] for word in words}
    if any(name == "git" or name.startswith("git-") for name in names):
        yield from _git(cwd)
    for name in sorted(names & _SETTINGS_FILES.keys()):
        for file in _SETTINGS_FILES[name]:
            yield from _content(os.path.join(cwd, file))


def _git(cwd: str) -> Iterator[str]:
    folder = cwd
    while True:
        yield from _content(os.path.join(folder, ".gitattributes"))
        if os.path.lexists(os.path.join(folder, ".git")) or os.path.dirname(folder) == folder:
            break
        folder = os.path.dirname(folder)
    data = _git_folder(os.path.join(folder, ".git"))
    for git_folder in dict.fromkeys((data, _common_git_folder(data))):
        for name in _GIT_FILES:
            yield from _content(os.path.join(git_folder, name))
    yield from _content(os.path.expanduser("~/.gitconfig"))


def _git_folder(path: str) -> str:
    """Return the folder that a ``.git`` is, or that it names as a file."""
    text = _text(path)
    if not text.startswith("gitdir:"):
        return path
    return os.path.join(os.path.dirname(path), text[len("gitdir:") :].strip())


def _common_git_folder(folder: str) -> str:
    text = _text(os.path.join(folder, "commondir")).strip()
    return os.path.join(folder, text) if text else folder


def _scripts(words: list[str], cwd: str) -> Iterator[str]:
    """Yield the scripts a command names: executable files, and arguments of interpreters."""
    interpreted = any(_is_interpreter(word.rpartition("/")[2]) for word in words)
    for word in words:
        path = os.path.join(cwd, word)
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(status.st_mode) and (interpreted or status.st_mode & 0o111):
            yield from _content(path)


def includes_others(program: str, cwd: str) -> bool:
    """Whether a makefile that a program reads in ``cwd`` includes other files."""
    names = _SETTINGS_FILES.get(program, ())
    makefiles = [name for name in names if name.lower().endswith("makefile")]
    return any(_INCLUDE.search(_text(os.path.join(cwd, name))) for name in makefiles)


def _regular(path: str) -> Iterator[str]:
    try:
        if stat.S_ISREG(os.stat(path).st_mode):
            yield from _content(path)
    except (OSError, ValueError):
        return


def _is_interpreter(name: str) -> bool:
    return name in (".", "source", *_SETTINGS_FILES) or any(
        programs.fullmatch(name) for programs in (INTERPRETERS, LAUNCHERS)
    )


def _content(path: str) -> Iterator[str]:
    """Yield the hash of a file, or of the names, times and sizes of the files in a folder."""
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            names = sorted(os.listdir(path))
            listing = "\n".join(f"{name} {_times(os.path.join(path, name))}" for name in names)
            yield f"{path} {_hash(listing.encode('utf-8', 'surrogateescape'))}"
        elif not stat.S_ISREG(status.st_mode) or status.st_size > MAX_SCRIPT_BYTES:
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
        return read_regular(path, MAX_SCRIPT_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""


def _times(path: str) -> str:
    try:
        status = os.stat(path)
    except OSError:
        return "missing"
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
