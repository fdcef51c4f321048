"""An editor for tests: loaded buffers that save to the real disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from agentchat.workspace.editor_port import (
    BufferEdit,
    BufferFlags,
    BufferMovedError,
    BufferSnapshot,
    LineEdits,
    SaveOutcome,
    TextForm,
    decode_text,
    line_text,
    raw_lines,
)


@dataclass
class Buffers:
    """An editor with loaded buffers that saves to the real disk."""

    loaded: dict[str, BufferSnapshot] = field(default_factory=dict)
    edits: list[LineEdits] = field(default_factory=list)
    saved: list[str] = field(default_factory=list)
    formatter: Callable[[tuple[str, ...]], tuple[str, ...]] = lambda lines: lines
    broken: set[str] = field(default_factory=set)
    states: list[BufferSnapshot] = field(default_factory=list)
    plain_save: bool = False

    def load(self, path: Path, text: str | None = None, **given: object) -> None:
        """Load a file, or with ``text`` a buffer that the user changed."""
        data = path.read_bytes() if path.exists() else b""
        shown, form = decode_text(data, TextForm(fileformat="dos" if b"\r\n" in data else "unix"))
        seen = BufferSnapshot(1, text is not None, text=shown, form=form)
        if text is not None:
            seen = replace(seen, text="\n".join(text.splitlines()).encode())
        self.loaded[str(path)] = replace(seen, **given)  # type: ignore[arg-type]

    def lines(self, path: object) -> tuple[str, ...]:
        """The lines of a buffer, as the editor has them."""
        return tuple(line_text(line) for line in raw_lines(self.loaded[str(path)].text))

    async def flags(self, path: str) -> BufferFlags | None:
        return self.loaded.get(path)

    async def snapshot(self, path: str) -> BufferSnapshot | None:
        return self.loaded.get(path)

    async def unsaved(self) -> Mapping[str, BufferSnapshot]:
        return {path: one for path, one in self.loaded.items() if one.modified}

    async def replace(
        self, path: str, tick: int, edits: LineEdits, new: tuple[bytes | None, TextForm]
    ) -> BufferEdit:
        seen = self.loaded[path]
        if seen.tick != tick:
            raise BufferMovedError
        lines = list(self.lines(path) or ("",))
        for first, last, added in edits:
            lines[first:last] = added
        self.edits.append(edits)
        self.states.append(seen)
        self.loaded[path] = replace(
            seen, tick=tick + 1, modified=True, text=_join(lines), form=new[1]
        )
        return BufferEdit(tick + 1, len(self.states) - 1)

    async def undo(self, path: str, tick: int, state: int, form: TextForm) -> None:
        seen, before = self.loaded[path], self.states[state]
        if seen.tick != tick:
            raise BufferMovedError
        modified = before.modified or path in self.saved
        self.loaded[path] = replace(before, tick=tick + 1, form=form, modified=modified)

    async def rename(self, path: str, new: str) -> None:
        if path in self.loaded:
            self.loaded[new] = self.loaded.pop(path)

    async def save(self, path: str) -> SaveOutcome:
        if path in self.broken:
            return SaveOutcome(False, "E212: Can't open file for writing")
        seen = self.loaded[path]
        text = _join(self.formatter(self.lines(path)))
        self.loaded[path] = replace(seen, tick=seen.tick + 1, modified=False, text=text)
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(self.loaded[path].to_bytes())
        self.saved.append(path)
        return SaveOutcome(True)

    async def refresh(self) -> None:
        for path in self.loaded:
            await self.reload(path)

    async def reload(self, path: str) -> None:
        seen = self.loaded.get(path)
        if seen is not None and not seen.modified and Path(path).exists():
            text, form = decode_text(Path(path).read_bytes(), seen.form)
            self.loaded[path] = replace(seen, tick=seen.tick + 1, text=text, form=form)


def _join(lines: Sequence[str]) -> bytes | None:
    text = "\0".join(lines).encode("utf-8", "surrogateescape")
    return text.translate(bytes.maketrans(b"\0\n", b"\n\0")) if lines else None
