"""A session with a scripted model and a screen that keeps what it was shown."""

from __future__ import annotations

import asyncio
import uuid
import weakref
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agentchat.agent.chat_tools import ToolFiles
from agentchat.agent.execution.results import ResultStore
from agentchat.agent.external.agent import ExternalAgent
from agentchat.agent.permissions.rule_store import RuleStore
from agentchat.agent.preview_actions import ResolveCommand
from agentchat.agent.prompts.skills import Skills
from agentchat.agent.session import Session
from agentchat.agent.session_parts import SessionParts
from agentchat.core.diff.changeset import FileChange
from agentchat.core.errors import UserError
from agentchat.core.frontend import Frontend
from agentchat.core.messages import Reply, ToolResult
from agentchat.core.model import ModelRequest, Piece, TextDelta
from agentchat.core.tools.todo import TodoItem
from agentchat.core.tools.tool import Tool
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import Action, ApprovalRequest, ApprovalResponse
from agentchat.core.turn.preview_stack import Preview
from agentchat.core.turn.view import ChangesPage, ChatStatus, ToolBlock
from agentchat.journal import records as r
from agentchat.journal.writer import JournalWriter
from agentchat.workspace.local import LocalWorkspace
from agentchat.workspace.overlay.isolation import Isolation
from agentchat.workspace.overlay.workspace import OverlayWorkspace
from tests.core.turn.world import a_chat, a_response

Script = Reply | Callable[[ModelRequest, Callable[[Piece], None]], Awaitable[Reply]]


