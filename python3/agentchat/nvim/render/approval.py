"""What a question and a preview look like, as tables for the floats."""

from __future__ import annotations

import json
import logging
from typing import Any

from agentchat.core.diff.changeset import FileChange
from agentchat.core.permissions.grants import Scope
from agentchat.core.permissions.policy import EFFECT
from agentchat.core.permissions.proposals import offers_rule
from agentchat.core.text import escape
from agentchat.core.tools.ports import BufferState
from agentchat.core.tools.tool import DryRunResult
from agentchat.core.turn.approval_request import offers_always
from agentchat.core.turn.effects import ApprovalRequest
from agentchat.core.turn.hunk_decisions import change_hash
from agentchat.core.turn.preview_stack import Preview
from agentchat.nvim.render.diff import (
    Document,
    command_document,
    diff_document,
    json_document,
    text_document,
)
from agentchat.nvim.render.rules import part_lines, part_text

log = logging.getLogger(__name__)

UNDRAWN = "This cannot be shown as it should be: the reason is in the log."

SHOWN_PARTS = 8
"""Parts of a command that the facts list; the details list all."""
SHOWN_PATHS = 3
"""Ordinary files that the facts name one by one, where a diff below names them all."""

_VERDICTS = {"allow": "allowed", "ask": "asks", "deny": "denied"}
NO_EFFECT = -1
"""The safety level of a question after which nothing runs by itself."""
NO_WAY_BACK = "This cannot be undone by :AgentUndo."
UNSAVED = "{} has unsaved changes of yours: this goes into its buffer and is not saved."
HOOKS = "the open buffer, as your own :write would: autocommands and formatters run"


def prompt_table(prompt: str, question: ApprovalRequest, root: str) -> dict[str, Any]:
    """Return a question as ``agentchat.approval.show`` takes it.

    What cannot be drawn is asked all the same, as plain arguments and without *always*.
    """
    try:
        return _prompt_table(prompt, question, root)
    except Exception:
        log.exception("a question of %s could not be drawn", question.call.tool.name)
        return _plain_table(prompt, question)


def _plain_table(prompt: str, question: ApprovalRequest) -> dict[str, Any]:
    given = dict(question.call.given)
    return {
        "id": prompt,
        "subject": question.call.call.id,
        "tool": question.call.tool.name,
        "title": f"{question.call.tool.name} wants to run",
        "facts": [],
        "kind": "arguments",
        "doc": json_document(given),
        "safety": 0,
        "warning": UNDRAWN,
        "place": question.number,
        "total": question.total,
        "always": False,
        "rule": False,
        "always_text": "",
        "arguments": json.dumps(given, indent=2, ensure_ascii=False),
        "details": [],
    }


def _prompt_table(prompt: str, question: ApprovalRequest, root: str) -> dict[str, Any]:
    kind, document = _body(question, root)
    level = safety(question)
    scope = question.decision.scope
    return {
        "id": prompt,
        "subject": question.pending.id if question.pending else question.call.call.id,
        "tool": question.call.tool.name,
        "title": title(question),
        "facts": _facts(question),
        "kind": kind,
        "doc": document,
        "safety": level,
        "warning": _warning(question, level),
        "place": question.number,
        "total": question.total,
        "always": offers_always(question),
        "rule": not (question.pending or question.question)
        and offers_rule(question.call, question.target),
        "always_text": _always(scope) if scope is not None else "",
        "arguments": json.dumps(dict(question.call.given), indent=2, ensure_ascii=False),
        "details": _details(question),
    }


def preview_table(pending: Preview, root: str) -> dict[str, Any]:
    """Return a staged preview as ``agentchat.review.show`` takes it.

    One that cannot be drawn says so, and can still be discarded.
    """
    change = pending.preview.change
    try:
        document = _preview(pending.preview, root)
    except Exception:
        log.exception("the preview %s could not be drawn", pending.label)
        document = text_document(UNDRAWN)
    return {
        "id": pending.id,
        "label": pending.label,
        "source": pending.source,
        "files": len(change.files) if change is not None else 0,
        "stamp": change_hash(change) if change is not None else "",
        "doc": document,
    }


def proposal_table(subject: str, file: FileChange, root: str) -> dict[str, Any]:
    """Return the proposed text of a file as ``agentchat.proposal.open`` takes it."""
    text = (file.after or b"").decode("utf-8", "surrogateescape")
    return {"subject": subject, "path": file.path, "name": file.shown or file.path, "text": text}


