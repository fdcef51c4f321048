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

_OF_USER = ("~/.gitconfig", "~/.config/git/config", "/etc/gitconfig")
"""Files that git reads as soon as they are there."""


@frozen
class _Answer:
    """What git said: ``places`` are absolute paths; it holds while ``files`` have these stamps.

    ``folder`` is the ``.git`` of the repository, if it is a folder.
    """

    files: tuple[str, ...]
    stamps: tuple[Stamp, ...]
    places: tuple[str, ...] = ()
    folder: str = ""


_answers: dict[str, _Answer] = {}


def repository_places(root: str) -> tuple[str, ...]:
    """Return the folders of hooks and the files with settings of the repository of a folder."""
    return _current(root).places


def settings_state(root: str) -> tuple[Stamp, ...] | None:
    """Return a value that changes when settings, hooks or the index of a repository change.

    ``None`` if they are not all in the folder ``.git``. Submodules have states of their own.
    """
    answer = _current(root)
    if not answer.folder:
        return None
    more = ("index", "hooks/post-index-change")
    stamps = (_stamp(os.path.join(answer.folder, name)) for name in more)
    return (*answer.stamps, *stamps)


def _current(root: str) -> _Answer:
    answer = _answers.get(root)
    if answer is None or tuple(map(_stamp, answer.files)) != answer.stamps:
        answer = _answers[root] = _ask(root)
    return answer


def _ask(root: str) -> _Answer:
    marks = _marks(root)
    top = os.path.dirname(marks[-1])
    if not os.path.lexists(marks[-1]):
        return _Answer(marks, tuple(map(_stamp, marks)))
    names = ("HEAD", "config", "config.worktree", "commondir")
    files = [*marks, *(os.path.join(marks[-1], name) for name in names)]
    files += map(os.path.expanduser, _OF_USER)
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
    known = dict.fromkeys((*files, *origins, *included))
    stamps = tuple(map(_stamp, known))
    is_folder = os.path.isdir(marks[-1])
    return _Answer(
        tuple(known), stamps, tuple(dict.fromkeys(places)), marks[-1] if is_folder else ""
    )


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
