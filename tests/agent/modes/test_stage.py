"""Stage mode: each thing that can happen, in each state of its overlay."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agentchat.agent.modes.stage import StageState
from agentchat.core.frozen import frozen
from agentchat.core.messages import Reply
from agentchat.tools.builtin import write
from tests.agent.scene import Scene
from tests.core.turn.world import a_call, a_response, calls
from tests.workspace.overlay.staging import open_staging, try_staging

DONE = Reply("Done.")


def writing(name: str, id: str) -> Reply:
    return calls(a_call(id, "write", json.dumps({"path": name, "content": f"{name}\n"})))


class Held:
    """A reply of the model that comes when the test lets it come."""

    def __init__(self, reply: Reply | Exception = DONE) -> None:
        self.begun, self.released = asyncio.Event(), asyncio.Event()
        self.reply = reply

    async def __call__(self, request: Any, on_piece: Any) -> Reply:
        self.begun.set()
        await self.released.wait()
        if isinstance(self.reply, Exception):
            raise self.reply
        return self.reply


class Staged:
    """A chat in stage mode over a real project, with a preview of one file that is pending.

    The file is protected, so that applying it asks.
    """

    def __init__(self, folder: Path, state: Path) -> None:
        self.folder = folder
        self.overlay = open_staging(folder, state).overlay
        self.scene = Scene(folder, [], write.TOOL, overlay=self.overlay)
        self.session, self.screen = self.scene.session, self.scene.screen
        self.stage = self.session._stage
        self.scene.chat.policy.mode = "stage"
        self.held = Held()
        self.turns = 0

    async def begin(self) -> None:
        """Bring it to the state in which a preview is pending."""
        await self.play(writing("Makefile", "1"), DONE)

    async def play(self, *replies: Any) -> None:
        self.scene.model.replies[:] = replies
        self.turns += 1
        await self.scene.play("go")

    def labels(self) -> list[str]:
        return [preview.label for preview in self.scene.chat.previews]

    def names(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()}

    def noted(self, text: str) -> bool:
        return any(text in line for _, line in self.screen.notes)

    async def note(self, text: str) -> None:
        await self.screen.until(lambda: self.noted(text))

    async def ended(self) -> str:
        """Wait for the end of the turn that is held; return its reason."""
        self.turns += 1
        await self.scene.finished(self.turns)
        reason: str = self.screen.named("AgentTurnFinished")[-1]["reason"]
        return reason

    async def asked(self) -> None:
        await self.screen.until(lambda: bool(self.screen.questions))

    async def answer(self, choice: str) -> None:
        await self.scene.answer(a_response(choice))

    async def resolved(self) -> None:
        await self.screen.until(lambda: not self.labels())
        await self.session.idle()


# --- the states -----------------------------------------------------------------------------------


async def idle(on: Staged) -> None:
    await on.begin()


async def in_turn(on: Staged) -> None:
    """A turn has changed another file and waits for the model."""
    await on.begin()
    on.scene.model.replies[:] = [writing("new", "2"), on.held, DONE]
    on.session.send("more")
    await on.held.begun.wait()


async def resolving(on: Staged) -> None:
    """The user's command asks about the protected file."""
    await on.begin()
    on.scene.resolve("apply")
    await on.asked()


# --- what happens, and what becomes of it ---------------------------------------------------------


async def message_idle(on: Staged) -> None:
    await on.play(writing("new", "2"), DONE)
    assert on.labels() == ["Turn 2: 2 files, +2 -0"]
    assert on.names() == set()


async def message_in_turn(on: Staged) -> None:
    on.session.send("and this")
    on.held.reply = calls(a_call("3", "unknown"))
    on.held.released.set()
    assert await on.ended() == "stop"
    assert on.labels() == ["Turn 2: 2 files, +2 -0"]
    assert on.scene.chat.turn == 2


