"""The plan of one call: located, judged, asked about if need be, run, answered exactly once.

``CallAttempt`` is the one loop for every call. A ``resolve`` call differs only in what it is
about, a staged preview: ``resolution.ResolveAttempt`` says how.
"""

from __future__ import annotations

from dataclasses import replace

from agentchat.core.errors import StalePreview, ToolError
from agentchat.core.limits import LONGEST_ERROR, PREVIEWS_PER_CALL
from agentchat.core.messages import Message, Status, ToolResult
from agentchat.core.permissions.policy import Decision, Verdict, decide
from agentchat.core.text import clip
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.core.tools.tool import DryRunResult
from agentchat.core.turn.approval_request import (
    ApprovalQueue,
    count_use,
    is_same_change,
    rebased_request,
    record_consent,
    rejection_message,
    request_approval,
    response_reason,
    result_heading,
    with_arguments,
    with_kept_hunks,
    with_replacements,
)
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import (
    ApprovalRequest,
    ApprovalResponse,
    DryRun,
    Locate,
    Plan,
    ReadyCall,
    Record,
    RunTool,
    RunTools,
    do,
)
from agentchat.core.turn.validate import InvalidCall


def record(chat: Chat, effect: Record) -> Plan[Message]:
    """Write a message down, show it and add it to the history."""
    message = yield from do(effect)
    chat.history = chat.history.add(message)
    return message


