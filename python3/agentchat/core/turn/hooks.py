"""Set-up and exit hooks around calls: each exactly once, whatever becomes of the call."""

from __future__ import annotations

from agentchat.core.tools.call import ValidCall
from agentchat.core.tools.tool import Tool
from agentchat.core.turn.effects import Plan, SetUp, TearDown, do


class CallHooks:
    """The calls of one reply that are set up and whose exit hook did not run yet, oldest first."""

    def __init__(self) -> None:
        self._open: list[ValidCall] = []

    def begin(self, call: ValidCall) -> Plan[None]:
        """Set a call up, unless it shares the set-up of its neighbour; raises ToolError."""
        hooks = call.tool.hooks
        if hooks.setup is None and hooks.exit is None:
            return
        if hooks.once and any(other.tool is call.tool for other in self._open):
            return
        self._open.append(call)
        yield from do(SetUp(call))

    def end(self, call: ValidCall) -> Plan[None]:
        """Tear a call down, unless the next one may share its set-up."""
        if call in self._open and not call.tool.hooks.once:
            self._open.remove(call)
            yield from do(TearDown(call))

    def end_all(self, except_for: Tool | None = None) -> Plan[None]:
        """Tear down what is still open, except for calls of one tool."""
        ending = [call for call in self._open if call.tool is not except_for]
        self._open = [call for call in self._open if call.tool is except_for]
        for call in ending:
            yield from do(TearDown(call))
