"""Which changes are left out until the user takes them in."""

from __future__ import annotations

import pytest

from agentchat.core.diff.changeset import FileChange
from agentchat.core.permissions.isolation import leave_out_self_running


@pytest.mark.parametrize(
    "change",
    [
        FileChange("/ws/.github/workflows/ci.yml", None, b"x\n"),
        FileChange("/ws/.git/hooks/pre-commit", None, b"x\n", ".git/hooks/pre-commit"),
        FileChange("/ws/.envrc//link", None, b"x\n", ".envrc (symlink)"),
        FileChange("/ws/.envrc", b"", b"", "envrc → .envrc", old_path="/ws/envrc"),
        FileChange("/ws/envrc", b"", b"", ".envrc → envrc", old_path="/ws/.envrc"),
    ],
)
def test_what_something_runs_by_itself_is_left_out_whatever_the_change_is(
    change: FileChange,
) -> None:
    assert leave_out_self_running(change, "/ws").left_out


@pytest.mark.parametrize(
    "change",
    [
        FileChange("/ws/src/app.py", None, b"x\n"),
        FileChange("/home/u/.git/hooks/ws/a", None, b"x\n"),
        FileChange("/ws/.git", None, None, ".git", members=(FileChange("/ws/.git/x", b"", b"1"),)),
    ],
)
def test_other_changes_and_groups_are_not(change: FileChange) -> None:
    assert not leave_out_self_running(change, "/home/u/.git/hooks/ws").left_out
