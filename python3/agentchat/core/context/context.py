"""The part of a chat's history that the model is sent.

Theory
======

The history of a chat only grows; the window of a model does not. What the model is sent is a *view*
of the history: the messages from some place on as they are, and before it a *prefix* that is
shorter than what it stands for. The history itself, and with it the chat buffer, the journal and
the search, keep every original.

Two kinds of steps change the prefix. ``Shortening`` sends the tool results before a place in their
short form. ``Compaction`` sends, in place of all messages before a place, one note with a summary
and the user's own words, then the newest message of the user if that was among them. Each step is
journaled; the view is computed from history and steps alone, so a resumed or forked chat is sent
the same bytes.

Rules
-----

1. *The prefix changes in a step and never between steps.* Servers charge a tenth for a prefix that
   they have read before, so a result that is shortened later, alone, would cost more than it saves.
2. *A call and its results stay together.* A place is never between a reply and its results.
3. *The user's words stay* (``quotes``): the newest message, decisions with their reasons, the
   approved plan.
4. *A step can be taken back*: the steps are a stack.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentchat.core.context.quotes import quotes
from agentchat.core.context.shorten import saved_tokens, shorten
from agentchat.core.context.size import message_tokens, quoted_tokens, tail_tokens
from agentchat.core.frozen import frozen
from agentchat.core.messages import History, Message, Note, Reply, ToolResult, UserText

SUMMARY = (
    "<conversation-summary>\n"
    "The earlier part of this conversation is replaced by this summary. It also covers what was "
    "done so far for the newest request.\n\n"
    "{}\n"
    "</conversation-summary>"
)
USER_WORDS = "What the user wrote and decided in that part, word for word:"
SAVED_SHARE = 10
"""Results are shortened if that saves one token of so many, or more."""


@frozen
class Compaction:
    """The messages before the index ``before`` are replaced by the note ``text``.

    ``text`` contains ``summary``. ``newest`` is the index of the user's newest message if that is
    among the messages, else -1: it follows the note as it was. ``length`` is that of the history
    when the step was taken.
    """

    before: int
    text: str
    summary: str
    newest: int = -1
    length: int = 0


@frozen
class Shortening:
    """The tool results before the index ``before`` are sent in their short form."""

    before: int
    length: int = 0


ContextStep = Compaction | Shortening


class ChatContext:
    """What of one chat's history is sent; ``steps`` are those in force, oldest first."""

    def __init__(self) -> None:
        self.steps: tuple[ContextStep, ...] = ()
        self._prefix: tuple[Message, ...] = ()
        self._end = 0
        self._start = 0
        self._used_ids: frozenset[str] = frozenset()
        self.changed_at = 0
        """The length of the history at the newest change: counts of earlier replies are void."""

    @property
    def start(self) -> int:
        """The index of the first message that is not summarised."""
        return self._start

    @property
    def end(self) -> int:
        """The index from which on messages are sent as they are."""
        return self._end

    @property
    def used_ids(self) -> frozenset[str]:
        """The ids of calls that the summary replaces: no other call may get one."""
        return self._used_ids

    def view(self, history: History) -> History:
        """Return what the model is sent of the history."""
        if not self.steps:
            return history
        return History(self._prefix + history.messages[self._end :])

    def add(self, step: ContextStep, history: History) -> None:
        """Take a step; its indices are those of ``history``."""
        self._change((*self.steps, step), history)
        self.changed_at = step.length

    def restore(self, steps: Sequence[ContextStep], history: History) -> None:
        """Take the steps of a journal, except those whose messages are not there."""
        size = len(history.messages)
        self._change(tuple(step for step in steps if step.before <= size), history)
        self.changed_at = max((step.length for step in self.steps), default=0)

    def undo(self, history: History) -> bool:
        """Take back the newest summary, or the short results; return whether there was a step."""
        if not self.steps:
            return False
        self._change(steps_after_undo(self.steps), history)
        self.changed_at = len(history.messages)
        return True

    def _change(self, steps: tuple[ContextStep, ...], history: History) -> None:
        """Compute the prefix of the view, once for all requests until the next step."""
        self.steps, messages = steps, history.messages
        compaction = _newest_compaction(steps)
        self._start = compaction.before if compaction is not None else 0
        shortened = max((s.before for s in steps if isinstance(s, Shortening)), default=0)
        self._end = max(self._start, shortened)
        replacement = _replacement(compaction, messages) if compaction is not None else ()
        short = (shorten(message) for message in messages[self._start : shortened])
        self._prefix = (*replacement, *short)
        self._used_ids = frozenset(_call_ids(messages[: self._start]))


