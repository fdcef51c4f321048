"""Tools, and steps of tools, that are a shell command."""

from __future__ import annotations

import os
from typing import Any

from agentchat.core.limits import BASH_BYTES, BASH_SECONDS, RESULT_BYTES
from agentchat.core.tools.ports import Command
from agentchat.core.tools.tool import Result, ToolContext
from agentchat.tools.builtin.bash import Live, environment, how_it_ended, output, shell
from agentchat.tools.custom.outcome import text_of


async def run_shell(
    command: str,
    context: ToolContext,
    *,
    timeout: float | None = BASH_SECONDS,
    stdin: Any = None,
    flag: str = "",
) -> Result:
    """Run a command as ``bash`` does: what it wrote, and how it ended if not well.

    Args:
        timeout: seconds; ``None`` if someone else watches the time.
        stdin: what it reads, as text; ``None`` closes its input.
        flag: the name in ``context.flags`` that tells from now on whether it went well.
    """
    data = None if stdin is None else text_of(stdin, "the step before").encode()
    code, text = await run_program(command, context, timeout=timeout, stdin=data)
    details: dict[str, Any] = {"exitCode": code}
    if flag:
        context.flags[flag] = code == 0
        details["flags"] = {flag: code == 0}
    ending = how_it_ended(code, timeout or 0.0)
    text = text or "(no output)"
    if not ending:
        return Result(text, details=details)
    return Result(f"{text}\n\n{ending}", is_error=True, details=details)


async def run_program(
    command: str, context: ToolContext, *, timeout: float | None, stdin: bytes | None = None
) -> tuple[int | None, str]:
    """Return the exit code (``None``: out of time) and the output of a shell command."""
    live = Live(context.progress)
    wanted = Command(
        argv=(*await shell(context), command),
        cwd=context.cwd,
        stdin=stdin,
        timeout=timeout,
        capture=min(BASH_BYTES, RESULT_BYTES),
        merge_stderr=True,
        env=environment(os.environ),
        overflow=context.overflow,
        confine=True,
    )
    try:
        finished = await context.workspace.run(wanted, live.add)
    finally:
        live.close()
    return finished.code, output(finished, context.overflow)
