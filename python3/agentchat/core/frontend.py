"""The contract of the user's editor, as tools use it; ``nvim/`` implements it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agentchat.core.frozen import frozen


@frozen
class AnswerOption:
    """One answer that is offered."""

    label: str
    description: str = ""


@frozen
class UserQuestion:
    """One question to the user; without options the user writes the answer.

    With options, ``is_open`` lets the user write another answer, ``is_optional`` choose none.
    ``by_model``: the model wrote it, which the editor says, so that it cannot pass for another's.
    """

    question: str
    header: str = ""
    options: tuple[AnswerOption, ...] = ()
    multi_select: bool = False
    is_open: bool = True
    is_optional: bool = False
    by_model: bool = False


@frozen
class Diagnostic:
    """What a language server or linter says of a place in a file.

    ``path`` is absolute, ``line`` and ``column`` (in bytes) count from 1; ``severity`` is one of
    ``SEVERITIES``.
    """

    path: str
    line: int
    column: int
    severity: str
    message: str
    source: str = ""
    code: str = ""


SEVERITIES = ("error", "warning", "info", "hint")
"""The worst first."""


class Frontend(Protocol):
    """What a tool may ask of the user's editor."""

    async def ask(self, questions: Sequence[UserQuestion]) -> Sequence[tuple[str, ...]]:
        """Put questions one after the other and return what was chosen or written for each.

        Fewer answers than questions: the user closed the next one. Cancelling closes it, too.
        Raises ToolError if nobody is there to be asked.
        """

    async def diagnostics(
        self, path: str | None = None, severity: str | None = None
    ) -> Sequence[Diagnostic]:
        """Return the diagnostics of files in the workspace, sorted by path and place.

        Only those of ``path`` (absolute; a file or a directory), and only those at least as bad
        as ``severity``, where these are given.
        """
