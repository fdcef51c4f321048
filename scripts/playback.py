"""Play a scripted conversation in a real Neovim and check that each step happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pynvim

LIMIT = 90
"""Seconds the whole script may take."""
GRACE = 5
"""Seconds more after which a Neovim that no longer answers is killed."""
SIZE = (120, 40)
"""Columns and rows of the screen."""

LISTEN = """
local channel, limit = ...
vim.api.nvim_create_autocmd('User', {
  pattern = 'Agent*',
  callback = function(event) vim.rpcnotify(channel, 'event', event.match, event.data) end,
})
vim.defer_fn(function() vim.rpcnotify(channel, 'event', 'TimeIsOver', {}) end, limit * 1000)
"""
SEND = "return require('agentchat').send(...)"
STATUS = "return require('agentchat').status(...)"
STOP = "require('agentchat').stop(...)"
ENDS = ("AgentTurnFinished", "AgentHostExited", "TimeIsOver")
PIECES = 5
"""Changes of the chat after which an answer counts as streamed."""

RESOLVE = """
local buf, line = ...
vim.api.nvim_buf_call(buf, function() vim.cmd.AgentResolve({ args = { 'apply', line } }) end)
"""


class ScriptError(Exception):
    """A step of the script did not happen; the message says which."""


@dataclass(frozen=True)
class Line:
    """A message of the user, the answer to approval requests, and the calls that must follow."""

    message: str
    calls: tuple[tuple[str, str], ...]
    """Tools and how their calls end, in order; other calls may come in between."""
    answer: str = ""
    """Arguments of `:AgentApprove` for every approval request."""


SCRIPT = [
    Line("read shop/pricing.py", calls=(("read", "success"),)),
    Line(
        "replace 'VAT = 19' with 'VAT = 20' in shop/pricing.py",
        answer="accept",
        calls=(("edit", "success"),),
    ),
    Line(
        "rename get_price to price_of in **/*.py",
        answer="accept",
        calls=(("ast_edit", "success"), ("resolve", "success")),
    ),
    Line(
        "run: rm -r tests",
        answer="reject the tests stay",
        calls=(("bash", "rejected"),),
    ),
]


def play(command: list[str], project: Path, env: Mapping[str, str]) -> str:
    """Play the script in a Neovim started by ``command`` and return the chat's text.

    Raises:
        ScriptError: something did not happen.
    """
    with started(command, project, env) as nvim:
        chat = Chat(nvim)
        for line in SCRIPT:
            print(f"agentchat: > {line.message}", flush=True)
            chat.play(line)
        text = chat.text()
    check_project(project)
    return text


STORY = "Tell me a short story about a lighthouse."
COUNT = "Count from one to one hundred, in words."


def talk(command: list[str], project: Path, env: Mapping[str, str]) -> str:
    """Talk to a language model and stop its second answer; return the chat's text.

    Raises:
        ScriptError: no answer was streamed or counted, or the stop had no effect.
    """
    with started(command, project, env) as nvim:
        chat = Chat(nvim)
        print(f"agentchat: > {STORY}", flush=True)
        chat.stream(STORY)
        reason = chat.wait("AgentTurnFinished")["reason"]
        tokens = chat.status()["tokens"]
        print(f"agentchat:   answered: {tokens} tokens", flush=True)
        if reason != "stop" or not tokens:
            raise ScriptError(f"no answer was counted ({reason}):\n{chat.text()}")
        print(f"agentchat: > {COUNT}", flush=True)
        chat.stream(COUNT)
        began = time.monotonic()
        nvim.exec_lua(STOP, chat.buf)
        reason = chat.wait("AgentTurnFinished")["reason"]
        print(f"agentchat:   {reason} after {time.monotonic() - began:.2f} s", flush=True)
        if reason != "cancelled":
            raise ScriptError(f"the stop ended the turn with {reason!r}:\n{chat.text()}")
        return chat.text()


@contextmanager
def started(command: list[str], project: Path, env: Mapping[str, str]) -> Iterator[Any]:
    """Start Neovim with a screen of our own; it is killed when the time is over."""
    settings = [f"{name}={value}" for name, value in env.items()]
    os.chdir(project)
    nvim = pynvim.attach("child", argv=["env", "-i", *settings, *command, "--embed"])
    pid = nvim.funcs.getpid()
    timer = threading.Timer(LIMIT + GRACE, os.kill, (pid, signal.SIGKILL))
    timer.daemon = True
    timer.start()
    try:
        yield nvim
    except pynvim.NvimError as error:
        raise ScriptError(f"Neovim refused a command: {error}") from error
    finally:
        leave(nvim)
        timer.cancel()


def leave(nvim: Any) -> None:
    """Quit Neovim and read until its end, so that no process is left."""
    with suppress(OSError, EOFError):
        nvim.quit()
        while nvim.next_message():
            pass
    nvim.close()


@dataclass
class Chat:
    """The chat that the init file of the demo opens, and its events."""

    nvim: Any
    buf: int = 0
    calls: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Draw the screen, which starts the editor, and wait for the chat."""
        self.nvim.exec_lua(LISTEN, self.nvim.channel_id, LIMIT)
        self.nvim.ui_attach(*SIZE, rgb=True, ext_linegrid=True)
        self.buf = self.wait("AgentChatOpened")["buf"]

    def play(self, line: Line) -> None:
        """Send a line, answer approval requests, and check how the calls end."""
        self.calls.clear()
        self.nvim.exec_lua(SEND, self.buf, line.message)
        self.finish_turn(line)
        self.resolve()
        if not is_subsequence(line.calls, self.calls):
            problem = f"after {line.message!r} the calls were {self.calls}, not {line.calls}"
            raise ScriptError(f"{problem}; the chat says:\n{self.text()}")

    def finish_turn(self, line: Line) -> None:
        """Follow the turn to its end."""
        for name, data in self.events(f"the end of the turn for {line.message!r}"):
            if name == "AgentApprovalRequested":
                self.answer(data["tool"], line.answer or "reject")
            elif name == "AgentToolFinished":
                self.calls.append((data["tool"], data["status"]))
            elif name == "AgentTurnFinished":
                if data["reason"] != "stop":
                    problem = f"the turn for {line.message!r} ended with {data['reason']!r}"
                    raise ScriptError(f"{problem}; the chat says:\n{self.text()}")
                return

    def status(self) -> dict[str, Any]:
        """Return the state of the chat."""
        return self.nvim.exec_lua(STATUS, self.buf)  # type: ignore[no-any-return]

    def stream(self, message: str) -> None:
        """Send a message and follow its answer until some pieces of it have come."""
        self.nvim.exec_lua(SEND, self.buf, message)
        self.wait("AgentTurnStarted")
        self.nvim.api.buf_attach(self.buf, False, {})
        pieces = 0
        while pieces < PIECES:
            _kind, method, arguments = self.next_message("an answer")
            pieces += method == "nvim_buf_lines_event"
            if method == "event" and arguments[0] in ENDS:
                raise ScriptError(f"no answer was streamed ({arguments[0]}):\n{self.text()}")
        self.nvim.api.buf_detach(self.buf)

    def answer(self, tool: str, answer: str) -> None:
        """Answer the approval request that is shown."""
        print(f"agentchat:   approval for {tool}: {answer}", flush=True)
        self.nvim.command(f"AgentApprove {answer}")

    def resolve(self) -> None:
        """Apply a preview that the turn left pending."""
        if self.status()["pending"]:
            self.nvim.exec_lua(RESOLVE, self.buf, "looks right")
            status = self.wait("AgentPreviewResolved")["status"]
            self.calls.append(("resolve", status))

    def wait(self, event: str) -> dict[str, Any]:
        """Wait for an event and return its data."""
        return next(data for name, data in self.events(event) if name == event)

    def events(self, awaited: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the plugin's events as they come."""
        while True:
            _kind, method, arguments = self.next_message(awaited)
            if method != "event":
                continue
            name, data = arguments
            if name in ("AgentHostExited", "TimeIsOver"):
                raise ScriptError(
                    f"waited for {awaited}, got {name}; Neovim says: {self.messages()}"
                )
            yield name, data

    def next_message(self, awaited: str) -> tuple[str, str, list[Any]]:
        """Return Neovim's next message: its kind, its name and its arguments."""
        try:
            if message := self.nvim.next_message():
                return message  # type: ignore[no-any-return]
        except (OSError, EOFError):
            pass
        raise ScriptError(f"waited for {awaited}, but Neovim ended")

    def text(self) -> str:
        """Return the text of the chat."""
        return "\n".join(self.nvim.api.buf_get_lines(self.buf, 0, -1, False))

    def messages(self) -> str:
        """Return the messages of Neovim so far."""
        return str(self.nvim.command_output("messages")).strip()


def is_subsequence(expected: Iterable[object], seen: Iterable[object]) -> bool:
    """Tell whether all that was expected was seen, in this order."""
    rest = iter(seen)
    return all(item in rest for item in expected)


def check_project(project: Path) -> None:
    """Check that the files have the changes of the chat, and that the project still works."""
    code = "\n".join(path.read_text() for path in project.rglob("*.py"))
    if "get_price" in code or "price_of" not in code:
        raise ScriptError("get_price was not renamed everywhere")
    if "VAT = 20" not in code:
        raise ScriptError("the edit of VAT is not in the file")
    tests = [sys.executable, "-m", "unittest", "-q"]
    done = subprocess.run(tests, cwd=project, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ScriptError(f"the project's tests fail:\n{done.stderr}")
