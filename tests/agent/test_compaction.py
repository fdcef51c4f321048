"""Compaction in a session: commands, stops, the journal, and resuming."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from agentchat.core.messages import Note, Reply, ToolCall, ToolResult, Usage
from agentchat.core.model import ModelRequest, Piece
from agentchat.journal.file import journal_path
from agentchat.journal.index import fork_chat
from agentchat.journal.log_text import render_log
from agentchat.journal.writer import JournalWriter
from tests.agent.scene import Scene
from tests.core.turn.world import a_chat

SUMMARY = Reply("They counted.")


def sent(scene: Scene) -> list[str]:
    """Return the texts of the newest request."""
    return [getattr(m, "text", "") for m in scene.model.requests[-1].history.messages]


async def counted(folder: Path, *more: Reply | Callable[..., object]) -> Scene:
    """Return a session with two turns, whose model goes on with ``more``."""
    scene = Scene(folder, [Reply("First."), Reply("Second."), *more])  # type: ignore[list-item]
    await scene.play("one")
    await scene.play("two")
    return scene


async def compact(scene: Scene, focus: str = "") -> None:
    scene.session.compact(focus)
    await scene.answer("accept")
    await scene.screen.until(lambda: bool(scene.screen.named("AgentCompacted")))
    await scene.screen.until(lambda: scene.screen.statuses[-1].state == "idle")


async def test_the_command_works_between_turns_and_is_taken_back(tmp_path: Path) -> None:
    scene = await counted(tmp_path / "p", SUMMARY, Reply("Third."), Reply("Fourth."))
    await compact(scene, "numbers")
    assert "numbers" in sent(scene)[-1]
    await scene.play("three")
    assert "First." not in sent(scene)
    assert "They counted." in sent(scene)[0]
    scene.session.undo_compaction()
    await scene.play("four")
    assert sent(scene)[:3] == ["one", "First.", "two"]


async def test_a_command_during_a_turn_waits_for_its_next_request(tmp_path: Path) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def slow(request: ModelRequest, on_piece: Callable[[Piece], None]) -> Reply:
        begun.set()
        await go.wait()
        return Reply(calls=(ToolCall("c1", "nothing", "{}"),), finish="tool_calls")

    scene = await counted(tmp_path / "p", slow, SUMMARY, Reply("Done."))
    scene.session.send("three")
    await begun.wait()
    scene.session.compact("")
    assert ("info", "The chat is compacted before the next request of this turn.") in (
        scene.screen.notes
    )
    go.set()
    await scene.answer("accept")
    await scene.finished(3)
    assert "They counted." in sent(scene)[0]


async def test_a_command_during_the_last_request_of_a_turn_runs_after_it(tmp_path: Path) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def slow(request: ModelRequest, on_piece: Callable[[Piece], None]) -> Reply:
        begun.set()
        await go.wait()
        return Reply("Third.")

    scene = await counted(tmp_path / "p", slow, SUMMARY)
    scene.session.send("three")
    await begun.wait()
    scene.session.compact("")
    go.set()
    await scene.answer("accept")
    await scene.screen.until(lambda: bool(scene.screen.named("AgentCompacted")))


async def test_a_stop_takes_the_command_of_that_turn_back(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def endless(request: ModelRequest, on_piece: Callable[[Piece], None]) -> Reply:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    scene = await counted(tmp_path / "p", endless, Reply("Fourth."))
    scene.session.send("three")
    await begun.wait()
    scene.session.compact("")
    scene.session.stop()
    await scene.finished(3)
    await scene.play("four")
    assert scene.screen.named("AgentApprovalRequested") == []


async def test_stopping_the_summary_changes_nothing(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def endless(request: ModelRequest, on_piece: Callable[[Piece], None]) -> Reply:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    scene = await counted(tmp_path / "p", endless, Reply("Third."))
    scene.session.compact("")
    await begun.wait()
    scene.session.stop()
    await scene.screen.until(lambda: scene.screen.statuses[-1].state == "idle")
    await scene.play("three")
    assert sent(scene) == ["one", "First.", "two", "Second.", "three"]


async def test_a_resumed_and_a_forked_chat_are_sent_the_same_bytes(tmp_path: Path) -> None:
    scene = await counted(tmp_path / "p", SUMMARY, Reply("Third."))
    scene.session.edit_todo("[x] count\n[~] count on")
    await compact(scene)
    await scene.play("three")
    scene.journal.close()
    assert "[x] count\n[~] count on" in (scene.model.requests[-1].reminder or "")
    state = tmp_path / "p.state"
    (path,) = (journal_path(state, "x").parent).glob("*")
    source = path.name.partition(".")[0]
    fork_chat(state, source, "copy")
    for name in (source, "copy"):
        journal = JournalWriter.open(state, name)
        chat = a_chat()
        chat.history = journal.restored.history
        again = Scene(tmp_path / "p", [Reply("Fourth.")], chat=chat, journal=journal)
        again.session.restore()
        assert again.chat.request().history == scene.chat.request().history
        assert again.chat.request().used_ids == scene.chat.request().used_ids
        assert again.chat.request().reminder == scene.model.requests[-1].reminder
        journal.close()


async def test_the_journal_keeps_the_originals_and_the_log_shows_the_summary(
    tmp_path: Path,
) -> None:
    scene = await counted(tmp_path / "p", SUMMARY)
    await compact(scene)
    scene.session.undo_compaction()
    log = "\n".join(render_log(scene.journal.records()))
    for text in ("First.", "They counted.", "the first 2 messages", "the summary is taken back"):
        assert text in log


async def test_the_meter_follows_the_server_and_falls_after_a_compaction(tmp_path: Path) -> None:
    usage = Usage(prompt_tokens=9_000, total_tokens=9_100)
    scene = Scene(tmp_path / "p", [Reply("x" * 9_000), Reply("Second.", usage=usage), SUMMARY])
    scene.model.window = 100_000
    await scene.play("one")
    await scene.play("two")
    assert scene.screen.statuses[-1].context == {"used": 9_100, "window": 100_000}
    await compact(scene)
    assert 0 < scene.screen.statuses[-1].context["used"] < 9_100


async def test_an_undo_without_a_summary_says_so(tmp_path: Path) -> None:
    scene = await counted(tmp_path / "p")
    scene.session.undo_compaction()
    assert ("warn", "This chat is not compacted: there is no summary to take back.") in (
        scene.screen.notes
    )


async def test_shortened_results_are_shortened_after_a_restart_too(tmp_path: Path) -> None:
    calls = tuple(ToolCall(f"c{n}", "nothing", "{}") for n in range(3))
    usage = Usage(total_tokens=7_000)
    scene = Scene(
        tmp_path / "p", [Reply(calls=calls), Reply("y" * 9_000, usage=usage), Reply("Done.")]
    )
    scene.model.window = 10_000
    await scene.play("one")
    history = scene.chat.history.messages
    long = [
        ToolResult(m.call_id, m.name, "x" * 5_000) if isinstance(m, ToolResult) else m
        for m in history
    ]
    scene.chat.history = type(scene.chat.history)(tuple(long))
    await scene.play("two")
    assert [len(text) < 400 for text in sent(scene)[2:5]] == [True] * 3
    assert not any(isinstance(m, Note) for m in scene.model.requests[-1].history.messages)
    assert len(scene.journal.restored.steps) == 0
    scene.journal.close()
