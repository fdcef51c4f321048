"""Tool blocks: state, output, folds."""

from __future__ import annotations

from .conftest import Drawn


def body(count: int, word: str = "out") -> list[str]:
    return [f"{word} {n}" for n in range(1, count + 1)]


def begin(drawn: Drawn, **fields: object) -> None:
    drawn.draw(("message", "agent", ""), ("block", "x", {"title": "bash make", **fields}))


def test_the_state_is_a_word_in_the_header(drawn: Drawn) -> None:
    begin(drawn, state="waiting")
    groups = {}
    for state in ("waiting", "running", "done", "failed", "rejected", "cancelled", "denied"):
        drawn.draw(("block", "x", {"state": state}))
        assert f"▸ bash make · {state}" in drawn.lines()
        groups[state] = drawn.groups(state)
    assert "AgentChatDone" in groups["done"]
    assert "AgentChatFailed" in groups["failed"]
    assert "AgentChatWaiting" in groups["waiting"]


def test_a_sign_stands_for_the_state(drawn: Drawn) -> None:
    begin(drawn, state="running", body=body(3))
    for state, sign in {"running": "●", "done": "✓", "failed": "✗"}.items():
        drawn.draw(("block", "x", {"state": state}))
        drawn.editor.wait_screen(f"{sign} bash make · {state}")
    drawn.editor.command(str(drawn.row("▸ bash")))
    drawn.editor.keys("zc")
    drawn.editor.wait_screen("✗ bash make · failed (3 lines)")


def test_matches_have_the_colours_of_paths_and_line_numbers(drawn: Drawn) -> None:
    found = ["src/shop.py:12: def total():", "src/shop.py-13-     pass", "No more: 2"]
    begin(drawn, tool="grep", title='grep "total"', state="done", body=found)
    drawn.editor.command(str(drawn.row("▸ grep")))
    drawn.editor.keys("zo")
    drawn.editor.wait(lambda: "AgentChatFile" in drawn.groups("src/shop.py:12"), why="colours")
    assert "AgentChatLineNr" in drawn.groups("12: def")
    assert "AgentChatLineNr" in drawn.groups("13-")
    assert "AgentChatFile" not in drawn.groups("No more")


def test_an_error_is_shown_unfolded(drawn: Drawn) -> None:
    begin(drawn, state="running", body=body(20))
    assert drawn.closed("out 20") == drawn.row("out 11")
    drawn.draw(("block", "x", {"state": "failed", "body": body(21)}))
    assert drawn.closed("out 21") == -1


def test_calls_that_read_are_one_line_once_they_have_ended(drawn: Drawn) -> None:
    done = {"state": "done", "body": body(3)}
    drawn.draw(
        ("message", "agent", ""),
        *(("block", n, {"tool": "read", "title": f"read {n}", **done}) for n in "abc"),
        ("block", "d", {"tool": "grep", "title": 'grep "x"', **done}),
    )
    assert drawn.closed("▸ read b") == drawn.row("▸ read b")
    drawn.draw(("text", "Seen."))
    drawn.editor.wait_screen("✓ read 3 files, searched 1×")
    assert drawn.closed("▸ read b") == drawn.row("▸ read a")
    drawn.editor.command(str(drawn.row("▸ read a")))
    drawn.editor.keys("zo")
    drawn.editor.wait_screen("✓ read b · done (3 lines)")
    drawn.editor.keys("zc")
    drawn.editor.command("edit!")
    drawn.editor.wait_screen("✓ read 3 files, searched 1×")


def test_an_error_among_calls_that_read_stays_in_sight(drawn: Drawn) -> None:
    drawn.draw(("message", "agent", ""))
    for name, state in {"a": "done", "b": "done", "c": "failed", "d": "done"}.items():
        fields = {"tool": "read", "title": f"read {name}", "state": state, "body": body(2)}
        drawn.draw(("block", name, fields))
    drawn.draw(("text", "Seen."))
    drawn.editor.wait_screen("✓ read 2 files")
    assert drawn.closed("▸ read c") == -1
    assert drawn.closed("▸ read d") == drawn.row("▸ read d")


def test_a_title_of_several_lines_is_one_line(drawn: Drawn) -> None:
    begin(drawn, title="bash for i in 1 2\ndo echo\ndone", state="done", badge="exit\n0")
    assert "▸ bash for i in 1 2 ⏎ do echo ⏎ done · done · exit ⏎ 0" in drawn.lines()


def test_a_block_without_a_title_has_the_tools_name(drawn: Drawn) -> None:
    drawn.draw(("block", "x", {"tool": "edit", "state": "streaming"}))
    assert "▸ edit · streaming" in drawn.lines()


