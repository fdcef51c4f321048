"""Settings of a repository that may run a program; git and the disk are the judges."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from agentchat.workspace.process.repository_settings import named_programs
from tests.permissions.gate import ASK, RUN, Chat, allow
from tests.workspace.process.hostile_repository import PROGRAMS, HostileRepository

WHERE = (".git/config", "include", "includeIf", "config.worktree")


@pytest.fixture
def repository(tmp_path: Path) -> HostileRepository:
    return HostileRepository.make(tmp_path)


def named(repository: HostileRepository) -> tuple[str, ...]:
    return named_programs(str(repository.root), str(repository.root))


def set_in(repository: HostileRepository, where: str, *names: str) -> None:
    """Let settings in one of the files of ``WHERE`` name programs."""
    file = repository.root / ".git" / where
    if where == "include":
        repository.git("config", "include.path", "../settings")
        file = repository.root / "settings"
    elif where == "includeIf":
        repository.git("config", "includeIf.gitdir:**.path", "../settings")
        file = repository.root / "settings"
    elif where == "config.worktree":
        repository.git("config", "extensions.worktreeConfig", "true")
    else:
        file = repository.root / where
    repository.name_programs(*names, file=file)


@pytest.mark.parametrize("where", WHERE)
def test_each_setting_that_names_a_program_is_reported(
    repository: HostileRepository, where: str
) -> None:
    set_in(repository, where, *PROGRAMS)
    assert set(map(str.lower, PROGRAMS)) <= set(named(repository))


def test_settings_of_the_environment_are_reported(
    repository: HostileRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "touch mark")
    assert named(repository) == ("core.fsmonitor",)


def test_settings_of_the_user_are_the_users_unless_the_file_is_in_the_project(
    repository: HostileRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "gitconfig"
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(mine))
    repository.name_programs("core.fsmonitor", file=mine)
    assert named(repository) == ()
    mine.write_text(f"[include]\n\tpath = {repository.root}/settings\n")
    repository.name_programs("core.fsmonitor", file=repository.root / "settings")
    assert named(repository) == ("core.fsmonitor",)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("remote.origin.url", "ext::sh -c 'touch mark'"),
        ("submodule.sub.update", "!touch mark"),
        ("core.worktree", "/"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
    ],
)
def test_a_value_that_names_a_program_is_reported(
    repository: HostileRepository, name: str, value: str
) -> None:
    repository.git("config", name, value)
    assert named(repository)


def test_ordinary_repositories_name_nothing(repository: HostileRepository, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    allowed = ("-c", "protocol.file.allow=always")
    subprocess.run(["git", "clone", "-q", str(repository.root), str(clone)], check=True)
    made = HostileRepository(clone, repository.marks)
    for words in (
        ("checkout", "-qb", "topic"),
        (*allowed, "submodule", "add", "-q", str(repository.root), "sub"),
        ("commit", "-qam", "submodule"),
        ("worktree", "add", "-q", str(tmp_path / "tree")),
        ("config", "user.email", "a@example.org"),
        ("config", "core.autocrlf", "input"),
        ("config", "pull.rebase", "true"),
        ("push", "-q", "-u", "origin", "topic"),
    ):
        made.git(*words)
    for folder in (clone, clone / "sub", tmp_path / "tree"):
        assert (folder / "a.py").exists()
        assert named_programs(str(folder), str(folder)) == ()
    assert named_programs(str(tmp_path), str(tmp_path)) == ()


def test_a_submodule_counts(repository: HostileRepository, tmp_path: Path) -> None:
    inner = repository.root / "inner"
    inner.mkdir()
    (inner / "b.py").write_text("b\n")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "first")):
        repository.git(*words, folder=inner)
    repository.git("add", "inner")  # without .gitmodules
    assert named(repository) == ()
    repository.name_programs("core.fsmonitor", file=inner / ".git/config")
    assert named(repository) == ("core.fsmonitor",)


@pytest.mark.parametrize("where", WHERE)
async def test_a_rule_for_git_does_not_cover_such_a_repository(
    repository: HostileRepository, where: str
) -> None:
    chat = Chat(repository.root, *allow("git status", "git diff"))
    assert await chat.bash("git status") == RUN
    set_in(repository, where, "core.fsmonitor", "filter.x.clean")
    assert repository.ran() == []
    assert await chat.bash("git status") == ASK
    assert await chat.bash("git diff | cat") == ASK
    assert "core.fsmonitor, filter.x.clean" in str(chat.question.target.script)
    assert repository.ran() == []
