"""A tool that is a shell command, and a function that reads what the command wrote."""

from collections import Counter

from agentchat import Context, tool

GROUPS = {"upkeep": {"tools": ["todos", "read", "grep"], "prompt": "the tools for upkeep"}}


def by_file(found: str, ctx: Context) -> dict[str, int]:
    """Count the lines of ``grep`` by the file they begin with."""
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
    """Count the TODO marks in each file of a folder.

    Args:
        mark: the text to look for.
        folder: where to look, relative to the workspace.
    """
