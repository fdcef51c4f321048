"""The review of what was changed: shown from the journal, hunks taken back and brought back."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from agentchat.core.diff.changeset import FileChange
from agentchat.core.turn.hunk_decisions import HunkDecision, hunk_keys
from agentchat.core.turn.view import ChangesPage
from tests.agent.undo.test_commands import SECRET, UndoScene, delete, edit, write

LINES = [f"line {n}\n" for n in range(1, 61)]
PLACES = [5, 25, 45]
"""Lines so far apart that each is a hunk of its own."""


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[UndoScene]:
    scene = UndoScene(tmp_path)
    yield scene
    scene.journal.close()


async def shown(scene: UndoScene, turn: int | None = None) -> ChangesPage:
    """Return the page that the command shows."""
    number = len(scene.screen.pages)
    scene.session.show_changes(turn)
    await scene.screen.until(lambda: len(scene.screen.pages) > number)
    return scene.screen.pages[-1]


async def take_back(scene: UndoScene, page: ChangesPage, file: int, *indexes: int) -> str:
    """Take hunks of a file back; return what was said."""
    path = page.change.files[file].path
    wanted = [HunkDecision(path, index) for index in indexes]
    return await scene.said(lambda: scene.session.take_back(page.turn, page.stamps[file], wanted))


def three_edits() -> tuple[str, dict[str, object]]:
    edits = [{"old_text": f"line {n}\n", "new_text": f"changed {n}\nand more\n"} for n in PLACES]
    return "edit", {"path": "a.txt", "edits": edits}


def texts(page: ChangesPage) -> list[tuple[bytes | None, bytes | None]]:
    return [(file.before, file.after) for file in page.change.files]


async def test_a_turn_and_the_chat_are_shown_also_after_a_restart(scene: UndoScene) -> None:
    scene.write("a.py", "one\ntwo\n")
    await scene.turn(edit("a.py", "one", "1"), write("b.py", "b\n"))
    await scene.turn(edit("a.py", "two", "2"))
    scene.restart()
    first = await shown(scene, 1)
    assert first.title == "Changes of turn 1"
    assert texts(first) == [(b"one\ntwo\n", b"1\ntwo\n"), (None, b"b\n")]
    assert texts(await shown(scene, 2)) == [(b"1\ntwo\n", b"1\n2\n")]
    whole = await shown(scene)
    assert (whole.title, texts(whole)) == (
        "Changes of this chat",
        [(b"one\ntwo\n", b"1\n2\n"), (None, b"b\n")],
    )
    assert [file.display_path for file in whole.change.files] == ["a.py", "b.py"]


async def test_what_is_not_there_is_said(scene: UndoScene) -> None:
    await scene.turn()
    for turn, text in ((None, "Nothing was changed in this chat."), (7, "There is no turn 7")):
        assert text in await scene.said(partial(scene.session.show_changes, turn))


async def test_a_hunk_is_taken_back_and_brought_back(scene: UndoScene) -> None:
    path = scene.write("a.txt", "".join(LINES))
    await scene.turn(three_edits())
    changed = path.read_text()
    page = await shown(scene, 1)
    text = await take_back(scene, page, 0, 1)
    assert text == "Took back 1 hunk of a.txt, a change of turn 1. :AgentRedo brings it back."
    assert "line 25\n" in path.read_text()
    assert "changed 5\n" in path.read_text()
    left = scene.screen.pages[-1]
    assert (len(hunk_keys(left.change.files[0])), left.turn) == (2, 1)
    await scene.turn()
    assert "The user took back 1 hunk of a.txt" in scene.notes_to_the_model()[-1]
    assert "-changed 25" in scene.notes_to_the_model()[-1]
    scene.restart()
    assert "changed again: a.txt" in await scene.redo()
    assert path.read_text() == changed
    assert texts(await shown(scene, 1)) == [("".join(LINES).encode(), changed.encode())]


async def test_what_the_user_changed_elsewhere_stays(scene: UndoScene) -> None:
    path = scene.write("a.txt", "".join(LINES))
    await scene.turn(three_edits())
    page = await shown(scene)
    path.write_text(path.read_text().replace("line 60", "mine"))
    await take_back(scene, page, 0, 0)
    assert "mine\n" in path.read_text()
    assert "line 5\n" in path.read_text()
    assert len(hunk_keys(scene.screen.pages[-1].change.files[0])) == 2


async def test_a_hunk_that_was_changed_since_is_left_alone(scene: UndoScene) -> None:
    path = scene.write("a.txt", "".join(LINES))
    await scene.turn(three_edits())
    page = await shown(scene)
    path.write_text(path.read_text().replace("changed 25", "mine"))
    before = path.read_text()
    assert "a.txt has changed since where this hunk is" in await take_back(scene, page, 0, 1)
    assert path.read_text() == before


async def test_a_file_that_was_made_goes_and_one_that_was_deleted_comes_back(
    scene: UndoScene,
) -> None:
    scene.write("run.sh", "go\n", 0o755)
    before = scene.files()
    await scene.turn(write("a/new.py", "x\n"), delete("run.sh"))
    page = await shown(scene)
    await take_back(scene, page, 0, 0)
    await take_back(scene, scene.screen.pages[-1], 0, 0)
    assert scene.files() == before
    assert not (scene.root / "a").exists()
    assert scene.screen.pages[-1].change.files == ()


async def test_a_part_of_a_hunk_is_taken_back(scene: UndoScene) -> None:
    path = scene.write("a.txt", "one\ntwo\nthree\n")
    await scene.turn(edit("a.txt", "one", "1"), edit("a.txt", "three", "3"))
    page = await shown(scene)
    file = page.change.files[0]
    decision = HunkDecision(file.path, 0, part=1)
    await scene.said(lambda: scene.session.take_back(None, page.stamps[0], [decision]))
    assert path.read_text() == "1\ntwo\nthree\n"


async def test_an_old_page_is_shown_again_instead(scene: UndoScene) -> None:
    path = scene.write("a.txt", "".join(LINES))
    await scene.turn(three_edits())
    page = await shown(scene)
    await take_back(scene, page, 0, 0)
    before = path.read_text()
    assert "they are shown again" in await take_back(scene, page, 0, 1)
    assert path.read_text() == before


async def test_a_file_with_a_secret_is_named_only(scene: UndoScene) -> None:
    scene.write("a.txt", "one\n")
    await scene.turn(edit("a.txt", "one", SECRET), write("b.txt", "b\n"))
    page = await shown(scene)
    assert [file.display_path for file in page.change.files] == ["b.txt"]
    assert page.notes[0].startswith("a.txt: not shown")


def whole(file: FileChange) -> list[int]:
    return list(range(len(hunk_keys(file))))


@pytest.mark.parametrize("seed", range(20))
async def test_any_order_of_taking_back_and_redoing_ends_where_it_began(
    scene: UndoScene, seed: int
) -> None:
    rng = random.Random(seed)
    path = scene.write("a.txt", "".join(LINES))
    states = [path.read_text()]
    await scene.turn(three_edits())
    states.append(path.read_text())
    for _ in range(rng.randint(1, 6)):
        page = await shown(scene, 1)
        if rng.random() < 0.4 and len(states) > 2:
            await scene.redo()
            states.pop()
            assert path.read_text() == states[-1]
        elif hunks := whole(page.change.files[0]) if page.change.files else []:
            some = rng.sample(hunks, rng.randint(1, len(hunks) - 1)) if len(hunks) > 1 else hunks
            if len(some) == len(hunks):
                break
            await take_back(scene, page, 0, *some)
            states.append(path.read_text())
            assert states[-1] != states[-2]
        if rng.random() < 0.3:
            scene.restart()
    await scene.undo()
    assert path.read_text() == states[0]
    await scene.redo()
    assert path.read_text() == states[-1]
    page = await shown(scene, 1)
    await take_back(scene, page, 0, *whole(page.change.files[0]))
    assert path.read_text() == states[0]
