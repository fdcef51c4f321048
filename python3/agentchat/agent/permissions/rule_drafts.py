"""Drafts of rules: proposed for a call, tried on past calls, written when the user agrees."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from agentchat.agent.execution.locate import locate_call, locate_named_call
from agentchat.agent.execution.steps import parse_arguments
from agentchat.agent.permissions.approvals import Approvals
from agentchat.agent.permissions.rule_store import RuleStore
from agentchat.core.errors import ToolError, UserError
from agentchat.core.frozen import frozen
from agentchat.core.messages import ToolCall
from agentchat.core.permissions.proposals import (
    RULE_HOMES,
    RuleHome,
    asking_parts,
    next_action,
    offers_rule,
    propose_rules,
)
from agentchat.core.permissions.rule_file import read_rule
from agentchat.core.permissions.rules import Rule, matches
from agentchat.core.shell.parse import Part
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.turn.chat import Chat
from agentchat.core.workspace import Workspace
from agentchat.journal.index import PastCall

MOST_CALLS = 200
"""How many past calls a rule is tried on."""

NO_RULE = "No rule is offered for this call: it is not shown in full or contains hidden characters."
NO_REQUEST = "No approval request is open. Name a call, like :AgentApprovals rule bash git status."


@frozen
class MatchedCall:
    """Equal past calls that a rule matches; ``outcomes`` counts how they ended."""

    call: str
    outcomes: tuple[tuple[str, int], ...]


@frozen
class RuleDraft:
    """A rule that the user has not agreed to; every change of it has a new ``id``.

    ``past`` is the number of past calls that it was tried on.
    """

    id: str
    call: ValidCall
    target: CallTarget
    choices: tuple[Rule, ...]
    rule: Rule
    scope: RuleHome = "chat"
    past: int = 0
    matched: tuple[MatchedCall, ...] = ()


@frozen
class LocatedCall:
    """A past call with its target as of now."""

    past: PastCall
    call: ValidCall
    target: CallTarget

    @property
    def line(self) -> str:
        """The call in one line."""
        files = (*self.target.reads, *self.target.writes)
        argument = self.target.command or ", ".join(file.display_path for file in files)
        return " ".join(f"{self.past.tool} {argument}".split())


class TrustStore(Protocol):
    """Keeps which files the user trusts."""

    async def add(self, path: Path, digest: str) -> bool:
        """Trust a file with this hash; return whether that was possible."""


class RuleDrafts:
    """Drafts the rules of one chat, one at a time."""

    def __init__(
        self,
        chat: Chat,
        *,
        workspace: Workspace,
        rule_store: RuleStore,
        approvals: Approvals,
        trust_store: TrustStore,
    ) -> None:
        self._chat = chat
        self._workspace = workspace
        self._rule_store = rule_store
        self._approvals = approvals
        self._trust_store = trust_store
        self._calls: tuple[LocatedCall, ...] = ()
        self._draft: RuleDraft | None = None
        self.asks_for_more = False
        """Whether the command that the last rule was about has other parts that ask."""

    async def propose(self, past_calls: Sequence[PastCall], text: str = "") -> RuleDraft:
        """Draft a rule about the call that ``text`` names, or else about the open request.

        Args:
            past_calls: calls of this project to try the rule on, newest first.

        Raises:
            UserError: there is no such call or request, or no rule is offered for it.
            ToolError: the named call cannot act.
        """
        call, target = await self._find_call(text)
        self._calls = tuple(await self._locate_all(past_calls))
        choices = propose_rules(call, target, asking_parts(call, target, self._chat.policy))
        if not text and self._is_isolated_request():
            choices = tuple(replace(rule, isolated=True) for rule in choices)
        draft = RuleDraft(id="", call=call, target=target, choices=choices, rule=choices[0])
        return self._try(draft)

    def revise(self, draft: str, change: str, text: str = "") -> RuleDraft | None:
        """Return the current draft with one change; ``None`` if another draft is current.

        Args:
            change: ``action``, ``scope`` or ``words`` take the next choice, ``text`` takes the
                rule that the user wrote.

        Raises:
            UserError: the user's text is not a rule.
        """
        last = self._draft
        if last is None or last.id != draft:
            return None
        if change == "scope":
            return self._try(replace(last, scope=self._next_home(last.scope)))
        if change == "action":
            rule = next_action(last.rule)
        else:
            rule = read_rule(text) if change == "text" else _next_choice(last)
        return self._try(replace(last, rule=rule))

    async def write(self, draft: str) -> str:
        """Write the rule of the current draft; return a line for the user.

        Raises:
            UserError: another draft is current, or the file cannot be written.
        """
        last = self._draft
        if last is None or last.id != draft:
            raise UserError("This rule is no longer shown. Nothing was written.")
        self._draft = None
        before = len(self._asking_parts(last))
        if last.scope == "chat":
            self._rule_store.add(last.rule)
            message = f"rule for this chat: {last.rule}"
        else:
            message = await self._write(self.file(last.scope), last.rule)
        await self._approvals.refresh()
        # A rule that changes nothing here is not followed by another one.
        self.asks_for_more = 0 < len(self._asking_parts(last)) < before
        return message

    def _asking_parts(self, draft: RuleDraft) -> tuple[Part, ...]:
        """Return the parts that ask of the command of a draft, if its request is still open."""
        request = self._approvals.request
        if request is None or request.call.call.id != draft.call.call.id:
            return ()
        return asking_parts(request.call, request.target, self._chat.policy)

    def _is_isolated_request(self) -> bool:
        """Whether the open request shows what a command changed that ran isolated."""
        request = self._approvals.request
        return request is not None and request.isolated is not None

    def file(self, scope: RuleHome) -> Path:
        """Return the file with the rules of a scope."""
        user = self._rule_store.user
        return user if scope == "user" and user is not None else self._rule_store.project

    def describe_scope(self, scope: RuleHome) -> str:
        """Return how long and where a rule of a scope is kept."""
        if scope == "chat":
            return "this chat, until it is closed"
        projects = "this project" if scope == "project" else "all your projects"
        return f"{projects}, in {self._rule_store.name(self.file(scope))}"

    def _next_home(self, scope: RuleHome) -> RuleHome:
        homes = [home for home in RULE_HOMES if home != "user" or self._rule_store.user is not None]
        return homes[(homes.index(scope) + 1) % len(homes)]

    async def _find_call(self, text: str) -> tuple[ValidCall, CallTarget]:
        request = self._approvals.request
        if text:
            call, target = await locate_named_call(self._chat, self._workspace, text)
        elif request is not None and request.staged_preview is None:
            call, target = request.call, request.target
        else:
            raise UserError(NO_REQUEST)
        if not offers_rule(call, target):
            raise UserError(NO_RULE)
        return call, target

    def _try(self, draft: RuleDraft) -> RuleDraft:
        """Make a draft the current one, with the past calls that its rule matches."""
        calls = [call for call in self._calls if matches(draft.rule, call.call, call.target)]
        self._draft = replace(
            draft,
            id=uuid.uuid4().hex,
            past=len(self._calls),
            matched=tuple(_count_outcomes(calls)),
        )
        return self._draft

    async def _write(self, path: Path, rule: Rule) -> str:
        async with self._approvals.writing:
            written = await asyncio.to_thread(self._rule_store.write, path, rule)
            digest = written.trust
            trusted = bool(digest) and await self._trust_store.add(written.path, digest)
        message = f"rule in {self._rule_store.name(path)}: {rule}"
        if path == self._rule_store.project and rule.action == "allow" and not trusted:
            return f"{message}; it takes effect when you trust the file: :AgentApprovals trust"
        return message

    async def _locate_all(self, past_calls: Sequence[PastCall]) -> Iterable[LocatedCall]:
        located = [await self._locate(past) for past in past_calls]
        return [call for call in located if call is not None]

    async def _locate(self, past: PastCall) -> LocatedCall | None:
        tool = self._chat.toolset.find(past.tool)
        if tool is None:
            return None
        try:
            arguments = await parse_arguments(tool, past.arguments)
            touch = tool.touches(arguments)
        except Exception:  # the tool has changed since, or is a custom one with an error
            return None
        call = ValidCall(ToolCall("", tool.name, ""), tool, past.arguments, arguments)
        try:
            target = await locate_call(call, self._workspace, touch)
        except ToolError:
            return None
        return LocatedCall(past, call, target)


def _next_choice(draft: RuleDraft) -> Rule:
    """Return the next of the proposed rules, with the chosen action."""
    rules = [replace(rule, action=draft.rule.action) for rule in draft.choices]
    index = rules.index(draft.rule) if draft.rule in rules else -1
    return rules[(index + 1) % len(rules)]


def _count_outcomes(calls: Iterable[LocatedCall]) -> Iterable[MatchedCall]:
    """Return each different call once, with its outcomes."""
    counts: dict[str, Counter[str]] = {}
    for call in calls:
        counts.setdefault(call.line, Counter())[call.past.outcome] += 1
    return (MatchedCall(line, tuple(count.most_common())) for line, count in counts.items())
