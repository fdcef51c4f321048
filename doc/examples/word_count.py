"""The shortest possible tool: a function with type hints and a docstring."""

from agentchat import tool


@tool(read_only=True, concurrency_safe=True, reads="path")
def word_count(path: str) -> str:
    """Count the words in a file."""
    with open(path, encoding="utf-8") as file:
        return str(len(file.read().split()))
