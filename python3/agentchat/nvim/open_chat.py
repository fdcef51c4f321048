"""One open chat in Neovim: takes its events from Lua, and shows what its commands list."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentchat.agent.chat_tools import ChatTools
from agentchat.agent.external.agent import ExternalAgent
from agentchat.agent.jobs import BackgroundJobs
from agentchat.agent.permissions.approvals import Approvals
from agentchat.agent.permissions.rule_drafts import MOST_CALLS, RuleDraft, RuleDrafts
from agentchat.agent.permissions.rule_store import RuleReading, RuleStore
from agentchat.agent.preview_actions import PreviewActions, ResolveCommand, ShownPreview
from agentchat.agent.session import Session
from agentchat.app.settings import Settings, parse_tool_options, read_settings
from agentchat.app.tool_sources import ToolSources
from agentchat.app.workspaces import LocalLeftovers
from agentchat.core.errors import UserError
from agentchat.core.tools.mentions import CapturedContext
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import ApprovalResponse
from agentchat.core.turn.hunk_decisions import HunkDecision, ProposedText
from agentchat.core.workspace import Workspace
from agentchat.journal import records as r
from agentchat.journal.export import export_journal
from agentchat.journal.index import list_past_calls
from agentchat.journal.ledger import UsageLedger
from agentchat.journal.log_text import render_log, render_usage
from agentchat.journal.writer import JournalWriter
from agentchat.models.select import ModelSelection
from agentchat.nvim.chat_commands import ChatCommands
from agentchat.nvim.frontend import NvimFrontend
from agentchat.nvim.lua_api import LuaApi
from agentchat.nvim.render import listings
from agentchat.nvim.render.rules import draft_table, explain
from agentchat.nvim.view import NvimView

Payload = Mapping[str, Any]

LEFT = "{} has left. What you send now goes to your own model."
ONLY_ASK = "Chats with agents have the mode ask only so far: {} was not set to {}."
OWN_MODEL = "{} has its own model and conversation: choose and compact with its own commands."
NO_MODEL = "{} works in this chat with its own model and conversation, and has them elsewhere."

LIST_SECONDS = 2.0
"""How long the list of tools waits for files that are being loaded; they join it later."""


@dataclass(slots=True)
class OpenChat:
    """The parts of one open chat; each method named in ``EVENTS`` takes the payload of its event.

    Args:
        place: the directory of the chat, or its URL on another machine.
        state: the folder in which the plugin keeps its own files.
        agent: the agent of another program whose calls the chat runs, if it is such a chat.
        background: runs what a command does after its event was taken.
    """

    chat: Chat
    session: Session
    tools: ChatTools
    previews: PreviewActions
    approvals: Approvals
    lua: LuaApi
    view: NvimView
    workspace: Workspace
    place: str
    state: Path
    journal: JournalWriter
    settings: Settings
    models: ModelSelection
    agent: ExternalAgent | None
    frontend: NvimFrontend
    rule_store: RuleStore
    drafts: RuleDrafts
    tool_sources: ToolSources
    commands: ChatCommands
    background: BackgroundJobs
    is_closed: bool = False

    # --- opening and closing ----------------------------------------------------------------------

    def start(self, *, resumed: bool) -> None:
        """Show the chat's state and problems, and do in the background what the first turn needs.

        Args:
            resumed: whether the history is to be drawn.
        """
        self.tools.show()
        self.refresh_commands({})
        self.session.refresh()
        self.session.warm_up()
        self.models.warm_up()
        self._warn_of_settings(self.settings)
        if resumed:
            self.session.replay()
        self.session.recover(LocalLeftovers())

    async def close(self) -> None:
        """End what runs and close the journal: the chat can be opened again then."""
        self.is_closed = True
        self.tool_sources.leave(self.chat.uuid)
        self.view.close()
        try:
            await self.session.close()
        finally:
            self.journal.close()
        self.background.start(self._clean_up(), "closing the workspace")

    def show_departure(self) -> None:
        """Show that the agent of another program has left."""
        if self.agent is not None:
            self.view.add_note("info", LEFT.format(self.agent.name))
        self.session.refresh()

    async def _clean_up(self) -> None:
        """Close the model's client and the workspace, which may take a while."""
        await self.models.close()
        await self.workspace.close()

    # --- events -----------------------------------------------------------------------------------

    def take(self, name: str, payload: Payload) -> None:
        """Take one event; raises UserError with a line for the user."""
        EVENTS[name](self, payload)

    def send(self, payload: Payload) -> None:
        """Update the settings, then send what the user typed."""
        self._configure(payload.get("settings") or {})
        self.set_attended(payload.get("attended", True))
        captured = payload.get("captured") or {}
        # An agent that the chat is with has slash commands of its own.
        unknown = "" if self.partner else self.commands.find_unknown(payload["text"])
        if unknown:
            self.view.restore_prompt()
            self.view.notify("warn", unknown)
            self.session.refresh()
            return
        self.session.send(
            payload["text"],
            {mention: CapturedContext(**context) for mention, context in captured.items()},
        )

    def refresh_commands(self, payload: Payload) -> None:
        """Update the list of slash commands in the background."""
        self.background.start(self.commands.refresh(), "the slash commands")

    def _configure(self, given: Mapping[str, Any]) -> None:
        """Replace the settings; what the user chose in the chat stays."""
        settings = read_settings(given)
        self._warn_of_settings(settings)
        if settings.tool_options != self.settings.tool_options:
            decide = self.frontend.decide_option
            self.chat.toolset.configure(parse_tool_options(settings.tool_options, decide))
            self.tools.show()
        self.settings = settings
        self.tool_sources.configure(self.chat.uuid, settings)
        self.models.configure(settings.model)
        self.rule_store.settings = RuleReading(settings.rules, settings.rule_problems)
        self.session.set_sandbox(settings.sandbox)
        self.chat.max_rounds = settings.max_rounds
        self.chat.budget = settings.budget
        self.chat.compact = settings.compact

    def _warn_of_settings(self, settings: Settings) -> None:
        if settings.problems:
            self.lua.call("notify.warn_of_settings", list(settings.problems))

    def compact(self, payload: Payload) -> None:
        """Update the settings, then propose a summary that keeps ``focus`` in particular."""
        self._check_model()
        self._configure(payload.get("settings") or {})
        self.set_attended(payload.get("attended", True))
        self.session.compact(payload.get("focus") or "")

    def set_attended(self, attended: bool) -> None:
        """Set whether somebody sees the editor and can answer."""
        policy = self.chat.policy
        policy.attended = self.frontend.attended = attended

    def amend(self, payload: Payload) -> None:
        """Replace the proposed text of a file in a preview."""
        text = ProposedText(payload["path"], payload["text"])
        self.previews.replace_proposal(payload["preview"], text)

    def choose_model(self, payload: Payload) -> None:
        """Ask another model from the next request on."""
        self._check_model()
        self.models.configure(dict(payload.get("settings") or {}))
        self.view.notify("info", f"model: {self.models.choose(payload['name']).name}")
        self.journal.add(r.ModelChosen(*self.models.choice))
        self.session.refresh()

    @property
    def partner(self) -> str:
        """The agent of another program that the chat is with; empty if it is with a model."""
        agent = self.session.chat_agent
        return agent.name if agent is not None else ""

    def set_mode(self, payload: Payload) -> None:
        """Change the mode; a chat with an agent has one."""
        if self.partner and payload["mode"] != "ask":
            raise UserError(ONLY_ASK.format(self.partner, payload["mode"]))
        self.session.set_mode(payload["mode"])

    def _check_model(self) -> None:
        """Raise UserError if the chat has no model but an agent of another program."""
        if self.partner:
            raise UserError(OWN_MODEL.format(self.partner))
        if self.agent is not None and self.agent.is_connected:
            raise UserError(NO_MODEL.format(self.agent.name))

    def list_models(self, payload: Payload) -> None:
        """Offer the models to choose from; ``quiet`` only makes them known for completion."""
        if self.partner and not payload.get("quiet"):
            self._check_model()
        self.models.configure(dict(payload.get("settings") or {}))
        self.background.start(self._list_models(bool(payload.get("quiet"))), "the models")

    async def _list_models(self, quiet: bool) -> None:
        try:
            models, current = await self.models.list(), self.models.current().name
        except UserError as error:
            if not quiet:
                self.view.notify("warn", str(error))
            return
        if models.problem and not quiet:
            self.view.notify("warn", models.problem)
        about = {"current": current, "quiet": quiet}
        self.lua.call("models.offer", self.chat.uuid, list(models.names), about)

    def show_changes(self, payload: Payload) -> None:
        """Show what a turn changed, or the newest one, or else the chat."""
        newest = bool(payload.get("newest"))
        self.session.show_changes(payload.get("turn"), newest=newest)

    def show_tools(self, payload: Payload) -> None:
        """Show the tools of the chat and the files of custom tools, once these are loaded."""
        self.background.start(self._show_tools(), "the tools")

    async def _show_tools(self) -> None:
        loading = asyncio.ensure_future(self.tools.ready())
        await asyncio.wait({loading}, timeout=LIST_SECONDS)
        self._show_page("Tools", self._tool_lines())
        if not loading.done():
            await loading
            self.lua.call("page.update", "Tools", self._tool_lines())

    def _tool_lines(self) -> list[str]:
        return [
            *listings.tools(self.chat),
            *self.tool_sources.lines(self.chat.uuid),
            *self.commands.lines(),
            *listings.rules_files(self.session.rules_files.names()),
        ]

    def add_tool(self, payload: Payload) -> None:
        """Give the chat a tool or group, once its own tools are loaded."""
        self.background.start(self._change_tools(self.tools.add, payload["name"]), "the tools")

    def remove_tool(self, payload: Payload) -> None:
        """Take a tool or group from the chat."""
        self.background.start(self._change_tools(self.tools.remove, payload["name"]), "the tools")

    async def _change_tools(self, change: Callable[[str], None], name: str) -> None:
        await self.tools.ready()
        change(name)

    def show_approvals(self, payload: Payload) -> None:
        """Show the remembered answers, for the user to revoke."""
        self.lua.call("grants.list", self.chat.uuid, listings.approvals(self.chat))

    def explain(self, payload: Payload) -> None:
        """Show what decides a call that the user names."""
        self.background.start(self._explain(payload["text"]), "explain")

    async def _explain(self, text: str) -> None:
        await self.approvals.refresh()
        self._show_page("Explained", await explain(self.chat, self.workspace, text))

    def show_log(self, payload: Payload) -> None:
        """Show the journal as text; ``only`` may be ``decisions`` or ``usage``."""
        self.background.start(self._show_log(payload.get("only") or ""), "the log")

    async def _show_log(self, only: str) -> None:
        lines = await asyncio.to_thread(self._log_lines, only)
        self._show_page(only.capitalize() or "Journal", lines)

    def _log_lines(self, only: str) -> list[str]:
        records = self.journal.records()
        if only == "usage":
            return render_usage(records, UsageLedger(self.state).today())
        return render_log(records, only_decisions=only == "decisions")

    def export_log(self, payload: Payload) -> None:
        """Write the journal to a file as JSON lines."""
        work = self._export_log(Path(payload["path"]), bool(payload.get("overwrite")))
        self.background.start(work, "the export")

    async def _export_log(self, path: Path, overwrite: bool) -> None:
        records = self.journal.records()
        number = await asyncio.to_thread(export_journal, records, path, overwrite)
        self.lua.notify("info", f"{number} records exported to {path}")

    def _show_page(self, title: str, lines: list[str]) -> None:
        self.lua.call("page.show", title, lines)

    # --- rules ------------------------------------------------------------------------------------

    def propose_rule(self, payload: Payload) -> None:
        """Show a rule about a call that is named, or about the open request."""
        self.background.start(self._propose_rule(payload.get("text") or ""), "the rule")

    async def _propose_rule(self, text: str) -> None:
        calls = await asyncio.to_thread(list_past_calls, self.state, self.place, MOST_CALLS)
        self._show_draft(await self.drafts.propose(calls, text))

    def revise_rule(self, payload: Payload) -> None:
        """Show the rule with one change."""
        text = payload.get("text") or ""
        draft = self.drafts.revise(payload["draft"], payload["change"], text)
        if draft is not None:
            self._show_draft(draft)

    def write_rule(self, payload: Payload) -> None:
        """Write the rule that is shown."""
        self.background.start(self._write_rule(payload["draft"]), "the rule")

    async def _write_rule(self, draft: str) -> None:
        self.lua.notify("info", await self.drafts.write(draft))
        if self.drafts.asks_for_more:
            await self._propose_rule("")

    def _show_draft(self, draft: RuleDraft) -> None:
        scope = self.drafts.describe_scope(draft.scope)
        self.lua.call("rules.show", self.chat.uuid, draft_table(draft, scope, self.chat.policy))


