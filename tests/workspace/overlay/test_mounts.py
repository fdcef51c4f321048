"""What commands see in an overlay follows from where the workspace, home and programs lie."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from agentchat.workspace.overlay.git import git_folders
from agentchat.workspace.overlay.mounts import (
    Sight,
    is_visible,
    list_hidden,
    list_mounts,
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name in (".ssh", ".config/gh", ".cargo/bin", ".cache/pip", "project", "tools/bin", "bin"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / ".cargo/credentials.toml").write_text("token")
    return tmp_path


def seen(home: Path, **more: object) -> dict[str, str]:
    """Return the kind of each mount at or below home, by its name."""
    sight = Sight(str(home / "project"), str(home), **more)  # type: ignore[arg-type]
    found = {str(mount[1]): str(mount[0]) for mount in list_mounts(sight)}
    return {
        os.path.relpath(path, home): kind
        for path, kind in found.items()
        if f"{path}/".startswith(f"{home}/")
    }


def test_home_is_empty_but_for_toolchains_and_caches(home: Path) -> None:
    assert seen(home) == {".": "temporary", ".cargo/bin": "show", ".cache/pip": "forget"}


def test_folders_of_the_path_are_shown_and_their_libraries_where_they_are_beside(
    home: Path,
) -> None:
    path = f"{home}/tools/bin:{home}/bin:bin:{home}/project/bin:/run/bin"
    assert {name for name, kind in seen(home, path=path).items() if kind == "show"} == {
        ".cargo/bin", "tools/bin", "bin",
    }  # fmt: skip
    (home / "tools/lib").mkdir()
    (home / "lib").mkdir()
    shown = {name for name, kind in seen(home, path=path).items() if kind == "show"}
    assert shown == {".cargo/bin", "tools", "bin"}


def test_the_user_can_show_more(home: Path) -> None:
    more = seen(home, visible=(str(home / ".config"), str(home / "missing")))
    assert more[".config"] == "show"
    assert "missing" not in more


def test_what_a_mount_shows_is_told_from_what_it_hides(home: Path) -> None:
    hidden = str(home / "tools/bin/secret")
    Path(hidden).touch()
    sight = Sight(str(home / "project"), str(home), f"{home}/tools/bin", hidden=(hidden,))
    mounts = [*list_mounts(sight), *(("hide", path) for path in list_hidden(sight))]
    assert is_visible(str(home / "tools/bin/tool"), mounts)
    assert is_visible("/usr/bin/env", mounts)
    for path in (hidden, str(home / ".ssh/id"), "/run/x.sock", "/srv", str(home)):
        assert not is_visible(path, mounts), path


@pytest.mark.skipif(os.geteuid() != 0, reason="only root could read it")
def test_root_does_not_see_what_other_users_cannot() -> None:
    sight = Sight("/nowhere", "/nowhere")
    assert "/etc/shadow" in list_hidden(sight)


def git(folder: Path, *words: str) -> None:
    names = ("-c", "user.name=N", "-c", "user.email=n@x", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    main = tmp_path / "main"
    (main / "sub").mkdir(parents=True)
    (main / "sub/file").write_text("text")
    git(main, "init", "-q")
    git(main, "add", "-A")
    git(main, "commit", "-qm", "1")
    return main


def test_the_git_folders_of_a_linked_work_tree_are_shown(repository: Path) -> None:
    git(repository, "worktree", "add", "-q", "../linked")
    linked = repository.parent / "linked"
    wanted = {str(repository / ".git"), str(repository / ".git/worktrees/linked")}
    assert set(git_folders(str(linked))) == wanted
    assert git_folders(str(repository)) == []


def test_the_git_folder_above_the_workspace_is_shown(repository: Path) -> None:
    assert git_folders(str(repository / "sub")) == [str(repository / ".git")]


def test_the_git_folder_of_a_submodule_is_shown(repository: Path) -> None:
    other = repository.parent / "other"
    other.mkdir()
    git(other, "init", "-q")
    git(other, "submodule", "add", "-q", str(repository), "inner")
    assert git_folders(str(other / "inner")) == [str(other / ".git/modules/inner")]


def test_a_git_file_that_names_a_folder_of_another_is_not_believed(
    repository: Path, tmp_path: Path
) -> None:
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    for named in (repository / ".git", Path("/etc"), tmp_path / "missing"):
        (hostile / ".git").write_text(f"gitdir: {named}\n")
        assert git_folders(str(hostile)) == []
