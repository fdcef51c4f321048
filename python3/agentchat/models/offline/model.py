"""The offline model: reads the history, runs the plans of this turn again, makes the next calls.

It keeps nothing between two requests: the same history gives the same reply.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Generator, Iterator

from agentchat.core.messages import History, Message, Reply, Status, ToolCall, ToolResult, UserText
from agentchat.core.model import CallDelta, ModelRequest, Piece, TextDelta
from agentchat.core.turn.compact import is_summary_request
from agentchat.models.offline.planner import (
    PlannedCall,
    RequestFailed,
    count,
    is_staged,
    plan,
)
from agentchat.models.offline.requests import PlainRequest, parse

NAME = "offline"
PACE_SECONDS = 0.005
"""Time between two pieces of an answer, so that it streams as one from a server does."""

ARGUMENT_PIECE = 24
"""Characters of a call's arguments that arrive at a time."""

NOTICE = "This is the offline model: it follows fixed rules and is not a language model."
ABOUT = """\
I am not a language model: I am `offline`, the small built-in planner, and I follow fixed rules.
I understand `read F`, `find G`, `search R`, `ls D`, `replace 'A' with 'B' in F`, \
`rename A to B in G`, `write F: TEXT`, `delete F` and `run: C`, joined by new lines, `;` or `then`.
To connect a real model, set `$OPENAI_API_KEY`, or `$OPENAI_BASE_URL` for your own server \
(and `$AGENTCHAT_MODEL`), or `model` in `vim.g.agentchat`; then open a new chat: `:AgentChat!`."""
NO_SUMMARY = "the offline model cannot write one. Choose another model with :AgentModel."
PENDING = (
    "A preview is pending, so nothing else can run: say `apply` or `discard`, or use :AgentResolve."
)


