"""Read the parts of a shell command from the syntax tree of ``shfmt --to-json``.

Only words that are surely understood are plain. No ``allow`` rule covers anything else; it is kept
for ``deny`` and ``ask`` rules and for the user to see.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentchat.core.frozen import frozen
from agentchat.core.shell.flags import parse_flags
from agentchat.core.shell.programs import Program

UNKNOWN_PROGRAM = "what it runs is unknown"
_UNREAD = "it has text outside of its words, like a comment or an escaped end of line"
_ASSIGNING = ("env", "sudo", "doas")


@frozen
class Wrapper:
    """A program that runs another one; its own words are options and ``program.most`` operands.

    If one of ``describing_options`` comes first, it only describes the commands that follow.
    """

    program: Program
    describing_options: tuple[str, ...] = ()

    def describing_program(self, words: Sequence[str]) -> Program | None:
        """Return the program without a limit of operands, if it only describes commands."""
        describes = len(words) > 1 and words[1] in self.describing_options
        return replace(self.program, most=None) if describes else None


def _wrapper(known: str = "", operands: int = 0) -> Wrapper:
    return Wrapper(Program(parse_flags(known), most=operands, data=True))


WRAPPERS: Mapping[str, Wrapper] = {
    "env": _wrapper("-u: --unset: -iv --ignore-environment - --debug"),
    "nice": _wrapper("-# -n: --adjustment:"),
    "ionice": _wrapper("-c: -n: -t"),
    "nohup": _wrapper(),
    "timeout": _wrapper(
        "-s: -k: --signal: --kill-after: --preserve-status --foreground -vfp --verbose", operands=1
    ),
    "setsid": _wrapper("-cfw --ctty --fork --wait"),
    "stdbuf": _wrapper("-i: -o: -e: --input: --output: --error:"),
    "time": _wrapper("-pv"),
    "command": Wrapper(
        Program(parse_flags("-pvV"), most=0, data=True), describing_options=("-v", "-V")
    ),
    "builtin": _wrapper(),
    "exec": _wrapper(),
    "sudo": _wrapper("-u: -g: --user: --group: -nEH"),
    "doas": _wrapper("-u: -n"),
    "xargs": _wrapper(
        "-n: -P: -L: -I: -d: -s: -a: -i? --max-args: --max-procs: --delimiter: --arg-file:"
        " --max-lines: -0rtpx --null --no-run-if-empty --verbose"
    ),
    "watch": _wrapper("-n: --interval: -tdcegbx"),
}


def unwrap(words: Sequence[str]) -> tuple[int, str]:
    """Return how many of the words are the command's own, and a doubt about what it runs."""
    name = words[0].rpartition("/")[2] if words else ""
    wrapper = WRAPPERS.get(name)
    if wrapper is None or wrapper.describing_program(words) is not None:
        return len(words), ""
    end, doubt = _own_options(wrapper.program, words)
    end = min(end + (wrapper.program.most or 0), len(words))
    if name in _ASSIGNING:
        while end < len(words) and "=" in words[end]:
            end, doubt = end + 1, "it sets variables"
    return end, doubt


def _own_options(program: Program, words: Sequence[str]) -> tuple[int, str]:
    end, doubt = 1, ""
    while end < len(words) and words[end].startswith("-"):
        if words[end] == "--":
            return end + 1, doubt
        option = program.flags.read(words, end)
        end = option.end
        doubt = doubt if option.known else UNKNOWN_PROGRAM
    return end, doubt


Node = Mapping[str, Any]

LONGEST = 10_000
"""Characters; a longer command is not parsed."""

MOST_PARTS = 50

