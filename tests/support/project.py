"""A small project for the agent to work on."""

from __future__ import annotations

from pathlib import Path

FILES = {
    "src/greet.py": '''\
"""Greetings."""


def greet(name):
    """Return a greeting."""
    return "Hello, " + name


def farewell(name):
    return "Goodbye, " + name
''',
    "src/app.py": """\
from greet import farewell, greet


def main():
    print(greet("world"))
    print(farewell("world"))
""",
    "test_greet.py": """\
from src.greet import greet


def test_greet():
    assert greet("you") == "Hello, you"
""",
    "README.md": "# Greetings\n\nGreets people.\n",
    "notes.txt": "one\ntwo\nthree\n",
}


def build(folder: Path) -> Path:
    """Write the project's files into ``folder`` and return it."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder
