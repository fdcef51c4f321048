"""Set-up and exit around calls: each once, whatever becomes of the call."""

from __future__ import annotations

from agentchat.core.tools.call import Call
from agentchat.core.turn.effects import Plan, SetUp, TearDown, do


class Lives:
    """The calls of one reply that are set up and not yet torn down, oldest first."""

    def __init__(self) -> None:
        self._open: list[Call] = []

    def begin(self, call: Call) -> Plan[str | None]:
        """Set a call up, unless it shares the life of its neighbour; return what failed."""
        hooks = call.tool.hooks
        if hooks.setup is None and hooks.exit is None:
            return None
        if hooks.once and any(other.tool is call.tool for other in self._open):
            return None
        self._open.append(call)
        return (yield from do(SetUp(call), object))  # type: ignore[return-value]

    def end(self, call: Call) -> Plan[None]:
        """Tear a call down, unless the next one may share its life."""
        if call in self._open and not call.tool.hooks.once:
            self._open.remove(call)
            yield from do(TearDown(call))

    def end_all(self, besides: object = None) -> Plan[None]:
        """Tear down what is still open, except for calls of the tool ``besides``."""
        ending = [call for call in self._open if call.tool is not besides]
        self._open = [call for call in self._open if call.tool is besides]
        for call in ending:
            yield from do(TearDown(call))
