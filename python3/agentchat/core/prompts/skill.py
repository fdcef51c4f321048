"""A skill: instructions for one kind of task, read by the model when it needs them."""

from __future__ import annotations

from agentchat.core.frozen import frozen
from agentchat.core.prompts.command import NAME
from agentchat.core.prompts.markdown_file import FrontMatterError, MarkdownFile

FILE = "SKILL.md"
LONGEST_DESCRIPTION = 1024


@frozen
class Skill:
    """What a ``SKILL.md`` says; only name and description are part of the system prompt.

    ``folder`` has its other files; ``origin`` is the name of its file for the user.
    """

    name: str
    description: str
    body: str
    folder: str
    origin: str


def parse_skill(file: MarkdownFile, folder: str, origin: str) -> Skill:
    """Return the skill of a file; raises FrontMatterError."""
    name, description = file.text("name") or folder.rpartition("/")[2], file.text("description")
    if not description:
        raise FrontMatterError(1, "a skill needs a description in its front matter")
    if not NAME.match(name):
        raise FrontMatterError(1, f'"{name}" is no name of a skill')
    return Skill(name, description[:LONGEST_DESCRIPTION], file.body, folder, origin)
