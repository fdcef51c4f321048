"""The built-in tools on another machine, which has neither ripgrep nor ast-grep."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agentchat.core.errors import ToolError
from agentchat.tools.builtin import ast_edit, bash, delete, edit, find, grep, ls, read, write
from tests.support.sshd import Sshd
from tests.tools.conftest import Bench
from tests.workspace.remote.far import far


@pytest.fixture
async def there(sshd: Sshd, tmp_path: Path) -> AsyncIterator[Bench]:
    """A directory of the other machine."""
    (tmp_path / "ws").mkdir()
    workspace = far(sshd, tmp_path / "ws")
    await workspace.ready()
    yield Bench(tmp_path / "ws", tmp_path / "state", workspace)
    await workspace.close()


async def test_looking_around_obeys_ignore_files(there: Bench) -> None:
    there.write(".gitignore", "*.log\n")
    there.write("src/a.py", "old(1)\n")
    there.write("src/a.log", "old(2)\n")
    there.write("b.txt", "new\n")
    there.write(".env", "old=1\n")
    assert (await there.call(find.TOOL, pattern="*.py")).text == "src/a.py"
    assert (await there.call(ls.TOOL)).text == ".env\n.gitignore\nb.txt\nsrc/"
    found = (await there.call(grep.TOOL, pattern="old")).text
    assert found.startswith("src/a.py:1: old(1)\n\n[Skipped 1 secrets file: .env.")
    assert (await there.call(read.TOOL, path="b.txt")).text == "new\n"


async def test_files_are_made_changed_and_deleted(there: Bench) -> None:
    given = {"path": "d/a.txt", "content": "héllo\n"}
    preview = await there.dry_run(write.TOOL, **given)
    assert not (there.root / "d").exists()
    assert (await there.call(write.TOOL, preview, **given)).text == "Created d/a.txt (7 bytes)."
    change = {"path": "d/a.txt", "edits": [{"old_text": "é", "new_text": "e"}]}
    preview = await there.dry_run(edit.TOOL, **change)
    await there.call(edit.TOOL, preview, **change)
    assert (there.root / "d/a.txt").read_text() == "hello\n"
    preview = await there.dry_run(delete.TOOL, path="d/a.txt")
    await there.call(delete.TOOL, preview, path="d/a.txt")
    assert not (there.root / "d/a.txt").exists()


async def test_a_command_runs_there_with_the_environment_of_there(
    there: Bench, sshd: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Local/Time")
    result = await there.call(bash.TOOL, command='echo "$HOME|$TZ|$SSH_CONNECTION"; pwd')
    assert result.text == f"{sshd.home}||\n{there.root}"
    assert there.shown


async def test_structures_are_matched_here_in_texts_from_there(there: Bench) -> None:
    there.write("a.py", "f(1)\nf(g(2))\n")
    there.write("b.js", "f(3)\n")
    there.write("broken.py", "def f(:\n  f(1)\n")
    text = (await there.call(ast_edit.TOOL, ops=[{"pat": "f($A)", "out": "h($A)"}])).text
    assert "# a.py (2 replacements)\n-1:1 f(1)\n+1:1 h(1)" in text
    assert "# b.js (1 replacement)" in text
    assert "- broken.py: " in text


async def test_a_path_outside_and_a_missing_path_are_reported(there: Bench) -> None:
    with pytest.raises(ToolError, match="Path not found: gone"):
        await there.call(read.TOOL, path="gone")
