"""How the content of an upper folder, here made by hand, becomes the lines of a review."""

from __future__ import annotations

from pathlib import Path

from agentchat.core.diff.changeset import FileChange
from agentchat.workspace.overlay.changes import OverlayChanges, find_renames
from agentchat.workspace.overlay.upper import LEAST_SIZE
from tests.workspace.overlay.staging import plainly


async def names(root: Path, changed: dict[str, int]) -> list[str]:
    """Return the lines for new files with these modes."""
    root.mkdir(exist_ok=True)
    upper = root.with_name("upper")
    for name, mode in changed.items():
        path = upper / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n")
        path.chmod(mode)
    staged = OverlayChanges(str(root), str(upper), _absent)
    await staged.update()
    return [file.name for file in (await staged.change_set()).files]


async def _absent(path: str) -> bytes:
    raise FileNotFoundError(2, "No such file", path)


async def test_ignored_files_that_need_consent_are_lines_of_their_own(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    plainly("git init -q .", root)
    (root / ".gitignore").write_text("*\n")
    changed = {"z.o": 0o644, "modules/p/package.json": 0o644, ".env": 0o644, "su": 0o4755}
    assert await names(root, changed) == [".env", "su", "ignored by git, 4 bytes"]


async def test_what_moved_in_the_data_of_submodules_and_worktrees_is_named(tmp_path: Path) -> None:
    inner = ("index", "refs/heads/main", "logs/HEAD", "objects/12/345")
    data = ("modules/lib", "worktrees/topic")
    changed = {f".git/{folder}/{name}": 0o644 for folder in data for name in inner}
    assert await names(tmp_path / "project", changed) == [
        ".git: modules/lib/index, modules/lib/refs/heads/main, worktrees/topic/index, "
        "worktrees/topic/refs/heads/main"
    ]


async def test_lines_are_in_the_order_of_their_paths(tmp_path: Path) -> None:
    changed = {"src/b.py": 0o644, "README.md": 0o644, "src/a.py": 0o644}
    assert await names(tmp_path / "project", changed) == ["README.md", "src/a.py", "src/b.py"]


def test_empty_files_count_for_the_quota_too(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / str(number)).touch()
    staged = OverlayChanges("/nowhere", str(tmp_path), _absent)
    assert staged.size() == 100 * LEAST_SIZE


async def test_a_moved_file_with_another_mode_is_no_mere_rename(tmp_path: Path) -> None:
    for mode, letters in ((0o644, "R"), (0o600, "AD")):
        root = tmp_path / f"{mode:o}"
        old, new = root / "b", root.with_name(f"upper{mode:o}") / "n"
        for path in (old, new):
            path.parent.mkdir()
            path.write_text("x\n")
            path.chmod(0o644)
        new.chmod(mode)
        files = [
            FileChange(str(old), b"x\n", None),
            FileChange(str(root / "n"), None, b"x\n", mode=None if mode == 0o644 else mode),
        ]
        assert "".join(sorted(file.letter for file in find_renames(files))) == letters
