"""The plan of one call: located, decided, approved if needed, run, answered exactly once.

``CallAttempt`` is the one loop for every call. A ``resolve`` call differs only in its target, a
staged preview: see ``resolve.ResolveAttempt``; ``prompt_calls`` has the calls of the user's own
prompts.

A command may run isolated before the user is asked: ``RunIsolated`` runs it on an overlay of its
own and returns what it changed there, as a value. The request shows it, and ``ApplyIsolated``
applies it. Nothing needs to be taken back on the other ways out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentchat.core.errors import StalePreview, ToolError, Unreachable
from agentchat.core.limits import LONGEST_ERROR, PREVIEWS_PER_CALL
from agentchat.core.messages import Message, Status, ToolResult
from agentchat.core.permissions.policy import Decision, Verdict, as_isolated, decide, may_isolate
from agentchat.core.text import clip
from agentchat.core.tools.call import SAVED_FILES, CallTarget, ValidCall
from agentchat.core.tools.tool import DryRunResult, ShownArguments
from agentchat.core.turn.approval_request import (
    CHANGES_APPLIED,
    CHANGES_DROPPED,
    FILES_CHANGED,
    NOTHING_CHANGED,
    count_use,
    denied_result,
    dropped_result,
    is_same_change,
    judge_outcome,
    rebased_request,
    record_consent,
    rejection_message,
    request_approval,
    response_reason,
    result_heading,
    unapplied_result,
    with_arguments,
    with_kept_hunks,
    with_reason,
    with_replacements,
)
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import (
    ApplyIsolated,
    ApprovalRequest,
    ApprovalResponse,
    ComputeDryRun,
    IsolatedCall,
    Locate,
    Plan,
    ReadyCall,
    Record,
    RunIsolated,
    RunTool,
    RunTools,
    SimilarCall,
    do,
)
from agentchat.core.turn.reverse_thinking import apply_verdict
from agentchat.core.turn.validate import InvalidCall


def record(chat: Chat, effect: Record) -> Plan[Message]:
    """Write a message in the journal, show it and add it to the history."""
    message = yield from do(effect)
    chat.history = chat.history.add(message)
    return message


class ApprovalQueue:
    """The calls of one reply that may still ask, for the ``2 of 5`` of a request.

    ``version`` counts the events after which a call must be located and decided again: a call
    ran, or the user was asked and had time to change something.
    """

    def __init__(self) -> None:
        self._waiting: list[CallAttempt] = []
        self._asked_ids: set[str] = set()
        self.version = 0

    def add(self, attempt: CallAttempt) -> None:
        """Put a call at the end."""
        self._waiting.append(attempt)

    def remove(self, attempt: CallAttempt) -> None:
        """Take out a call whose turn it is."""
        self._waiting.remove(attempt)

    def invalidate(self) -> None:
        """Make every call look up its target again."""
        self.version += 1

    def number(self, request: ApprovalRequest) -> Plan[ApprovalRequest]:
        """Return the request with its number, from 1, and with what else the reply asks."""
        self._asked_ids.add(request.call.call.id)
        number = total = len(self._asked_ids)
        similar: list[SimilarCall] = []
        for attempt in self._waiting:
            decision = yield from attempt.expected_decision()
            if decision is None or decision.verdict is not Verdict.ASK:
                continue
            total += 1
            if attempt.call.tool is request.call.tool:
                similar.append(_similar_call(attempt.call, decision, request.decision))
        return replace(request, number=number, total=total, similar=tuple(similar))


class CallAttempt:
    """One call of the model on its way to its one result."""

    def __init__(self, chat: Chat, call: ValidCall, queue: ApprovalQueue) -> None:
        self.chat = chat
        self.call = call
        self.queue = queue
        self.decision: Decision | None = None
        """The decision to record with the result, if no other record has it."""
        self._target: CallTarget | None = None
        self._locate_error = ToolError("")
        self._version = -1
        self._reject_reason = ""
        self._stale: StalePreview | None = None
        self._last_request: ApprovalRequest | None = None
        self._was_isolated = False
        """Whether the user saw what the command does isolated, and is shown that again."""

    has_block = True
    """Whether the call has a block in the chat."""

    # --- what differs between calls -------------------------------------------------------------

    def locate(self) -> Plan[CallTarget]:
        """Find out where the call would act; raises ToolError."""
        (target,) = yield from do(Locate((self.call,)))
        if isinstance(target, ToolError):
            raise target
        return target

    def decide(self, target: CallTarget) -> Decision:
        """Return the policy's decision about the call."""
        return decide(self.call, target, self.chat.policy)

    def run_unasked(self, target: CallTarget, decision: Decision) -> Plan[ToolResult]:
        """Run the call without a question."""
        return (yield from self.run_ready(ReadyCall(self.call, target, decision)))

    def request(self, target: CallTarget, decision: Decision) -> Plan[ApprovalRequest]:
        """Return the approval request; raises ToolError if the call cannot work."""
        preview: DryRunResult | None = None
        if self.call.tool.dry_run is not None:
            preview = yield from do(ComputeDryRun(self.call, target))
        return ApprovalRequest(
            self.call, target, decision, preview, can_try=self._can_try(target, decision)
        )

    def _can_try(self, target: CallTarget, decision: Decision) -> bool:
        """Whether the call is a command that can run isolated, and does not anyway."""
        can = may_isolate(self.call, target, self.chat.policy)
        return can and not decision.in_overlay and not decision.isolated

    def run_approved(self, request: ApprovalRequest, decision: Decision) -> Plan[ToolResult]:
        """Run what the user approved of the call; of a call that ran already, apply the result."""
        if request.isolated is not None:
            return (yield from self._apply_isolated(request, request.isolated, decision))
        if decision.isolated:
            return (yield from self._run_isolated(request.target, decision))
        ready = ReadyCall(self.call, request.target, decision, request.preview)
        return (yield from self.run_ready(ready))

    def run_ready(self, ready: ReadyCall) -> Plan[ToolResult]:
        """Run the call in the workspace itself."""
        return (yield from do(RunTool(ready)))

    def reject(self, request: ApprovalRequest, reason: str) -> Plan[ToolResult]:
        """Return the result of a call that the user rejected."""
        yield from ()
        return self.result(rejection_message(self.call, reason), Status.REJECTED)

    # --- the loop ---------------------------------------------------------------------------------

    def answer(self) -> Plan[None]:
        """Bring the call to its result and record that."""
        result = yield from self.outcome()
        yield from record(
            self.chat,
            Record(
                result,
                self.decision,
                heading=result_heading(self.call),
                call=self.call,
                reason=self._reject_reason,
            ),
        )

    def outcome(self) -> Plan[ToolResult]:
        """Bring the call to its result."""
        try:
            return (yield from self._answer_until_current())
        except ToolError as error:
            return self.result(str(error), Status.ERROR)

    @property
    def may_join_batch(self) -> bool:
        """Whether the call may run together with its neighbours, if it need not ask."""
        metadata = self.call.tool.metadata
        is_gated = metadata.requires_checkpoint or metadata.requires_reverse_thinking
        return self.call.tool.runs_beside_others and not is_gated

    def ready_for_batch(self) -> Plan[ReadyCall | None]:
        """Return the call ready to run together with its neighbours, if that is allowed."""
        if not self.may_join_batch:
            return None
        try:
            target = yield from self._current_target()
        except ToolError:
            return None  # the error becomes the call's result when it is answered alone
        decision = self.decide(target)
        if decision.verdict is not Verdict.ALLOW or decision.isolated:
            return None
        return ReadyCall(self.call, target, decision)

    def expected_decision(self) -> Plan[Decision | None]:
        """Return what would be decided now; a target looked up earlier is good enough."""
        try:
            target = self._target or (yield from self._current_target())
            return self.decide(target)
        except ToolError:
            return None

    def result(self, text: str, status: Status) -> ToolResult:
        """Return a result of this call that is not the tool's own."""
        text = clip(text, LONGEST_ERROR)
        return ToolResult(self.call.call.id, self.call.tool.name, text, status)

    def _current_target(self) -> Plan[CallTarget]:
        """Return where the call acts; look it up only if something happened since."""
        if not self.is_located:
            try:
                self.keep_target((yield from self.locate()))
            except ToolError as error:
                self.keep_target(error)
        if self._target is None:
            raise self._locate_error
        return self._target

    @property
    def is_located(self) -> bool:
        """Whether nothing happened since the target was looked up."""
        return self._version == self.queue.version

    def keep_target(self, target: CallTarget | ToolError) -> None:
        """Take over where the call acts now, or why it cannot act."""
        self._version, self._target = self.queue.version, None
        if isinstance(target, ToolError):
            self._locate_error = target
        else:
            self._target = target

    def _answer_until_current(self) -> Plan[ToolResult]:
        """Decide about the call again, a few times, while its files change under the preview."""
        tries = 0
        while True:
            try:
                return (yield from self._decide_and_run())
            except StalePreview as stale:
                tries += 1
                self._stale = stale
                if tries == PREVIEWS_PER_CALL:
                    raise
            except ToolError as error:
                if self._stale is None:
                    raise
                # No new preview is possible; the model must hear that the file changed.
                raise self._stale from error

    def _decide_and_run(self) -> Plan[ToolResult]:
        target = yield from self._current_target()
        decision = self.decide(target)
        if decision.verdict is Verdict.DENY:
            return self._deny(decision)
        if self.call.tool.metadata.requires_checkpoint:
            target = replace(target, checkpoint=self._checkpoint(target))
            if not target.checkpoint:
                return self._deny(decision, no_checkpoint_message(self.call))
        messages = self.chat.history.messages
        decision = apply_verdict(self.call, decision, self.chat.policy, messages)
        if decision.verdict is Verdict.DENY:
            return self._deny(decision)
        if decision.verdict is Verdict.ALLOW and decision.isolated:
            return (yield from self._run_isolated(target, decision))
        if decision.verdict is Verdict.ALLOW:
            return (yield from self._run_and_count(decision, self.run_unasked(target, decision)))
        request = yield from self._number_request((yield from self.request(target, decision)))
        if self._was_isolated and request.can_try:
            request = yield from self._try(request)
        return (yield from self._ask(request))

    def _checkpoint(self, target: CallTarget) -> str:
        """Return what saves the state before the call; empty if nothing can."""
        handler = self.chat.toolset.handler_for(self.call.tool)
        if handler is not None:
            return handler.name
        return SAVED_FILES if target.savable else ""

    def _number_request(self, request: ApprovalRequest) -> Plan[ApprovalRequest]:
        """Return the request with its number, and with what changed since the last one."""
        last, stale = self._last_request, self._stale
        if last is not None and stale is not None:
            if is_same_change(request, last):
                raise ToolError(str(stale))
            request = rebased_request(request, last, stale.path)
        return (yield from self.queue.number(request))

    def _ask(self, request: ApprovalRequest) -> Plan[ToolResult]:
        """Ask until the response is no edit, and do what it says."""
        while True:
            self._last_request = request
            response = yield from request_approval(request)
            self.queue.invalidate()
            if response.choice == "try":
                request = yield from self._try(request)
                continue
            if response.choice != "edit":
                return (yield from self._apply_response(request, response))
            if response.replacements:
                request = with_replacements(request, response)
                continue
            try:
                self.call = yield from with_arguments(self.chat, self.call, response)
            except InvalidCall as error:
                request = replace(request, problem=str(error))
                continue
            self._stale = self._last_request = None
            self._was_isolated = False
            return (yield from self._decide_and_run())

    def _try(self, request: ApprovalRequest) -> Plan[ApprovalRequest]:
        """Run the command isolated; return the request with what it did."""
        decision = as_isolated(self.call, request.target, request.decision)
        try:
            isolated = yield from self._isolate(request.target, decision)
        except ToolError as error:
            return replace(request, problem=str(error), can_try=False)
        self._was_isolated = True
        preview = isolated.preview
        return replace(
            request, decision=decision, preview=preview, isolated=isolated, can_try=False
        )

    # --- isolated runs ----------------------------------------------------------------------------

    def _isolate(self, target: CallTarget, decision: Decision) -> Plan[IsolatedCall]:
        """Run the command isolated; raises ToolError if no overlay works."""
        ready = ReadyCall(self.call, target, decision)
        return (yield from do(RunIsolated(ready, shown=self.has_block)))

    def _run_isolated(self, target: CallTarget, decision: Decision) -> Plan[ToolResult]:
        """Run the command isolated; ask about what it changed, as far as that asks."""
        try:
            isolated = yield from self._isolate(target, decision)
        except Unreachable:
            self.chat.policy.has_overlay = False
            return (yield from self._decide_and_run())
        outcome = judge_outcome(decision, isolated)
        if outcome == "return":
            self.decision = with_reason(decision, NOTHING_CHANGED)
            count_use(self.chat, decision)
            return isolated.result
        if outcome == "drop":
            self.decision = with_reason(decision, CHANGES_DROPPED)
            return dropped_result(isolated)
        shown = with_reason(decision, FILES_CHANGED)
        request = ApprovalRequest(self.call, target, shown, isolated.preview, isolated=isolated)
        if outcome == "apply":
            run = self._apply_isolated(request, isolated, with_reason(decision, CHANGES_APPLIED))
            return (yield from self._run_and_count(decision, run))
        if not self.chat.policy.attended:
            self.decision = replace(decision, verdict=Verdict.DENY)
            return denied_result(self.call, target, isolated, self.chat.policy.rules_file)
        return (yield from self._ask((yield from self._number_request(request))))

    def _apply_isolated(
        self, request: ApprovalRequest, isolated: IsolatedCall, decision: Decision
    ) -> Plan[ToolResult]:
        """Apply what is kept of what the command changed; it does not run again."""
        if isolated.changes_nothing:
            return isolated.result
        ready = ReadyCall(self.call, request.target, decision, request.preview)
        return (yield from do(ApplyIsolated(ready, isolated)))

    def _apply_response(
        self, request: ApprovalRequest, response: ApprovalResponse
    ) -> Plan[ToolResult]:
        changed = response.decision
        if changed is not None and changed.verdict is Verdict.DENY:
            return self._deny(changed)
        if changed is not None:
            return (yield from self._run_and_count(changed, self.run_approved(request, changed)))
        kept = with_kept_hunks(request, response)
        if request.isolated is not None and kept is None and not response.hunk_decisions:
            return unapplied_result(request.isolated)
        if response.choice == "reject" or kept is None:
            self._reject_reason = response_reason(request, response)
            return (yield from self.reject(request, self._reject_reason))
        decision = record_consent(self.chat, request, response)
        return (yield from self._run_and_count(decision, self.run_approved(kept, decision)))

    def _run_and_count(self, decision: Decision, run: Plan[ToolResult]) -> Plan[ToolResult]:
        """Run the call, and count that as a use of the grant that allows it."""
        self.queue.invalidate()
        result = yield from run
        count_use(self.chat, decision)
        return result

    def _deny(self, decision: Decision, text: str = "") -> ToolResult:
        self.decision = decision
        return self.result(text or decision.message, Status.DENIED)


