"""Writing a rule: proposed for a call, shown with what it would have matched, kept when agreed."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agentchat.agent.execution.locate import suppose, survey
from agentchat.agent.permissions.approvals import Approvals
from agentchat.agent.permissions.rule_store import Rulebook
from agentchat.core.errors import UserError
from agentchat.core.messages import ToolCall
from agentchat.core.proposing import SCOPES, next_action, offers_rule, proposals
from agentchat.core.rulefile import read_rule
from agentchat.core.rules import Rule, matches
from agentchat.core.tools.call import Call, Place
from agentchat.core.tools.ports import Workspace
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import Question
from agentchat.journal.index import PastCall

MOST_CALLS = 200
"""How many calls of the past a rule is tried on."""

NO_RULE = "No rule is offered for this call: it is not shown whole, or holds hidden characters."
NO_QUESTION = "Nothing is being asked here. Name a call, like :AgentApprovals rule bash git status."


@dataclass(frozen=True, slots=True)
class Matched:
    """Calls of the past that a rule is about: the same call, and how often each ended how."""

    call: str
    outcomes: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """A rule as it is shown before it is agreed to; ``id`` is that of exactly this text."""

    id: str
    call: Call
    place: Place
    choices: tuple[Rule, ...]
    rule: Rule
    scope: str = "chat"
    tried: int = 0
    matched: tuple[Matched, ...] = ()


@dataclass(frozen=True, slots=True)
class Tried:
    """A call of the past, and where it would act now."""

    past: PastCall
    call: Call
    place: Place

    @property
    def shown(self) -> str:
        """The call in one line."""
        where = self.place.command or ", ".join(
            target.shown for target in (*self.place.reads, *self.place.writes)
        )
        return " ".join(f"{self.past.tool} {where}".split())


class Ruling:
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
        rulebook: Rulebook,
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
        self._tried: tuple[Tried, ...] = ()
        self._draft: Draft | None = None

    async def propose(self, question: Question | None, text: str = "") -> Draft:
        """Begin a rule about the call that ``text`` names, or else about the open question.

        Raises:
            UserError: there is none, or no rule can be written about it.
        """
        call, place = await self._subject(question, text)
        self._tried = tuple(await self._try_on())
        choices = proposals(call, place)
        return self._show(Draft("", call, place, choices, choices[0]))

    def revise(self, draft: str, change: str, text: str = "") -> Draft | None:
        """Change a draft that is still shown: its ``action``, ``scope`` or ``words``.

        Args:
            change: ``text`` takes the rule that the user wrote.

        Raises:
            UserError: what the user wrote is no rule.
        """
        last = self._draft
        if last is None or last.id != draft:
            return None
        if change == "action":
            return self._show(replace(last, rule=next_action(last.rule)))
        if change == "scope":
            scope = SCOPES[(SCOPES.index(last.scope) + 1) % len(SCOPES)]
            if scope == "user" and self._rulebook.user is None:
                scope = SCOPES[0]
            return self._show(replace(last, scope=scope))
        if change == "text":
            return self._show(replace(last, rule=read_rule(text)))
        return self._show(replace(last, rule=_next(last)))

    async def write(self, draft: str) -> str:
        """Put the rule of a draft into force, exactly as it was shown; return what was done.

        Raises:
            UserError: the draft is not the one that is shown, or its file cannot be written.
        """
        last = self._draft
        if last is None or last.id != draft:
            raise UserError("That rule is not shown any more. Nothing was written.")
        self._draft = None
        if last.scope == "chat":
            self._rulebook.keep(last.rule)
            said = f"rule for this chat: {last.rule}"
        else:
            said = await self._write(self.file(last.scope), last.rule)
        await self._judging.refresh()
        return said

    def file(self, scope: str) -> Path:
        """Return the file in which the rules of a scope stand."""
        user = self._rulebook.user
        return user if scope == "user" and user is not None else self._rulebook.project

    def where(self, scope: str) -> str:
        """Return where a rule of a scope is kept, for the user."""
        if scope == "chat":
            return "this chat, until it is closed"
        whose = "this project" if scope == "project" else "all your projects"
        return f"{whose}, in {self._rulebook.name(self.file(scope))}"

    async def _subject(self, question: Question | None, text: str) -> tuple[Call, Place]:
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

    def _show(self, draft: Draft) -> Draft:
        hits = [tried for tried in self._tried if matches(draft.rule, tried.call, tried.place)]
        matched = tuple(_grouped(hits))
        new = uuid.uuid4().hex
        self._draft = replace(draft, id=new, tried=len(self._tried), matched=matched)
        return self._draft

    async def _write(self, path: Path, rule: Rule) -> str:
        async with self._judging.writing:
            written = await asyncio.to_thread(self._rulebook.write, path, rule)
            trusted = bool(written.trust) and await self._trust(written.path, written.trust)
        said = f"rule in {self._rulebook.name(path)}: {rule}"
        if path == self._rulebook.project and rule.action == "allow" and not trusted:
            return f"{said}; it counts once you trust the file: :AgentApprovals trust"
        return said

    async def _try_on(self) -> Iterable[Tried]:
        found = await asyncio.to_thread(self._past)
        return [one for past in found if (one := await self._tried_on(past)) is not None]

    async def _tried_on(self, past: PastCall) -> Tried | None:
        tool = self._chat.toolbox.find(past.tool)
        if tool is None:
            return None
        try:
            arguments = tool.arguments.parse(past.given)
            touch = tool.touches(arguments)
        except Exception:  # the tool is another one now, or the user's and broken
            return None
        call = Call(ToolCall("", tool.name, ""), tool, past.given, arguments)
        place = await survey(call, self._workspace, touch)
        return None if isinstance(place, str) else Tried(past, call, place)


def _next(draft: Draft) -> Rule:
    """Return the next of the rules that were proposed, with the action that was chosen."""
    rules = [replace(rule, action=draft.rule.action) for rule in draft.choices]
    at = rules.index(draft.rule) if draft.rule in rules else -1
    return rules[(at + 1) % len(rules)]


def _grouped(hits: Iterable[Tried]) -> Iterable[Matched]:
    """Yield each call once, with how often it ended how."""
    counts: dict[str, Counter[str]] = {}
    for one in hits:
        counts.setdefault(one.shown, Counter())[one.past.outcome] += 1
    return (Matched(shown, tuple(count.most_common())) for shown, count in counts.items())
