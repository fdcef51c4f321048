"""A project, one change of it that has every kind of file, and the chat that makes it."""

from __future__ import annotations

import os
from pathlib import Path

from agentchat.agent.execution.journaled_workspace import JournaledWorkspace
from agentchat.agent.execution.results import ResultStore
from agentchat.agent.session import Session
from agentchat.agent.session_parts import SessionParts
from agentchat.app.workspaces import LocalLeftovers
from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.journal import records as r
from agentchat.journal.writer import JournalWriter
from agentchat.workspace.local import LocalWorkspace
from tests.agent.scene import KeptScreen, ScriptedModel
from tests.core.turn.world import a_chat

OLD = {
    "script": (b"old script\n" * 400, 0o750),
    "linked": (b"old linked\n", 0o644),
    "gone/file": (b"old gone\n", 0o600),
    "moved": (b"old moved\n", 0o640),
    "swapped": (b"old swapped\n", 0o644),
    "locked": (b"old locked\n", 0o444),
    "canary": (b"not in the change\n", 0o644),
}
NEW = {"script": b"new script\n" * 500, "linked": b"new linked, longer\n", "locked": b"new\n"}


def build(root: Path) -> None:
    """Write the project."""
    for name, (data, mode) in OLD.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(mode)
    os.link(root / "linked", root / "second-name")
    os.setxattr(root / "script", "user.note", b"kept")


def the_change(root: Path) -> ChangeSet:
    """Three edits (one in place, one of a read-only file), a new file, a deletion, a rename.

    And a file that becomes a folder with a file in it.
    """
    edits = [FileChange(str(root / n), OLD[n][0], new, n) for n, new in NEW.items()]
    made = FileChange(str(root / "new/deep/file"), None, b"new file\n")
    gone = FileChange(str(root / "gone/file"), OLD["gone/file"][0], None)
    path, origin = str(root / "at/moved"), str(root / "moved")
    moved = FileChange(path, OLD["moved"][0], b"new moved\n", old_path=origin)
    swap = FileChange(str(root / "swapped"), OLD["swapped"][0], None)
    inside = FileChange(str(root / "swapped/in"), None, b"new in\n")
    return ChangeSet((edits[0], made, edits[1], gone, moved, edits[2], swap, inside))


async def make_it(root: Path, state: Path) -> None:
    """Make the change as a call does: written down first."""
    journal = JournalWriter.open(state, "chat")
    journal.add(r.ChatOpened(chat="chat", cwd=str(root), model="", version=""))
    journal.add(r.TurnStarted(1))
    workspace = JournaledWorkspace(LocalWorkspace(str(root)), journal, "call")
    await workspace.apply(the_change(root))


class Reopened:
    """The chat opened again, as by the next process; ``close`` it."""

    def __init__(self, root: Path, state: Path) -> None:
        self.journal = JournalWriter.open(state, "chat")
        self.screen = KeptScreen()
        self.journal.add(r.ChatOpened(chat="chat", cwd=str(root), model="", version=""))
        workspace = LocalWorkspace(str(root))
        self.session = Session(
            SessionParts(
                chat=a_chat(),
                workspace=workspace,
                view=self.screen,
                journal=self.journal,
                results=ResultStore(state),
                model=ScriptedModel([]),
                max_parallel=1,
            )
        )
        self.session.restore()

    async def recover(self) -> None:
        """End what was left half made."""
        self.session.recover(LocalLeftovers())
        await self.idle()

    async def undo(self) -> str:
        """Take the last turn back; return what was said."""
        self.session.undo()
        await self.idle()
        return self.screen.notes[-1][1]

    async def idle(self) -> None:
        """Wait until nothing runs in the chat."""
        self.session.refresh()
        await self.screen.until(lambda: self.screen.statuses[-1].state == "idle")

    def close(self) -> None:
        """Let go of the journal."""
        self.journal.close()
