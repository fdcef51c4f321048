"""The approval requests of a chat that wait, and the rules that may answer them."""

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
"""How often the rule files are read while a request waits."""


class WaitingRequest:
    """A request without a response yet; its ``id`` comes back with the response."""

    def __init__(self, request: ApprovalRequest) -> None:
        self.id = uuid.uuid4().hex
        self.request = request
        self.response: asyncio.Future[ApprovalResponse]
        self.response = asyncio.get_running_loop().create_future()
        self.is_shown = False

    def answer(self, response: ApprovalResponse) -> bool:
        """Take a response; return whether it is the first one."""
        if self.response.done():
            return False
        self.response.set_result(response)
        return True


class Approvals:
    """The requests that wait for a response, by arrival; the oldest one is shown.

    A turn has one at a time; a job that asks, and the call of another agent, may have one beside
    it. The others wait until the shown one is answered. A response with the id of none of them
    does nothing.

    The rules of the chat are those in their files. Waiting requests are judged again when the
    rules or the mode change. Without a rule store the rules are those of the chat's policy.
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
        self._waiting: list[WaitingRequest] = []
        self.writing = asyncio.Lock()
        """Held while a rule file is written and trusted."""

    # --- requests -------------------------------------------------------------------------------

    @property
    def request(self) -> ApprovalRequest | None:
        """The request that is shown, if any waits."""
        return self._waiting[0].request if self._waiting else None

    @property
    def count(self) -> int:
        """How many questions wait, with those that the replies they belong to still have."""
        requests = [waiting.request for waiting in self._waiting]
        return sum(request.total - request.number + 1 for request in requests)

    async def ask(self, request: ApprovalRequest) -> ApprovalResponse:
        """Show a request in its turn and wait for its response; cancelling closes it."""
        watching = asyncio.ensure_future(self._watch_rules())
        try:
            return await self._ask(request)
        finally:
            watching.cancel()
            await asyncio.wait({watching})

    def answer(self, request_id: str, response: ApprovalResponse) -> bool:
        """Take a response; return whether it is the first one to a request that waits."""
        waiting = self._find(request_id)
        if waiting is None or not waiting.answer(response):
            log.info("an answer (%s) came for a request that is not open", response.choice)
            return False
        return True

    def is_open(self, request_id: str) -> bool:
        """Whether the request with this id is the one that is shown."""
        return bool(self._waiting) and self._waiting[0].id == request_id

    def answer_about(self, pending: Preview, response: ApprovalResponse) -> bool:
        """Answer the request about applying a preview; return whether there is one."""
        for waiting in self._waiting:
            asked = waiting.request.staged_preview
            if asked is not None and asked.id == pending.id:
                waiting.answer(response)
                return True
        return False

    def _find(self, request_id: str) -> WaitingRequest | None:
        return next((waiting for waiting in self._waiting if waiting.id == request_id), None)

    async def _ask(self, request: ApprovalRequest) -> ApprovalResponse:
        waiting = WaitingRequest(request)
        self._waiting.append(waiting)
        self._show_oldest()
        choice: Choice = "cancel"
        try:
            response = await waiting.response
            if response.decision is None or response.decision.verdict is Verdict.ALLOW:
                choice = response.choice
            return response
        finally:
            self._close(waiting, choice)

    def _show_oldest(self) -> None:
        self._observer.refresh()
        if self._waiting and not self._waiting[0].is_shown:
            oldest = self._waiting[0]
            oldest.is_shown = True
            self._view.show_request(oldest.id, oldest.request)
            self._send_event("AgentApprovalRequested", oldest)

    def _close(self, waiting: WaitingRequest, choice: Choice) -> None:
        self._waiting.remove(waiting)
        if waiting.is_shown:
            self._view.close_request(waiting.id)
            self._observer.refresh()
            self._send_event("AgentApprovalAnswered", waiting, **_answer_data(choice))
        self._show_oldest()

    def _send_event(self, name: str, waiting: WaitingRequest, **data: str) -> None:
        tool = waiting.request.call.tool.name
        self._view.fire_event(name, {"prompt": waiting.id, "tool": tool, **data})

    # --- rules ------------------------------------------------------------------------------------

    async def refresh(self) -> None:
        """Read the rules again; answer the requests that they decide."""
        if self._rule_store is not None:
            async with self.writing:
                self._apply_rules(await self._read(self._rule_store))

    def judge_again(self) -> None:
        """Answer each waiting request that mode and rules decide now."""
        for waiting in self._waiting:
            decision = self._judge(waiting.request)
            if decision is not None and decision.verdict is not Verdict.ASK:
                choice: Choice = "accept" if decision.verdict is Verdict.ALLOW else "reject"
                waiting.answer(ApprovalResponse(choice, decision=decision))

    def _judge(self, request: ApprovalRequest) -> Decision | None:
        """Return what is decided about a request now; ``None`` if only its answer counts."""
        if request.question:
            return None
        # The user was there when the request was opened, and may come back.
        policy = replace(self._chat.policy, attended=True)
        if request.staged_preview is None:
            decision = decide(request.call, request.target, policy)
            return decision if _may_answer(request, decision) else None
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


def _may_answer(request: ApprovalRequest, decision: Decision) -> bool:
    """Whether a decision about a call may answer the request about it.

    No mode and no rule answers the doubts of the model itself. What a tried command changed is
    asked about with its result, which only the user can judge: of the rules, only one that denies
    counts there.
    """
    if request.isolated is not None:
        return decision.verdict is Verdict.DENY and decision.reason.kind == "rule"
    doubted = request.decision.reason.kind == "own_verdict"
    return not (doubted and decision.verdict is Verdict.ALLOW)


def _answer_data(choice: Choice) -> dict[str, str]:
    """Return what an event says of an answer: *turn* is an accept with a wider scope."""
    return {"choice": "accept", "scope": "turn"} if choice == "turn" else {"choice": choice}
