"""Reads what the context mentions of a message name, when a request is about to carry it."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from agentchat.agent.execution.tool_runner import ResultStore
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
    """Reads files as the ``read`` tool does, with its limits, unsaved text first."""

    def __init__(
        self, workspace: Workspace, storage: ResultStore, frontend: Frontend | None
    ) -> None:
        self._workspace = workspace
        self._storage = storage
        self._context = ToolContext(
            workspace=workspace,
            cwd=workspace.root,
            call_id="",
            progress=lambda text: None,
            stage=refuse_staging,
            store=storage.keep,
            overflow="",
            frontend=frontend,
        )

    async def complete(
        self, message: UserText, captured: Mapping[str, CapturedContext]
    ) -> tuple[UserText, list[str]]:
        """Return the message with what it mentions, and lines that tell the user what that is."""
        given: dict[str, Attachment] = {}
        missing: list[str] = []
        for one in context_mentions(message.display_text):
            try:
                given[one.mention] = await self._attachment(one, captured)
            except ToolError as error:
                missing.append(f"Nothing is attached for {one.mention}: {error}")
            except Exception as error:
                log.exception("%s could not be attached", one.mention)
                missing.append(f"Nothing is attached for {one.mention}: {error!r}")
        names = ", ".join(one.name for one in given.values())
        return add_attachments(message, given), [
            *([f"Attached: {names}"] if names else []),
            *missing,
        ]

    async def _attachment(
        self, one: ContextMention, captured: Mapping[str, CapturedContext]
    ) -> Attachment:
        if one.path:
            return await self._file(one.path)
        if one.mention == "#diff":
            return await self._diff()
        if one.mention == "#diagnostics":
            arguments = diagnostics.DiagnosticsArguments(path=None, severity=None)
            return _attachment("the diagnostics", await diagnostics.run(arguments, self._context))
        return await self._captured(captured.get(one.mention, CapturedContext()))

    async def _file(self, path: str) -> Attachment:
        target = await self._workspace.locate(path)
        arguments = read.ReadArguments(path=path, offset=None, limit=None)
        return _attachment(target.display_path, await read.run(arguments, self._context))

    async def _captured(self, given: CapturedContext) -> Attachment:
        if given.problem or not given.name:
            raise ToolError(given.problem or "there is no editor to take it from.")
        if given.path:
            return await self._file(given.path)
        return _attachment(given.name, self._bounded(given.text))

    async def _diff(self) -> Attachment:
        command = Command(DIFF, self._workspace.root, timeout=DIFF_SECONDS)
        ended = await self._workspace.run(command)
        if ended.code != 0:
            problem = ended.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
            raise ToolError(problem or "git diff did not finish.")
        text = ended.head.decode("utf-8", "replace")
        return _attachment("the diff", self._bounded(text or "(no changes since the last commit)"))

    def _bounded(self, text: str) -> ToolOutput:
        return ToolOutput(self._storage.bounded("context", text)[0])


def _attachment(name: str, result: ToolOutput) -> Attachment:
    return Attachment(name, mask_secrets(result.text), result.images)
