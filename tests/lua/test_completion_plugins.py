"""Completion of the prompt as people use it: by Neovim, and by plugins of ``make plugins``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import StartEditor

from .conftest import Drawn

PLUGINS = Path(__file__).parents[2] / ".tools" / "plugins"

FOLDERS = {
    "built-in": [],
    "blink.cmp": ["blink.cmp"],
    "mini.completion": ["mini.completion"],
    "nvim-cmp": ["nvim-cmp", "cmp-nvim-lsp"],
}
"""Where a plugin is, with what it needs to ask language servers."""

SETUPS = {
    "built-in": """
vim.o.completeopt = 'menuone,noselect'
vim.api.nvim_create_autocmd('LspAttach', { callback = function(event)
  vim.lsp.completion.enable(true, event.data.client_id, event.buf, { autotrigger = true })
end })
""",
    "blink.cmp": "require('blink.cmp').setup({ fuzzy = { implementation = 'lua' } })",
    "mini.completion": "require('mini.completion').setup({ delay = { completion = 20 } })",
    "nvim-cmp": """
local cmp = require('cmp')
cmp.setup({
  sources = { { name = 'nvim_lsp' } },
  mapping = { ['<C-y>'] = cmp.mapping.confirm({ select = true }) },
})
""",
}
"""The user's configuration, by plugin."""


@pytest.fixture(params=SETUPS)
def plugin(
    request: pytest.FixtureRequest, start_editor: StartEditor, never_ready: dict[str, Any]
) -> Drawn:
    """A chat in a Neovim that has one completion plugin."""
    folders = [PLUGINS / name for name in FOLDERS[request.param]]
    for folder in folders:
        if not folder.exists():
            pytest.skip(f"{folder.name} is not in .tools/plugins: make plugins")
    paths = ",".join(f"{folder},{folder}/after" for folder in folders)
    init = f"vim.opt.runtimepath:append('{paths}')\n{SETUPS[request.param]}"
    return Drawn(start_editor(never_ready, init=init))


@pytest.mark.parametrize(
    ("typed", "offered", "before"),
    [("use @{reado", "@{readonly}", "use "), ("see #diagn", "#diagnostics", "see "),
     ("/comp", "/compact", "")],
)  # fmt: skip
def test_each_plugin_offers_names_and_inserts_them(
    plugin: Drawn, typed: str, offered: str, before: str
) -> None:
    plugin.editor.wait("#vim.lsp.get_clients({ name = 'agentchat' }) == 1")
    plugin.editor.keys("i")
    for key in typed:
        plugin.editor.keys(key)
    plugin.editor.wait_screen(offered)
    plugin.editor.keys("<C-n><C-y>")
    plugin.editor.wait(lambda: plugin.prompt().rstrip() == before + offered, why="the name")
