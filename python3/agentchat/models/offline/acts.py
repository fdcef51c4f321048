"""What the planner wants to do, and what came of it."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any

from agentchat.core.messages import ToolResult


@dataclass(frozen=True, slots=True)
class Act:
    """A call the planner wants to make.

    Without its tool, one that is not ``needed`` is answered by an error and the plan goes on.
    """

    tool: str
    arguments: Mapping[str, Any]
    why: str
    needed: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a wish, as a sentence or a few lines; ``ok``: the chain may go on."""

    text: str
    ok: bool = True


Steps = Generator[Act, ToolResult, Outcome]
"""A plan for one wish: yields one call, is sent its result, and goes on to the outcome."""
