"""A session with a scripted model and a screen that keeps what it was shown."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentchat.agent.execution.result_store import Storage
from agentchat.agent.permissions.rule_store import Rulebook
from agentchat.agent.session import Session
from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.errors import UserError
from agentchat.core.messages import Message, Reply, ToolResult
from agentchat.core.permissions.policy import Decision
from agentchat.core.tools.model import ModelRequest, Piece, TextDelta
from agentchat.core.tools.ports import Frontend
from agentchat.core.tools.tool import Tool, Undo
from agentchat.core.tools.toolset import Held
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import Answer, Question, Ready
from agentchat.core.turn.preview_stack import Pending
from agentchat.core.turn.view import Block, StatusLine
from agentchat.journal.records import Record
from agentchat.workspace.local import LocalWorkspace
from tests.core.world import a_chat

Script = Reply | Callable[[ModelRequest, Callable[[Piece], None]], Awaitable[Reply]]


class ScriptedModel:
    """Answers requests from a list; an entry may be a coroutine function that takes its time."""

    name = "scripted"

    def __init__(self, replies: list[Script]) -> None:
        self.replies = replies
        self.requests: list[ModelRequest] = []

    async def ask(self, request: ModelRequest, on_piece: Callable[[Piece], None]) -> Reply:
        self.requests.append(request)
        reply = self.replies.pop(0)
        if not isinstance(reply, Reply):
            return await reply(request, on_piece)
        if reply.text:
            on_piece(TextDelta(reply.text))
        return reply


class KeptScreen:
    """Keeps everything it is shown, and lets a test wait for an event."""

    def __init__(self) -> None:
        self.users: list[str] = []
        self.given_back = 0
        self.said = ""
        self.notes: list[tuple[str, str]] = []
        self.blocks: dict[str, list[Block]] = {}
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.statuses: list[StatusLine] = []
        self.questions: dict[str, Question] = {}
        self.staged: list[Pending] = []
        self.proposals: list[tuple[str, FileChange]] = []
        self._changed = asyncio.Event()

    def user(self, text: str) -> None:
        self.users.append(text)

    def give_back(self) -> None:
        self.given_back += 1

    def begin_reply(self) -> None:
        self.said += "|"

    def text(self, piece: str) -> None:
        self.said += piece
        self._changed.set()

    def reasoning(self, piece: str) -> None:
        self.said += f"({piece})"

    def finish_reply(self) -> None:
        self._changed.set()

    def block(self, call_id: str, change: Block) -> None:
        self.blocks.setdefault(call_id, []).append(change)
        self._changed.set()

    def note(self, level: str, text: str) -> None:
        self.notes.append((level, text))
        self._changed.set()

    def notify(self, level: str, text: str) -> None:
        self.notes.append((level, text))
        self._changed.set()

    def status(self, status: StatusLine) -> None:
        self.statuses.append(status)
        self._changed.set()

    def event(self, name: str, data: Mapping[str, Any]) -> None:
        self.events.append((name, dict(data)))
        self._changed.set()

    def ask(self, prompt: str, question: Question) -> None:
        self.questions[prompt] = question
        self._changed.set()

    def close_prompt(self, prompt: str) -> None:
        self.questions.pop(prompt, None)

    def stage(self, pending: Pending) -> None:
        ids = [other.id for other in self.staged]
        if pending.id in ids:
            self.staged[ids.index(pending.id)] = pending
        else:
            self.staged.insert(0, pending)
        self._changed.set()

    def propose(self, subject: str, file: FileChange) -> None:
        self.proposals.append((subject, file))

    def unstage(self, pending: Pending) -> None:
        self.staged = [other for other in self.staged if other.id != pending.id]

    def named(self, name: str) -> list[dict[str, Any]]:
        """Return the data of every event of one name."""
        return [data for event, data in self.events if event == name]

    async def until(self, seen: Callable[[], bool], seconds: float = 10) -> None:
        """Wait until something was shown that makes ``seen`` true."""

        async def look() -> None:
            while not seen():
                self._changed.clear()
                await self._changed.wait()

        await asyncio.wait_for(look(), seconds)


class KeptNotes:
    """A scribe that keeps lines in memory."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def held(self, held: Held) -> None:
        self.lines.append(f"held {' '.join(held.given)}")

    def turn_started(self, number: int) -> None:
        self.lines.append(f"turn {number}")

    def turn_finished(self, number: int, reason: str) -> None:
        self.lines.append(f"turn {number} {reason}")

    def said(self, message: Message, decision: Decision | None) -> None:
        kind = type(message).__name__
        self.lines.append(f"{kind} {message.call_id}" if isinstance(message, ToolResult) else kind)

    def answered(self, question: Question, answer: Answer) -> None:
        self.lines.append(f"answered {answer.choice}")

    def started(self, ready: Ready) -> None:
        self.lines.append(f"started {ready.call.call.id}")

    def so_far(self, text: str) -> None:
        self.lines.append(f"so far {text}")

    def changing(self, source: str, change: ChangeSet, takes: Sequence[int] = ()) -> None:
        self.lines.append(f"changing {source}")

    def changed(self, source: str, settled: Sequence[FileChange] = ()) -> None:
        self.lines.append(f"changed {source}")

    def settled(self, source: str) -> None:
        self.lines.append(f"settled {source}")

    def recovering(self, id: str, source: str) -> None:
        self.lines.append(f"recovering {source}")

    def finished(self, result: ToolResult) -> None:
        self.lines.append(f"finished {result.call_id}")

    def resolving(self, pending: Pending, action: str) -> None:
        self.lines.append(f"resolving {pending.label} {action}")

    def staged(self, pending: Pending) -> None:
        self.lines.append(f"staged {pending.label}")

    def resolved(self, pending: Pending, action: str, reason: str) -> None:
        self.lines.append(f"resolved {pending.label} {action}")

    def undo_noted(self, call_id: str, undo: Undo) -> None:
        self.lines.append(f"undo noted {call_id}")

    def undone(self, saga: str, turn: int, calls: Mapping[str, str]) -> None:
        self.lines.append(f"undone {turn}")

    def redone(self, saga: str, undone: str, calls: Mapping[str, str]) -> None:
        self.lines.append("redone")

    def records(self) -> Iterable[Record]:
        return ()


