"""Large results: stored in full, and shortened for the model."""

from __future__ import annotations

import asyncio
import contextlib
import os
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from agentchat.core.errors import ToolError
from agentchat.core.limits import RESULT_BYTES
from agentchat.core.messages import ToolResult
from agentchat.core.text import head_and_tail, mask_secrets
from agentchat.core.tools.tool import ProcessedResult, ResultProcessor, ToolContext

OWN_LIMIT = frozenset({"read", "bash", "fetch"})
"""Tools that limit their results themselves."""

PROCESS_SECONDS = 30.0
"""How long the user's processor may take."""


class ResultStore:
    """Large results of one chat, as files that only the user can read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def free_path(self) -> str:
        """Return an unused path in the folder, which is made if it is missing."""
        if not os.path.isdir(self._folder):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.path.join(self._folder, f"{uuid.uuid4().hex[:12]}.txt")

    def keep(self, text: str) -> str:
        """Write a text in full and return its path."""
        path = self.free_path()
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(text)
        return path

    def shorten(self, tool: str, text: str) -> tuple[str, str | None]:
        """Return the text for the model, and the file with all of it if it was too large."""
        if tool in OWN_LIMIT or len(text.encode("utf-8", "surrogatepass")) <= RESULT_BYTES:
            return text, None
        path = self.keep(text)
        return head_and_tail(text, path), path


def with_truncation(details: Any, stored: str | None) -> Any:
    """Return the details of a result and, if they are fields, where a longer text is stored."""
    if stored is None or not isinstance(details, Mapping | None):
        return details
    return {**(details or {}), "truncated": True, "stored_path": stored}


async def process_result(
    result: ToolResult, processor: ResultProcessor, context: ToolContext
) -> ToolResult:
    """Return a result with the text of the processor, if its full text is stored.

    Raises:
        ToolError: the processor takes too long.
    """
    path = result.full_text_path
    if path is None:
        return result
    try:
        async with asyncio.timeout(PROCESS_SECONDS):
            processed = await processor(result.name, result.text, path, context)
    except TimeoutError as error:
        raise ToolError(f"it took more than {PROCESS_SECONDS:g} s") from error
    if processed is None:
        return result
    if isinstance(processed, str):
        processed = ProcessedResult(processed)
    where = processed.stored_at or path
    text = head_and_tail(mask_secrets(processed.text), where)
    if processed.stored_at:
        with contextlib.suppress(OSError):
            os.unlink(path)
    return replace(
        result,
        text=text,
        display_text=None,
        details=with_truncation(result.details, where),
        full_text_path=None if processed.stored_at else path,
    )
