"""``ls``, ``find`` and ``grep``: with ripgrep, and without."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from agentchat.core import globs
from agentchat.core.errors import ToolError
from agentchat.core.tools.tool import Tool
from agentchat.core.workspace import Command, ProcessResult
from agentchat.tools.builtin import find, grep, ls, read
from agentchat.workspace.local import LocalWorkspace
from tests.tools.conftest import Bench


class NoPrograms(LocalWorkspace):
    """A machine without ripgrep."""

    async def run(
        self, command: Command, on_output: Callable[[bytes], None] | None = None
    ) -> ProcessResult:
        raise ToolError("Cannot run anything here.")


@pytest.fixture(params=["ripgrep", "plain"])
def tree(bench: Bench, request: pytest.FixtureRequest) -> Bench:
    """The same directory, searched both ways."""
    if request.param == "plain":
        bench.workspace = NoPrograms(str(bench.root))
    return bench


async def text(bench: Bench, tool: Tool, /, **given: Any) -> str:
    return (await bench.call(tool, **given)).text


async def test_ls_sorts_without_regard_to_case_and_marks_directories(bench: Bench) -> None:
    for name in (".h", "a", "B", "C/x"):
        bench.write(name, "")
    os.symlink("nowhere", bench.root / "dangling")
    assert await text(bench, ls.TOOL) == ".h\na\nB\nC/\ndangling"
    assert await text(bench, ls.TOOL, limit=2) == (
        ".h\na\n\n[2 entries limit reached. Use limit=4 for more, or refine pattern]"
    )
    assert await text(bench, ls.TOOL, path="C/") == "x"


async def test_ls_of_an_empty_directory(bench: Bench) -> None:
    assert await text(bench, ls.TOOL, path="") == "(empty directory)"


async def test_ls_leaves_ignored_entries_out_unless_their_directory_is_named(
    bench: Bench,
) -> None:
    bench.write(".gitignore", "build/\n*.log\n!keep.log\n/top\n")
    for name in ("build/out", "a.log", "keep.log", "top", "sub/top", "sub/b.log", ".git/HEAD"):
        bench.write(name, "")
    bench.write("sub/.gitignore", "!b.log\nc\n")
    bench.write("sub/c", "")
    assert await text(bench, ls.TOOL) == ".gitignore\nkeep.log\nsub/"
    assert await text(bench, ls.TOOL, path="sub") == ".gitignore\nb.log\ntop"
    assert await text(bench, ls.TOOL, path="build") == "out"


@pytest.mark.parametrize("tool", [ls.TOOL, find.TOOL, grep.TOOL], ids=lambda tool: tool.name)
async def test_a_missing_path_is_named(tree: Bench, tool: Tool) -> None:
    given = {} if tool is ls.TOOL else {"pattern": "x"}
    with pytest.raises(ToolError, match="Path not found: no/such"):
        await tree.call(tool, path="no/such", **given)


@pytest.mark.parametrize("tool", [ls.TOOL, find.TOOL], ids=lambda tool: tool.name)
async def test_a_file_is_no_directory(bench: Bench, tool: Tool) -> None:
    bench.write("f", "")
    given = {} if tool is ls.TOOL else {"pattern": "x"}
    with pytest.raises(ToolError, match="not a directory: f"):
        await bench.call(tool, path="f", **given)


@pytest.mark.parametrize(
    ("pattern", "given", "found"),
    [
        ("*.py", {}, [".h/d.py", "a.py", "src/b.py", "src/deep/c.py"]),
        ("src/*.py", {}, ["src/b.py"]),
        ("src/**/*.py", {}, ["src/b.py", "src/deep/c.py"]),
        ("**/c.py", {}, ["src/deep/c.py"]),
        ("*.py", {"path": "src"}, ["src/b.py", "src/deep/c.py"]),
        ("deep/*", {"path": "src"}, ["src/deep/c.py"]),
        ("src/deep/*", {"path": "src"}, ["src/deep/c.py"]),
        ("*.{py,md}", {"path": "src"}, ["src/b.py", "src/deep/c.py", "src/n.md"]),
        ("[ab].py", {}, ["a.py", "src/b.py"]),
        ("*.log", {}, None),
        ("HEAD", {}, None),
        ("-x", {}, ["-x"]),
    ],
)
async def test_find_matches_names_or_paths(
    tree: Bench, pattern: str, given: Mapping[str, Any], found: list[str] | None
) -> None:
    for name in ("a.py", "src/b.py", "src/deep/c.py", ".h/d.py", "src/n.md", "x.log", "-x"):
        tree.write(name, "")
    tree.write(".gitignore", "*.log\n")
    tree.write(".git/HEAD", "")
    expected = "\n".join(found) if found else "No files found matching pattern"
    assert await text(tree, find.TOOL, pattern=pattern, **given) == expected


async def test_find_says_that_there_is_more(tree: Bench) -> None:
    for name in "abc":
        tree.write(name, "")
    assert await text(tree, find.TOOL, pattern="*", limit=2) == (
        "a\nb\n\n[2 results limit reached. Use limit=4 for more, or refine pattern]"
    )


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"pattern": "needle"}, "a.txt:2: a needle\nsub/b.py:1: needle = 1"),
        ({"pattern": "NEEDLE"}, "No matches found"),
        ({"pattern": "NEEDLE", "ignore_case": True, "glob": "*.py"}, "sub/b.py:1: needle = 1"),
        ({"pattern": "needle", "path": "sub"}, "sub/b.py:1: needle = 1"),
        ({"pattern": "needle", "path": "a.txt"}, "a.txt:2: a needle"),
        ({"pattern": "needle", "glob": "sub/*.py"}, "sub/b.py:1: needle = 1"),
        ({"pattern": "needle", "glob": "sub/**", "path": "sub"}, "sub/b.py:1: needle = 1"),
        ({"pattern": "needle", "glob": "!*.py"}, "a.txt:2: a needle"),
        ({"pattern": "^needle"}, "sub/b.py:1: needle = 1"),
        ({"pattern": "needle$", "context": 1}, "a.txt-1- one\na.txt:2: a needle\na.txt-3- three"),
        ({"pattern": "f(", "literal": True}, "sub/b.py:2: f(x)"),
        ({"pattern": "-needle"}, "No matches found"),
        ({"pattern": "--files", "literal": True}, "No matches found"),
        ({"pattern": "e", "limit": 1, "path": "a.txt"},
         "a.txt:1: one\n\n[1 matches limit reached. Use limit=2 for more, or refine pattern]"),
        ({"pattern": "e", "limit": 3, "path": "a.txt"},
         "a.txt:1: one\na.txt:2: a needle\na.txt:3: three"),
    ],
)  # fmt: skip
async def test_grep_returns_matching_lines(
    tree: Bench, given: Mapping[str, Any], expected: str
) -> None:
    tree.write("a.txt", "one\r\na needle\r\nthree\r\n")
    tree.write("sub/b.py", "needle = 1\nf(x)\n")
    tree.write("bin", b"needle\0")
    tree.write("skipped.log", "needle\n")
    tree.write(".gitignore", "*.log\n")
    tree.write(".git/needle", "needle\n")
    assert await text(tree, grep.TOOL, **given) == expected


async def test_grep_says_what_is_wrong_with_a_pattern(tree: Bench) -> None:
    tree.write("a", "(\n")
    with pytest.raises(ToolError, match=r"(?s)Invalid pattern.*(unclosed|unterminated)"):
        await tree.call(grep.TOOL, pattern="(")


async def test_grep_cuts_long_lines_around_the_match_and_says_so(tree: Bench) -> None:
    tree.write("a", "x" * 50_000 + "needle" + "x" * 50_000 + "\n" + "n" * 10 + "\n")
    found = await text(tree, grep.TOOL, pattern="n+", limit=1)
    line, gap, *notices = found.split("\n")
    assert line.startswith("a:1: …x")
    assert line.endswith("x… [cut]")
    assert "needle" in line
    assert len(line) < 600
    assert gap == ""
    assert notices == [
        "[1 matches limit reached. Use limit=2 for more, or refine pattern]",
        "[Some lines were cut to 500 characters; read shows them whole]",
    ]


async def test_grep_skips_secrets_over_a_tree_and_says_so(tree: Bench) -> None:
    tree.write(".env.local", "needle\n")
    tree.write("keys/server.PEM", "needle\n")
    tree.write("a", "needle\n")
    found = await text(tree, grep.TOOL, pattern="needle")
    assert found.splitlines() == [
        "a:1: needle",
        "",
        "[Skipped 2 secrets files: .env.local, keys/server.PEM. Name one as path to search it; "
        "that asks the user]",
    ]
    assert await text(tree, grep.TOOL, pattern="needle", path=".env.local") == (
        ".env.local:1: needle"
    )


async def test_grep_and_find_do_not_follow_links_out_of_the_tree(tree: Bench) -> None:
    (tree.root.parent / "outside").mkdir()
    (tree.root.parent / "outside" / "f").write_text("needle\n")
    os.symlink("../outside", tree.root / "link")
    os.symlink("../outside/f", tree.root / "file")
    assert await text(tree, grep.TOOL, pattern="needle") == "No matches found"


class Unsaved(LocalWorkspace):
    """A workspace with one unsaved text."""

    texts: Mapping[str, bytes] = {}

    async def unsaved(self) -> Mapping[str, bytes]:
        return self.texts


async def test_grep_sees_unsaved_text_instead_of_the_file(bench: Bench) -> None:
    bench.write("a", "old needle\n")
    bench.write("b", "needle\n")
    workspace = Unsaved(str(bench.root))
    workspace.texts = {
        str(bench.root / "a"): b"new\nneedle here\n",
        str(bench.root / ".env"): b"needle\n",
        "/elsewhere/c": b"needle\n",
    }
    bench.workspace = workspace
    assert await text(bench, grep.TOOL, pattern="needle") == "a:2: needle here\nb:1: needle"
    assert await text(bench, grep.TOOL, pattern="old") == "No matches found"
    assert await text(bench, grep.TOOL, pattern="needle", path="a") == "a:2: needle here"


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("a?c", "x/abc", True),
        ("a*c", "a/c", False),
        ("a/**", "a/b/c", True),
        ("**", "a/b", True),
        ("[!a]b", "cb", True),
        ("[!a]b", "ab", False),
        ("[", "[", True),
        ("{a,b", "{a,b", True),
        ("{a,{b,c}}", "c", True),
        ("a,b", "a,b", True),
        (r"\*", "*", True),
        ("./a.py", "a.py", True),
        ("a.py", "axpy", False),
        ("[z-a]", "[z-a]", True),
        ("é*", "été", True),
    ],
)
def test_globs(pattern: str, path: str, fits: bool) -> None:
    assert globs.matcher(pattern)(path) is fits


@pytest.mark.parametrize(
    ("tool", "given", "truncation"),
    [
        (ls.TOOL, {"limit": 2}, {"by": "entries", "lines": 2, "bytes": 5, "limit": 2, "total": 3}),
        (
            find.TOOL,
            {"pattern": "*", "limit": 2},
            {"by": "results", "lines": 2, "bytes": 5, "limit": 2, "total": 3},
        ),
        (
            grep.TOOL,
            {"pattern": "x", "limit": 2},
            {"by": "matches", "lines": 2, "bytes": 15, "limit": 2},
        ),
        (ls.TOOL, {"limit": 3}, None),
        (find.TOOL, {"pattern": "*"}, None),
        (grep.TOOL, {"pattern": "x"}, None),
        (read.TOOL, {"path": "aa"}, None),
        (
            read.TOOL,
            {"path": "long"},
            {"by": "lines", "lines": 2000, "bytes": 4000, "total_lines": 2001},
        ),
    ],
)
async def test_the_details_of_a_result_that_was_cut_say_by_what(
    bench: Bench, tool: Tool, given: dict[str, Any], truncation: dict[str, Any] | None
) -> None:
    for name in ("aa", "bb", "cc"):
        bench.write(name, "x\n")
    if given.get("path") == "long":
        bench.write("long", "x\n" * 2001)
    details = (await bench.call(tool, **given)).details or {}
    assert details.get("truncation") == (truncation and {"truncated": True, **truncation})
