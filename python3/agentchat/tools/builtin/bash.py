"""Run a command in a fresh shell."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any

from agentchat.core.frozen import frozen
from agentchat.core.limits import BASH_BYTES, BASH_SECONDS, KIB, RESULT_BYTES
from agentchat.core.text import (
    drop_overwritten,
    drop_partial_end,
    drop_partial_start,
    join_head_and_tail,
)
from agentchat.core.tools.tool import Access, Metadata, Tool, ToolContext, ToolOutput
from agentchat.core.workspace import Command, ProcessResult
from agentchat.tools.arguments import ToolArguments, ValueArguments
from agentchat.tools.format import (
    TerminalText,
    argument_text,
    strip_terminal_codes,
    truncation_details,
)
from agentchat.tools.json_schema import LONE_SURROGATES, is_text

PASSED_VARIABLES = ("PATH", "HOME", "LANG", "LANGUAGE", "USER", "LOGNAME", "TMPDIR", "TZ")
"""Variables of the machine that a command gets; others may contain secrets or run code."""

FIXED_VARIABLES = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "MANPAGER": "cat",
    "GIT_PAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "GIT_OPTIONAL_LOCKS": "0",  # `git status` must not write the index
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
}
NO_OUTPUT = "(no output)"
PROGRESS_SECONDS = 1 / 30
PROGRESS_BYTES = 16 * KIB


@frozen
class BashArguments(ToolArguments):
    """What ``bash`` takes."""

    command: Annotated[str, "The command, run by a fresh shell", {"minLength": 1}]
    timeout: Annotated[
        float | None,
        f"Seconds after which it is killed; {BASH_SECONDS} by default",
        {"exclusiveMinimum": 0},
    ] = None
    network: Annotated[
        bool, "Run it with network; the user is asked first. Commands usually have none"
    ] = False
    direct: Annotated[
        bool,
        "Run it in the project itself, unconfined; the user is asked first. Only for what fails "
        "isolated: it needs a service, a device or files outside the project",
    ] = False
    cwd: Annotated[
        str | None, "Directory to run it in; the working directory by default", {"minLength": 1}
    ] = None

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield what the schema cannot say."""
        if not is_text(self.command):
            yield "command", LONE_SURROGATES


async def run(arguments: BashArguments, context: ToolContext) -> ToolOutput:
    """Return what the command wrote, and how it ended unless it succeeded."""
    if arguments.cwd:
        context = replace(context, cwd=(await context.workspace.locate(arguments.cwd)).path)
    seconds = arguments.timeout or BASH_SECONDS
    result = await run_shell(arguments.command, context, seconds, network=arguments.network)
    return result.tool_output()


@frozen
class ShellResult:
    """How a command ended.

    Args:
        code: its exit code, negative for a signal, ``None`` if it timed out.
        text: what it wrote.
        failure: the line about a command that did not succeed; empty for a success.
        stored: the file with the whole output, if ``text`` is only its head and tail.
        total: the bytes of the whole output.
        ended: background processes that were ended with it.
    """

    code: int | None
    text: str
    failure: str
    stored: str | None
    total: int = 0
    ended: int = 0

    def tool_output(self) -> ToolOutput:
        """Return the result as the model reads it."""
        text, ended = self.text or NO_OUTPUT, describe_ended(self.ended)
        below = "\n".join(filter(None, (self.failure, ended)))
        details: dict[str, Any] = {"exitCode": self.code}
        if self.stored is not None:
            whole = {"total_bytes": self.total, "path": self.stored}
            details |= truncation_details("bytes", self.text, **whole)
        return ToolOutput(
            f"{text}\n\n{below}" if below else text,
            is_error=bool(self.failure),
            details=details,
            full_text_path=self.stored,
        )


def describe_ended(number: int) -> str:
    """Return the line about background processes that ended with their command."""
    if not number:
        return ""
    return f"{number} background {'process was' if number == 1 else 'processes were'} ended."


