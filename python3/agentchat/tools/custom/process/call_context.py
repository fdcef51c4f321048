"""The context of one call, in the process in which its function runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import override

from agentchat.core.errors import ToolError
from agentchat.rpc.frames import RequestCancelled
from agentchat.rpc.peer import IncomingRequest, Peer
from agentchat.tools.custom.declaration.context import CommandResult, Context, plain
from agentchat.tools.custom.declaration.spec import OVER
from agentchat.tools.custom.process.printing import Printer


@dataclass(frozen=True, kw_only=True)
class CallContext(Context):
    """The context of a call: it sends requests to the plugin and blocks the calling thread."""

    _peer: Peer = field(repr=False)
    _printer: Printer = field(repr=False)
    _add_preview: Callable[..., int] = field(repr=False)
    _incoming: IncomingRequest = field(repr=False)
    _over: threading.Event = field(default_factory=threading.Event, repr=False)

    @override
    def progress(self, text: object) -> None:
        line = str(text)
        if not self._over.is_set():
            self._printer.write(line if line.endswith("\n") else f"{line}\n")

    @override
    def stage(
        self,
        label: str,
        apply: Callable[..., Any],
        reject: Callable[..., Any] | None = None,
        source: str = "custom_tool",
        preview: str = "",
        details: Any = None,
    ) -> None:
        texts = {"label": str(label), "source": str(source), "text": str(preview)}
        self._stage(apply, reject, texts, details)

    @override
    def set_standing_resolve_handler(
        self,
        label: str,
        apply: Callable[..., Any],
        reject: Callable[..., Any] | None = None,
        source: str = "custom_tool",
        preview: str = "",
        details: Any = None,
    ) -> None:
        texts = {"label": str(label), "source": str(source), "text": str(preview)}
        self._stage(apply, reject, texts, details, standing=True)

    @override
    def clear_standing_resolve_handler(self) -> None:
        self._request("clear_standing")

    @override
    def read(self, path: str) -> str:
        data: bytes = self._request("read", path=str(path))
        return data.decode("utf-8-sig")

    @override
    def run(self, command: str, timeout: float | None = None) -> CommandResult:
        code, text = self._request("command", command=str(command), timeout=timeout)
        return CommandResult(code, text)

    def end(self) -> None:
        """End the call: from now on the context does nothing."""
        self._over.set()

    def _stage(
        self,
        apply: Callable[..., Any],
        reject: Callable[..., Any] | None,
        texts: Mapping[str, str],
        details: Any,
        standing: bool = False,
    ) -> None:
        details = plain(details, "stage")
        number = self._add_preview(apply=apply, reject=reject)
        self._request(
            "stage",
            preview=number,
            has_reject=reject is not None,
            details=details,
            standing=standing,
            **texts,
        )

    def _request(self, method: str, **params: Any) -> Any:
        if self._over.is_set():
            raise ToolError(OVER)
        try:
            return self._peer.request_blocking(method, {"call": self._incoming.id, **params})
        except RequestCancelled:
            raise ToolError(OVER) from None
