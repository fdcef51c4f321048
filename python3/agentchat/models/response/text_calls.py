"""Calls that a model writes as text, where its server does not recognise them.

Text becomes calls only if all of it is calls: each in one of the shapes below, complete, and of
a tool that was offered. The shapes with a tag may also end an answer: small models say what they
will do, and then do it. They begin a line there, outside of any fence, and are the only calls of
the answer. With a word behind it, in a fence, or in a quotation, a call is an example or a report,
and stays text. So does one that stands in a text that the model has read: it repeats a file, or
what the user wrote.

- ``<tool_call>{"name": …, "arguments": {…}}</tool_call>``, the opening tag may be missing
- ``<function=NAME>{…}</function>`` or with ``<parameter=KEY>VALUE</parameter>`` inside, also
  within ``<tool_call>``
- ``<tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call>``
- ``[TOOL_CALLS][{"name": …, "arguments": {…}}]``, ``[TOOL_CALLS]NAME[ARGS]{…}`` with or without
  the second word, ``<|python_tag|>{…}``
- the JSON object, or a list of them, alone or as the one fenced block
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from agentchat.models.response.call_fragments import CallFragment

OfferedTools = Mapping[str, Mapping[str, Any]]
"""The JSON Schema of each offered tool by name."""

LONGEST_LINE = 400
_TAGS = ("<tool_call>", "<function=", "[TOOL_CALLS]", "<|python_tag|>")
_HAS_GONE_ON = re.compile(r"</(?:tool_call|function)>\s*[^<\s]")
"""The end of a call, and words behind it."""
_KEYS = ("name", "arguments", "parameters", "function", "type", "id")
_MARKERS = re.compile(r"</?tool_call>|```[ \t]*(?:json|tool_call)?|\[TOOL_CALLS\]|<\|python_tag\|>")
_FENCE = re.compile(r"```[ \t]*(?:json|tool_call)?[ \t]*\n")
_FENCED = re.compile(r"```[ \t]*(?:json|tool_call)?[ \t]*\n(?P<json>.*?)\n?```", re.DOTALL)
_JSON_HEAD = re.compile(r'\[?\s*(?:\{\s*(?:"(?P<key>[a-z]*)(?P<end>")?)?)?')
_FUNCTION = re.compile(r"<function=(?P<name>[^>\s]+)>(?P<body>.*?)</function>", re.DOTALL)
_PARAMETER = re.compile(r"\s*<parameter=(?P<key>[^>\s]+)>(?P<value>.*?)</parameter>\s*", re.DOTALL)
_PAIR = re.compile(
    r"\s*<arg_key>(?P<key>.*?)</arg_key>\s*<arg_value>(?P<value>.*?)</arg_value>\s*", re.DOTALL
)
_NAME_FIRST = re.compile(r"(?P<name>[\w.-]+)\s*(?=[{<]|\[ARGS]|$)")


class WrittenCalls:
    """Holds back the parts of a text that may be calls: all of it, or its end.

    Args:
        tools: the offered tools; without any, nothing is held back.
        sources: texts that the model has read.
    """

    def __init__(self, tools: OfferedTools, sources: Iterable[str] = ()) -> None:
        self._tools = tools
        self._sources = sources
        self._held: list[str] = []
        self._is_likely = False
        self._is_text = False
        """Whether the text does not begin with a call, so that only its end may be one."""
        self._lines = OpenLines()

    @property
    def is_held(self) -> bool:
        """Whether text is held back."""
        return bool(self._held)

    def add(self, text: str) -> str:
        """Take text; return what is no call."""
        if not self._tools or not text:
            return text
        self._held.append(text)
        if self._is_text:
            return self._release_lines()
        if not self._is_likely:
            held = "".join(self._held)
            self._is_likely, may_be = _judge_beginning(held)
            if not may_be:
                self._is_text = True
                return self._release_lines()
        return ""

    def take(self, is_whole: bool) -> tuple[list[CallFragment], str]:
        """Return the calls, or the text if it is none; ``is_whole``: the text is complete."""
        text, self._held, self._is_text = "".join(self._held), [], True
        calls = parse_calls(text, self._tools) if is_whole else None
        return (calls, "") if calls and not is_repeated(text, self._sources) else ([], text)

    def _release_lines(self) -> str:
        """Return what is text for certain; a tag that begins a line, and the rest, is not."""
        if self._is_likely and not _HAS_GONE_ON.search("".join(self._held[-2:])):
            return ""
        text, self._held = "".join(self._held), []
        start = 0 if self._is_likely else self._lines.find_tag(text)
        if self._is_likely:  # a call with words behind it is an example
            self._is_likely, self._lines.has_call, start = False, True, len(text)
        self._is_likely = text[start:].lstrip().startswith(_TAGS)
        self._held = [text[start:]] if text[start:] else []
        self._lines.skip(text[:start])
        return text[:start]


class OpenLines:
    """Finds lines of a growing text that begin with a tag, outside of fences.

    ``has_call``: there was a line with a call already, so no later one is run.
    """

    def __init__(self) -> None:
        self.has_call = False
        self._line = ""
        self._fence = ""

    def find_tag(self, text: str) -> int:
        """Return where a line begins that is a tag, or may become one; the end if none does."""
        lines = OpenLines()
        lines.has_call, lines._line, lines._fence = self.has_call, self._line, self._fence
        start = 0
        for line in text.splitlines(keepends=True):
            if lines.may_begin(line):
                return start
            lines.skip(line)
            start += len(line)
        return start

    def may_begin(self, line: str) -> bool:
        """Whether this, at the beginning of a line, is a tag or a part of one."""
        if self._line or self._fence or self.has_call:
            return False
        start = line.lstrip(" \t")
        is_part = not line.endswith("\n") and any(tag.startswith(start) for tag in _TAGS)
        return start.startswith(_TAGS) or is_part

    def skip(self, text: str) -> None:
        """Take text that is shown."""
        for line in text.splitlines(keepends=True):
            self._line += line
            if self._line.endswith("\n"):
                self._end_line()
            elif len(self._line) > LONGEST_LINE:  # its beginning is known, its end may become a tag
                self._look_for_tag()
                self._line = self._line[:3] + self._line[-20:]

    def _end_line(self) -> None:
        mark = self._line.strip()[:3]
        if mark in ("```", "~~~") and self._fence in ("", mark):
            self._fence = "" if self._fence else mark
        self._look_for_tag()
        self._line = ""

    def _look_for_tag(self) -> None:
        self.has_call |= not self._fence and any(tag in self._line for tag in _TAGS)


def parse_calls(text: str, tools: OfferedTools) -> list[CallFragment] | None:
    """Return the calls that ``text`` consists of, None if it is anything else."""
    try:
        calls = _Parser(text.strip(), tools).parse()
    except (_NoCall, ValueError, RecursionError):
        return None
    return [replace(call, index=index) for index, call in enumerate(calls)] or None


def is_repeated(text: str, sources: Iterable[str]) -> bool:
    """Whether what is written as a call stands in one of the sources, blanks aside."""
    core = _without_blanks(_MARKERS.sub("", text))
    return any(core in _without_blanks(source) for source in sources)


def _without_blanks(text: str) -> str:
    return "".join(text.split())


class _NoCall(Exception):
    """The text is no call."""


class _Parser:
    """Reads one shape after the other until the end of the text."""

    def __init__(self, text: str, tools: OfferedTools) -> None:
        self._text = text
        self._tools = tools
        self._json = json.JSONDecoder(object_pairs_hook=_without_duplicates)

    def parse(self) -> list[CallFragment]:
        calls: list[CallFragment] = []
        fenced = _FENCED.fullmatch(self._text)
        if fenced:
            self._text = fenced["json"].strip()
            return self._rest()
        while self._text:
            calls += self._next()
        return calls

    def _next(self) -> list[CallFragment]:
        if self._skip("<tool_call>"):
            return self._tagged()
        if self._text.startswith("<function="):
            return [self._function()]
        if self._skip("[TOOL_CALLS]"):
            return self._named() if self._text[:1].isalnum() else self._rest()
        if self._skip("<|python_tag|>"):
            return self._rest()
        calls = self._json_calls(self._take_json())
        if not self._skip("</tool_call>") and self._text:
            raise _NoCall
        return calls

    def _rest(self) -> list[CallFragment]:
        calls = self._json_calls(self._take_json())
        if self._text:
            raise _NoCall
        return calls

    def _tagged(self) -> list[CallFragment]:
        """Return the call between ``<tool_call>`` tags; the first is already read."""
        if self._text.startswith("<function="):
            calls = [self._function()]
        elif self._text.startswith("{"):
            calls = self._json_calls(self._take_json())
        else:
            calls = [self._pairs()]
        if not self._skip("</tool_call>"):
            raise _NoCall
        return calls

    def _function(self) -> CallFragment:
        match = _FUNCTION.match(self._text)
        if not match:
            raise _NoCall
        self._text = self._text[match.end() :].lstrip()
        name, body = match["name"].strip("\"'"), match["body"].strip()
        if body.startswith("{"):
            return self._call(name, self._json.decode(body))
        return self._call(name, self._values(name, body, _PARAMETER))

    def _pairs(self) -> CallFragment:
        body, closing, rest = self._text.partition("</tool_call>")
        match = _NAME_FIRST.match(body)
        if not match:
            raise _NoCall
        self._text = closing + rest
        return self._call(match["name"], self._values(match["name"], body[match.end() :], _PAIR))

    def _named(self) -> list[CallFragment]:
        """Return the call ``NAME{…}`` or ``NAME[ARGS]{…}``."""
        match = _NAME_FIRST.match(self._text)
        if not match:
            raise _NoCall
        self._text = self._text[match.end() :]
        self._skip("[ARGS]")
        return [self._call(match["name"], self._take_json())]

    def _values(self, name: str, body: str, shape: re.Pattern[str]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        while body.strip():
            match = shape.match(body)
            if not match or match["key"] in values:
                raise _NoCall
            values[match["key"]] = self._value(name, match["key"], match["value"])
            body = body[match.end() :]
        return values

    def _value(self, name: str, key: str, text: str) -> Any:
        """Return a value that is written as text, of the type in the tool's schema."""
        text = text.removeprefix("\n").removesuffix("\n")
        schema = (self._tools.get(name, {}).get("properties") or {}).get(key)
        wanted = schema.get("type") if isinstance(schema, Mapping) else None
        if wanted not in ("integer", "number", "boolean", "array", "object"):
            return text
        try:
            return self._json.decode(text.strip())
        except ValueError:
            return text

    def _take_json(self) -> Any:
        value, end = self._json.raw_decode(self._text)
        self._text = self._text[end:].lstrip()
        return value

    def _json_calls(self, value: Any) -> list[CallFragment]:
        return [self._json_call(v) for v in (value if isinstance(value, list) else [value])]

    def _json_call(self, value: Any) -> CallFragment:
        if not isinstance(value, dict):
            raise _NoCall
        function = value.get("function")
        if isinstance(function, dict) and set(value) <= {"function", "type", "id"}:
            value = function
        if not set(value) <= {"name", "arguments", "parameters", "type", "id"}:
            raise _NoCall
        if len({"arguments", "parameters"} & set(value)) != 1:
            raise _NoCall
        given = value["arguments"] if "arguments" in value else value["parameters"]
        return self._call(value.get("name"), self._decode(given))

    def _decode(self, given: Any) -> Any:
        return self._json.decode(given) if isinstance(given, str) else given

    def _call(self, name: Any, arguments: Any) -> CallFragment:
        if not isinstance(name, str) or name not in self._tools or not isinstance(arguments, dict):
            raise _NoCall
        return CallFragment(name=name, arguments=json.dumps(arguments, ensure_ascii=False))

    def _skip(self, tag: str) -> bool:
        if not self._text.startswith(tag):
            return False
        self._text = self._text[len(tag) :].lstrip()
        return True


def _judge_beginning(text: str) -> tuple[bool, bool]:
    """Return whether a text looks like a call, and whether it may still turn out to be one."""
    start = text.lstrip()
    if not start or any(tag.startswith(start) for tag in _TAGS):
        return False, True
    if start.startswith(_TAGS):
        return True, True
    fence = _FENCE.match(start)
    if fence:
        start = start[fence.end() :].lstrip()
    elif start.startswith("`"):
        return False, "\n" not in start and _may_be_fence(start)
    return _judge_json(start)


def _may_be_fence(start: str) -> bool:
    """Whether a line without its end may open a block of JSON."""
    info = start[3:].strip()
    return "```".startswith(start[:3]) and any(i.startswith(info) for i in ("json", "tool_call"))


def _judge_json(start: str) -> tuple[bool, bool]:
    head = _JSON_HEAD.match(start)
    if not head or (not head.end() and start):
        return False, not start
    if head["key"] is None:
        return False, head.end() == len(start)
    if head["end"]:
        return head["key"] in _KEYS, head["key"] in _KEYS
    is_prefix = any(key.startswith(head["key"]) for key in _KEYS)
    return False, is_prefix and head.end() == len(start)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object; with one key twice it is none of ours to read."""
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _NoCall
    return value