async def run_shell(
    command: str,
    context: ToolContext,
    seconds: float | None,
    stdin: bytes | None = None,
    *,
    network: bool = False,
) -> ShellResult:
    """Run a shell command and show its output while it runs.

    Args:
        seconds: how long it may take; ``None`` if the caller limits the time.
        stdin: its standard input; ``None`` for none.
        network: whether it gets the network where commands have none.
    """
    live, path = LiveOutputBuffer(context.progress), context.free_path()
    process = Command(
        argv=(*await _shell(context), command),
        cwd=context.cwd,
        stdin=stdin,
        timeout=seconds,
        capture=min(BASH_BYTES, RESULT_BYTES),
        merge_stderr=True,
        env=environment(await context.workspace.environment()),
        overflow=path,
        confine=True,
        network=network,
    )
    try:
        result = await context.workspace.run(process, live.add)
    finally:
        live.close()
    return ShellResult(
        code=result.code,
        text=_output_text(result, path),
        failure=_failure(result.code, seconds or 0.0),
        stored=path if result.dropped else None,
        total=len(result.head) + result.dropped + len(result.tail),
        ended=result.ended,
    )


async def _shell(context: ToolContext) -> tuple[str, ...]:
    """Return the shell, without start-up files, up to the command."""
    if await context.workspace.kind("/bin/bash") == "file":
        return ("/bin/bash", "--noprofile", "--norc", "-c", "--")
    return ("/bin/sh", "-c", "--")


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a command, made of the variables of its machine."""
    passed = {
        name: value
        for name, value in variables.items()
        if name in PASSED_VARIABLES or name.startswith("LC_")
    }
    if not {"LANG", "LC_ALL", "LC_CTYPE"} & passed.keys():
        passed["LANG"] = "C.UTF-8"
    return {**passed, **FIXED_VARIABLES, "SHELL": "/bin/sh"}


def _output_text(result: ProcessResult, path: str) -> str:
    """Return an output as text; a long one as head and tail, with the path of the whole."""
    if not result.dropped:
        return _plain(result.head).rstrip("\r\n")
    head, tail = drop_partial_end(result.head), drop_partial_start(result.tail)
    cut = len(result.head) - len(head) + len(result.tail) - len(tail)
    return join_head_and_tail(
        _plain(head),
        _plain(tail).rstrip("\r\n"),
        result.dropped + cut,
        path,
    )


def _plain(data: bytes) -> str:
    return drop_overwritten(strip_terminal_codes(data))


def _failure(code: int | None, timeout: float) -> str:
    """Return the line about a command that did not succeed; empty for a success."""
    if code is None:
        return f"Command timed out after {timeout:g} seconds"
    if code < 0:
        return f"Command was killed by signal {-code}"
    return f"Command exited with code {code}" if code else ""


class LiveOutputBuffer:
    """Shows output while the command runs: at most 30 times a second, and parts of a flood."""

    def __init__(self, progress: Callable[[str], None]) -> None:
        self._progress = progress
        self._plain = TerminalText()
        self._waiting = ""
        self._skipped = False
        self._shown_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, data: bytes) -> None:
        """Add a piece of output."""
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
        """Show the rest."""
        if self._timer is not None:
            self._timer.cancel()
            self._show()


def touches(arguments: BashArguments) -> Access:
    """Return the command of a call and its directory."""
    return Access(
        command=arguments.command,
        cwd=arguments.cwd or "",
        network=arguments.network,
        direct=arguments.direct,
    )


def render_call(given: Mapping[str, Any]) -> str:
    """Return the call in one line, like ``bash: ls -la``."""
    lines = str(given.get("command") or "").strip().split("\n")
    place = f" (in {argument_text(given['cwd'])})" if given.get("cwd") else ""
    return f"bash: {argument_text(lines[0])}" + (" ..." if len(lines) > 1 else "") + place


TOOL = Tool(
    name="bash",
    description=(
        "Run a command in a fresh shell in the working directory, without a terminal and without "
        "input; the next call starts a new shell. Returns standard output and standard error "
        "together; of a long output the head and tail. The command is killed after timeout seconds "
        f"({BASH_SECONDS} by default), its background processes when it ends. It usually runs "
        "isolated, without network, secrets and the rest of the user's home: then it needs no "
        "approval, and the user is shown what it changed in the project before that counts."
    ),
    arguments=ValueArguments(BashArguments),
    steps=(run,),
    metadata=Metadata(
        confined=True,
        runs_commands=True,
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
