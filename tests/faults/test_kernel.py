"""Whatever call to the kernel is the last one, or fails: the change is whole or not there.

``AGENTCHAT_FAULTS`` is how many places are tried of each kind, all if it is 0; ``AGENTCHAT_SEED``
says which.
"""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from agentchat.journal import records as r
from agentchat.journal.codec import kind_of
from agentchat.journal.file import journal_path
from agentchat.journal.reader import read_records
from tests.faults.ground import OLD, Reopened, build, the_change
from tests.faults.tracer import STRACE, Point, Traced, traced
from tests.permissions.report import seed, tell
from tests.workspace.files.test_transaction import Print, fingerprint

COUNT = int(os.environ.get("AGENTCHAT_FAULTS", "3"))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(60 + 5 * (COUNT or 200)),
    pytest.mark.skipif(STRACE is None, reason="needs the program strace (the package strace)"),
    pytest.mark.xdist_group("kernel"),
]


class Place:
    """One project with its state folder, and what it looked like before."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "ws"
        self.state = folder / "state"
        build(self.root)
        self.state.mkdir()
        self.before = fingerprint(self.root)

    def run(self, what: str, point: Point | None = None, fault: str = "signal=KILL") -> Traced:
        return traced(what, self.root, self.state, point, fault)

    def records(self) -> list[r.Record]:
        path = journal_path(self.state, "chat")
        return list(read_records(path)) if path.exists() else []


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Traced, Print]:
    """The run to which nothing happens, and the project after it."""
    place = Place(tmp_path_factory.mktemp("whole"))
    run = place.run("make")
    assert run.code == 0
    return run, fingerprint(place.root)


def chosen(points: Sequence[Point]) -> list[Point]:
    """Return as many places as are wanted, spread over all."""
    if COUNT == 0 or len(points) <= COUNT:
        return list(points)
    first = random.Random(seed()).random()
    return [points[int((first + n) * len(points) / COUNT)] for n in range(COUNT)]


def test_the_bytes_before_are_durable_before_the_first_file_changes(
    whole: tuple[Traced, Print], tmp_path: Path
) -> None:
    lines = whole[0].lines
    kept = next(n for n, line in enumerate(lines) if "fsync(" in line and ".msgpack>" in line)
    written = [n for n, line in enumerate(lines) if "/ws" in line and "pwrite64(" in line]
    named = [n for n, line in enumerate(lines) if "/ws" in line and "rename" in line]
    assert written
    assert named
    assert kept < min(written + named)
    synced = {line.partition("<")[2].partition(">")[0] for line in lines if "fsync(" in line}
    for line in (lines[n] for n in named):
        folder = line.partition("<")[2].partition(">")[0]
        assert folder in synced, "a name is made durable by its folder"


async def test_killed_at_any_call_the_change_is_whole_or_gone_after_a_restart(
    whole: tuple[Traced, Print], tmp_path: Path
) -> None:
    points = chosen(whole[0].points())
    for number, point in enumerate(points):
        place = Place(tmp_path / str(number))
        assert place.run("make", point).fired, point
        _has_the_bytes_before(place)
        await _ends_well(place, whole[1], str(point))
    tell(f"killed at {len(points)} of {len(whole[0].points())} calls, each fault seen to happen")


@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
async def test_whichever_call_fails_the_change_is_whole_or_not_made(
    whole: tuple[Traced, Print], tmp_path: Path, error: str
) -> None:
    points = chosen(whole[0].points())
    for number, point in enumerate(points):
        place = Place(tmp_path / str(number))
        run = place.run("make", point, f"error={error}")
        assert run.fired, point
        _has_the_bytes_before(place)
        await _ends_well(place, whole[1], f"{point} {error}")
    tell(f"{error} at {len(points)} of {len(whole[0].points())} calls, each seen to happen")


async def test_a_recovery_that_is_killed_is_ended_by_the_next(
    whole: tuple[Traced, Print], tmp_path: Path
) -> None:
    last = [point for point in whole[0].points() if point.call.startswith("rename")][-1]
    place = Place(tmp_path / "whole")
    place.run("make", last)
    points = chosen(place.run("recover").points())
    for number, point in enumerate(points):
        place = Place(tmp_path / str(number))
        assert place.run("make", last).fired
        assert place.run("recover", point).fired, point
        await _ends_well(place, whole[1], f"recovery {point}")
    tell(f"recovery killed at {len(points)} calls, each fault seen to happen")


@pytest.mark.parametrize("writer", ["in place", "undressed"])
async def test_a_writer_that_is_no_good_is_found_out(
    whole: tuple[Traced, Print], tmp_path: Path, writer: str
) -> None:
    place = Place(tmp_path)
    assert place.run(writer, Point("write", 2)).fired
    with pytest.raises(AssertionError):
        _has_the_bytes_before(place)
    with pytest.raises(AssertionError, match="writer"):
        await _ends_well(place, whole[1], "writer")


def _has_the_bytes_before(place: Place) -> None:
    """Whatever is not as it was is in the journal as it was."""
    kept = {record.sha256 for record in place.records() if isinstance(record, r.ContentStored)}
    for file in the_change(place.root).parts:
        name = os.path.relpath(file.path, place.root)
        path = Path(file.path)
        if file.before is not None and (not path.is_file() or path.read_bytes() != file.before):
            assert hashlib.sha256(OLD[name][0]).hexdigest() in kept, name


async def _ends_well(place: Place, after: Print, why: str) -> None:
    left = fingerprint(place.root)
    await _reopened(place)
    current = fingerprint(place.root)
    assert current in (place.before, after), (why, _difference(current, place.before), left.keys())
    kinds = len(place.records())
    await _reopened(place)
    assert fingerprint(place.root) == current, why
    assert [kind_of(record) for record in place.records()[kinds:]] == ["opened"], why
    chat = Reopened(place.root, place.state)
    report = await chat.undo()
    chat.close()
    assert fingerprint(place.root) == place.before, (why, report)


async def _reopened(place: Place) -> None:
    chat = Reopened(place.root, place.state)
    await chat.recover()
    chat.close()


def _difference(current: Print, expected: Print) -> dict[str, object]:
    names = current.keys() | expected.keys()
    return {
        n: (current.get(n), expected.get(n)) for n in names if current.get(n) != expected.get(n)
    }
