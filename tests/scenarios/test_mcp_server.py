"""An agent in a terminal works through our MCP server: a real client, server and Neovim."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentchat.core.errors import ToolError
from agentchat.mcp_server.server import OFFERED
from tests.conftest import StartEditor
from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.mcp_client import SECONDS, McpClient, SocketAgent

pytestmark = pytest.mark.slow

LINES = [f"line {n}" for n in range(1, 41)]


@pytest.fixture
def file(workspace: Path) -> Path:
    """A file of forty lines."""
    path = workspace / "long.txt"
    path.write_text("\n".join(LINES) + "\n")
    return path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The folder of the user of the first editor."""
    return tmp_path / "home0"


@pytest.fixture
def agent(home: Path, workspace: Path, listening: Editor) -> Iterator[SocketAgent]:
    """An agent in the workspace, where Neovim accepts it."""
    agent = SocketAgent(home, workspace)
    yield agent
    agent.close()


@pytest.fixture
def client(home: Path, workspace: Path) -> Iterator[McpClient]:
    """An agent that started our server in the workspace."""
    client = McpClient(home, workspace)
    yield client
    client.close()


def a_change(*numbers: int) -> dict[str, object]:
    edits = [{"old_text": f"line {n}\n", "new_text": f"LINE {n}\n"} for n in numbers]
    return {"path": "long.txt", "edits": edits}


def agent_chat(editor: Editor) -> Chat:
    """The chat that was opened for an agent."""
    return Chat(editor, editor.wait_event("AgentChatOpened"))


@pytest.fixture
def listening(offline_editor: Editor, home: Path) -> Editor:
    """An editor in which a chat was opened, so that agents find it."""
    Chat.open(offline_editor)
    wait_for_socket(offline_editor, home)
    return offline_editor


def wait_for_socket(editor: Editor, home: Path) -> None:
    sockets = home / "state" / "nvim" / "agentchat" / "agents"
    editor.wait(lambda: list(sockets.glob("*.sock")), why="it listens")


def test_one_hunk_of_three_is_rejected_and_the_agent_is_told(
    listening: Editor, client: McpClient, file: Path
) -> None:
    result = client.start("edit", a_change(5, 20, 35))
    chat = agent_chat(listening)
    chat.asked("edit")
    chat.focus()
    listening.keys("ga")
    listening.keys("]c]cxC")
    listening.type("keep that one")
    listening.keys("<CR>a")
    assert result.result(SECONDS) == (
        "Applied 2 of 3 hunks in long.txt. Rejected: hunk 2 (lines 20-20): keep that one"
    )
    assert "LINE 35" in file.read_text()
    assert "LINE 20" not in file.read_text()
    assert "Terminal Agent 2.1" in chat.status()["model"]
    chat.idle()
    chat.focus()
    listening.command("AgentUndo")
    listening.wait(lambda: file.read_text().splitlines() == LINES, why="the change is undone")


def test_a_cancelled_call_closes_its_question_and_changes_nothing(
    listening: Editor, client: McpClient, file: Path
) -> None:
    result = client.start("edit", a_change(5))
    chat = agent_chat(listening)
    chat.asked("edit")
    result.cancel()
    assert chat.event("AgentApprovalAnswered")["choice"] == "cancel"
    chat.idle()
    assert listening.floats() == []
    assert file.read_text().splitlines() == LINES
    assert "line 40" in client.call("read", path="long.txt")


def test_the_agent_stages_a_rewrite_and_resolves_it(
    listening: Editor, agent: SocketAgent, workspace: Path
) -> None:
    ops = [{"pat": "greet($X)", "out": "welcome($X)"}]
    staged = agent.call("ast_edit", ops=ops, path="src/app.py")
    assert "Call the `resolve` tool" in staged
    assert "call the `resolve` tool" in agent.call("read", path="notes.txt")
    result = agent.start("resolve", {"action": "apply", "reason": "a better name"})
    chat = agent_chat(listening)
    chat.event("AgentApprovalRequested", tool="resolve")
    chat.answer("a")
    assert "Applied" in result.result(SECONDS)
    assert 'welcome("world")' in (workspace / "src/app.py").read_text()