SEPARATORS = re.compile(r"[\s;&|()<>`$\"'\\{}]+")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_DESCRIPTOR = re.compile(r"\d*-?")
_LISTS = frozenset({"BinaryCmd", "Subshell", "Block", "TimeClause", "CallExpr"})
_STATEMENT = frozenset(
    {"Cmd", "Redirs", "Negated", "Background", "Semicolon", "Comments"} | {"Pos", "End", "Position"}
)
_WRITES = frozenset({">", ">>", ">|", "&>", "&>>", "<>", ">&", "&>|", ">!", ">>|"})
_PIPES = ("|", "|&")
_NOWHERE = "/dev/null"


_BETWEEN = re.compile(rb"(?:[ \t\n;&|(){}!]|\btime\b)*+")
"""What may stand between words and redirections: blanks and operators.

Everything else, a comment or an escaped end of line, shells may read in another way.
"""

_PLAIN = re.compile(
    r"(?:[A-Za-z0-9_./:@%+,=^~-]|'[^'\x00-\x08\x0b-\x1f\x7f]*'"
    r'|"[^"$`\\\x00-\x08\x0b-\x1f\x7f]*")+'
)
"""A word that no shell expands; quotes may contain any visible text."""

_WHOLE = {"[": "[", "]": "]", r"\(": "(", r"\)": ")", r"\!": "!", "!": "!"}
"""Whole words of ``test`` and ``find`` that no shell expands either."""

_TILDE = re.compile(r"(?:^|[:=])~")
_QUOTES = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ANSI = re.compile(
    r"\\(x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|[0-7]{1,3}|.)", re.DOTALL
)
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b"}
_BRACES = re.compile(r"\{[^{}]*(?:,|\.\.)[^{}]*\}")


@frozen
class Word:
    """One word. ``text`` is exact if ``plain``, else what is known, for ``deny`` and ``ask`` rules.

    ``others`` are other texts it may expand to: the alternatives in braces.
    """

    text: str
    plain: bool
    others: tuple[str, ...] = ()


@frozen
class LocatedOperand:
    """An operand on disk: the path as displayed, and why no rule of first words covers it.

    ``named``: a rule that has the word itself covers it all the same: the word leads nowhere else.
    ``below`` are the displayed paths of all that is in a folder that is used as a whole.
    """

    index: int
    path: str
    problem: str = ""
    named: bool = False
    below: tuple[str, ...] = ()