class Scene:
    """One session of a chat that was given exactly these tools."""

    def __init__(
        self,
        folder: Path,
        replies: list[Script],
        *tools: Tool,
        frontend: Frontend | None = None,
        chat: Chat | None = None,
        rulebook: Rulebook | None = None,
        workspace: LocalWorkspace | None = None,
    ) -> None:
        self.screen = KeptScreen()
        self.scribe = KeptNotes()
        self.model = ScriptedModel(replies)
        self.no_model = ""
        self.chat = chat or a_chat(*tools)
        self.workspace = workspace or LocalWorkspace(str(folder))
        self.session = Session(
            self.chat,
            workspace=self.workspace,
            screen=self.screen,
            scribe=self.scribe,
            storage=Storage(folder),
            model=self._source,
            max_parallel=10,
            frontend=frontend,
            rulebook=rulebook,
        )

    def _source(self) -> ScriptedModel:
        if self.no_model:
            raise UserError(self.no_model)
        return self.model

    async def play(self, text: str = "go", *answers: Answer | str) -> str:
        """Send a prompt, give the answers in order, return why the turn ended."""
        turns = len(self.screen.named("AgentTurnFinished"))
        self.session.send(text)
        for answer in answers:
            await self.answer(answer)
        await self.finished(turns + 1)
        reason: str = self.screen.named("AgentTurnFinished")[-1]["reason"]
        return reason

    async def answer(self, answer: Answer | str) -> None:
        """Answer the question that is shown next."""
        await self.screen.until(lambda: bool(self.screen.questions))
        prompt = next(iter(self.screen.questions))
        self.session.answer(prompt, Answer(answer) if isinstance(answer, str) else answer)
        await self.screen.until(lambda: prompt not in self.screen.questions)

    async def finished(self, turns: int = 1) -> None:
        """Wait until so many turns are over."""
        await self.screen.until(lambda: len(self.screen.named("AgentTurnFinished")) >= turns)

    def results(self) -> dict[str, str]:
        """Return the text of each result by call id."""
        messages = self.chat.history.messages
        return {m.call_id: m.text for m in messages if isinstance(m, ToolResult)}
