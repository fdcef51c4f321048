"""What one chat tells Neovim, in order, though some of it takes a while to be built."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

log = logging.getLogger(__name__)

Build = Callable[[], Any]


class Caller(Protocol):
    """What calls a function of Lua, now."""

    def call(self, module: str, name: str, *args: Any) -> None:
        """Run ``require(module)[name](...)`` soon."""


class Outbox:
    """Calls leave in the order they came; what is built in a thread holds up those behind it.

    A diff of many files takes tenths of a second to be compared and coloured. Meanwhile other chats
    go on.
    """

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._waiting: deque[tuple[str, str, tuple[Any, ...], Build | None]] = deque()
        self._task: asyncio.Task[None] | None = None

    def call(self, module: str, name: str, *args: Any) -> None:
        """Call a function after all that was called before."""
        if self._waiting:
            self._waiting.append((module, name, args, None))
        else:
            self._caller.call(module, name, *args)

    def call_built(self, module: str, name: str, *args: Any, build: Build) -> None:
        """Call a function with what ``build`` returns as its last argument.

        ``build`` runs in a thread. If it raises, that is logged and nothing is called.
        """
        self._waiting.append((module, name, args, build))
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._empty())

    async def _empty(self) -> None:
        while self._waiting:
            module, name, args, build = self._waiting[0]
            try:
                built = () if build is None else (await asyncio.to_thread(build),)
                self._caller.call(module, name, *args, *built)
            except Exception:
                log.exception("%s.%s was not called", module, name)
            self._waiting.popleft()
        self._task = None
