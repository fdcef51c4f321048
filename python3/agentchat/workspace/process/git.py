"""Runs git on a repository whose settings are a stranger's, so that they run nothing.

Many settings of git name programs (``core.fsmonitor``, filters, text conversions, hooks, helpers
for credentials, …), and each version adds some. So the plugin's git does not read the settings of
the repository at all. It works in a git folder of its own, which has the objects and the index of
the repository, its commit, and the few settings that only say how files are compared
(:data:`DATA`). What is not copied does not exist: no hook, no driver, no remote to fetch from.

Only the questions where the repository is, what its settings are and which commit it is at go to
the repository itself: to answer them git reads, and runs nothing.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from agentchat.core.errors import ToolError
from agentchat.core.frozen import frozen
from agentchat.workspace.process.regular import read_regular

QUESTION_SECONDS = 5.0
LARGEST_EXCLUDE = 1024 * 1024

DATA = frozenset(
    {
        "core.filemode", "core.symlinks", "core.ignorecase", "core.precomposeunicode",
        "core.autocrlf", "core.eol", "core.safecrlf", "core.trustctime", "core.checkstat",
        "core.excludesfile", "core.quotepath", "core.bigfilethreshold",
        "diff.algorithm", "diff.context", "diff.interhunkcontext", "diff.renames",
        "diff.renamelimit", "diff.indentheuristic", "diff.noprefix", "diff.mnemonicprefix",
        "diff.suppressblankempty",
    }
)  # fmt: skip
"""Settings that name no program, and that comparing files needs."""

HARDENED = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "GIT_ALLOW_PROTOCOL": "none",
}
"""Variables of a call in a git folder of the plugin."""

QUIET = {"core.fsmonitor": "false", "core.hookspath": os.devnull}
"""Settings of a question to the repository."""
QUESTION = tuple(word for name, value in QUIET.items() for word in ("-c", f"{name}={value}"))
ASKING = {name: HARDENED[name] for name in HARDENED if not name.startswith("GIT_CONFIG_")}
"""Variables of a question to the repository: where it is safe is in the user's settings."""


@frozen
class Setting:
    """A setting of git: ``scope`` as git names it, ``origin`` the file, ``name`` in lower case."""

    scope: str
    origin: str
    name: str
    value: str


@frozen
class Repository:
    """Where a repository is; ``worktree`` is empty in a bare one, ``head`` without a commit."""

    folder: str
    common: str
    worktree: str
    object_format: str
    head: str


def ask(program: str, cwd: str, environment: Mapping[str, str], *words: str) -> bytes:
    """Return what git answers about a repository; raises ToolError if it does not."""
    try:
        done = subprocess.run(
            (program, *QUESTION, *words),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**environment, **ASKING},
            timeout=QUESTION_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolError(f"git does not answer: {error}") from error
    if done.returncode != 0:
        problem = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        raise ToolError(problem or "git failed without a message.")
    return done.stdout


def read_settings(program: str, cwd: str, environment: Mapping[str, str]) -> list[Setting]:
    """Return all settings that git has in a folder, with included ones; raises ToolError."""
    answer = ask(
        program, cwd, environment, "config", "--list", "-z", "--show-scope", "--show-origin"
    )
    fields = iter(os.fsdecode(answer).split("\0"))
    settings = []
    for scope, origin, pair in zip(fields, fields, fields, strict=False):
        name, _, value = pair.partition("\n")
        if scope == "command" and QUIET.get(name.lower()) == value:
            continue  # the question's own
        settings.append(Setting(scope, origin.removeprefix("file:"), name.lower(), value))
    return settings


def check_place(found: Repository, cwd: str) -> None:
    """Raise ToolError if the settings claim files elsewhere, as ``core.worktree`` can."""
    folder = os.path.realpath(cwd)
    while not os.path.lexists(os.path.join(folder, ".git")) and folder != "/":
        folder = os.path.dirname(folder)
    if os.path.realpath(found.worktree) != folder:
        raise ToolError("the settings of the repository name files that are not beside it.")


def find_repository(program: str, cwd: str, environment: Mapping[str, str]) -> Repository:
    """Return the repository of a folder; raises ToolError if there is none."""
    words = ("rev-parse", "--path-format=absolute", "--show-object-format")
    answer = ask(program, cwd, environment, *words, "--git-dir", "--git-common-dir")
    lines = os.fsdecode(answer).splitlines()
    if len(lines) != 3:
        raise ToolError("git does not say where the repository is.")
    object_format, folder, common = lines
    return Repository(
        folder=folder,
        common=common,
        worktree=_first_line(program, cwd, environment, "rev-parse", "--show-toplevel"),
        object_format=object_format,
        head=_first_line(program, cwd, environment, "rev-parse", "--verify", "--quiet", "HEAD"),
    )


def _first_line(program: str, cwd: str, environment: Mapping[str, str], *words: str) -> str:
    try:
        return os.fsdecode(ask(program, cwd, environment, *words)).rstrip("\n")
    except ToolError:
        return ""


@contextlib.contextmanager
def repository(program: str, cwd: str, environment: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield the variables with which git works on the repository of ``cwd`` and runs nothing.

    Raises:
        ToolError: there is none with files.
    """
    found = find_repository(program, cwd, environment)
    if not found.worktree:
        raise ToolError("this is a repository without files.")
    check_place(found, cwd)
    settings = read_settings(program, cwd, environment)
    with tempfile.TemporaryDirectory(prefix="agentchat-git-") as folder:
        _make_folder(Path(folder), found, settings)
        yield {
            **HARDENED,
            "GIT_DIR": folder,
            "GIT_WORK_TREE": found.worktree,
            "GIT_INDEX_FILE": os.path.join(found.folder, "index"),
        }


def _make_folder(folder: Path, found: Repository, settings: list[Setting]) -> None:
    for name in ("objects/info", "refs", "info"):
        (folder / name).mkdir(parents=True)
    (folder / "HEAD").write_text(f"{found.head or 'ref: refs/heads/none'}\n")
    (folder / "objects/info/alternates").write_text(
        f"{os.path.join(found.common, 'objects')}\n", errors="surrogateescape"
    )
    (folder / "config").write_text(_config(found, settings), errors="surrogateescape")
    with contextlib.suppress(OSError):
        exclude = read_regular(os.path.join(found.common, "info/exclude"), LARGEST_EXCLUDE)
        (folder / "info/exclude").write_bytes(exclude)
    for shared in Path(found.folder).glob("sharedindex.*"):
        (folder / shared.name).symlink_to(shared)


def _config(found: Repository, settings: list[Setting]) -> str:
    rows = {
        "core.repositoryformatversion": "1",
        "core.bare": "false",
        **{each.name: each.value for each in settings if each.name in DATA},
        "extensions.objectformat": found.object_format,
    }
    return "".join(_row(name, value) for name, value in rows.items())


def _row(setting: str, value: str) -> str:
    section, _, name = setting.partition(".")
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'[{section}]\n\t{name} = "{escaped}"\n'
