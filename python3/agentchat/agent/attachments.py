"""Reads what the context mentions of a message name, when a request is about to carry it."""

from __future__ import annotations

import difflib
import json
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from agentchat.agent.execution.results import ResultStore
from agentchat.agent.prompts.expanded_prompt import prompt_call
from agentchat.core.errors import ToolError
from agentchat.core.frontend import Frontend
from agentchat.core.frozen import frozen
from agentchat.core.messages import ToolResult, UserText
from agentchat.core.permissions.sensitive_paths import SECRET_GLOBS
from agentchat.core.prompts.definitions import definition_end, definition_pattern
from agentchat.core.text import mask_secrets
from agentchat.core.tools.mentions import (
    Attachment,
    CapturedContext,
    ContextMention,
    add_attachments,
    context_mentions,
)
from agentchat.core.tools.tool import ToolContext, ToolOutput, refuse_staging
from agentchat.core.turn.effects import PromptCall
from agentchat.core.workspace import Command, Workspace
from agentchat.tools.builtin import diagnostics, grep

log = logging.getLogger(__name__)

DIFF_SECONDS = 20.0
DIFF = (
    "git", "--no-pager", "diff", "--no-color", "--no-ext-diff", "--no-textconv",
    "--ignore-submodules=dirty", "HEAD", "--",
)  # fmt: skip
"""What is inside of a submodule is not looked at: its settings are its own."""


MOST_DEFINITIONS = 3
_PLACE = re.compile(r"(?P<path>.+?):(?P<line>\d+): ")
ReadResource = Callable[[str, str], Awaitable[ToolOutput | None]]
UNCHANGED = "(unchanged since it was attached before)"


@frozen
class CompletedMessage:
    """A message with its attachments, lines about them for the user, and texts of files by path."""

    message: UserText
    lines: tuple[str, ...]
    texts: Mapping[str, str]


