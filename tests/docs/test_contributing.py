"""The page for contributors names files that are there."""

from __future__ import annotations

import re

import pytest

from tests.support.launch import CHECKOUT

TEXT = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ROOTS = ("", "python3/agentchat", "lua/agentchat")
PATHS = sorted(set(re.findall(r"`((?!\S*NAME)[\w./-]+(?:/|\.(?:py|lua|md|txt)))`", TEXT)))
"""What looks like a file or a folder."""


@pytest.mark.parametrize("path", PATHS)
def test_a_file_it_names_is_there(path: str) -> None:
    assert any((CHECKOUT / root / path).exists() for root in ROOTS)


def test_it_names_every_room() -> None:
    rooms = [f for f in (CHECKOUT / "python3/agentchat").iterdir() if (f / "__init__.py").exists()]
    assert [room.name for room in rooms if f"`python3/agentchat/{room.name}/`" not in TEXT] == []


def test_it_says_what_each_package_is_for() -> None:
    lines = (CHECKOUT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    packages = [re.split(r"[<>=]", line)[0] for line in lines if not line.startswith("#")]
    table = TEXT[TEXT.index("## Packages") : TEXT.index("## How a message travels")]
    assert [name for name in packages if not re.search(rf"^\|.*\b{name}\b", table, re.M)] == []