def safety(question: ApprovalRequest) -> int:
    """Return the safety level: ``NO_EFFECT`` for a mere question.

    A staged preview is shown before it happens, whoever made it.
    """
    if question.question:
        return NO_EFFECT
    return 2 if question.pending is not None else question.call.tool.capability.safety_level


def _always(scope: Scope) -> str:
    """Return what *always* covers; a command is shown in full above it."""
    return "this very command in this directory" if scope.key[0] == "command" else scope.shown


def title(question: ApprovalRequest) -> str:
    """Return what is asked, in a few words."""
    name = question.call.tool.name
    if question.question:
        return escape(question.question)
    if question.pending is not None and question.pending.standing:
        return escape(f"{question.pending.label}: carry it out?")
    if question.pending is not None:
        return f"{question.pending.source} wants to apply {question.pending.label}"
    if question.target.command is not None:
        return f"{name} wants to run a command"
    targets = question.target.writes or question.target.reads
    if len(targets) == 1:
        verb = "read" if question.call.tool.metadata.read_only else "change"
        return f"{name} wants to {verb} {escape(targets[0].shown)}"
    return f"{name} wants to run"


def _body(question: ApprovalRequest, root: str) -> tuple[str, Document]:
    if question.target.command is not None:
        return "command", command_document(question.target.command)
    if question.preview is not None and (question.preview.change or question.preview.text):
        return "diff", _preview(question.preview, root)
    return "arguments", json_document(dict(question.call.given))


def _preview(preview: DryRunResult, root: str) -> Document:
    if preview.change is not None:
        return diff_document(preview.change, root)
    return text_document(preview.text)


def _facts(question: ApprovalRequest) -> list[list[str]]:
    place = question.target
    facts = _paths(question)
    if place.command is not None or not facts:
        facts.insert(0, ["in", escape(place.cwd)])
    if place.host:
        facts.insert(0, ["on", escape(place.host)])
    if question.decision.confined:
        facts.append(["sandbox", question.decision.confined])
    timeout = question.call.given.get("timeout")
    if place.command is not None and timeout is not None:
        facts.append(["timeout", f"{timeout} s"])
    if question.decision.reason != EFFECT:
        facts.append(["asks because", escape(question.decision.why)])
    return [*facts, *_parts(question)]


def _paths(question: ApprovalRequest) -> list[list[str]]:
    """Return the files of a call; of many, those a diff names inside the workspace as one fact."""
    place = question.target
    targets = (*place.reads, *place.writes)
    preview = question.preview
    plain = [target for target in targets if target.ordinary]
    if preview is None or preview.change is None or len(plain) <= SHOWN_PATHS:
        return [["path", escape(target.path)] for target in targets]
    special = [["path", escape(target.path)] for target in targets if not target.ordinary]
    return [["paths", f"{len(plain)} ordinary files in {escape(place.cwd)}"], *special]


def _parts(question: ApprovalRequest) -> list[list[str]]:
    """Return what the rules say of each part of a command, where there is more than one."""
    parts = question.decision.parts
    facts = [["writes", escape(path)] for judged in parts for path in judged.part.writes]
    if len(parts) > 1:
        facts += [[_VERDICTS[judged.action], part_text(judged)] for judged in parts[:SHOWN_PARTS]]
    if len(parts) > SHOWN_PARTS:
        facts.append(["and", f"{len(parts) - SHOWN_PARTS} more parts"])
    return facts


def _warning(question: ApprovalRequest, level: int) -> str:
    said = [question.problem, *(question.preview.notes if question.preview else ())]
    said += [f"{t.shown} is read-only." for t in question.target.writes if t.read_only]
    said += [
        UNSAVED.format(t.shown) for t in question.target.writes if t.loaded is BufferState.UNSAVED
    ]
    if level == 0:
        said.append(NO_WAY_BACK)
    return " ".join(escape(line) for line in said if line)


def _details(question: ApprovalRequest) -> list[str]:
    tool = question.call.tool
    about = tool.description.splitlines()[0] if tool.description else ""
    lines = [f"tool        {tool.name}: {about}"]
    lines.append(f"definition  {tool.definition[:12]}")
    if any(target.loaded is BufferState.SAVED for target in question.target.writes):
        lines.append(f"saves       {HOOKS}")
    return [*lines, *part_lines(question.decision)]
