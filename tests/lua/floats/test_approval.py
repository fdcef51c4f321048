"""The approval float, with real keys and real time, and without Python behind it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import StartEditor
from tests.lua.floats.desk import QUIET_HOST, Desk, diff, doc, question
from tests.support.chat import Chat
from tests.support.editor import Editor

ANSWERS = {"A": "always", "a": "accept", "c": "cancel"}


def enter(desk: Desk) -> None:
    """Go from the chat into the float."""
    desk.chat.focus()
    desk.editor.keys("ga")
    assert desk.editor.floats()[0].focused


def slow(start_editor: StartEditor, delay: int = 400) -> Desk:
    """A desk whose prompts settle as they do by default."""
    editor = start_editor({"ui": {"prompt_delay_ms": delay}}, init=QUIET_HOST)
    return Desk(editor, Chat.open(editor))


# --- what it shows --------------------------------------------------------------------------


def test_all_that_python_says_is_shown(desk: Desk) -> None:
    desk.editor.resize(180, 30)
    prompt = desk.ask(place=2, total=5, warning="It may do anything.")
    (shown,) = desk.editor.floats()
    assert "bash wants to run a command" in shown.title
    assert "2 of 5" in shown.title
    for text in ("in", "/work/project", "touch m", "It may do anything.", prompt["always_text"]):
        assert text in "\n".join(shown.lines)
    hints = "A always  a accept  r reject  c cancel  e edit  ? details  q hide"
    assert hints in shown.footer


@pytest.mark.parametrize(
    ("safety", "said"), [(0, "no dry run, no undo"), (1, "can be undone"), (2, "dry run")]
)
def test_the_safety_level_is_a_line_of_its_own(desk: Desk, safety: int, said: str) -> None:
    desk.ask(safety=safety)
    assert f"{safety} · {said}" in desk.editor.float_text()


def test_what_cannot_be_undone_is_drawn_as_a_warning(desk: Desk) -> None:
    desk.ask(safety=0)
    assert desk.groups("no dry run") == ["AgentChatWarning"]
    desk.close("p1")
    desk.ask("p2", safety=2)
    assert desk.groups("dry run") == []


def test_always_is_not_offered_where_python_does_not(desk: Desk) -> None:
    desk.ask(always=False)
    assert "always" not in desk.editor.float_text()
    enter(desk)
    desk.editor.keys("A")
    assert "\n" not in desk.editor.wait_notice('"always" is not available')
    desk.editor.command("AgentApprove always")
    desk.editor.wait_notice('"always" is not available')
    assert desk.answers() == []


def test_details_come_and_go(desk: Desk) -> None:
    desk.ask()
    enter(desk)
    desk.editor.keys("?")
    assert "affects   everything" in desk.editor.float_text()
    desk.editor.keys("?")
    assert "affects" not in desk.editor.float_text()
    desk.editor.keys("a")
    assert desk.answers() == [("p1", "accept")]


def test_marks_of_the_text_are_drawn_where_the_text_stands(desk: Desk) -> None:
    marks = ["2:5:AgentChatCodeString"]
    rows = [[0, "AgentChatAdd"]]
    desk.ask(doc=doc("+ käse", marks=marks, rows=rows))
    assert desk.groups("käse") == ["AgentChatAdd", "AgentChatCodeString"]
    assert desk.groups("+ käse") == ["AgentChatAdd"]


SIZES = [(120, 40), (80, 24), (40, 12), (20, 6)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "line",
    [
        "echo ok" + " " * 2000 + "; touch m",
        "echo ok" + "\t" * 300 + "; touch m",
        "\n".join([*(f"echo {n}" for n in range(200)), "; touch m"]),
        "x" * 700 + "; touch m",
    ],
    ids=["blanks", "tabs", "lines", "wide"],
)
def test_every_character_can_be_reached(
    start_editor: StartEditor, size: tuple[int, int], line: str
) -> None:
    editor = start_editor(init=QUIET_HOST, size=size)
    desk = Desk(editor, Chat.open(editor))
    desk.ask(doc=doc(*line.split("\n")))
    enter(desk)
    seen = ""
    while "touchm" not in seen:
        before = editor.lua(_TOP)
        seen = "".join(filter(str.isalnum, "".join(editor.screen()[:-2])))
        editor.keys("<C-e>")
        assert editor.lua(_TOP) != before, f"no further\n{editor.report()}"


_TOP = "local view = vim.fn.winsaveview(); return { view.topline, view.skipcol }"


def test_the_footer_says_which_rows_are_in_sight(desk: Desk) -> None:
    desk.ask(doc=doc(*[str(n) for n in range(400)]))
    enter(desk)
    assert " 1-" in desk.editor.floats()[0].footer
    rows = int(desk.editor.floats()[0].footer.split(" of ")[1].split()[0])
    assert rows >= 400
    desk.editor.keys("G")
    desk.editor.wait(lambda: f"-{rows} of {rows}" in desk.editor.floats()[0].footer)


def test_a_diff_is_walked_hunk_by_hunk_and_file_by_file(desk: Desk) -> None:
    desk.ask(kind="diff", doc=diff("a.py", "b.py", "c.py"))
    enter(desk)

    def line(keys: str) -> str:
        desk.editor.keys(keys)
        return str(desk.editor.eval("getline('.')"))

    assert line("]f") == "a.py"
    assert line("]c") == "@@ -1 +1 @@"
    assert line("]f") == "b.py"
    assert line("[f") == "a.py"
    assert line("G[f") == "c.py"
    assert desk.answers() == []


# --- answers --------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ANSWERS)
def test_a_key_answers_and_the_user_is_back_in_the_chat(desk: Desk, key: str) -> None:
    desk.ask()
    enter(desk)
    desk.editor.keys(key)
    assert desk.answers() == [("p1", ANSWERS[key])]
    assert desk.editor.floats() == []
    assert desk.editor.eval("bufnr()") == desk.chat.buffer


def test_the_user_is_back_where_they_came_from(desk: Desk) -> None:
    desk.editor.command("wincmd p | split | split")
    window = desk.editor.eval("win_getid()")
    desk.ask()
    desk.editor.command("AgentApprove")
    desk.editor.keys("a")
    assert desk.editor.eval("win_getid()") == window


def test_reject_sends_the_reason(desk: Desk) -> None:
    desk.ask()
    enter(desk)
    desk.editor.keys("r")
    desk.editor.type("A a too risky")
    desk.editor.keys("<CR>")
    (told,) = desk.told("answer")
    assert (told["choice"], told["reason"]) == ("reject", "A a too risky")
    assert desk.editor.mode() == "n"
    assert desk.editor.eval("bufnr()") == desk.chat.buffer


def test_a_key_and_a_reason_may_be_typed_in_one_go(desk: Desk) -> None:
    desk.ask()
    enter(desk)
    desk.editor.keys("rno<CR>")
    assert desk.told("answer")[0]["reason"] == "no"


def test_escape_from_the_reason_keeps_what_was_typed(desk: Desk) -> None:
    desk.ask()
    enter(desk)
    desk.editor.keys("rtoo ri")
    desk.editor.keys("<Esc>")
    assert desk.answers() == []
    assert desk.editor.mode() == "n"
    assert "touch m" in desk.editor.float_text()
    desk.editor.keys("r")
    desk.editor.type("sky")
    desk.editor.keys("<CR>")
    assert desk.told("answer")[0]["reason"] == "too risky"


@pytest.mark.parametrize("how", ["quit!", "close!", "wincmd p", "only!"])
def test_leaving_the_reason_answers_nothing(desk: Desk, how: str) -> None:
    desk.ask()
    enter(desk)
    desk.editor.keys("r")
    desk.editor.keys("<C-\\><C-n>")
    desk.editor.allow("E5601|E444")
    desk.editor.lua("pcall(vim.cmd, ...)", how)
    assert desk.answers() == []
    desk.editor.command("AgentApprove accept")
    if not desk.answers():
        desk.editor.command("AgentApprove accept")
    assert desk.answers() == [("p1", "accept")]
    assert desk.editor.floats() == []


def test_pasted_lines_do_not_send_a_reason(desk: Desk) -> None:
    desk.ask()
    enter(desk)
    desk.editor.keys("r")
    desk.editor.request("nvim_paste", "one\ntwo\n", True, -1)
    assert desk.answers() == []
    desk.editor.keys("<CR>")
    assert desk.told("answer")[0]["reason"] == "one\ntwo"


@pytest.mark.parametrize("how", ["<Esc>:w<CR>", "<C-s>", "<Esc>:wq<CR>", "<Esc>ZZ"])
def test_changed_arguments_are_sent(desk: Desk, how: str) -> None:
    windows = len(desk.editor.request("nvim_list_wins"))
    desk.ask()
    enter(desk)
    desk.editor.keys("e")
    desk.editor.wait(lambda: '"touch m"' in desk.editor.text())
    desk.editor.keys("/touch<CR>cwstat<Esc>i" + how)
    (told,) = desk.editor.wait(lambda: desk.told("answer"))
    assert told["choice"] == "edit"
    assert told["arguments"] == '{\n  "command": "stat m"\n}'
    assert len(desk.editor.request("nvim_list_wins")) == windows
    assert desk.editor.eval("bufnr()") == desk.chat.buffer
    assert desk.editor.mode() == "n"


@pytest.mark.parametrize("text", ['{"command": }', "[1, 2]", '"x"', "", "{} x"])
def test_arguments_that_are_no_object_are_not_sent(desk: Desk, text: str) -> None:
    desk.ask()
    enter(desk)
    desk.editor.keys("e")
    desk.editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, { ... })", text)
    desk.editor.keys("<C-s>")
    assert "\n" not in desk.editor.wait_notice("JSON")
    assert desk.answers() == []
    assert desk.editor.text() == text


def test_going_back_from_the_arguments_keeps_what_was_typed(desk: Desk) -> None:
    desk.ask()
    enter(desk)
    desk.editor.keys("e")
    desk.editor.keys("/touch<CR>cwstat<Esc><Esc>")
    assert "touch m" in desk.editor.float_text()
    assert desk.answers() == []
    desk.editor.keys("e")
    assert "stat m" in desk.editor.text()
    desk.editor.keys("q")
    assert desk.answers() == []


# --- one key, one answer --------------------------------------------------------------------


DEAD = ["<CR>", "<Space>", "y", "1", "9", "<Tab>", "<BS>", "<LeftMouse>", "<2-LeftMouse>"]
DEAD += ["i", "I", "o", "O", "s", "S", "x", "X", "dd", "D", "C", "p", "P", "J", "u", "U", ".", "~"]


@pytest.mark.parametrize("key", DEAD)
def test_other_keys_answer_nothing(desk: Desk, key: str) -> None:
    desk.ask()
    enter(desk)
    desk.editor.keys(key + "<C-\\><C-n>")
    assert desk.answers() == []
    assert desk.editor.messages() == ""
    desk.editor.command("AgentApprove accept")
    assert desk.answers() == [("p1", "accept")]


def test_the_text_can_be_selected_and_yanked(desk: Desk) -> None:
    desk.ask()
    enter(desk)
    desk.editor.keys("ggVy")
    assert desk.editor.eval("getreg('\"')") == "touch m\n"
    assert desk.answers() == []


@pytest.mark.parametrize("key", [*ANSWERS, "r", "e", "q", "?"])
def test_keys_are_ignored_until_the_prompt_has_settled(start_editor: StartEditor, key: str) -> None:
    desk = slow(start_editor)
    desk.ask()
    enter(desk)
    before = desk.editor.float_text()
    desk.editor.keys(key)
    assert desk.answers() == []
    assert desk.editor.float_text() == before
    desk.editor.settle(0.55)
    desk.editor.keys("a")
    assert desk.answers() == [("p1", "accept")]


def test_showing_it_again_makes_it_settle_again(start_editor: StartEditor) -> None:
    desk = slow(start_editor)
    desk.ask()
    enter(desk)
    desk.editor.settle(0.55)
    desk.editor.keys("q")
    desk.editor.keys("ga")
    desk.editor.keys("a")
    assert desk.answers() == []
    desk.editor.settle(0.55)
    desk.editor.keys("a")
    assert desk.answers() == [("p1", "accept")]


def test_what_is_typed_ahead_while_neovim_is_busy_answers_nothing(
    start_editor: StartEditor,
) -> None:
    desk = slow(start_editor)
    desk.chat.focus()
    desk.editor.lua(
        "vim.api.nvim_input('gaaaAc'); require('agentchat.host.rpc').call('approval.show', ...)",
        desk.chat.id,
        question("p1"),
    )
    desk.editor.wait(lambda: desk.editor.floats()[0].focused)
    assert desk.answers() == []


NEXT = """
  local chat, prompt = ...
  local host = package.loaded['agentchat.host.process']
  local send = host.send
  host.send = function(name, payload)
    send(name, payload)
    local rpc = require('agentchat.host.rpc')
    if payload.prompt == 'p1' then rpc.call('approval.show', chat, prompt) end
  end
