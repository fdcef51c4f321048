"""The planner: from all that was said to the next reply. Pure, and the same every time."""

from __future__ import annotations

import json
from collections.abc import Iterable

from agentchat.core.messages import (
    History,
    Reply,
    Status,
    ToolCall,
    ToolResult,
    UserText,
)
from agentchat.core.tools.model import ModelRequest
from agentchat.models.offline import wishes as w
from agentchat.models.offline.chains import Running
from agentchat.models.offline.results import is_staged

ABOUT = """\
I am not a language model: I am `offline`, the small built-in planner, and I follow fixed rules.
I understand `read F`, `find G`, `search R`, `ls D`, `replace 'A' with 'B' in F`, \
`rename A to B in G`, `write F: TEXT`, `delete F` and `run: C`, joined by new lines, `;` or `then`.
To connect a real model, set `$OPENAI_API_KEY`, or `$OPENAI_BASE_URL` for your own server \
(and `$AGENTCHAT_MODEL`), or `model` in `vim.g.agentchat`; then open a new chat: `:AgentChat!`."""

PENDING = (
    "A preview is pending, so nothing else can run: say `apply` or `discard`, or use :AgentResolve."
)
MODEL = "offline"


def next_reply(request: ModelRequest) -> Reply:
    """Return the next step of what the user asked for since the last finished turn."""
    chains = _replay(request.history)
    offered = {tool.name for tool in request.tools}
    planning = "resolve" in offered and request.reminder is None
    for chain in chains:
        _drop_impossible(chain, offered, planning)
    ready = _ready(chains, forced=request.forced == "resolve" or request.reminder is not None)
    if ready:
        return _calls(ready, request)
    return Reply(text=_closing(chains, request), model=MODEL)


def _replay(history: History) -> list[Running]:
    """Run all plans of this turn against the results they have had so far."""
    chains: list[Running] = []
    for number, message in enumerate(history.messages):
        if isinstance(message, UserText):
            chains += _begun(message)
        elif isinstance(message, Reply):
            if message.error or not message.calls:
                chains = []
            _note_calls(chains, message)
        elif isinstance(message, ToolResult):
            if message.status is Status.CANCELLED:
                chains = []
            _deliver(chains, message, number)
    return chains


def _begun(message: UserText) -> list[Running]:
    chains = [Running(list(chain)) for chain in w.parse(message.shown or message.text)]
    for chain in chains:
        chain.begin()
    return chains


def _note_calls(chains: Iterable[Running], reply: Reply) -> None:
    """Remember which chain made which call."""
    for call in reply.calls:
        if not any(chain.take(call, skipping=False) for chain in chains):
            any(chain.take(call, skipping=True) for chain in chains)


def _deliver(chains: Iterable[Running], result: ToolResult, number: int) -> None:
    for chain in chains:
        if chain.call_id and chain.call_id == result.call_id:
            if is_staged(result.text):
                chain.staged = number
            chain.hear(result)
            return


def _drop_impossible(chain: Running, offered: set[str], planning: bool) -> None:
    """End chains that want a tool this chat does not have, or not in plan mode."""
    while chain.wants and not chain.call_id and chain.wants.tool not in offered:
        tool = chain.wants.tool
        if tool == "resolve":
            chain.stop("The preview no longer waits, so there is nothing to resolve.")
        elif not chain.wants.needed:
            chain.do_without()
        else:
            lacking = f"this chat has no {tool} tool (add it: @{tool})"
            if planning:
                lacking = f"plan mode has no {tool} tool (leave it: :AgentMode ask)"
            chain.stop(f"I cannot {chain.wants.why}: {lacking}.")


def _ready(chains: list[Running], forced: bool) -> list[Running]:
    """Return the chains that call now; while a preview waits, only the one that resolves it."""
    wanting = [chain for chain in chains if chain.wants and not chain.call_id]
    resolving = [chain for chain in wanting if chain.wants and chain.wants.tool == "resolve"]
    if resolving:
        return [max(resolving, key=lambda chain: chain.staged)]
    return [] if forced else wanting


def _calls(ready: list[Running], request: ModelRequest) -> Reply:
    taken = {c.id for m in request.history.messages if isinstance(m, Reply) for c in m.calls}
    least = {tool.name: tool.capability.min_confidence for tool in request.tools}
    calls: list[ToolCall] = []
    for chain in ready:
        act = chain.wants
        assert act is not None
        arguments = dict(act.arguments)
        if least[act.tool] > 0:
            arguments["_confidence"] = 100
        id = _free(taken)
        calls.append(ToolCall(id, act.tool, json.dumps(arguments, ensure_ascii=False), id))
    return Reply(_intent(ready), tuple(calls), finish="tool_calls", model=MODEL)


def _free(taken: set[str]) -> str:
    number = len(taken) + 1
    while f"offline-{number}" in taken:
        number += 1
    taken.add(f"offline-{number}")
    return f"offline-{number}"


def _intent(ready: list[Running]) -> str:
    reasons = [chain.wants.why for chain in ready if chain.wants]
    text = "; ".join(reasons)
    return f"{text[:1].upper()}{text[1:]}."


def _closing(chains: list[Running], request: ModelRequest) -> str:
    """Return what is said when nothing is left to call."""
    said = list(dict.fromkeys(text for chain in chains for text in chain.said if text))
    if request.reminder is not None:
        return "\n".join([*said, PENDING])
    lost = [chain.unknown for chain in chains if chain.unknown]
    if not said:
        return ABOUT
    return "\n".join([*said, _not_understood(lost)] if lost else said)


def _not_understood(lost: list[str]) -> str:
    shown = [repr(text if len(text) <= 60 else text[:59] + "…") for text in lost[:3]]
    more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
    return f"I do not understand {', '.join(shown)}{more}."