class ScriptedModel:
    """Answers requests from a list; an entry may be a coroutine function that takes its time."""

    name = "scripted"

    def __init__(self, replies: list[Script]) -> None:
        self.replies = replies
        self.requests: list[ModelRequest] = []
        self.window: int | None = None

    async def ask(self, request: ModelRequest, on_piece: Callable[[Piece], None]) -> Reply:
        self.requests.append(request)
        reply = self.replies.pop(0)
        if not isinstance(reply, Reply):
            return await reply(request, on_piece)
        if reply.text:
            on_piece(TextDelta(reply.text))
        return reply

    def current(self) -> ScriptedModel:
        """Return itself, as a source of models does."""
        return self

    async def learn_window(self) -> None:
        """Nothing to ask."""

    def warm_up(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to close."""


class KeptScreen:
    """Keeps everything it is shown, and lets a test wait for an event."""

    def __init__(self) -> None:
        self.users: list[str] = []
        self.recalled: tuple[str, ...] = ()
        self.given_back = 0
        self.mentions: list[str] = []
        self.said = ""
        self.notes: list[tuple[str, str]] = []
        self.blocks: dict[str, list[ToolBlock]] = {}
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.statuses: list[ChatStatus] = []
        self.questions: dict[str, ApprovalRequest] = {}
        self.staged: list[Preview] = []
        self.pages: list[ChangesPage] = []
        self.proposals: list[tuple[str, FileChange]] = []
        self.todo: tuple[TodoItem, ...] = ()
        self.fails: dict[str, Exception] = {}
        """What an event raises, by its name, instead of being shown."""
        self._changed = asyncio.Event()

    def add_user_message(self, text: str) -> None:
        self.users.append(text)

    def recall_prompts(self, texts: Sequence[str], title: str) -> None:
        self.recalled = (*texts, title)

    async def prepend(self, draw: Callable[[], None], *, continues: bool) -> None:
        said, self.said = self.said, ""
        users, self.users = self.users, []
        draw()
        self.said += said
        self.users += users

    def restore_prompt(self) -> None:
        self.given_back += 1

    def begin_reply(self) -> None:
        self.said += "|"

    def add_text(self, piece: str) -> None:
        self.said += piece
        self._changed.set()

    def add_reasoning(self, piece: str) -> None:
        self.said += f"({piece})"

    def end_reasoning(self, title: str) -> None:
        self.said += f"<{title}>"

    def finish_reply(self) -> None:
        self._changed.set()

    def update_block(self, call_id: str, change: ToolBlock) -> None:
        self.blocks.setdefault(call_id, []).append(change)
        self._changed.set()

    def add_note(self, level: str, text: str) -> None:
        self.notes.append((level, text))
        self._changed.set()

    def show_activity(self, text: str, seconds: float = 0) -> None:
        self.add_note("info", text)

    def notify(self, level: str, text: str) -> None:
        self.notes.append((level, text))
        self._changed.set()

    def show_status(self, status: ChatStatus) -> None:
        self.statuses.append(status)
        self._changed.set()

    def show_todo(self, items: Sequence[TodoItem]) -> None:
        self.todo = tuple(items)
        self._changed.set()

    def show_tools(self, chat: Chat) -> None:
        self.mentions = [tool.name for tool in chat.toolset.tools()]

    def fire_event(self, name: str, data: Mapping[str, Any]) -> None:
        if name in self.fails:
            raise self.fails[name]
        self.events.append((name, dict(data)))
        self._changed.set()

    def show_request(self, id: str, request: ApprovalRequest) -> None:
        self.questions[id] = request
        self._changed.set()

    def close_request(self, id: str) -> None:
        self.questions.pop(id, None)
        self._changed.set()

    def show_changes(self, page: ChangesPage) -> None:
        self.pages.append(page)
        self._changed.set()

    def show_preview(self, pending: Preview) -> None:
        ids = [other.id for other in self.staged]
        if pending.id in ids:
            self.staged[ids.index(pending.id)] = pending
        else:
            self.staged.insert(0, pending)
        self._changed.set()

    def show_proposed_text(self, subject: str, file: FileChange) -> None:
        self.proposals.append((subject, file))

    def close_preview(self, pending: Preview) -> None:
        self.staged = [other for other in self.staged if other.id != pending.id]
        self._changed.set()

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


LINES: dict[type, Callable[[Any], str]] = {
    r.TurnStarted: lambda record: f"turn {record.number}",
    r.TurnFinished: lambda record: f"turn {record.number} {record.reason}",
    r.MessageRecorded: lambda record: " ".join(
        filter(None, (type(record.message).__name__, getattr(record.message, "call_id", "")))
    ),
    r.DecisionMade: lambda record: f"answered {record.verdict}" * (record.who == "user"),
    r.CallStarted: lambda record: f"started {record.call_id}",
    r.CallFinished: lambda record: f"finished {record.call_id}",
    r.ReplyProgress: lambda record: f"so far {record.text}",
    r.ChangeStarted: lambda record: f"changing {record.source}",
    r.ChangeApplied: lambda record: f"changed {record.source}",
    r.ChangeSettled: lambda record: f"settled {record.source}",
}
"""How a test reads a record in one short line; an empty one is left out."""


def fail_on(journal: JournalWriter, kind: type, error: Exception) -> Callable[[], None]:
    """Let records of one kind fail; return what ends that."""
    add = journal.add

    def fails(*records: r.Record, durable: bool = False) -> None:
        if any(isinstance(record, kind) for record in records):
            raise error
        add(*records, durable=durable)

    def works_again() -> None:
        journal.add = add  # type: ignore[method-assign]

    journal.add = fails  # type: ignore[method-assign]
    return works_again


class Scene:
    """One session of a chat that was given exactly these tools."""

    def __init__(
        self,
        folder: Path,
        replies: list[Script],
        *tools: Tool,
        frontend: Frontend | None = None,
        chat: Chat | None = None,
        rule_store: RuleStore | None = None,
        workspace: LocalWorkspace | None = None,
        journal: JournalWriter | None = None,
        tool_files: ToolFiles | None = None,
        skills: Skills | None = None,
        agent: ExternalAgent | None = None,
        overlay: OverlayWorkspace | None = None,
        isolation: Isolation | None = None,
    ) -> None:
        self.screen = KeptScreen()
        state = folder.parent / f"{folder.name}.state"
        self.journal = journal or JournalWriter.open(state, uuid.uuid4().hex)
        weakref.finalize(self, self.journal.close)
        self.model = ScriptedModel(replies)
        self.no_model = ""
        self.chat = chat or a_chat(*tools)
        self.workspace = workspace or LocalWorkspace(str(folder))
        self.session = Session(
            SessionParts(
                chat=self.chat,
                workspace=self.workspace,
                view=self.screen,
                journal=self.journal,
                results=ResultStore(folder),
                model=agent or self,
                max_parallel=10,
                frontend=frontend,
                rule_store=rule_store,
                tool_files=tool_files,
                skills=skills,
                agent=agent,
                overlay=overlay,
                isolation=isolation,
            )
        )

    def current(self) -> ScriptedModel:
        """Return the model, as a source of models does."""
        if self.no_model:
            raise UserError(self.no_model)
        return self.model

    def resolve(self, action: Action, reason: str = "") -> None:
        """Resolve the newest preview by the user's command."""
        self.session.preview_actions.resolve(ResolveCommand(action, reason))

    async def play(self, text: str = "go", *answers: ApprovalResponse | str) -> str:
        """Send a prompt, give the answers in order, return why the turn ended."""
        turns = len(self.screen.named("AgentTurnFinished"))
        self.session.send(text)
        for answer in answers:
            await self.answer(answer)
        await self.finished(turns + 1)
        reason: str = self.screen.named("AgentTurnFinished")[-1]["reason"]
        return reason

    async def answer(self, answer: ApprovalResponse | str) -> None:
        """Answer the question that is shown next."""
        await self.screen.until(lambda: bool(self.screen.questions))
        prompt = next(iter(self.screen.questions))
        self.session.answer(prompt, a_response(answer))
        await self.screen.until(lambda: prompt not in self.screen.questions)

    async def finished(self, turns: int = 1) -> None:
        """Wait until so many turns are over."""
        await self.screen.until(lambda: len(self.screen.named("AgentTurnFinished")) >= turns)

    def journal_lines(self) -> list[str]:
        """Return what the journal holds, in short lines."""
        found = (LINES.get(type(one), lambda record: "")(one) for one in self.journal.records())
        return [line for line in found if line]

    def results(self) -> dict[str, str]:
        """Return the text of each result by call id."""
        messages = self.chat.history.messages
        return {m.call_id: m.text for m in messages if isinstance(m, ToolResult)}
