"""Tables for the floats of approval requests, previews and proposals."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from agentchat.core.diff.changeset import FileChange
from agentchat.core.permissions.grants import Scope
from agentchat.core.permissions.isolation import IsolatedFile, describe_special
from agentchat.core.permissions.policy import EFFECT
from agentchat.core.permissions.proposals import offers_rule
from agentchat.core.shell.dangers import find_dangers
from agentchat.core.text import escape_hidden_characters, escape_line
from agentchat.core.tools.call import CONFIRMATION, SAVED_FILES, CallTarget, declared_effects
from agentchat.core.tools.tool import DryRunResult
from agentchat.core.turn.approval_request import offers_always, offers_turn
from agentchat.core.turn.effects import ApprovalRequest, IsolatedCall
from agentchat.core.turn.hunk_decisions import change_hash
from agentchat.core.turn.preview_stack import Preview
from agentchat.core.turn.reverse_thinking import reverse_thinking
from agentchat.core.turn.validate import CONFIDENCE
from agentchat.core.workspace import BufferState
from agentchat.nvim.render.diff import (
    Document,
    command_document,
    diff_document,
    json_document,
    text_document,
)
from agentchat.nvim.render.listings import describe_nature
from agentchat.nvim.render.rules import part_lines, part_text

log = logging.getLogger(__name__)

WARNING = "AgentChatWarning"
UNDRAWN = "This cannot be shown properly: the reason is in the log."

SHOWN_PARTS = 8
"""Parts of a command, or things that a call affects, in the facts."""
SHOWN_PATHS = 3
"""Ordinary files that the facts name one by one, above a diff that names all."""

SHOWN_SOURCE = 60
"""Characters of a dangerous part, so that the command itself stays in view below the warnings."""

SHOWN_OUTPUT = 30
"""Lines of the output of a tried command, its last ones, above what it changed."""

_VERDICTS = {"allow": "allowed", "stage": "runs isolated", "ask": "asks", "deny": "denied"}
_OPENS: Mapping[str, str] = {
    "direct": "in the project, not isolated",
    "opens_network": "with network",
}
NO_EFFECT = -1
"""The safety level of a question after which nothing changes."""
TRY = "t runs it isolated first and shows what it changes."
RAN = "isolated; accept applies this, without running it again"
TAKE_IN = "{}: press x on it to apply it, too"
IRREVERSIBLE = "This cannot be undone by :AgentUndo."
UNSAVED = "{} has unsaved changes of yours: this goes into its buffer and is not saved."
HOOKS = "the open buffer, as your own :write would: autocommands and formatters run"


def request_table(id: str, request: ApprovalRequest, root: str) -> dict[str, Any]:
    """Return an approval request for Lua's ``approval.show``.

    One that cannot be drawn is shown as plain arguments, without *always*.
    """
    try:
        return _request_table(id, request, root)
    except Exception:
        log.exception("the approval request of %s could not be drawn", request.call.tool.name)
        return _plain_table(id, request)


def _plain_table(id: str, request: ApprovalRequest) -> dict[str, Any]:
    given = dict(request.call.raw_arguments)
    return {
        "id": id,
        "subject": request.call.call.id,
        "tool": request.call.tool.name,
        "title": f"{request.call.tool.name} wants to run",
        "facts": [],
        "kind": "arguments",
        "doc": json_document(given),
        "safety": 0,
        "warning": UNDRAWN,
        "place": request.number,
        "total": request.total,
        "always": False,
        "rule": False,
        "always_text": "",
        "same": [],
        "waiting": [],
        "arguments": json.dumps(given, indent=2, ensure_ascii=False),
        "draft": request.draft,
        "try": False,
        "details": [],
    }


def _request_table(id: str, request: ApprovalRequest, root: str) -> dict[str, Any]:
    kind, document = _body(request, root)
    level = safety(request)
    scope = request.decision.scope
    return {
        "id": id,
        "subject": request.staged_preview.id if request.staged_preview else request.call.call.id,
        "tool": request.call.tool.name,
        "title": title(request),
        "facts": _facts(request),
        "kind": kind,
        "doc": document,
        "safety": level,
        "warning": _warning(request, level),
        "place": request.number,
        "total": request.total,
        "always": offers_always(request),
        # No rule overrides the option that asks.
        "rule": not (request.staged_preview or request.question)
        and request.decision.reason.kind != "settings"
        and offers_rule(request.call, request.target),
        "always_text": _describe_scope(scope) if scope is not None else "",
        **_similar_calls(request),
        "arguments": json.dumps(dict(request.call.raw_arguments), indent=2, ensure_ascii=False),
        "draft": request.draft,
        "try": request.can_try,
        "details": _details(request),
    }


def preview_table(pending: Preview, root: str) -> dict[str, Any]:
    """Return a staged preview for Lua's ``review.show``.

    One that cannot be drawn can still be discarded.
    """
    change = pending.preview.change
    try:
        document = _preview_document(pending.preview, root)
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
    """Return the proposed text of a file for Lua's ``approval.edit_proposal``."""
    text = (file.after or b"").decode("utf-8", "surrogateescape")
    return {
        "subject": subject,
        "path": file.path,
        "name": file.display_path or file.path,
        "text": text,
    }


