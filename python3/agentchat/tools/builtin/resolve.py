"""Apply or discard the pending preview; the turn performs it, and it is never listed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from agentchat.core.frozen import frozen
from agentchat.core.tools.tool import Metadata, Tool
from agentchat.tools.arguments import ToolArguments, ValueArguments
from agentchat.tools.format import argument_text


@frozen
class ResolveArguments(ToolArguments):
    """What ``resolve`` takes."""

    action: Annotated[Literal["apply", "discard"], "What to do with the preview"]
    reason: Annotated[str, "Why, in one sentence"]
    extra: Annotated[dict[str, Any] | None, "Data that the preview asked for"] = None


def render_call(given: Mapping[str, Any]) -> str:
    """Return the call in one line, like ``resolve apply: looks right``."""
    reason = f": {argument_text(given['reason'])}" if given.get("reason") else ""
    return f"resolve {argument_text(given.get('action'))}{reason}"


TOOL = Tool(
    name="resolve",
    description="Apply or discard the pending preview. The newest one is resolved first.",
    arguments=ValueArguments(ResolveArguments),
    steps=(),
    metadata=Metadata(permission_class="resolve", audit_operation="resolve"),
    render_call=render_call,
    hidden=True,
    asks=False,
)
