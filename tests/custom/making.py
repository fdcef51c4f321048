"""Tools made of functions, as a file of the user's makes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentchat.core.tool import Tool
from agentchat.tools.custom.building import build
from agentchat.tools.custom.decorator import definition_of, tool
from agentchat.tools.custom.definition import Definition


def declared(function: Callable[..., Any]) -> Definition:
    """Return what ``@tool`` left on a function."""
    found = definition_of(function)
    assert found is not None
    return found


def made(folder: Path, function: Callable[..., Any], **options: Any) -> Tool:
    """Return the tool that ``@tool(...)`` makes of a function, for a chat in ``folder``."""
    options.setdefault("require_approval_before", False)
    options.setdefault("description", "A tool of the tests.")
    return build(declared(tool(**options)(function)), "digest", str(folder))