"""


@pytest.mark.parametrize(
    "keys", ["aaaa", "AAAA", "cccc", "acA", "a3a", "a.", "a@q", "3a", "aga", "agaa"]
)
def test_at_most_one_of_two_prompts_is_answered(desk: Desk, keys: str) -> None:
    # The second question comes as soon as the first is answered, as from a queue.
    desk.editor.lua(NEXT, desk.chat.id, question("p2"))
    desk.editor.lua("vim.fn.setreg('q', 'aaa')")
    text = desk.chat.text()
    desk.ask("p1")
    enter(desk)
    desk.editor.keys(keys)
    desk.editor.settle(0.05)
    assert len(desk.answers()) <= 1
    assert desk.asks()
    assert desk.chat.text() == text


@pytest.mark.parametrize(
    "how",
    [
        "normal a",
        "normal aaa",
        "normal! a",
        "call feedkeys('a')",
        "call feedkeys('aaa', 'x')",
        "let @q = 'a' | normal @q",
    ],
)
def test_what_no_person_pressed_answers_nothing(desk: Desk, how: str) -> None:
    desk.ask()
    enter(desk)
    desk.editor.allow("E21|E5108")
    desk.editor.lua("pcall(vim.cmd, ...)", how)
    desk.editor.settle(0.05)
    desk.editor.keys("<C-\\><C-n>")
    assert desk.answers() == []


FIRED = [
    "normal a",
    "windo normal A",
    'execute "normal \\<Plug>(AgentChatApproval)a"',
    'call feedkeys("\\<Plug>(AgentChatApproval)aaA", "m")',
    "let @q = 'ga' .. 'a' | normal @q",
    "AgentApprove always",
    "lua require('agentchat').approve('accept')",
]


@pytest.mark.parametrize("line", FIRED)
def test_what_a_script_fires_while_no_question_is_in_sight_answers_nothing(
    desk: Desk, tmp_path: Path, line: str
) -> None:
    desk.ask()
    enter(desk)
    desk.editor.keys("q")
    desk.editor.command("new")
    (tmp_path / "exrc").write_text(line + "\n")
    desk.editor.command(f"source {tmp_path / 'exrc'}")
    desk.editor.settle(0.05)
    desk.editor.keys("<C-\\><C-n>")
    assert desk.answers() == []
    assert desk.asks()
    desk.editor.allow("E21|E349")


def test_a_dead_key_does_not_make_what_follows_it_a_press(desk: Desk) -> None:
    desk.ask()
    enter(desk)
    for key in ("y", "1", "<CR>"):
        desk.editor.keys(key)
        desk.editor.command("normal a")
    assert desk.answers() == []
    desk.editor.keys("ya")
    assert desk.answers() == [("p1", "accept")]


def test_a_macro_answers_nothing(desk: Desk) -> None:
    desk.editor.lua("vim.fn.setreg('q', 'a')")
    desk.ask()
    enter(desk)
    desk.editor.keys("@q")
    desk.editor.keys("3@q")
    assert desk.answers() == []


def test_pasted_text_answers_nothing(desk: Desk) -> None:
    desk.ask()
    enter(desk)
    for phase in (-1, 1, 2, 3):
        desk.editor.request("nvim_paste", "aaa\nA", True, phase)
    assert desk.answers() == []
    assert desk.editor.messages() == ""
    desk.editor.keys("<Esc>i")
    desk.editor.request("nvim_paste", "pasted", True, -1)
    assert desk.chat.prompt() == "pasted"


def test_a_stale_id_does_nothing(desk: Desk) -> None:
    desk.ask("p1")
    desk.ask("p2")
    desk.call("approval.close", desk.chat.id, "p1")
    assert desk.asks()
    assert len(desk.editor.floats()) == 1
    desk.editor.command("AgentApprove accept")
    assert desk.answers() == [("p2", "accept")]
    desk.editor.command("AgentApprove accept")
    desk.editor.wait_notice("No approval request is pending")
    assert desk.answers() == [("p2", "accept")]


def test_a_prompt_taken_back_closes_with_all_its_windows(desk: Desk) -> None:
    for keys in ("", "r", "e"):
        desk.ask("p1")
        enter(desk)
        desk.editor.keys(keys)
        desk.call("approval.close", desk.chat.id, "p1")
        assert desk.editor.floats() == []
        assert desk.editor.eval("bufnr()") == desk.chat.buffer
        desk.editor.keys("<C-\\><C-n>")
    assert desk.answers() == []


# --- focus ----------------------------------------------------------------------------------


@pytest.mark.parametrize("before", ["i", "i<C-x>", ":echo 1", "v", "d", "q:", "/x"])
def test_it_takes_neither_focus_nor_mode(desk: Desk, before: str) -> None:
    desk.chat.focus()
    desk.editor.keys(before)
    mode, window = desk.editor.mode(), desk.editor.eval("win_getid()")
    desk.ask()
    assert desk.editor.mode() == mode
    assert desk.editor.eval("win_getid()") == window
    desk.editor.keys("<C-\\><C-n>")
    if before == "q:":
        desk.editor.command("quit")
    desk.editor.wait(lambda: "touch m" in desk.editor.float_text(), why="the prompt is shown")


def test_a_command_line_that_is_being_typed_stays_on_the_screen(desk: Desk) -> None:
    desk.editor.keys(":echo 'typed'")
    desk.ask()
    desk.editor.type(" 'on'")
    assert desk.editor.eval("getcmdline()") == "echo 'typed' 'on'"
    assert desk.editor.screen()[-1].startswith(":echo 'typed' 'on'")
    desk.editor.keys("<Esc>")


def test_it_does_not_lie_on_the_line_that_is_being_typed(desk: Desk) -> None:
    _go_down(desk, 60)
    desk.editor.type("I am typing this")
    desk.ask()
    desk.editor.wait_screen("I am typing this")
    assert "touch m" in desk.editor.float_text()


def _go_down(desk: Desk, lines: int) -> None:
    """Begin to type below so many empty lines."""
    desk.chat.focus()
    desk.editor.lua(
        "vim.api.nvim_buf_set_lines(0, -1, -1, true, vim.fn['repeat']({ '' }, ...))", lines
    )
    desk.editor.keys("G$a")


def test_escape_goes_back_and_leaves_it_open(desk: Desk) -> None:
    desk.ask()
    enter(desk)
    desk.editor.keys("<Esc>")
    (shown,) = desk.editor.floats()
    assert not shown.focused
    assert desk.answers() == []


def test_the_footer_says_how_to_get_in(desk: Desk) -> None:
    desk.chat.focus()
    desk.ask()

    def footer() -> str:
        return desk.editor.floats()[0].footer

    assert "ga ›" in footer()
    desk.editor.command("wincmd p")
    desk.editor.wait(lambda: ":AgentApprove ›" in footer())
    desk.editor.command("AgentApprove")
    desk.editor.wait(lambda: "›" not in footer())


# --- hiding and showing ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "how", ["close", "quit", "wincmd p | only", "tabnew | tabonly", "fclose!", "bwipeout!"]
)
def test_however_its_window_goes_it_stays_pending(desk: Desk, how: str) -> None:
    desk.ask()
    enter(desk)
    desk.editor.command(how)
    desk.editor.settle(0.05)
    assert desk.editor.floats() == []
    assert desk.answers() == []
    assert desk.asks()
    desk.editor.command("AgentApprove accept")
    desk.editor.wait_notice("was hidden")
    assert desk.answers() == []
    desk.editor.command("AgentApprove accept")
    assert desk.answers() == [("p1", "accept")]


def test_once_hidden_it_stays_hidden_until_it_is_asked_for(desk: Desk) -> None:
    desk.ask()
    enter(desk)
    desk.editor.keys("q")
    desk.editor.command("wincmd p | wincmd p | tabnew | tabclose")
    desk.editor.settle(0.05)
    assert desk.editor.floats() == []
    desk.chat.focus()
    desk.editor.keys("ga")
    assert desk.editor.floats()[0].focused


def test_in_a_tab_without_the_chat_the_user_is_told_once(desk: Desk) -> None:
    desk.editor.command("tabnew")
    desk.ask()
    assert desk.editor.floats() == []
    assert "\n" not in desk.editor.wait_notice("bash wants to run a command.*AgentApprove")
    desk.editor.command("split | only")
    desk.editor.settle(0.05)
    assert len([n for n in desk.editor.notices if "wants to run" in n.text]) == 1
    desk.editor.command("tabprevious")
    desk.editor.wait(desk.editor.floats, why="it is shown beside its chat")
    assert not desk.editor.floats()[0].focused


def test_it_can_be_answered_in_another_tab(desk: Desk) -> None:
    desk.ask()
    desk.editor.command("tabnew")
    assert not any(f.focused for f in desk.editor.floats())
    desk.editor.command("AgentApprove")
    assert [f.focused for f in desk.editor.floats()] == [True]
    desk.editor.keys("a")
    assert desk.answers() == [("p1", "accept")]
    assert desk.editor.floats() == []
    assert desk.editor.eval("tabpagenr()") == 2


@pytest.mark.parametrize("size", SIZES)
def test_it_follows_the_size_of_the_screen(desk: Desk, size: tuple[int, int]) -> None:
    desk.ask()
    desk.editor.resize(*size)
    (shown,) = desk.editor.floats()
    where = desk.editor.lua("return vim.api.nvim_win_get_config(...)", shown.window)
    assert where["row"] >= 0
    assert where["col"] >= 0
    assert where["row"] + where["height"] + 2 <= size[1]
    assert where["col"] + where["width"] + 2 <= size[0]
    desk.editor.command("AgentApprove accept")
    assert desk.answers() == [("p1", "accept")]


def test_a_change_of_colours_leaves_it_as_it_is(desk: Desk) -> None:
    desk.ask()
    before = desk.editor.look("no dry run").groups
    desk.editor.command("colorscheme habamax")
    assert desk.editor.look("no dry run").groups[-1] == before[-1]
    desk.editor.command("mode | redraw!")
    assert "touch m" in desk.editor.float_text()


@pytest.mark.parametrize("border", ["", "none", "shadow", "double", "bold", "solid", "single"])
def test_whatever_border_the_user_likes_title_and_keys_are_shown(
    start_editor: StartEditor, border: str
) -> None:
    editor = start_editor(init=f"{QUIET_HOST}\nvim.o.winborder = '{border}'")
    desk = Desk(editor, Chat.open(editor))
    desk.ask()
    screen = "\n".join(editor.screen())
    assert "bash wants to run a command" in screen
    assert "a accept" in screen


# --- several chats --------------------------------------------------------------------------


@pytest.fixture
def other(desk: Desk) -> Desk:
    """A second chat in the same editor."""
    return Desk(desk.editor, Chat.open(desk.editor, "vertical AgentChat!"))


def test_each_chat_has_its_own_question(desk: Desk, other: Desk) -> None:
    desk.ask("p1")
    other.ask("p2", title="other wants to run")
    desk.chat.focus()
    desk.editor.command("AgentApprove accept")
    assert desk.answers() == [("p1", "accept")]
    (shown,) = desk.editor.floats()
    assert "other wants to run" in shown.title


def test_from_a_window_of_neither_nothing_is_answered(desk: Desk, other: Desk) -> None:
    desk.ask("p1")
    other.ask("p2")
    desk.editor.command("botright new")
    desk.editor.command("AgentApprove accept")
    assert "\n" not in desk.editor.wait_notice("Several chats have")
    desk.editor.command("AgentApprove")
    desk.editor.wait_notice("Several chats have")
    assert desk.answers() == []
    desk.call("approval.close", other.chat.id, "p2")
    desk.editor.command("AgentApprove accept")
    assert desk.answers() == [("p1", "accept")]


def test_in_the_float_the_command_is_about_its_own_chat(desk: Desk, other: Desk) -> None:
    desk.ask("p1")
    other.ask("p2")
    desk.chat.focus()
    desk.editor.keys("ga")
    desk.editor.command("AgentApprove reject no")
    (told,) = desk.told("answer")
    assert (told["chat"], told["prompt"], told["reason"]) == (desk.chat.id, "p1", "no")


def test_of_two_prompts_each_title_is_seen(desk: Desk, other: Desk) -> None:
    desk.ask("p1", title="the first asks")
    other.ask("p2", title="the second asks")
    screen = "\n".join(desk.editor.screen())
    assert "the second asks" in screen
    assert "the first asks" in screen


def test_a_chat_that_is_wiped_out_takes_its_question_along(desk: Desk) -> None:
    desk.ask()
    desk.editor.command(f"bwipeout! {desk.chat.buffer}")
    desk.editor.wait(lambda: not desk.editor.floats())
    desk.ask("p2")  # Python had asked before it knew
    assert not desk.asks()
    assert desk.editor.floats() == []


@pytest.mark.parametrize("how", ["bdelete!", "bwipeout!", "tabonly", "tabclose 1"])
def test_a_chat_that_is_alone_in_another_tab_is_closed_with_its_float(desk: Desk, how: str) -> None:
    desk.editor.command("only")
    desk.ask()
    desk.editor.command("tabnew")
    desk.editor.command(f"{how} {desk.chat.buffer}" if how.startswith("b") else how)
    assert desk.editor.eval("[tabpagenr('$'), winnr('$')]") == [1, 1]
    assert desk.editor.floats() == []


def test_wiping_the_chat_out_from_inside_the_float_leaves_no_window(editor: Editor) -> None:
    desk = Desk(editor, Chat.open(editor))
    desk.ask()
    enter(desk)
    editor.keys("r")
    editor.keys("<C-\\><C-n>")
    editor.command(f"bwipeout! {desk.chat.buffer}")
    editor.wait(lambda: not editor.floats())
    assert desk.answers() == []


def test_what_an_autocommand_shows_and_closes_works_like_all_else(desk: Desk) -> None:
    # Inside an autocommand Neovim fires no others: none tells that a window was entered or closed.
    desk.editor.command("autocmd User Enter AgentApprove")
    desk.editor.command(
        "autocmd User Close lua require('agentchat.approval.requests').close_all(_G.chat)"
    )
    desk.editor.lua("_G.chat = ...", desk.chat.id)
    desk.ask("p1")
    desk.editor.command("doautocmd User Close")
    assert desk.editor.floats() == []
    desk.editor.keys("ityped<Esc>")
    desk.ask("p2")
    desk.editor.command("doautocmd User Enter")
    desk.editor.keys("a")
    assert desk.answers() == [("p2", "accept")]
    assert desk.editor.lua("return vim.on_key()") == 0


# --- what is left behind --------------------------------------------------------------------


def test_pasting_elsewhere_is_neovims_own_while_a_float_is_shown(desk: Desk) -> None:
    desk.editor.lua("_G.original = vim.paste")
    desk.ask()
    assert desk.editor.lua("return vim.paste == _G.original")
    enter(desk)
    desk.editor.keys("<Esc>")
    assert desk.editor.lua("return vim.paste == _G.original")
    enter(desk)
    desk.editor.keys("a")
    assert desk.answers() == [("p1", "accept")]
    assert desk.editor.lua("return vim.paste == _G.original")


@pytest.mark.parametrize("tabs", [1, 2])
def test_a_split_and_a_tab_have_a_name(desk: Desk, tabs: int) -> None:
    desk.ask(kind="diff")
    enter(desk)
    desk.editor.keys("s" * tabs)
    assert desk.editor.eval("tabpagenr('$')") == tabs
    assert desk.editor.eval("bufname()").startswith("agentchat://approval/")
    desk.editor.wait_screen("agentchat://approval/")


# --- at a glance ------------------------------------------------------------------------------


def test_what_would_run_is_first_and_the_facts_are_below_it(desk: Desk) -> None:
    desk.ask()
    lines = desk.editor.floats()[0].lines
    assert [line.split("  ")[0] for line in lines] == ["touch m", "", "in", "safety", "always"]


def test_warnings_are_above_what_is_long(desk: Desk) -> None:
    desk.ask(doc=doc(*(f"line {n}" for n in range(40))), warning="Look twice.")
    lines = desk.editor.floats()[0].lines
    assert [line.split()[0] for line in lines[:4] if line] == ["safety", "Look", "line"]


def test_calls_that_the_same_scope_covers_are_named_and_accepted_together(desk: Desk) -> None:
    desk.editor.resize(160, 30)
    desk.ask(total=4, same=["edit b.py", "edit c.py"], waiting=["edit .env"])
    text = desk.editor.float_text()
    assert "all 3    the same, until this turn ends; now also:" in text
    assert "waiting  edit .env" in text
    assert "T all 3" in desk.editor.floats()[0].footer
    enter(desk)
    desk.editor.keys("T")
    assert desk.answers() == [("p1", "turn")]


def test_without_such_a_call_nothing_is_accepted_together(desk: Desk) -> None:
    desk.ask(waiting=["bash make"])
    enter(desk)
    desk.editor.keys("T")
    desk.editor.wait_notice("No other call waits")
    assert desk.answers() == []


def test_the_history_of_decisions_is_one_key_away(desk: Desk) -> None:
    desk.ask()
    enter(desk)
    desk.editor.keys("H")
    assert desk.told("log") == [{"chat": desk.chat.id, "only": "decisions"}]
    desk.call("page.show", "Decisions", ["none yet"])
    assert "none yet" in desk.editor.floats()[0].text


def test_a_text_sent_meanwhile_is_offered_as_the_reason_and_read_once(desk: Desk) -> None:
    desk.ask()
    desk.chat.send("use ruff instead")
    assert 'reject  with your message: "use ruff instead"' in desk.editor.float_text()
    enter(desk)
    desk.editor.keys("r")
    assert "use ruff instead" in desk.editor.floats()[0].text
    desk.editor.keys("<CR>")
    assert desk.told("answer")[-1]["reason"] == "use ruff instead"
    assert [told["text"] for told in desk.told("withdraw")] == ["use ruff instead"]


def test_a_text_sent_meanwhile_steers_if_another_reason_is_given(desk: Desk) -> None:
    desk.ask()
    desk.chat.send("use ruff instead")
    enter(desk)
    desk.editor.keys("r<C-u>no<CR>")
    assert desk.told("answer")[-1]["reason"] == "no"
    assert desk.told("withdraw") == []


CODE = "\n".join(f"line {n}" for n in range(1, 60))


@pytest.mark.parametrize(
    ("size", "line", "where"), [((200, 24), 20, "beside"), ((120, 40), 34, "above")]
)
def test_it_does_not_cover_the_code_it_is_about_where_there_is_another_place(
    start_editor: StartEditor, size: tuple[int, int], line: int, where: str
) -> None:
    editor = start_editor(init=QUIET_HOST, size=size)
    editor.command("edit notes.txt")
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, -1, true, vim.split(..., '\\n'))", CODE)
    editor.command("setlocal nomodified")
    desk = Desk(editor, Chat.open(editor))
    path = editor.eval("fnamemodify(bufname('notes.txt'), ':p')")
    hunk = {**diff("notes.txt")["hunks"][0], "path": path, "first": line, "last": line}
    desk.ask(kind="diff", doc=diff("notes.txt") | {"hunks": [hunk]})
    rows = editor.screen()
    (row,) = [i for i, text in enumerate(rows) if text.startswith(f"line {line}")]
    top = next(i for i, text in enumerate(rows) if "bash wants to run" in text)
    assert f"line {line} " in rows[row][:12]
    assert (top < row) if where == "above" else rows[row].index("│") < size[0] // 2 + 1
    assert "│" not in rows[row][: size[0] // 4]


def test_warnings_are_above_a_short_text_with_more_facts_than_the_screen_has_rows(
    desk: Desk,
) -> None:
    desk.editor.resize(80, 24)
    facts = [["affects", "\n".join(f"table {n}" for n in range(14))]]
    desk.ask(facts=facts, safety=2, warning="This cannot be undone.")
    assert desk.editor.floats()[0].lines[0] == "This cannot be undone."
    desk.close("p1")
    desk.ask("p2", facts=facts[:0], safety=2, warning="This cannot be undone.")
    assert desk.editor.floats()[0].lines[0] == "touch m"


def test_the_details_of_a_long_question_are_seen_when_they_are_asked_for(desk: Desk) -> None:
    desk.ask(doc=doc(*[f"line {n}" for n in range(100)]))
    desk.chat.focus()
    desk.editor.keys("ga?")
    assert "line 1" not in desk.editor.eval("getline('w0', 'w$')")
    assert desk.editor.eval("line('w0')") > 100
    desk.editor.keys("?")
    assert desk.editor.eval("line('w0')") == 1
