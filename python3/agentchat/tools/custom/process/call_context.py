"""What the function of one call asks of the plugin, in the process in which it runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from typing_extensions import override

from agentchat.core.errors import ToolError
from agentchat.rpc.frames import RequestCancelled
from agentchat.rpc.peer import IncomingRequest, Peer
from agentchat.tools.custom.declaration.context import CommandResult, PluginCall, StagedCallbacks
from agentchat.tools.custom.declaration.spec import OVER
from agentchat.tools.custom.process.printing import Printer


class LinkedCall(PluginCall):
    """Sends requests to the plugin and blocks the calling thread, until the call ends."""

    def __init__(
        self,
        incoming: IncomingRequest,
        peer: Peer,
        printer: Printer,
        add_preview: Callable[..., int],
    ) -> None:
        self._incoming = incoming
        self._peer = peer
        self._printer = printer
        self._add_preview = add_preview
        self._over = threading.Event()

    def end(self) -> None:
        """End the call: from now on nothing can be asked."""
        self._over.set()

    @override
    def progress(self, text: str) -> None:
        if not self._over.is_set():
            self._printer.write(text)

    @override
    def stage(self, staged: StagedCallbacks) -> None:
        number = self._add_preview(apply=staged.apply, reject=staged.reject)
        self._request(
            "stage",
            preview=number,
            has_reject=staged.reject is not None,
            details=staged.details,
            standing=staged.standing,
            **staged.texts,
        )

    @override
    def clear_standing(self) -> None:
        self._request("clear_standing")

    @override
    def read(self, path: str, cwd: str) -> str:
        data: bytes = self._request("read", path=path)
        return data.decode("utf-8-sig")

    @override
    def run(self, command: str, timeout: float | None) -> CommandResult:
        code, text = self._request("command", command=command, timeout=timeout)
        return CommandResult(code, text)

    def _request(self, method: str, **params: Any) -> Any:
        if self._over.is_set():
            raise ToolError(OVER)
        try:
            return self._peer.request_blocking(method, {"call": self._incoming.id, **params})
        except RequestCancelled:
            raise ToolError(OVER) from None
