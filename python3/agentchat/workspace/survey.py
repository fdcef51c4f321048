"""What a shell command names on disk: looked up before it runs, so that rules can judge it."""

from __future__ import annotations

import glob
import os
import shutil
import stat
import sys
from collections.abc import Iterator, Sequence

from agentchat.core.errors import ToolError
from agentchat.core.permissions.sensitive_paths import is_secret
from agentchat.core.shell.operands import CommandSurvey, CommandWords, Operand, Use
from agentchat.core.shell.parse import LocatedOperand
from agentchat.core.workspace import FileTarget, Zone
from agentchat.workspace.fingerprint import command_fingerprint, includes_others
from agentchat.workspace.paths import Paths, inside, is_git_directory

MOST_ENTRIES = 5_000
"""The most entries of folders that are looked at for one command; with more it asks."""


def survey_command(
    paths: Paths, commands: Sequence[CommandWords], command: str, cwd: str
) -> CommandSurvey:
    """Return what ``command`` names that runs in ``cwd``, a resolved path."""
    survey = _Survey(paths, cwd)
    operands = tuple(tuple(survey.operands(words)) for words in commands)
    loose = [words for words in commands if not words.is_fixed]
    files = [operand.path for words in loose for operand in words.operands]
    return CommandSurvey(
        operands=operands,
        fingerprints=command_fingerprint([w.program for w in commands], command, cwd, files),
        unfixed=_why_unfixed(commands, cwd),
    )


class _Survey:
    """Looks up the operands of one command after the other: one may make what the next follows."""

    def __init__(self, paths: Paths, cwd: str) -> None:
        self._paths = paths
        self._facts = paths.facts()
        self._cwd = cwd
        self._directory = _directory_problem(paths, cwd) if cwd != paths.root else ""
        self._entries_left = MOST_ENTRIES
        self._linked_by = ""

    def operands(self, command: CommandWords) -> Iterator[LocatedOperand]:
        """Yield what one command names."""
        lead = f"{os.path.basename(command.program)}: "
        problem = self._program_problem(command)
        if problem:
            yield LocatedOperand(0, command.program, lead + problem)
        for operand in dict.fromkeys((*command.operands, *self._destinations(command))):
            located = self._located(operand, lead)
            if located is not None:
                yield located
        if command.links:
            self._linked_by = os.path.basename(command.program)

    def _program_problem(self, command: CommandWords) -> str:
        """Return why a program may not be what its word says, or do something else here."""
        if self._directory or (self._cwd != self._paths.root and not command.decide):
            return self._directory or "what it does depends on the directory it runs in"
        if command.imports:
            return _shadowing(command, self._cwd)
        if "/" in command.program or not command.decide:
            return ""
        for folder in os.get_exec_path():
            path = os.path.join(self._cwd, folder, command.program)
            if os.access(path, os.X_OK) and not os.path.isdir(path):
                places = (os.path.normpath(path), os.path.realpath(path))
                own = any(inside(place, self._paths.root) for place in places)
                return f"it is a program of the project, {path}" if own else ""
        return ""

    def _located(self, operand: Operand, lead: str) -> LocatedOperand | None:
        full = os.path.join(self._cwd, operand.path)
        if self._linked_by and operand.is_word and operand.use != "other":
            problem = f"{lead}{operand.path} may lead elsewhere after {self._linked_by}"
            return LocatedOperand(operand.index, operand.path, problem)
        if operand.use != "writes" and not _exists(full):
            is_named = is_secret(operand.path.rstrip("/").split("/"))
            problem = f"{lead}{operand.path} may hold secrets" if is_named else ""
            return LocatedOperand(operand.index, operand.path, problem, True) if problem else None
        try:
            target = self._paths.locate(full, self._facts)
        except ToolError:
            return None
        problem, below = _problem(target, operand.use), list[str]()
        if operand.whole and operand.use == "writes" and inside(self._paths.root, target.path):
            problem = problem or f"{target.display_path} is the workspace"
        if operand.whole and os.path.isdir(target.path):
            below, inner = self._below(target.path, operand)
            problem = problem or inner
        return LocatedOperand(
            index=operand.index,
            path=target.display_path,
            problem=f"{lead}{problem}" if problem else "",
            named=os.path.normpath(full) == target.path and not target.hard_linked,
            below=tuple(below),
        )

    def _below(self, folder: str, operand: Operand) -> tuple[list[str], str]:
        """Return the displayed paths of all that is in a folder, and a problem with one of them."""
        names: list[str] = []
        problem, folders = "", [folder]
        while folders and self._entries_left > 0:
            for entry in _entries(folders.pop()):
                if not operand.hidden and entry.name.startswith("."):
                    continue
                self._entries_left -= 1
                names.append(self._paths.show(entry.path))
                problem = problem or self._entry_problem(entry, operand.use)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
        if self._entries_left <= 0:
            problem = problem or f"it holds more than {MOST_ENTRIES:,} files"
        return names, problem

    def _entry_problem(self, entry: os.DirEntry[str], use: Use) -> str:
        shown, real = self._paths.show(entry.path), entry.path
        if entry.is_symlink():
            real = os.path.realpath(entry.path)
        elif entry.is_file() and entry.stat(follow_symlinks=False).st_nlink > 1:
            return f"{shown} has a second hard link"
        zone = self._paths.zone(real, self._facts)
        return f"{shown} is {zone.value}" if _asks(zone, use) else ""

    def _destinations(self, command: CommandWords) -> Iterator[Operand]:
        """Yield the files that exist where a program puts its operands under their own names."""
        words = [operand for operand in command.operands if operand.is_word]
        if not command.moves or len(words) < 2:
            return
        folder = os.path.join(self._cwd, words[-1].path)
        for source in words[:-1] if os.path.isdir(folder) else ():
            for name in self._names_below(source.path):
                path = os.path.join(folder, name)
                if _exists(path):
                    yield Operand(source.index, path, "writes")

    def _names_below(self, source: str) -> Iterator[str]:
        """Yield the names that a copy may have in its folder: its own, and those inside."""
        base, top = os.path.basename(source.rstrip("/")), os.path.join(self._cwd, source)
        yield from (base, source)
        if os.path.isdir(top):
            names, _ = self._below(os.path.realpath(top), Operand(0, source, "writes"))
            inner = [os.path.relpath(os.path.join(self._paths.root, name), top) for name in names]
            for name in inner:
                yield from (name, os.path.join(base, name))