class OfflineModel:
    """A deterministic planner over plain requests; no key, no network, no language model."""

    name = NAME
    window: int | None = None

    def __init__(self, pace: float = PACE_SECONDS) -> None:
        self._pace = pace

    async def learn_window(self) -> None:
        """There is no window."""

    def warm_up(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to close."""

    async def ask(self, request: ModelRequest, on_piece: Callable[[Piece], None]) -> Reply:
        """Return the next step of what the user asked for, in small pieces."""
        reply = next_reply(request)
        for piece in _pieces(reply):
            on_piece(piece)
            await asyncio.sleep(self._pace)
        return reply


class Chain:
    """Requests of which each one begins only when the one before it went well."""

    def __init__(self, requests: list[PlainRequest]) -> None:
        self.lines: list[str] = []
        """What came of the requests."""
        self.unknown: list[str] = []
        self._steps = self._run(requests)
        self.call: PlannedCall | None = next(self._steps, None)
        """What it wants to call next."""
        self.call_id = ""
        """The id of that call, once it is made."""
        self.staged = 0
        """Place in the history of the preview that it staged last."""

    def go_on(self, result: ToolResult) -> None:
        """Take the result of the call that was made; run the plans up to the next call."""
        self.call_id = ""
        try:
            self.call = self._steps.send(result)
        except StopIteration:
            self.call = None

    def _run(self, requests: list[PlainRequest]) -> Generator[PlannedCall, ToolResult, None]:
        for number, request in enumerate(requests, 1):
            if request.verb == "unknown":
                self.unknown.append(request.what)
                return
            try:
                self.lines.append((yield from plan(request)))
            except RequestFailed as failure:
                left = count(len(requests) - number, "request")
                rest = [f"I left out what was to follow ({left})."] if requests[number:] else []
                self.lines += [str(failure), *rest]
                return

    def go_on_without(self, reason: str) -> None:
        """Go on without the call, which cannot be made."""
        assert self.call is not None
        self.go_on(ToolResult("", self.call.tool, reason, Status.DENIED))


def next_reply(request: ModelRequest) -> Reply:
    """Return the next step of what the user asked for since the last finished turn."""
    if is_summary_request(request):
        return Reply(error=NO_SUMMARY, model=NAME)
    chains = _replay(request.history)
    for chain in chains:
        _skip_missing_tools(chain, request)
    ready = _ready(chains, request)
    text = "; ".join(call.reason for _, call in ready)
    text = f"{text[:1].upper()}{text[1:]}." if ready else _closing_text(chains, request)
    if text != ABOUT and not any(_is_own(message) for message in request.history.messages):
        text = f"{NOTICE}\n\n{text}"
    calls = tuple(_tool_call(number, call, request) for number, call in ready)
    return Reply(text=text, calls=calls, finish="tool_calls" if calls else "stop", model=NAME)


def _is_own(message: Message) -> bool:
    return isinstance(message, Reply) and message.model == NAME


def _replay(history: History) -> list[Chain]:
    """Run all plans of this turn against the results they have had so far."""
    chains: list[Chain] = []
    for place, message in enumerate(history.messages):
        if isinstance(message, UserText):
            chains += [Chain(requests) for requests in parse(message.display_text or message.text)]
        elif isinstance(message, Reply):
            if message.error or not message.calls:
                chains = []
            for call in message.calls if _is_own(message) else ():
                _note_call(chains, call)
        elif isinstance(message, ToolResult):
            if message.status is Status.CANCELLED:
                chains = []
            _deliver(chains, message, place)
    return chains


def _note_call(chains: list[Chain], call: ToolCall) -> None:
    """Remember in its chain that a call was made; its id ends in the chain's number."""
    number = call.id.rpartition(".")[2]
    if number.isdecimal() and int(number) < len(chains):
        chain = chains[int(number)]
        while chain.call and chain.call.tool != call.name:
            chain.go_on_without("")  # its tool was missing when the call was made
        chain.call_id = call.id


def _deliver(chains: list[Chain], result: ToolResult, place: int) -> None:
    for chain in chains:
        if chain.call_id == result.call_id:
            chain.staged = place if is_staged(result) else chain.staged
            chain.go_on(result)


def _skip_missing_tools(chain: Chain, request: ModelRequest) -> None:
    """Let a chain go on without calls of tools that this chat does not have."""
    offered = {tool.name for tool in request.tools} - request.forbidden
    is_planning = "resolve" in offered and request.forced is None
    while chain.call and not chain.call_id and chain.call.tool not in offered:
        tool = chain.call.tool
        reason = f"this chat has no {tool} tool (add it: @{tool})."
        if tool == "resolve":
            reason = "there is no pending preview."
        elif is_planning:
            reason = f"plan mode has no {tool} tool (leave it: :AgentMode ask)."
        chain.go_on_without(reason)


def _ready(chains: list[Chain], request: ModelRequest) -> list[tuple[int, PlannedCall]]:
    """Return the calls to make now; while a preview is pending, only the one that resolves it."""
    wanting = [
        (number, chain.call)
        for number, chain in enumerate(chains)
        if chain.call and not chain.call_id
    ]
    resolving = [(number, call) for number, call in wanting if call.tool == "resolve"]
    if resolving:
        return [max(resolving, key=lambda item: chains[item[0]].staged)]
    return [] if request.forced == "resolve" else wanting


def _tool_call(number: int, call: PlannedCall, request: ModelRequest) -> ToolCall:
    """Return the call with an id that is new in the chat and ends in the chain's number."""
    arguments = dict(call.arguments)
    tool = next(tool for tool in request.tools if tool.name == call.tool)
    if tool.capability.min_confidence > 0:
        arguments["_confidence"] = 100
    place = len(request.history.messages)
    while f"{NAME}-{place}.{number}" in request.used_ids:  # of calls that a summary replaces
        place += 1
    id = f"{NAME}-{place}.{number}"
    return ToolCall(
        id=id,
        name=call.tool,
        arguments=json.dumps(arguments, ensure_ascii=False),
        provider_id=id,
    )


def _closing_text(chains: list[Chain], request: ModelRequest) -> str:
    """Return the text of a reply without calls."""
    lines = list(dict.fromkeys(text for chain in chains for text in chain.lines if text))
    if request.forced is not None:
        return "\n".join([*lines, PENDING])
    unknown = [text for chain in chains for text in chain.unknown]
    if not lines:
        return ABOUT
    if unknown:
        shown = [repr(text if len(text) <= 60 else text[:59] + "…") for text in unknown[:3]]
        more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
        lines.append(f"I do not understand {', '.join(shown)}{more}.")
    return "\n".join(lines)


def _pieces(reply: Reply) -> Iterator[Piece]:
    for word in re.findall(r"\S*\s*", reply.text):
        if word:
            yield TextDelta(word)
    for call in reply.calls:
        for end in range(ARGUMENT_PIECE, len(call.arguments) + ARGUMENT_PIECE, ARGUMENT_PIECE):
            yield CallDelta(call.id, call.name, call.arguments[:end])
