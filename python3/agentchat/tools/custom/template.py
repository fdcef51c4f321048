"""Tools and steps that are a shell command: how arguments are put in, and how it runs.

``{argument}`` puts a value in, quoted so that it stays one word whatever it holds.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentchat.core.errors import ToolError
from agentchat.core.limits import BASH_BYTES, BASH_SECONDS, RESULT_BYTES
from agentchat.core.tools.ports import Command
from agentchat.core.tools.tool import ToolContext, ToolOutput
from agentchat.tools.builtin.bash import LiveOutputBuffer, environment, how_it_ended, output, shell
from agentchat.tools.custom.context import NOTHING
from agentchat.tools.custom.parameters import DefinitionError

NAME = re.compile(r"\{(\w+)\}")
SPECIAL = re.compile(r"<<(?!<)|\(\(|`|\$\[|\$'")
"""Here-documents, arithmetic, back-ticks and ``$'…'`` read a quoted word in ways of their own."""

QUOTES = {"": "", "in single quotes": "'", "in double quotes": '"'}

CODE = re.compile(
    r"(?<!grep)(?<!rg)(?<!wc)\s-\w*[ce]\w*\b|\$[({]|\b\w*sh\b"
    r"|\b(?:eval|source|trap|xargs|su|\w*awk|sed|jq|perl|ruby|node|python[\d.]*)\b"
)
"""What may read a text in quotes as code, so that a value in it would be code, too."""


@dataclass(frozen=True, slots=True)
class Template:
    """A command: pieces of shell text, and at odd places names of arguments."""

    parts: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The arguments that stand in it."""
        return self.parts[1::2]

    def fill(self, given: Mapping[str, Any]) -> str:
        """Return the command with the values quoted; one that is ``None`` is left out.

        Raises:
            ToolError: a value holds NUL, which no command can.
        """
        text = list(self.parts)
        text[1::2] = [quote(given.get(name)) for name in self.names]
        return "".join(text)


def quote(value: Any) -> str:
    """Return a value as one word of the shell, and the items of a list as a word each."""
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        return " ".join(quote(item) for item in value)
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    if "\0" in text:
        raise ToolError("A command cannot hold the character NUL. Nothing was run.")
    return shlex.quote(text)


def parse(text: str, names: tuple[str, ...]) -> Template:
    """Read a command in which ``names`` may stand in braces.

    Raises:
        DefinitionError: an argument is unknown, or is where quoting would not hold.
    """
    parts, start, reopened = [], 0, ""
    for found, state in _braces(text):
        name = found[1]
        if name not in names:
            if state or text[: found.start()].endswith("$"):
                continue  # the shell's own, like ${HOME} or awk's '{print}'
            _refuse_unknown(name, names)
        _refuse_place(text, found, state)
        mark = QUOTES[state]  # closed before the value, which has quotes of its own
        parts += [reopened + text[start : found.start()] + mark, name]
        start, reopened = found.end(), mark
    return Template((*parts, reopened + text[start:]))


def parse_words(words: Iterable[str], names: tuple[str, ...]) -> Template:
    """Read a program and its arguments, in which ``names`` may stand in braces.

    Raises:
        DefinitionError: an argument is unknown.
    """
    parts = [""]
    for word in words:
        start = 0
        for found in NAME.finditer(word):
            _refuse_unknown(found[1], names)
            parts[-1] += _literal(word[start : found.start()])
            parts += [found[1], ""]
            start = found.end()
        # A word of nothing is one, too.
        parts[-1] += (_literal(word[start:]) if start else shlex.quote(word)) + " "
    return Template(tuple(parts))


def _literal(text: str) -> str:
    return shlex.quote(text) if text else ""


def _refuse_unknown(name: str, names: tuple[str, ...]) -> None:
    if name not in names:
        known = ", ".join(names) or "none"
        raise DefinitionError(f"command: {{{name}}} is no argument; there are: {known}")


def _refuse_place(text: str, found: re.Match[str], state: str) -> None:
    if state not in QUOTES or (state and CODE.search(text)):
        how = f"is {state}: write it bare, for it is quoted already"
        raise DefinitionError(f"command: {found[0]} {how}")
    if text[: found.start()].endswith(("$", "\\")):
        raise DefinitionError(f"command: {found[0]} is behind a $ or a backslash")
    special = SPECIAL.search(text)
    if special is not None:
        raise DefinitionError(f"command: {special[0]} and {found[0]} do not go together")


def _braces(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Yield every name in braces, with what it is in: quotes, a comment, or nothing."""
    state, at = "", 0
    while at < len(text):
        found = NAME.match(text, at)
        if found is not None:
            yield found, state
            at = found.end()
            continue
        state, at = _next(text, at, state)


def _next(text: str, at: int, state: str) -> tuple[str, int]:
    char = text[at]
    if state == "in a comment":
        return ("" if char == "\n" else state), at + 1
    if char == "\\" and state != "in single quotes":
        # A brace behind it is still a brace.
        return state, at + (1 if text[at + 1 : at + 2] == "{" else 2)
    if char == "'" and state != "in double quotes":
        return ("" if state else "in single quotes"), at + 1
    if char == '"' and state != "in single quotes":
        return ("" if state else "in double quotes"), at + 1
    if char == "#" and not state and (at == 0 or text[at - 1] in " \t\n;&|("):
        return "in a comment", at + 1
    return state, at + 1


async def run_command(
    command: str,
    context: ToolContext,
    *,
    seconds: float | None = BASH_SECONDS,
    stdin: str | None = None,
    flag: str = "",
) -> ToolOutput:
    """Run a command as ``bash`` does: what it wrote, and how it ended if not well.

    Args:
        seconds: how long it may take; ``None`` if someone else watches the time.
        stdin: its standard input; ``None`` closes its input.
        flag: the name in ``context.flags`` that says from now on whether it succeeded.
    """
    data = None if stdin is None else stdin.encode()
    code, text = await run_program(command, context, seconds=seconds, stdin=data)
    details: dict[str, Any] = {"exitCode": code}
    if flag:
        context.flags[flag] = code == 0
        details["flags"] = {flag: code == 0}
    ending = how_it_ended(code, seconds or 0.0)
    text = text or NOTHING
    if not ending:
        return ToolOutput(text, details=details)
    return ToolOutput(f"{text}\n\n{ending}", is_error=True, details=details)


async def run_program(
    command: str, context: ToolContext, *, seconds: float | None, stdin: bytes | None = None
) -> tuple[int | None, str]:
    """Return the exit code (``None``: out of time) and the output of a shell command."""
    live = LiveOutputBuffer(context.progress)
    wanted = Command(
        argv=(*await shell(context), command),
        cwd=context.cwd,
        stdin=stdin,
        timeout=seconds,
        capture=min(BASH_BYTES, RESULT_BYTES),
        merge_stderr=True,
        env=environment(os.environ),
        overflow=context.overflow,
        confine=True,
    )
    try:
        finished = await context.workspace.run(wanted, live.add)
    finally:
        live.close()
    return finished.code, output(finished, context.overflow)
