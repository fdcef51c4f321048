"""What the user decided, from the tables that Lua sends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentchat.agent.preview_actions import ResolveCommand, ShownPreview
from agentchat.core.diff.hunk_decisions import HunkDecision, Replacement
from agentchat.core.turn.effects import Answer

Payload = Mapping[str, Any]


def answer(payload: Payload) -> Answer:
    """Return the answer to a question."""
    return Answer(
        choice=payload["choice"],
        reason=payload.get("reason") or "",
        arguments=payload.get("arguments"),
        hunks=hunks(payload),
        replaced=tuple(Replacement(one["path"], one["text"]) for one in _list(payload, "replaced")),
    )


def order(payload: Payload) -> ResolveCommand:
    """Return what the user would have done with the newest preview."""
    seen = payload.get("preview")
    return ResolveCommand(
        action=payload["action"],
        reason=payload.get("reason") or "",
        hunks=hunks(payload),
        seen=ShownPreview(seen, payload.get("stamp") or "") if seen else None,
    )


def hunks(payload: Payload) -> tuple[HunkDecision, ...]:
    """Return what the user says of single hunks."""
    return tuple(
        HunkDecision(one["path"], one["index"], bool(one["keep"]), one.get("comment") or "")
        for one in _list(payload, "hunks")
    )


def _list(payload: Payload, name: str) -> list[Payload]:
    found = payload.get(name)
    # An empty table of Lua comes as a mapping.
    return found if isinstance(found, list) else []
