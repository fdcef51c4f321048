"""Requests to a model, and small tools to offer in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentchat.core.messages import History, Message, UserText
from agentchat.core.model import ModelRequest
from agentchat.core.tools.tool import Capability, Tool


@dataclass(frozen=True)
class AnyArguments:
    """Arguments that take everything."""

    properties: Mapping[str, Any] = field(default_factory=dict)

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "properties": dict(self.properties)}

    def parse(self, value: Mapping[str, Any]) -> Any:
        return value


def tool(name: str, *, dry_run: bool = False, min_confidence: int = 0) -> Tool:
    capability = Capability(dry_run=dry_run, min_confidence=min_confidence)
    return Tool(name, f"The {name} tool.", AnyArguments(), (), capability=capability)


def request(*said: Message, tools: tuple[Tool, ...] = (), **more: Any) -> ModelRequest:
    """A request whose history is ``said``, or just a greeting."""
    history = History(said or (UserText("hello"),))
    return ModelRequest(system="Be brief.", history=history, tools=tools, **more)
