"""A pipe in the place of a file never makes anything of the plugin wait."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentchat.agent.prompts.command_files import PROJECT_FOLDERS, CommandFiles
from agentchat.agent.prompts.rules_files import RulesFiles
from agentchat.agent.prompts.skills import Skills
from agentchat.core.errors import UserError
from agentchat.core.messages import Usage
from agentchat.core.tools.registry import Registry
from agentchat.disk.regular import read_regular
from agentchat.headless.settings_file import read_settings_file
from agentchat.journal.ledger import UsageLedger
from agentchat.journal.reader import read_records
from agentchat.models.learned import LearnedServers
from agentchat.tools.mcp.registry import read_configuration
from agentchat.tools.search.walk import list_files, walk_folder
from agentchat.tools.trust import read_source, read_trust
from agentchat.workspace.local import LocalWorkspace
from agentchat.workspace.overlay.git import git_folders

PACKAGE = Path(__file__).parents[2] / "python3" / "agentchat"
SECONDS = 20

ALLOWED = {
    "core/shell/dangers.py": "a file of the package",
    "core/shell/programs.py": "a file of the package",
    "workspace/remote/bootstrap.py": "files of the package",
    "workspace/files/cleanup.py": "/proc",
    "workspace/overlay/changes.py": "/proc",
    "workspace/overlay/launcher.py": "/proc",
    "workspace/overlay/namespace.py": "/proc",
    "workspace/overlay/root.py": "writes into a file system of its own",
    "workspace/overlay/server.py": "files of its own, and /proc",
    "workspace/overlay/upper.py": "an upper folder, after a look at the kind of the file",
    "workspace/process/landlock.py": "/proc",
    "workspace/process/orphans.py": "/proc",
    "workspace/process/run.py": "/dev/null",
    "tools/custom/declaration/context.py": "the user's own tool names the file",
}
"""Modules that open files by themselves, and which."""


def _opens(tree: ast.AST) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Name) and function.id == "open":
                yield node.lineno
            if isinstance(function, ast.Attribute) and function.attr in ("read_text", "read_bytes"):
                yield node.lineno


def test_no_module_opens_files_that_others_can_replace_by_itself() -> None:
    found = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if any(_opens(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert found - set(ALLOWED) == set(), "use agentchat.disk.regular"
    assert set(ALLOWED) - found == set(), "no longer needed"


def _pipe(root: Path, name: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    return path


def _rules(root: Path) -> None:
    _pipe(root, "AGENTS.md")
    assert asyncio.run(RulesFiles(LocalWorkspace(str(root))).begin_turn()) == ""


def _commands(root: Path) -> None:
    _pipe(root, f"{PROJECT_FOLDERS[0]}/go.md")
    files = CommandFiles(root, Path())
    files.refresh()
    assert not files.list()
    assert "no ordinary file" in files.problems[0]


def _skills(root: Path) -> None:
    _pipe(root, ".agents/skills/one/SKILL.md")
    skills = Skills(root, Path(), root / "home", trust=root / "trust", registry=Registry())
    skills.refresh()
    assert not skills.offer()


def _ledger(root: Path) -> None:
    ledger = UsageLedger(root)
    ledger.add("chat", "model", Usage(1, 1, 2))
    (file,) = (root / "usage").iterdir()
    file.unlink()
    os.mkfifo(file)
    ledger = UsageLedger(root)
    ledger.add("chat", "model", Usage(1, 1, 2))
    assert ledger.today().usage.total_tokens == 0


def _settings(root: Path) -> None:
    with pytest.raises(OSError, match="no ordinary file"):
        read_settings_file(_pipe(root, "settings.json"))


def _tool_file(root: Path) -> None:
    with pytest.raises(OSError, match="no ordinary file"):
        read_source(_pipe(root, "tool.py"))


def _trust(root: Path) -> None:
    assert read_trust(_pipe(root, "trust")) == {}


def _servers(root: Path) -> None:
    _pipe(root, ".mcp.json")
    found = read_configuration(root, {}, config=root / "config", trust=root / "trust")
    assert not found.servers


def _learned(root: Path) -> None:
    _pipe(root, "servers.json")
    assert LearnedServers(root).of("http://h", "m").protocol is None


def _journal(root: Path) -> None:
    with pytest.raises(OSError, match="no ordinary file"):
        list(read_records(_pipe(root, "chat.journal")))


def _git_file(root: Path) -> None:
    _pipe(root, ".git")
    assert git_folders(str(root)) == []


def _ignore_file(root: Path) -> None:
    _pipe(root, ".gitignore")
    (root / "a.txt").write_text("a")
    assert asyncio.run(walk_folder(str(root), LocalWorkspace(str(root)))) == ["a.txt"]


def _ignore_file_of_the_search(root: Path) -> None:
    _pipe(root, "deep/.ignore")
    (root / "a.txt").write_text("a")
    assert asyncio.run(list_files(str(root), LocalWorkspace(str(root)))) == ["a.txt"]


READERS: tuple[Callable[[Path], None], ...] = (
    _rules, _commands, _skills, _ledger, _settings, _tool_file, _trust, _servers, _learned,
    _journal, _git_file, _ignore_file, _ignore_file_of_the_search,
)  # fmt: skip


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__.strip("_"))
def test_a_reader_does_not_wait_for_the_writer_of_a_pipe(
    reader: Callable[[Path], None], tmp_path: Path
) -> None:
    pipes_are_read = threading.Event()
    late = threading.Timer(SECONDS, _release, (tmp_path, pipes_are_read))
    late.start()
    try:
        reader(tmp_path.resolve())
    finally:
        late.cancel()
    assert not pipes_are_read.is_set()


def _release(root: Path, released: threading.Event) -> None:
    """End the wait of a reader, so that the test fails in place of hanging."""
    released.set()
    for path in root.rglob("*"):
        with contextlib.suppress(OSError):
            if path.is_fifo():
                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))


def test_a_size_is_a_limit(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"[" * (2 << 20))
    assert read_regular(path, 4, 2) == b"[[[["
    with pytest.raises(UserError, match="larger than 1024 KiB"):
        read_settings_file(path)
