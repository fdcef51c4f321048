"""Files are written in few places: those of the user in one, and the plugin's own in a handful."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripts.layers import PACKAGE

WRITERS = {
    "workspace/files/disk.py": "the user's files",
    "workspace/files/operations.py": "opens them through the disk",
    "journal/file.py": "the journal",
    "journal/export.py": "an export for the user",
    "journal/index.py": "deletes a chat",
    "journal/__main__.py": "/dev/null, where a pipe was",
    "headless/command.py": "/dev/null, where a pipe was",
    "journal/ledger.py": "what was spent each day",
    "models/learned.py": "what servers refused",
    "agent/execution/results.py": "results too large for the model",
    "app/state.py": "the plugin's own folder",
    "nvim/router.py": "/dev/null",
    "tools/mcp/oauth.py": "the tokens of logins",
    "tools/mcp/servers.py": "the tokens, at a logout",
    "workspace/files/aspects.py": "modes and links of the user's files",
    "workspace/overlay/folder.py": "the folders of an overlay",
    "workspace/overlay/isolation.py": "the folders of isolated runs",
    "workspace/overlay/kept.py": "what isolated runs keep, and texts of buffers for one",
    "workspace/overlay/namespace.py": "what an overlay hides",
    "workspace/overlay/root.py": "mount points, and files that a command sees in place of others",
    "workspace/overlay/server.py": "/proc, pipes and sockets, in a child",
    "workspace/overlay/upper.py": "the times of files that were applied",
    "workspace/process/git.py": "a folder of git settings of its own",
    "workspace/process/sandbox.py": "an empty folder for a sandbox",
    "workspace/process/landlock.py": "/proc, in a child",
    "workspace/process/run.py": "input and long output of a program",
    "workspace/remote/server.py": "a pipe",
    "rpc/peer.py": "a pipe or socket",
    "rpc/sockets.py": "the socket for agents of other programs",
}
"""Who writes what. A test of faults sees what goes through ``workspace/files/disk.py``."""

NOT_FILES = {"workspace/buffers.py"}
"""Its ``rename`` is of a buffer."""

OS_CALLS = {
    "write", "pwrite", "pwritev", "writev", "truncate", "ftruncate", "rename", "renames", "replace",
    "link", "symlink", "unlink", "remove", "rmdir", "removedirs", "mkdir", "makedirs", "chmod",
    "fchmod", "lchmod", "chown", "fchown", "lchown", "setxattr", "removexattr", "mkfifo", "mknod",
    "utime", "sendfile", "copy_file_range",
}  # fmt: skip
PATH_CALLS = {
    "write_text", "write_bytes", "touch", "mkdir", "rmdir", "unlink", "rename", "symlink_to",
    "hardlink_to", "chmod", "lchmod",
}  # fmt: skip
WRITES = {"O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"}


def effects(path: Path) -> Iterator[str]:
    """Yield what a module does to files, as far as its text tells."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr in WRITES:
            yield f"{node.lineno}: {node.attr}"
        elif isinstance(node, ast.Call):
            yield from _called(node)


def _called(node: ast.Call) -> Iterator[str]:
    if isinstance(node.func, ast.Name) and node.func.id == "open" and _writes(node, 1):
        yield f"{node.lineno}: open"
    if isinstance(node.func, ast.Attribute):
        name, of = node.func.attr, ast.unparse(node.func.value)
        by_path = name in PATH_CALLS or (name == "open" and _writes(node, 0))
        if of == "os":
            does = name in OS_CALLS
        elif of in ("shutil", "tempfile"):
            does = name != "which"
        else:
            does = by_path and of not in ("disk", "self.disk")
        if does:
            yield f"{node.lineno}: {of}.{name}"


def _writes(node: ast.Call, place: int) -> bool:
    modes = [*node.args[place : place + 1], *(k.value for k in node.keywords if k.arg == "mode")]
    return any(isinstance(m, ast.Constant) and set(str(m.value)) & set("wax+") for m in modes)


def test_files_are_written_by_those_who_may_and_nobody_else() -> None:
    lines = {str(path.relative_to(PACKAGE)): list(effects(path)) for path in PACKAGE.rglob("*.py")}
    writers = {name for name in lines if lines[name] and name not in NOT_FILES}
    assert writers == set(WRITERS)


@pytest.mark.parametrize(
    "line",
    ["open(p, 'w')", "open(p, mode='ab')", "p.open('x')", "p.write_text(s)", "os.replace(a, b)",
     "os.open(p, os.O_RDWR)", "shutil.copy(a, b)", "tempfile.mkstemp()", "Path(p).unlink()"],
)  # fmt: skip
def test_each_way_to_write_is_seen(tmp_path: Path, line: str) -> None:
    (tmp_path / "module.py").write_text(line)
    assert list(effects(tmp_path / "module.py"))
