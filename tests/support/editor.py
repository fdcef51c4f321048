"""A real Neovim with a screen, driven by a test.

    editor.command("AgentChat")
    editor.keys("ihello<C-s>")
    editor.wait_event("AgentTurnFinished", reason="stop")
    assert "hello" in editor.text()

All waiting is for something: what is asked for is looked at again whenever Neovim tells of a
change. A wait that fails shows the screen, the events and the messages.
"""

from __future__ import annotations

import queue
import re
import shutil
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from concurrent.futures import wait as wait_for
from itertools import groupby
from pathlib import Path
from typing import Any

from . import launch, processes
from .grid import Grid, Look
from .rpc import RpcError, Unanswered
from .shown import Area, Event, Float, Notice

PATIENCE = 40.0
"""Seconds a wait may take before the test fails: a busy machine is ten times slower."""

STEP = 0.02
"""Seconds after which a request without an answer is looked into."""

TICK = 0.05
"""Seconds between two looks at something Neovim does not tell of, like a file."""

ERROR = 4
"""``vim.log.levels.ERROR``"""

TROUBLE = re.compile(
    r"^E\d+:|Traceback \(most recent|stack traceback:|^Error |: E\d+: |Press ENTER", re.MULTILINE
)
"""What must not stand in ``:messages``."""


