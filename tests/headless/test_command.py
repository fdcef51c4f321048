"""``python -m agentchat``: a turn without an editor, against a real server."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agentchat.app.settings import read_settings
from agentchat.app.state import State
from agentchat.app.unattended_chat import open_chat
from agentchat.headless.command import main
from agentchat.headless.output import TextView
from agentchat.journal import records as r
from agentchat.journal.index import list_saved_chats
from agentchat.journal.records import TurnFinished
from agentchat.journal.writer import JournalWriter
from tests.conftest import connected
from tests.support.launch import CHECKOUT, environment, init_file, neovim
from tests.support.model_server import ModelServer
from tests.support.replies import call, calls, status, text

pytestmark = pytest.mark.slow

WRITE = calls(call("write", {"path": "new.txt", "content": "made\n"}, "c1"))


class Home:
    """The folders of one user, who starts programs in a project."""

    def __init__(self, folder: Path, project: Path, server: ModelServer) -> None:
        self.folder = folder
        self.project = project
        self.environ = {
            **environment(folder, connected(server)),
            "PYTHONPATH": str(CHECKOUT / "python3"),
        }

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, *arguments],
            cwd=self.project,
            env=self.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, given: str = "") -> tuple[int, str, str]:
        """Run a turn; return exit code, standard output and standard error."""
        process = self.start("-m", "agentchat", *arguments)
        out, err = process.communicate(given, timeout=60)
        return process.returncode, out, err

    def events(self, *arguments: str, code: int = 0) -> list[dict[str, Any]]:
        """Return what a turn prints as JSON lines."""
        done, out, _ = self.run("--json", *arguments)
        assert done == code
        return [json.loads(line) for line in out.splitlines()]


@pytest.fixture
def home(tmp_path: Path, workspace: Path, model_server: ModelServer) -> Home:
    return Home(tmp_path / "home", workspace, model_server)


def test_the_answer_is_printed_and_the_chat_is_saved_where_neovim_lists_it(
    home: Home, model_server: ModelServer
) -> None:
    model_server.script(text("It greets."))
    assert home.run("what does it do?", "-", given="the diff\n") == (0, "It greets.\n", "")
    assert model_server.requests[0].last == "what does it do?\n\nthe diff"
    state = Path(home.environ["XDG_STATE_HOME"]) / "nvim" / "agentchat"
    (saved,) = list_saved_chats(state, str(home.project))
    assert saved.title == "what does it do?"
    model_server.script(text("Yes."))
    assert home.run("--resume", saved.chat, "sure?")[0] == 0
    assert "It greets." in str(model_server.requests[1].body["messages"])


def test_a_state_directory_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    occupied = tmp_path / "state"
    occupied.write_text("a file")
    monkeypatch.setenv("XDG_STATE_HOME", str(occupied))
    assert main(["hello"]) == 1
    assert f"Not a directory: {occupied}" in (told := capsys.readouterr().err)
    assert "set $XDG_STATE_HOME" in told


async def test_a_chat_whose_model_has_no_key_any_more_goes_on_with_the_configured_one(
    tmp_path: Path, workspace: Path
) -> None:
    state = State(tmp_path / "state")
    with closing(JournalWriter.open(state.folder, "saved")) as journal:
        journal.add(r.ModelChosen("mistral", "devstral"))
    settings = read_settings({"model": {"base_url": "http://127.0.0.1:9/v1", "name": "mine"}})
    view = TextView(io.StringIO(), err := io.StringIO())
    chat = await open_chat("saved", str(workspace), settings, state, view)
    try:
        assert chat.models.current().name == "mine"
        assert "The model of this chat cannot be used: No key: set" in err.getvalue()
    finally:
        await chat.close()


def test_what_would_ask_is_denied_with_the_rule_that_allows_it(
    home: Home, model_server: ModelServer
) -> None:
    model_server.script(WRITE, text("I could not."))
    code, out, err = home.run("make a file")
    assert (code, out) == (3, "I could not.\n")
    assert "[denied] write new.txt" in err
    rules = Path(home.environ["XDG_CONFIG_HOME"], "nvim", "agentchat", "rules.json")
    rule = '{"action": "allow", "tool": "write", "path": "new.txt"}'
    assert f"Add a rule to {rules}: {rule}" in err
    assert not (home.project / "new.txt").exists()


def test_rules_and_options_of_the_settings_count(
    home: Home, model_server: ModelServer, tmp_path: Path
) -> None:
    settings = tmp_path / "ci.json"
    rule = {"action": "allow", "tool": "write", "path": "*.txt"}
    options = {"opts": {"write": {"system_prompt": "Write plain text."}}}
    settings.write_text(json.dumps({"rules": [rule], "tools": options}), encoding="utf-8")
    model_server.script(WRITE, text("Made."))
    events = home.events("--settings", str(settings), "make a file")
    assert (home.project / "new.txt").read_text(encoding="utf-8") == "made\n"
    tool = next(event for event in events if event["type"] == "tool")
    assert (tool["tool"], tool["status"]) == ("write", "ok")
    assert "Write plain text." in str(model_server.requests[0].body["messages"])
    assert events[-1]["type"] == "end"
    assert (events[-1]["reason"], events[-1]["answer"]) == ("stop", "Made.")
    assert events[-1]["denied"] == []


def test_mode_and_model_are_chosen_on_the_command_line(
    home: Home, model_server: ModelServer
) -> None:
    model_server.script(WRITE, text("Made."))
    assert home.run("--mode", "edit", "--model", "other-model", "make a file")[0] == 0
    assert (home.project / "new.txt").exists()
    assert model_server.requests[0].body["model"] == "other-model"


def test_the_offline_planner_is_no_success_unless_it_was_asked_for(home: Home) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        home.environ.pop(name, None)
    code, out, err = home.run("list the files")
    assert code == 2
    assert out
    assert "No model is configured, so the offline planner answered." in err
    assert home.run("--model", "offline", "list the files")[0] == 0


def test_one_change_that_was_allowed_is_a_success(
    home: Home, model_server: ModelServer, tmp_path: Path
) -> None:
    settings = tmp_path / "ci.json"
    rule = {"action": "allow", "tool": "write", "path": "*.txt"}
    settings.write_text(json.dumps({"rules": [rule]}), encoding="utf-8")
    both = calls(
        call("write", {"path": "new.txt", "content": "made\n"}, "c1"),
        call("write", {"path": "new.py", "content": "made\n"}, "c2"),
    )
    model_server.script(both, text("Half of it."))
    code, _, err = home.run("--settings", str(settings), "make files")
    assert (code, "[denied] write new.py" in err) == (0, True)


def test_a_refusing_server_makes_the_exit_code_1(home: Home, model_server: ModelServer) -> None:
    model_server.script(status(401, "no such key"))
    code, out, err = home.run("hello")
    assert (code, out) == (1, "")
    assert "401" in err


@pytest.mark.parametrize(
    ("option", "name", "message"),
    [
        ("--settings", "none.json", "none.json"),
        ("--settings", "wrong.json", "did you mean 'rules'?"),
        ("--settings", "list.json", "must hold one JSON object"),
        ("--settings", "words.txt", "words.txt is not valid JSON"),
        ("--cwd", "nowhere", "nowhere"),
    ],
)
def test_wrong_arguments_are_named_and_the_exit_code_is_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, name: str, message: str
) -> None:
    for file, content in (("wrong.json", '{"rule": []}'), ("list.json", "[]"), ("words.txt", "x")):
        (tmp_path / file).write_text(content, encoding="utf-8")
    assert main([option, str(tmp_path / name), "hi"]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert message in shown.err


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tools": {"max_parallel": "4"}}, "tools.max_parallel must be a valid integer, got"),
        ({"tools": {"default": "agent"}}, 'tools.default must be a valid list, got "agent"'),
        ({"tools": {"dflt": []}}, "no setting 'tools.dflt' without an editor"),
        ({"modell": {}}, "did you mean 'model'?"),
        ({"model": {"nam": "x"}}, "no setting 'model.nam' without an editor; did you mean 'name'?"),
        ({"model": "gpt"}, "model must be a valid dictionary"),
        ({"budget": {"turn": True}}, "budget.turn must be a valid number"),
        ({"budget": {"turn": -1}}, "budget.turn must be greater than 0"),
        ({"mode": "yes"}, "mode must be 'ask', 'edit', 'plan', 'stage' or 'yolo', got"),
        ({"rules": {"action": "allow"}}, "rules must be a valid list"),
        ({"max_rounds": 1.5}, "max_rounds must be a valid integer"),
    ],
)
def test_settings_of_a_wrong_type_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], settings: dict[str, Any], message: str
) -> None:
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(settings), encoding="utf-8")
    assert main(["--settings", str(path), "hi"]) == 1
    assert f"{path}: " in (shown := capsys.readouterr().err)
    assert message in shown
    assert shown.count("\n") == 1


def test_a_reader_that_leaves_stops_the_turn_without_an_internal_error(
    home: Home, model_server: ModelServer
) -> None:
    model_server.script(text("a long answer " * 20_000))
    process = home.start("-m", "agentchat", "--json", "go")
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.close()
    process.stdout.read(10)
    process.stdout.close()
    assert process.wait(timeout=60) == 1
    assert process.stderr.read() == ""
    process.stderr.close()
    state = Path(home.environ["XDG_STATE_HOME"]) / "nvim" / "agentchat"
    (saved,) = list_saved_chats(state, str(home.project))
    with closing(JournalWriter.open(state, saved.chat)) as journal:
        ends = [record.reason for record in journal.records() if isinstance(record, TurnFinished)]
    assert ends == ["cancelled"]


def test_an_empty_prompt_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["  "]) == 1
    assert "no prompt" in capsys.readouterr().err


def test_ctrl_c_stops_the_turn_and_its_command(home: Home, model_server: ModelServer) -> None:
    model_server.script(calls(call("bash", {"command": "touch begun; sleep 60"}, "c1")))
    process = home.start("-m", "agentchat", "--mode", "yolo", "--settings", _allowing(home), "wait")
    assert process.stdin is not None
    process.stdin.close()
    while not (home.project / "begun").exists():
        assert process.poll() is None, process.communicate()
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(timeout=20) == 130
    assert process.stderr is not None
    assert "Stopped by you." in process.stderr.read()
    for stream in (process.stdout, process.stderr):
        assert stream is not None
        stream.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda each: each.name)
@pytest.mark.parametrize("blocked", [False, True], ids=["command", "blocked loop"])
def test_a_signal_ends_a_turn_that_hangs(
    home: Home, model_server: ModelServer, number: signal.Signals, blocked: bool
) -> None:
    command = "trap '' TERM INT; touch begun; while true; do sleep 60; done"
    model_server.script(calls(call("bash", {"command": command, "direct": True}, "c1")))
    settings = home.folder / "allow.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(json.dumps({"rules": [{"action": "allow", "tool": "bash"}]}))
    wanted = ["-m", "agentchat", "--mode", "yolo", "--settings", str(settings), "wait"]
    if blocked:
        # What no code of ours does: a call in the loop that never returns.
        code = (
            "import sys, pathlib, time\n"
            "import agentchat.agent.session as s, agentchat.headless.command as c\n"
            "def send(*_, **__):\n    pathlib.Path('begun').touch()\n    time.sleep(600)\n"
            "s.Session.send = send\n"
            "sys.exit(c.main(['wait']))"
        )
        wanted = ["-c", code]
    process = home.start(*wanted)
    assert process.stdin is not None
    process.stdin.close()
    while not (home.project / "begun").exists():
        assert process.poll() is None, process.communicate()
    os.kill(process.pid, number)
    began = time.monotonic()
    assert process.wait(timeout=20) == 130
    assert time.monotonic() - began < 6
    for stream in (process.stdout, process.stderr):
        assert stream is not None
        stream.close()


def _allowing(home: Home) -> str:
    path = home.folder / "allow.json"
    path.parent.mkdir(exist_ok=True)
    rules = [{"action": "allow", "tool": "bash", "words": [word]} for word in ("touch", "sleep")]
    path.write_text(json.dumps({"rules": rules}), encoding="utf-8")
    return str(path)


@pytest.mark.neovim
@pytest.mark.parametrize(
    ("reply", "code", "shown"),
    [
        ([text("It greets.")], 0, "It greets."),
        ([status(401, "no such key")], 1, "401"),
        ([WRITE, text("I could not.")], 3, "I could not."),
    ],
)
def test_neovim_without_a_screen_prints_the_turn_and_exits(
    home: Home, model_server: ModelServer, reply: Any, code: int, shown: str
) -> None:
    model_server.script(*reply)
    init = init_file(home.folder, {"python": sys.executable})
    done = subprocess.run(
        [neovim(), "--headless", "-u", init, "-i", "NONE", "+AgentChat what does it do?"],
        cwd=home.project,
        env=home.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert shown in done.stdout


def test_the_program_agentchat_runs_no_program_of_the_project(home: Home) -> None:
    marks = home.folder / "marks"
    marks.mkdir(parents=True)
    for name in ("python3", "readlink", "dirname", "sh"):
        program = home.project / name
        program.write_text(f"#!/bin/sh\ntouch {marks}/{name}\n")
        program.chmod(0o755)
    path = f".:{home.project}:{os.path.dirname(sys.executable)}:/usr/bin:/bin"
    done = subprocess.run(
        [str(CHECKOUT / "bin/agentchat"), "--help"],
        cwd=home.project,
        env={**home.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    assert "usage: python -m agentchat" in done.stdout
    assert os.listdir(marks) == []


def test_text_from_a_pipe_is_data_and_mentions_read_no_secrets(
    home: Home, model_server: ModelServer
) -> None:
    (home.project / ".env").write_text("hidden\n")
    (home.project.parent / "beside.txt").write_text("hidden\n")
    piped = "/compact\n#file:.env #file:notes.txt #dir:. @bash #url:http://127.0.0.1:1/"
    model_server.script(text("Yes."), text("Yes."))
    code, _, err = home.run("review", "-", given=piped)
    assert (code, err) == (0, "")
    assert model_server.requests[0].last == f"review\n\n{piped}"
    _, _, err = home.run("see #file:.env and #file:../beside.txt")
    assert model_server.requests[1].last == "see #file:.env and #file:../beside.txt"
    assert "Nothing is attached for #file:.env: Denied" in err
    assert "Nothing is attached for #file:../beside.txt: Denied" in err


def test_nothing_of_a_model_reaches_the_terminal_as_a_sequence(
    home: Home, model_server: ModelServer
) -> None:
    hostile = "".join(map(chr, (*range(1, 9), *range(11, 32), *range(127, 160))))
    for options in ((), ("--json",)):
        bad = calls(call(f"x{hostile}", {"path": hostile}, "c1"))
        model_server.script(bad, text(f"Yes {hostile}\u2764\ufe0f."))
        _, out, err = home.run(*options, "go")
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", out + err)
        assert options or "\u2764\ufe0f." in out


@pytest.mark.parametrize(
    "program",
    [[str(CHECKOUT / "bin/agentchat")], [sys.executable, "-P", "-m", "agentchat"]],
    ids=["bin/agentchat", "python -P"],
)
def test_nothing_of_a_hostile_folder_is_imported(home: Home, program: list[str]) -> None:
    marks = home.folder / "marks"
    marks.mkdir(parents=True)
    names = ("agentchat", "json", "asyncio", "importlib", "runpy", "argparse", "sitecustomize")
    for name in names:
        code = f"open({str(marks / name)!r}, 'w')\n"
        (home.project / f"{name}.py").write_text(code)
        (home.project / name).mkdir()
        (home.project / name / "__init__.py").write_text(code)
    done = subprocess.run(
        [*program, "--help"], cwd=home.project, env=home.environ, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "Run one turn" in done.stdout
    assert list(marks.iterdir()) == []
