"""The open approval request of a chat, and the rules that may answer it."""

from __future__ import annotations

import asyncio
import logging
import uuid
from dataclasses import replace

from agentchat.agent.permissions.rule_store import RuleReading, RuleStore
from agentchat.core.permissions.policy import Decision, Verdict, decide
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import ApprovalRequest, ApprovalResponse, Choice
from agentchat.core.turn.preview_stack import Preview
from agentchat.core.turn.resolve import decide_resolution
from agentchat.core.turn.view import Observer, View

log = logging.getLogger(__name__)

WATCH_SECONDS = 0.5
"""How often the rule files are read while a request is open."""


class Approvals:
    """At most one open request; a response with another id does nothing.

    The rules of the chat are those in their files. The open request is judged again when the rules
    or the mode change. Without a rule store the rules are those of the chat's policy.
    """

    def __init__(
        self, chat: Chat, *, view: View, rule_store: RuleStore | None, observer: Observer
    ) -> None:
        self._chat = chat
        self._view = view
        self._rule_store = rule_store
        self._observer = observer
        self._last = RuleReading()
        self._notified: set[str] = set()
        self._id = ""
        self._response: asyncio.Future[ApprovalResponse] | None = None
        self.request: ApprovalRequest | None = None
        self.writing = asyncio.Lock()
        """Held while a rule file is written and trusted."""

    # --- requests -------------------------------------------------------------------------------

    async def ask(self, request: ApprovalRequest) -> ApprovalResponse:
        """Show a request and wait for its response; cancelling closes it."""
        watching = asyncio.ensure_future(self._watch_rules())
        try:
            return await self._ask(request)
        finally:
            watching.cancel()
            await asyncio.wait({watching})

    def answer(self, request_id: str, response: ApprovalResponse) -> bool:
        """Take a response; return whether it is the first one to the open request."""
        if self._response is None or self._response.done() or request_id != self._id:
            log.info("an answer (%s) came for a request that is not open", response.choice)
            return False
        self._response.set_result(response)
        return True

    def answer_open(self, response: ApprovalResponse) -> bool:
        """Answer the open request; return whether there was one."""
        return self.answer(self._id, response)

    def is_open(self, request_id: str) -> bool:
        """Whether the request with this id waits for its response."""
        return self.request is not None and self._id == request_id

    def asks_about(self, pending: Preview) -> bool:
        """Whether the open request is about applying this preview."""
        asked = self.request.staged_preview if self.request is not None else None
        return asked is not None and asked.id == pending.id

    async def _ask(self, request: ApprovalRequest) -> ApprovalResponse:
        self._id, self.request = uuid.uuid4().hex, request
        self._response = asyncio.get_running_loop().create_future()
        tool = request.call.tool.name
        self._view.show_request(self._id, request)
        self._observer.refresh()
        self._send_event("AgentApprovalRequested", tool=tool)
        choice: Choice = "cancel"
        try:
            response = await self._response
            if response.decision is None or response.decision.verdict is Verdict.ALLOW:
                choice = response.choice
            return response
        finally:
            self._view.close_request(self._id)
            self.request = self._response = None
            self._observer.refresh()
            self._send_event("AgentApprovalAnswered", tool=tool, **_answer_data(choice))

    def _send_event(self, name: str, **data: str) -> None:
        self._view.fire_event(name, {"prompt": self._id, **data})

    # --- rules ------------------------------------------------------------------------------------

    async def refresh(self) -> None:
        """Read the rules again; answer the open request if they decide it."""
        if self._rule_store is not None:
            async with self.writing:
                self._apply_rules(await self._read(self._rule_store))

    def judge_again(self) -> None:
        """Answer the open request if mode and rules decide it now."""
        decision = self._judge(self.request) if self.request is not None else None
        if decision is not None and decision.verdict is not Verdict.ASK:
            choice: Choice = "accept" if decision.verdict is Verdict.ALLOW else "reject"
            self.answer_open(ApprovalResponse(choice, decision=decision))

    def _judge(self, request: ApprovalRequest) -> Decision | None:
        if request.question:
            return None
        # The user was there when the request was opened, and may come back.
        policy = replace(self._chat.policy, attended=True)
        if request.staged_preview is None:
            decision = decide(request.call, request.target, policy)
            # No mode and no rule answers the doubts of the model itself.
            doubted = request.decision.reason.kind == "own_verdict"
            return None if doubted and decision.verdict is Verdict.ALLOW else decision
        if request.staged_preview.is_standing:
            return None
        return decide_resolution(policy, request.staged_preview, "apply")

    def _apply_rules(self, reading: RuleReading) -> None:
        is_new, self._last = reading != self._last, reading
        policy = self._chat.policy
        policy.rules, policy.problems = reading.rules, reading.problems
        for line in reading.remarks:
            if line not in self._notified:
                self._notified.add(line)
                self._view.notify("warn", line)
        if is_new:
            self.judge_again()

    async def _read(self, rule_store: RuleStore) -> RuleReading:
        try:
            return await asyncio.to_thread(rule_store.read)
        except Exception as error:
            log.exception("the rules cannot be read")
            return replace(self._last, problems=(f"the rules cannot be read: {error!r}",))

    async def _watch_rules(self) -> None:
        while self._rule_store is not None:
            await asyncio.sleep(WATCH_SECONDS)
            try:
                await self.refresh()
            except Exception:
                log.exception("the rules could not be applied")


def _answer_data(choice: Choice) -> dict[str, str]:
    """Return what an event says of an answer: *turn* is an accept with a wider scope."""
    return {"choice": "accept", "scope": "turn"} if choice == "turn" else {"choice": choice}
