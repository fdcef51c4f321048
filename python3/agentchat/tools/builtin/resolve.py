"""Apply or discard the pending preview; the turn performs it, and it is never listed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from agentchat.core.tools.tool import Metadata, Tool
from agentchat.tools.format import argument_text
from agentchat.tools.schema import PydanticArguments, ToolArguments


class ResolveArguments(ToolArguments):
    """What ``resolve`` takes."""

    action: Literal["apply", "discard"] = Field(description="What to do with the preview")
    reason: str = Field(description="Why, in one sentence")
    extra: dict[str, Any] | None = Field(None, description="Data that the preview asked for")


def render_call(given: Mapping[str, Any]) -> str:
    """Return the call in one line, like ``resolve apply: looks right``."""
    reason = f": {argument_text(given['reason'])}" if given.get("reason") else ""
    return f"resolve {argument_text(given.get('action'))}{reason}"


TOOL = Tool(
    name="resolve",
    description="Apply or discard the pending preview. The newest one is resolved first.",
    arguments=PydanticArguments(ResolveArguments),
    steps=(),
    metadata=Metadata(permission_class="resolve", audit_operation="resolve"),
    render_call=render_call,
    hidden=True,
    asks=False,
)
