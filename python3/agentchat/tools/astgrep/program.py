"""Run ast-grep, installed beside this Python or on the PATH, to find where a pattern matches.

It only searches; it never writes.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentchat.core.errors import ToolError
from agentchat.core.frozen import frozen
from agentchat.core.workspace import Command, ProcessResult, Workspace

SEARCH_SECONDS = 60
"""Seconds after which a search is stopped."""

_AT_ONCE = 4
_ARGUMENT_BYTES = 200_000
_LONGEST_PATTERN = 100_000
"""Bytes that fit into one argument of a program."""

_NAME = "ast-grep"
# Here it finds no configuration of a project, which could name native libraries.
_FOLDER = "/"
_SAFE = ("--custom-languages=ignore",)
# Found, not found, and a pattern that does not parse.
_GOOD_CODES = (0, 1, 8)
_BAD_PATTERN = (b"Pattern contains an ERROR node", b"Cannot parse query")


@frozen
class Op:
    """One rewrite: ``pat`` with metavariables, ``out`` that may use them."""

    pat: str
    out: str


@frozen
class SourceSelection:
    """Files of one language: ``paths`` on disk, and unsaved ``texts`` with their path."""

    language: str
    paths: tuple[str, ...]
    texts: tuple[tuple[str, bytes], ...] = ()


@frozen
class Match:
    """One match: ``start`` to ``end`` in bytes, the ``text`` there, and its ``replacement``."""

    path: str
    op: int
    start: int
    end: int
    text: str
    replacement: str


@frozen
class SearchResult:
    """The matches of one op in one language; ``bad_pattern`` if it does not parse there."""

    matches: tuple[Match, ...]
    bad_pattern: bool


class _NotInstalled(ToolError):
    """The machine with the files has no ast-grep."""


class AstGrep:
    """Runs the program in one workspace, a few at a time."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._program: str | None = None
        self._read: dict[str, bytes] = {}

    async def find(self, number: int, op: Op, sources: SourceSelection) -> SearchResult:
        """Return where an op matches; raises ToolError if the program fails."""
        options = (f"--pattern={op.pat}", f"--rewrite={op.out}", "--json=stream")
        outcomes = await self._run_on_all(options, sources)
        matches = [match for path, outcome in outcomes for match in _matches(outcome, number, path)]
        return SearchResult(tuple(matches), any(_bad_pattern(outcome) for _, outcome in outcomes))

    async def find_syntax_errors(self, sources: SourceSelection) -> set[str]:
        """Return the files that do not parse.

        A file that only misses something, like a closing bracket, may not be among them: see
        :meth:`find_missing_nodes`.
        """
        paths: set[str] = set()
        options = ("--kind=ERROR", "--files-with-matches")
        for path, outcome in await self._run_on_all(options, sources):
            lines = os.fsdecode(outcome.head).splitlines()
            paths.update([path] if path and lines else lines)
        return paths

    async def _run_on_all(
        self, options: tuple[str, ...], sources: SourceSelection
    ) -> list[tuple[str | None, ProcessResult]]:
        """Run on all files: one outcome for many of them, or for one text with its path."""
        try:
            return await self._run_on(options, sources)
        except _NotInstalled:
            # The files are on a machine without the program: search their texts on this one.
            return await self._run_on(options, await self._as_texts(sources))

    async def _run_on(
        self, options: tuple[str, ...], sources: SourceSelection
    ) -> list[tuple[str | None, ProcessResult]]:
        command = ("run", *_SAFE, f"--lang={sources.language}", *options)
        on_disk = [self._run((*command, "--", *paths)) for paths in _chunks(sources.paths)]
        on_texts = [self._run((*command, "--stdin"), text) for _, text in sources.texts]
        outcomes = await asyncio.gather(*on_disk, *on_texts)
        paths = [None] * len(on_disk) + [path for path, _ in sources.texts]
        return list(zip(paths, outcomes, strict=True))

    async def _as_texts(self, sources: SourceSelection) -> SourceSelection:
        texts = await asyncio.gather(*[self._text(path) for path in sources.paths])
        pairs = [(path, text) for path, text in zip(sources.paths, texts, strict=True) if text]
        return SourceSelection(sources.language, (), (*pairs, *sources.texts))

    async def _text(self, path: str) -> bytes:
        if path not in self._read:
            async with self._slots:
                try:
                    self._read[path] = await self._workspace.read(path)
                except OSError:  # a file that cannot be read has no match
                    self._read[path] = b""
        return self._read[path]

    async def find_missing_nodes(self, language: str, texts: Mapping[str, bytes]) -> set[str]:
        """Return the paths of texts in which the parser misses a node.

        No pattern matches a missing node, but the tree that ast-grep prints for a pattern names
        it. So the pattern is the texts themselves: many at once, then those of a bad batch singly.
        """
        batches = list(_batches(texts))
        bad = await asyncio.gather(*[self._misses_node(language, b.values()) for b in batches])
        suspects = [
            pair
            for batch, is_bad in zip(batches, bad, strict=True)
            if is_bad
            for pair in batch.items()
        ]
        bad = await asyncio.gather(*[self._misses_node(language, [text]) for _, text in suspects])
        return {path for (path, _), is_bad in zip(suspects, bad, strict=True) if is_bad}

    async def _misses_node(self, language: str, texts: Iterable[bytes]) -> bool:
        whole = b"\n".join(text.removeprefix(codecs.BOM_UTF8) for text in texts)
        command = ("run", *_SAFE, f"--lang={language}", os.fsdecode(b"--pattern=" + whole))
        query = (*command, "--debug-query=sexp", "--", os.devnull)
        outcome = await self._run(query, stdin=b"", merge=True)
        tree = outcome.head + outcome.tail
        return b"(MISSING" in tree or b"(ERROR" in tree

    async def _run(
        self, arguments: tuple[str, ...], stdin: bytes | None = None, *, merge: bool = False
    ) -> ProcessResult:
        async with self._slots:
            for program in [self._program] if self._program else _programs():
                command = Command((program, *arguments), _FOLDER, stdin, SEARCH_SECONDS, own=True)
                finished = await self._started(command, merge)
                if finished is not None:
                    self._program = program
                    return _checked(finished)
        raise _NotInstalled("ast-grep was not found. :AgentInstall installs it.")

    async def _started(self, command: Command, merge: bool) -> ProcessResult | None:
        """Run a program; return ``None`` if it cannot start, or is too old for an option."""
        try:
            finished = await self._workspace.run(replace(command, merge_stderr=merge))
        except ToolError:
            return None
        return None if b"unexpected argument" in finished.stderr else finished


