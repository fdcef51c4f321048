"""What a remembered answer covers, and what makes it void."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from agentchat.core.permissions.grants import Scope
from agentchat.core.permissions.rules import Rule
from tests.permissions.gate import ASK, REFUSE, RUN, Chat, allow
from tests.permissions.ground import Ground


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path / "ws")


async def given(chat: Chat, command: str) -> None:
    assert await chat.bash(command, "always") == ASK


async def test_an_exact_repeat_is_never_asked_again(ground: Ground) -> None:
    chat = Chat(ground.root)
    await given(chat, "git status")
    assert {await chat.bash("git status") for _ in range(30)} == {RUN}


async def test_a_quoted_message_of_two_lines_is_never_asked_again(ground: Ground) -> None:
    chat = Chat(ground.root)
    command = "echo 'one\ntwo' \"it's\""
    await given(chat, command)
    assert await chat.bash(command) == RUN


async def test_another_chat_asks_again(ground: Ground) -> None:
    await given(Chat(ground.root), "git status")
    assert await Chat(ground.root).bash("git status") == ASK


@pytest.mark.parametrize("command", ["git  status", "git status ", "git status\n", "git  'status'"])
async def test_other_bytes_ask_where_the_answer_was_for_these(ground: Ground, command: str) -> None:
    chat = Chat(ground.root)
    await given(chat, "git status")
    assert await chat.bash(command) == ASK
    assert await Chat(ground.root, *allow("git status")).bash(command) == RUN


@pytest.mark.parametrize(
    "command",
    [
        'x=1; sh "$PWD"/s ./s',
        "cd src && make",
        "pushd d; ./git-x",
        "python3 -m this",
        "make -C src",
        "pytest src",
        "sh *",
        "awk -f src/../d/* f",
        "$(cat f)",
    ],
)
async def test_no_always_where_other_files_decide_what_a_command_does(
    ground: Ground, command: str
) -> None:
    chat = Chat(ground.root)
    assert await chat.bash(command) == ASK
    assert chat.question.decision.scope is None


@pytest.mark.parametrize("line", ["include x.mk", "-include x.mk", "  sinclude x.mk"])
async def test_no_always_for_a_makefile_that_includes_others(ground: Ground, line: str) -> None:
    (ground.root / "Makefile").write_text(f"all:\n\ttrue\n{line}\n")
    chat = Chat(ground.root)
    assert await chat.bash("make -n all") == ASK
    assert chat.question.decision.scope is None


async def test_a_program_that_is_another_file_now_asks(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = Chat(ground.root)
    await given(chat, "git status")
    (ground.root / "d" / "git").symlink_to(ground.root / "d" / "git-x")
    monkeypatch.setenv("PATH", f"{ground.root / 'd'}{os.pathsep}{os.environ['PATH']}")
    assert await chat.bash("git status") == ASK
    assert not ground.marked


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("edit", {"path": "f", "edits": [{"old_text": "a", "new_text": "b\u202e"}]}),
        ("edit", {"path": "f", "edits": '[{"old_text": "a", "new_text": "b\\u200b"}]'}),
        ("write", {"path": "new", "content": "a\u200bb"}),
        ("write", {"path": "ne\u2066w", "content": ""}),
        ("write", {"path": "new", "content": "\x1b[2J"}),
    ],
)
async def test_always_for_edits_does_not_cover_hidden_characters(
    ground: Ground, tool: str, given: dict[str, Any]
) -> None:
    chat = Chat(ground.root)
    one = {"old_text": "a", "new_text": "c"}
    assert await chat.call("edit", "always", path="g", edits=[one]) == ASK
    assert await chat.call("write", "always", path="x", content="") == ASK
    assert await chat.call(tool, **given) == ASK
    assert chat.question.decision.scope is None
    assert await chat.call("write", path="y", content="two\n\tlines") == RUN


async def test_no_file_becomes_the_program_of_a_rule_unasked(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{ground.root / 'd'}{os.pathsep}new/bin{os.pathsep}/usr/bin:/bin")
    chat = Chat(ground.root, *allow("git status"), Rule("allow", "write"), Rule("allow", "edit"))
    chat.policy.mode = "yolo"
    for path in ("d/git", "new/bin/git", "D/../d/./git"):
        assert await chat.call("write", path=path, content="#!/bin/sh\ntouch m\n") == ASK
    one = {"old_text": "touch m", "new_text": "touch n"}
    assert await chat.call("edit", path="d/git-x", edits=[one]) == ASK
    assert await chat.call("write", path="src/git", content="") == RUN
    assert await chat.bash("git status") == RUN
    assert not ground.marked


@pytest.mark.parametrize(
    ("command", "changed"),
    [
        ("git status", ".git/config"),
        ("git status", ".gitattributes"),
        ("ls && git log", ".git/config"),
        ("git status", ".git/hooks/post-index-change"),
        ("make -n all", "Makefile"),
        ("./s", "s"),
        ("sh s", "s"),
        ("timeout 5 sh s", "s"),
        ("env sh ./s", "s"),
        ("python3 tool.py", "tool.py"),
        ("source ./s", "s"),
        ("awk -f s f", "s"),
        ("sed -f s f", "s"),
        ("awk -fs f", "s"),
    ],
)
async def test_what_the_command_runs_has_changed_so_it_asks(
    ground: Ground, command: str, changed: str
) -> None:
    (ground.root / "s").write_text("true\n")
    (ground.root / "tool.py").write_text("")
    (ground.root / "Makefile").write_text("all:\n\ttrue\n")
    chat = Chat(ground.root)
    await given(chat, command)
    assert await chat.bash(command) == RUN
    with (ground.root / changed).open("a") as file:
        file.write("# changed\n")
    assert await chat.bash(command) == ASK


async def test_files_a_command_only_reads_may_change(ground: Ground) -> None:
    chat = Chat(ground.root)
    await given(chat, "cat f && git status --short")
    (ground.root / "f").write_text("other\n")
    assert await chat.bash("cat f && git status --short") == RUN


async def test_a_damaged_entry_covers_nothing(ground: Ground) -> None:
    chat = Chat(ground.root)
    for key in ((), ("command",), ("command", ""), ("tool",)):
        chat.policy.grants.remember(Scope("bash", "", key, ""))
    assert await chat.bash("git status") == ASK


async def test_a_command_too_long_to_be_shown_offers_no_always(ground: Ground) -> None:
    chat = Chat(ground.root)
    command = "echo " + "x" * 12_000
    assert await chat.bash(command, "always") == ASK
    assert chat.question.decision.scope is None
    assert await chat.bash(command) == ASK


async def test_a_denied_part_denies_the_whole(ground: Ground) -> None:
    chat = Chat(ground.root, *allow("ls"), Rule("deny", words=("rm",)))
    for command in (
        "ls; rm x",
        "ls; r\\m x",
        "ls; 'r'm x",
        "/bin/r? x",
        "ls " + "a " * 6000 + "; rm x",
    ):
        assert await chat.bash(command) == REFUSE, command
        assert chat.result().text == "Denied by rule: deny words rm"
    assert (ground.root / "x").exists()