class CallAttempt:
    """One call of the model on its way to its one result."""

    def __init__(self, chat: Chat, call: ValidCall, queue: ApprovalQueue) -> None:
        self.chat = chat
        self.call = call
        self.queue = queue
        self.target: CallTarget | None = None
        self._unlocatable = ToolError("")
        self._version = -1
        self._stale: StalePreview | None = None
        self._asked: ApprovalRequest | None = None
        self.decision: Decision | None = None
        """What to record with the result: the decision, where nothing else records it."""

    # --- what differs between calls -------------------------------------------------------------

    def locate(self) -> Plan[CallTarget]:
        """Find out where the call would act; raises ToolError."""
        return (yield from do(Locate(self.call)))

    def decide(self, target: CallTarget) -> Decision:
        """Return what policy says of the call there."""
        return decide(self.call, target, self.chat.policy)

    def run_unasked(self, target: CallTarget, decision: Decision) -> Plan[ToolResult]:
        """Run the call without a question."""
        return (yield from do(RunTool(ReadyCall(self.call, target, decision))))

    def request(self, target: CallTarget, decision: Decision) -> Plan[ApprovalRequest]:
        """Return the question; raises ToolError where the call cannot work."""
        preview: DryRunResult | None = None
        if self.call.tool.dry_run is not None:
            preview = yield from do(DryRun(self.call, target))
        return ApprovalRequest(self.call, target, decision, preview)

    def run_approved(self, request: ApprovalRequest, decision: Decision) -> Plan[ToolResult]:
        """Run the call as the user saw and kept it."""
        ready = ReadyCall(self.call, request.target, decision, request.preview)
        return (yield from do(RunTool(ready)))

    def reject(self, request: ApprovalRequest, why: str) -> Plan[ToolResult]:
        """Return the result of a call that the user rejected."""
        yield from ()
        return self.result(rejection_message(self.call, why), Status.REJECTED)

    # --- the loop ---------------------------------------------------------------------------------

    def answer(self) -> Plan[None]:
        """Bring the call to its result and record that."""
        try:
            result = yield from self._settle()
        except ToolError as error:
            result = self.result(str(error), Status.ERROR)
        yield from record(self.chat, Record(result, self.decision, result_heading(self.call)))

    def ready_beside_others(self) -> Plan[ReadyCall | None]:
        """Return the call ready to run at the same time as its neighbours, if it may."""
        if not self.call.tool.runs_beside_others or self.call.tool.metadata.requires_checkpoint:
            return None
        try:
            target = yield from self._located()
        except ToolError:
            return None  # the error is the call's result, in its turn
        decision = self.decide(target)
        if decision.verdict is not Verdict.ALLOW:
            return None
        return ReadyCall(self.call, target, decision)

    def would_ask(self) -> Plan[bool]:
        """Whether the call would ask if it were judged now; an older target will do."""
        try:
            target = self.target or (yield from self._located())
            return self.decide(target).verdict is Verdict.ASK
        except ToolError:
            return False

    def result(self, text: str, status: Status) -> ToolResult:
        """Return a result of this call that is not its tool's own."""
        text = clip(text, LONGEST_ERROR)
        return ToolResult(self.call.call.id, self.call.tool.name, text, status)

    def _located(self) -> Plan[CallTarget]:
        """Return where the call acts, looked up once as long as nothing happens."""
        if self._version != self.queue.version:
            self._version, self.target = self.queue.version, None
            try:
                self.target = yield from self.locate()
            except ToolError as error:
                self._unlocatable = error
        if self.target is None:
            raise self._unlocatable
        return self.target

    def _settle(self) -> Plan[ToolResult]:
        """Judge the call again, a few times, as long as its files change under the preview."""
        tries = 0
        while True:
            try:
                return (yield from self._judged())
            except StalePreview as stale:
                tries += 1
                self._stale = stale
                if tries == PREVIEWS_PER_CALL:
                    raise
            except ToolError as error:
                if self._stale is None:
                    raise
                # It cannot be previewed again: what matters to the model is that it changed.
                raise self._stale from error

    def _judged(self) -> Plan[ToolResult]:
        """Locate the call, decide, and do what the decision says."""
        target = yield from self._located()
        decision = self.decide(target)
        if decision.verdict is Verdict.DENY:
            return self._denied(decision)
        if self.call.tool.metadata.requires_checkpoint:
            return self._denied(decision, no_checkpoint_message(self.call))
        if decision.verdict is Verdict.ALLOW:
            return (yield from self._counted(decision, self.run_unasked(target, decision)))
        request = yield from self.request(target, decision)
        return (yield from self._ask((yield from self._numbered(request))))

    def _numbered(self, request: ApprovalRequest) -> Plan[ApprovalRequest]:
        """Return the request with its place in the queue, and what is new since the last one."""
        last, stale = self._asked, self._stale
        if last is not None and stale is not None:
            if is_same_change(request, last):
                raise ToolError(str(stale))
            request = rebased_request(request, last, stale.path)
        number, total = yield from self.queue.number(self.call)
        return replace(request, number=number, total=total)

    def _ask(self, request: ApprovalRequest) -> Plan[ToolResult]:
        """Ask until the response is an answer, and do what it says."""
        while True:
            self._asked = request
            response = yield from request_approval(request)
            self.queue.changed()
            if response.choice != "edit":
                return (yield from self._answered(request, response))
            if response.replacements:
                request = with_replacements(request, response)
                continue
            try:
                self.call = yield from with_arguments(self.chat, self.call, response)
            except InvalidCall as error:
                request = replace(request, problem=str(error))
                continue
            self._stale = self._asked = None
            return (yield from self._judged())

    def _answered(self, request: ApprovalRequest, response: ApprovalResponse) -> Plan[ToolResult]:
        settled = response.decision
        if settled is not None and settled.verdict is Verdict.DENY:
            return self._denied(settled)
        if settled is not None:
            return (yield from self._counted(settled, self.run_approved(request, settled)))
        kept = with_kept_hunks(request, response)
        if response.choice == "reject" or kept is None:
            return (yield from self.reject(request, response_reason(request, response)))
        allowed = record_consent(self.chat, request, response)
        return (yield from self._counted(allowed, self.run_approved(kept, allowed)))

    def _counted(self, decision: Decision, run: Plan[ToolResult]) -> Plan[ToolResult]:
        """Run the call, and count that under the decision that lets it."""
        self.queue.changed()
        result = yield from run
        count_use(self.chat, decision)
        return result

    def _denied(self, decision: Decision, text: str = "") -> ToolResult:
        self.decision = decision
        return self.result(text or decision.message, Status.DENIED)


def run_together(chat: Chat, batch: list[tuple[CallAttempt, ReadyCall]]) -> Plan[None]:
    """Run calls that need no question at the same time; answer them in order."""
    if not batch:
        return
    batch[0][0].queue.changed()
    results = yield from do(RunTools(tuple(ready for _, ready in batch)))
    for (attempt, ready), result in zip(batch, results, strict=True):
        count_use(chat, ready.decision)
        yield from record(chat, Record(result, heading=result_heading(attempt.call)))


def no_checkpoint_message(call: ValidCall) -> str:
    """Return the answer to a call that needs a checkpoint nobody handles."""
    name = call.tool.name
    return f'Checkpoint required: no handler is registered, so "{name}" was not run.'
