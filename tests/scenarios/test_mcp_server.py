"""An agent in a terminal works through our MCP server: a real client, server and Neovim."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.mcp_client import SECONDS, McpClient, text_of

LINES = [f"line {n}" for n in range(1, 41)]

Connect = Callable[..., McpClient]


@pytest.fixture
def file(workspace: Path) -> Path:
    """A file of forty lines."""
    path = workspace / "long.txt"
    path.write_text("\n".join(LINES) + "\n")
    return path


@pytest.fixture
def connect(tmp_path: Path, workspace: Path) -> Iterator[Connect]:
    """Start agents of the user of the first editor."""
    clients: list[McpClient] = []

    def start(*more: str, **about: str) -> McpClient:
        home = tmp_path / "home0"
        clients.append(McpClient(sys.executable, home, workspace, *more, **about))
        return clients[-1]

    yield start
    for client in clients:
        client.close()


def a_change(*numbers: int) -> dict[str, object]:
    edits = [{"old_text": f"line {n}\n", "new_text": f"LINE {n}\n"} for n in numbers]
    return {"path": "long.txt", "edits": edits}


def agent_chat(editor: Editor) -> Chat:
    """The chat that was opened for an agent."""
    return Chat(editor, editor.wait_event("AgentChatOpened"))


@pytest.fixture
def listening(offline_editor: Editor, tmp_path: Path) -> Editor:
    """An editor in which a chat was opened, so that agents find it."""
    Chat.open(offline_editor)
    sockets = tmp_path / "home0" / "state" / "nvim" / "agentchat" / "agents"
    offline_editor.wait(lambda: list(sockets.glob("*.sock")), why="it listens")
    return offline_editor


def test_one_hunk_of_three_is_rejected_and_the_agent_is_told(
    listening: Editor, connect: Connect, file: Path
) -> None:
    client = connect()
    result = client.start("edit", a_change(5, 20, 35))
    chat = agent_chat(listening)
    chat.asked("edit")
    chat.focus()
    listening.keys("ga")
    listening.keys("]c]cxC")
    listening.type("keep that one")
    listening.keys("<CR>a")
    assert text_of(result.result(SECONDS)) == (
        "Applied 2 of 3 hunks in long.txt. Rejected: hunk 2 (lines 20-20): keep that one"
    )
    assert "LINE 35" in file.read_text()
    assert "LINE 20" not in file.read_text()
    assert "Terminal Agent 2.1" in chat.status()["model"]
    chat.idle()
    chat.focus()
    listening.command("AgentUndo")
    listening.wait(lambda: file.read_text().splitlines() == LINES, why="the change is undone")
