"""Programs that run another command given as their last words: what they run, if it is sure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agentchat.core.shell.words import Word


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How a program's own words end: ``valued`` options take the next word, ``alone`` none.

    An option that is in neither makes it unsure. ``operands`` own words follow the options.
    ``attached`` are first letters of options that may carry their value in the same word. With one
    of ``instead`` first it only tells about the command that follows.
    """

    valued: frozenset[str] = frozenset()
    alone: frozenset[str] = frozenset()
    attached: tuple[str, ...] = ()
    operands: int = 0
    instead: frozenset[str] = frozenset()


def _wrapper(
    valued: str = "", alone: str = "", attached: str = "", operands: int = 0, instead: str = ""
) -> Wrapper:
    return Wrapper(
        frozenset(valued.split()),
        frozenset(alone.split()),
        tuple(attached.split()),
        operands,
        frozenset(instead.split()),
    )


WRAPPERS: Mapping[str, Wrapper] = {
    "env": _wrapper("-u --unset", "-i --ignore-environment - -v --debug"),
    "nice": _wrapper("-n --adjustment", attached="-n --adjustment="),
    "ionice": _wrapper("-c -n", "-t", "-c -n"),
    "nohup": _wrapper(),
    "timeout": _wrapper(
        "-s --signal -k --kill-after",
        "--preserve-status --foreground -v --verbose -f -p",
        "-s -k --signal= --kill-after=",
        operands=1,
    ),
    "setsid": _wrapper(alone="-c --ctty -f --fork -w --wait"),
    "stdbuf": _wrapper("-i -o -e", attached="-i -o -e --input= --output= --error="),
    "time": _wrapper(alone="-p -v"),
    "command": _wrapper(alone="-p", instead="-v -V"),
    "builtin": _wrapper(),
    "exec": _wrapper(),
    "sudo": _wrapper("-u -g --user --group", "-n -E -H --", "-u -g --user= --group="),
    "doas": _wrapper("-u", "-n"),
    "xargs": _wrapper(
        "-n -P -L -I -d -s -a --max-args --max-procs --delimiter --arg-file --max-lines",
        "-0 --null -r --no-run-if-empty -t --verbose -p -x",
        "-n -P -L -I -d -s -a -i",
    ),
    "watch": _wrapper("-n --interval", "-t -d -c -e -g -b -x", "-n -d"),
}

UNSURE = "it cannot be told what it runs"


@dataclass(slots=True)
class _Own:
    """The words of a wrapper itself, as they are read."""

    count: int = 1
    problem: str = field(default="")


def unwrap(words: Sequence[Word]) -> tuple[tuple[Word, ...], tuple[Word, ...], str]:
    """Return a command's own words, those of the command it runs, and what is unsure of that."""
    words = tuple(words)
    wrapper = WRAPPERS.get(words[0].text.rpartition("/")[2]) if words else None
    if wrapper is None or (len(words) > 1 and words[1].text in wrapper.instead):
        return words, (), ""
    own = _own_words(wrapper, words)
    return words[: own.count], words[own.count :], own.problem


def _own_words(wrapper: Wrapper, words: tuple[Word, ...]) -> _Own:
    own = _Own()
    while own.count < len(words) and words[own.count].text.startswith("-"):
        text = words[own.count].text
        own.count += 1
        if text == "--":
            break
        if text in wrapper.valued:
            own.count += 1
        elif text not in wrapper.alone and not _attached(wrapper, text):
            own.problem = UNSURE
    own.count = min(own.count + wrapper.operands, len(words))
    _skip_assignments(words, own)
    return own


def _attached(wrapper: Wrapper, text: str) -> bool:
    return any(text.startswith(a) and len(text) > len(a) for a in wrapper.attached)


def _skip_assignments(words: tuple[Word, ...], own: _Own) -> None:
    """Leave out ``NAME=value`` words before the inner command: they change what it does."""
    if words[0].text.rpartition("/")[2] not in ("env", "sudo", "doas"):
        return
    while own.count < len(words) and "=" in words[own.count].text:
        own.count += 1
        own.problem = "it sets variables"
