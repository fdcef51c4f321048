"""A message of the user on its way to the model: what it calls, and the text with the results."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from agentchat.agent.prompts.slash_commands import SlashCommands
from agentchat.core.errors import ToolError, UserError
from agentchat.core.messages import Image, ToolCall, ToolResult
from agentchat.core.prompts.command import Expansion
from agentchat.core.prompts.template import CommandPart, FilePart, Part
from agentchat.core.tools.mentions import Attachment, context_block
from agentchat.core.turn.effects import PromptCall
from agentchat.core.workspace import Workspace

OTHER_NAMES = frozenset({"sonnet", "opus", "haiku", "inherit", "default"})
"""Names of models in the files of another program, which no server knows."""


@dataclass
class ExpandedPrompt:
    """The parts of a command's text; ``calls`` has the call of each part that needs a result."""

    name: str
    expansion: Expansion
    calls: dict[int, PromptCall] = field(default_factory=dict)
    results: dict[str, ToolResult] = field(default_factory=dict)

    def text(self) -> str:
        """Return the text for the model; files are below it."""
        pieces = [self._text(number, part) for number, part in enumerate(self.expansion.parts)]
        blocks = [context_block(attachment) for attachment in self._files()]
        return "\n\n".join(["".join(pieces).strip(), *blocks])

    def images(self) -> tuple[Image, ...]:
        """Return the images among the files."""
        return tuple(image for attachment in self._files() for image in attachment.images)

    def lines(self) -> list[str]:
        """Return lines for the user: where the text is from, and what it called."""
        called = [self._shown(number) for number in self.calls]
        return [f"/{self.name}: {self.expansion.origin}", *called]

    def _text(self, number: int, part: Part) -> str:
        if isinstance(part, FilePart):
            return part.path if number in self.calls else f"@{part.path}"
        return self._result(number).text.strip("\n") if isinstance(part, CommandPart) else part

    def _files(self) -> list[Attachment]:
        parts = self.expansion.parts
        files = [(number, part) for number, part in enumerate(parts) if isinstance(part, FilePart)]
        results = [(part, self._result(number)) for number, part in files if number in self.calls]
        return [Attachment(part.path, result.text, result.images) for part, result in results]

    def _result(self, number: int) -> ToolResult:
        return self.results[self.calls[number].call.id]

    def _shown(self, number: int) -> str:
        part, result = self.expansion.parts[number], self._result(number)
        done = f"  read {part.path}" if isinstance(part, FilePart) else f"  ran {_command(part)}"
        problem = result.text.split("\n", 1)[0]
        return f"{done}: {problem}" if result.is_error else done


def _command(part: Part) -> str:
    return part.command if isinstance(part, CommandPart) else ""


def prompt_call(tool: str, arguments: Mapping[str, Any], prompt: str) -> PromptCall:
    """Return a call of a tool for a prompt."""
    call = ToolCall(f"prompt-{uuid.uuid4().hex[:12]}", tool, json.dumps(arguments))
    return PromptCall(call, prompt)


class TurnModel(Protocol):
    """Chooses the model that answers one turn."""

    def use_for_turn(self, name: str) -> None:
        """Ask another model until the turn ends; raises UserError."""

    def end_turn(self) -> None:
        """Ask the model of the chat again."""


class PromptExpander:
    """Expands the slash commands of one chat.

    Args:
        model: takes the names of models in commands; ``None`` ignores them.
    """

    def __init__(
        self, commands: SlashCommands, workspace: Workspace, model: TurnModel | None
    ) -> None:
        self._commands = commands
        self._workspace = workspace
        self._model = model

    async def expand(self, text: str) -> ExpandedPrompt | None:
        """Return the command that a prompt begins with, and its calls; ``None`` if it has none.

        Raises:
            UserError: the command cannot be used.
        """
        if text.startswith("/"):
            await asyncio.to_thread(self._commands.refresh)
        found = await self._commands.expand(text)
        if found is None:
            return None
        typed, expansion = found
        expanded = ExpandedPrompt(typed.name, expansion)
        for number, part in enumerate(expansion.parts):
            call = await self._call(part, f"/{typed.name}")
            if call is not None:
                expanded.calls[number] = call
        return expanded

    def use_model(self, name: str) -> list[str]:
        """Let a model answer this turn; return a line for the user, if a name is given."""
        if self._model is None or not name or name in OTHER_NAMES:
            return []
        try:
            self._model.use_for_turn(name)
        except UserError as error:
            return [f"The model {name} is not used: {error}"]
        return [f"Model of this turn: {name}"]

    def end_turn(self) -> None:
        """Return to the model of the chat."""
        if self._model is not None:
            self._model.end_turn()

    async def _call(self, part: Part, prompt: str) -> PromptCall | None:
        if isinstance(part, CommandPart):
            return prompt_call("bash", {"command": part.command}, prompt)
        if isinstance(part, FilePart) and await self._is_file(part.path):
            return prompt_call("read", {"path": part.path}, prompt)
        return None

    async def _is_file(self, path: str) -> bool:
        try:
            target = await self._workspace.locate(path)
            return target.exists and await self._workspace.kind(target.path) == "file"
        except (OSError, ToolError):
            return False
