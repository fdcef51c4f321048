"""Previews that were pending when the last process of a chat ended."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agentchat.agent.execution.previews import Previews
from agentchat.agent.preview_actions import ResolveCommand
from agentchat.agent.undo.pending_previews import PendingPreviews
from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.tools.tool import DryRunResult, Extra, ToolOutput
from agentchat.core.turn.preview_stack import Preview, PreviewStack
from agentchat.journal import records as r
from agentchat.journal.entries import preview_record
from agentchat.journal.writer import JournalWriter
from tests.agent.scene import KeptScreen
from tests.faults.ground import Reopened
from tests.support.memory_workspace import MemoryWorkspace

BEFORE = "".join(f"line {n}\n" for n in range(1, 41))
AFTER = BEFORE.replace("line 5\n", "LINE 5\n")


async def nothing(reason: str, extra: Extra) -> ToolOutput | None:
    return None


class Left:
    """A chat whose process ended while previews were pending."""

    def __init__(self, folder: Path) -> None:
        self.root, self.state = folder / "ws", folder / "state"
        self.root.mkdir()
        self.file = self.root / "a.txt"
        self.file.write_text(BEFORE)
        self.secret = "s3cr3t-value"

    def stage(
        self,
        *files: FileChange,
        then: Callable[[JournalWriter, Preview], None],
        in_overlay: bool = False,
    ) -> None:
        """Write down that a preview was staged, and what became of it."""
        journal = JournalWriter.open(self.state, "chat", [self.secret])
        journal.add(r.ChatOpened(chat="chat", cwd=str(self.root), model="", version=""))
        journal.add(r.TurnStarted(1))
        dry_run = DryRunResult(ChangeSet(files)) if files else DryRunResult(text="callback")
        preview = Preview(
            "Edit: 1 file",
            "edit",
            nothing,
            preview=dry_run,
            id="p1",
            calls=("c1",),
            in_overlay=in_overlay,
        )
        journal.add(preview_record(preview, journal.store))
        then(journal, preview)
        journal.close()

    def edit(self, after: str = AFTER) -> FileChange:
        """The change of a line, as a preview shows it."""
        return FileChange(str(self.file), BEFORE.encode(), after.encode(), "a.txt")

    async def reopen(self) -> Reopened:
        chat = Reopened(self.root, self.state)
        await chat.recover()
        return chat


def stays(journal: JournalWriter, preview: Preview) -> None:
    """Nothing becomes of it."""


@pytest.fixture
def left(tmp_path: Path) -> Left:
    return Left(tmp_path)


async def resolve(chat: Reopened, action: str = "apply") -> None:
    chat.session.preview_actions.resolve(ResolveCommand(action))  # type: ignore[arg-type]
    await chat.screen.until(lambda: bool(chat.screen.named("AgentPreviewResolved")))


def proposed(chat: Reopened) -> str:
    change = chat.screen.staged[0].preview.change
    assert change is not None
    return (change.files[0].after or b"").decode()


async def test_a_pending_preview_is_shown_again_applied_and_undone(left: Left) -> None:
    left.stage(left.edit(), then=stays)
    chat = await left.reopen()
    (preview,) = chat.screen.staged
    assert (preview.id, preview.label, preview.calls) == ("p1", "Edit: 1 file", ("c1",))
    assert [target.display_path for target in preview.targets] == ["a.txt"]
    assert chat.screen.notes == []
    await resolve(chat)
    assert left.file.read_text() == AFTER
    assert "restored: a.txt" in await chat.undo()
    assert left.file.read_text() == BEFORE
    chat.close()
    assert (await left.reopen()).screen.staged == []


async def test_a_preview_is_pending_until_somebody_resolves_it(left: Left) -> None:
    left.stage(left.edit(), then=stays)
    for _ in range(3):
        chat = await left.reopen()
        assert proposed(chat) == AFTER
        chat.close()
    chat = await left.reopen()
    await resolve(chat, "discard")
    assert left.file.read_text() == BEFORE
    chat.close()
    assert (await left.reopen()).screen.staged == []


async def test_a_preview_comes_back_on_top_of_what_its_file_is_now(left: Left) -> None:
    left.stage(left.edit(), then=stays)
    left.file.write_text(BEFORE.replace("line 30", "mine"))
    chat = await left.reopen()
    assert proposed(chat) == AFTER.replace("line 30", "mine")
    await resolve(chat)
    assert left.file.read_text() == AFTER.replace("line 30", "mine")
    chat.close()


async def test_files_are_created_and_deleted_by_a_preview_that_comes_back(left: Left) -> None:
    new, script = left.root / "new/b.txt", left.root / "run.sh"
    made = FileChange(str(new), None, b"new\n")
    moved = FileChange(str(script), BEFORE.encode(), b"#!/bin/sh\n", old_path=str(left.file))
    left.stage(made, moved, then=stays)
    chat = await left.reopen()
    change = chat.screen.staged[0].preview.change
    assert change is not None
    assert [file.letter for file in change.files] == ["A", "R"]
    await resolve(chat)
    assert (new.read_text(), script.read_text()) == ("new\n", "#!/bin/sh\n")
    assert not left.file.exists()
    await chat.undo()
    assert left.file.read_text() == BEFORE
    assert not new.parent.exists()
    chat.close()


class Nobody:
    """An observer that looks away."""

    def refresh(self) -> None: ...

    def add_note(self, text: str) -> None: ...


async def test_a_preview_of_the_overlay_comes_back_there(left: Left) -> None:
    left.stage(left.edit(), then=stays, in_overlay=True)
    stack, journal = PreviewStack(), JournalWriter.open(left.state, "chat")
    overlay = MemoryWorkspace({"a.txt": BEFORE}, str(left.root))
    previews = Previews(
        stack,
        workspace=MemoryWorkspace({}, str(left.root)),
        overlay=overlay,
        view=KeptScreen(),
        journal=journal,
        observer=Nobody(),
    )
    pending = PendingPreviews(
        previews=previews, view=KeptScreen(), journal=journal, observer=Nobody()
    )
    await pending.restore()
    (preview,) = stack
    await previews.resolve(preview, "apply", "")
    assert overlay.files == {str(left.file): AFTER.encode()}
    journal.close()


def is_resolving(journal: JournalWriter, preview: Preview) -> None:
    journal.add(r.PreviewResolving(preview.id, "apply"))


@pytest.mark.parametrize(
    ("why", "words"),
    [
        ("moved", "a.txt changed since"),
        ("withheld", "secret"),
        ("callback", "It changed nothing"),
        ("resolving", "Read its files"),
    ],
)
async def test_a_preview_that_cannot_come_back_is_dropped_with_a_line(
    left: Left, why: str, words: str
) -> None:
    secret = left.edit(AFTER.replace("line 9", left.secret))
    files = {"withheld": [secret], "callback": []}.get(why, [left.edit()])
    left.stage(*files, then=is_resolving if why == "resolving" else stays)
    if why == "moved":
        left.file.write_text(BEFORE.replace("line 5", "mine"))
    chat = await left.reopen()
    assert chat.screen.staged == []
    ((level, text),) = chat.screen.notes
    assert level == "info"
    assert text.startswith("The preview 'Edit: 1 file' is dropped: ")
    assert words in text
    chat.close()
    assert (await left.reopen()).screen.notes == []
