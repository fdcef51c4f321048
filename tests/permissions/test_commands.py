"""No grant covers another command: the cases, in both forms of grant, and their proof."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.permissions.cases import GRAMMAR, PLAIN, PROGRAMS, RUNS, SILENT, Case
from tests.permissions.gate import ASK, RUN, Chat, allow
from tests.permissions.ground import Ground


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path / "ws")


@pytest.mark.parametrize("case", GRAMMAR + PROGRAMS, ids=str)
async def test_a_command_that_does_more_than_was_allowed_asks(case: Case, ground: Ground) -> None:
    chat = Chat(ground.root, *allow(*case.allowed))
    assert await chat.bash(case.command) == ASK
    assert not ground.marked
    if case.raw != SILENT and not (case.needs and shutil.which(case.needs) is None):
        proves = ground.run if case.raw == PLAIN else ground.run_on_a_terminal
        assert proves(case.command), "the payload proves nothing"


async def test_a_remembered_command_covers_none_of_the_others(ground: Ground) -> None:
    chat = Chat(ground.root)
    assert await chat.bash("git status", "always") == ASK
    for case in GRAMMAR:
        assert await chat.bash(case.command) == ASK, case
        assert not ground.marked
    assert await chat.bash("git status") == RUN


@pytest.mark.parametrize("case", RUNS, ids=str)
async def test_an_ordinary_command_that_rules_allow_is_not_asked(
    case: Case, ground: Ground
) -> None:
    assert await Chat(ground.root, *allow(*case.allowed)).bash(case.command) == RUN
