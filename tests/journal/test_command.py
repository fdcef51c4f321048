"""``python -m agentchat.journal``: prints a journal and names what is wrong with it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from agentchat.core.messages import UserText
from agentchat.journal import records as r
from agentchat.journal.__main__ import main
from agentchat.journal.file import JournalFile
from agentchat.journal.reader import read_records
from agentchat.journal.undo_plan import read_contents

MESSAGES = (r.ChatOpened("c", "/p"), r.TurnStarted(1), r.MessageRecorded(UserText("go on")))
END = r.TurnFinished(1, "stop")
FILE = r.RecordedFile("/p/a", None, "f" * 64)


def a_journal(state: Path, *records: r.Record) -> Path:
    """Write a journal and return its path."""
    journal = JournalFile.open(state, "c")
    journal.append(*records)
    journal.close()
    return journal.path


def test_a_whole_journal_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = a_journal(tmp_path, *MESSAGES, END)
    assert main([str(path)]) == 0
    shown = capsys.readouterr()
    assert "turn 1 finished: stop" in shown.out
    assert shown.err == ""
    assert main([str(path), "--json"]) == 0
    kinds = [json.loads(line)["kind"] for line in capsys.readouterr().out.splitlines()]
    assert kinds == ["opened", "turn_started", "said", "turn_finished"]


def test_a_byte_that_was_changed_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = JournalFile.open(tmp_path, "c")
    journal.append(*MESSAGES, END)
    stored = journal.store(b"before the change")
    journal.close()
    assert main([str(journal.path), "--check"]) == 0
    data = journal.path.read_bytes()
    journal.path.write_bytes(data.replace(b"before", b"befort"))
    assert main([str(journal.path), "--check"]) == 1
    assert f"the bytes stored as {stored[:12]} were changed" in capsys.readouterr().err
    assert read_contents(read_records(journal.path), {stored}) == {}


@pytest.mark.parametrize("options", [(), ("--json",), ("--decisions",)])
def test_nothing_of_a_journal_reaches_the_terminal_as_a_sequence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    hostile = "".join(map(chr, (*range(9), *range(11, 32), *range(127, 160)))) + "\udc9b"
    said = r.MessageRecorded(UserText(f"a{hostile}b"))
    call = r.CallStarted(f"c{hostile}", f"bash{hostile}")
    path = a_journal(tmp_path, *MESSAGES, said, call, END)
    main([str(path), *options])
    shown = "".join(capsys.readouterr())
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", shown)
    if options == ("--json",):
        texts = [json.loads(line) for line in shown.splitlines() if line.startswith("{")]
        assert any(
            f"a{hostile}b" in str(each["message"]["text"]) for each in texts if "message" in each
        )


@pytest.mark.parametrize(
    ("records", "problem"),
    [
        ((), "turn 1 did not end"),
        ((r.CallStarted("c1", "bash"), END), "the call of bash (c1) did not end"),
        ((r.ChangeStarted("c1", ()), END), "the change of  (c1) did not end"),
        (
            (r.ChangeStarted("c1", (FILE,)), r.ChangeApplied("c1"), END),
            "the bytes of /p/a (c1) are missing",
        ),
    ],
)
def test_what_is_wrong_is_named(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    records: tuple[r.Record, ...],
    problem: str,
) -> None:
    path = a_journal(tmp_path, *MESSAGES, *records)
    assert main([str(path), "--check"]) == 1
    assert capsys.readouterr() == ("", f"agentchat.journal: {problem}\n")


def test_a_damaged_tail_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = a_journal(tmp_path, *MESSAGES, END)
    size = path.stat().st_size
    path.write_bytes(path.read_bytes() + b"\x85abc")
    assert main([str(path), "--check"]) == 1
    assert f"4 bytes after byte {size} are no whole record" in capsys.readouterr().err


def test_what_is_no_journal_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "words.txt"
    path.write_text("words", encoding="utf-8")
    assert main([str(path)]) == 2
    assert main([str(tmp_path / "none")]) == 2
    assert "No such file" in capsys.readouterr().err