def _similar_call(call: ValidCall, decision: Decision, shown: Decision) -> SimilarCall:
    """Return a waiting call beside the one that is asked about."""
    title = call.tool.title(ShownArguments(dict(call.raw_arguments), call.call.id))
    return SimilarCall(
        title=title,
        is_covered=decision.scope is not None
        and decision.scope == shown.scope
        and decision.reason.kind == shown.reason.kind,
    )


def locate_together(attempts: Sequence[CallAttempt]) -> Plan[None]:
    """Look up the targets of neighbours in one go, if there are several."""
    if len(attempts) > 1:
        targets = yield from do(Locate(tuple(attempt.call for attempt in attempts)))
        for attempt, target in zip(attempts, targets, strict=True):
            attempt.keep_target(target)


def run_together(chat: Chat, batch: list[tuple[CallAttempt, ReadyCall]]) -> Plan[None]:
    """Run calls that need no approval at the same time; answer them in order."""
    if not batch:
        return
    batch[0][0].queue.invalidate()
    results = yield from do(RunTools(tuple(ready for _, ready in batch)))
    for (attempt, ready), result in zip(batch, results, strict=True):
        count_use(chat, ready.decision)
        heading = result_heading(attempt.call)
        yield from record(chat, Record(result, heading=heading, call=attempt.call))


def no_checkpoint_message(call: ValidCall) -> str:
    """Return the answer to a call that needs a checkpoint without a handler."""
    name = call.tool.name
    return f'Checkpoint required: no handler is registered, so "{name}" was not run.'
