"""The division of a Markdown text into sections."""

from __future__ import annotations

from tests.support.editor import Editor

STARTS = """
local sections = require('agentchat.transcript.sections')
local splitter, starts = sections.new(), {}
for i, line in ipairs(...) do
  if sections.step(splitter, line) then table.insert(starts, { i, splitter.lang or vim.NIL }) end
end
return starts
"""

CASES = [
    # Paragraphs; what is indented belongs to the list before it.
    (["a", "b", "", "c"], [(4, None)]),
    (["- a", "", "  more", "", "b"], [(5, None)]),
    # Fences: of blanks and of both characters, closed by one that is as long, or never.
    (["a", "```py", "b", "", "c", "```", "d"], [(2, "py"), (7, None)]),
    (["~~~", "```", "~~~", "a"], [(1, ""), (4, None)]),
    (["````md", "```", "````", "a"], [(1, "md"), (4, None)]),
    (["  ```{.rust}", "", "a"], [(1, "rust")]),
    (["```py title=x", "```py", "```", "```sh", "```"], [(1, "py"), (4, "sh")]),
    # Tables begin with a bar, and have no other lines.
    (["a", "| b |", "|---|", "c", "", "d"], [(2, None), (4, None), (6, None)]),
    (["```inline``` code", "", "a"], [(3, None)]),
]


def test_a_text_is_divided_at_paragraphs_and_fences(alone: Editor) -> None:
    for lines, starts in CASES:
        found = [(row, lang) for row, lang in alone.lua(STARTS, lines)]
        assert found == starts, lines