def test_output_after_ten_lines_is_folded(drawn: Drawn) -> None:
    begin(drawn, body=body(30))
    assert drawn.closed("out 10") == -1
    assert drawn.closed("out 11") == drawn.row("out 11")
    assert drawn.closed("out 30") == drawn.row("out 11")
    drawn.editor.wait_screen("… 20 more lines")


def test_output_of_eleven_lines_is_shown_whole(drawn: Drawn) -> None:
    begin(drawn, body=body(11))
    assert drawn.closed("out 11") == -1


def test_the_whole_block_folds_by_za_on_its_header(drawn: Drawn) -> None:
    begin(drawn, body=body(5))
    drawn.editor.command(str(drawn.row("▸ bash")))
    drawn.editor.keys("za")
    assert drawn.closed("out 5") == drawn.row("▸ bash")
    drawn.editor.wait_screen("▸ bash make (5 lines)")
    drawn.editor.keys("za")
    assert drawn.closed("out 5") == -1


def test_live_output_grows_inside_its_fold(drawn: Drawn) -> None:
    begin(drawn, state="running")
    for line in body(40):
        drawn.draw(("block", "x", {"append": [line]}))
    assert drawn.lines()[3:43] == ["    " + line for line in body(40)]
    assert drawn.closed("out 10") == -1
    assert drawn.closed("out 40") == drawn.row("out 11")


def test_live_output_is_folded_in_insert_mode_too(drawn: Drawn) -> None:
    drawn.editor.keys("ityping")
    begin(drawn, state="running")
    for line in body(20):
        drawn.draw(("block", "x", {"append": [line]}))
    drawn.editor.wait_screen("… 10 more lines")
    assert drawn.editor.mode() == "i"


def test_a_fold_the_user_opened_or_closed_stays_so(drawn: Drawn) -> None:
    begin(drawn, body=body(30))
    drawn.editor.command(str(drawn.row("out 20")))
    drawn.editor.keys("zo")
    drawn.draw(("block", "x", {"append": ["out 31"], "state": "done"}))
    assert drawn.closed("out 31") == -1
    drawn.editor.command(str(drawn.row("▸ bash")))
    drawn.editor.keys("zc")
    drawn.draw(("block", "x", {"append": ["out 32"], "state": "failed"}))
    assert drawn.closed("out 32") == drawn.row("▸ bash")


def test_two_blocks_grow_side_by_side(drawn: Drawn) -> None:
    drawn.draw(
        ("message", "agent", ""),
        ("block", "a", {"title": "bash a", "state": "running"}),
        ("block", "b", {"title": "bash b", "state": "running"}),
    )
    for n in range(1, 21):
        drawn.draw(
            ("block", "a", {"append": [f"left {n}"]}),
            ("block", "b", {"append": [f"right {n}"]}),
        )
    assert drawn.lines()[2:44] == [
        "▸ bash a · running", *("    " + line for line in body(20, "left")),
        "▸ bash b · running", *("    " + line for line in body(20, "right")),
    ]  # fmt: skip
    assert drawn.closed("left 20") == drawn.row("left 11")
    assert drawn.closed("right 20") == drawn.row("right 11")
    assert drawn.closed("▸ bash b") == -1


def test_the_line_end_at_the_end_of_a_result_is_no_line(drawn: Drawn) -> None:
    drawn.draw(
        ("message", "agent", ""),
        ("block", "x", {"title": "read a", "state": "done", "body": ["one", "two", ""]}),
        ("text", "after"),
    )
    assert drawn.lines()[2:] == [
        "▸ read a · done", "    one", "    two", "", "after", "", "## You", "", "",
    ]  # fmt: skip


def test_a_new_body_takes_the_place_of_the_old(drawn: Drawn) -> None:
    begin(drawn, body=body(30), state="running")
    drawn.draw(("text", "after"))
    for new in (body(3), body(25, "new"), [], body(12), ["", "one", "", "two"]):
        drawn.draw(("block", "x", {"body": new}))
        drawn_lines = ["    " + line if line else "" for line in new]
        assert drawn.lines()[2:] == [
            "▸ bash make · running", *drawn_lines, "", "after", "", "## You", "", "",
        ]  # fmt: skip


def test_long_output_is_bounded(drawn: Drawn) -> None:
    begin(drawn, body=body(5000), state="done")
    assert "    [3000 more lines: see :AgentLog]" in drawn.lines()
    drawn.draw(("block", "x", {"append": body(10, "late")}))
    assert "    [3010 more lines: see :AgentLog]" in drawn.lines()
    assert len(drawn.lines()) < 2020


