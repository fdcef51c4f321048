"""One file has one identity and one zone, however its path is written."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from agentchat.core.errors import ToolError
from agentchat.core.workspace import Zone
from agentchat.workspace.paths import Paths


@pytest.fixture
def ws(tmp_path: Path) -> Path:
    for folder in ("ws/d", "ws/sub", "outside/inner"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "ws" / "d" / "f").write_text("f")
    (tmp_path / "outside" / "o").write_text("o")
    return tmp_path / "ws"


@pytest.mark.parametrize("path", ["d", "./d", "d/", "d/.", "d//", "sub/../d", "{ws}/d", "{ws}//d"])
def test_ways_to_write_one_path_are_one_identity(ws: Path, path: str) -> None:
    target = Paths(str(ws)).locate(path.format(ws=ws))
    assert (target.path, target.display_path, target.zone) == (f"{ws}/d", "d", Zone.ORDINARY)


@pytest.mark.parametrize("path", ["../x", "d/../../x", "{ws}/../x", "{ws}x", "/etc/passwd"])
def test_what_is_not_below_the_root_is_outside(ws: Path, path: str) -> None:
    target = Paths(str(ws)).locate(path.format(ws=ws))
    assert target.zone is Zone.OUTSIDE
    assert target.display_path == target.path
    assert os.path.isabs(target.display_path)


@pytest.mark.parametrize(
    ("link", "to", "path", "real"),
    [
        ("lin", "../outside/o", "lin", "outside/o"),
        ("lin", "../outside", "lin/new/deep.txt", "outside/new/deep.txt"),
        ("lin", "../outside", "lin/../x", "x"),
        ("lin", "../outside/missing", "lin", "outside/missing"),
    ],
)
def test_links_out_of_the_root_show_where_they_lead(
    ws: Path, link: str, to: str, path: str, real: str
) -> None:
    os.symlink(to, ws / link)
    target = Paths(str(ws)).locate(path)
    assert (target.path, target.zone) == (str(ws.parent / real), Zone.OUTSIDE)


def test_a_link_that_leads_in_from_outside_is_the_file_inside(ws: Path) -> None:
    os.symlink(ws / "d", ws.parent / "in")
    target = Paths(str(ws)).locate(str(ws.parent / "in" / "f"))
    assert (target.display_path, target.zone) == ("d/f", Zone.ORDINARY)


def test_the_root_may_be_given_by_a_link(ws: Path) -> None:
    os.symlink("ws", ws.parent / "root")
    target = Paths(str(ws.parent / "root")).locate(str(ws.parent / "root" / "d"))
    assert (target.path, target.zone) == (str(ws / "d"), Zone.ORDINARY)


@pytest.mark.parametrize(
    "name", ["~/x", "$HOME/x", "%", "#", "`touch m`", "*", "a?", "{a,b}", "-x"]
)
def test_nothing_in_a_path_is_expanded(ws: Path, name: str) -> None:
    target = Paths(str(ws)).locate(name)
    assert (target.path, target.zone) == (f"{ws}/{name}", Zone.ORDINARY)


@pytest.mark.parametrize(
    "path",
    [
        "scp://h/x", "http://h/x", "term://touch m", "zip:a", "tar:a", "fugitive://x", "FILE:///x",
        "@http://h/x", "", "a\0b", "a\ud800", "x" * 5000,
    ],
)  # fmt: skip
def test_what_is_no_plain_path_is_refused(ws: Path, path: str) -> None:
    with pytest.raises(ToolError):
        Paths(str(ws)).locate(path)


def test_a_loop_of_links_is_refused_or_missing(ws: Path) -> None:
    os.symlink("b", ws / "a")
    os.symlink("a", ws / "b")
    try:
        target = Paths(str(ws)).locate("a/x")
    except ToolError:
        return
    assert not os.path.exists(target.path)


PROTECTED = [
    ".git/hooks/pre-commit", ".git", "sub/.git/config", ".GIT/hooks/x", ".Git\u200d/config",
    ".gitattributes", ".gitmodules", ".gitconfig", ".husky/pre-commit", ".githooks/x",
    ".nvim.lua", ".nvimrc", ".exrc", ".vim/plugin/x.vim", ".lazy.lua", ".luarc.json",
    ".VsCode/settings.json", ".idea/x", ".devcontainer/devcontainer.json", ".mcp.json",
    "AGENTS.md", "docs/CLAUDE.md", ".cursorrules", ".cursor/rules/x.mdc",
    ".npmrc", "mise.toml", ".tool-versions", ".yarnrc.yml", ".cargo/config.toml", ".ripgreprc",
    ".bashrc", ".zshenv", ".profile",
    "pyproject.toml", "setup.py", "tests/conftest.py", "package.json", "Makefile", "GNUmakefile",
    "justfile", "build.rs", ".github/workflows/ci.yml", ".github/x.md", ".GITHUB/Workflows/ci.yml",
    ".agentchat/tools/x.py", "ｐackage.json",
]  # fmt: skip
SECRET = [
    ".env", ".env.local", ".envrc", "deep/.ENV", "id_rsa", "keys/id_ed25519", "server.pem",
    "a.KEY", ".netrc", ".aws/credentials", ".ssh/config", "x.p12",
]  # fmt: skip
ORDINARY = [
    "src/main.py", "git", "gitignore", "env", "environment.py", "id_generator.py", "keys.py",
    "setup.cfg", "README.md", ".gitignore", "my.makefile.txt", "packages.json",
    ".aws/config", "pem",
]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "zone"),
    [
        *((path, Zone.PROTECTED) for path in PROTECTED),
        *((path, Zone.SECRET) for path in SECRET),
        *((path, Zone.ORDINARY) for path in ORDINARY),
    ],
)
def test_names_have_zones(ws: Path, path: str, zone: Zone) -> None:
    assert Paths(str(ws)).locate(path).zone is zone


def test_a_secret_outside_is_a_secret(ws: Path) -> None:
    assert Paths(str(ws)).locate("../outside/.env").zone is Zone.SECRET


def test_runtime_folders_and_our_own_state_are_protected(ws: Path) -> None:
    os.symlink(ws / "sub", ws.parent / "runtime")
    paths = Paths(str(ws), [str(ws.parent / "runtime"), "", "d"])
    assert paths.locate("sub/plugin/x.lua").zone is Zone.PROTECTED
    assert paths.locate("d/f").zone is Zone.PROTECTED
    assert paths.locate("subx").zone is Zone.ORDINARY


def test_repository_data_under_another_name_is_protected(ws: Path) -> None:
    (ws / ".git").write_text("gitdir: data\n")
    for folder in ("data/objects", "data/refs", "data/hooks"):
        (ws / folder).mkdir(parents=True)
    (ws / "data" / "HEAD").write_text("ref: refs/heads/main\n")
    assert Paths(str(ws)).locate("data/hooks/pre-commit").zone is Zone.PROTECTED
    assert Paths(str(ws)).locate("data/config").zone is Zone.PROTECTED
    assert Paths(str(ws)).locate("d/f").zone is Zone.ORDINARY


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def configure(folder: Path, *, hooks: str) -> None:
    git(folder, "config", "core.hooksPath", hooks)


def include(folder: Path, *, hooks: str) -> None:
    (folder / "more.cfg").write_text(f"[core]\n\thooksPath = {hooks}\n")
    git(folder, "config", "include.path", "../more.cfg")


def include_if(folder: Path, *, hooks: str) -> None:
    (folder / "more.cfg").write_text(f"[core]\n\thooksPath = {hooks}\n")
    git(folder, "config", "includeIf.onbranch:main.path", "../more.cfg")


def of_worktree(folder: Path, *, hooks: str) -> None:
    git(folder, "config", "extensions.worktreeConfig", "true")
    git(folder, "config", "--worktree", "core.hooksPath", hooks)


@pytest.mark.parametrize("configured", [configure, include, include_if, of_worktree])
def test_the_folder_that_git_takes_hooks_from_is_protected(
    ws: Path, configured: Callable[..., None]
) -> None:
    paths = Paths(str(ws))
    assert paths.locate("tools/hooks/pre-commit").zone is Zone.ORDINARY
    git(ws, "init", "-qb", "main")
    configured(ws, hooks="tools/hooks")
    assert paths.locate("tools/hooks/pre-commit").zone is Zone.PROTECTED
    assert paths.locate("tools/x").zone is Zone.ORDINARY
    configured(ws, hooks="other")
    assert paths.locate("tools/hooks/pre-commit").zone is Zone.ORDINARY
    assert paths.locate("other/pre-commit").zone is Zone.PROTECTED
    if configured in (include, include_if):
        assert paths.locate("more.cfg").zone is Zone.PROTECTED


def test_hooks_of_a_repository_above_and_of_a_linked_worktree_are_protected(ws: Path) -> None:
    above = ws.parent
    git(above, "init", "-qb", "main")
    configure(above, hooks=f"{ws.name}/tools/hooks")
    assert Paths(str(ws)).locate("tools/hooks/pre-commit").zone is Zone.PROTECTED
    git(above, "-c", "user.name=t", "-c", "user.email=t", "commit", "-qm1", "--allow-empty")
    git(above, "worktree", "add", "-q", "linked")
    configure(above, hooks="hooks")
    assert Paths(str(above / "linked")).locate("hooks/pre-commit").zone is Zone.PROTECTED


def test_another_device_below_the_root_is_protected() -> None:
    if os.stat("/proc").st_dev == os.stat("/").st_dev:
        pytest.skip("/proc is not mounted by itself")
    assert Paths("/").locate("/proc/version").zone is Zone.PROTECTED


def test_links_and_modes_of_a_file_are_told(ws: Path) -> None:
    os.link(ws / "d" / "f", ws / "d" / "g")
    (ws / "ro").write_text("")
    (ws / "ro").chmod(0o444)
    paths = Paths(str(ws))
    assert paths.locate("d/f").hard_linked
    assert not paths.locate("d/f").ordinary
    assert not paths.locate("d").hard_linked
    assert paths.locate("ro").read_only
    assert not paths.locate("d/f").read_only
    assert not paths.locate("new").exists


def test_paths_located_together_are_the_same_as_one_by_one(ws: Path) -> None:
    (ws / "d" / "deep").mkdir(parents=True, exist_ok=True)
    (ws / "d" / "deep" / "f").write_text("x")
    (ws / "link").symlink_to(ws / "d")
    (ws / ".git").mkdir(exist_ok=True)
    names = ["d/deep/f", "link/deep/f", "d/deep/new", ".git/config", "..", ".", "scp://x/y", "d"]
    paths = Paths(str(ws))
    together = paths.locate_all(names)
    for name, found in zip(names, together, strict=True):
        if isinstance(found, Exception):
            with pytest.raises(ToolError, match="not a plain path"):
                paths.locate(name)
        else:
            assert found == paths.locate(name)
    assert sum(isinstance(found, Exception) for found in together) == 1
