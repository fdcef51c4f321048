"""Run a shell command, then a function that reads the output of the command."""

from collections import Counter

from agentchat import Context, tool

GROUPS = {"upkeep": {"tools": ["todos", "read", "grep"], "prompt": "the tools for upkeep"}}


def by_file(found: str, ctx: Context) -> dict[str, int]:
    """Count the lines of ``grep`` output for each file."""
    files = Counter(line.partition(":")[0] for line in found.splitlines() if ":" in line)
    ctx.progress(f"{sum(files.values())} marks in {len(files)} files")
    return dict(files.most_common())


@tool(
    command="grep -rnI --exclude-dir=.git -e {mark} -- {folder} || true",
    steps=[by_file],
    read_only=True,
    reads="folder",
    timeout=20,
    search_hint="open work, TODO and FIXME",
    render_call=lambda mark, folder=".": f"todos: {mark} in {folder}",
)
def todos(mark: str = "TODO", folder: str = ".") -> None:
    """Count the TODO marks in each file of a directory.

    Args:
        mark: the text to search for.
        folder: the directory to search, relative to the workspace.
    """
