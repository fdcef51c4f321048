"""The plugin's git runs nothing that a repository names; the disk is the judge.

``AGENTCHAT_GENERATED`` is how many settings of this git are tried, one by one; 1,000 are all.
"""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
from pathlib import Path

import pytest

from agentchat.core.errors import ToolError
from agentchat.core.workspace import Command
from agentchat.workspace.process import programs
from tests.permissions.report import seed
from tests.workspace.process.hostile_repository import PROGRAMS, HostileRepository

DIFF = ("git", "diff", "--ignore-submodules=dirty", "HEAD")
SHOWN = "+after"
SETTINGS = int(os.environ.get("AGENTCHAT_GENERATED", "40"))


@pytest.fixture
def repository(tmp_path: Path) -> HostileRepository:
    return HostileRepository.make(tmp_path)


def diff(repository: HostileRepository, folder: Path | None = None) -> str:
    command = Command(DIFF, str(folder or repository.root), timeout=20)
    return programs.run(command, str(repository.root)).stdout.decode()


def ignored(repository: HostileRepository) -> bytes:
    argv = ("git", "check-ignore", "-z", "--stdin")
    names = b"a.py\0b.log\0"
    command = Command(argv, str(repository.root), stdin=names, timeout=20)
    return programs.run(command, str(repository.root)).stdout


def test_the_users_git_runs_what_the_repository_names(repository: HostileRepository) -> None:
    repository.name_programs("core.fsmonitor", "filter.x.clean", "diff.external")
    subprocess.run(["git", "diff", "HEAD"], cwd=repository.root, capture_output=True)
    assert {"core.fsmonitor", "filter.x.clean", "diff.external"} & set(repository.ran())


def test_no_setting_and_no_hook_runs_anything(repository: HostileRepository) -> None:
    repository.name_programs(*PROGRAMS)
    repository.add_hooks()
    assert SHOWN in diff(repository)
    assert ignored(repository) == b"b.log\0"
    assert repository.ran() == []


@pytest.mark.parametrize("where", ["include", "includeIf", "config.worktree", "info/attributes"])
def test_no_other_file_of_settings_runs_anything(repository: HostileRepository, where: str) -> None:
    data = repository.root / ".git"
    other = repository.root / "settings" if "include" in where else data / "config.worktree"
    if where == "include":
        repository.git("config", "include.path", "../settings")
    elif where == "includeIf":
        repository.git("config", "includeIf.gitdir:**.path", "../settings")
    elif where == "config.worktree":
        repository.git("config", "extensions.worktreeConfig", "true")
    else:
        (data / "info/attributes").write_text("* filter=x diff=x\n")
    repository.name_programs(*PROGRAMS, file=other)
    assert SHOWN in diff(repository)
    assert ignored(repository) == b"b.log\0"
    assert repository.ran() == []


def test_the_variables_of_the_host_run_nothing(
    repository: HostileRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {
        "GIT_EXTERNAL_DIFF": repository.command("external"),
        "GIT_PAGER": repository.command("pager"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": repository.command("count"),
        "GIT_CONFIG_PARAMETERS": f"'diff.external={repository.command('parameters')}'",
        "GIT_TRACE2_EVENT": str(repository.marks / "trace"),
        "GIT_DIR": "/nonexistent",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert SHOWN in diff(repository)
    assert repository.ran() == []


def test_a_submodule_runs_nothing(repository: HostileRepository, tmp_path: Path) -> None:
    other = HostileRepository.make(_made(tmp_path))
    allow = ("-c", "protocol.file.allow=always")
    repository.git(*allow, "submodule", "add", str(other.root), "sub")
    repository.git("commit", "-qam", "submodule")
    (repository.root / "sub/a.py").write_text("changed in it\n")
    (repository.root / "a.py").write_text("after\n")
    repository.name_programs(*PROGRAMS, file=repository.root / ".git/modules/sub/config")
    repository.git("diff", "HEAD")
    assert repository.ran()  # the user's git looks into it
    (repository.root / "a.py").write_text("after all\n")
    assert SHOWN in diff(repository)
    assert repository.ran() == []


def _made(folder: Path) -> Path:
    path = folder / "other"
    path.mkdir()
    return path


def test_a_missing_object_is_not_fetched(repository: HostileRepository) -> None:
    data = repository.root / ".git"
    head = subprocess.check_output(
        ["git", "rev-parse", "HEAD:a.py"], cwd=repository.root, text=True
    )
    (data / "objects" / head[:2] / head.strip()[2:]).unlink()
    for name, value in (
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.url", f"ext::sh -c {repository.command('fetch')!r}"),
        ("remote.origin.promisor", "true"),
        ("protocol.ext.allow", "always"),
    ):
        repository.git("config", name, value)
    repository.name_programs("remote.origin.uploadpack", "core.sshCommand")
    diff(repository)
    assert repository.ran() == []


@pytest.mark.parametrize("setting", ["core.worktree", "core.bare"])
def test_a_repository_that_claims_other_files_is_refused(
    repository: HostileRepository, setting: str, tmp_path: Path
) -> None:
    repository.git("config", setting, "/" if setting == "core.worktree" else "true")
    with pytest.raises(ToolError):
        diff(repository)


def test_a_folder_that_looks_like_a_bare_repository_is_refused(tmp_path: Path) -> None:
    outer = HostileRepository.make(tmp_path)
    inner = outer.root / "inner"
    subprocess.run(["git", "init", "-q", "--bare", str(inner)], check=True)
    outer.name_programs(*PROGRAMS, file=inner / "config")
    with pytest.raises(ToolError):
        diff(outer, inner)
    assert outer.ran() == []


def test_every_setting_of_this_git_runs_nothing(repository: HostileRepository) -> None:
    config = repository.root / ".git/config"
    plain = config.read_text()
    known = subprocess.check_output(["git", "help", "-c"], text=True, cwd=repository.root).split()
    tried = random.Random(seed()).sample(known, min(SETTINGS, len(known)))
    for pattern in tried:
        name = pattern.replace("<name>", "x").replace("*", "x")
        config.write_text(plain)
        try:
            repository.name_programs(name)
        except subprocess.CalledProcessError:  # no setting, but a form like ``color.diff.<slot>``
            continue
        for question in (diff, ignored):
            with contextlib.suppress(ToolError):  # for a value that this setting cannot have
                question(repository)
        assert repository.ran() == [], name
