"""A journal as JSON lines: readable by any program, and never over another file."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from agentchat.core.errors import UserError
from agentchat.core.messages import Image, Reply, ToolCall, ToolResult, UserText
from agentchat.journal import records as r
from agentchat.journal.export import export_journal, json_lines

RECORDS: list[r.Record] = [
    r.ChatOpened("c", "/work", "offline", "0.1.0", time=1_700_000_000.5),
    r.MessageRecorded(UserText("né\ud800", images=(Image("image/png", b"\0"),))),
    r.MessageRecorded(Reply(calls=(ToolCall("1", "bash", '{"command": "ls"}'),))),
    r.DecisionMade(
        "1", "bash", "`ls` in /work", "accept", "fine", "user", asked="it has an effect"
    ),
    r.CallStarted("1", "bash", {"command": "ls", "odd": float("nan")}, destructive=True),
    r.ReplyProgress("so far"),
    r.ContentStored("0", b"secret bytes"),
    r.MessageRecorded(ToolResult("1", "bash", "text")),
    r.UnknownRecord({"v": 9, "kind": "later", "x": 1}),
]


def test_each_record_is_a_json_object_with_time_and_kind() -> None:
    lines = [json.loads(line) for line in json_lines(RECORDS)]
    assert [line["kind"] for line in lines] == [
        "opened", "said", "said", "decided", "call_started", "said", "later",
    ]  # fmt: skip
    assert lines[0]["time"] == "2023-11-14T22:13:20.500+00:00"
    decided = lines[3]
    assert {name: decided[name] for name in ("tool", "verdict", "who", "why", "asked")} == {
        "tool": "bash",
        "verdict": "accept",
        "who": "user",
        "why": "fine",
        "asked": "it has an effect",
    }
    assert lines[4]["arguments"] == {"command": "ls", "odd": "nan"}


def test_the_bytes_of_files_are_left_out() -> None:
    assert "secret" not in "".join(json_lines(RECORDS))


def test_an_export_is_private_and_replaces_no_file_unless_told(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    assert export_journal(RECORDS, path) == 7
    assert len(path.read_bytes().splitlines()) == 7
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(UserError, match=r"log\.jsonl exists\. Overwrite it with :AgentLog! export"):
        export_journal(RECORDS[:1], path)
    assert export_journal(RECORDS[:1], path, overwrite=True) == 1
    assert len(path.read_bytes().splitlines()) == 1


@pytest.mark.parametrize("name", ["missing/log.jsonl", "."])
def test_a_path_that_cannot_be_written_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="Choose another path"):
        export_journal(RECORDS, tmp_path / name, overwrite=True)
