"""A workspace in a temporary directory, and calls as the agent makes them."""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from agentchat.core.tools.tool import DryRunResult, Tool, ToolContext, ToolOutput
from agentchat.core.workspace import Workspace
from agentchat.workspace.local import LocalWorkspace


@dataclass
class Bench:
    """Calls tools in one workspace; keeps what they showed and stored."""

    root: Path
    state: Path
    workspace: Workspace
    shown: list[str] = field(default_factory=list)
    progressed: asyncio.Event = field(default_factory=asyncio.Event)

    def context(self, preview: DryRunResult | None = None) -> ToolContext:
        return ToolContext(
            workspace=self.workspace,
            cwd=str(self.root),
            call_id="1",
            progress=self._progress,
            stage=lambda pending: None,
            store=self._store,
            free_path=lambda: str(self.state / "outputs" / "1.txt"),
            preview=preview,
        )

    async def call(
        self, tool: Tool, preview: DryRunResult | None = None, /, **given: Any
    ) -> ToolOutput:
        arguments = tool.arguments.parse(given)
        context = self.context(preview)
        for step in tool.steps:
            output = step(arguments, context)
            output = await output if inspect.isawaitable(output) else output
            context = replace(context, last_output=output)
        assert isinstance(context.last_output, ToolOutput)
        return context.last_output

    async def dry_run(self, tool: Tool, /, **given: Any) -> DryRunResult:
        assert tool.dry_run is not None
        return await tool.dry_run(tool.arguments.parse(given), self.context())

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def _progress(self, text: str) -> None:
        self.shown.append(text)
        self.progressed.set()

    def _store(self, text: str) -> str:
        path = self.state / "stored.txt"
        path.write_text(text)
        return str(path)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    root = tmp_path / "ws"
    root.mkdir()
    state = tmp_path / "state"
    state.mkdir()
    return Bench(root, state, LocalWorkspace(str(root), [str(state)]))
