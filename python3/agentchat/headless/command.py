"""``python -m agentchat "PROMPT"``: runs one turn in the current directory and prints it.

The rules, tools, modes and budgets are those of Neovim, and nobody can be asked: a call that would
ask is denied, and the message names the rule that would allow it. The chat is journaled where
Neovim finds it, so ``:AgentHistory`` lists it.

Exit codes: 0 the turn ended by itself, 1 it ended with an error or the arguments are wrong, 2 no
model was configured, so that the offline planner answered unasked, 3 every call that would have
changed something was denied, 130 stopped.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from agentchat.app.settings import Settings, read_settings
from agentchat.app.state import find_state
from agentchat.app.unattended_chat import UnattendedChat, open_chat
from agentchat.core.errors import UserError
from agentchat.core.permissions.policy import MODES, PLANNING, parse_mode
from agentchat.core.text import escape_control_characters
from agentchat.core.tools.tool import Tool
from agentchat.headless.output import JsonView, PrintingView, TextView
from agentchat.headless.settings_file import read_settings_file
from agentchat.journal.file import journal_path

DONE, FAILED, NO_MODEL, ALL_DENIED, STOPPED = 0, 1, 2, 3, 130
STDIN = "-"
STOP_SECONDS = 1.5
"""Time that a stopped turn has to end by itself; the watchdog ends its commands in any case."""
OFFLINE_ANSWERED = (
    "No model is configured, so the offline planner answered. Set one, see :help agentchat-models, "
    "or ask for it with --model offline."
)
NO_PROMPT = 'no prompt: give one, as in python -m agentchat "why does test_cart fail?"'


class Prompt(NamedTuple):
    """What the user typed, and what came through a pipe, in which no mention or command counts."""

    text: str
    data: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one turn and return the exit code of the process."""
    options = _parser().parse_args(arguments)
    view = JsonView(sys.stdout, sys.stderr) if options.json else TextView(sys.stdout, sys.stderr)
    try:
        prompt = _read_prompt(options.prompt)
        settings = _with_options(
            read_settings_file(options.settings) if options.settings else {}, options
        )
        cwd = options.cwd.resolve(strict=True)
    except (UserError, OSError) as error:
        sys.stderr.write(escape_control_characters(f"agentchat: {error}\n"))
        return FAILED
    try:
        code = asyncio.run(_run(prompt, settings, str(cwd), options, view))
    except UserError as error:
        view.notify("error", str(error))
        code = FAILED
    if view.is_closed:  # Python writes what is left at its end
        for stream in (sys.stdout, sys.stderr):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return FAILED
    return code


async def _run(
    prompt: Prompt,
    settings: Settings,
    cwd: str,
    options: argparse.Namespace,
    view: PrintingView,
) -> int:
    state = find_state(os.environ)
    state.prepare()
    if options.resume and not _is_saved(state.folder, options.resume):
        raise UserError(f"There is no chat {options.resume}; its id is the name of its journal.")
    chat = await open_chat(options.resume or str(uuid.uuid4()), cwd, settings, state, view)
    try:
        if options.model:
            chat.models.choose(options.model)
        if options.mode and options.mode != chat.chat.policy.mode:  # the chat ended in another
            chat.session.set_mode(options.mode)
        return await _play(chat, prompt, settings, view)
    finally:
        await chat.close()


def _is_saved(folder: Path, chat: str) -> bool:
    try:
        return journal_path(folder, chat).exists()
    except ValueError:  # not the name of a chat
        return False


async def _play(
    chat: UnattendedChat, prompt: Prompt, settings: Settings, view: PrintingView
) -> int:
    for problem in settings.problems:
        view.notify("warn", problem)
    _stop_on_signals(chat.session.stop)
    view.on_closed = chat.session.stop
    chat.session.send(prompt.text, data=prompt.data)
    await chat.session.idle()
    status, reason = view.status, view.reason or "error"
    view.finish(
        {
            "chat": chat.chat.uuid,
            "reason": reason,
            "answer": view.answer,
            "model": status.model,
            "turn": status.turn,
            "tokens": status.tokens,
            "cost": status.cost,
            "pending": status.pending,
            "denied": view.denied,
        }
    )
    return _exit_code(reason, chat, view)


def _stop_on_signals(stop: Callable[[], None]) -> None:
    """Stop the turn at Ctrl-C or SIGTERM, and end the process soon after, also if it hangs.

    asyncio's own handlers would wait for the loop, which something may block.
    """
    loop = asyncio.get_running_loop()

    def handle(*_: object) -> None:
        end = threading.Timer(STOP_SECONDS, os._exit, (STOPPED,))
        end.daemon = True
        end.start()
        loop.call_soon_threadsafe(stop)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handle)


def _exit_code(reason: str, chat: UnattendedChat, view: PrintingView) -> int:
    if reason != "stop":
        return STOPPED if reason == "cancelled" else FAILED
    if chat.models.is_offline_unasked:
        view.notify("warn", OFFLINE_ANSWERED)
        return NO_MODEL
    changing = any(_may_change(chat.chat.toolset.find(name)) for name in view.ran)
    return ALL_DENIED if view.denied and not changing else DONE


def _may_change(tool: Tool | None) -> bool:
    """Whether a call of this tool may have changed something."""
    return tool is None or not (tool.metadata.read_only or tool.name in PLANNING)


def _read_prompt(words: Sequence[str]) -> Prompt:
    """Return the prompt and standard input: ``-`` stands for that, as no word does in a pipe.

    What comes through a pipe is data: nothing in it is a mention or a command.
    """
    is_piped = STDIN in words or (not words and not sys.stdin.isatty())
    texts = (word.strip() for word in words if word != STDIN)
    prompt = "\n\n".join(filter(None, texts))
    data = sys.stdin.read().strip() if is_piped else ""
    if not prompt and not data:
        raise UserError(NO_PROMPT)
    return Prompt(prompt, data)


def _with_options(given: Mapping[str, Any], options: argparse.Namespace) -> Settings:
    settings = read_settings(given)
    return replace(settings, mode=parse_mode(options.mode)) if options.mode else settings


class _Parser(argparse.ArgumentParser):
    """Ends with 1 where the arguments are wrong: 2 says that no model was configured."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and end the process."""
        self.print_usage(sys.stderr)
        self.exit(FAILED, f"{self.prog}: {message}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m agentchat",
        description="Run one turn of the agent in the current directory, and print it.",
        epilog="What would ask is denied: allow it with a rule in .agentchat/rules.json. Exit "
        "code: 0 the turn ended by itself, 1 with an error, 2 no model was configured (ask for the "
        "offline planner with --model offline), 3 every call that would change something was "
        "denied, 130 stopped. "
        "Another command: python -m agentchat journal FILE.",
    )
    parser.add_argument("prompt", nargs="*", metavar="PROMPT", help="- is standard input")
    parser.add_argument("--json", action="store_true", help="print JSON lines")
    parser.add_argument("--model", metavar="PROVIDER/NAME", help="the model to ask")
    parser.add_argument("--mode", choices=MODES, help="what runs without a question")
    parser.add_argument("--cwd", type=Path, default=Path(), metavar="DIR", help="the workspace")
    parser.add_argument("--resume", metavar="CHAT", help="continue the chat of this id")
    parser.add_argument(
        "--settings", type=Path, metavar="FILE", help="JSON with settings as in g:agentchat"
    )
    return parser
