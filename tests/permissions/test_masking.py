"""A token in what a tool returns reaches the model as a visible mask."""

from __future__ import annotations

from pathlib import Path

from tests.permissions.gate import RUN, Chat

TOKEN = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"


async def test_a_token_in_a_result_never_reaches_the_model(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text(f"token = {TOKEN}\n")
    chat = Chat(tmp_path.resolve())
    assert await chat.call("read", path="notes") == RUN
    assert await chat.bash("cat notes", "accept") == "ASK"
    assert TOKEN not in str(chat.scene.model.requests)
    assert chat.result().text == "token = [masked: GitHub token]"
