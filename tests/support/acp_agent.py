"""An agent on the official SDK, which does what the prompt says: ``python acp_agent.py [FLAW]``.

A prompt is lines of one step each, see ``STEPS``. With a flaw it is no proper agent: ``noise``
prints no JSON, ``old`` speaks another version, ``dies`` ends at its start.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import acp
from acp import schema as s

OPTIONS = [
    s.PermissionOption(option_id="yes", name="Allow it", kind="allow_once"),
    s.PermissionOption(option_id="ever", name="Always allow", kind="allow_always"),
    s.PermissionOption(option_id="no", name="Do not", kind="reject_once"),
]


class ScriptedAgent:
    """Plays the steps of each prompt in order."""

    def on_connect(self, conn: acp.Client) -> None:
        self.client = conn
        self.cancelled = asyncio.Event()
        self.calls = 0
        self.cwd = ""

    async def initialize(self, protocol_version: int, **more: Any) -> s.InitializeResponse:
        version = 7 if "old" in sys.argv else protocol_version
        info = s.Implementation(name="scripted", version="1.5")
        return s.InitializeResponse(protocol_version=version, agent_info=info)

    async def new_session(self, cwd: str, **more: Any) -> s.NewSessionResponse:
        self.cwd = cwd
        return s.NewSessionResponse(session_id="session-1")

    async def cancel(self, session_id: str, **more: Any) -> None:
        self.cancelled.set()

    async def prompt(self, prompt: list[Any], session_id: str, **more: Any) -> s.PromptResponse:
        self.cancelled.clear()
        for line in "\n".join(block.text for block in prompt).splitlines():
            word, _, rest = line.partition(" ")
            if word in STEPS:
                await STEPS[word](self, rest)
            if self.cancelled.is_set():
                return s.PromptResponse(stop_reason="cancelled")
        return s.PromptResponse(stop_reason="end_turn")

    # --- steps ------------------------------------------------------------------------------------

    async def update(self, update: Any) -> None:
        await self.client.session_update(session_id="session-1", update=update)

    async def say(self, text: str) -> None:
        await self.update(acp.update_agent_message_text(text))

    async def think(self, text: str) -> None:
        await self.update(acp.update_agent_thought_text(text))

    async def plan(self, text: str) -> None:
        entries = [acp.plan_entry(each, status="completed") for each in text.split(",")]
        await self.update(acp.update_plan(entries))

    def next_call(self) -> str:
        self.calls += 1
        return f"call-{self.calls}"

    async def begin(self, kind: Any, title: str, **more: Any) -> str:
        number = self.next_call()
        start = acp.start_tool_call(number, title, kind=kind, status="pending", **more)
        await self.update(start)
        return number

    async def end(self, number: str, status: Any, text: str) -> None:
        content = [acp.tool_content(acp.text_block(text))]
        await self.update(acp.update_tool_call(number, status=status, content=content))

    async def permit(self, number: str, **more: Any) -> str:
        """Ask, and return the id of the chosen option, or ``cancelled``."""
        call = s.ToolCallUpdate(tool_call_id=number, **more)
        answer = await self.client.request_permission(
            session_id="session-1", tool_call=call, options=OPTIONS
        )
        return getattr(answer.outcome, "option_id", "cancelled")

    async def run(self, command: str) -> None:
        """Run a command after asking."""
        number = await self.begin("execute", f"Run {command}", raw_input={"command": command})
        answer = await self.permit(number)
        if answer != "yes":
            await self.say(f"[{answer}]")
            return
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_shell(command, cwd=self.cwd, stdout=pipe)
        output, _ = await process.communicate()
        await self.end(number, "completed", output.decode())

    async def look(self, path: str) -> None:
        """Report a call that is never asked about and never ends."""
        await self.begin("read", f"Look at {path}", locations=[])

    async def edit(self, text: str) -> None:
        """Ask to replace a word of a file, then write the file through the client."""
        path, old, new = text.split()
        full = str(Path(self.cwd) / path)
        before = (await self.client.read_text_file(session_id="session-1", path=full)).content
        diff = acp.tool_diff_content(full, before.replace(old, new), before)
        number = await self.begin("edit", f"Edit {path}", content=[diff])
        if await self.permit(number) == "yes":
            await self.write(f"{path} {before.replace(old, new)}")
            await self.update(acp.update_tool_call(number, status="completed"))

    async def write(self, text: str) -> None:
        """Write a file through the client, asked or not."""
        path, _, content = text.partition(" ")
        full = str(Path(self.cwd) / path)
        try:
            await self.client.write_text_file(session_id="session-1", path=full, content=content)
        except acp.RequestError as error:
            await self.say(f"[{error}]")

    async def mute(self, text: str) -> None:
        """Ask about a call of which nothing is known."""
        await self.say(f"[{await self.permit(self.next_call())}]")

    async def unknown(self, text: str) -> None:
        """Send a request that no client knows."""
        try:
            await self.client._conn.send_request("no/such", {})  # type: ignore[attr-defined]
        except acp.RequestError as error:
            await self.say(f"[{error.code}]")

    async def wait(self, text: str) -> None:
        """Do nothing until it is cancelled."""
        await self.cancelled.wait()

    async def ignore(self, text: str) -> None:
        """Do nothing, and do not stop either; with a child that has left the group."""
        child = await asyncio.create_subprocess_exec("sleep", "600", start_new_session=True)
        await self.say(f"child {child.pid}")
        await asyncio.sleep(600)

    async def environment(self, text: str) -> None:
        """Say which of some variables it has."""
        await self.say(" ".join(f"{name}={name in os.environ}" for name in text.split()))

    async def die(self, text: str) -> None:
        """End with a line on standard error."""
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
        os._exit(3)


STEPS: dict[str, Callable[[ScriptedAgent, str], Awaitable[None]]] = {
    name: getattr(ScriptedAgent, name)
    for name in (
        "say", "think", "plan", "run", "look", "edit", "write", "mute", "unknown", "wait",
        "ignore", "environment", "die",
    )
}  # fmt: skip


def main() -> None:
    if "dies" in sys.argv:
        sys.stderr.write("no account\n")
        sys.exit(4)
    if "noise" in sys.argv:
        for number in range(200):
            sys.stdout.write(f"no JSON {number}\n")
        sys.stdout.flush()
    asyncio.run(acp.run_agent(cast(acp.Agent, ScriptedAgent())))


if __name__ == "__main__":
    main()