def _shadowing(command: CommandWords, cwd: str) -> str:
    """Return the file that Python would import in place of a module that is installed."""
    own = {_module_name(entry) for entry in _entries(cwd)} - {"", "test"}
    found = shutil.which(command.program)
    places = glob.glob(f"{_prefix(found)}/lib/python3*/*-packages") if found else []
    installed = {_module_name(entry) for place in places for entry in _entries(place)}
    hidden = own & (installed | sys.stdlib_module_names)
    return f"{min(hidden)} in its directory stands in the way of a module" if hidden else ""


def _prefix(program: str) -> str:
    return glob.escape(os.path.dirname(os.path.dirname(os.path.abspath(program))))


def _module_name(entry: os.DirEntry[str]) -> str:
    """Return the name under which Python imports a file or package; empty if it does not."""
    name, dot, ending = entry.name.partition(".")
    if not dot:
        return name if os.path.isfile(os.path.join(entry.path, "__init__.py")) else ""
    return name if ending.endswith(("py", "pyc", "so")) else ""


def _directory_problem(paths: Paths, cwd: str) -> str:
    """Return why no rule covers commands in a directory other than the root."""
    zone = paths.zone(os.path.join(cwd, "x"))
    if zone is not Zone.ORDINARY:
        return f"its directory is {zone.value}"
    if is_git_directory(cwd) or _repository(cwd) != _repository(paths.root):
        return "its directory is of another repository"
    return ""


def _repository(folder: str) -> str:
    while not os.path.lexists(os.path.join(folder, ".git")) and folder != "/":
        folder = os.path.dirname(folder)
    return folder


def _problem(target: FileTarget, use: Use) -> str:
    if target.path == os.devnull:
        return ""
    if _asks(target.zone, use):
        return f"{target.display_path} is {target.zone.value}"
    if use != "other" and target.hard_linked:
        return f"{target.display_path} has a second hard link"
    if use == "reads" and not _is_plain(target.path):
        return f"{target.display_path} is no ordinary file"
    return ""


def _asks(zone: Zone, use: Use) -> bool:
    if use == "writes":
        return zone is not Zone.ORDINARY
    return zone is Zone.SECRET or (use == "reads" and zone is Zone.OUTSIDE)


def _is_plain(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return True
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _exists(path: str) -> bool:
    try:
        os.lstat(path)
    except (OSError, ValueError):
        return False
    return True


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _why_unfixed(commands: Sequence[CommandWords], cwd: str) -> str:
    """Return why files that have no fingerprint may decide what a command does."""
    if not commands:
        return "it is not understood"
    for command in commands:
        if command.vague:
            return command.vague
        if command.is_fixed:
            continue
        for operand in command.operands:
            if operand.path and os.path.isdir(os.path.join(cwd, operand.path)):
                return f"it names the folder {operand.path}"
        if includes_others(command.program, cwd):
            return "its makefile includes others"
    return ""