@frozen
class Part:
    """One simple command. ``words`` are its own, without those of a command that it runs.

    ``obscure`` is why its words may not be what runs; ``writes`` are the files in its
    redirections; ``has_piped_input`` means that another command writes its input. ``operands``
    are what its words name on disk; ``None`` if nobody looked.
    """

    source: str
    words: tuple[Word, ...] = ()
    obscure: str = ""
    writes: tuple[str, ...] = ()
    has_piped_input: bool = False
    operands: tuple[LocatedOperand, ...] | None = None

    @property
    def doubt(self) -> str:
        """Why no rule of first words covers it; empty if a rule may."""
        return self.obscure or (f"it writes {self.writes[0]}" if self.writes else "")

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of the words."""
        return tuple(word.text for word in self.words)

    @property
    def program(self) -> str:
        """The first word, or an empty text."""
        return self.words[0].text if self.words else ""


@frozen
class Script:
    """A whole command; ``parse_problem`` is why it could not be parsed, if it could not."""

    parts: tuple[Part, ...] = ()
    parse_problem: str = ""

    @property
    def writes(self) -> tuple[str, ...]:
        """The files in redirections."""
        return tuple(path for part in self.parts for path in part.writes)


def why_unparsable(command: str) -> str:
    """Return why a command is not parsed, or an empty text."""
    if len(command) > LONGEST:
        return f"it is longer than {LONGEST:,} characters"
    if _CONTROL.search(command):
        return "it holds control characters"
    try:
        command.encode()
    except UnicodeEncodeError:
        return "it is not valid text"
    return ""


def parse_tree(tree: Node, source: bytes) -> Script:
    """Return the parts of a parsed command, in order."""
    reader = _Reader(source)
    try:
        parts = tuple(_unwrapped(reader.parts(tree)))
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        return Script(parse_problem=f"its syntax tree is unknown ({type(error).__name__})")
    if len(parts) > MOST_PARTS:
        return Script(parse_problem=f"it has more than {MOST_PARTS} parts")
    if not _BETWEEN.fullmatch(reader.unread()):
        parts = tuple(replace(part, obscure=part.obscure or _UNREAD) for part in parts)
    return Script(parts)


def candidate_words(command: str) -> list[str]:
    """Return everything that may be a word, without parsing."""
    return [word for word in SEPARATORS.split(command) if word]


def _unwrapped(parts: Iterator[Part]) -> Iterator[Part]:
    """Yield each part and, if it runs another command, that command."""
    for part in parts:
        own, doubt = unwrap(part.texts)
        outer = replace(part, words=part.words[:own], obscure=part.obscure or doubt)
        yield outer
        inner = part.words[own:]
        if inner:
            source = " ".join(word.text for word in inner)
            yield from _unwrapped(iter((replace(outer, source=source, words=inner, writes=()),)))


class _Reader:
    """Reads one syntax tree."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._spans: list[tuple[int, int]] = []

    def unread(self) -> bytes:
        """Return the bytes that belong to no word, assignment or redirection read so far."""
        gaps, end = [], 0
        for start, after in sorted(self._spans):
            gaps.append(self._source[end:start])
            end = max(end, after)
        return b" ".join((*gaps, self._source[end:]))

    def _account(self, nodes: Any) -> None:
        self._spans += ((node["Pos"]["Offset"], node["End"]["Offset"]) for node in nodes)

    def parts(self, node: Node, obscure: str = "") -> Iterator[Part]:
        """Yield the simple commands of a node; ``obscure`` applies to all of them."""
        if "Cmd" in node or "Redirs" in node:
            yield from self._statement(node, obscure)
            return
        kind = node.get("Type", "")
        if kind not in _LISTS and kind not in ("", "File"):
            obscure = obscure or f"it is part of {_NAMES.get(kind, 'a compound command')}"
        if kind == "BinaryCmd" and node["Op"] in _PIPES:
            yield from self.parts(node["X"], obscure)
            yield from (
                replace(part, has_piped_input=True) for part in self.parts(node["Y"], obscure)
            )
            return
        for child in _inner_nodes(node):
            yield from self.parts(child, obscure)

    def _statement(self, node: Node, obscure: str) -> Iterator[Part]:
        if set(node) - _STATEMENT:
            obscure = obscure or "it is run in an unusual way"
        command: Node = node.get("Cmd") or {}
        redirections = node.get("Redirs") or ()
        self._account(redirections)
        writes, why = self._redirected(redirections)
        if command.get("Type") == "CallExpr":
            simple = self._simple(node, command, obscure or why, writes)
            yield simple
            for node_of_word, word in zip(command.get("Args") or (), simple.words, strict=True):
                if not word.plain:
                    yield from self._inside(node_of_word)
            yield from self._inside(command.get("Assigns") or ())
        else:
            kind = command.get("Type", "")
            compound = f"it is {_NAMES.get(kind, 'compound')}" if kind not in _LISTS else ""
            if why or writes or compound:
                yield Part(_slice_of(node, self._source), (), why or compound, writes)
            around = obscure or why or (f"it writes {writes[0]}" if writes else "")
            yield from self.parts(command, around)
        for redirection in redirections:
            yield from self._inside(redirection)

    def _simple(self, node: Node, command: Node, obscure: str, writes: tuple[str, ...]) -> Part:
        self._account((*(command.get("Args") or ()), *(command.get("Assigns") or ())))
        words = tuple(_read_word(word, self._source) for word in command.get("Args") or ())
        if command.get("Assigns"):
            obscure = obscure or "it sets variables"
        if not all(word.plain for word in words):
            obscure = obscure or "its words are expanded by the shell"
        return Part(_slice_of(node, self._source), words, obscure, writes)

    def _inside(self, node: Node | Sequence[Node]) -> Iterator[Part]:
        """Yield the commands of substitutions in words, assignments and heredocs."""
        for child in _inner_nodes(node):
            yield from self.parts(child, "its output is part of another command")

    def _redirected(self, nodes: Any) -> tuple[tuple[str, ...], str]:
        """Return the files that are written, and why no rule covers the other redirections."""
        writes: list[str] = []
        why = ""
        for node in nodes:
            target = _read_word(node["Word"], self._source)
            if _is_harmless(node, target):
                continue
            if node["Op"] in _WRITES and not _DESCRIPTOR.fullmatch(target.text):
                writes.append(target.text or _slice_of(node["Word"], self._source))
            else:
                why = why or "its input is redirected"
        return tuple(writes), why