def steps_after_undo(steps: Sequence[ContextStep]) -> tuple[ContextStep, ...]:
    """Return the steps before the newest compaction; none if there is no compaction."""
    places = [index for index, step in enumerate(steps) if isinstance(step, Compaction)]
    return tuple(steps[: places[-1]]) if places else ()


def _newest_compaction(steps: Sequence[ContextStep]) -> Compaction | None:
    return next((step for step in reversed(steps) if isinstance(step, Compaction)), None)


def _replacement(compaction: Compaction, messages: Sequence[Message]) -> tuple[Message, ...]:
    newest = messages[compaction.newest] if compaction.newest >= 0 else None
    return (Note(compaction.text), newest) if newest is not None else (Note(compaction.text),)


def _call_ids(messages: Sequence[Message]) -> set[str]:
    return {call.id for m in messages if isinstance(m, Reply) for call in m.calls}


# --- where a step is taken -----------------------------------------------------------------------


def find_cut(messages: Sequence[Message], start: int, window: int | None) -> int | None:
    """Return the index before which messages are summarised; ``None`` if there is no answer to.

    The newest message of the user and what follows it stay, of a long turn only its newest rounds.

    Args:
        start: the index of the first message that is not summarised yet.
        window: the tokens of the model's window, if known.
    """
    newest = _newest_user_index(messages)
    cut = max(newest, _tail_start(messages, tail_tokens(window)), start)
    answered = (m for m in messages[start:cut] if isinstance(m, Reply))
    return cut if any(reply.text or reply.calls for reply in answered) else None


def compact(
    messages: Sequence[Message],
    cut: int,
    summary: str,
    *,
    pending: Sequence[str] = (),
    window: int | None = None,
) -> Compaction:
    """Return the compaction of the messages before ``cut``.

    Args:
        pending: ids of the calls that staged a preview which is still pending.
    """
    newest = _newest_user_index(messages)
    newest = newest if newest < cut else -1
    older = [message for index, message in enumerate(messages[:cut]) if index != newest]
    words = quotes(older, pending, quoted_tokens(window))
    parts = [SUMMARY.format(summary.strip())]
    if words:
        parts += [USER_WORDS, *map(str, words)]
    return Compaction(
        before=cut,
        text="\n\n".join(parts),
        summary=summary.strip(),
        newest=newest,
        length=len(messages),
    )


def find_shortening(
    messages: Sequence[Message], context: ChatContext, window: int
) -> Shortening | None:
    """Return the step that shortens all results but the newest, if that saves enough."""
    before = _tail_start(messages, tail_tokens(window))
    fresh = messages[context.end : before]
    if saved_tokens(fresh) * SAVED_SHARE < window:
        return None
    return Shortening(before, len(messages))


def _newest_user_index(messages: Sequence[Message]) -> int:
    indices = (i for i in reversed(range(len(messages))) if isinstance(messages[i], UserText))
    return next(indices, -1)


def _tail_start(messages: Sequence[Message], tokens: int) -> int:
    """Return where the newest messages begin that fit into ``tokens``, never before a result."""
    start, size = len(messages), 0
    for index in reversed(range(len(messages))):
        size += message_tokens(messages[index])
        if size > tokens:
            break
        if not isinstance(messages[index], ToolResult):
            start = index
    return start