def test_live_output_shows_its_newest_lines(drawn: Drawn) -> None:
    begin(drawn, state="running")
    for first in range(1, 6001, 200):
        text = "".join(f"out {n}\n" for n in range(first, first + 200))
        drawn.draw(("block", "x", {"stream": text}))
    lines = drawn.lines()
    assert lines[3:13] == [f"    out {n}" for n in range(1, 11)]
    assert "    out 6000" in lines
    assert len(lines) < 2600
    (note,) = [line for line in lines if "earlier lines: see :AgentLog" in line]
    assert lines.index(note) == 13
    left = int(note.split()[0].strip("["))
    assert lines[14] == f"    out {11 + left}"
    assert drawn.closed("out 10") == -1
    assert drawn.closed("out 6000") == 14
    drawn.draw(("block", "x", {"body": body(3), "state": "done"}))
    assert "earlier lines" not in "\n".join(drawn.lines())


def test_a_flood_of_live_output_at_once_shows_its_newest_lines(drawn: Drawn) -> None:
    begin(drawn, state="running")
    drawn.draw(("block", "x", {"append": body(9000)}))
    drawn.draw(("block", "x", {"append": body(9000, "late")}))
    assert "    late 9000" in drawn.lines()
    assert len(drawn.lines()) < 2600
    drawn.draw(("block", "x", {"append": ["killed"], "state": "failed"}))
    assert "    killed" in drawn.lines()


def test_a_block_the_user_deleted_stays_deleted(drawn: Drawn) -> None:
    begin(drawn, body=body(3), state="running")
    row = drawn.row("▸ bash")
    drawn.editor.command(f"{row},{row + 3}delete")
    drawn.draw(("block", "x", {"state": "done", "append": ["late"]}), ("text", "goes on"))
    assert "bash" not in "\n".join(drawn.lines())
    assert "goes on" in drawn.lines()


def test_a_block_the_user_edited_keeps_its_state_current(drawn: Drawn) -> None:
    begin(drawn, body=body(30), state="running")
    drawn.editor.command(f"{drawn.row('out 4')}delete")
    drawn.draw(("block", "x", {"state": "done", "append": ["late"]}))
    assert "▸ bash make · done" in drawn.lines()
    assert "    late" in drawn.lines()
    assert drawn.closed("late") > 0


def test_reasoning_is_folded_and_dimmed(drawn: Drawn) -> None:
    drawn.draw(("message", "agent", ""), ("reasoning", "First I\nthi"))
    drawn.draw(("reasoning", "nk.\nThen"), ("reasoning", " I do.\n"), ("text", "Done."))
    assert drawn.lines()[2:] == [
        "▸ reasoning", "    First I", "    think.", "    Then I do.", "", "", "Done.", "",
        "## You", "", "",
    ]  # fmt: skip
    assert drawn.closed("think.") == drawn.row("▸ reasoning")
    assert "AgentChatReasoning" in drawn.groups("First I")
    drawn.draw(("reasoning", "again"))
    assert drawn.lines().count("▸ reasoning") == 2
    drawn.draw(("thought", "thought for 12 s"), ("text", "Done again."))
    assert drawn.lines().count("▸ reasoning") == 1
    assert "▸ thought for 12 s" in drawn.lines()
    assert drawn.closed("again") == drawn.row("▸ thought for 12 s")


def test_folds_come_back_with_the_window(drawn: Drawn) -> None:
    drawn.editor.command("close")
    begin(drawn, body=body(30), state="done")
    drawn.editor.command("AgentChat")
    assert drawn.closed("out 30") == drawn.row("out 11")
    drawn.editor.command("close")
    drawn.draw(("message", "user", "more"), ("block", "y", {"title": "t", "body": body(30, "y")}))
    drawn.editor.command("AgentChat")
    assert drawn.closed("out 30") == drawn.row("out 11")
    assert drawn.closed("y 30") == drawn.row("y 11")


def test_a_line_that_live_output_overwrites_shows_its_newest_state(drawn: Drawn) -> None:
    begin(drawn, state="running")
    for piece in ("get\n10 %", "\r50 %", "\r100 %\r\ndone"):
        drawn.draw(("block", "x", {"stream": piece}))
    assert drawn.lines()[3:6] == ["    get", "    100 %", "    done"]


DIFF = ["M a.py  +1 -1", "@@ -1,2 +1,2 @@", "-old", "+new", " kept"]