def _programs() -> list[str]:
    return [os.path.join(os.path.dirname(sys.executable), _NAME), _NAME]


def _checked(finished: ProcessResult) -> ProcessResult:
    if finished.code is None:
        raise ToolError(f"Matching took more than {SEARCH_SECONDS} s. Narrow path or glob.")
    if finished.dropped:
        raise ToolError("There are more matches than fit. Narrow path, glob or pattern.")
    if finished.code not in _GOOD_CODES:
        message = finished.stderr.decode("utf-8", "replace").partition("\n")[0]
        raise ToolError(f"ast-grep failed: {message or f'exit code {finished.code}'}")
    return finished


def _bad_pattern(finished: ProcessResult) -> bool:
    return any(message in finished.stderr for message in _BAD_PATTERN)


def _batches(texts: Mapping[str, bytes]) -> Iterator[dict[str, bytes]]:
    """Yield the texts in batches that fit into one argument, without those that do not fit."""
    batch: dict[str, bytes] = {}
    size = 0
    for path, text in texts.items():
        if b"\0" in text or len(text) > _LONGEST_PATTERN:
            continue
        if size + len(text) > _LONGEST_PATTERN:
            yield batch
            batch, size = {}, 0
        batch[path] = text
        size += len(text) + 1
    if batch:
        yield batch


def _chunks(paths: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the paths in parts that fit into the arguments of a program."""
    part: list[str] = []
    size = 0
    for path in paths:
        if part and size + len(path) > _ARGUMENT_BYTES:
            yield tuple(part)
            part, size = [], 0
        part.append(path)
        size += len(path) + 1
    if part:
        yield tuple(part)


def _matches(finished: ProcessResult, number: int, name: str | None) -> Iterator[Match]:
    for line in finished.head.splitlines():
        data = json.loads(line)
        yield _match(data, number, name or data["file"])


def _match(data: dict[str, Any], number: int, path: str) -> Match:
    first, place = data["range"]["byteOffset"]["start"], data["replacementOffsets"]
    start, end = place["start"], place["end"]
    return Match(
        path=path,
        op=number,
        start=start,
        end=end,
        text=data["text"].encode()[start - first : end - first].decode(),
        replacement=data["replacement"],
    )
