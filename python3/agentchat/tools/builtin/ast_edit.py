"""Structural rewrites over many files, staged as one preview."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from agentchat.core.diff.changeset import ChangeSet
from agentchat.core.diff.text_file import LARGEST_EDIT, why_not_text
from agentchat.core.errors import ToolError
from agentchat.core.frozen import frozen
from agentchat.core.text import escape_line
from agentchat.core.tools.tool import (
    Access,
    Capability,
    DryRunResult,
    Extra,
    Metadata,
    StagedPreview,
    Tool,
    ToolContext,
    ToolOutput,
)
from agentchat.tools.arguments import ToolArguments, ValueArguments
from agentchat.tools.astgrep.program import AstGrep, Match, Op, SearchResult, SourceSelection
from agentchat.tools.astgrep.rewrite import (
    Rewrite,
    check_ops,
    drop_no_ops,
    is_unchanged,
)
from agentchat.tools.astgrep.source_files import (
    SearchScope,
    literal_folder,
    parse_language,
    select_sources,
)
from agentchat.tools.files import apply_change
from agentchat.tools.format import (
    add_notices,
    argument_text,
    count_summary,
    limit_notice,
)

REPLACEMENTS = 1_000
"""The most replacements of a call that sets no limit."""

_ISSUES_SHOWN = 20
_ALL_CHECKED = 40
"""Up to so many files are all checked for missing nodes; of more, those with matches."""

SYNTAX = "syntax error; the file is skipped"


@frozen
class OpArgument(ToolArguments):
    """One rewrite."""

    pat: Annotated[str, "Code pattern; $A is one node, $$$ARGS any number of nodes"]
    out: Annotated[str, "Code in its place; it may use the pattern's metavariables"]


@frozen
class AstEditArguments(ToolArguments):
    """What ``ast_edit`` takes."""

    ops: Annotated[list[OpArgument], "Rewrites; all match the original text and must not overlap"]
    path: Annotated[
        str | None, "File, directory or pattern like pkgs/*/src; the workspace by default"
    ] = None
    glob: Annotated[str | None, "Only files that fit, like **/*.ts"] = None
    lang: Annotated[
        str | None, "Language, like python; by default each file's own by its extension"
    ] = None
    limit: Annotated[
        int | None, f"The most replacements; {REPLACEMENTS} by default", {"minimum": 1}
    ] = None


@frozen
class RewriteOutcome:
    """What would change, and which files are skipped, with the reason."""

    rewrites: tuple[Rewrite, ...]
    issues: tuple[tuple[str, str], ...]
    limited: bool = False

    @property
    def count(self) -> int:
        """The number of replacements."""
        return sum(len(rewrite.matches) for rewrite in self.rewrites)

    @property
    def extent(self) -> str:
        """The size of the change, like ``2 replacements in 1 file``."""
        files = count_summary(len(self.rewrites), "file")
        return f"{count_summary(self.count, 'replacement')} in {files}"


async def run(arguments: AstEditArguments, context: ToolContext) -> ToolOutput:
    """Stage what the rewrites would change, if anything, and describe it."""
    ops = [Op(op.pat, op.out) for op in arguments.ops]
    check_ops(ops)
    if arguments.lang:
        parse_language(arguments.lang)
    scope = SearchScope(arguments.path or ".", arguments.glob, arguments.lang)
    outcome = await RewriteSearch(ops, context).run(await select_sources(scope, context))
    limit = arguments.limit or REPLACEMENTS
    outcome = limit_outcome(outcome, limit)
    if outcome.rewrites:
        context.stage(staged_change(outcome, context))
    return ToolOutput(outcome_text(outcome, limit), details=_details(outcome))


class RewriteSearch:
    """Finds what a call would change."""

    def __init__(self, ops: Sequence[Op], context: ToolContext) -> None:
        self._ops = ops
        self._context = context
        self._program = AstGrep(context.workspace)
        self._issues: dict[str, str] = {}

    async def run(self, groups: Sequence[SourceSelection]) -> RewriteOutcome:
        """Return the change; raises ToolError."""
        matches = await self._matches(groups)
        languages = {
            path: group.language
            for group in groups
            for path in (*group.paths, *(path for path, _ in group.texts))
        }
        checked = languages if len(languages) <= _ALL_CHECKED else matches
        texts = await self._texts(checked)
        await self._skip_broken(groups, texts, languages)
        rewrites = [self._rewrite(path, matches[path], texts) for path in sorted(matches)]
        issues = sorted((self._display_path(path), issue) for path, issue in self._issues.items())
        changing = (rewrite for rewrite in rewrites if rewrite and rewrite.matches)
        return RewriteOutcome(tuple(changing), tuple(issues))

    async def _matches(self, groups: Sequence[SourceSelection]) -> dict[str, list[Match]]:
        pairs = [(number, op, group) for number, op in enumerate(self._ops) for group in groups]
        results = await asyncio.gather(*[self._program.find(*pair) for pair in pairs])
        self._refuse_bad_patterns([pair[0] for pair in pairs], results)
        by_path: dict[str, list[Match]] = {}
        for match in (match for result in results for match in result.matches):
            by_path.setdefault(match.path, []).append(match)
        return by_path

    def _refuse_bad_patterns(self, numbers: list[int], results: Sequence[SearchResult]) -> None:
        """Raise ToolError for a pattern that parses in no language and so matches nothing."""
        for number in sorted(set(numbers)):
            of_op = [result for n, result in zip(numbers, results, strict=True) if n == number]
            if all(result.bad_pattern and not result.matches for result in of_op):
                problem = f"ops[{number}].pat does not parse: {self._ops[number].pat}"
                raise ToolError(f"{problem}. Give one whole piece of code, and lang.")

    async def _texts(self, paths: Mapping[str, Any]) -> dict[str, bytes]:
        texts: dict[str, bytes] = {}
        for path in paths:
            try:
                texts[path] = await self._context.workspace.read(path, LARGEST_EDIT + 1)
            except OSError as error:
                self._issues[path] = f"cannot be read: {error.strerror or error}"
                continue
            reason = _why_not_utf8(texts[path])
            if reason:
                self._issues[path] = f"{reason}; the file is skipped"
        return texts

    async def _skip_broken(
        self,
        groups: Sequence[SourceSelection],
        texts: Mapping[str, bytes],
        languages: Mapping[str, str],
    ) -> None:
        for broken in await asyncio.gather(*map(self._program.find_syntax_errors, groups)):
            self._issues.update({path: SYNTAX for path in broken if path in languages})
        for language in sorted(set(languages.values())):
            rest = {
                path: text
                for path, text in texts.items()
                if languages[path] == language and path not in self._issues
            }
            incomplete = await self._program.find_missing_nodes(language, rest)
            self._issues.update(dict.fromkeys(incomplete, SYNTAX))

    def _rewrite(
        self, path: str, matches: Sequence[Match], texts: Mapping[str, bytes]
    ) -> Rewrite | None:
        if path in self._issues:
            return None
        before = texts[path]
        if not all(is_unchanged(match, before) for match in matches):
            self._issues[path] = "it changed during the search; try again"
            return None
        shown = self._display_path(path)
        return Rewrite(path, shown, before, drop_no_ops(matches, shown, before))

    def _display_path(self, path: str) -> str:
        return path.removeprefix(self._context.workspace.root.rstrip("/") + "/")


def _why_not_utf8(text: bytes) -> str:
    try:
        text.decode()
    except UnicodeDecodeError:
        return "is not UTF-8"
    return why_not_text(text)


def limit_outcome(outcome: RewriteOutcome, limit: int) -> RewriteOutcome:
    """Return the outcome with only the first ``limit`` replacements."""
    if outcome.count <= limit:
        return outcome
    kept: list[Rewrite] = []
    for rewrite in outcome.rewrites:
        matches = rewrite.matches[:limit]
        limit -= len(matches)
        if matches:
            kept.append(replace(rewrite, matches=matches))
    return RewriteOutcome(tuple(kept), outcome.issues, limited=True)


def remaining_outcome(outcome: RewriteOutcome, change: ChangeSet) -> RewriteOutcome:
    """Return the outcome with only the rewrites that a change makes."""
    files = {file.path: file for file in change.files}
    rewrites = (
        rewrite.within(files[rewrite.path]) for rewrite in outcome.rewrites if rewrite.path in files
    )
    return replace(outcome, rewrites=tuple(rewrite for rewrite in rewrites if rewrite.matches))


def staged_change(outcome: RewriteOutcome, context: ToolContext) -> StagedPreview:
    """Return the preview; applying it changes all files, or none."""
    change = ChangeSet(tuple(rewrite.change() for rewrite in outcome.rewrites))

    async def make(preview: DryRunResult) -> ToolOutput:
        notes = await apply_change(preview.change or change, context)
        headline = preview.headline or f"Applied {outcome.extent}."
        details = _details(remaining_outcome(outcome, preview.change or change))
        return ToolOutput("\n".join([headline, *notes]), details=details)

    async def apply(reason: str, extra: Extra) -> ToolOutput:
        return await make(DryRunResult(change))

    notes = tuple(f"Skipped {path}: {issue}" for path, issue in outcome.issues[:_ISSUES_SHOWN])
    return StagedPreview(
        label=f"AST Edit: {outcome.extent}",
        source="ast_edit",
        apply=apply,
        make=make,
        preview=DryRunResult(change, notes=notes),
    )


def outcome_text(outcome: RewriteOutcome, limit: int) -> str:
    """Return what the model reads: each replacement with its place, then the skipped files."""
    lines = [line for rewrite in outcome.rewrites for line in rewrite.lines()]
    notices = [limit_notice(limit, "replacements")] if outcome.limited else []
    if outcome.issues:
        notices.append("\n".join(["Parse issues:", *_issue_lines(outcome.issues)]))
    return add_notices("\n".join(lines) or "No replacements made", notices)


def _issue_lines(issues: Sequence[tuple[str, str]]) -> list[str]:
    lines = [f"- {escape_line(path)}: {issue}" for path, issue in issues[:_ISSUES_SHOWN]]
    more = len(issues) - _ISSUES_SHOWN
    return [*lines, f"- and {count_summary(more, 'file')} more"] if more > 0 else lines


def _details(outcome: RewriteOutcome) -> dict[str, Any]:
    return {
        "replacements": outcome.count,
        "files": [rewrite.path for rewrite in outcome.rewrites],
        "parseIssues": [path for path, _ in outcome.issues],
    }


def touches(arguments: AstEditArguments) -> Access:
    """Return what a call reads; applying the preview asks about what it writes."""
    return Access(reads=(literal_folder(arguments.path or "."),))


def render_call(given: Mapping[str, Any]) -> str:
    """Return the call in one line, like ``ast_edit old($A) → new($A) in src``."""
    ops = given.get("ops")
    first = ops[0] if isinstance(ops, list) and ops and isinstance(ops[0], Mapping) else {}
    more = f" and {len(ops) - 1} more" if isinstance(ops, list) and len(ops) > 1 else ""
    where = f" in {argument_text(given['path'])}" if given.get("path") else ""
    which = f" ({argument_text(given['glob'])})" if given.get("glob") else ""
    pat, out = argument_text(first.get("pat")), argument_text(first.get("out"), "")
    return f"ast_edit {pat} → {out}{more}{where}{which}"


TOOL = Tool(
    name="ast_edit",
    description=(
        "Rewrite code by its structure, over many files. pat is code with metavariables: $A is "
        "any one node, $$$ARGS any number of nodes; the same name twice must be the same code. "
        "This only stages a preview: call resolve to apply or discard it. Files that do not parse "
        "are skipped. Data and markup files (JSON, YAML, HTML, CSS) are searched only if lang or "
        "glob names them."
    ),
    arguments=ValueArguments(AstEditArguments),
    steps=(run,),
    metadata=Metadata(
        confined=True,
        search_hint="rename or rewrite code structurally over many files",
        permission_class="write",
        audit_operation="stage",
    ),
    capability=Capability(dry_run=True, reversible=True),
    touches=touches,
    render_call=render_call,
    snippet="Rewrite code structurally over many files, as a preview",
    guidelines=("Prefer ast_edit for renames and rewrites of the same shape in many places.",),
    asks=False,
)
