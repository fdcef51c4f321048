"""Events of Lua reach their chat in order, while it is opened and closed as well."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from agentchat.app.state import State
from agentchat.nvim.router import Router


class Neovim:
    """Keeps what Lua is told; no file is loaded there."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self._changed = asyncio.Event()

    def notify(self, level: str, text: str) -> None:
        self.call(f"notify.{level}", text)

    def call(self, *args: Any) -> None:
        self.calls.append(args)
        self._changed.set()

    async def request(self, name: str, *args: Any) -> Any:
        return [False for _ in args[0]] if name == "buffers.look" else []

    async def until(self, seen: Callable[[], bool]) -> None:
        """Wait until something was called that makes ``seen`` true."""

        async def look() -> None:
            while not seen():
                self._changed.clear()
                await self._changed.wait()

        await asyncio.wait_for(look(), 10)

    def notices(self) -> list[str]:
        """Return the lines that were shown to the user."""
        return [str(call[-1]) for call in self.calls if str(call[0]).startswith("notify.")]

    def drawn(self) -> str:
        """Return all that was drawn in chats."""
        return str([call for call in self.calls if call[0] == "chat.apply"])


class Host:
    """A router over a state folder and one project."""

    def __init__(self, folder: Path) -> None:
        self.neovim = Neovim()
        (folder / "state").mkdir()
        (folder / "project").mkdir()
        self.project = folder / "project"
        state = State(folder / "state" / "agentchat")
        self.router = Router(self.neovim, state)  # type: ignore[arg-type]

    def take(self, name: str, chat: str, **payload: Any) -> None:
        """Let Lua send an event."""
        self.router.take(name, {"chat": chat, **payload})

    def open(self, chat: str, **payload: Any) -> None:
        settings = {"model": {"provider": "offline"}}
        self.take("open", chat, buf=1, cwd=str(self.project), settings=settings, **payload)

    def send(self, chat: str, text: str) -> None:
        settings = {"model": {"provider": "offline"}}
        self.take("send", chat, text=text, settings=settings)


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Host]:
    host = Host(tmp_path)
    before = asyncio.all_tasks()
    yield host
    for chat in ("one", "two"):
        host.take("closed", chat)
    while left := asyncio.all_tasks() - before - {asyncio.current_task()}:
        await asyncio.wait(left, timeout=10)


async def test_a_message_sent_before_the_chat_is_open_is_answered(host: Host) -> None:
    host.open("one")
    host.send("one", "hello there")
    await host.neovim.until(lambda: "AgentTurnFinished" in host.neovim.drawn())
    assert "hello there" in host.neovim.drawn()
    assert host.neovim.notices() == []


async def test_two_chats_opened_in_quick_order_are_both_answered(host: Host) -> None:
    for chat in ("one", "two"):
        host.open(chat)
    for chat in ("one", "two"):
        host.send(chat, f"hello from {chat}")
    await host.neovim.until(lambda: host.neovim.drawn().count("AgentTurnFinished") == 2)
    assert host.neovim.notices() == []


async def test_a_chat_that_is_closed_and_at_once_opened_again_goes_on(host: Host) -> None:
    host.open("one")
    host.send("one", "hello there")
    await host.neovim.until(lambda: "AgentTurnFinished" in host.neovim.drawn())
    host.neovim.calls.clear()
    host.take("closed", "one")
    host.open("one", saved={"source": ""})
    await host.neovim.until(lambda: "hello there" in host.neovim.drawn())
    assert host.neovim.notices() == []


async def test_a_chat_closed_in_mid_turn_and_at_once_opened_again_goes_on(host: Host) -> None:
    host.open("one")
    host.send("one", "run: sleep 30")
    await host.neovim.until(lambda: "AgentToolStarted" in host.neovim.drawn())
    host.take("closed", "one")
    host.open("one", saved={"source": ""})
    host.send("one", "hello again")
    await host.neovim.until(lambda: "hello again" in host.neovim.drawn())
    assert host.neovim.notices() == []


async def test_a_chat_that_is_closed_draws_nothing_more(host: Host) -> None:
    host.open("one")
    host.send("one", "run: sleep 30")
    await host.neovim.until(lambda: "AgentToolStarted" in host.neovim.drawn())
    host.neovim.calls.clear()
    host.take("closed", "one")
    host.open("one", saved={"source": ""})
    await host.neovim.until(lambda: "sleep 30" in host.neovim.drawn())
    assert "AgentTurnFinished" not in host.neovim.drawn()


async def test_a_chat_that_is_closed_while_it_is_opened_leaves_nothing(host: Host) -> None:
    host.open("one")
    host.take("closed", "one")
    host.send("one", "too late")
    host.open("two")
    host.send("two", "hello there")
    await host.neovim.until(lambda: "AgentTurnFinished" in host.neovim.drawn())
    assert host.neovim.notices() == ["This chat is closed; open another with :AgentChat."]
    assert ("chat.refuse", "one") in host.neovim.calls


async def test_a_chat_that_cannot_be_opened_is_one_line_and_gives_the_prompt_back(
    host: Host,
) -> None:
    host.open("one", place="ssh://")
    host.send("one", "lost?")
    await host.neovim.until(lambda: any(call[0] == "chat.refuse" for call in host.neovim.calls))
    assert len(host.neovim.notices()) == 2


async def test_what_fails_in_a_handler_is_one_line(host: Host) -> None:
    host.open("one")
    host.take("mode", "one")
    await host.neovim.until(lambda: bool(host.neovim.notices()))
    (line,) = host.neovim.notices()
    assert line.startswith("mode failed; the reason is in ")


async def test_the_journal_is_read_for_the_log_outside_the_event_loop(host: Host) -> None:
    def pages() -> list[tuple[Any, ...]]:
        return [call for call in host.neovim.calls if call[0] == "page.show"]

    host.open("one")
    host.send("one", "hello there")
    await host.neovim.until(lambda: "AgentTurnFinished" in host.neovim.drawn())
    host.take("log", "one")
    assert pages() == []
    await host.neovim.until(lambda: bool(pages()))
    assert "hello there" in str(pages())