class Attachments:
    """Reads files as the ``read`` tool does: the same limits, unsaved text first.

    Args:
        touch: takes the paths of the files that a message carries.
        read_resource: reads a resource of a server: its name and the URI; ``None`` if there is no
            such server.
        start: returns the index of the first message that no summary replaces.
    """

    def __init__(
        self,
        workspace: Workspace,
        results: ResultStore,
        frontend: Frontend | None,
        touch: Callable[[Iterable[str]], None],
        start: Callable[[], int],
        read_resource: ReadResource,
    ) -> None:
        self._workspace = workspace
        self._results = results
        self._read_resource = read_resource
        self._touch = touch
        self._start = start
        self._sent: dict[str, str] = {}
        """The texts of whole files that the model has, by path."""
        self._sent_start = 0
        self._context = ToolContext(
            workspace=workspace,
            cwd=workspace.root,
            call_id="",
            progress=lambda text: None,
            stage=refuse_staging,
            store=results.keep,
            free_path=results.free_path,
            frontend=frontend,
        )

    async def complete(
        self,
        message: UserText,
        captured: Mapping[str, CapturedContext],
        calls: Mapping[str, Sequence[PromptCall]],
        results: Mapping[str, ToolResult],
    ) -> CompletedMessage:
        """Return the message with its attachments.

        Args:
            captured: what the editor had for mentions.
            calls: what :meth:`calls` returned for it.
            results: their results, by the ids of the calls.
        """
        attachments: dict[str, Attachment] = {}
        problems: list[str] = []
        texts: dict[str, str] = {}
        for mention in context_mentions(message.display_text):
            name = mention.mention
            try:
                made = calls.get(name, ())
                given = _check([results[call.call.id] for call in made])
                attachment = await self._attach(mention, captured, made, given, texts)
                attachments |= {name: attachment} if attachment is not None else {}
            except ToolError as error:
                problems.append(f"Nothing is attached for {name}: {error}")
            except Exception as error:
                log.exception("%s could not be attached", name)
                problems.append(f"Nothing is attached for {name}: {error!r}")
        names = ", ".join(attachment.name for attachment in attachments.values())
        lines = [f"Attached: {names}"] if names else []
        return CompletedMessage(add_attachments(message, attachments), (*lines, *problems), texts)

    async def calls(
        self, text: str, captured: Mapping[str, CapturedContext]
    ) -> dict[str, tuple[PromptCall, ...]]:
        """Return what a message calls for its mentions: what they read asks as any call does."""
        found = {}
        for mention in context_mentions(text):
            try:
                found[mention.mention] = tuple(
                    [call async for call in self._calls(mention, captured)]
                )
            except (ToolError, OSError) as error:
                log.warning("%s: %s", mention.mention, error)
        return found

    async def _calls(
        self, mention: ContextMention, captured: Mapping[str, CapturedContext]
    ) -> AsyncIterator[PromptCall]:
        name = mention.mention
        match mention.kind:
            case "url":
                yield prompt_call("fetch", {"url": mention.value}, name)
            case "dir":
                yield prompt_call("find", {"pattern": "*", "path": mention.value}, name)
            case "file":
                path, first, last = mention.file_range()
                if last >= first:
                    yield _read_call(path, first, last, name)
            case "symbol":
                async for path, first, last in self._definitions(mention.value):
                    yield _read_call(path, first, last, name)
            case "" if name in captured and captured[name].path:
                yield _read_call(captured[name].path, 0, 0, name)

    def confirm(self, completed: CompletedMessage) -> None:
        """Take over the texts of files that a message carries, which is in the journal now."""
        self._sent.update(completed.texts)

    async def _attach(
        self,
        mention: ContextMention,
        captured: Mapping[str, CapturedContext],
        calls: Sequence[PromptCall],
        results: Sequence[ToolResult],
        texts: dict[str, str],
    ) -> Attachment | None:
        match mention.kind or mention.mention:
            case "file":
                return await self._attach_file(*mention.file_range(), results, texts)
            case "dir":
                return await self._attach_directory(mention.value, results)
            case "symbol":
                return _attach_symbol(mention.value, calls, results)
            case "url":
                return Attachment(mention.value, results[0].text, results[0].images)
            case "#diff":
                return await self._attach_diff()
            case "#diagnostics":
                arguments = diagnostics.DiagnosticsArguments(path=None, severity=None)
                result = await diagnostics.run(arguments, self._context)
                return _attachment("the diagnostics", result)
            case server if mention.kind:
                return await self._attach_resource(server, mention.value)
        context = captured.get(mention.mention, CapturedContext())
        return await self._attach_captured(context, results, texts)

    async def _attach_resource(self, server: str, uri: str) -> Attachment | None:
        result = await self._read_resource(server, uri)
        if result is None:
            return None
        attachment = _attachment(f"the resource {uri} of {server}", self._shorten(result.text))
        return replace(attachment, images=result.images)

    async def _attach_file(
        self,
        path: str,
        first: int,
        last: int,
        results: Sequence[ToolResult],
        texts: dict[str, str],
    ) -> Attachment:
        """Return a file; of a whole file that was sent before only what changed since."""
        if not results:
            raise ToolError(f"line {last} is before line {first}.")
        target = await self._workspace.locate(path)
        self._touch([target.path])
        attachment = _attachment(target.display_path, results[0])
        if first:
            lines = f"line {first}" if last == first else f"lines {first}-{last}"
            return replace(attachment, name=f"{attachment.name} ({lines})")
        if attachment.images:
            return attachment
        texts[target.path] = attachment.text
        before = self._sent_before(target.path)
        return attachment if before is None else _changes_since(attachment, before)

    def _sent_before(self, path: str) -> str | None:
        """Return the text of a file as the model has it; ``None`` if it has none."""
        if self._start() != self._sent_start:  # a summary may have replaced it
            self._sent, self._sent_start = {}, self._start()
        return self._sent.get(path)

    async def _attach_directory(self, path: str, results: Sequence[ToolResult]) -> Attachment:
        """Return the names of the files in a directory and below it."""
        target = await self._workspace.locate(path)
        self._touch([f"{target.path}/"])
        return _attachment(f"the files in {target.display_path.rstrip('/')}/", results[0])

    async def _definitions(self, name: str) -> AsyncIterator[tuple[str, int, int]]:
        """Yield path, first and last line of the definitions of a name."""
        search = grep.GrepArguments(pattern=definition_pattern(name), limit=MOST_DEFINITIONS)
        found = (await grep.run(search, self._context)).text
        for match in filter(None, map(_PLACE.match, found.splitlines())):
            path, line = match["path"], int(match["line"])
            target = await self._workspace.locate(path)
            self._touch([target.path])
            data = await self._workspace.read(target.path)
            lines = data.decode("utf-8", "replace").splitlines()
            yield path, line, definition_end(lines, line - 1)

    async def _attach_captured(
        self, context: CapturedContext, results: Sequence[ToolResult], texts: dict[str, str]
    ) -> Attachment:
        if context.problem or not context.name:
            raise ToolError(context.problem or "there is no editor to take it from.")
        if context.path:
            return await self._attach_file(context.path, 0, 0, results, texts)
        return _attachment(context.name, self._shorten(context.text))

    async def _attach_diff(self) -> Attachment:
        paths = (".", *(f":(exclude,icase,glob){pattern}" for pattern in SECRET_GLOBS))
        command = Command((*DIFF, *paths), self._workspace.root, timeout=DIFF_SECONDS, own=True)
        process = await self._workspace.run(command)
        if process.code != 0:
            problem = process.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
            raise ToolError(problem or "git diff did not finish.")
        text = process.head.decode("utf-8", "replace")
        return _attachment("the diff", self._shorten(text or "(no changes since the last commit)"))

    def _shorten(self, text: str) -> ToolOutput:
        return ToolOutput(self._results.shorten("context", text)[0])


