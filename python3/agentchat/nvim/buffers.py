"""The loaded buffers of Neovim, for a workspace that shows what the user sees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentchat.nvim.lua_api import Bridge
from agentchat.workspace.buffer_text import Form, Snapshot
from agentchat.workspace.editor_port import LineEdits, Made, Moved, SaveOutcome
from agentchat.workspace.files.transaction import ChangeFailed

BUFFERS = "agentchat.buffers"


class NvimBuffers:
    """Asks Lua's ``agentchat.buffers``; see there for what each answer holds."""

    def __init__(self, bridge: Bridge, plain_save: bool = False) -> None:
        self._bridge = bridge
        self.plain_save = plain_save

    async def snapshot(self, path: str) -> Snapshot | None:
        """Return the loaded buffer of a file; ``None`` if there is none."""
        found = await self._bridge.request(BUFFERS, "snapshot", path)
        return _snapshot(found) if found else None

    async def unsaved(self) -> Mapping[str, Snapshot]:
        """Return the buffers with unsaved changes, by path."""
        found: Sequence[Mapping[str, Any]] = await self._bridge.request(BUFFERS, "snapshots")
        return {item["path"]: _snapshot(item) for item in found}

    async def replace(self, path: str, tick: int, edits: LineEdits, form: Form) -> Made:
        """Make the edits as one undo step and set the form."""
        lines = [[first, last, list(new)] for first, last, new in edits]
        done = await self._change("replace", path, tick, lines, form)
        return Made(done["changedtick"], done["undo"])

    async def undo(self, path: str, tick: int, state: int, form: Form) -> None:
        """Go back to a state of the undo tree, and to the form."""
        await self._change("undo", path, tick, state, form)

    async def _change(
        self, name: str, path: str, tick: int, change: object, form: Form
    ) -> Mapping[str, Any]:
        shape = {"eol": form.eol, "bomb": form.bomb, "fileformat": form.fileformat}
        done: Mapping[str, Any] = await self._bridge.request(
            BUFFERS, name, path, tick, change, shape
        )
        if done["ok"]:
            return done
        if done.get("reason") == "moved":
            raise Moved(path)
        raise ChangeFailed(done["message"])

    async def rename(self, path: str, new: str) -> None:
        """Let a loaded buffer follow its file to another path."""
        await self._bridge.request(BUFFERS, "rename", path, new)

    async def save(self, path: str) -> SaveOutcome:
        """Write the buffer as the user would."""
        done = await self._bridge.request(BUFFERS, "save", path, self.plain_save)
        return SaveOutcome(saved=bool(done["ok"]), problem=done.get("message", ""))

    async def refresh(self) -> None:
        """Show what a command made of the files on the screen."""
        await self._bridge.request(BUFFERS, "refresh")

    async def reload(self, path: str) -> None:
        """Let a loaded buffer take what the disk has."""
        await self._bridge.request(BUFFERS, "reload", path)


def _snapshot(found: Mapping[str, Any]) -> Snapshot:
    form = Form(bool(found["eol"]), bool(found["bomb"]), found["fileformat"])
    return Snapshot(
        tick=found["changedtick"],
        modified=bool(found["modified"]),
        lines=tuple(found["lines"]),
        form=form,
        modifiable=bool(found["modifiable"]),
        readonly=bool(found["readonly"]),
        encoding=found["encoding"] or "utf-8",
    )
