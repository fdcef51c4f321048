"""Where a repository keeps what runs by itself: folders of hooks, and files with its settings.

Git is asked, for the answer may be in an included file, in the settings of a worktree or of a
repository above. It is asked again only when a file with settings has changed.
"""

from __future__ import annotations

import os

from agentchat.core.errors import ToolError
from agentchat.core.frozen import frozen
from agentchat.workspace.process import git, programs

Stamp = tuple[int, int, int] | None


@frozen
class _Answer:
    """What git said: ``places`` are absolute paths; it holds while ``files`` have these stamps."""

    files: tuple[str, ...]
    stamps: tuple[Stamp, ...]
    places: tuple[str, ...]


_answers: dict[str, _Answer] = {}


def repository_places(root: str) -> tuple[str, ...]:
    """Return the folders of hooks and the files with settings of the repository of a folder."""
    answer = _answers.get(root)
    if answer is None or tuple(map(_stamp, answer.files)) != answer.stamps:
        files, places = _ask(root)
        answer = _answers[root] = _Answer(files, tuple(map(_stamp, files)), places)
    return answer.places


def _ask(root: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    marks = _marks(root)
    top = os.path.dirname(marks[-1])
    if not os.path.lexists(marks[-1]):
        return marks, ()
    names = ("HEAD", "config", "config.worktree", "commondir")
    files = [*marks, *(os.path.join(marks[-1], name) for name in names)]
    program = programs.find_program("git", root)
    try:
        found = git.read_settings(program, root, programs.environment(root)) if program else []
    except ToolError:
        found = []
    origins = {os.path.realpath(os.path.join(root, setting.origin)) for setting in found}
    hooks = [s.value for s in found if s.name == "core.hookspath" and s.scope != "command"]
    included = [
        os.path.join(os.path.dirname(os.path.join(root, s.origin)), os.path.expanduser(s.value))
        for s in found
        if s.name.startswith("include") and s.name.endswith(".path")
    ]
    folders = (os.path.realpath(os.path.join(top, os.path.expanduser(name))) for name in hooks)
    places = (*folders, *origins, *map(os.path.realpath, included))
    return tuple(dict.fromkeys((*files, *origins, *included))), tuple(dict.fromkeys(places))


def _marks(root: str) -> tuple[str, ...]:
    """Return each ``.git`` that may be of the repository, up to the one that is there."""
    marks = [os.path.join(root, ".git")]
    while not os.path.lexists(marks[-1]) and os.path.dirname(marks[-1]) != "/":
        marks.append(os.path.join(os.path.dirname(os.path.dirname(marks[-1])), ".git"))
    return tuple(marks)


def _stamp(path: str) -> Stamp:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
