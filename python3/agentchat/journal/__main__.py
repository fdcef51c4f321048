"""Prints and checks a journal without an editor: ``python -m agentchat.journal FILE``.

Exit codes: 0 the journal is whole, 1 it is damaged or something in it has no end, 2 it cannot be
read.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from agentchat.core.text import escape_control_characters
from agentchat.journal import records as r
from agentchat.journal.export import json_lines
from agentchat.journal.log_text import render_log
from agentchat.journal.reader import Scan, read_records, scan

_UNESCAPED = re.compile("[\x7f-\x9f\ud800-\udfff]")

WHOLE, DAMAGED, UNREADABLE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a journal and what is wrong with it; return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        size, content = options.file.stat().st_size, scan(options.file)
    except OSError as error:
        reason = error.strerror or str(error)
        return _report([f"{options.file} cannot be read: {reason}."], UNREADABLE)
    if not content.records:
        return _report([f"{options.file} is not a journal: it has no record."], UNREADABLE)
    try:
        _print(() if options.check else _lines(content, options))
    except BrokenPipeError:  # the reader has seen enough, as in `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    problems = [*find_problems(content, size), *find_damaged_contents(options.file)]
    return _report(problems, DAMAGED if problems else WHOLE)


def find_problems(content: Scan, size: int) -> list[str]:
    """Return a line for each thing that is wrong with a journal of ``size`` bytes.

    A turn that runs at this moment counts as one without an end.
    """
    problems = []
    if content.end < size:
        problems.append(f"{size - content.end} bytes after byte {content.end} are no whole record")
    unknown = sum(isinstance(record, r.UnknownRecord) for record in content.records)
    if unknown:
        problems.append(f"records of an unknown kind: {unknown}")
    return [*problems, *_missing_contents(content), *_without_end(content.records)]


def find_damaged_contents(path: Path) -> list[str]:
    """Return a line for each stored text of which a byte was changed."""
    return [
        f"the bytes stored as {record.sha256[:12]} were changed: their SHA-256 is another one"
        for record in read_records(path)
        if isinstance(record, r.ContentStored) and not record.is_whole
    ]


def _missing_contents(content: Scan) -> Iterator[str]:
    """Yield the files whose bytes before or after a change are not in the journal."""
    for record in content.records:
        if isinstance(record, r.ChangeStarted):
            for file in record.files:
                if {file.before, file.after} - {None} - content.contents:
                    yield f"the bytes of {file.path} ({record.source}) are missing"


def _without_end(records: Iterable[r.Record]) -> Iterator[str]:
    turn, calls, changes = 0, {}, {}
    for record in records:
        match record:
            case r.TurnStarted():
                turn = record.number
            case r.TurnFinished():
                turn = 0
            case r.CallStarted():
                calls[record.call_id] = record.tool
            case r.CallFinished():
                calls.pop(record.call_id, None)
            case r.ChangeStarted():
                changes[record.source] = ", ".join(file.path for file in record.files)
            case r.ChangeApplied() | r.ChangeSettled():
                changes.pop(record.source, None)
    if turn:
        yield f"turn {turn} did not end"
    yield from (f"the call of {tool} ({call}) did not end" for call, tool in calls.items())
    yield from (
        f"the change of {paths} ({source}) did not end" for source, paths in changes.items()
    )


def _lines(content: Scan, options: argparse.Namespace) -> Iterable[str]:
    if options.json:
        return map(_ascii_controls, json_lines(content.records))
    return render_log(content.records, only_decisions=options.decisions)


def _print(lines: Iterable[str]) -> None:
    """Print lines in which nothing is a sequence that a terminal obeys."""
    for line in lines:
        sys.stdout.write(escape_control_characters(line) + "\n")
    sys.stdout.flush()


def _ascii_controls(line: str) -> str:
    """Return a line of JSON with DEL and C1, which JSON allows as they are, as ``\\u009b``."""
    return _UNESCAPED.sub(lambda match: f"\\u{ord(match.group()):04x}", line)


def _report(problems: Sequence[str], code: int) -> int:
    for problem in problems:
        sys.stderr.write(escape_control_characters(f"agentchat.journal: {problem}\n"))
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m agentchat.journal",
        description="Print the journal of a chat, and check it.",
        epilog="Exit code: 0 whole, 1 damaged or something in it has no end, 2 not readable.",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="a journal, NAME.msgpack")
    parser.add_argument("--check", action="store_true", help="print only what is wrong")
    parser.add_argument("--decisions", action="store_true", help="print only the decisions")
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    return parser


if __name__ == "__main__":
    sys.exit(main())
