"""Imports run one way: core, then tools, workspace, models and journal, then agent, then editor."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "python3" / "agentchat"
MIDDLE = {"core"}
MAY_IMPORT = {
    "core": set[str](),
    "tools": {"core", "rpc"},
    "rpc": {"core"},
    "workspace": {"core", "rpc"},
    "models": MIDDLE,
    "journal": MIDDLE,
    "agent": {"core", "tools", "workspace", "models", "journal"},
    "nvim": {"core", "rpc", "tools", "workspace", "models", "journal", "agent"},
}
FILES = sorted(PACKAGE.rglob("*.py"))
LATE_ONLY = {"openai", "PIL", "pathspec"}
"""Libraries that cost too much to import before they are needed."""


def imports(path: Path, *, at_top: bool = False) -> Iterator[str]:
    """Yield the modules a file imports, by full name."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = ast.iter_child_nodes(tree) if at_top else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""
            yield from (f"{node.module}.{name.name}" for name in node.names)


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_room_imports_only_the_rooms_below_it(path: Path) -> None:
    if path.parent == PACKAGE:
        return
    own = room(path)
    used = {name.split(".")[1] for name in imports(path) if name.startswith("agentchat.")}
    rooms = {name for name in used if (PACKAGE / name).is_dir()}
    assert rooms - {own} <= MAY_IMPORT[own]


def outside(path: Path) -> set[str]:
    tops = {name.split(".")[0] for name in imports(path)}
    return tops - set(sys.stdlib_module_names) - {"agentchat"}


def test_the_core_imports_the_standard_library_only() -> None:
    assert {str(p): outside(p) for p in FILES if room(p) == "core" and outside(p)} == {}


def test_the_modules_of_the_core_do_not_go_round_in_circles() -> None:
    core = {path.stem: path for path in FILES if room(path) == "core"}
    used = {
        name: {module.split(".")[2] for module in imports(path) if module.count(".") > 1}
        for name, path in core.items()
    }
    while free := {name for name, needs in used.items() if not needs & set(used)}:
        used = {name: needs for name, needs in used.items() if name not in free}
    assert used == {}


def test_only_the_editor_knows_neovim() -> None:
    knowing = {room(path) for path in FILES if "pynvim" in outside(path)}
    assert knowing == {"nvim"}


def test_slow_libraries_are_imported_late() -> None:
    early = {
        str(path): LATE_ONLY & {name.split(".")[0] for name in imports(path, at_top=True)}
        for path in FILES
    }
    assert {path: names for path, names in early.items() if names} == {}


def test_no_module_is_named_for_what_does_not_fit_elsewhere() -> None:
    vague = {"utils", "util", "helpers", "common", "misc"}
    assert [path for path in FILES if path.stem in vague] == []