async def message_resolving(on: Staged) -> None:
    on.scene.model.replies[:] = [writing("new", "2"), DONE]
    on.session.send("more")
    await asyncio.sleep(0)
    assert on.stage.state is StageState.IDLE
    await on.answer("accept")
    assert await on.ended() == "stop"
    assert on.names() == {"Makefile"}
    assert on.labels() == ["Turn 2: 1 file, +1 -0"]


async def stop_idle(on: Staged) -> None:
    on.session.stop()
    assert on.labels() == ["Turn 1: 1 file, +1 -0"]


async def stop_in_turn(on: Staged) -> None:
    on.session.stop()
    assert await on.ended() == "cancelled"
    assert on.labels() == ["Turn 2: 2 files, +2 -0"]


async def stop_resolving(on: Staged) -> None:
    on.session.stop()
    await on.screen.until(lambda: not on.screen.questions)
    await on.session.idle()
    assert on.labels() == ["Turn 1: 1 file, +1 -0"]
    assert on.names() == set()
    on.scene.resolve("apply")
    await on.answer("accept")
    await on.resolved()


async def error_idle(on: Staged) -> None:
    await on.play(Reply(error="The server is down."))
    assert on.labels() == ["Turn 2: 1 file, +1 -0"]


async def error_in_turn(on: Staged) -> None:
    on.held.reply = RuntimeError("broken")
    on.held.released.set()
    assert await on.ended() == "error"
    assert on.labels() == ["Turn 2: 2 files, +2 -0"]


async def error_resolving(on: Staged) -> None:
    (on.folder / "Makefile").write_text("mine\n")
    await on.answer("accept")
    await on.note("changed since the preview")
    await on.session.idle()
    assert on.labels() == ["Turn 1: 1 file, +1 -0"]
    assert (on.folder / "Makefile").read_text() == "mine\n"


async def mode_idle(on: Staged) -> None:
    on.session.set_mode("ask")
    assert on.labels() == ["Turn 1: 1 file, +1 -0"]
    on.session.set_mode("stage")
    await on.session.idle()
    assert on.scene.chat.policy.mode == "stage"


async def mode_in_turn(on: Staged) -> None:
    on.session.set_mode("ask")
    on.held.released.set()
    assert await on.ended() == "stop"
    assert on.labels() == ["Turn 2: 2 files, +2 -0"]


async def mode_resolving(on: Staged) -> None:
    for mode in ("ask", "edit", "yolo", "plan"):
        on.session.set_mode(mode)
    assert on.screen.questions
    await on.answer("reject")
    await on.note("Not applied: you rejected it.")
    assert on.labels() == ["Turn 1: 1 file, +1 -0"]


async def resolve_idle(on: Staged) -> None:
    on.scene.resolve("discard")
    await on.resolved()
    assert not on.overlay.has_changes()


async def resolve_in_turn(on: Staged) -> None:
    for action in ("apply", "discard"):
        on.scene.resolve(action)
        await on.note("Nothing to resolve while a turn runs")
    assert on.names() == set()
    on.held.released.set()
    await on.ended()
    assert on.labels() == ["Turn 2: 2 files, +2 -0"]


async def resolve_resolving(on: Staged) -> None:
    on.scene.resolve("discard")
    await on.note("Nothing to resolve yet: wait until the chat is idle.")
    await on.answer("accept")
    await on.resolved()
    assert on.names() == {"Makefile"}


async def undo_idle(on: Staged) -> None:
    on.session.undo()
    await on.session.idle()
    assert on.labels() == ["Turn 1: 1 file, +1 -0"]


async def undo_in_turn(on: Staged) -> None:
    on.session.undo()
    await on.note("Nothing to undo while a turn runs")
    on.held.released.set()
    await on.ended()


async def undo_resolving(on: Staged) -> None:
    on.session.undo()
    await on.note("Nothing to undo yet")
    await on.answer("accept")
    await on.resolved()


async def compact_idle(on: Staged) -> None:
    on.session.compact()
    await on.session.idle()
    assert on.stage.state is StageState.IDLE
    on.scene.resolve("apply")
    await on.answer("accept")
    await on.resolved()
    assert on.names() == {"Makefile"}


