"""Whatever way an isolated run changes a protected place, the change asks, by itself and first."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from agentchat.agent.execution.isolated_runs import locate_changes
from agentchat.core.diff.aspects import FOLDER, split_aspect
from agentchat.core.permissions.isolation import IsolatedFile
from tests.permissions.report import generated, seed, tell
from tests.workspace.overlay.staging import plainly
from tests.workspace.overlay.test_isolation import Isolated, isolated

__all__ = ["isolated"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

LESS = 50

FILES = (
    ".github/workflows/ci.yml", "conftest.py", ".mcp.json", ".nvim.lua", ".envrc", "CLAUDE.md",
    "deep/Makefile", ".git/hooks/pre-commit", ".git/info/attributes", ".git/config.worktree",
    ".git/rebase-merge/git-rebase-todo", ".git/commondir", ".git/objects/info/alternates",
    ".git/modules/m/config", "deep/.git", "tools/hooks/post-checkout", ".github/$'\\xff'.yml",
)  # fmt: skip
"""Protected places, as words of a shell; ``tools/hooks`` is the repository's ``core.hooksPath``."""

RUN_BY_THEMSELVES = tuple(
    place for place in FILES if place.startswith((".git", ".mcp", ".nvim", ".envrc", "CLAUDE"))
)

MANY = "for i in $(seq 501); do echo $i > f$i; done"
"""Makes so many files that the review folds them."""

Way = Callable[[str], str]
WAYS: tuple[Way, ...] = (
    lambda place: f"echo x > {place}",
    lambda place: f"echo new > n; mv n {place}",
    lambda place: f"mv plain {place}",
    lambda place: f"ln -s ../plain {place}",
    lambda place: f"rm -rf {place}; ln -s plain {place}",
    lambda place: f"echo x > {place}; chmod 755 {place}",
    lambda place: f"install -m 4755 plain {place}",
    lambda place: f"cp -r there new; mv new $(dirname {place})/x.d; cp plain {place}",
    lambda place: (
        f"for i in $(seq 501); do echo $i > $(dirname {place})/f$i; done; cp plain {place}"
    ),
    lambda place: f"for i in $(seq 501); do echo $i > there/f$i; done; mv plain {place}",
)
AWAY: tuple[Way, ...] = (
    lambda place: f"mv {place} moved",
    lambda place: f"mv {place} there/moved; echo x > other",
    lambda place: f"rm {place}",
    lambda place: f"rm {place}; ln -s plain {place}",
    lambda place: f"chmod 777 {place}",
)


def begin(project: Path, rng: random.Random) -> str:
    """Make a repository; return a command that changes one of its protected places."""
    plainly(
        "git init -q -b main; git config core.hooksPath tools/hooks; mkdir -p deep tools/hooks "
        "there; echo plain > plain; echo x > there/x; git add -A; git commit -qm 1",
        project,
    )
    place = rng.choice(FILES)
    make = f"mkdir -p $(dirname {place})"
    if rng.random() < 0.4 and place != "deep/.git":
        plainly(f"{make}; echo before > {place}", project)
        return rng.choice((*WAYS, *AWAY))(place) + f" # {place}"
    return f"{make}; {rng.choice(WAYS)(place)} # {place}"


def hidden(files: tuple[IsolatedFile, ...], place: str) -> list[str]:
    """Return the changes of a place that do not ask by themselves before all others."""
    last = max((at for at, file in enumerate(files) if file.asks), default=-1)
    found = [file.change.name for file in files[: last + 1] if not file.asks]
    for file in files:
        for change in file.change.members or (file.change,):
            entries = [split_aspect(path) for path in change.paths]
            named = any(e.endswith(place) and aspect != FOLDER for e, aspect in entries)
            if named and not (file.asks and not file.change.members):
                found.append(change.name)
            elif named and place in RUN_BY_THEMSELVES and not file.change.left_out:
                found.append(f"{change.name} is not left out")
    return found


async def test_no_way_to_change_a_protected_place_is_without_a_question(
    isolated: Isolated,
) -> None:
    rng = random.Random(seed())
    number = max(12, generated() // LESS)
    failures, seen = [], 0
    for _ in range(number):
        plainly("rm -rf .git .github .mcp.json .nvim.lua * .env*", isolated.project)
        command = begin(isolated.project, rng)
        run = await isolated.run(command)
        files = await locate_changes(run.change, isolated.workspace)
        place = command.rpartition("# ")[2].replace("$'\\xff'", "\udcff")
        seen += any(place in path for file in files for path in file.change.paths)
        failures += [(found, command) for found in hidden(files, place)]
    tell(f"{number} changes of protected places, {len(failures)} without a question")
    assert failures == []
    assert seen > number / 3


async def test_a_new_repository_of_any_name_asks(isolated: Isolated) -> None:
    first = "git init -q --bare x/data; rm -r x/data/config x/data/HEAD"
    later = "cp -r x/data y; git init -q --bare z; rm z/hooks/*; cp z/HEAD y; mkdir other; "
    later += "cp z/HEAD other"
    for command in (first, later):
        run = await isolated.run(command)
        files = await locate_changes(run.change, isolated.workspace)
        asking = {file.change.name for file in files if file.asks}
        if command == first:
            assert asking == set()
            plainly(first, isolated.project)
    assert {"y/HEAD", "z/HEAD", "z/config"} < asking
    assert "other/HEAD" not in asking
