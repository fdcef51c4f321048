"""Keeps a conversation within the model's window: short results first, then a summary.

Before each request the conversation is compared with the window. When it nearly fills it, old tool
results are sent in a short form; if that is not enough, the model writes a summary of the older
part, the user sees and edits it, and from then on it is sent in place of that part. The same
happens when a server refuses a request as too long, and when the user asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from agentchat.core.context.context import (
    Compaction,
    ContextStep,
    compact,
    find_cut,
    find_shortening,
)
from agentchat.core.context.shorten import shorten
from agentchat.core.context.size import Window, fixed_tokens, total_tokens
from agentchat.core.errors import Cancelled
from agentchat.core.messages import History, Message, Note, Reply, ToolResult
from agentchat.core.model import ModelRequest
from agentchat.core.turn.approval_request import make_question, question_tool, request_approval
from agentchat.core.turn.chat import Chat
from agentchat.core.turn.effects import Announce, Plan, Prepare, RecordStep, Summarize, do

COMPACT = question_tool(
    "compact",
    "the model gets this summary in place of the older part. The chat and its journal keep all of "
    "it, and :AgentCompact undo sends it again.",
)

INSTRUCTION = (
    "<system-reminder>\n"
    "The conversation above is about to be replaced by a summary, because it fills your context. "
    "You will go on with nothing but that summary, the user's own messages and the newest part. "
    "Write the summary now, as plain text, and call no tool. Be complete and exact: name files, "
    "functions, commands, numbers and error messages as they are. Cover, in this order:\n"
    "1. What the user wants, with every constraint and preference.\n"
    "2. What was decided, and why; what was tried and did not work.\n"
    "3. The state of the work: files read and changed, and what matters in them; tests run.\n"
    "4. What is left to do, and the next step.\n"
    "{}"
    "</system-reminder>"
)
FOCUS = "The user asks you to keep in particular: {}\n"
LEFT_OUT = "[Earlier messages are left out here: the conversation is too long to be read at once.]"

QUESTION = "Compact {} messages into this summary?"
KEPT = "your words and decisions, the plan, pending previews, the newest part"
EMPTY = "The summary is empty: write one, or reject it."

NOTHING = "There is nothing to compact: the chat has no older part with an answer."
REJECTED = "The summary was rejected: nothing is compacted."
FAILED = "The summary failed, nothing is compacted: {}"
NO_TEXT = "the model wrote none. Try again, or choose another model with :AgentModel."

SHORTENED = (
    "Old tool results are sent in short form from now on: {:,} → {:,} tokens. The chat has them."
)
COMPACTED = (
    "Compacted {} messages: {:,} → {:,} tokens. :AgentLog shows the summary, :AgentCompact undo "
    "takes it back."
)
TOO_SMALL = (
    "The context of the model has {:,} tokens; the system prompt and the tools alone take about "
    "{:,}. Choose a model with a larger context with :AgentModel, raise model.context, or give the "
    "chat fewer tools (tools.default)."
)

LESS_SHARE = 0.95
"""A summary is asked for only with this share, or less, of what was refused as too long."""
MOST_HALVINGS = 4

ASK_AGAIN_SHARE = 10
"""After an answer the conversation grows by one part of so many of the window before the next."""


def keep_within_window(chat: Chat) -> Plan[None]:
    """Make room before a request that would nearly fill the window."""
    if chat.requested_focus is not None:
        focus, chat.requested_focus = chat.requested_focus, None
        yield from _report(chat, compact_chat(chat, focus, is_command=True))
        return
    if chat.window is None or chat.compact == "off":
        return
    window, used = Window(chat.window), chat.used_tokens()
    if used < window.shorten_at:
        return
    step = find_shortening(chat.history.messages, chat.context, window.tokens)
    if step is not None:
        yield from _take(chat, step, SHORTENED)
    used = chat.used_tokens()
    if used >= window.compact_at and used >= chat.asked_at + window.tokens // ASK_AGAIN_SHARE:
        chat.asked_at = used
        yield from _report(chat, compact_chat(chat))


def make_room(chat: Chat) -> Plan[str]:
    """Compact the chat because a server refused it as too long; return why not, if not."""
    problem = "Compact it with :AgentCompact."
    if chat.compact != "off":
        problem = yield from compact_chat(chat, refused=chat.used_tokens())
    return (_too_small(chat) or problem) if problem else ""


def _too_small(chat: Chat) -> str:
    """Return what to do if no conversation fits into the window; empty if one does."""
    request = chat.request()
    fixed = fixed_tokens(request.system, request.tools)
    if chat.window is None or fixed < chat.window:
        return ""
    return TOO_SMALL.format(chat.window, fixed)


def run_compact_command(chat: Chat, focus: str) -> Plan[str]:
    """Compact the chat at the user's command; return why not, if not."""
    yield from do(Prepare())
    return (yield from compact_chat(chat, focus, is_command=True))


