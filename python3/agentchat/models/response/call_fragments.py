"""The calls of one answer, assembled while their fragments arrive."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from typing import Any

from agentchat.core.frozen import frozen
from agentchat.core.messages import ToolCall
from agentchat.core.model import CallDelta, Piece
from agentchat.models.response.text import StreamedText

REPORT_SHARE = 16
"""A call is reported again when it grew by this share, so that long arguments cost linear time."""


@frozen
class CallFragment:
    """What one event says of a call: ``id`` is the server's, empty where it sent none.

    ``opaque`` is vendor data to send back with the call.
    """

    id: str = ""
    index: int | None = None
    name: str = ""
    arguments: str = ""
    opaque: Mapping[str, Any] = field(default_factory=dict)


class PartialCall:
    """One call as far as it has arrived; ``id`` is ours, ``provider_id`` the server's."""

    def __init__(self, id: str, fragment: CallFragment) -> None:
        self.id = id
        self.provider_id = fragment.id
        self.index = fragment.index
        self.name = ""
        self.arguments = StreamedText()
        self.opaque: dict[str, Any] = {}
        self._reported = -1

    def is_complete(self) -> bool:
        """Whether the arguments are one whole JSON object."""
        return _object(self.arguments.value) is not None

    def is_repeated_by(self, fragment: CallFragment) -> bool:
        """Whether a fragment is all of this call once more, as a summary at the end is."""
        if fragment.name != self.name or not fragment.arguments.lstrip().startswith("{"):
            return False
        value = _object(fragment.arguments)
        return value is not None and value == _object(self.arguments.value)

    def add(self, fragment: CallFragment) -> None:
        """Take a fragment; a name that is only repeated counts once."""
        self.provider_id = self.provider_id or fragment.id
        if fragment.name != self.name:
            self.name += fragment.name
        self.arguments.add(fragment.arguments)
        self.opaque.update(fragment.opaque)

    def report(self) -> Iterable[Piece]:
        """Report the call if it grew enough."""
        size = self.arguments.length
        if self._reported < 0 or size - self._reported > self._reported // REPORT_SHARE:
            self._reported = size
            yield CallDelta(self.id, self.name, self.arguments.value)

    def call(self, cut_off: bool) -> ToolCall:
        """Return the call; blank arguments mean none."""
        self.arguments.flush()
        arguments = self.arguments.value
        if not cut_off and not arguments.strip():
            arguments = "{}"
        return ToolCall(
            id=self.id,
            name=self.name,
            arguments=arguments,
            provider_id=self.provider_id or self.id,
            cut_off=cut_off,
            opaque=self.opaque,
        )


class CallFragments:
    """All calls of one answer. Fragments belong together by id, else by index, else by name.

    Args:
        used_ids: call ids that are in use in the chat.
    """

    def __init__(self, used_ids: Collection[str]) -> None:
        self._used_ids = set(used_ids)
        self._calls: list[PartialCall] = []

    def __len__(self) -> int:
        return len(self._calls)

    def add(self, fragment: CallFragment) -> Iterable[Piece]:
        """Take a fragment; return what to report of its call."""
        call = self._find(fragment)
        if call is None:
            call = self._begin(fragment)
        elif fragment.name and call.is_repeated_by(fragment):
            call.opaque.update(fragment.opaque)
            return ()
        call.add(fragment)
        return call.report()

    def calls(self, broken: bool, too_long: bool) -> tuple[ToolCall, ...]:
        """Return all calls: ``broken`` and ``too_long`` say how the stream ended.

        A call that the length limit cut is the last one; one before it is whole if it is JSON.
        """
        last = len(self._calls) - 1
        return tuple(
            call.call(broken or (too_long and (index == last or not call.is_complete())))
            for index, call in enumerate(self._calls)
        )

    def _find(self, fragment: CallFragment) -> PartialCall | None:
        """Return the call that a fragment belongs to; None if it begins a new one."""
        newest = self._newest(fragment.index)
        if fragment.id:
            return self._with_id(fragment) or _without_id(newest, fragment)
        if newest is None or not fragment.name:
            return newest
        if not newest.arguments:
            is_name_piece = fragment.index is not None or newest.name in ("", fragment.name)
            return newest if is_name_piece else None
        if newest.name != fragment.name:
            return None
        goes_on = not newest.is_complete() or newest.is_repeated_by(fragment)
        return newest if goes_on else None

    def _with_id(self, fragment: CallFragment) -> PartialCall | None:
        """Return the call with the server's id; two calls may have the same at two indexes."""
        same = [call for call in self._calls if call.provider_id == fragment.id]
        here = next((call for call in same if fragment.index in (None, call.index)), None)
        if here or not fragment.name:
            return here or next(iter(same), None)
        fits = (call for call in same if call.index is None or call.is_repeated_by(fragment))
        return next(fits, None)

    def _newest(self, index: int | None) -> PartialCall | None:
        """Return the newest call with that index; without an index, the newest of all."""
        fits = (call for call in reversed(self._calls) if index in (None, call.index))
        return next(fits, None)

    def _begin(self, fragment: CallFragment) -> PartialCall:
        call = PartialCall(self._unused_id(fragment.id), fragment)
        self._used_ids.add(call.id)
        self._calls.append(call)
        return call

    def _unused_id(self, given: str) -> str:
        """Return an id that is new in this chat, the server's own where possible."""
        if given and given not in self._used_ids:
            return given
        stem, number = (f"{given}~", 2) if given else ("call_", len(self._used_ids) + 1)
        while f"{stem}{number}" in self._used_ids:
            number += 1
        return f"{stem}{number}"


def _without_id(call: PartialCall | None, fragment: CallFragment) -> PartialCall | None:
    """Return the call at an index that a fragment with a new id still belongs to.

    A fragment without a name cannot begin a call; one with the name of a call that has neither
    id nor arguments yet brings its id.
    """
    if call is None or fragment.index is None:
        return None
    if not fragment.name:
        return call
    waits = not call.provider_id and not call.arguments and call.name in ("", fragment.name)
    return call if waits else None


def _object(text: str) -> dict[str, Any] | None:
    """Return the JSON object that ``text`` is, if it is one."""
    if not text.endswith(("}", " ", "\n")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