def _is_harmless(node: Mapping[str, Any], target: Word) -> bool:
    descriptor = (node.get("N") or {}).get("Value", "")
    if not target.plain or descriptor not in ("", "0", "1", "2") or "Hdoc" in node:
        return False
    if node["Op"] == ">&":
        return target.text in ("1", "2")
    if node["Op"] == "<":
        return target.text == _NOWHERE
    return node["Op"] in (">", ">>", "&>", "&>>") and target.text == _NOWHERE


def _read_word(node: Node, source: bytes) -> Word:
    """Return a word of the syntax tree; a plain one is read from its bytes in ``source``."""
    raw = _slice_of(node, source)
    if raw in _WHOLE:
        return Word(_WHOLE[raw], True)
    if _PLAIN.fullmatch(raw) and not _TILDE.search(raw):
        return Word(_QUOTES.sub(_unquote, raw), True)
    text = "".join(map(_known_text, node.get("Parts") or ()))
    others = tuple(re.split(r"[{},]", text)) if _BRACES.search(text) else ()
    return Word(text, False, tuple(other for other in others if other))


def _slice_of(node: Node, source: bytes) -> str:
    """Return the text a node was read from."""
    start, end = node["Pos"]["Offset"], node["End"]["Offset"]
    return source[start:end].decode("utf-8", "replace")


def _unquote(quoted: re.Match[str]) -> str:
    return quoted[1] if quoted[1] is not None else quoted[2]


def _known_text(part: Node) -> str:
    """Return the text of a part that is known without running anything."""
    kind = part.get("Type")
    if kind == "SglQuoted":
        return _unescape(part["Value"]) if part.get("Dollar") else str(part.get("Value", ""))
    if kind == "DblQuoted":
        return "".join(map(_known_text, part.get("Parts") or ()))
    if kind == "Lit":
        return _ESCAPED.sub(lambda m: "" if m[1] == "\n" else m[1], part.get("Value", ""))
    return ""


def _unescape(text: str) -> str:
    """Return what ``$'…'`` means."""
    return _ANSI.sub(_escape_value, text)


def _escape_value(match: re.Match[str]) -> str:
    escape = match[1]
    if escape[0] in "xuU" and len(escape) > 1:
        return chr(min(int(escape[1:], 16), 0x10FFFF))
    if escape[0] in "01234567":
        return chr(int(escape, 8) & 0xFF)
    return _NAMED.get(escape, escape)


def _inner_nodes(value: Any) -> Iterator[Node]:
    """Yield the child nodes of a value in the tree."""
    children = value.values() if isinstance(value, Mapping) else value
    for child in children:
        if isinstance(child, Mapping) and "Offset" not in child:
            yield child
        elif isinstance(child, list):
            yield from _inner_nodes(child)


_NAMES = {
    "FuncDecl": "a function",
    "IfClause": "an if",
    "WhileClause": "a loop",
    "ForClause": "a loop",
    "CaseClause": "a case",
    "CmdSubst": "a substitution",
    "ProcSubst": "a substitution",
    "ArithmCmd": "arithmetic",
    "TestClause": "a test",
    "DeclClause": "a declaration",
    "CoprocClause": "a coprocess",
}