class Editor:
    """One Neovim process. Nothing of it outlives ``close``."""

    def __init__(
        self,
        home: Path,
        workspace: Path,
        *,
        settings: Mapping[str, Any] | None = None,
        env: Mapping[str, str] | None = None,
        init: str = "",
        size: tuple[int, int] = (100, 30),
        parents: Callable[[], Mapping[int, int]] = dict,
    ) -> None:
        """Start Neovim.

        Args:
            parents: processes that belong below Neovim but were forked elsewhere: pid to parent.
        """
        self.workspace = workspace
        self._parents = parents
        self.grid = Grid()
        self.events: list[Event] = []
        self.notices: list[Notice] = []
        self._allowed: list[str] = []
        self._env = launch.environment(home, env or {})
        init_file = launch.init_file(home, settings, init)
        self.process = launch.start(init_file, workspace, self._env)
        self._peer = launch.connect(self.process)
        try:
            self._attach(*size)
        except BaseException:
            self.close()
            raise

    # --- doing ------------------------------------------------------------------------------

    def command(self, command: str) -> str:
        """Run an Ex command and return what it printed; an error of it is raised."""
        return str(self.request("nvim_exec2", command, {"output": True}).get("output", ""))

    def lua(self, code: str, *args: Any) -> Any:
        """Run Lua in the editor; ``args`` are its ``...``."""
        return self.request("nvim_exec_lua", code, list(args))

    def eval(self, expression: str) -> Any:
        """Evaluate a Vim expression."""
        return self.request("nvim_eval", expression)

    def request(self, method: str, *args: Any) -> Any:
        """Call the API; where Neovim stands at a prompt instead of answering, say so."""
        try:
            answer = self._peer.start(method, *args)
            self._await(answer)
            return answer.result(0)
        except (Unanswered, FutureTimeout) as error:
            raise AssertionError(f"No answer to {method}: {error}\n{self.report()}") from error

    def _await(self, answer: Future[Any]) -> None:
        """Wait for an answer, but not while Neovim waits for a key."""
        until = time.monotonic() + PATIENCE
        stuck = 0
        while not answer.done() and time.monotonic() < until and stuck < 3:
            wait_for([answer], timeout=STEP * (1 + stuck))
            stuck = stuck + 1 if not answer.done() and self._stuck() else 0

    def _stuck(self) -> bool:
        try:
            return self.blocking()
        except Unanswered:  # busy, which is something else
            return False

    def keys(self, keys: str) -> None:
        """Type ``keys`` as a user would, and return when Neovim has taken them in."""
        self._peer.request("nvim_input", keys.replace("<lt>", "<LT>"))
        self._await(self._peer.start("nvim_eval", "1"))
        self.drain()

    def start(self, method: str, *args: Any) -> Future[Any]:
        """Call the API without waiting for the answer."""
        return self._peer.start(method, *args)

    def type(self, text: str) -> None:
        """Type ``text`` literally: nothing in it is a key's name."""
        self.keys(text.replace("<", "<LT>").replace("\n", "<CR>"))

    def resize(self, width: int, height: int) -> None:
        """Change the size of the screen."""
        self.request("nvim_ui_try_resize", width, height)
        self.wait(lambda: (len(self.grid.rows), len(self.grid.rows[0])) == (height, width))

    # --- waiting ----------------------------------------------------------------------------

    def wait(self, what: str | Callable[[], Any], *, why: str = "", limit: float = PATIENCE) -> Any:
        """Wait until ``what`` (a Lua expression, or a function) is true; return its value."""
        until = time.monotonic() + limit
        while True:
            self.drain()
            value = self.lua(f"return {what}") if isinstance(what, str) else what()
            if value:
                return value
            if time.monotonic() > until:
                wish = why or (what if isinstance(what, str) else "what the test waits for")
                raise AssertionError(f"Not within {limit} s: {wish}\n{self.report()}")
            self._listen(TICK)

    def wait_event(self, name: str, *, limit: float = PATIENCE, **match: Any) -> dict[str, Any]:
        """Wait for a ``User`` event with these data; each event is returned once."""

        def find() -> Event | None:
            fitting = (e for e in self.events if e.name == name and not e.awaited)
            return next((e for e in fitting if match.items() <= e.data.items()), None)

        event: Event = self.wait(find, why=f"event {name} {match or ''}", limit=limit)
        event.awaited = True
        return event.data

    def wait_notice(self, pattern: str, *, limit: float = PATIENCE) -> str:
        """Wait for a ``vim.notify`` whose text has ``pattern``; return the text."""

        def find() -> Notice | None:
            fresh = (n for n in self.notices if not n.awaited)
            return next((n for n in fresh if re.search(pattern, n.text)), None)

        notice: Notice = self.wait(find, why=f"notice {pattern!r}", limit=limit)
        notice.awaited = True
        return notice.text

    def wait_screen(self, text: str, *, limit: float = PATIENCE) -> None:
        """Wait until ``text`` stands in a row of the screen."""
        self.wait(lambda: self.grid.find(text), why=f"{text!r} on the screen", limit=limit)

    def wait_text(self, text: str, buffer: int = 0, *, limit: float = PATIENCE) -> None:
        """Wait until ``text`` stands in the buffer."""
        self.wait(lambda: text in self.text(buffer), why=f"{text!r} in the buffer", limit=limit)

    def settle(self, seconds: float) -> None:
        """Let ``seconds`` pass, for tests of what must not happen meanwhile."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self._listen(left)

    # --- looking ----------------------------------------------------------------------------

    def screen(self) -> list[str]:
        """The text of the screen, row by row."""
        if not self.blocking():
            self.request("nvim_command", "redraw")
        self.drain()
        return self.grid.lines()

    def look(self, text: str) -> Look:
        """How the first character of ``text`` is drawn on the screen."""
        self.screen()
        place = self.grid.find(text)
        assert place, f"{text!r} is not on the screen\n{self.report()}"
        return self.grid.look(*place)

    def groups(self, text: str, buffer: int = 0) -> set[str]:
        """Highlight groups of the extmarks on the first character of ``text`` in a buffer."""
        found: list[str] = self.lua(_GROUPS, text, buffer)
        return set(found)

    def text(self, buffer: int = 0) -> str:
        """The text of a buffer (default: the current one)."""
        return "\n".join(self.request("nvim_buf_get_lines", buffer, 0, -1, True))

    def floats(self) -> list[Float]:
        """All floating windows, the topmost first."""
        return [Float(**found | {"area": Area(**found["area"])}) for found in self.lua(_FLOATS)]

    def float_text(self) -> str:
        """Title, text and footer of the topmost float; empty without one."""
        return next((found.text for found in self.floats()), "")

    def status(self, buffer: int = 0) -> dict[str, Any]:
        """``require('agentchat').status(buffer)``."""
        status: dict[str, Any] = self.lua("return require('agentchat').status(...)", buffer)
        return status

    def messages(self) -> str:
        """``:messages``."""
        return self.command("messages")

    def mode(self) -> str:
        """The mode as ``nvim_get_mode`` names it."""
        return str(self._peer.request("nvim_get_mode")["mode"])

    def blocking(self) -> bool:
        """Whether Neovim waits for a key before it answers anything, as at a hit-enter prompt."""
        return bool(self._peer.request("nvim_get_mode", limit=5)["blocking"])

    def children(self) -> list[int]:
        """Pids of all processes below this Neovim: the plugin's host and what it runs."""
        return processes.descendants(self.process.pid, self._parents())

    def report(self) -> str:
        """Screen, events and notices, for a person who reads a failed test."""
        self.drain()
        events = [f"  {event.name} {event.data}" for event in self.events[-40:]]
        notices = [f"  [{notice.level}] {notice.text}" for notice in self.notices]
        rows = groupby(self.grid.lines())
        screen = [f"  |{row}" for row, same in rows for _ in range(min(2, len(list(same))))]
        return "\n".join(["screen:", *screen, "events:", *events, "notices:", *notices])

    # --- ending -----------------------------------------------------------------------------

    def allow(self, pattern: str) -> None:
        """Expect errors with ``pattern`` in ``:messages`` or in notices."""
        self._allowed.append(pattern)

    def complaints(self) -> list[str]:
        """What would worry a user: errors shown, or a prompt that waits for a key."""
        if self.process.poll() is not None:
            return ["Neovim has exited"]
        if self.blocking():
            return [f"Neovim waits for a key:\n{self.report()}"]
        self.drain()
        shown = [line for line in self.messages().splitlines() if TROUBLE.search(line)]
        loud = [n.text for n in self.notices if n.level >= ERROR and not n.awaited]
        return [text for text in (*shown, *loud) if not self._is_allowed(text)]

    def finish(self) -> None:
        """Close, and fail the test if there is anything to complain of or a process is left."""
        try:
            complaints = self.complaints()
        finally:
            left = self.close()
        complaints += [f"still running after the editor: {command}" for command in left.values()]
        assert not complaints, "\n".join(complaints)

    def close(self) -> dict[int, str]:
        """Quit; kill what does not go by itself within 2 s and return its commands by pid."""
        children = self.children()
        self._quit()
        left = processes.wait_gone(children, 2.0)
        processes.kill(left)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()
        shutil.rmtree(self._env["XDG_RUNTIME_DIR"], ignore_errors=True)
        return left

    def _quit(self) -> None:
        try:
            if self.blocking():
                self._peer.start("nvim_input", "<C-c>")
            self._peer.start("nvim_command", "qall!")
            self.process.wait(3)
        except Exception:
            processes.kill([self.process.pid])
            self.process.wait()

    def _is_allowed(self, text: str) -> bool:
        return any(re.search(pattern, text) for pattern in self._allowed)

    # --- plumbing ---------------------------------------------------------------------------

    def _attach(self, width: int, height: int) -> None:
        options = {"rgb": True, "ext_linegrid": True, "ext_hlstate": True}
        self.request("nvim_ui_attach", width, height, options)
        self.wait("vim.v.vim_did_enter == 1", why="Neovim has started")
        channel = self.request("nvim_get_api_info")[0]
        self.lua((Path(__file__).parent / "probe.lua").read_text(), channel)

    def drain(self) -> None:
        """Take in all that Neovim has told so far."""
        while not self._peer.inbox.empty():
            self._take(*self._peer.inbox.get())

    def _listen(self, seconds: float) -> None:
        try:
            self._take(*self._peer.inbox.get(timeout=seconds))
        except queue.Empty:
            return

    def _take(self, name: str, args: list[Any]) -> None:
        if name == "redraw":
            self.grid.redraw(args)
        elif name == "test_event":
            self.events.append(Event(args[0], args[1]))
        elif name == "test_notice":
            self.notices.append(Notice(str(args[0]), args[1]))


_FLOATS = (Path(__file__).parent / "floats.lua").read_text()
_GROUPS = (Path(__file__).parent / "groups.lua").read_text()

__all__ = ["Editor", "Event", "Float", "Notice", "RpcError"]
