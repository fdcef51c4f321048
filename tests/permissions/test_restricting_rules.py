"""Rules that deny or ask bind all that touches a path, and programs that only the shell knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentchat.core.permissions.rules import Rule
from tests.permissions.gate import ASK, REFUSE, RUN, Chat
from tests.permissions.ground import Ground

ALL = Rule("allow", "bash")
PRIVATE = Rule("deny", path="private/**")


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    ground = Ground(tmp_path / "ws")
    (ground.root / "private").mkdir()
    (ground.root / "private" / "a").write_text("private text\n")
    (ground.root / "lin").symlink_to("private")
    return ground


@pytest.mark.parametrize(
    "command",
    [
        "cat private/a",
        "cat ./private/../private/a",
        "cat lin/a",
        "ls private",
        "rm -r private",
        "grep -r text .",
        "cp f private/b",
        "cp -r . /tmp/x",
        "echo x > private/b",
        "touch private/new/deep",
        "cat private/{a,b}",
        'cat "private/a"',
        "diff -r src .",
        "tool --file=private/a",
    ],
)
@pytest.mark.parametrize("action", ["deny", "ask"])
async def test_a_path_rule_binds_commands(ground: Ground, command: str, action: str) -> None:
    rule = Rule("deny", path="private/**") if action == "deny" else Rule("ask", path="private/**")
    chat = Chat(ground.root, ALL, rule)
    assert await chat.bash(command) == (REFUSE if action == "deny" else ASK)


@pytest.mark.parametrize("command", ["cat f", "ls src", "grep -r a src", "cp f src/g"])
async def test_a_path_rule_leaves_other_commands_alone(ground: Ground, command: str) -> None:
    assert await Chat(ground.root, ALL, PRIVATE).bash(command) == RUN


@pytest.mark.parametrize("command", ["$x m", "$(echo touch) m", "{touch,m}", "t*h m", "eval $x"])
@pytest.mark.parametrize("mode", ["ask", "yolo"])
async def test_a_hidden_program_asks_while_words_deny(
    ground: Ground, command: str, mode: str
) -> None:
    chat = Chat(ground.root, ALL)
    chat.policy.mode = mode  # type: ignore[assignment]
    assert await chat.bash(command) == RUN
    chat.policy.rules = (ALL, Rule("deny", "bash", words=("rm",)))
    assert await chat.bash(command) == ASK


@pytest.mark.parametrize(
    ("cwd", "command", "expected"),
    [
        ("src", "git status", RUN),
        ("src", "ls -la", RUN),
        ("src", "make test", ASK),
        ("src", "./s", ASK),
        ("other", "git status", ASK),
        (".git", "ls", ASK),
        ("src", "cat ../../outside", ASK),
        ("src", "touch ../conftest.py", ASK),
        ("src", "touch new", RUN),
    ],
)
async def test_a_rule_covers_a_directory_as_it_covers_cd(
    ground: Ground, cwd: str, command: str, expected: str
) -> None:
    Ground(ground.root / "other")
    (ground.root.parent / "outside").write_text("")
    for folder in (ground.root, ground.root / "src"):
        (folder / "Makefile").write_text("test:\n\ttrue\n")
        (folder / "s").write_text("true\n")
        (folder / "s").chmod(0o755)
    program = (
        tuple(command.split()[:2]) if command.startswith(("git", "make")) else (command.split()[0],)
    )
    chat = Chat(ground.root, Rule("allow", "bash", words=program))
    assert await chat.call("bash", command=command, cwd=cwd) == expected


@pytest.mark.parametrize(
    "name", ["json.py", "argparse.py", "json/__init__.py", "pathlib.cpython.so"]
)
async def test_a_module_that_stands_in_the_way_asks(ground: Ground, name: str) -> None:
    rule = Rule("allow", "bash", words=("python3", "-m", "json.tool"))
    chat = Chat(ground.root, rule)
    assert await chat.bash("python3 -m json.tool f") == RUN
    (ground.root / name).parent.mkdir(exist_ok=True)
    (ground.root / name).write_text("open('m', 'w')\n")
    assert await chat.bash("python3 -m json.tool f") == ASK
    assert not ground.marked


@pytest.mark.parametrize("action", ["deny", "ask"])
async def test_a_path_rule_binds_what_tools_find(ground: Ground, action: str) -> None:
    rule = Rule("deny", path="private/**") if action == "deny" else Rule("ask", path="private/**")
    (ground.root / "src" / "a").write_text("public text\n")
    chat = Chat(ground.root, rule)
    assert await chat.call("grep", pattern="text") == RUN
    assert "src/a:1" in chat.result().text
    assert "private" not in chat.result().text.replace("private text", "")
    assert "Files that a rule of the user is about were skipped" in chat.result().text
    assert await chat.call("find", pattern="a") == RUN
    assert chat.result().text.splitlines() == ["src/a"]
    for tool, field in (("grep", "pattern"), ("find", "pattern")):
        expected = REFUSE if action == "deny" else ASK
        assert await chat.call(tool, **{field: "a", "path": "private"}) == expected


async def test_a_path_rule_binds_a_rewrite_and_its_apply(ground: Ground) -> None:
    for folder in ("src", "private"):
        (ground.root / folder / "a.py").write_text("f(1)\n")
    chat = Chat(ground.root, PRIVATE, Rule("allow", "ast_edit"))
    await chat.call("ast_edit", ops=[{"pat": "f($A)", "out": "g($A)"}])
    public = ground.root / "src" / "a.py"
    chat.scene.resolve("apply")
    await chat.scene.screen.until(lambda: public.read_text() == "g(1)\n")
    assert (ground.root / "private" / "a.py").read_text() == "f(1)\n"
