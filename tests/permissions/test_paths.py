"""Which file a path means, and which paths ask whatever was remembered."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentchat.core.permissions.rules import Rule
from tests.permissions.gate import ASK, REFUSE, RUN, Chat
from tests.permissions.ground import Ground


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    ground = Ground(tmp_path / "ws")
    outside = tmp_path / "out"
    outside.mkdir()
    (outside / "file").write_text("outside\n")
    (outside / "back").symlink_to(ground.root)
    (ground.root / "file-link").symlink_to(outside / "file")
    (ground.root / "lin").symlink_to(outside)
    os.link(ground.root / "x", ground.root / "x2")
    return ground


async def writes(ground: Ground, path: str, **more: str) -> tuple[Chat, str]:
    """Write a path in a chat that remembers *always* for ordinary files."""
    chat = Chat(ground.root)
    assert await chat.call("write", "always", path="ordinary", content="1") == ASK
    assert await chat.call("write", path="src/ordinary", content="1") == RUN
    return chat, await chat.call("write", path=path, content="touched")


@pytest.mark.parametrize(
    "path",
    ["../x", "a/../../x", "/etc/agentchat", "file-link", "lin/new/deep.txt", "x2"],
)
async def test_a_path_that_leads_out_of_the_workspace_asks(ground: Ground, path: str) -> None:
    chat, got = await writes(ground, path)
    assert got == ASK
    assert chat.question.target.writes[0].path == os.path.realpath(ground.root / path)
    assert (ground.root.parent / "out" / "file").read_text() == "outside\n"


async def test_a_link_outside_that_leads_in_is_the_file_it_leads_to(ground: Ground) -> None:
    _, got = await writes(ground, str(ground.root.parent / "out" / "back" / "src" / "new"))
    assert got == RUN
    assert (ground.root / "src" / "new").read_text() == "touched"


@pytest.mark.parametrize("path", ["~/x", "$HOME/x", "%", "#", "`touch m`", "*"])
async def test_a_path_is_never_expanded(ground: Ground, path: str) -> None:
    _, got = await writes(ground, path)
    assert got == RUN
    assert (ground.root / path).read_text() == "touched"
    assert not ground.marked


@pytest.mark.parametrize(
    "path",
    [
        ".GIT/hooks/x", ".VsCode/settings.json", ".git/config", "sub/.git", ".nvim.lua", ".nvimrc",
        ".exrc", ".vim/x", ".lazy.lua", ".luarc.json", ".envrc", ".env", ".env.local", "mise.toml",
        ".tool-versions", ".npmrc", ".yarnrc.yml", ".cargo/config.toml", ".ripgreprc",
        ".agentchat/tools/x.py", "Makefile", "MAKEFILE", "pyproject.toml", "conftest.py",
        ".github/workflows/ci.yml", "package.json", ".gitattributes", "AGENTS.md",
    ],
)  # fmt: skip
async def test_a_protected_path_asks(ground: Ground, path: str) -> None:
    _, got = await writes(ground, path)
    assert got == ASK
    chat = Chat(ground.root, Rule("allow", "write"), Rule("allow", "delete"))
    chat.policy.mode = "yolo"
    assert await chat.call("write", path=path, content="") == ASK


@pytest.mark.parametrize("path", ["d", "./d", "d/", "d/.", "ws/../d", "src/../d", ".//d"])
async def test_one_file_has_one_identity_however_it_is_written(ground: Ground, path: str) -> None:
    chat = Chat(ground.root, Rule("deny", path="d"), Rule("deny", path="d/**"))
    assert await chat.call("delete", path=path) == REFUSE
    assert await chat.call("write", path=f"{path}/git-x", content="") == REFUSE
    assert chat.result().text.startswith("Denied by rule: deny path d")


@pytest.mark.parametrize(
    "path",
    ["scp://h/x", "http://h/x", "term://touch m", "zip:a", "tar:a", "fugitive://a", "a\0b", ""],
)
async def test_a_name_that_means_something_else_to_an_editor_is_refused(
    ground: Ground, path: str
) -> None:
    _, got = await writes(ground, path)
    assert got == REFUSE
    assert not ground.marked


async def test_a_git_folder_under_another_name_is_protected(ground: Ground) -> None:
    (ground.root / "sub").mkdir()
    (ground.root / "sub" / ".git").write_text("gitdir: ../store\n")
    for name in ("objects", "refs"):
        (ground.root / "store" / name).mkdir(parents=True)
    (ground.root / "store" / "HEAD").write_text("ref: x\n")
    for path in ("sub/.git", "store/config"):
        _, got = await writes(ground, path)
        assert got == ASK


async def test_fifty_ordinary_edits_are_one_question(ground: Ground) -> None:
    for number in range(51):
        (ground.root / f"file{number}").write_text("old\n")
    chat = Chat(ground.root)
    one = {"old_text": "old", "new_text": "new"}
    assert await chat.call("edit", "always", path="file50", edits=[one]) == ASK
    got = {await chat.call("edit", path=f"file{n}", edits=[one]) for n in range(50)}
    assert got == {RUN}
    assert (ground.root / "file49").read_text() == "new\n"


async def test_always_for_one_deleted_file_is_about_no_other(ground: Ground) -> None:
    chat = Chat(ground.root)
    assert await chat.call("delete", "always", path="f") == ASK
    assert await chat.call("delete", path="g") == ASK


async def test_a_secret_asks_before_it_is_read_once(ground: Ground) -> None:
    (ground.root / ".env").write_text("KEY=1\n")
    chat = Chat(ground.root)
    assert await chat.call("read", "accept", path=".env") == ASK
    assert await chat.call("read", path=".env") == RUN
    assert await chat.call("read", path="../out/file") == ASK