def safety(request: ApprovalRequest) -> int:
    """Return the safety level: ``NO_EFFECT`` for a mere question, a plan, and reading.

    Applying a preview counts as a change shown in advance.
    """
    if request.question or _only_reads(request):
        return NO_EFFECT
    if request.staged_preview is not None and not request.staged_preview.has_effect:
        return NO_EFFECT
    if request.staged_preview is not None:
        shown = request.staged_preview.shows_effect and not request.staged_preview.is_standing
        return 2 if shown else 0
    if request.isolated is not None:
        return 2
    return max(request.call.tool.capability.safety_level, int(request.target.restores))


def _only_reads(request: ApprovalRequest) -> bool:
    """Whether the call reads files or pages that it names, and nothing else."""
    target = request.target
    if not request.call.tool.metadata.read_only or target.writes or target.command is not None:
        return False
    return bool(target.urls or target.reads)


def _similar_calls(request: ApprovalRequest) -> dict[str, list[str]]:
    """Return the titles of calls that wait; the key ``T`` accepts those of ``same`` with this."""
    is_offered = offers_turn(request)
    titles: dict[str, list[str]] = {"same": [], "waiting": []}
    for call in request.similar:
        kind = "same" if is_offered and call.is_covered else "waiting"
        titles[kind].append(escape_line(" ".join(call.title.split())))
    return {kind: _shortened(texts) for kind, texts in titles.items()}


def _describe_scope(scope: Scope) -> str:
    """Return what *always* covers; a command itself is shown above."""
    if scope.key[0] == "command":
        isolated = "; isolated, ordinary changes apply" * (scope.key[-1] == "isolated")
        return f"this very command in this directory{isolated}"
    return escape_line(scope.description)


def title(request: ApprovalRequest) -> str:
    """Return what is asked, in a few words."""
    return escape_line(_title(request))


def _title(request: ApprovalRequest) -> str:
    name = request.call.tool.full_name
    if request.question:
        return request.question
    if request.staged_preview is not None and request.staged_preview.is_standing:
        return f"{request.staged_preview.label}: carry it out?"
    if request.staged_preview is not None:
        return f"{request.staged_preview.source} wants to apply {request.staged_preview.label}"
    if request.preview is not None and request.preview.question:
        return request.preview.question
    if request.isolated is not None:
        return f"{name} ran isolated: apply its changes?"
    if request.decision.reason.kind in _OPENS:
        return f"{name} wants to run a command {_OPENS[request.decision.reason.kind]}"
    if request.target.command is not None:
        return f"{name} wants to run a command"
    if request.target.urls:
        hosts = dict.fromkeys(url.authority for url in request.target.urls)
        return f"{name} wants to reach {', '.join(hosts)}"
    targets = request.target.writes or request.target.reads
    if len(targets) == 1:
        verb = "read" if request.call.tool.metadata.read_only else "change"
        return f"{name} wants to {verb} {targets[0].display_path}"
    return f"{name} wants to run"


def _body(request: ApprovalRequest, root: str) -> tuple[str, Document]:
    if request.isolated is not None:
        return _isolated_body(request, root)
    if request.target.command is not None:
        return "command", command_document(request.target.command)
    if request.question and request.preview is not None:
        return "text", text_document(request.preview.text)
    if request.preview is not None and (request.preview.change or request.preview.text):
        return "diff", _preview_document(request.preview, root)
    return "arguments", json_document(dict(request.call.raw_arguments))


def _isolated_body(request: ApprovalRequest, root: str) -> tuple[str, Document]:
    """Return a command with its output and what it changed."""
    assert request.isolated is not None
    result = request.isolated.result
    output = (result.display_text or result.text).split("\n")
    rest = len(output) - SHOWN_OUTPUT
    lines = [f"$ {line}" for line in (request.target.command or "").split("\n")]
    lines += [f"… {rest} more lines", *output[-SHOWN_OUTPUT:]] if rest > 0 else output
    if request.change is None:
        return "command", text_document("\n".join((*lines, "", "No file changed.")))
    notes = {file.change.path: _note(file) for file in request.isolated.files}
    return "diff", diff_document(request.change, root, (*lines, ""), notes)


