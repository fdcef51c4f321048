"""Run a command in a fresh shell."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import Field

from agentchat.core.limits import BASH_BYTES, BASH_SECONDS, KIB, RESULT_BYTES
from agentchat.core.text import (
    drop_overwritten,
    drop_partial_end,
    drop_partial_start,
    join_head_and_tail,
)
from agentchat.core.tools.ports import Command, ProcessResult
from agentchat.core.tools.tool import Access, Metadata, Tool, ToolContext, ToolOutput
from agentchat.tools.format import TerminalText, argument_text, strip_terminal_codes
from agentchat.tools.schema import PydanticArguments, ToolArguments

KEPT = ("PATH", "HOME", "LANG", "LANGUAGE", "USER", "LOGNAME", "TMPDIR", "TZ")
"""Variables of the machine that a command sees; others may hold secrets or run code."""

FIXED = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "MANPAGER": "cat",
    "GIT_PAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
}
PROGRESS_SECONDS = 1 / 30
PROGRESS_BYTES = 16 * KIB


class BashArguments(ToolArguments):
    """What ``bash`` takes."""

    command: str = Field(min_length=1, description="The command, run by a fresh shell")
    timeout: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description=f"Seconds after which it is killed; {BASH_SECONDS} by default",
    )


async def run(arguments: BashArguments, context: ToolContext) -> ToolOutput:
    """Return what the command wrote, and how it ended if not well."""
    timeout = arguments.timeout or BASH_SECONDS
    live = LiveOutputBuffer(context.progress)
    command = Command(
        argv=(*await shell(context), arguments.command),
        cwd=context.cwd,
        timeout=timeout,
        capture=min(BASH_BYTES, RESULT_BYTES),
        merge_stderr=True,
        env=environment(await context.workspace.environment()),
        overflow=context.overflow,
        confine=True,
    )
    try:
        finished = await context.workspace.run(command, live.add)
    finally:
        live.close()
    text = output(finished, context.overflow) or "(no output)"
    ending = how_it_ended(finished.code, timeout)
    details = {"exitCode": finished.code}
    stored = context.overflow if finished.dropped else None
    if not ending:
        return ToolOutput(text, details=details, stored=stored)
    return ToolOutput(f"{text}\n\n{ending}", is_error=True, details=details, stored=stored)


async def shell(context: ToolContext) -> tuple[str, ...]:
    """Return the fixed shell, without start-up files, up to the command."""
    if await context.workspace.kind("/bin/bash") == "file":
        return ("/bin/bash", "--noprofile", "--norc", "-c", "--")
    return ("/bin/sh", "-c", "--")


def environment(given: Mapping[str, str]) -> dict[str, str]:
    """Return the whole environment of a command, from that of the machine it runs on."""
    kept = {name: given[name] for name in KEPT if name in given}
    kept.update({name: value for name, value in given.items() if name.startswith("LC_")})
    if not {"LANG", "LC_ALL", "LC_CTYPE"} & kept.keys():
        kept["LANG"] = "C.UTF-8"
    return {**kept, **FIXED, "SHELL": "/bin/sh"}


def output(finished: ProcessResult, path: str) -> str:
    """Return the text of an output; a long one as head and tail, naming the file with all of it."""
    if not finished.dropped:
        return _plain(finished.head).rstrip("\r\n")
    head, tail = drop_partial_end(finished.head), drop_partial_start(finished.tail)
    cut = len(finished.head) - len(head) + len(finished.tail) - len(tail)
    return join_head_and_tail(
        _plain(head),
        _plain(tail).rstrip("\r\n"),
        finished.dropped + cut,
        path,
    )


def _plain(data: bytes) -> str:
    return drop_overwritten(strip_terminal_codes(data))


def how_it_ended(code: int | None, timeout: float) -> str:
    """Return the line about an end that is not a success; empty for a success."""
    if code is None:
        return f"Command timed out after {timeout:g} seconds"
    if code < 0:
        return f"Command was killed by signal {-code}"
    return f"Command exited with code {code}" if code else ""


class LiveOutputBuffer:
    """Passes output on while the command runs: 30 times a second at most, and parts of a flood."""

    def __init__(self, progress: Callable[[str], None]) -> None:
        self._progress = progress
        self._plain = TerminalText()
        self._waiting = ""
        self._skipped = False
        self._shown_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, data: bytes) -> None:
        """Take a piece of output."""
        self._waiting += self._plain.feed(data)
        if len(self._waiting) > 2 * PROGRESS_BYTES:
            self._waiting, self._skipped = self._waiting[-PROGRESS_BYTES:], True
        if self._timer is None:
            wait = max(0.0, self._shown_at + PROGRESS_SECONDS - time.monotonic())
            self._timer = asyncio.get_running_loop().call_later(wait, self._show)

    def _show(self) -> None:
        self._timer, self._shown_at = None, time.monotonic()
        text = f"\n[...]\n{self._waiting}" if self._skipped else self._waiting
        self._waiting, self._skipped = "", False
        if text:
            self._progress(text)

    def close(self) -> None:
        """Pass on what is left."""
        if self._timer is not None:
            self._timer.cancel()
            self._show()


def touches(arguments: BashArguments) -> Access:
    """Return the command of a call."""
    return Access(command=arguments.command)


def render_call(given: Mapping[str, Any]) -> str:
    """Return the call in one line, like ``bash: ls -la``."""
    lines = str(given.get("command") or "").strip().split("\n")
    return f"bash: {argument_text(lines[0])}" + (" ..." if len(lines) > 1 else "")


TOOL = Tool(
    name="bash",
    description=(
        "Run a command in a fresh shell in the working directory, without a terminal and without "
        "input; nothing carries over to the next call. Returns standard output and standard error "
        f"together; a long output as head and tail. Killed after timeout seconds ({BASH_SECONDS} "
        "by default), background processes at the end."
    ),
    arguments=PydanticArguments(BashArguments),
    steps=(run,),
    metadata=Metadata(
        destructive=True,
        aliases=("run_command",),
        search_hint="run a shell command, a test or a build",
        permission_class="execute",
        audit_operation="execute",
    ),
    touches=touches,
    render_call=render_call,
    snippet="Run shell commands",
)