EVENTS: Mapping[str, Callable[[OpenChat, Payload], None]] = {
    "send": OpenChat.send,
    "withdraw": lambda chat, p: chat.session.withdraw(p["text"]),
    "stop": lambda chat, p: chat.session.stop(),
    "answer": lambda chat, p: chat.session.answer(p["prompt"], parse_response(p)),
    "answers": lambda chat, p: chat.frontend.answer(p["id"], p["answers"]),
    "resolve": lambda chat, p: chat.previews.resolve(parse_resolve_command(p)),
    "propose": lambda chat, p: chat.previews.show_proposal(p["subject"], p["path"]),
    "amend": OpenChat.amend,
    "todo": lambda chat, p: chat.session.edit_todo(p["text"]),
    "prepended": lambda chat, p: chat.view.is_drawn.set(),
    "insert_code": lambda chat, p: chat.session.insert_code(
        p["path"], p["line"], p["last"], p["code"]
    ),
    "undo": lambda chat, p: chat.session.undo(p.get("turn")),
    "redo": lambda chat, p: chat.session.redo(),
    "changes": OpenChat.show_changes,
    "take_back": lambda chat, p: chat.session.take_back(p.get("turn"), p["stamp"], _parse_hunks(p)),
    "compact": OpenChat.compact,
    "compact_undo": lambda chat, p: chat.session.undo_compaction(),
    "mode": OpenChat.set_mode,
    "commands": OpenChat.refresh_commands,
    "model": OpenChat.choose_model,
    "models": OpenChat.list_models,
    "approvals": OpenChat.show_approvals,
    "revoke": lambda chat, p: listings.revoke(chat.chat, p.get("id")),
    "explain": OpenChat.explain,
    "rule": OpenChat.propose_rule,
    "rule_revise": OpenChat.revise_rule,
    "rule_write": OpenChat.write_rule,
    "tools": OpenChat.show_tools,
    "add_tool": OpenChat.add_tool,
    "remove_tool": OpenChat.remove_tool,
    "log": OpenChat.show_log,
    "export_log": OpenChat.export_log,
}
"""The events of one chat."""