def _note(file: IsolatedFile) -> str:
    """Return what a changed file is, if it is special; and whether it is left out."""
    if file.change.left_out:
        return "left out, a rule names it" if file.is_restricted else "left out, runs by itself"
    if file.is_privileged:
        return "setuid or setgid"
    return file.special.zone.value if file.special is not None else ""


def _preview_document(preview: DryRunResult, root: str) -> Document:
    if preview.change is not None:
        return diff_document(preview.change, root)
    return text_document(preview.text)


def _facts(request: ApprovalRequest) -> list[list[str]]:
    target = request.target
    if request.facts:
        return [[label, escape_hidden_characters(text)] for label, text in request.facts]
    facts = [["url", escape_line(str(url))] for url in target.urls]
    facts += _paths(request)
    is_elsewhere = facts or target.reads or target.writes or request.question
    if target.command is not None or not is_elsewhere:
        facts.insert(0, ["in", escape_line(target.cwd)])
    if request.preview is not None and request.preview.question:
        facts.insert(0, ["tool", escape_line(request.call.tool.full_name)])
    if target.host and not target.urls:  # the user's own machine contacts an address
        facts.insert(0, ["on", escape_line(target.host)])
    facts += [[label, escape_hidden_characters(text)] for label, text in request.call.tool.facts()]
    if request.prompt:
        facts.insert(0, ["for", escape_hidden_characters(request.prompt)])
    if request.decision.confinement:
        facts.append(["sandbox", request.decision.confinement])
    facts += _nature(request)
    facts += _effects(request)
    facts += _command_facts(request)
    if request.decision.reason != EFFECT and request.decision.reason.kind != "isolated":
        facts.append(["asks because", escape_line(request.decision.reason_text)])
    if request.isolated is not None:
        return facts  # what the command did says more than its words
    return [*facts, *_dangers(target), *_parts(request)]


def _nature(request: ApprovalRequest) -> list[list[str]]:
    """Return what a tool that is not built in is marked as, and why the model resolves."""
    tool, staged = request.call.tool, request.staged_preview
    facts = []
    if staged.from_destructive if staged else tool.source and tool.metadata.destructive:
        name = staged.source if staged else tool.name
        facts.append(["danger", f"{escape_line(name)} is marked destructive", WARNING])
    if staged is not None and staged.shows_effect:  # else the arguments are shown
        reason = str(request.call.raw_arguments.get("reason") or "")
        facts.append(["reason", escape_hidden_characters(reason)])
    return [fact for fact in facts if fact[1]]


def _command_facts(request: ApprovalRequest) -> list[list[str]]:
    """Return what a command asks for, and whether it ran already."""
    facts = []
    if request.target.network and request.decision.reason.kind != "opens_network":
        facts.append(["network", "the command asks for it"])
    timeout = request.call.raw_arguments.get("timeout")
    if request.target.command is not None and timeout is not None:
        facts.append(["timeout", f"{timeout} s"])
    if request.can_try:
        facts.append(["try", TRY])
    if request.isolated is not None:
        facts.append(["ran", RAN])
        facts += _special_changes(request.isolated)
    return facts


def _special_changes(isolated: IsolatedCall) -> list[list[str]]:
    """Return what of a change is not ordinary, as warnings."""
    left_out = [file.change.name for file in isolated.files if file.change.left_out]
    others = [file for file in isolated.files if not file.change.left_out]
    facts = [["changes", line, WARNING] for line in _shortened(describe_special(others))]
    if left_out:
        names = escape_line(", ".join(_shortened(left_out)))
        facts.append(["left out", TAKE_IN.format(names), WARNING])
    return facts


def _dangers(target: CallTarget) -> list[list[str]]:
    """Return the dangerous parts of a command, drawn as warnings: one for each reason."""
    sources: dict[str, list[str]] = {}
    for danger in find_dangers(target.script) if target.script is not None else ():
        sources.setdefault(danger.reason, []).append(" ".join(danger.source.split()))
    return [
        ["danger", f"{_first_of(parts)}: {reason}", WARNING] for reason, parts in sources.items()
    ]


def _first_of(sources: list[str]) -> str:
    """Return the first of some parts of a command, and how many more there are."""
    first = escape_line(sources[0])
    if len(first) > SHOWN_SOURCE:
        first = first[: SHOWN_SOURCE - 1] + "…"
    return first if len(sources) == 1 else f"{first} (+{len(sources) - 1} more)"


