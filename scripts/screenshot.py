"""Draw a scene of the plugin as a picture: `python -m scripts.screenshot SCENE FILE.png`.

Real Neovim, real plugin, scripted model; see `tests/support/scenes.py` for the scenes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.support import project
from tests.support.editor import Editor
from tests.support.fonts import NoFont
from tests.support.model_server import ModelServer
from tests.support.picture import SIZE, draw
from tests.support.scenes import SCENES


def main() -> int:
    """Play the scene and write the picture; return the exit code."""
    options = arguments()
    try:
        shoot(options)
    except (NoFont, AssertionError) as error:
        print(f"agentchat: {error}", file=sys.stderr)
        return 1
    return 0


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m scripts.screenshot", description=__doc__)
    parser.add_argument("scene", choices=sorted(SCENES))
    parser.add_argument("file", type=Path, help="the PNG to write")
    parser.add_argument("--size", default="120x40", help="columns x rows (default: %(default)s)")
    parser.add_argument("--light", action="store_true", help="a light background")
    parser.add_argument("--colorscheme", default="default")
    parser.add_argument("--letters", type=int, default=SIZE, help="height of the letters in pixels")
    return parser.parse_args()


def shoot(options: argparse.Namespace) -> None:
    """Play the scene in an editor of its own."""
    width, height = map(int, options.size.split("x"))
    background = "light" if options.light else "dark"
    look = f"vim.o.background = '{background}'; vim.cmd.colorscheme('{options.colorscheme}')"
    server = ModelServer()
    with tempfile.TemporaryDirectory() as folder:
        editor = Editor(
            Path(folder) / "home",
            project.build(Path(folder) / "project"),
            settings={"python": sys.executable},
            env={"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "scene"},
            init=look,
            size=(width, height),
        )
        try:
            SCENES[options.scene](editor, server)
            editor.screen()
            draw(editor.grid, options.letters).save(options.file)
        finally:
            editor.close()
            server.close()


if __name__ == "__main__":
    sys.exit(main())