class NvimTrust:
    """Neovim's trust database."""

    def __init__(self, lua: LuaApi) -> None:
        self._lua = lua

    async def add(self, path: Path, digest: str) -> bool:
        """Trust a file with this hash; return whether Neovim did."""
        return bool(await self._lua.request("trust.agreed", str(path), digest))


def parse_response(payload: Payload) -> ApprovalResponse:
    """Return the user's answer to an approval request."""
    return ApprovalResponse(
        choice=payload["choice"],
        reason=payload.get("reason") or "",
        arguments=payload.get("arguments"),
        hunk_decisions=_parse_hunks(payload),
        replacements=tuple(
            ProposedText(file["path"], file["text"]) for file in _list(payload, "replaced")
        ),
    )


def parse_resolve_command(payload: Payload) -> ResolveCommand:
    """Return the user's command about the newest preview."""
    preview = payload.get("preview")
    return ResolveCommand(
        action=payload["action"],
        reason=payload.get("reason") or "",
        hunks=_parse_hunks(payload),
        seen=ShownPreview(preview, payload.get("stamp") or "") if preview else None,
    )


def _parse_hunks(payload: Payload) -> tuple[HunkDecision, ...]:
    return tuple(
        HunkDecision(
            path=hunk["path"],
            index=hunk["index"],
            keep=bool(hunk["keep"]),
            comment=hunk.get("comment") or "",
            part=hunk.get("part"),
        )
        for hunk in _list(payload, "hunks")
    )


def _list(payload: Payload, name: str) -> list[Payload]:
    value = payload.get(name)
    # An empty table of Lua comes as a mapping.
    return value if isinstance(value, list) else []
