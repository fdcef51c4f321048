"""The calls of one answer while their fragments arrive."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any

from agentchat.core.messages import ToolCall
from agentchat.core.tools.model import CallDelta, Piece
from agentchat.models.streamed_text import Text

REPORT_SHARE = 16
"""A call is reported again when it grew by this share, so that long arguments cost linear time."""


class Draft:
    """One call as far as it has arrived; ``id`` is ours, ``given`` the server's."""

    def __init__(self, id: str, given: str, index: int | None) -> None:
        self.id = id
        self.given = given
        self.index = index
        self.name = ""
        self.arguments = Text()
        self._reported = -1

    def complete(self) -> bool:
        """Whether the arguments are one whole JSON object."""
        return _parsed(self.arguments.value) is not None

    def repeats(self, name: str, arguments: str) -> bool:
        """Whether a fragment says all of this call once more, as a summary at the end does."""
        if name != self.name or not arguments.lstrip().startswith("{"):
            return False
        said = _parsed(arguments)
        return said is not None and said == _parsed(self.arguments.value)

    def add(self, name: str, arguments: str) -> None:
        """Take a fragment; a name that is only repeated counts once."""
        if name and name != self.name:
            self.name += name
        self.arguments.add(arguments)

    def news(self) -> Iterable[Piece]:
        """Report the call if it grew enough."""
        size = self.arguments.length
        if self._reported < 0 or size - self._reported > self._reported // REPORT_SHARE:
            self._reported = size
            yield CallDelta(self.id, self.name, self.arguments.value)

    def call(self, cut_off: bool) -> ToolCall:
        """Return the call; blank arguments mean none."""
        self.arguments.flush()
        text = self.arguments.value
        if not cut_off and not text.strip():
            text = "{}"
        return ToolCall(self.id, self.name, text, self.given or self.id, cut_off)


class Drafts:
    """All calls of one answer. Fragments belong together by id, else by index, else by name."""

    def __init__(self, taken: Collection[str]) -> None:
        self._taken = set(taken)
        self._drafts: list[Draft] = []

    def __len__(self) -> int:
        return len(self._drafts)

    def feed(self, part: dict[str, Any]) -> Iterable[Piece]:
        """Take one entry of ``tool_calls``; return what to report of it."""
        function = part.get("function")
        function = function if isinstance(function, dict) else {}
        given, name = _string(part.get("id")), _string(function.get("name"))
        index = part.get("index")
        index = index if isinstance(index, int) and not isinstance(index, bool) else None
        arguments = _arguments(function.get("arguments"))
        draft = self._find(given, index, name, arguments)
        if draft is None:
            draft = self._begin(given, index)
        elif name and draft.repeats(name, arguments):
            return ()
        if given and not draft.given:
            draft.given = given
        draft.add(name, arguments)
        return draft.news()

    def calls(self, cut: bool, short: bool) -> tuple[ToolCall, ...]:
        """Return all calls: ``cut`` says the stream broke, ``short`` that it hit the length limit.

        A call that the limit cut is the last one; one before it is whole if it reads as JSON.
        """
        last = len(self._drafts) - 1
        return tuple(
            draft.call(cut or (short and (at == last or not draft.complete())))
            for at, draft in enumerate(self._drafts)
        )

    def _find(self, given: str, index: int | None, name: str, arguments: str) -> Draft | None:
        """Return the call that a fragment belongs to; None if it begins a new one."""
        at_index = self._newest(index)
        if given:
            same = self._with_id(given, index, name, arguments)
            return same or _unnamed(at_index, index, name)
        if at_index is None or not name:
            return at_index
        if not at_index.arguments:
            pieces = index is not None or not at_index.name or at_index.name == name
            return at_index if pieces else None
        if at_index.name != name:
            return None
        goes_on = not at_index.complete() or at_index.repeats(name, arguments)
        return at_index if goes_on else None

    def _with_id(self, given: str, index: int | None, name: str, arguments: str) -> Draft | None:
        """Return the call with the server's id; two calls may have the same at two indexes."""
        same = [draft for draft in self._drafts if draft.given == given]
        here = next((draft for draft in same if index in (None, draft.index)), None)
        if here or not name:
            return here or next(iter(same), None)
        unplaced = (d for d in same if d.index is None or d.repeats(name, arguments))
        return next(unplaced, None)

    def _newest(self, index: int | None) -> Draft | None:
        """Return the newest call with that index; without an index, the newest of all."""
        fits = (draft for draft in reversed(self._drafts) if index in (None, draft.index))
        return next(fits, None)

    def _begin(self, given: str, index: int | None) -> Draft:
        draft = Draft(self._free(given), given, index)
        self._taken.add(draft.id)
        self._drafts.append(draft)
        return draft

    def _free(self, given: str) -> str:
        """Return an id that is new in this chat, the server's own where possible."""
        if given and given not in self._taken:
            return given
        stem, number = (f"{given}~", 2) if given else ("call_", len(self._taken) + 1)
        while f"{stem}{number}" in self._taken:
            number += 1
        return f"{stem}{number}"


def _unnamed(draft: Draft | None, index: int | None, name: str) -> Draft | None:
    """Return the call at an index that a fragment with a new id still belongs to.

    A fragment without a name cannot begin a call; one with the name of a call that has neither
    id nor arguments yet brings its id.
    """
    if draft is None or index is None:
        return None
    if not name:
        return draft
    waits = not draft.given and not draft.arguments and draft.name in ("", name)
    return draft if waits else None


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _arguments(value: object) -> str:
    """Return the JSON text; some servers send the object itself."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else _string(value)


def _parsed(text: str) -> dict[str, Any] | None:
    if not text.endswith(("}", " ", "\n")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
