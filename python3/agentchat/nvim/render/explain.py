"""What the gate would say of a call, without making it: ``:AgentApprovals explain``."""

from __future__ import annotations

from agentchat.agent.execution.locate import suppose
from agentchat.core.permissions.policy import Decision, Policy, decide
from agentchat.core.permissions.rules import ACTIONS, PartVerdict, rules_about
from agentchat.core.text import escape
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.tools.ports import Workspace
from agentchat.core.turn.chat import Chat


async def explain(chat: Chat, workspace: Workspace, text: str) -> list[str]:
    """Return which rule, mode or answer would decide a call like ``bash git status``.

    Raises:
        UserError: no such tool, or nothing that it would get.
    """
    call, place = await suppose(chat, workspace, text)
    if isinstance(place, str):
        return [escape(text), "", f"error: {place}"]
    told = _told(decide(call, place, chat.policy), place, chat.policy.mode)
    return [escape(text), "", *told, *_rules(call, place, chat.policy)]


def _told(decision: Decision, place: CallTarget, mode: str) -> list[str]:
    lines = [f"verdict   {decision.verdict.value}", f"because   {escape(decision.why)}"]
    lines += [f"mode      {mode}"]
    lines += [f"path      {escape(t.path)} ({t.zone.value})" for t in (*place.reads, *place.writes)]
    if place.command is not None:
        lines += [f"in        {escape(place.cwd)}"]
    if place.host:
        lines += [f"on        {escape(place.host)}"]
    if decision.scope is not None:
        lines += [f"always    {escape(decision.scope.shown)}"]
    return [*lines, *part_lines(decision)]


def _rules(call: ValidCall, place: CallTarget, policy: Policy) -> list[str]:
    """Return every rule that is about the call, the strongest kind first, and what is unread."""
    found = rules_about(policy.rules, call, place)
    ordered = sorted(found, key=lambda rule: ACTIONS.index(rule.action))
    lines = [f"  {escape(rule.located)}" for rule in ordered]
    if len(found) > 1:
        lines[:0] = ["rules about it: deny before ask before allow, then the first of them"]
    elif found:
        lines[:0] = ["rule about it"]
    unread = [f"unread    {escape(problem)}" for problem in policy.problems]
    return [part for some in (lines, unread) if some for part in ("", *some)]


def part_lines(decision: Decision) -> list[str]:
    """Return a line for each part of a command: its verdict, its text, and why."""
    if not decision.parts:
        return []
    return ["", "parts", *map(_part_line, decision.parts)]


def _part_line(judged: PartVerdict) -> str:
    line = f"  {judged.action:<5}  {part_text(judged)}"
    source = judged.rule.source if judged.rule is not None else ""
    return f"{line}  {escape(source)}" if source else line


def part_text(judged: PartVerdict) -> str:
    """Return a part of a command in one line, with the reason of its verdict and what it writes."""
    named = 1 if judged.rule is None and not judged.part.obscure else 0
    writes = [f"writes {path}" for path in judged.part.writes[named:]]
    source = " ".join(judged.part.source.split())
    said = [why for why in (judged.why, *writes) if why]
    return escape(f"{source}  ({'; '.join(said)})" if said else source)
