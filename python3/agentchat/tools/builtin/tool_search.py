"""Find deferred tools, which are not sent to the model, and activate them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from agentchat.core.errors import ToolError
from agentchat.core.frozen import frozen
from agentchat.core.tools.tool import Metadata, Tool, ToolContext, ToolOutput
from agentchat.tools.arguments import ToolArguments, ValueArguments
from agentchat.tools.format import argument_text


@frozen
class ToolSearchArguments(ToolArguments):
    """What ``tool_search`` takes."""

    query: Annotated[str, "The tool's name, or words that describe it", {"minLength": 1}]


async def run(arguments: ToolSearchArguments, context: ToolContext) -> ToolOutput:
    """Return the tools that match; they can be called from the next request on."""
    if context.tool_finder is None:
        raise ToolError("This chat has no tools to search.")
    deferred = len(context.tool_finder.deferred())
    tools = context.tool_finder.search(arguments.query)
    details = {"tools": [tool.name for tool in tools]}
    if tools:
        lines = [f"- {tool.name}: {tool.description}" for tool in tools]
        lines += [text for tool in tools for text in (tool.system_prompt, *tool.guidelines) if text]
        return ToolOutput("\n".join(["You can call these tools now:", *lines]), details=details)
    if not deferred:
        return ToolOutput("All tools of this chat are loaded; there is nothing to find.")
    more = "1 tool is" if deferred == 1 else f"{deferred} tools are"
    return ToolOutput(
        f'No tools found for "{arguments.query}". {more} not loaded; try other words.',
        details=details,
    )


def render_call(given: Mapping[str, Any]) -> str:
    """Return the call in one line, like ``tool_search: rename symbol``."""
    return f"tool_search: {argument_text(given.get('query'))}"


TOOL = Tool(
    name="tool_search",
    description=(
        "Find more tools: not all tools of this chat are listed. Give a name or a few words about "
        "what you need. You can call the tools that it finds from then on."
    ),
    arguments=ValueArguments(ToolSearchArguments),
    steps=(run,),
    metadata=Metadata(
        concurrency_safe=True,
        read_only=True,
        search_hint="find more tools",
        permission_class="read",
        audit_operation="search",
    ),
    render_call=render_call,
    snippet="Find and load more tools",
    hidden=True,
    asks=False,
)
