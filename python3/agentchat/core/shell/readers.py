"""Commands that only read: every part is a program of this table that reads ordinary files.

Such a command runs without a question where commands may not be tried in isolation. Programs that
print any text (``echo``, ``printf``) are not in the table: they are no way to read, but one to
write into a pipe; interpreters are not, because what they do is in a script.
"""

from __future__ import annotations

from agentchat.core.shell.covers import why_not_covered
from agentchat.core.shell.parse import Part, Script

_PROGRAMS = """
ls cat head tail wc sort uniq cut tr nl stat file du pwd grep rg find diff comm basename dirname
realpath tree
"""
_OF_GIT = "status diff log show blame ls-files rev-parse"
READERS = frozenset(
    [(name,) for name in _PROGRAMS.split()] + [("git", name) for name in _OF_GIT.split()]
)
"""The first words of commands that read."""


def reads_only(script: Script | None) -> bool:
    """Whether all that a command does is to read ordinary files of the workspace.

    ``script`` is the parsed command with its operands located (``agent.execution.locate``).
    """
    if script is None or script.parse_problem or not script.parts:
        return False
    return not any(map(why_not_reading, script.parts))


def why_not_reading(part: Part) -> str:
    """Return why one part of a command does more than to read; empty if it does not."""
    lead = 2 if part.program == "git" else 1
    if part.texts[:lead] not in READERS:
        return f"{part.program or part.source} is no program that only reads"
    if part.operands is None:
        return "nobody looked at what it names"
    problems = (operand.problem for operand in part.operands)
    return (
        part.doubt
        or why_not_covered(part.texts, lead, part.has_piped_input)
        or next(filter(None, problems), "")
    )
