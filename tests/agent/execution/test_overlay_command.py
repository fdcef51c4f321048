"""What the result of a staged command tells beside the output."""

from __future__ import annotations

import pytest

from agentchat.agent.execution.overlay_command import NO_NETWORK, READ_ONLY, TOO_LARGE, add_remarks
from agentchat.core.diff.changeset import FileChange
from agentchat.core.tools.tool import ToolOutput

CHANGED = [
    FileChange("/ws/a", b"1\n", b"1\n2\n", "a"),
    FileChange("/ws/b", b"x\n", None, "b"),
    FileChange("/ws/c", None, b"\0", "c"),
    FileChange("/ws/d//mode", b"644\n", b"755\n", "d (mode)"),
    FileChange("/ws/.git/index", b"1", b"2", ".git/index"),
    FileChange("/ws/.git//folder", None, b"755\n", ".git (folder)"),
]


def test_the_changed_files_are_on_a_line_of_their_own() -> None:
    result = add_remarks(ToolOutput("done"), CHANGED)
    assert result.text == (
        "done\n\nChanged 6 files: a (+1 -0), b (+0 -1), c (binary), d (mode), .git (2 files)"
    )
    assert add_remarks(ToolOutput("done"), CHANGED[:1]).text.endswith("Changed 1 file: a (+1 -0)")
    assert add_remarks(ToolOutput("done"), []).text == "done"


def test_a_long_list_is_cut_and_says_so() -> None:
    many = [FileChange(f"/ws/{n}", None, b"", str(n)) for n in range(39, 9, -1)]
    text = add_remarks(ToolOutput(""), many).text
    assert text.startswith("\n\nChanged 30 files: 10 (+0 -0), ")
    assert text.endswith("29 (+0 -0), and 10 more")


@pytest.mark.parametrize(
    ("output", "network", "remark"),
    [
        ("curl: (6) Could not resolve host: x", False, NO_NETWORK),
        ("npm ERR! code EAI_AGAIN", False, NO_NETWORK),
        ("psql: error: connect to localhost: Connection refused", False, NO_NETWORK),
        ("bash: line 1: 22 File size limit exceeded", False, TOO_LARGE),
        ("curl: (6) Could not resolve host: x", True, ""),
        ("touch: cannot touch '/etc/x': Read-only file system", False, READ_ONLY),
        ("1 failed, 2 passed", False, ""),
    ],
)
def test_the_reason_why_it_may_have_failed_is_said(output: str, network: bool, remark: str) -> None:
    text = add_remarks(ToolOutput(output), [], network=network).text
    assert text == (f"{output}\n\n{remark}" if remark else output)