async def compact_in_turn(on: Staged) -> None:
    on.session.compact()
    on.held.released.set()
    assert await on.ended() == "stop"
    await on.answer("reject")  # the summary
    await on.session.idle()
    assert on.labels() == ["Turn 2: 2 files, +2 -0"]


async def compact_resolving(on: Staged) -> None:
    on.session.compact()
    await on.note("Nothing to compact yet")
    await on.answer("accept")
    await on.resolved()


async def close(on: Staged) -> None:
    await on.session.close()
    on.scene.journal.close()
    assert on.stage.state is StageState.CLOSED
    assert on.names() == set()
    assert on.overlay.has_changes()


STATES = (idle, in_turn, resolving)
EVENTS: dict[str, tuple[Callable[[Staged], Awaitable[None]], ...]] = {
    "message": (message_idle, message_in_turn, message_resolving),
    "stop": (stop_idle, stop_in_turn, stop_resolving),
    "error": (error_idle, error_in_turn, error_resolving),
    "mode": (mode_idle, mode_in_turn, mode_resolving),
    "resolve": (resolve_idle, resolve_in_turn, resolve_resolving),
    "undo": (undo_idle, undo_in_turn, undo_resolving),
    "compact": (compact_idle, compact_in_turn, compact_resolving),
    "close": (close, close, close),
}


@frozen
class Row:
    """One event in one state."""

    state: Callable[[Staged], Awaitable[None]]
    event: Callable[[Staged], Awaitable[None]]


ROWS = [
    pytest.param(Row(state, row[index]), id=f"{name}-{state.__name__}")
    for name, row in EVENTS.items()
    for index, state in enumerate(STATES)
]


@pytest.fixture
async def staged(tmp_path: Path) -> AsyncIterator[Staged]:
    folder = tmp_path / "project"
    folder.mkdir()
    probe = await try_staging(folder, tmp_path / "probe")
    await probe.overlay.close()
    on = Staged(folder, tmp_path / "state")
    yield on
    on.held.released.set()
    await on.session.close()
    on.scene.journal.close()


@pytest.mark.parametrize("row", ROWS)
async def test_every_event_in_every_state(staged: Staged, row: Row) -> None:
    await row.state(staged)
    await row.event(staged)
    assert not staged.screen.questions
    if row.event is not close:
        assert staged.stage.state is StageState.IDLE
        assert len(staged.screen.named("AgentTurnFinished")) == staged.turns


async def test_a_change_that_a_stop_abandons_is_finished_before_the_next_turn(
    staged: Staged,
) -> None:
    await idle(staged)
    await staged.stage._resolving.acquire()
    staged.scene.model.replies[:] = [DONE]
    staged.session.send("more")
    await staged.screen.until(lambda: bool(staged.screen.named("AgentTurnStarted")[1:]))
    assert staged.stage.state is StageState.IDLE
    staged.stage._resolving.release()
    assert await staged.ended() == "stop"


async def test_a_turn_that_ends_before_its_server_is_up_leaves_none(staged: Staged) -> None:
    await idle(staged)
    staged.scene.model.replies[:] = [DONE]
    await staged.play(DONE)
    assert staged.overlay._client is None
    assert staged.overlay._connecting is None


async def test_what_runs_by_itself_is_left_out_until_the_user_takes_it_in(staged: Staged) -> None:
    await staged.play(
        writing(".github/workflows/ci.yml", "1"), writing("AGENTS.md", "2"), writing("a", "3"), DONE
    )
    staged.scene.resolve("apply")
    await staged.resolved()
    assert staged.names() == {"a"}


async def test_an_apply_of_nothing_but_what_is_left_out_drops_nothing(staged: Staged) -> None:
    await staged.play(writing(".envrc", "1"), DONE)
    staged.scene.resolve("apply")
    await staged.note("All of it is left out: take it in with x, or discard the preview.")
    await staged.session.idle()
    assert staged.labels() == ["Turn 1: 0 files, +0 -0, 1 left out"]
    assert staged.overlay.has_changes()
