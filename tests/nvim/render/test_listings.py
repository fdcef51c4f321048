"""Lists of a chat as text."""

from __future__ import annotations

from agentchat.core.tools.tool import Capability, Metadata
from agentchat.nvim.render.listings import tools
from tests.core.turn.world import a_chat, a_tool


def test_the_list_of_tools_says_what_each_declares_of_its_safety() -> None:
    reads = a_tool("look", snippet="Look.", metadata=Metadata(read_only=True))
    wipes = a_tool(
        "wipe",
        snippet="Wipe.",
        metadata=Metadata(destructive=True, requires_checkpoint=True),
        capability=Capability(dry_run=True, reversible=True, min_confidence=70),
    )
    lines = tools(a_chat(reads, wipes, a_tool("plain", snippet="Plain.")))
    assert lines[1:4] == [
        "  look   Look. [reads]",
        "  wipe   Wipe. [destructive, dry run, undo, checkpoint, confidence 70]",
        "  plain  Plain.",
    ]
