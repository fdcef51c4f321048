"""Reads what the context mentions of a message name, when a request is about to carry it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping

from agentchat.agent.execution.results import ResultStore
from agentchat.core.errors import ToolError
from agentchat.core.messages import UserText
from agentchat.core.text import mask_secrets
from agentchat.core.tools.mentions import (
    Attachment,
    CapturedContext,
    ContextMention,
    add_attachments,
    context_mentions,
)
from agentchat.core.tools.ports import Command, Frontend, Workspace
from agentchat.core.tools.tool import ToolContext, ToolOutput, refuse_staging
from agentchat.tools.builtin import diagnostics, read

log = logging.getLogger(__name__)

DIFF_SECONDS = 20.0
DIFF = ("git", "--no-pager", "diff", "--no-color", "--no-ext-diff", "--no-textconv", "HEAD")


class Attachments:
    """Reads files as the ``read`` tool does: the same limits, unsaved text first."""

    def __init__(
        self,
        workspace: Workspace,
        results: ResultStore,
        frontend: Frontend | None,
        touch: Callable[[Iterable[str]], None],
    ) -> None:
        self._workspace = workspace
        self._results = results
        self._touch = touch
        self._context = ToolContext(
            workspace=workspace,
            cwd=workspace.root,
            call_id="",
            progress=lambda text: None,
            stage=refuse_staging,
            store=results.keep,
            overflow="",
            frontend=frontend,
        )

    async def complete(
        self, message: UserText, captured: Mapping[str, CapturedContext]
    ) -> tuple[UserText, list[str]]:
        """Return the message with its attachments, and lines about them for the user."""
        attachments: dict[str, Attachment] = {}
        problems: list[str] = []
        for mention in context_mentions(message.display_text):
            name = mention.mention
            try:
                attachments[name] = await self._attach(mention, captured)
            except ToolError as error:
                problems.append(f"Nothing is attached for {name}: {error}")
            except Exception as error:
                log.exception("%s could not be attached", name)
                problems.append(f"Nothing is attached for {name}: {error!r}")
        names = ", ".join(attachment.name for attachment in attachments.values())
        lines = [f"Attached: {names}"] if names else []
        return add_attachments(message, attachments), [*lines, *problems]

    async def _attach(
        self, mention: ContextMention, captured: Mapping[str, CapturedContext]
    ) -> Attachment:
        if mention.path:
            return await self._attach_file(mention.path)
        if mention.mention == "#diff":
            return await self._attach_diff()
        if mention.mention == "#diagnostics":
            arguments = diagnostics.DiagnosticsArguments(path=None, severity=None)
            return _attachment("the diagnostics", await diagnostics.run(arguments, self._context))
        return await self._attach_captured(captured.get(mention.mention, CapturedContext()))

    async def _attach_file(self, path: str) -> Attachment:
        target = await self._workspace.locate(path)
        self._touch([target.path])
        arguments = read.ReadArguments(path=path, offset=None, limit=None)
        return _attachment(target.display_path, await read.run(arguments, self._context))

    async def _attach_captured(self, context: CapturedContext) -> Attachment:
        if context.problem or not context.name:
            raise ToolError(context.problem or "there is no editor to take it from.")
        if context.path:
            return await self._attach_file(context.path)
        return _attachment(context.name, self._shorten(context.text))

    async def _attach_diff(self) -> Attachment:
        command = Command(DIFF, self._workspace.root, timeout=DIFF_SECONDS)
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
