"""What an agent reads and writes through us: the chat's workspace, with unsaved buffers."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Mapping
from typing import Any

from agentchat.agent.execution.journaled_workspace import JournaledWorkspace, read_file
from agentchat.agent.external.acp.calls import AgentCall
from agentchat.agent.external.acp.questions import Questions
from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.errors import ToolError
from agentchat.core.workspace import FileTarget, Workspace, Zone
from agentchat.journal.writer import JournalWriter

OUTSIDE = "{} is outside of the workspace."
SECRET = "{} is not given away: it may hold secrets."
REJECTED = "The user rejected writing {}."


class AgentFiles:
    """Serves ``fs/read_text_file`` and ``fs/write_text_file`` of one chat."""

    def __init__(self, workspace: Workspace, journal: JournalWriter, questions: Questions) -> None:
        self._workspace = workspace
        self._journal = journal
        self._questions = questions
        self._allowed: dict[str, str] = {}
        """The files that calls of this turn may write, with the id of the call."""

    def begin_turn(self) -> None:
        """Forget what calls of the last turn were allowed."""
        self._allowed.clear()

    async def allow(self, call: AgentCall) -> None:
        """Let a call that was accepted write the files it names."""
        for path in call.paths:
            with contextlib.suppress(ToolError):  # no file can have such a name
                self._allowed[(await self._workspace.locate(path)).path] = call.id

    async def read(self, params: Mapping[str, Any]) -> dict[str, str]:
        """Return the text of a file, or some of its lines; raises ToolError."""
        target = await self._locate(params)
        if target.zone is Zone.SECRET:
            raise ToolError(SECRET.format(target.display_path))
        try:
            text = (await self._workspace.read(target.path)).decode("utf-8", "replace")
        except OSError as error:
            raise ToolError(f"{target.display_path}: {error.strerror}.") from error
        return {"content": _lines(text, params.get("line"), params.get("limit"))}

    async def write(self, params: Mapping[str, Any]) -> dict[str, str]:
        """Write a text into a file; asks unless a call was allowed to. Raises ToolError."""
        target, content = await self._locate(params), params.get("content")
        if not isinstance(content, str):
            raise ToolError("content must be a text.")
        source = self._allowed.get(target.path)
        before = await read_file(self._workspace, target.path)
        if source is None:
            source = f"write-{uuid.uuid4().hex[:12]}"
            if not await self._questions.may_write(_writing(source, target, before, content)):
                raise ToolError(REJECTED.format(target.display_path))
        after = content.encode("utf-8", "replace")
        anchor = target.anchor if before is None else None
        change = FileChange(target.path, before, after, target.display_path, anchor=anchor)
        if not change.changes_nothing:
            workspace = JournaledWorkspace(self._workspace, self._journal, source)
            await workspace.apply(ChangeSet((change,)))
        return {}

    async def _locate(self, params: Mapping[str, Any]) -> FileTarget:
        path = params.get("path")
        if not isinstance(path, str):
            raise ToolError("path must be a text.")
        target = await self._workspace.locate(path)
        if target.zone is Zone.OUTSIDE:
            raise ToolError(OUTSIDE.format(target.display_path))
        return target


def _writing(source: str, target: FileTarget, before: bytes | None, content: str) -> AgentCall:
    """Return a call that stands for a write nobody was asked about."""
    old = None if before is None else before.decode("utf-8", "replace")
    diff = {"type": "diff", "path": target.path, "oldText": old, "newText": content}
    return AgentCall(source, "edit", f"write {target.display_path}", content=(diff,))


def _lines(text: str, first: Any, count: Any) -> str:
    """Return ``count`` lines from line ``first`` on, which counts from 1."""
    if not isinstance(first, int) and not isinstance(count, int):
        return text
    start = max(0, (first if isinstance(first, int) else 1) - 1)
    end = start + count if isinstance(count, int) else None
    return "".join(text.splitlines(keepends=True)[start:end])