def compact_chat(
    chat: Chat, focus: str = "", *, is_command: bool = False, refused: int | None = None
) -> Plan[str]:
    """Replace the older part of the chat by a summary; return why not, empty if it is done.

    Args:
        focus: what the summary must keep in particular.
        is_command: the user asked for it, so that the summary is shown whatever the setting.
        refused: tokens of a conversation that the server refused as too long.
    """
    messages = chat.history.messages
    window = min((n for n in (chat.window, refused) if n is not None), default=None)
    cut = find_cut(messages, chat.context.start, window)
    if cut is None:
        return NOTHING
    sent = chat.context.view(chat.history).messages if refused is not None else None
    reply = yield from _summarize(chat, cut, focus, total_tokens(sent) if sent else None)
    if reply.error or not reply.text.strip():
        return FAILED.format(reply.error or NO_TEXT)
    asks = chat.policy.attended and (is_command or chat.compact == "ask")
    summary = reply.text.strip()
    if asks:
        approved = yield from _approve(chat, summary, cut - chat.context.start)
        if approved is None:
            return REJECTED
        summary = approved
    pending = [call_id for preview in chat.previews for call_id in preview.calls]
    step = compact(messages, cut, summary, pending=pending, window=window)
    yield from _take(chat, step, COMPACTED)
    return ""


def _report(chat: Chat, compacting: Plan[str]) -> Plan[None]:
    """Show why the chat was not compacted, unless the user rejected it or there is nothing to."""
    problem = yield from compacting
    if problem == NOTHING:
        problem = _too_small(chat)
    if problem and problem != REJECTED:
        yield from do(Announce(problem, "error"))


def _take(chat: Chat, step: ContextStep, text: str) -> Plan[None]:
    before, start = chat.used_tokens(), chat.context.start
    chat.meter.calibrate(chat.history, chat.context, chat.request())
    yield from do(RecordStep(step))
    chat.context.add(step, chat.history)
    after = chat.used_tokens()
    if not isinstance(step, Compaction):
        yield from do(Announce(text.format(before, after)))
        return
    chat.asked_at = after
    count = step.before - start
    data = {"messages": count, "used_before": before, "used_after": after}
    yield from do(Announce(text.format(count, before, after), compacted=data))


# --- the summary ----------------------------------------------------------------------------------


def _summarize(chat: Chat, cut: int, focus: str, refused: int | None) -> Plan[Reply]:
    """Ask the model for a summary; if even that is too long, with less of the conversation.

    Args:
        refused: the estimated tokens of a conversation that was too long; nothing as long is sent.
    """
    reply, is_sent = Reply(), False
    candidates = [*_shorter_and_shorter(chat, cut, focus)]
    for messages in candidates:
        size = total_tokens(messages)
        is_last_chance = messages is candidates[-1] and not is_sent
        if refused is not None and size > refused * LESS_SHARE and not is_last_chance:
            continue
        is_sent = True
        history, refused = History(messages), size
        request = replace(chat.request(), history=history, forced=None, reminder=None)
        reply = yield from do(Summarize(request))
        if reply.finish != "overflow":
            break
    if reply.finish == "cancelled":
        raise Cancelled
    return reply


def _shorter_and_shorter(chat: Chat, cut: int, focus: str) -> Iterator[tuple[Message, ...]]:
    """Yield the messages of requests for a summary, each shorter than the one before.

    The first one begins as all others of this chat did, so that its server has read most of it.
    """
    older = chat.context.view(History(chat.history.messages[:cut])).with_stops().messages
    note = Note(INSTRUCTION.format(FOCUS.format(focus) if focus else ""))
    yield (*older, note)
    rest = tuple(map(shorten, older))
    yield (*rest, note)
    for _ in range(MOST_HALVINGS):
        start = _safe_start(rest, max(1, len(rest) // 2))
        if start >= len(rest):
            return
        rest = rest[start:]
        yield (Note(LEFT_OUT), *rest, note)


def is_summary_request(request: ModelRequest) -> bool:
    """Whether a request asks for a summary of its conversation, not for its next step."""
    last = request.history.messages[-1] if request.history.messages else None
    return isinstance(last, Note) and last.text.startswith(INSTRUCTION.partition("{}")[0])


def _safe_start(messages: tuple[Message, ...], index: int) -> int:
    """Return the first index from ``index`` on that is not between a reply and its results."""
    while index < len(messages) and isinstance(messages[index], ToolResult):
        index += 1
    return index


def _fullness(chat: Chat) -> str:
    window = "" if chat.window is None else f" of {chat.window:,}"
    return f"{chat.used_tokens():,}{window} tokens used"


def _approve(chat: Chat, summary: str, count: int) -> Plan[str | None]:
    """Show the summary; return it as the user wants it, ``None`` if they reject it."""
    problem = ""
    while True:
        question = make_question(
            chat,
            COMPACT,
            QUESTION.format(count),
            summary,
            facts=(("context", _fullness(chat)), ("kept", KEPT)),
            draft=summary,
            problem=problem,
        )
        response = yield from request_approval(question)
        if response.choice == "reject":
            return None
        if response.choice != "edit":
            return summary
        edited = (response.arguments or "").strip()
        if edited:
            return edited
        problem = EMPTY
