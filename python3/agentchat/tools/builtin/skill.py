"""Read the instructions of a skill; there is such a tool only while there are skills."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from agentchat.core.frozen import frozen
from agentchat.core.tools.system_prompt import SKILL
from agentchat.core.tools.tool import Metadata, Tool, ToolContext, ToolOutput
from agentchat.tools.arguments import ToolArguments, ValueArguments
from agentchat.tools.format import argument_text


@frozen
class SkillArguments(ToolArguments):
    """What ``skill`` takes."""

    name: Annotated[str, "The name of the skill", {"minLength": 1}]


def skill_tool(read: Callable[[str], str]) -> Tool:
    """Return the tool; ``read`` returns the instructions of a skill, or raises ToolError."""

    async def run(arguments: SkillArguments, context: ToolContext) -> ToolOutput:
        return ToolOutput(read(arguments.name))

    def render_call(given: Mapping[str, Any]) -> str:
        return f"{SKILL} {argument_text(given.get('name'))}"

    return Tool(
        name=SKILL,
        description="Read the instructions of a skill. Do it before you begin a task of its kind.",
        arguments=ValueArguments(SkillArguments),
        steps=(run,),
        metadata=Metadata(
            concurrency_safe=True,
            read_only=True,
            search_hint="instructions for a kind of task",
            permission_class="read",
            audit_operation="read",
        ),
        render_call=render_call,
        snippet="Read the instructions of a skill",
        always_load=True,
        asks=False,
    )