def _effects(request: ApprovalRequest) -> list[list[str]]:
    """Return what the tool and its dry run declare of the call."""
    if request.question or request.staged_preview is not None:
        return []
    effects = declared_effects(request.call, request.target, request.preview)
    kinds = [effects[name] for name in ("permission_class", "audit_operation") if name in effects]
    impact = effects.get("estimated_impact", {})
    facts = [
        ["does", effects.get("summary", "")],
        ["undo", request.call.tool.capability.undo_text],
        ["kind", ", ".join(kinds)],
        ["resources", ", ".join(effects.get("affected_resources", ()))],
        ["affects", "\n".join(_shortened(effects.get("would_affect", [])))],
        ["impact", ", ".join(f"{name}: {value}" for name, value in impact.items())],
    ]
    thinking = reverse_thinking(request.call)
    if thinking is not None:
        facts += [
            ["assumes", "\n".join(_shortened(list(thinking.hidden_assumptions)))],
            ["risks", "\n".join(_shortened(list(thinking.failure_scenarios)))],
            ["verdict", f"{thinking.verdict}: {thinking.verdict_reason}"],
        ]
    if CONFIDENCE in request.call.reserved and request.call.tool.capability.min_confidence:
        facts.append(["confidence", f"{request.call.reserved[CONFIDENCE]:g} of 100"])
    if request.target.checkpoint:
        facts.append(["checkpoint", _describe_checkpoint(request.target)])
    return [[label, escape_hidden_characters(text)] for label, text in facts if text]


def _shortened(texts: list[str]) -> list[str]:
    more = len(texts) - SHOWN_PARTS
    return [*texts[:SHOWN_PARTS], f"and {more} more"] if more > 0 else texts


def _describe_checkpoint(target: CallTarget) -> str:
    """Return what is saved before the call."""
    if target.checkpoint and not target.restores:
        return f"{target.checkpoint.removeprefix(CONFIRMATION)} confirms it, and restores nothing"
    if target.checkpoint != SAVED_FILES:
        return f"made by {target.checkpoint.removeprefix('checkpoint ')}"
    return "saves " + ", ".join(_shortened([file.display_path for file in target.savable]))


def _paths(request: ApprovalRequest) -> list[list[str]]:
    """Return the files of a call; many ordinary ones that a diff names are one fact.

    What reads a file names it in the arguments above: it is a fact if it is another one.
    """
    target = request.target
    named = request.call.raw_arguments.values() if _only_reads(request) else ()
    files = [file for file in (*target.reads, *target.writes) if file.path not in named]
    ordinary = [file for file in files if file.ordinary]
    if request.change is None or len(ordinary) <= SHOWN_PATHS:
        return [["path", escape_line(file.path)] for file in files]
    special = [["path", escape_line(file.path)] for file in files if not file.ordinary]
    return [
        ["paths", f"{len(ordinary)} ordinary files in {escape_line(target.cwd)}"],
        *special,
    ]


def _parts(request: ApprovalRequest) -> list[list[str]]:
    """Return the verdict on each part of a command, if it has several, and its writes."""
    parts = request.decision.parts
    facts = [["writes", escape_line(path)] for judged in parts for path in judged.part.writes]
    # What is the same for all parts, the request says already.
    if len({judged.action for judged in parts}) > 1 or any(judged.reason_text for judged in parts):
        facts += [[_VERDICTS[judged.action], part_text(judged)] for judged in parts[:SHOWN_PARTS]]
        if len(parts) > SHOWN_PARTS:
            facts.append(["and", f"{len(parts) - SHOWN_PARTS} more parts"])
    return facts


def _warning(request: ApprovalRequest, level: int) -> str:
    writes = request.target.writes
    lines = [request.problem, *(request.preview.notes if request.preview else ())]
    lines += [f"{file.display_path} is read-only." for file in writes if file.read_only]
    lines += [
        UNSAVED.format(file.display_path) for file in writes if file.loaded is BufferState.UNSAVED
    ]
    reversible = request.preview.reversible if request.preview is not None else None
    # Level 0 says so itself.
    if level > 0 and reversible is False and not request.target.restores:
        lines.append(IRREVERSIBLE)
    return " ".join(escape_line(line) for line in lines if line)


def _details(request: ApprovalRequest) -> list[str]:
    tool = request.call.tool
    summary = tool.description.splitlines()[0] if tool.description else ""
    lines = [f"tool        {tool.name}: {summary}"]
    lines.append(f"definition  {tool.definition[:12]}")
    nature = describe_nature(tool)
    if nature:
        lines.append(f"nature      {nature}")
    if any(target.loaded is BufferState.SAVED for target in request.target.writes):
        lines.append(f"saves       {HOOKS}")
    return [*lines, *part_lines(request.decision)]
