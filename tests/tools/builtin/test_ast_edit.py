"""``ast_edit``: structural rewrites, staged as one preview and applied all or none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from agentchat.core.diff.changeset import ChangeSet
from agentchat.core.diff.hunks import keep_hunks
from agentchat.core.errors import StalePreview, ToolError
from agentchat.core.tools.tool import DryRunResult, StagedPreview, ToolOutput
from agentchat.tools.builtin import ast_edit
from agentchat.workspace.local import LocalWorkspace
from tests.tools.conftest import Bench

SWAP = {"pat": "f($A, $B)", "out": "f($B, $A)"}


@dataclass
class Call:
    """One call: what it said, and what it staged."""

    result: ToolOutput
    staged: list[StagedPreview]

    async def apply(self) -> str:
        (pending,) = self.staged
        result = await pending.apply("ok", None)
        assert result is not None
        return result.text


async def call(bench: Bench, *ops: Mapping[str, str], **where: object) -> Call:
    staged: list[StagedPreview] = []
    arguments = ast_edit.TOOL.arguments.parse({"ops": list(ops), **where})
    context = replace(bench.context(), stage=staged.append)
    return Call(await ast_edit.run(arguments, context), staged)


def read(bench: Bench, name: str) -> str:
    return (bench.root / name).read_bytes().decode()


async def test_one_match_in_one_file_is_previewed_staged_and_applied(bench: Bench) -> None:
    bench.write("src/a.py", "x = 1\nprint(f(1, 2))\n")
    made = await call(bench, SWAP)
    assert made.result.text == (
        "# src/a.py (1 replacement)\n"
        "-2:7 f(1, 2)\n"
        "+2:7 f(2, 1)"
    )  # fmt: skip
    (pending,) = made.staged
    assert (pending.label, pending.source) == ("AST Edit: 1 replacement in 1 file", "ast_edit")
    assert read(bench, "src/a.py") == "x = 1\nprint(f(1, 2))\n"
    assert await made.apply() == "Applied 1 replacement in 1 file."
    assert read(bench, "src/a.py") == "x = 1\nprint(f(2, 1))\n"


async def test_a_path_with_wildcards_and_a_glob_choose_the_files(bench: Bench) -> None:
    chosen = ["pkgs/pkg-a/src/root.ts", "pkgs/pkg-b/src/nested/child.ts"]
    others = ["pkgs/pkg-a/src/root.js", "pkgs/pkg-b/test/x.ts", "pkgs/other/src/x.ts", "x.ts"]
    for name in (*chosen, *others):
        bench.write(name, "old(1)\n")
    op = {"pat": "old($A)", "out": "new($A)"}
    made = await call(bench, op, path="pkgs/pkg-*/src", glob="**/*.ts")
    assert made.staged[0].label == "AST Edit: 2 replacements in 2 files"
    assert await made.apply() == "Applied 2 replacements in 2 files."
    assert [read(bench, name) for name in chosen] == ["new(1)\n"] * 2
    assert [read(bench, name) for name in others] == ["old(1)\n"] * 4


@pytest.mark.parametrize(
    ("path", "glob", "expected"),
    [
        (None, None, "a.py lib/b.py lib/deep/c.py"),
        (".", "*.py", "a.py lib/b.py lib/deep/c.py"),
        (".", "lib/*.py", "lib/b.py"),
        ("lib", None, "lib/b.py lib/deep/c.py"),
        ("lib", "deep/*.py", "lib/deep/c.py"),
        ("lib/b.py", None, "lib/b.py"),
        ("@lib/b.py", None, "lib/b.py"),
        ("lib/*.py", None, "lib/b.py"),
        ("*/deep", None, "lib/deep/c.py"),
        ("./l*", None, "lib/b.py lib/deep/c.py"),
        ("li?/**/*.py", None, "lib/b.py lib/deep/c.py"),
    ],
)
async def test_path_and_glob_say_which_files(
    bench: Bench, path: str | None, glob: str | None, expected: str
) -> None:
    for name in ("a.py", "lib/b.py", "lib/deep/c.py"):
        bench.write(name, "f(1, 2)\n")
    made = await call(bench, SWAP, path=path, glob=glob)
    assert made.result.details is not None
    assert made.result.details["files"] == [str(bench.root / name) for name in expected.split()]


async def test_a_folder_whose_name_looks_like_a_pattern_is_that_folder(bench: Bench) -> None:
    bench.write("app/[id]/page.ts", "f(1, 2)\n")
    bench.write("app/i/page.ts", "f(1, 2)\n")
    made = await call(bench, SWAP, path="app/[id]")
    assert made.result.text.startswith("# app/[id]/page.ts (1 replacement)")
    assert len(made.staged[0].preview.change.files) == 1  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("ops", "message"),
    [
        ([], "ops needs at least one entry with pat and out."),
        ([{"pat": "", "out": "x"}], "ops[0].pat must be a non-empty pattern"),
        ([SWAP, {"pat": " \n", "out": "x"}], "ops[1].pat must be a non-empty pattern"),
        ([SWAP, {"pat": "f($A, $B)", "out": "x"}], "Duplicate rewrite pattern: f($A, $B)"),
    ],
)  # fmt: skip
async def test_ops_that_can_mean_nothing_are_refused(
    bench: Bench, ops: list[Mapping[str, str]], message: str
) -> None:
    bench.write("a.py", "f(1, 2)\n")
    with pytest.raises(ToolError) as refusal:
        await call(bench, *ops)
    assert str(refusal.value) == message


@pytest.mark.parametrize(
    ("pat", "out", "unknown"),
    [("f($A)", "g($B)", "$B"), ("f($$$A)", "g($A)", "$A"), ("f($_)", "g($_)", "$_")],
)
async def test_what_a_pattern_does_not_capture_is_not_silently_nothing(
    bench: Bench, pat: str, out: str, unknown: str
) -> None:
    bench.write("a.py", "f(1, 2)\n")
    with pytest.raises(ToolError) as refusal:
        await call(bench, {"pat": pat, "out": out})
    expected = f"ops[0].out uses {unknown}, which ops[0].pat does not capture."
    assert str(refusal.value) == expected


@pytest.mark.parametrize(
    ("language", "before", "pat", "out", "after"),
    [
        ("py", "f(a + 1, g(b))\n", "f($A, $B)", "f($B, $A)", "f(g(b), a + 1)\n"),
        ("js", "a && a(); b && c()\n", "$A && $A()", "$A?.()", "a?.(); b && c()\n"),
        ("py", "log(1, 2)\nlog()\n", "log($$$ARGS)", "debug($$$ARGS)", "debug(1, 2)\ndebug()\n"),
        ("py", "old = 1\nx.old(old)\n# old\n", "old", "new", "new = 1\nx.new(new)\n# old\n"),
        ("py", "f(1)\nkeep()\n", "f(1)", "", "\nkeep()\n"),
        ("rs", "fn a() { b.unwrap(); }\n", "$A.unwrap()", "$A?", "fn a() { b?; }\n"),
        ("go", "package a\nvar x = g(1)\n", "g($A)", "h($A)", "package a\nvar x = h(1)\n"),
        ("lua", "local x = f(1, 2)\n", "f($A, $B)", "g($B)", "local x = g(2)\n"),
        ("sh", "echo a\n", "echo $A", "printf $A", "printf a\n"),
    ],
)  # fmt: skip
async def test_metavariables_stand_for_whole_nodes(
    bench: Bench, language: str, before: str, pat: str, out: str, after: str
) -> None:
    bench.write(f"a.{language}", before)
    made = await call(bench, {"pat": pat, "out": out})
    await made.apply()
    assert read(bench, f"a.{language}") == after


async def test_a_rewrite_over_several_lines_keeps_its_depth(bench: Bench) -> None:
    bench.write("a.py", "def g():\n    f(1, 2)\n")
    made = await call(bench, {"pat": "f($A, $B)", "out": "if $A:\n    h($B)"}, lang="python")
    assert made.result.text.splitlines()[1:] == ["-2:5 f(1, 2)", "+2:5 if 1:", "+3:1         h(2)"]
    await made.apply()
    assert read(bench, "a.py") == "def g():\n    if 1:\n        h(2)\n"


@pytest.mark.parametrize(
    "broken",
    [
        "def broken(a:\n  return f(1, 2) )\n x = = 3\n",
        "def f(:\n    return f(1, 2)\n",
        "f(1, 2)\nx = (3,\n",
        "# no match\ny = = 1\n",
        "# no match\ndef f(:\n    pass\n",
    ],
)
async def test_a_file_that_does_not_parse_is_named_and_left_alone(
    bench: Bench, broken: str
) -> None:
    bench.write("good.py", "f(1, 2)\n")
    bench.write("broken.py", broken)
    made = await call(bench, SWAP)
    assert made.result.text.splitlines() == [
        "# good.py (1 replacement)",
        "-1:1 f(1, 2)",
        "+1:1 f(2, 1)",
        "",
        "Parse issues:",
        "- broken.py: syntax error; the file is skipped",
    ]
    assert await made.apply() == "Applied 1 replacement in 1 file."
    assert read(bench, "broken.py") == broken


async def test_only_broken_files_stage_nothing(bench: Bench) -> None:
    bench.write("broken.py", "f(1, 2) = = 3\n")
    made = await call(bench, SWAP)
    assert made.result.text.startswith("No replacements made\n\nParse issues:\n- broken.py: ")
    assert made.staged == []


async def test_a_file_that_is_not_utf_8_is_left_alone(bench: Bench) -> None:
    bench.write("latin.py", b"f(1, 2)  # \xe9\n")
    made = await call(bench, SWAP)
    assert made.result.text.endswith("- latin.py: is not UTF-8; the file is skipped")


async def test_a_hand_edit_after_the_preview_makes_it_stale_for_all_files(bench: Bench) -> None:
    for name in ("a.py", "b.py"):
        bench.write(name, "f(1, 2)\n")
    made = await call(bench, SWAP)
    bench.write("b.py", "f(1, 2)  # mine\n")
    with pytest.raises(StalePreview) as stale:
        await made.apply()
    assert str(stale.value) == "b.py changed since the preview. Nothing was changed."
    assert (read(bench, "a.py"), read(bench, "b.py")) == ("f(1, 2)\n", "f(1, 2)  # mine\n")


@pytest.mark.parametrize(
    ("text", "op"),
    [
        ("f(1, 1)\n", SWAP),
        ("f(1, 2)\n", {"pat": "f($A, $B)", "out": "f($A, $B)"}),
        ("g(1)\n", SWAP),
        ("", SWAP),
    ],
)
async def test_no_change_stages_nothing(bench: Bench, text: str, op: Mapping[str, str]) -> None:
    bench.write("a.py", text)
    made = await call(bench, op)
    assert made.result.text == "No replacements made"
    assert made.staged == []


async def test_columns_are_characters_and_replaced_bytes_are_right(bench: Bench) -> None:
    bench.write("a.py", '# 1\nx = "é𝄞"; f(1, "日")\n')
    made = await call(bench, SWAP)
    assert made.result.text.splitlines()[1:] == ['-2:11 f(1, "日")', '+2:11 f("日", 1)']
    await made.apply()
    assert read(bench, "a.py") == '# 1\nx = "é𝄞"; f("日", 1)\n'


async def test_bom_and_crlf_stay(bench: Bench) -> None:
    bench.write("a.py", b"\xef\xbb\xbff(1, 2)\r\nx = 1\r\n")
    made = await call(bench, SWAP)
    assert "-1:1 f(1, 2)" in made.result.text
    await made.apply()
    assert (bench.root / "a.py").read_bytes() == b"\xef\xbb\xbff(2, 1)\r\nx = 1\r\n"


@pytest.mark.parametrize("name", ["klingon", "toml", " "])
async def test_an_unknown_language_is_named(bench: Bench, name: str) -> None:
    bench.write("a.py", "f(1, 2)\n")
    with pytest.raises(ToolError, match=f'Unknown language "{name}". Known languages: bash, c, '):
        await call(bench, SWAP, lang=name)


@pytest.mark.parametrize("name", ["python", "Python", "py", ".py"])
async def test_a_language_goes_by_several_names(bench: Bench, name: str) -> None:
    bench.write("a.py", "f(1, 2)\n")
    bench.write("a.js", "f(1, 2)\n")
    made = await call(bench, SWAP, lang=name)
    assert made.staged[0].label == "AST Edit: 1 replacement in 1 file"


async def test_a_named_file_without_extension_is_read_in_the_given_language(bench: Bench) -> None:
    bench.write("script", "f(1, 2)\n")
    made = await call(bench, SWAP, path="script", lang="python")
    await made.apply()
    assert read(bench, "script") == "f(2, 1)\n"
    with pytest.raises(ToolError, match=r"The language of script is not known\. Give lang\."):
        await call(bench, SWAP, path="script")


async def test_data_files_are_searched_only_where_they_are_named(bench: Bench) -> None:
    bench.write("a.json", '{"a": true}\n')
    op = {"pat": "true", "out": "false"}
    assert (await call(bench, op)).staged == []
    assert (await call(bench, op, lang="json")).staged
    assert (await call(bench, op, glob="*.json")).staged


@pytest.mark.parametrize("pat", ["f($A,", ") (", "a b c"])
async def test_a_pattern_that_does_not_parse_is_an_error(bench: Bench, pat: str) -> None:
    bench.write("a.py", "f(1, 2)\n")
    with pytest.raises(ToolError, match=r"ops\[0\]\.pat does not parse: "):
        await call(bench, {"pat": pat, "out": "x"}, lang="python")


async def test_a_missing_path_is_named(bench: Bench) -> None:
    for path in ("nowhere", "nowhere/*.py"):
        with pytest.raises(ToolError, match="Path not found: nowhere"):
            await call(bench, SWAP, path=path)


async def test_all_ops_match_the_original_text(bench: Bench) -> None:
    bench.write("a.py", "a()\nb()\n")
    made = await call(bench, {"pat": "a()", "out": "b()"}, {"pat": "b()", "out": "c()"})
    await made.apply()
    assert read(bench, "a.py") == "b()\nc()\n"


async def test_a_match_inside_a_match_is_an_error(bench: Bench) -> None:
    bench.write("a.py", "x = 1\nf(f(1, 2), 3)\n")
    with pytest.raises(ToolError) as refusal:
        await call(bench, SWAP)
    assert str(refusal.value) == (
        "ops[0] matches inside another match of itself at a.py:2. "
        "Rewrite the inner one first, with a pattern that matches only it."
    )


async def test_two_ops_on_the_same_code_are_an_error(bench: Bench) -> None:
    bench.write("a.py", "f(1, 2)\n")
    with pytest.raises(ToolError, match=r"ops\[0\] and ops\[1\] overlap at a\.py:1\."):
        await call(bench, SWAP, {"pat": "f($$$A)", "out": "g($$$A)"})


async def test_ignored_secret_and_git_files_are_not_searched(bench: Bench) -> None:
    bench.write(".gitignore", "build/\n")
    for name in ("build/a.py", ".git/hooks/a.py", "node/.env.py", ".hidden/a.py", "a.py"):
        bench.write(name, "f(1, 2)\n")
    made = await call(bench, SWAP)
    assert made.result.details is not None
    found = [Path(name).relative_to(bench.root) for name in made.result.details["files"]]
    assert Path("a.py") in found
    assert Path(".hidden/a.py") in found
    assert not {"build", ".git"} & {part for name in found for part in name.parts}


async def test_a_limit_keeps_the_first_ones_and_says_so(bench: Bench) -> None:
    bench.write("a.py", "f(1, 2)\nf(3, 4)\n")
    bench.write("b.py", "f(5, 6)\n")
    made = await call(bench, SWAP, limit=1)
    assert made.staged[0].label == "AST Edit: 1 replacement in 1 file"
    assert made.result.text.endswith(
        "[1 replacements limit reached. Use limit=2 for more, or refine pattern]"
    )
    await made.apply()
    assert read(bench, "a.py") == "f(2, 1)\nf(3, 4)\n"


class WithUnsaved(LocalWorkspace):
    """The disk, and buffers with unsaved text before it."""

    def __init__(self, root: str, texts: Mapping[str, bytes]) -> None:
        super().__init__(root)
        self.texts = dict(texts)

    async def unsaved(self) -> Mapping[str, bytes]:
        return self.texts

    async def read(self, path: str, limit: int | None = None, start: int = 0) -> bytes:
        return self.texts.get(path) or await super().read(path, limit, start)


async def test_unsaved_text_is_what_is_searched(bench: Bench) -> None:
    saved, new = str(bench.write("a.py", "g(0)\n")), str(bench.root / "new.py")
    bench.write("b.py", "f(5, 6)\n")
    broken = str(bench.write("c.py", "f(7, 8)\n"))
    texts = {saved: b"x\nf(1, 2)\n", new: b"f(3, 4)\n", broken: b"f(7, 8\n"}
    bench.workspace = WithUnsaved(str(bench.root), texts)
    made = await call(bench, SWAP)
    assert made.result.text.splitlines() == [
        "# a.py (1 replacement)",
        "-2:1 f(1, 2)",
        "+2:1 f(2, 1)",
        "# b.py (1 replacement)",
        "-1:1 f(5, 6)",
        "+1:1 f(6, 5)",
        "# new.py (1 replacement)",
        "-1:1 f(3, 4)",
        "+1:1 f(4, 3)",
        "",
        "Parse issues:",
        "- c.py: syntax error; the file is skipped",
    ]
    change = made.staged[0].preview.change
    assert change is not None
    assert [file.before for file in change.files] == [b"x\nf(1, 2)\n", b"f(5, 6)\n", b"f(3, 4)\n"]


async def test_a_configuration_of_the_project_is_not_read(bench: Bench) -> None:
    bench.write("sgconfig.yml", "ruleDirs: [\n")
    bench.write("a.py", "f(1, 2)\n")
    assert (await call(bench, SWAP)).staged


async def test_names_that_look_like_options_or_have_blanks_are_names(bench: Bench) -> None:
    for name in ("-rf.py", "a b.py", "ünï.py", "--help/x.py"):
        bench.write(name, "f(1, 2)\n")
    made = await call(bench, SWAP)
    assert made.staged[0].label == "AST Edit: 4 replacements in 4 files"


async def test_a_pattern_that_looks_like_an_option_is_a_pattern(bench: Bench) -> None:
    bench.write("a.py", "x = -y\n")
    made = await call(bench, {"pat": "-y", "out": "--version"})
    await made.apply()
    assert read(bench, "a.py") == "x = --version\n"


async def test_many_files_are_previewed_in_one_go(bench: Bench) -> None:
    for number in range(500):
        bench.write(f"src/{number}.py", "f(1, 2)\n" if number % 5 == 0 else "g()\n")
    made = await call(bench, SWAP)
    assert made.staged[0].label == "AST Edit: 100 replacements in 100 files"


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({}, "ast_edit ... → "),
        ({"ops": [SWAP]}, "ast_edit f($A, $B) → f($B, $A)"),
        ({"ops": [SWAP, SWAP], "path": "src"}, "ast_edit f($A, $B) → f($B, $A) and 1 more in src"),
        ({"ops": "no list"}, "ast_edit ... → "),
    ],
)
def test_a_call_is_rendered_in_one_line(given: Mapping[str, object], line: str) -> None:
    assert ast_edit.TOOL.title(given) == line


async def test_the_details_count_what_was_made_of_a_rewrite(bench: Bench) -> None:
    gap = "x = 1\n" * 20
    bench.write("a.py", f"f(1, 2)\n{gap}f(3, 4); f(5, 6)\n")
    bench.write("b.py", "f(1, 2)\n")
    (pending,) = (await call(bench, SWAP)).staged
    change = pending.preview.change
    assert change is not None
    assert pending.make is not None
    some = keep_hunks(change.files[0], {1})
    result = await pending.make(DryRunResult(ChangeSet((some,)), headline="some"))
    assert result.details is not None
    assert result.details["replacements"] == 2
    assert result.details["files"] == [str(bench.root / "a.py")]
