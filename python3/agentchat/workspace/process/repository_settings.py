"""Which settings of a repository may run a program when a command uses git there.

Git itself is asked for the settings, so includes, ``config.worktree`` and variables count. Those of
the user's own files are the user's choice; all others must be known to name no program, else they
are reported. A list of the ones that do would be out of date with the next version of git.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from agentchat.core.errors import ToolError
from agentchat.workspace.process import git, programs
from agentchat.workspace.process.git import DATA, Setting
from agentchat.workspace.process.repository_places import settings_state

HARMLESS = re.compile(
    "|".join(
        (
            *map(re.escape, DATA),
            r"core\.(repositoryformatversion|bare|logallrefupdates|compression|loosecompression"
            r"|abbrev|commentchar|whitespace|sharedrepository|protecthfs|protectntfs|hidedotfiles"
            r"|sparsecheckout|sparsecheckoutcone|splitindex|untrackedcache|multipackindex"
            r"|commitgraph|longpaths|fscache|preloadindex|warnambiguousrefs|packedgit\w+)",
            r"(user|author|committer)\.(name|email|signingkey|useconfigonly)",
            r"remote\..+\.(url|pushurl|fetch|push|tagopt|prune|prunetags|mirror|gh-resolved)",
            r"branch\..+\.(remote|merge|rebase|pushremote|description|[a-z]+-merge-base)",
            r"submodule\.(.+\.(url|active|branch|ignore|fetchrecursesubmodules|update)|recurse|active)",
            r"extensions\.(objectformat|worktreeconfig|refstorage|relativeworktrees|noop)",
            r"include\.path|includeif\..+\.path|init\.defaultbranch|remote\.pushdefault",
            r"diff\.(colormoved\w*|wserrorhighlight|statgraphwidth|submodule|dirstat|relative)",
            r"pull\.(rebase|ff)|push\.(default|followtags|autosetupremote)|merge\.(ff|conflictstyle)",
            r"rebase\.(autostash|autosquash|updaterefs)|commit\.(verbose|cleanup|status)",
            r"lfs\.(repositoryformatversion|(.+\.)?(access|locksverify|url))",
            r"(color|column|status|fetch|gc|maintenance|pack|index|feature|advice|rerere|i18n|gui"
            r"|http|grep|blame|stash|checkout|clean|transfer|tag|versionsort|worktree)\..+",
        )
    ),
    re.IGNORECASE,
)
"""Settings that are data, whatever their value is; except for those of :data:`_DANGEROUS`."""

_DANGEROUS = (
    # ``ext::`` and others name a program that speaks for the server.
    (re.compile(r"remote\..*url|submodule\..+\.url|lfs\..*url"), re.compile(r"\w[\w+.-]*::|-")),
    (re.compile(r"submodule\..+\.update"), re.compile(r"!")),
    (re.compile(r"fetch\.uriprotocols|gui\..*cmd.*|maintenance\..*command"), re.compile("")),
)
"""Names among these whose value may name a program: what it begins with."""

_OWN_SCOPES = frozenset({"system", "global"})
"""Scopes of the user's own files."""

_PLACES = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR"})

MOST_DEPTH = 4
"""Submodules in submodules that are looked at; deeper ones count as naming a program."""


def named_programs(cwd: str, root: str, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return what may run a program when git is used in ``cwd``: names of settings, a hook.

    Args:
        root: the workspace: a file of the user's settings that is inside counts as the project's.
    """
    program = programs.find_program("git", root)
    if program is None:
        return ()
    is_usual = environ is os.environ and not any(name.startswith("GIT_") for name in environ)
    state = settings_state(cwd) if is_usual else None
    if state is not None and _clean.get((program, cwd, root)) == state:
        return ()
    try:
        named = tuple(dict.fromkeys(_named(program, cwd, root, environ, MOST_DEPTH)))
    except ToolError as error:
        return (f"an unknown setting ({error})",)
    if not named and state is not None and not _has_submodules(program, cwd):
        _clean[program, cwd, root] = state
    return named


def _has_submodules(program: str, cwd: str) -> bool:
    """Whether other repositories belong to this one: their settings are no part of its state."""
    try:
        found = git.find_repository(program, cwd, os.environ)
        return bool(_submodules(program, found.worktree or cwd, _stamp(found.folder)))
    except ToolError:
        return False


_clean: dict[tuple[str, str, str], object] = {}
"""The state in which a repository named no program: it is asked again when that has changed."""


def _named(
    program: str, cwd: str, root: str, environ: Mapping[str, str], depth: int
) -> Iterator[str]:
    settings = git.read_settings(program, cwd, environ)
    yield from _suspicious(settings, cwd, root)
    try:
        found = git.find_repository(program, cwd, environ)
    except ToolError:  # no repository: git has only the settings of the user
        return
    if any(setting.name == "core.worktree" for setting in settings):
        try:
            git.check_place(found, cwd)
        except ToolError:
            yield "core.worktree"
    if os.access(os.path.join(found.common, "hooks/post-index-change"), os.X_OK):
        yield "the hook post-index-change"
    inner = {name: environ[name] for name in environ if name not in _PLACES}
    for path in _submodules(program, found.worktree or cwd, _stamp(found.folder)):
        if not depth:
            yield f"the submodule {path}"
        elif os.path.lexists(os.path.join(path, ".git")):
            yield from _named(program, path, root, inner, depth - 1)


def _suspicious(settings: Sequence[Setting], cwd: str, root: str) -> Iterator[str]:
    for setting in settings:
        is_users = setting.scope in _OWN_SCOPES and not _inside(setting.origin, cwd, root)
        if not is_users and not _is_data(setting):
            yield setting.name


def _is_data(setting: Setting) -> bool:
    name = setting.name
    if name in ("core.fsmonitor", "core.pager"):
        return setting.value in ("", "true", "false", "cat")
    if name == "core.worktree":
        return True  # its place is checked
    if not HARMLESS.fullmatch(name):
        return False
    return not any(
        names.fullmatch(name) and values.match(setting.value) for names, values in _DANGEROUS
    )


def _inside(origin: str, cwd: str, root: str) -> bool:
    real = os.path.realpath(os.path.join(cwd, origin.strip('"')))
    return real.startswith(root.rstrip("/") + "/")


def _stamp(folder: str) -> tuple[int, int, int]:
    try:
        status = os.stat(os.path.join(folder, "index"))
    except OSError:
        return (0, 0, 0)
    return status.st_ino, status.st_size, status.st_mtime_ns


@lru_cache(64)
def _submodules(program: str, worktree: str, stamp: tuple[int, int, int]) -> tuple[str, ...]:
    """Return the folders of other repositories in an index, which ``stamp`` identifies."""
    answer = git.ask(program, worktree, programs.environment(worktree), "ls-files", "--stage", "-z")
    links = (row for row in answer.split(b"\0") if row.startswith(b"160000 "))
    names = (os.fsdecode(row.partition(b"\t")[2]) for row in links)
    return tuple(os.path.join(worktree, name) for name in names)