def _attachment(name: str, result: ToolOutput | ToolResult) -> Attachment:
    return Attachment(name, mask_secrets(result.text), result.images)


def _read_call(path: str, first: int, last: int, mention: str) -> PromptCall:
    """Return the call that reads a file, or lines of it, for a mention."""
    lines = {"offset": first, "limit": last - first + 1} if first else {}
    return prompt_call("read", {"path": path, **lines}, mention)


def _check(results: Sequence[ToolResult]) -> Sequence[ToolResult]:
    """Return the results; raises ToolError if one is an error."""
    for result in results:
        if result.is_error:
            raise ToolError(result.text)
    return results


def _place(call: PromptCall) -> str:
    """Return the path and the lines that a call reads."""
    given = json.loads(call.call.arguments)
    return f"{given['path']}:{given['offset']}-{given['offset'] + given['limit'] - 1}"


def _attach_symbol(
    name: str, calls: Sequence[PromptCall], results: Sequence[ToolResult]
) -> Attachment:
    """Return the definitions of a name."""
    if not results:
        raise ToolError("no definition is found; name its file with #file:PATH:10-40.")
    parts = [f"{_place(call)}\n{r.text}" for call, r in zip(calls, results, strict=True)]
    text = "\n\n".join(parts)
    return Attachment(f"the definition of {name}", mask_secrets(text))


def _changes_since(attachment: Attachment, before: str) -> Attachment:
    """Return what changed in a file since the model got it, unless all of it is shorter."""
    old, new = before.splitlines(), attachment.text.splitlines()
    if old == new:
        return replace(attachment, text=UNCHANGED)
    name = f"the changes of {attachment.name} since it was attached"
    diff = "\n".join(difflib.unified_diff(old, new, "before", "now", lineterm=""))
    shorter = len(diff) < len(attachment.text)
    return replace(attachment, name=name, text=diff) if shorter else attachment
