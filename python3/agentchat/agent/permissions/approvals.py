"""The approval request that is open in one chat, and the rules that may settle it."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from dataclasses import replace

from agentchat.agent.permissions.rule_store import RuleReading, RuleStore
from agentchat.core.permissions.policy import Decision, Verdict, decide
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import ApprovalRequest, ApprovalResponse, Choice
from agentchat.core.turn.preview_stack import Preview
from agentchat.core.turn.resolve import judge_resolution
from agentchat.core.turn.view import View

log = logging.getLogger(__name__)

WATCH_SECONDS = 0.5
"""How often the files of rules are looked at while a request is open."""


class Approvals:
    """At most one open request; a response with another id does nothing.

    The rules of the chat are kept as their files are now, and the open request is judged again
    when they or the mode change. Without a rulebook the rules are those of the chat's policy.
    """

    def __init__(
        self, chat: Chat, view: View, rulebook: RuleStore | None, changed: Callable[[], None]
    ) -> None:
        self._chat = chat
        self._view = view
        self._rulebook = rulebook
        self._changed = changed
        self._last = RuleReading()
        self._shown_remarks: set[str] = set()
        self._id = ""
        self._response: asyncio.Future[ApprovalResponse] | None = None
        self.request: ApprovalRequest | None = None
        self.writing = asyncio.Lock()
        """Held while a file of rules is being written, and trusted."""

    # --- requests -------------------------------------------------------------------------------

    async def ask(self, request: ApprovalRequest) -> ApprovalResponse:
        """Show a request and wait for its response; cancelling this voids it."""
        watching = asyncio.ensure_future(self._watch_rules())
        try:
            return await self._ask(request)
        finally:
            watching.cancel()
            await asyncio.wait({watching})

    def answer(self, request_id: str, response: ApprovalResponse) -> bool:
        """Take a response; return whether it was for the open request and the first one."""
        if self._response is None or self._response.done() or request_id != self._id:
            return False
        self._response.set_result(response)
        return True

    def answer_open(self, response: ApprovalResponse) -> bool:
        """Answer whatever request is open; return whether there was one."""
        return self.answer(self._id, response)

    def is_open(self, request_id: str) -> bool:
        """Whether the request with this id waits for its response."""
        return self.request is not None and self._id == request_id

    def asks_about(self, pending: Preview) -> bool:
        """Whether the open request is about applying this preview."""
        asked = self.request.pending if self.request is not None else None
        return asked is not None and asked.id == pending.id

    async def _ask(self, request: ApprovalRequest) -> ApprovalResponse:
        self._id, self.request = uuid.uuid4().hex, request
        self._response = asyncio.get_running_loop().create_future()
        tool = request.call.tool.name
        self._view.ask(self._id, request)
        self._changed()
        self._event("AgentApprovalRequested", tool=tool)
        choice: Choice = "cancel"
        try:
            response = await self._response
            if response.decision is None or response.decision.verdict is Verdict.ALLOW:
                choice = response.choice
            return response
        finally:
            self._view.close_prompt(self._id)
            self.request = self._response = None
            self._changed()
            self._event("AgentApprovalAnswered", tool=tool, choice=choice)

    def _event(self, name: str, **data: str) -> None:
        self._view.event(name, {"prompt": self._id, **data})

    # --- rules ------------------------------------------------------------------------------------

    async def refresh(self) -> None:
        """Read the rules as they are now; an open request that they settle is answered."""
        if self._rulebook is not None:
            async with self.writing:
                self._apply_rules(await self._read(self._rulebook))

    def judge_again(self) -> None:
        """Answer the open request if mode and rules settle it now, in their name."""
        decision = self._judge(self.request) if self.request is not None else None
        if decision is not None and decision.verdict is not Verdict.ASK:
            choice: Choice = "accept" if decision.verdict is Verdict.ALLOW else "reject"
            self.answer_open(ApprovalResponse(choice, decision=decision))

    def _judge(self, request: ApprovalRequest) -> Decision | None:
        if request.question:
            return None
        # Somebody was there when it was asked, and may come back to it.
        policy = replace(self._chat.policy, attended=True)
        if request.pending is None:
            return decide(request.call, request.target, policy)
        if request.pending.standing:
            return None
        return judge_resolution(policy, request.pending, "apply")

    def _apply_rules(self, reading: RuleReading) -> None:
        is_new, self._last = reading != self._last, reading
        policy = self._chat.policy
        policy.rules, policy.problems = reading.rules, reading.problems
        for line in reading.remarks:
            if line not in self._shown_remarks:
                self._shown_remarks.add(line)
                self._view.notify("warn", line)
        if is_new:
            self.judge_again()

    async def _read(self, rulebook: RuleStore) -> RuleReading:
        try:
            return await asyncio.to_thread(rulebook.read)
        except Exception as error:
            log.exception("the rules cannot be read")
            return replace(self._last, problems=(f"the rules cannot be read: {error!r}",))

    async def _watch_rules(self) -> None:
        while self._rulebook is not None:
            await asyncio.sleep(WATCH_SECONDS)
            try:
                await self.refresh()
            except Exception:
                log.exception("the rules could not be applied")
