"""The programs that Lua runs: none of the project, and without keys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.editor import Editor

StartEditor = Callable[..., Editor]
BIN = "node_modules/.bin"


@pytest.mark.parametrize("folder", [f"./{BIN}", "{workspace}/" + BIN, ""])
def test_a_program_of_the_working_directory_is_not_found(
    start_editor: StartEditor, workspace: Path, folder: str
) -> None:
    (workspace / BIN).mkdir(parents=True)
    for name in ("python3", "xclip"):
        (workspace / BIN / name).write_text("#!/bin/sh\n")
        (workspace / BIN / name).chmod(0o755)
    editor = start_editor({})
    editor.command(f"cd {workspace / BIN if not folder else workspace}")
    path = folder.format(workspace=workspace)
    editor.lua("vim.env.PATH = ... .. ':' .. vim.env.PATH", path)
    find = "return require('agentchat.host.programs').find(...)"
    assert not str(editor.lua(find, "python3")).startswith((".", str(workspace)))
    assert not str(editor.lua(find, "xclip")).startswith((".", str(workspace)))


def test_a_program_gets_no_keys(start_editor: StartEditor) -> None:
    editor = start_editor({})
    editor.lua("vim.env.OPENAI_API_KEY = 'secret'")
    code = "return require('agentchat.host.programs').run({ 'env' }, { text = true }):wait().stdout"
    told = editor.lua(code)
    assert "PATH=" in told
    assert "secret" not in told
