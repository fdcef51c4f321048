"""How long the policy takes to decide about a new command, compared with starting `true`."""

from __future__ import annotations

import asyncio
import json
import subprocess
import tempfile
import time
from collections.abc import Callable

from agentchat.agent.execution.locate import locate_call
from agentchat.core.messages import ToolCall
from agentchat.core.permissions.grants import Grants
from agentchat.core.permissions.policy import Policy, decide
from agentchat.core.permissions.rules import Rule
from agentchat.core.shell.parse import LONGEST
from agentchat.core.tools.call import ValidCall
from agentchat.tools.builtin import bash
from agentchat.workspace.local import LocalWorkspace
from bench.figures import Row, spread

TIMES = 200
RULES = (
    Rule(action="deny", tool="bash", words=("git", "push")),
    Rule(action="deny", tool="bash", words=("rm",)),
    Rule(action="ask", tool="bash", words=("curl",)),
    Rule(action="allow", tool="bash", words=("git", "log")),
    Rule(action="allow", tool="bash", words=("echo",)),
    Rule(action="allow", tool="bash", words=("wc",)),
)


def ordinary(number: int) -> str:
    """Return a command of two parts, another one for each number."""
    return f"git log -{number + 1} --format='%h;%s' 2>&1 | wc -l"


def long(number: int) -> str:
    """Return a command of the greatest length that is parsed."""
    start = f"echo {number}"
    words = " 'a b' word --flag" * LONGEST
    return (start + words)[: LONGEST - 20].rpartition(" 'a b'")[0] + " && echo end"


def measure() -> list[Row]:
    """Decide about many commands, each for the first time."""
    started = [_timed(lambda: subprocess.run(["true"], check=True)) for _ in range(TIMES)]
    rows = []
    for what, command in (("ordinary ", ordinary), (f"{LONGEST:,} characters ", long)):
        rows += spread("gate: decision", started, asyncio.run(_decisions(command)), what)
    return rows


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


async def _decisions(command: Callable[[int], str]) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        workspace = LocalWorkspace(folder)
        policy = Policy(Grants(), rules=RULES)
        return [await _decision(workspace, policy, command(n)) for n in range(TIMES)]


async def _decision(workspace: LocalWorkspace, policy: Policy, command: str) -> float:
    fields = {"command": command}
    arguments = bash.TOOL.arguments.parse(fields)
    call = ValidCall(ToolCall("1", "bash", json.dumps(fields)), bash.TOOL, fields, arguments)
    began = time.perf_counter()
    target = await locate_call(call, workspace)
    decide(call, target, policy)
    return time.perf_counter() - began
