"""Reads what the context mentions of a message name, when a request is about to carry it."""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
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
from agentchat.tools.builtin import diagnostics, find, grep, read

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
        results: Mapping[str, ToolResult],
    ) -> CompletedMessage:
        """Return the message with its attachments.

        Args:
            captured: what the editor had for mentions.
            results: the results of the calls of ``mention_calls``, by mention.
        """
        attachments: dict[str, Attachment] = {}
        problems: list[str] = []
        texts: dict[str, str] = {}
        for mention in context_mentions(message.display_text):
            name = mention.mention
            try:
                attachment = await self._attach(mention, captured, results, texts)
                attachments |= {name: attachment} if attachment is not None else {}
            except ToolError as error:
                problems.append(f"Nothing is attached for {name}: {error}")
            except Exception as error:
                log.exception("%s could not be attached", name)
                problems.append(f"Nothing is attached for {name}: {error!r}")
        names = ", ".join(attachment.name for attachment in attachments.values())
        lines = [f"Attached: {names}"] if names else []
        return CompletedMessage(add_attachments(message, attachments), (*lines, *problems), texts)

    def confirm(self, completed: CompletedMessage) -> None:
        """Take over the texts of files that a message carries, which is in the journal now."""
        self._sent.update(completed.texts)

    async def _attach(
        self,
        mention: ContextMention,
        captured: Mapping[str, CapturedContext],
        results: Mapping[str, ToolResult],
        texts: dict[str, str],
    ) -> Attachment | None:
        match mention.kind or mention.mention:
            case "file":
                return await self._attach_file(*mention.file_range(), texts)
            case "dir":
                return await self._attach_directory(mention.value)
            case "symbol":
                return await self._attach_symbol(mention.value)
            case "url":
                return _fetched(mention, results[mention.mention])
            case "#diff":
                return await self._attach_diff()
            case "#diagnostics":
                arguments = diagnostics.DiagnosticsArguments(path=None, severity=None)
                result = await diagnostics.run(arguments, self._context)
                return _attachment("the diagnostics", result)
            case server if mention.kind:
                return await self._attach_resource(server, mention.value)
        context = captured.get(mention.mention, CapturedContext())
        return await self._attach_captured(context, texts)

    async def _attach_resource(self, server: str, uri: str) -> Attachment | None:
        result = await self._read_resource(server, uri)
        if result is None:
            return None
        attachment = _attachment(f"the resource {uri} of {server}", self._shorten(result.text))
        return replace(attachment, images=result.images)

    async def _attach_file(
        self, path: str, first: int, last: int, texts: dict[str, str]
    ) -> Attachment:
        """Return a file; of a whole file that was sent before only what changed since."""
        target = await self._workspace.locate(path)
        self._touch([target.path])
        number = last - first + 1 if first else None
        if number is not None and number < 1:
            raise ToolError(f"line {last} is before line {first}.")
        arguments = read.ReadArguments(path=path, offset=first or None, limit=number)
        attachment = _attachment(target.display_path, await read.run(arguments, self._context))
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

    async def _attach_directory(self, path: str) -> Attachment:
        """Return the names of the files in a directory and below it."""
        target = await self._workspace.locate(path)
        self._touch([f"{target.path}/"])
        arguments = find.FindArguments(pattern="*", path=path, limit=None)
        name = f"the files in {target.display_path.rstrip('/')}/"
        return _attachment(name, await find.run(arguments, self._context))

    async def _attach_symbol(self, name: str) -> Attachment:
        """Return the definitions of a name."""
        pattern = definition_pattern(name)
        search = grep.GrepArguments(pattern=pattern, limit=MOST_DEFINITIONS)
        found = (await grep.run(search, self._context)).text
        places = [match for line in found.splitlines() if (match := _PLACE.match(line))]
        if not places:
            raise ToolError("no definition is found; name its file with #file:PATH:10-40.")
        parts = [await self._definition(match["path"], int(match["line"])) for match in places]
        return Attachment(f"the definition of {name}", mask_secrets("\n\n".join(parts)))

    async def _definition(self, path: str, line: int) -> str:
        target = await self._workspace.locate(path)
        self._touch([target.path])
        data = await self._workspace.read(target.path)
        lines = data.decode("utf-8", "replace").splitlines()
        end = definition_end(lines, line - 1)
        return "\n".join([f"{path}:{line}-{end}", *lines[line - 1 : end]])

    async def _attach_captured(self, context: CapturedContext, texts: dict[str, str]) -> Attachment:
        if context.problem or not context.name:
            raise ToolError(context.problem or "there is no editor to take it from.")
        if context.path:
            return await self._attach_file(context.path, 0, 0, texts)
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


def _attachment(name: str, result: ToolOutput) -> Attachment:
    return Attachment(name, mask_secrets(result.text), result.images)


def mention_calls(text: str) -> dict[str, PromptCall]:
    """Return the calls that a message makes for its mentions: ``#url`` asks as ``fetch`` does."""
    return {
        mention.mention: prompt_call("fetch", {"url": mention.value}, mention.mention)
        for mention in context_mentions(text)
        if mention.kind == "url"
    }


def _fetched(mention: ContextMention, result: ToolResult) -> Attachment:
    if result.is_error:
        raise ToolError(result.text)
    return Attachment(mention.value, result.text, result.images)


def _changes_since(attachment: Attachment, before: str) -> Attachment:
    """Return what changed in a file since the model got it, unless all of it is shorter."""
    old, new = before.splitlines(), attachment.text.splitlines()
    if old == new:
        return replace(attachment, text=UNCHANGED)
    name = f"the changes of {attachment.name} since it was attached"
    diff = "\n".join(difflib.unified_diff(old, new, "before", "now", lineterm=""))
    shorter = len(diff) < len(attachment.text)
    return replace(attachment, name=name, text=diff) if shorter else attachment
