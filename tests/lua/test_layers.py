"""Lua modules require one way: floats know no chats, chats know no approvals and no reviews."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

LUA = Path(__file__).parents[2] / "lua" / "agentchat"
LEVELS = [
    {"notify", "remote", "highlights", "lazy"},
    {"config", "events", "ui"},
    {"host"},
    {"transcript"},
    {"prompt"},
    {"chat", "files"},
    {"attention", "dock"},
    {"diff", "ask_user", "tools", "mcp", "sessions"},
    {"review"},
    {"approval"},
    {"commands"},
    {"keymaps", "health", "init", "host/rpc"},
]
"""The rooms, the lowest first: folders, and modules beside the folders. The border to Python,
`host/rpc`, is a room of its own: it offers functions of all the others, and nothing requires it."""
FILES = {str(path.relative_to(LUA).with_suffix("")): path for path in sorted(LUA.rglob("*.lua"))}
REQUIRE = re.compile(r"""(?:require|lazy)\(?\s*['"]agentchat(?:\.([\w.]+))?['"]""")
AT_TOP = re.compile(r"""^local \w+ = (?:require|lazy)\('agentchat[\w.]*'\)$""")
MOST_FILES = 14


def room(module: str) -> str:
    return module if module == "host/rpc" else module.partition("/")[0]


def level(module: str) -> int:
    return next(i for i, rooms in enumerate(LEVELS) if room(module) in rooms)


def required(module: str) -> set[str]:
    names = REQUIRE.findall(FILES[module].read_text(encoding="utf-8"))
    return {(name or "init").replace(".", "/") for name in names} - {module}


@pytest.mark.parametrize("module", FILES)
def test_a_module_requires_what_is_there(module: str) -> None:
    assert required(module) <= set(FILES)


@pytest.mark.parametrize("module", FILES)
def test_a_module_requires_only_its_own_room_and_those_below(module: str) -> None:
    own = level(module)
    others = {name for name in required(module) if room(name) != room(module)}
    assert {name for name in others if level(name) >= own} == set()


def test_modules_do_not_require_each_other_in_circles() -> None:
    needs = {module: required(module) for module in FILES}
    while free := {module for module, names in needs.items() if not names & set(needs)}:
        needs = {module: names for module, names in needs.items() if module not in free}
    assert needs == {}


@pytest.mark.parametrize("module", FILES)
def test_requires_stand_at_the_top(module: str) -> None:
    lines = FILES[module].read_text(encoding="utf-8").splitlines()
    named = [i for i, line in enumerate(lines) if re.search(r"\b(require|lazy)\('", line)]
    top = next((i for i, line in enumerate(lines) if line == "local M = {}"), len(lines))
    assert all(i < top and AT_TOP.match(lines[i]) for i in named)


def test_the_plugin_file_requires_nothing_before_a_command_or_a_key_is_used() -> None:
    text = (LUA.parents[1] / "plugin" / "agentchat.lua").read_text(encoding="utf-8")
    # What is indented runs later: it is in a function.
    assert re.findall(r"^(?! )[^(\n]*require.*", text, re.MULTILINE) == []


def test_no_folder_holds_too_many_files() -> None:
    folders = {path.parent for path in FILES.values()}
    assert {str(f) for f in folders if len(list(f.glob("*.lua"))) > MOST_FILES} == set()
