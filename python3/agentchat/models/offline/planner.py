"""The planner: from all that was said to the next reply. Pure, and the same every time."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from agentchat.core.messages import (
    History,
    Reply,
    Status,
    ToolCall,
    ToolResult,
    UserText,
)
from agentchat.core.ports import ModelRequest
from agentchat.models.offline import wishes as w
from agentchat.models.offline.acts import Act, Outcome, Steps
from agentchat.models.offline.results import is_staged
from agentchat.models.offline.steps import steps

ABOUT = """\
I am not a language model: I am `offline`, the small built-in planner, and I follow fixed rules.
I understand `read F`, `find G`, `search R`, `ls D`, `replace 'A' with 'B' in F`, \
`rename A to B in G`, `write F: TEXT`, `delete F` and `run: C`, joined by new lines, `;` or `then`.
To connect a real model, set `$OPENAI_API_KEY`, or `$OPENAI_BASE_URL` for your own server \
(and `$AGENTCHAT_MODEL`), or `model` in `vim.g.agentchat`; then open a new chat: `:AgentChat!`."""

MODEL = "offline"


@dataclass(slots=True)
class _Running:
    """One chain on its way: the wish at work, what it wants next, what came of those before."""

    wishes: list[w.Wish]
    plan: Steps | None = None
    wants: Act | None = None
    call_id: str = ""
    staged: int = 0
    said: list[str] = field(default_factory=list)

    def begin(self) -> None:
        """Start the next wish of the chain, if any is left."""
        while self.wishes:
            wish = self.wishes.pop(0)
            if isinstance(wish, w.Unknown):
                self._end(Outcome(f"I do not understand {wish.text!r}.", False))
                return
            self.plan = steps(wish)
            if self._go(None):
                return

    def hear(self, result: ToolResult) -> None:
        """Take the result of the call that was made, and go on."""
        self.call_id = ""
        if not self._go(result):
            self.begin()

    def stop(self, why: str) -> None:
        """End the chain where it stands."""
        self._end(Outcome(why, False))

    def _go(self, result: ToolResult | None) -> bool:
        """Run the plan to its next call; return whether the chain is not to begin another."""
        assert self.plan is not None
        try:
            self.wants = next(self.plan) if result is None else self.plan.send(result)
            return True
        except StopIteration as end:
            outcome: Outcome = end.value
        self._end(outcome)
        return not outcome.ok

    def _end(self, outcome: Outcome) -> None:
        self.plan = self.wants = None
        self.said.append(outcome.text)
        if not outcome.ok:
            if self.wishes:
                self.said.append(f"I left out what was to follow ({len(self.wishes)}).")
            self.wishes = []


def next_reply(request: ModelRequest) -> Reply:
    """Return the next step of what the user asked for since the last finished turn."""
    chains = _replay(request.history)
    offered = {tool.name for tool in request.tools}
    for chain in chains:
        _drop_impossible(chain, offered)
    ready = _ready(chains, forced=request.forced == "resolve" or request.reminder is not None)
    if ready:
        return _calls(ready, request)
    return Reply(text=_closing(chains, request), model=MODEL)


def _replay(history: History) -> list[_Running]:
    """Run all plans of this turn against the results they have had so far."""
    chains: list[_Running] = []
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


def _begun(message: UserText) -> list[_Running]:
    chains = [_Running(list(chain)) for chain in w.parse(message.shown or message.text)]
    if all(isinstance(wish, w.Unknown) for chain in chains for wish in chain.wishes):
        return []
    for chain in chains:
        chain.begin()
    return chains


def _note_calls(chains: Iterable[_Running], reply: Reply) -> None:
    """Remember which chain made which call."""
    for call in reply.calls:
        for chain in chains:
            if chain.wants and not chain.call_id and _is(call, chain.wants):
                chain.call_id = call.id
                break


def _is(call: ToolCall, act: Act) -> bool:
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        return False
    arguments.pop("_confidence", None)
    return call.name == act.tool and arguments == act.arguments


def _deliver(chains: Iterable[_Running], result: ToolResult, number: int) -> None:
    for chain in chains:
        if chain.call_id and chain.call_id == result.call_id:
            if is_staged(result.text):
                chain.staged = number
            chain.hear(result)
            return


def _drop_impossible(chain: _Running, offered: set[str]) -> None:
    """End chains that want a tool this chat does not have."""
    while chain.wants and not chain.call_id and chain.wants.tool not in offered:
        tool = chain.wants.tool
        if tool == "resolve":
            chain.stop("There is nothing to resolve now.")
        else:
            chain.stop(
                f"I cannot {chain.wants.why}: this chat has no {tool} tool (add it: @{tool})."
            )


def _ready(chains: list[_Running], forced: bool) -> list[_Running]:
    """Return the chains that call now; while a preview waits, only the one that resolves it."""
    wanting = [chain for chain in chains if chain.wants and not chain.call_id]
    resolving = [chain for chain in wanting if chain.wants and chain.wants.tool == "resolve"]
    if resolving:
        return [max(resolving, key=lambda chain: chain.staged)]
    return [] if forced else wanting


def _calls(ready: list[_Running], request: ModelRequest) -> Reply:
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


def _intent(ready: list[_Running]) -> str:
    reasons = [chain.wants.why for chain in ready if chain.wants]
    text = "; ".join(reasons)
    return f"{text[:1].upper()}{text[1:]}."


def _closing(chains: list[_Running], request: ModelRequest) -> str:
    """Return what is said when nothing is left to call."""
    said = [text for chain in chains for text in chain.said if text]
    waiting = any(chain.wants for chain in chains)
    if request.reminder is not None and (waiting or not said):
        said.append(
            "A preview is pending, so nothing else can run: say `apply` or `discard`, "
            "or use :AgentResolve."
        )
    return "\n".join(said) if said else ABOUT
