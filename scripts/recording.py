"""Record a session of the real plugin as a GIF: `python -m scripts.recording FILE.gif`.

Real Neovim, real plugin, the offline model, and the project of `make demo`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from PIL import Image
from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.fonts import NoFont
from tests.support.picture import draw

from scripts.demo import copy_sample

SIZE = (104, 30)
LETTERS = 13
COLOURS = 48
"""Of a frame: a screen has few, and a small file loads fast."""

TYPING, SHORT, LONG = 90, 900, 2600
"""Milliseconds that a frame is shown."""

PIECE = 6
"""Characters typed between two frames."""


def main() -> int:
    """Record the session and write the picture; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.recording", description=__doc__)
    parser.add_argument("file", type=Path, help="the GIF to write")
    options = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory() as folder:
            Recording(Path(folder)).save(options.file)
    except (NoFont, AssertionError) as error:
        print(f"agentchat: {error}", file=sys.stderr)
        return 1
    return 0


class Recording:
    """The frames of one session, each with how long it is shown."""

    def __init__(self, folder: Path) -> None:
        self._frames: list[tuple[Image.Image, int]] = []
        self._editor = Editor(
            folder / "home",
            copy_sample(folder),
            settings={"python": sys.executable, "ui": {"prompt_delay_ms": 0}},
            size=SIZE,
        )

    def save(self, file: Path) -> None:
        """Play the session, then write its frames."""
        try:
            self._play()
        finally:
            self._editor.close()
        images = [frame.quantize(COLOURS) for frame, _ in self._frames]
        durations = [duration for _, duration in self._frames]
        images[0].save(
            file, save_all=True, append_images=images[1:], duration=durations, loop=0, optimize=True
        )

    def _play(self) -> None:
        editor = self._editor
        editor.command("edit shop/pricing.py")
        chat = Chat.open(editor)
        self._frame(SHORT)
        self._send(chat, "replace 'VAT = 19' with 'VAT = 20' in shop/pricing.py")
        chat.asked("edit")
        self._frame(LONG)
        chat.answer("a")
        chat.finished()
        self._frame(SHORT)
        self._send(chat, "rename get_price to price_of in **/*.py")
        chat.asked("resolve")
        self._frame(LONG)
        chat.answer("a")
        chat.finished()
        self._frame(LONG)
        editor.command("AgentUndo")
        editor.wait_text("def get_price", editor.eval("bufnr('shop/pricing.py')"))
        self._frame(LONG)
        self._send(chat, "run: rm -r tests")
        chat.asked("bash")
        self._frame(LONG)
        editor.command("AgentApprove reject the tests stay")
        chat.finished()
        self._frame(LONG)

    def _send(self, chat: Chat, text: str) -> None:
        for start in range(0, len(text), PIECE):
            chat.type(text[start : start + PIECE])
            self._frame(TYPING)
        self._editor.keys("<C-s>")

    def _frame(self, milliseconds: int) -> None:
        self._editor.screen()
        self._frames.append((draw(self._editor.grid, LETTERS), milliseconds))


if __name__ == "__main__":
    sys.exit(main())
