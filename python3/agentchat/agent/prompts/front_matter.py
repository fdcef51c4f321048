"""Reads the front matter of a Markdown file, each of its fields as YAML.

Texts and lists of texts are kept. Deeper structure is skipped: other programs use it for what is
theirs. What those write without quotes, as ``argument-hint: [a] [b]``, is text here, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from agentchat.core.prompts.markdown_file import FrontMatterError, MarkdownFile, Value

FENCE = "---"
_KEY = re.compile(r"(?P<key>[A-Za-z_][\w-]*)\s*:(?:\s+(?P<value>.*))?$")
_COMMENT = re.compile(r"\s+#.*$")


def parse_markdown(text: str) -> MarkdownFile:
    """Return the fields and the body of a file; raises FrontMatterError."""
    text = text.removeprefix("\ufeff")
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != FENCE:
        return MarkdownFile(body=text.strip())
    end = next((n for n, line in enumerate(lines[1:], 1) if line.rstrip() == FENCE), None)
    if end is None:
        raise FrontMatterError(1, f"the front matter does not end: a line {FENCE} is missing")
    fields: dict[str, Value] = {}
    for number, chunk in _chunks(lines[1:end]):
        match = _KEY.match(chunk[0])
        if match is None:
            raise FrontMatterError(number, f'expected "name: text", got "{chunk[0].strip()[:60]}"')
        if match["key"] in fields:
            raise FrontMatterError(number, f'"{match["key"]}" is there twice')
        fields[match["key"]] = _value(chunk, match, number)
    return MarkdownFile(fields, "\n".join(lines[end + 1 :]).strip())


def _chunks(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of each field, with the number of the first in the file."""
    chunk: list[str] = []
    first = 0
    for number, line in enumerate(lines, 2):
        is_inner = not line.strip() or line[0] in " \t-"
        if chunk and is_inner:
            chunk.append(line)
        elif not is_inner and not line.startswith("#"):
            if chunk:
                yield first, chunk
            first, chunk = number, [line]
    if chunk:
        yield first, chunk


def _value(chunk: list[str], key: re.Match[str], number: int) -> Value:
    import yaml

    try:
        (found,) = yaml.load("\n".join(chunk), Loader=yaml.BaseLoader).values()
    except (yaml.YAMLError, RecursionError) as error:
        text = _COMMENT.sub("", (key["value"] or "").strip())
        if len(chunk) > 1 or not _is_plain(text):
            mark = getattr(error, "problem_mark", None)
            problem = getattr(error, "problem", None) or "nested too deep"
            text = f'"{key["key"]}" is not valid YAML: {problem}'
            raise FrontMatterError(number + (mark.line if mark else 0), text) from error
        return text
    return _texts(found)


def _is_plain(value: str) -> bool:
    """Whether what is not YAML is text without quotes all the same."""
    is_list = value.startswith("[") and not value.endswith("]")
    return not is_list and value[:1] not in ("'", '"')


def _texts(value: Any) -> Value:
    if isinstance(value, list):
        return tuple(item for item in value if isinstance(item, str))
    return value.strip() if isinstance(value, str) else ""