def test_the_agent_asks_the_user_and_hears_what_they_write(
    listening: Editor, agent: SocketAgent
) -> None:
    agent.call("ls")
    chat = agent_chat(listening)
    chat.send("use tabs")
    told = "Terminal Agent 2.1 gets this"
    listening.wait(lambda: told in chat.transcript(), why="the user is told when it is read")
    chat.idle()
    assert agent.call("read", path="notes.txt").endswith("The user wrote in Neovim: use tabs")


def test_a_chat_that_the_user_closed_is_replaced(listening: Editor, agent: SocketAgent) -> None:
    agent.call("ls")
    first = agent_chat(listening)
    listening.command(f"bwipeout! {first.buffer}")

    def is_replaced() -> bool:
        agent.call("ls")  # until the chat is closed, this goes on in it
        opened = [event.data for event in listening.events if event.name == "AgentChatOpened"]
        return bool(opened[-1]["chat"] != first.id)

    listening.wait(is_replaced, why="the agent has another chat")


def test_the_user_stays_where_they_are(listening: Editor, agent: SocketAgent) -> None:
    listening.keys("<C-\\><C-n>")
    listening.command("wincmd t")
    before = listening.eval("[win_getid(), winnr('$'), mode()]")
    agent.call("ls")
    agent_chat(listening)
    window, count, mode = before
    assert listening.eval("[win_getid(), winnr('$'), mode()]") == [window, count + 1, mode]


def test_an_agent_that_leaves_is_marked_in_its_chat(listening: Editor, agent: SocketAgent) -> None:
    agent.call("ls")
    chat = agent_chat(listening)
    agent.close()
    listening.wait(lambda: "Terminal Agent 2.1 has left." in chat.transcript(), why="it has left")
    chat.play("list files")
    assert chat.status()["model"] == "offline"


def test_an_agent_of_the_older_protocol_is_served(home: Path, workspace: Path) -> None:
    client = McpClient(home, workspace, mode="legacy")
    assert "greet.py" in client.call("ls", path="src")
    client.close()


def test_without_neovim_rules_decide(client: McpClient, home: Path, workspace: Path) -> None:
    assert "one\ntwo" in client.call("read", path="notes.txt")
    denied = client.call("bash", command="touch made")
    assert denied.startswith("Denied: nobody is here to answer. It ran isolated")
    assert "Add a rule to" in denied
    assert '"isolated": true' in denied
    assert str(home / "config" / "nvim" / "agentchat" / "rules.json") in denied
    assert "No Neovim with agentchat runs in this project" in denied
    assert not (workspace / "made").exists()
    rules = home / "config" / "nvim" / "agentchat" / "rules.json"
    rules.parent.mkdir(parents=True)
    rule = {"action": "allow", "tool": "bash", "words": ["touch", "made"]}
    rules.write_text(json.dumps({"version": 1, "rules": [rule]}))
    client.call("bash", command="touch made")
    assert (workspace / "made").exists()


def test_the_tools_are_those_of_a_chat(client: McpClient) -> None:
    tools = client.tools()
    assert set(tools) == set(OFFERED)
    claims = {name: tool.annotations for name, tool in tools.items() if tool.annotations}
    reading = {name for name, claim in claims.items() if claim.read_only_hint}
    assert reading == {"read", "grep", "find", "ls", "diagnostics"}


def test_a_host_that_dies_during_a_call_is_one_clear_error(
    listening: Editor, agent: SocketAgent, file: Path
) -> None:
    result = agent.start("edit", a_change(5))
    agent_chat(listening).asked("edit")
    os.kill(listening.wait_event("AgentHostStarted")["pid"], signal.SIGKILL)
    with pytest.raises(ToolError, match="ended during this call"):
        result.result(SECONDS)
    assert file.read_text().splitlines() == LINES
    listening.allow("the Python host ended")


@pytest.mark.parametrize("serve", [True, False])
def test_a_neovim_that_starts_later_takes_the_next_call_if_it_may(
    start_editor: StartEditor, home: Path, workspace: Path, serve: bool
) -> None:
    agent = SocketAgent(home, workspace)
    assert "No Neovim" in agent.call("bash", command="touch made")
    editor = start_editor(settings={"mcp": {"serve": serve}})
    own = Chat.open(editor)
    if serve:
        wait_for_socket(editor, home)
    own.play("list files")
    result = agent.start("bash", {"command": "touch made"})
    if serve:
        agent_chat(editor).event("AgentApprovalRequested", tool="bash")
    else:
        assert "No Neovim" in result.result(SECONDS)
    agent.close()
