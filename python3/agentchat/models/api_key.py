"""Where the key of a model server comes from. A key is never part of a message."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Protocol

from agentchat.core.errors import UserError
from agentchat.core.frozen import frozen

COMMAND_SECONDS = 30.0
"""How long the user's key command may take; it may ask them for a touch or a passphrase."""

NO_KEY = "no-key"
"""Sent where the server needs none."""

PREFIXES = {
    "sk-ant-": "anthropic",
    "sk-or-": "openrouter",
    "sk-proj-": "openai",
    "AIza": "gemini",
    "gsk_": "groq",
    "xai-": "xai",
    "ghp_": "github",
    "github_pat_": "github",
}
"""How keys begin whose provider is certain."""


OnKey = Callable[[str], None]


def other_provider(key: str, provider: str) -> str:
    """Return which provider a key belongs to, if that is certain and another than ``provider``."""
    owner = next((name for prefix, name in PREFIXES.items() if key.startswith(prefix)), "")
    return "" if owner == provider.partition("@")[0] else owner


class ApiKey(Protocol):
    """A source of a key."""

    @property
    def hint(self) -> str:
        """What the user checks when the server refuses the key."""

    async def get(self) -> str:
        """Return the key; raises UserError."""

    def forget(self) -> None:
        """Fetch it again the next time."""


@frozen
class FixedKey:
    """A key from the environment; ``variable`` is where."""

    value: str = field(repr=False)
    variable: str

    @property
    def hint(self) -> str:
        """Name the variable."""
        return f"Check ${self.variable}"

    async def get(self) -> str:
        """Return the key."""
        return self.value

    def forget(self) -> None:
        """Nothing to do: the environment of a process does not change."""


@frozen
class NoKey:
    """For servers that need no key; ``variable`` is where one would be looked for, if anywhere."""

    variable: str

    @property
    def hint(self) -> str:
        """Say how to give a key."""
        first = f"${self.variable}" if self.variable else "api_key_env"
        return f"It wants a key: set {first}, or api_key_cmd in g:agentchat.model"

    async def get(self) -> str:
        """Return the placeholder."""
        return NO_KEY

    def forget(self) -> None:
        """Nothing to do."""


class CommandKey:
    """A key printed by a command: a list is run as it is, a string by ``sh -c``.

    ``on_key`` is called with each key before it is used.
    """

    hint = "Check what api_key_cmd prints"

    def __init__(
        self,
        command: str | Sequence[str],
        seconds: float = COMMAND_SECONDS,
        on_key: OnKey | None = None,
    ) -> None:
        argv = ["sh", "-c", command] if isinstance(command, str) else list(command)
        self._program, *self._arguments = argv or [""]
        self._seconds = seconds
        self._on_key = on_key
        self._value: str | None = None

    async def get(self) -> str:
        """Run the command, once; its first line is the key."""
        if self._value is None:
            value = await self._run()
            if self._on_key is not None:
                self._on_key(value)
            self._value = value
        return self._value

    def forget(self) -> None:
        """Run the command again the next time."""
        self._value = None

    async def _run(self) -> str:
        process = await self._start()
        try:
            out, err = await asyncio.wait_for(process.communicate(), self._seconds)
        except TimeoutError:
            raise UserError(
                f"api_key_cmd took over {self._seconds:g} s. Run it in a terminal to see why."
            ) from None
        finally:
            await _end(process)
        if process.returncode != 0:
            why = " ".join(err.decode("utf-8", "replace").split())[:200]
            raise UserError(
                f"api_key_cmd exited with code {process.returncode}"
                f"{': ' + why if why else ''}. Run it in a terminal to see why."
            )
        key = out.decode("utf-8", "replace").strip().partition("\n")[0].strip()
        if not key:
            raise UserError("api_key_cmd printed nothing. It must print the key on its first line.")
        return key

    async def _start(self) -> Process:
        try:
            return await asyncio.create_subprocess_exec(
                self._program,
                *self._arguments,
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            name = self._program or "(empty)"
            raise UserError(
                f"api_key_cmd cannot start {name}: {error}. Correct it in g:agentchat.model."
            ) from error


async def _end(process: Process) -> None:
    """Kill a command that still runs, with all it started, and wait for its pipes to close."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(process.communicate(), 1)
