"""Writing a rule: proposed for a call, shown with what it would have matched, kept when agreed."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agentchat.agent.execution.locate import suppose, survey
from agentchat.agent.execution.tool_runner import parse_arguments
from agentchat.agent.permissions.approvals import Approvals
from agentchat.agent.permissions.rule_store import RuleStore
from agentchat.core.errors import UserError
from agentchat.core.messages import ToolCall
from agentchat.core.permissions.proposals import (
    RULE_HOMES,
    RuleHome,
    next_action,
    offers_rule,
    proposals,
)
from agentchat.core.permissions.rule_file import read_rule
from agentchat.core.permissions.rules import Rule, matches
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.tools.ports import Workspace
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import ApprovalRequest
from agentchat.journal.index import PastCall

MOST_CALLS = 200
"""How many calls of the past a rule is tried on."""

NO_RULE = "No rule is offered for this call: it is not shown whole, or holds hidden characters."
NO_QUESTION = "Nothing is being asked here. Name a call, like :AgentApprovals rule bash git status."


@dataclass(frozen=True, slots=True)
class MatchedCall:
    """Calls of the past that a rule is about: the same call, and how often each ended how."""

    call: str
    outcomes: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class RuleDraft:
    """A rule as it is shown before it is agreed to; ``id`` is that of exactly this text."""

    id: str
    call: ValidCall
    place: CallTarget
    choices: tuple[Rule, ...]
    rule: Rule
    scope: RuleHome = "chat"
    past: int = 0
    matched: tuple[MatchedCall, ...] = ()


@dataclass(frozen=True, slots=True)
class LocatedCall:
    """A call of the past, and where it would act now."""

    past: PastCall
    call: ValidCall
    place: CallTarget

    @property
    def shown(self) -> str:
        """The call in one line."""
        where = self.place.command or ", ".join(
            target.shown for target in (*self.place.reads, *self.place.writes)
        )
        return " ".join(f"{self.past.tool} {where}".split())


class RuleDrafts:
    """Writes rules in one chat.

    Args:
        past: the calls there were in this project, newest first; called in a thread.
        trust: trusts a file with this hash, which the user has agreed to.
    """

    def __init__(
        self,
        chat: Chat,
        *,
        workspace: Workspace,
        rulebook: RuleStore,
        judging: Approvals,
        past: Callable[[], Sequence[PastCall]],
        trust: Callable[[Path, str], Awaitable[bool]],
    ) -> None:
        self._chat = chat
        self._workspace = workspace
        self._rulebook = rulebook
        self._judging = judging
        self._past = past
        self._trust = trust
        self._calls: tuple[LocatedCall, ...] = ()
        self._draft: RuleDraft | None = None

    async def propose(self, question: ApprovalRequest | None, text: str = "") -> RuleDraft:
        """Begin a rule about the call that ``text`` names, or else about the open question.

        Raises:
            UserError: there is none, or no rule can be written about it.
        """
        call, place = await self._subject(question, text)
        self._calls = tuple(await self._locate_past())
        choices = proposals(call, place)
        draft = RuleDraft(id="", call=call, place=place, choices=choices, rule=choices[0])
        return self._show(draft)

    def revise(self, draft: str, change: str, text: str = "") -> RuleDraft | None:
        """Change a draft that is still shown: its ``action``, ``scope`` or ``words``.

        Args:
            change: ``text`` takes the rule that the user wrote.

        Raises:
            UserError: what the user wrote is no rule.
        """
        last = self._draft
        if last is None or last.id != draft:
            return None
        if change == "scope":
            return self._show(replace(last, scope=self._next_home(last.scope)))
        if change == "action":
            rule = next_action(last.rule)
        else:
            rule = read_rule(text) if change == "text" else _next_choice(last)
        return self._show(replace(last, rule=rule))

    async def write(self, draft: str) -> str:
        """Put the rule of a draft into force, exactly as it was shown; return what was done.

        Raises:
            UserError: the draft is not the one that is shown, or its file cannot be written.
        """
        last = self._draft
        if last is None or last.id != draft:
            raise UserError("This rule is no longer shown. Nothing was written.")
        self._draft = None
        if last.scope == "chat":
            self._rulebook.keep(last.rule)
            message = f"rule for this chat: {last.rule}"
        else:
            message = await self._write(self.file(last.scope), last.rule)
        await self._judging.refresh()
        return message

    def file(self, scope: RuleHome) -> Path:
        """Return the file in which the rules of a scope stand."""
        user = self._rulebook.user
        return user if scope == "user" and user is not None else self._rulebook.project

    def where(self, scope: RuleHome) -> str:
        """Return where a rule of a scope is kept, for the user."""
        if scope == "chat":
            return "this chat, until it is closed"
        whose = "this project" if scope == "project" else "all your projects"
        return f"{whose}, in {self._rulebook.name(self.file(scope))}"

    def _next_home(self, scope: RuleHome) -> RuleHome:
        homes = [home for home in RULE_HOMES if home != "user" or self._rulebook.user is not None]
        return homes[(homes.index(scope) + 1) % len(homes)]

    async def _subject(
        self, question: ApprovalRequest | None, text: str
    ) -> tuple[ValidCall, CallTarget]:
        if text:
            call, place = await suppose(self._chat, self._workspace, text)
        elif question is not None and question.pending is None:
            call, place = question.call, question.target
        else:
            raise UserError(NO_QUESTION)
        if isinstance(place, str):
            raise UserError(place)
        if not offers_rule(call, place):
            raise UserError(NO_RULE)
        return call, place

    def _show(self, draft: RuleDraft) -> RuleDraft:
        found = [one for one in self._calls if matches(draft.rule, one.call, one.place)]
        matched = tuple(_count_outcomes(found))
        new = uuid.uuid4().hex
        self._draft = replace(draft, id=new, past=len(self._calls), matched=matched)
        return self._draft

    async def _write(self, path: Path, rule: Rule) -> str:
        async with self._judging.writing:
            written = await asyncio.to_thread(self._rulebook.write, path, rule)
            trusted = bool(written.trust) and await self._trust(written.path, written.trust)
        message = f"rule in {self._rulebook.name(path)}: {rule}"
        if path == self._rulebook.project and rule.action == "allow" and not trusted:
            return f"{message}; it counts once you trust the file: :AgentApprovals trust"
        return message

    async def _locate_past(self) -> Iterable[LocatedCall]:
        found = await asyncio.to_thread(self._past)
        return [one for past in found if (one := await self._locate_one(past)) is not None]

    async def _locate_one(self, past: PastCall) -> LocatedCall | None:
        tool = self._chat.toolbox.find(past.tool)
        if tool is None:
            return None
        try:
            arguments = await parse_arguments(tool, past.given)
            touch = tool.touches(arguments)
        except Exception:  # the tool is another one now, or the user's and broken
            return None
        call = ValidCall(ToolCall("", tool.name, ""), tool, past.given, arguments)
        place = await survey(call, self._workspace, touch)
        if isinstance(place, str):
            return None
        return LocatedCall(past=past, call=call, place=place)


def _next_choice(draft: RuleDraft) -> Rule:
    """Return the next of the rules that were proposed, with the action that was chosen."""
    rules = [replace(rule, action=draft.rule.action) for rule in draft.choices]
    at = rules.index(draft.rule) if draft.rule in rules else -1
    return rules[(at + 1) % len(rules)]


def _count_outcomes(calls: Iterable[LocatedCall]) -> Iterable[MatchedCall]:
    """Yield each call once, with how often it ended how."""
    counts: dict[str, Counter[str]] = {}
    for one in calls:
        counts.setdefault(one.shown, Counter())[one.past.outcome] += 1
    return (MatchedCall(shown, tuple(count.most_common())) for shown, count in counts.items())
