"""Reverse thinking: the model questions its own call before the call runs.

A tool with ``requires_reverse_thinking`` asks the model for what it takes for granted, what could
go wrong, and a verdict with a reason. *proceed* changes nothing. *abort* ends the call.
*reconsider* returns it to the model once in a turn; after that the user is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from agentchat.core.frozen import frozen
from agentchat.core.messages import Message, Reply, UserText
from agentchat.core.permissions.policy import NOBODY, Decision, Policy, Reason, Verdict
from agentchat.core.tools.call import ValidCall

REVERSE_THINKING = "_reverse_thinking"
LISTS = ("hidden_assumptions", "failure_scenarios")
VERDICTS = ("proceed", "reconsider", "abort")

_TEXTS = {"type": "array", "items": {"type": "string"}, "minItems": 1}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "Question this call before you make it.",
    "properties": {
        "hidden_assumptions": {**_TEXTS, "description": "What the call takes for granted"},
        "failure_scenarios": {**_TEXTS, "description": "How it could go wrong"},
        "verdict": {"type": "string", "enum": list(VERDICTS)},
        "verdict_reason": {"type": "string", "description": "Why, in one sentence"},
    },
    "required": [*LISTS, "verdict", "verdict_reason"],
}

ABORTED = "Not run: the verdict in {} is abort. Reason: {}"
RECONSIDERED = (
    "Not run: the verdict in {} is reconsider. Reason: {}\n"
    "Change the call, or send it again with a new verdict. If the verdict is reconsider again, "
    "the user decides."
)


@frozen
class ReverseThinking:
    """What the model says against its own call."""

    hidden_assumptions: tuple[str, ...]
    failure_scenarios: tuple[str, ...]
    verdict: str
    verdict_reason: str


def thinking_problems(value: Any) -> list[tuple[str, str]]:
    """Return what is missing in the reserved field, as pairs of field and reason."""
    if not isinstance(value, Mapping):
        value = {}
    problems = [(name, "send a list of sentences") for name in LISTS if not _texts(value.get(name))]
    if value.get("verdict") not in VERDICTS:
        problems.append(("verdict", f"send one of {', '.join(VERDICTS)}"))
    if not _texts(value.get("verdict_reason")):
        problems.append(("verdict_reason", "send a sentence that says why"))
    return [(f"{REVERSE_THINKING}.{name}", reason) for name, reason in problems]


def reverse_thinking(call: ValidCall) -> ReverseThinking | None:
    """Return what the model thought of a valid call, if its tool requires that."""
    value = call.reserved.get(REVERSE_THINKING)
    if not call.tool.metadata.requires_reverse_thinking or not isinstance(value, Mapping):
        return None
    return ReverseThinking(
        hidden_assumptions=_texts(value["hidden_assumptions"]),
        failure_scenarios=_texts(value["failure_scenarios"]),
        verdict=str(value["verdict"]),
        verdict_reason=" ".join(_texts(value["verdict_reason"])),
    )


def apply_verdict(
    call: ValidCall, decision: Decision, policy: Policy, messages: Iterable[Message]
) -> Decision:
    """Return the decision about a call, changed as the model's own verdict says.

    Args:
        messages: the history, in which the call is.
    """
    thinking = reverse_thinking(call)
    if thinking is None or thinking.verdict == "proceed":
        return decision
    why = Reason("own_verdict", f"{thinking.verdict}: {thinking.verdict_reason}")
    if thinking.verdict == "abort":
        text = ABORTED
    elif not _was_reconsidered(call, tuple(messages)):
        text = RECONSIDERED
    elif policy.attended:
        return replace(decision, verdict=Verdict.ASK, reason=why, scope=None)
    else:
        return Decision(Verdict.DENY, why, message=NOBODY)
    message = text.format(REVERSE_THINKING, thinking.verdict_reason)
    return Decision(Verdict.DENY, why, message=message)


def _was_reconsidered(call: ValidCall, messages: tuple[Message, ...]) -> bool:
    """Whether an earlier reply of this turn called the tool with the verdict *reconsider*."""
    for message in reversed(messages):
        if isinstance(message, UserText):
            return False
        if isinstance(message, Reply) and all(other.id != call.call.id for other in message.calls):
            texts = (other.arguments for other in message.calls if other.name == call.call.name)
            if any('"reconsider"' in text and REVERSE_THINKING in text for text in texts):
                return True
    return False


def _texts(value: Any) -> tuple[str, ...]:
    """Return a text, or the texts of a list, without blank ones; others count as missing."""
    values = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(text.strip() for text in values if isinstance(text, str) and text.strip())