def test_a_change_has_its_counts_in_the_header_and_its_diff_folded(drawn: Drawn) -> None:
    begin(drawn, tool="edit", title="edit a.py", state="running")
    ended = {"state": "done", "body": ["Edited a.py."], "diff": DIFF, "counts": "+1 -1"}
    drawn.draw(("block", "x", ended))
    assert "▸ edit a.py · done · +1 -1" in drawn.lines()
    row = drawn.row("▸ edit a.py")
    assert drawn.lines()[row:][:6] == ["    Edited a.py.", *("    " + line for line in DIFF)]
    assert drawn.closed("+new") == drawn.row("▸ edit a.py")
    drawn.editor.wait_screen("✓ edit a.py · done · +1 -1 (6 lines)")
    drawn.editor.command(str(drawn.row("▸ edit")))
    drawn.editor.keys("za")
    assert drawn.closed("+new") == -1
    drawn.editor.wait(lambda: "AgentChatAdd" in drawn.groups("+new"), why="colours")
    assert "AgentChatDelete" in drawn.groups("-old")
    assert "AgentChatHunk" in drawn.groups("@@ -1")
    assert "AgentChatFile" in drawn.groups("M a.py")


def test_a_command_shows_its_output_and_the_diff_below_it_folded(drawn: Drawn) -> None:
    begin(drawn, tool="bash", state="running", append="made\n")
    ended = {"state": "done", "body": ["made"], "diff": DIFF, "counts": "+1 -1"}
    drawn.draw(("block", "x", ended))
    assert drawn.closed("made") == -1
    assert drawn.closed("M a.py") == -1
    assert drawn.closed(" kept") == drawn.row("@@ -1")


def test_the_output_of_a_command_shows_its_last_lines(drawn: Drawn) -> None:
    begin(drawn, tool="bash", state="running")
    for first in range(1, 61, 4):
        piece = "".join(f"out {n}\n" for n in range(first, first + 4))
        drawn.draw(("block", "x", {"stream": piece}))
        last = first + 3
        assert drawn.closed(f"    out {last}") == -1
        if last > 12:
            assert drawn.closed("    out 1") == drawn.row("    out 1")
            assert drawn.closed(f"    out {last - 10}") == drawn.row("    out 1")
    drawn.draw(("block", "x", {"state": "done", "body": body(60)}))
    assert drawn.closed("    out 50") == drawn.row("    out 1")
    assert drawn.closed("    out 51") == -1
    drawn.editor.command(str(drawn.row("▸ bash")))
    drawn.editor.wait_screen("    … 50 earlier lines")
    drawn.editor.command(str(drawn.row("    out 1")))
    drawn.editor.keys("zo")
    assert drawn.closed("    out 1") == -1


def test_output_that_the_user_opened_stays_open_as_it_grows(drawn: Drawn) -> None:
    begin(drawn, tool="bash", state="running")
    drawn.draw(("block", "x", {"stream": "".join(f"out {n}\n" for n in range(1, 31))}))
    drawn.editor.command(str(drawn.row("    out 2")))
    drawn.editor.keys("zo")
    drawn.draw(("block", "x", {"stream": "out 31\nout 32\n"}))
    assert drawn.closed("    out 2") == -1
    drawn.editor.command(str(drawn.row("▸ bash")))
    drawn.editor.keys("zc")
    drawn.draw(("block", "x", {"stream": "out 33\nout 34\n"}))
    assert drawn.closed("    out 34") == drawn.row("▸ bash")


def test_three_reads_of_one_file_are_one_file(drawn: Drawn) -> None:
    done = {"state": "done", "body": body(3), "tool": "read"}
    drawn.draw(
        ("message", "agent", ""),
        *(("block", n, {"title": f"read src/a.py:{n}-9", **done}) for n in ("1", "20", "40")),
        ("text", "Seen."),
    )
    drawn.editor.wait_screen("✓ read a.py 3×")


def test_the_list_of_a_todo_call_is_folded(drawn: Drawn) -> None:
    begin(drawn, tool="todo", title="todo", state="done", body=["[ ] one"])
    assert drawn.closed("[ ] one") == drawn.row("▸ todo")


def test_a_resumed_call_shows_how_long_it_took(drawn: Drawn) -> None:
    begin(drawn, tool="bash", state="done", body=["one"], seconds=2.44)
    assert "▸ bash make · done · 2.4 s" in drawn.lines()


def test_what_was_read_has_the_numbers_of_its_lines_beside_it(drawn: Drawn) -> None:
    text = ["def a():", "", "    pass", "", "[2 more lines. Use offset=12 to go on]"]
    begin(drawn, tool="read", title="read src/a2.py:9-11", state="done", body=text)
    drawn.editor.command(str(drawn.row("▸ read")))
    drawn.editor.keys("zo")
    for line in (" 9  def a():", "11      pass", "    [2 more lines."):
        drawn.editor.wait_screen(line)
    assert "    def a():" in drawn.lines()
