"""Puts code of an answer into a file of the user: as a preview, which they review and apply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentchat.agent.execution.previews import Previews
from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.diff.text_file import decode, encode, split_lines
from agentchat.core.errors import ToolError
from agentchat.core.turn.view import View
from agentchat.core.workspace import Workspace

SOURCE = "code"


class CodeInserts:
    """Stages what the user inserts, one preview for each insert."""

    def __init__(self, *, workspace: Workspace, previews: Previews, view: View) -> None:
        self._workspace = workspace
        self._previews = previews
        self._view = view

    async def insert(self, path: str, line: int, last: int, code: Sequence[str]) -> None:
        """Stage a preview that puts code below a line; a file that is not there is created.

        Args:
            path: relative to the workspace, or absolute.
            line: 1-based; 0 for the beginning of the file.
            last: the last line that the code replaces; ``line`` for none.
            code: lines without line ends.
        """
        try:
            change = await self._change(path, line, last, code)
        except (OSError, ToolError) as error:
            self._view.notify("warn", f"The code cannot be put into {path}: {error}")
            return
        count = f"{len(code)} {'line' if len(code) == 1 else 'lines'}"
        replaced = f"{line + 1}-{last}" if last > line + 1 else f"{last}"
        where = f"into {change.name}" if last == line else f"for {change.name}:{replaced}"
        label = f"Code: {count} {where}"
        preview = self._previews.of_change(label, SOURCE, ChangeSet((change,)))
        self._previews.push(replace(preview, for_user=True))

    async def _change(self, path: str, line: int, last: int, code: Sequence[str]) -> FileChange:
        target = await self._workspace.locate(path)
        is_there = await self._workspace.kind(target.path) is not None
        before = await self._workspace.read(target.path) if is_there else None
        text = decode(before or b"", target.display_path)
        after = encode(replace_lines(text, line, last, code))
        anchor = None if is_there else target.anchor
        return FileChange(target.path, before, after, target.display_path, anchor=anchor)


def replace_lines(text: str, line: int, last: int, code: Sequence[str]) -> str:
    """Return a text with code below a line (1-based) instead of the lines up to the last.

    The code gets the line ends of the text.
    """
    end = "\r\n" if "\r\n" in text else "\n"
    lines = split_lines(text)
    above = "".join(lines[:line])
    if above and not above.endswith("\n"):
        above += end
    return above + "".join(f"{new}{end}" for new in code) + "".join(lines[last:])
