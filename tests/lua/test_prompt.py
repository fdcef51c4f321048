"""The prompt region: sending, the outbox, mentions, keys."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import StartEditor
from tests.support.editor import Editor

from .conftest import Drawn


def marks(drawn: Drawn) -> list[dict[str, Any]]:
    """What is drawn on the prompt: row and details of each extmark."""
    found = drawn.editor.lua(
        "local ns = vim.api.nvim_get_namespaces()['agentchat.prompt']\n"
        "return vim.tbl_map(function(mark)\n"
        "  return { row = mark[2], col = mark[3], more = mark[4] }\n"
        "end, vim.api.nvim_buf_get_extmarks(..., ns, 0, -1, { details = true }))",
        drawn.buffer,
    )
    return list(found)


def mentioned(drawn: Drawn) -> list[str]:
    """The words that are highlighted as mentions."""
    lines = [line.encode() for line in drawn.lines()]
    spans = [m for m in marks(drawn) if m["more"].get("hl_group") == "AgentChatMention"]
    return [lines[m["row"]][m["col"] : m["more"]["end_col"]].decode() for m in spans]


# --- sending ---------------------------------------------------------------------------------


def test_an_empty_prompt_shows_what_to_do_until_something_is_typed(drawn: Drawn) -> None:
    drawn.editor.wait_screen("Type a message")
    drawn.editor.keys("ix")
    assert not drawn.editor.grid.find("Type a message")
    drawn.editor.keys("<BS>")
    drawn.editor.wait_screen("Type a message")


def test_a_sent_text_is_queued_in_sight_until_it_is_taken(drawn: Drawn) -> None:
    drawn.editor.keys("ione<Esc><CR>itwo<CR>lines<C-s>")
    assert drawn.sent() == ["one", "two\nlines"]
    drawn.editor.wait_screen("› one")
    drawn.editor.wait_screen("queued")
    drawn.draw(("message", "user", "one"))
    assert drawn.sent() == ["two\nlines"]
    drawn.draw(("message", "user", "two\nlines"))
    assert "queued" not in "".join(drawn.editor.screen())
    assert drawn.prompt() == ""


def test_the_chat_is_running_from_the_moment_something_is_sent(drawn: Drawn) -> None:
    drawn.editor.keys("igo<C-s>")
    assert drawn.editor.status()["state"] == "running"
    drawn.draw(("status", {"state": "idle", "mode": "ask", "turn": 0}))
    assert drawn.editor.status()["state"] == "running"
    drawn.draw(("message", "user", "go"), ("status", {"state": "idle", "turn": 1}))
    assert drawn.editor.status()["state"] == "idle"


def test_the_status_is_whole_from_the_start(drawn: Drawn) -> None:
    assert drawn.editor.status() == {
        "state": "idle", "prompts": 0, "pending": 0, "mode": "ask", "model": "", "turn": 0,
        "tokens": 0, "context": {"used": 0},
    }  # fmt: skip
    drawn.draw(("status", {"state": "waiting", "prompts": 2, "cost": None}))
    assert "cost" not in drawn.editor.status()
    statusline = drawn.editor.lua("return require('agentchat').statusline()")
    assert statusline == "agent: 2 to approve · ask"


def test_stop_before_the_host_is_ready_gives_the_text_back(drawn: Drawn) -> None:
    drawn.editor.keys("ifirst<C-s>second<C-s>third")
    drawn.editor.keys("<C-c>")  # alone: Neovim drops what is typed just before it
    assert drawn.sent() == []
    assert drawn.prompt() == "first\n\nsecond\n\nthird"
    assert drawn.editor.status()["state"] == "idle"


def test_control_c_with_nothing_to_stop_leaves_insert_mode(drawn: Drawn) -> None:
    drawn.editor.keys("ihalf")
    drawn.editor.keys("<C-c>")
    assert drawn.editor.mode() == "n"
    assert drawn.prompt() == "half"


def test_sending_from_the_transcript_sends_the_prompt(drawn: Drawn) -> None:
    drawn.say("text")
    drawn.editor.keys("Gimine<Esc>gg<CR>")
    assert drawn.sent() == ["mine"]
    assert drawn.editor.eval("line('.')") == 1


def test_a_chat_is_found_from_another_window_if_it_is_the_only_one(drawn: Drawn) -> None:
    drawn.editor.keys("imine<Esc>")
    drawn.editor.command("wincmd p")
    drawn.editor.command("AgentSend")
    assert drawn.sent() == ["mine"]
    drawn.editor.command("vertical AgentChat!")
    drawn.editor.command("wincmd t")
    drawn.editor.command("AgentSend")
    drawn.editor.wait_notice("go to the window of a chat first")


def test_functions_refuse_what_is_no_chat(drawn: Drawn) -> None:
    drawn.editor.command("enew")
    assert drawn.editor.lua("return require('agentchat').status()") is None
    told = drawn.editor.lua("return select(2, pcall(require('agentchat').send, 0, 'x'))")
    assert "is not a chat" in told
    told = drawn.editor.lua("return select(2, pcall(require('agentchat').approve, 'maybe'))")
    assert "always, accept, reject or cancel" in told


# --- events ----------------------------------------------------------------------------------


def test_events_carry_chat_and_buffer(drawn: Drawn) -> None:
    drawn.draw(("event", "AgentToolFinished", {"tool": "read", "details": None}))
    data = drawn.editor.wait_event("AgentToolFinished")
    assert data == {"tool": "read", "chat": drawn.id, "buf": drawn.buffer}


def test_notices_are_one_line(drawn: Drawn) -> None:
    drawn.draw(("notify", "warn", "first\nsecond " + "x" * 300))
    drawn.draw(("notify", "error", "another"))
    shown = drawn.editor.wait_notice("first second")
    assert shown.startswith("agentchat: ")
    assert "\n" not in shown
    drawn.editor.wait_notice("another")
    assert "x" * 300 in drawn.editor.messages()


# --- mentions --------------------------------------------------------------------------------


def test_only_known_names_are_highlighted_and_only_in_the_prompt(drawn: Drawn) -> None:
    drawn.say("@read in the transcript")
    drawn.editor.keys("G")
    drawn.editor.keys("i@read, me@read @{files}! é@bash @nope (@grep) @read.")
    assert mentioned(drawn) == ["@read", "@{files}", "@grep", "@read"]
    drawn.draw(("tools", [{"name": "nope", "kind": "tool", "about": ""}]))
    assert mentioned(drawn) == ["@nope"]


def test_names_complete_by_omni(drawn: Drawn) -> None:
    drawn.editor.keys("iuse @gr<C-x><C-o>")
    assert drawn.prompt() == "use @grep"
    drawn.editor.keys(" and @{ba<C-x><C-o>")
    assert drawn.prompt() == "use @grep and @{bash}"


def test_context_mentions_are_highlighted_and_complete(drawn: Drawn) -> None:
    drawn.editor.keys("i#buffer, a#diff #12 #file:src/app.py. #nope #selection")
    assert mentioned(drawn) == ["#buffer", "#file:src/app.py", "#selection"]
    offer = "require('agentchat.prompt.context').offer(vim.fn.getcwd(), ...)"
    drawn.editor.lua(offer, {"my-docs": {}}, [{"name": "my-docs:a://b", "kind": "context"}])
    drawn.editor.keys("<Esc>ccas #my-docs:file:///a.md, #docs:b://c #my-docs:no")
    assert mentioned(drawn) == ["#my-docs:file:///a.md"]
    drawn.editor.keys("<Esc>cc#my-d<C-x><C-o>")
    assert drawn.prompt() == "#my-docs:a://b"
    drawn.editor.keys("<Esc>ccsee #diag<C-x><C-o> in #file:src/gr<C-x><C-o>")
    assert drawn.prompt() == "see #diagnostics in #file:src/greet.py"
    drawn.editor.keys(" #url:https://a.b/c. #dir:src #symbol:x")
    assert mentioned(drawn)[2:] == ["#url:https://a.b/c", "#dir:src", "#symbol:x"]


def test_names_complete_nowhere_else(drawn: Drawn) -> None:
    drawn.say("text")
    drawn.editor.keys("ggo@gr<C-x><C-o>")
    assert "@gr" in drawn.lines()


def test_names_complete_by_a_language_server_in_this_process(drawn: Drawn) -> None:
    drawn.editor.keys("iuse @{re")
    drawn.editor.wait("#vim.lsp.get_clients({ name = 'agentchat' }) == 1")
    found = drawn.editor.lua(
        "local params = vim.lsp.util.make_position_params(0, 'utf-8')\n"
        "local found = vim.lsp.buf_request_sync(0, 'textDocument/completion', params, 1000)\n"
        "return vim.tbl_values(found)[1].result",
    )
    assert [item["label"] for item in found] == ["@{read}", "@{readonly}"]
    interface = 8  # completion plugins put parentheses behind a function
    assert {item["kind"] for item in found[:1]} == {interface}
    edit = found[0]["textEdit"]
    assert edit["newText"] == "@{read}"
    assert edit["range"]["start"] == {"line": 2, "character": 4}
    assert drawn.editor.eval("&omnifunc") == "v:lua.require'agentchat.prompt.completion'.omni"


def test_completing_while_the_agent_writes_completes_the_prompt(drawn: Drawn) -> None:
    drawn.draw(("message", "agent", ""))
    drawn.editor.keys("i@r<C-x><C-o>")
    drawn.draw(("text", "one\ntwo\nthree\n"))
    drawn.editor.keys("<C-n>")
    drawn.draw(("text", "four\nfive\n"))
    drawn.editor.keys("<C-y> x")
    drawn.editor.wait_text("five")
    assert drawn.lines()[2:7] == ["one", "two", "three", "four", "five"]
    assert drawn.prompt() == "@readonly x"


# --- keys ------------------------------------------------------------------------------------


def test_a_key_of_the_users_own_takes_the_place_of_the_default(start_editor: StartEditor) -> None:
    editor = start_editor(
        init="vim.keymap.set('n', '<leader>s', '<Plug>(AgentChatSend)')\n"
        "vim.api.nvim_create_autocmd('FileType', { pattern = 'agentchat', callback = function()\n"
        "  vim.keymap.set('n', 'ga', '<Cmd>echo 1<CR>', { buffer = true })\n"
        "end })"
    )
    editor.command("AgentChat")
    assert editor.eval("maparg('<CR>', 'n')") == ""
    assert "AgentChatSend" in editor.eval("maparg('<C-s>', 'i')")
    assert "echo 1" in editor.eval("maparg('ga', 'n')")


def test_the_keys_are_listed(drawn: Drawn) -> None:
    drawn.editor.keys("g?")
    text = drawn.editor.float_text()
    assert "<C-s>" in text
    assert max(len(line) for line in text.splitlines()) <= 72


@pytest.mark.parametrize("command", ["AgentChat @r", "AgentMode ", "AgentResolve d"])
def test_commands_complete(drawn: Drawn, command: str) -> None:
    assert drawn.editor.eval(f"getcompletion('{command}', 'cmdline')") != []


def test_reasons_do_not_complete(alone: Editor) -> None:
    assert alone.eval("getcompletion('AgentApprove reject a', 'cmdline')") == []


# --- where it opens --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "layout", "tabs"),
    [
        ("AgentChat", "row", 1),
        ("tab AgentChat", "leaf", 2),
        ("horizontal AgentChat", "col", 1),
        ("topleft AgentChat", "row", 1),
    ],
)
def test_a_chat_opens_where_the_command_says(
    alone: Editor, command: str, layout: str, tabs: int
) -> None:
    alone.command(command)
    assert alone.eval("[winlayout()[0], tabpagenr('$')]") == [layout, tabs]
    assert alone.eval("&filetype") == "agentchat"


def test_a_chat_opens_from_a_floating_window_too(alone: Editor) -> None:
    alone.lua(
        "vim.api.nvim_open_win(0, true, "
        "{ relative = 'editor', row = 1, col = 1, width = 20, height = 5 })"
    )
    alone.command("AgentChat")
    assert alone.eval("&filetype") == "agentchat"
    assert alone.eval("nvim_win_get_config(0).relative") == ""


def test_what_python_refuses_goes_back_to_the_prompt(drawn: Drawn) -> None:
    drawn.editor.keys("ione<C-s>")
    drawn.editor.lua("require('agentchat.chat.actions').refuse(...)", drawn.id)
    assert drawn.prompt() == "one"
    assert drawn.editor.status()["state"] == "idle"


def test_a_text_given_back_is_not_taken_for_the_next_one(drawn: Drawn) -> None:
    drawn.editor.keys("ione<C-s><C-c><Esc>")
    drawn.editor.keys("ccdifferent<C-s>")
    drawn.draw(("message", "user", "one"))
    assert drawn.sent() == ["different"]


def test_a_narrow_winbar_keeps_what_waits_for_the_user(alone: Editor) -> None:
    chat = Drawn(alone)
    waiting = {"state": "waiting", "prompts": 1, "pending": 1, "mode": "ask"}
    chat.draw(("status", {**waiting, "model": "test-model", "tokens": 12345}))
    seen = {}
    for width in (70, 60, 50, 40, 26):
        alone.command(f"vertical resize {width}")
        seen[width] = alone.screen()[0].partition("│")[2].strip()
    assert seen[70].split("   ")[0] == ("Chat 1 · 1 to approve · ask · test-model · 1 preview")
    assert seen[60].startswith("1 to approve · ask · test-model · 1 preview")
    assert seen[40] == "1 to approve · ask · 1 preview  project"
    assert all("1 to approve" in bar and "project" in bar for bar in seen.values())


FULLNESS = [
    ({"used": 950}, "950 tokens", "AgentChatFact"),
    ({"used": 12_345, "window": 128_000}, "12.3k/128k", "AgentChatFact"),
    ({"used": 108_100, "window": 128_000}, "108.1k/128k", "AgentChatWaiting"),
    ({"used": 400_000, "window": 1_048_576}, "400k/1M", "AgentChatFact"),
]


@pytest.mark.parametrize(("context", "text", "group"), FULLNESS)
def test_the_meter_shows_how_full_the_window_is_and_warns_in_time(
    drawn: Drawn, context: dict[str, int], text: str, group: str
) -> None:
    drawn.draw(("status", {"state": "idle", "mode": "ask", "context": context}))
    bar = drawn.editor.lua("return require('agentchat.chat.winbar').render()")
    assert f"%#{group}#{text}%" in bar


def test_thousands_of_mentions_of_one_file_do_not_block_the_editor(drawn: Drawn) -> None:
    seconds = drawn.editor.lua(
        """
        local context = require('agentchat.prompt.context')
        local line, start = ('#file:src/app.py '):rep(3000), vim.uv.hrtime()
        assert(#context.find(line) == 3000)
        assert(#require('agentchat.prompt.mentions').find(('@read '):rep(3000)) == 3000)
        return (vim.uv.hrtime() - start) / 1e9
        """
    )
    assert seconds < 0.3


# --- earlier prompts -------------------------------------------------------------------------


def test_up_in_an_empty_prompt_recalls_what_was_sent_and_down_goes_back(drawn: Drawn) -> None:
    for text in ("first", "second\nlines"):
        drawn.draw(("message", "user", text))
    drawn.editor.keys("Gi<Up>")
    assert drawn.prompt() == "second\nlines"
    drawn.editor.keys("<Up>")
    assert drawn.prompt() == "first"
    drawn.editor.keys("<Up><Down>")
    assert drawn.prompt() == "second\nlines"
    drawn.editor.keys("<Down>")
    assert drawn.prompt() == ""


def test_up_moves_the_cursor_in_a_prompt_that_was_typed(drawn: Drawn) -> None:
    drawn.draw(("message", "user", "first"))
    drawn.editor.keys("Gione<CR>two<Up>!")
    assert drawn.prompt() == "one!\ntwo"


# --- pasting ---------------------------------------------------------------------------------


def paste(drawn: Drawn, text: str) -> None:
    """Paste in insert mode as a terminal does."""
    drawn.editor.lua("vim.api.nvim_paste(..., false, -1)", text)


def test_a_path_that_is_dropped_on_the_prompt_becomes_a_mention(drawn: Drawn) -> None:
    folder = drawn.editor.eval("getcwd()")
    drawn.editor.lua("vim.fn.writefile({ 'x' }, 'my notes.md')")
    drawn.editor.keys("Gi")
    paste(drawn, f"{folder}/src/greet.py")
    paste(drawn, f"'{folder}/my notes.md' file://{folder}/src")
    paste(drawn, "/no/such/file")
    assert drawn.prompt() == "#file:src/greet.py #file:{my notes.md} #dir:src /no/such/file"


def listed(drawn: Drawn) -> list[str]:
    """The list of attachments as it is seen: the lines of the chat's window above its prompt."""
    column = drawn.editor.eval("win_screenpos(0)[1]") - 1
    lines = [line[column:].rstrip() for line in drawn.editor.screen()]
    return lines[lines.index("Attached · dd on a line removes it") + 1 : lines.index("▌ You") - 1]


def test_what_the_prompt_attaches_is_listed_above_it_with_sizes(drawn: Drawn) -> None:
    drawn.editor.lua(
        "vim.fn.writefile({ ('x'):rep(2047) }, 'big.txt')\n"
        "vim.cmd('wincmd p | edit notes.txt | normal! GVy')\n"
        "vim.cmd('wincmd p')"
    )
    drawn.editor.keys(
        "Gi#file:big.txt and #buffer<CR>#file:gone.txt #file:big.txt:1-2 #file:big.txt<CR>"
    )
    drawn.editor.keys("#dir:src #selection #diff #buffer:99 #diagnostics")
    assert listed(drawn) == [
        "#file:big.txt      2.0 KiB",
        "#buffer            14 B · notes.txt",
        "#file:gone.txt     not found",
        "#file:big.txt:1-2  2 lines",
        "#dir:src           the names of its files",
        "#selection         5 B · notes.txt, line 3",
        "#diff              read when it is sent",
        "#buffer:99         buffer 99 is not loaded",
    ]
    drawn.editor.keys("<Esc>")
    assert listed(drawn)[8:] == ["#diagnostics       0 diagnostics"]
    assert "AgentChatMention" in drawn.groups("#dir:src")
    drawn.editor.command("wincmd p | call append('$', 'added') | wincmd p")
    assert listed(drawn)[1] == "#buffer            20 B · notes.txt"
    drawn.editor.keys("<CR>")
    assert drawn.lines() == ["## You", "", ""]


def test_the_list_names_what_is_outside_or_secret(drawn: Drawn) -> None:
    drawn.editor.lua(
        "vim.fn.writefile({ 'x' }, '../beside.txt')\n"
        "vim.fn.writefile({ 'x' }, '.env.local')\n"
        "vim.uv.fs_symlink('../beside.txt', 'link.txt')\n"
        "require('agentchat.host.process').state().info = { secrets = { '**/.env*' } }"
    )
    drawn.editor.keys("Gi#file:../beside.txt #file:link.txt #dir:{..} #file:.env.local x<Esc>")
    assert listed(drawn) == [
        "#file:../beside.txt  outside, asks · 2 B",
        "#file:link.txt       outside, asks · 2 B",
        "#dir:{..}            outside, asks · the names of",
        "#file:.env.local     secret, asks · 2 B",
    ]


def test_dd_on_a_line_of_the_list_removes_the_mention_from_the_prompt(drawn: Drawn) -> None:
    drawn.editor.keys("Gi#diff<CR>look at #buffer, then at #dir:src<Esc>")
    drawn.editor.keys("ggjdd")
    assert drawn.lines()[:3] == ["Attached", "#buffer", "#dir:src"]
    assert drawn.prompt() == "look at #buffer, then at #dir:src"
    drawn.editor.keys("dd")
    assert drawn.prompt() == "look at, then at #dir:src"
    drawn.editor.keys("dd")
    assert drawn.lines() == ["## You", "", "look at, then at"]
    drawn.editor.keys("uu")
    assert drawn.lines()[:3] == ["Attached", "#buffer", "#dir:src"]
    assert drawn.prompt() == "look at #buffer, then at #dir:src"


def test_the_list_is_begun_anew_below_what_the_agent_has_written(drawn: Drawn) -> None:
    drawn.editor.keys("Gi#diff x<Esc>ccy<Esc>")
    drawn.say("one")
    drawn.editor.keys("A #diff z<Esc>")
    assert drawn.lines() == [
        "## Agent", "", "one", "", "Attached", "#diff", "", "## You", "", "y #diff z",
    ]  # fmt: skip
    assert drawn.editor.messages() == ""


def test_the_agent_writes_above_the_list_of_attachments(drawn: Drawn) -> None:
    drawn.editor.keys("Gi#diff ")
    drawn.say("one\n\n```\ntwo")
    drawn.draw(("block", "x", {"title": "ls", "state": "done"}))
    drawn.editor.keys("<C-x><C-o>#buf<C-x><C-o>")
    drawn.draw(("message", "note", "noted"))
    drawn.editor.keys("<C-y> ")
    assert drawn.lines() == [
        "## Agent", "", "one", "", "```", "two", "", "▸ ls · done", "", "noted", "",
        "Attached", "#diff", "#buffer", "", "## You", "", "#diff #buffer ",
    ]  # fmt: skip
    drawn.editor.keys("<Esc>")
    drawn.editor.command("edit!")
    assert listed(drawn) == ["#diff    read when it is sent", "#buffer  1 B · buffer 1"]
    drawn.editor.keys("ggdG")
    assert "Attached" not in drawn.lines()


CLIPBOARD = """
local name, output = ...
local folder = vim.fs.dirname(vim.fn.getcwd()) .. '/programs'
vim.fn.mkdir(folder, 'p')
vim.fn.writefile({ '#!/bin/sh', output }, folder .. '/' .. name)
vim.fn.setfperm(folder .. '/' .. name, 'rwx------')
vim.env.PATH = folder .. ':' .. vim.env.PATH
vim.env.WAYLAND_DISPLAY = 'none'
"""


def test_an_image_of_the_clipboard_is_attached_and_dd_removes_it(drawn: Drawn) -> None:
    drawn.editor.lua(CLIPBOARD, "wl-paste", "printf PNG")
    drawn.editor.keys("Gilook<Esc>")
    drawn.editor.command("AgentPaste")
    drawn.editor.wait(lambda: drawn.prompt().startswith("#file:/"), why="the mention")
    line, rest = drawn.prompt().split("\n")
    assert (line[-4:], rest) == (".png", "look")
    path = line.removeprefix("#file:")
    assert drawn.editor.eval(f"readfile('{path}')") == ["PNG"]
    assert drawn.editor.eval(f"getfperm('{path}')") == "rw-------"
    drawn.editor.keys("Gkdd")
    assert drawn.prompt() == "look"


def test_a_clipboard_without_image_or_program_is_reported(drawn: Drawn) -> None:
    drawn.editor.lua("vim.env.WAYLAND_DISPLAY, vim.env.PATH = 'none', '/nowhere'")
    drawn.editor.command("AgentPaste")
    drawn.editor.wait_notice("install wl-clipboard, which has the program wl-paste")
    drawn.editor.lua(CLIPBOARD, "wl-paste", "exit 1")
    drawn.editor.command("AgentPaste")
    drawn.editor.wait_notice("the clipboard has no image")


# --- drafts ----------------------------------------------------------------------------------


def test_the_draft_of_a_chat_without_a_turn_is_in_the_next_new_chat(drawn: Drawn) -> None:
    drawn.editor.keys("Gihalf a<CR>question<Esc>")
    drawn.editor.command(f"bdelete {drawn.buffer}")
    again = Drawn(drawn.editor)
    assert again.prompt() == "half a\nquestion"
    drawn.editor.command("AgentChat!")
    opened = drawn.editor.wait_event("AgentChatOpened")
    assert "half a" not in drawn.editor.text(opened["buf"])
    drawn.editor.command(f"bdelete {opened['buf']}")
    drawn.editor.command(f"bdelete {again.buffer}")
    assert Drawn(drawn.editor).prompt() == "half a\nquestion"
