"""Programs that run another command given as their last words: what they run, if it is sure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from agentchat.core.shell.flags import flags
from agentchat.core.shell.programs import Program

UNSURE = "it cannot be told what it runs"
_ASSIGNING = ("env", "sudo", "doas")


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How a program's own words end: its options, then as many operands as ``program`` may have.

    With one of ``instead`` first it only describes the commands that follow.
    """

    program: Program
    instead: tuple[str, ...] = ()

    def describing(self, words: Sequence[str]) -> Program | None:
        """Return the program with all of its words where it only describes commands."""
        found = len(words) > 1 and words[1] in self.instead
        return replace(self.program, most=None) if found else None


def _wrapper(known: str = "", operands: int = 0) -> Wrapper:
    return Wrapper(Program(flags(known), most=operands))


WRAPPERS: Mapping[str, Wrapper] = {
    "env": _wrapper("-u: --unset: -iv --ignore-environment - --debug"),
    "nice": _wrapper("-# -n: --adjustment:"),
    "ionice": _wrapper("-c: -n: -t"),
    "nohup": _wrapper(),
    "timeout": _wrapper(
        "-s: -k: --signal: --kill-after: --preserve-status --foreground -vfp --verbose", operands=1
    ),
    "setsid": _wrapper("-cfw --ctty --fork --wait"),
    "stdbuf": _wrapper("-i: -o: -e: --input: --output: --error:"),
    "time": _wrapper("-pv"),
    "command": Wrapper(Program(flags("-pvV"), most=0), instead=("-v", "-V")),
    "builtin": _wrapper(),
    "exec": _wrapper(),
    "sudo": _wrapper("-u: -g: --user: --group: -nEH"),
    "doas": _wrapper("-u: -n"),
    "xargs": _wrapper(
        "-n: -P: -L: -I: -d: -s: -a: -i? --max-args: --max-procs: --delimiter: --arg-file:"
        " --max-lines: -0rtpx --null --no-run-if-empty --verbose"
    ),
    "watch": _wrapper("-n: --interval: -tdcegbx"),
}


def unwrap(words: Sequence[str]) -> tuple[int, str]:
    """Return how many of the words are the command's own, and what is unsure of what it runs."""
    name = words[0].rpartition("/")[2] if words else ""
    wrapper = WRAPPERS.get(name)
    if wrapper is None or wrapper.describing(words) is not None:
        return len(words), ""
    end, problem = _options(wrapper.program, words)
    end = min(end + (wrapper.program.most or 0), len(words))
    if name in _ASSIGNING:
        while end < len(words) and "=" in words[end]:
            end, problem = end + 1, "it sets variables"
    return end, problem


def _options(program: Program, words: Sequence[str]) -> tuple[int, str]:
    at, problem = 1, ""
    while at < len(words) and words[at].startswith("-"):
        if words[at] == "--":
            return at + 1, problem
        option = program.flags.read(words, at)
        at = option.end
        problem = problem if option.known else UNSURE
    return at, problem
