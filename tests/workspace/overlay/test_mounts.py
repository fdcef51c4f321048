"""What commands see in an overlay follows from where the workspace lies."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentchat.workspace.overlay.mounts import list_mounts

HOME_NAMES = (".ssh", ".netrc", ".cache")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home directory that is in a private folder."""
    for name in HOME_NAMES:
        (tmp_path / name).mkdir()
    return tmp_path


def below(home: Path, root: Path, hidden: Path) -> list[tuple[str, str]]:
    private, places = [str(home.parent)], (str(home), "/dev")
    mounts = list_mounts(str(root), str(home), str(home / "programs"), [str(hidden)], private)
    return [
        (kind, path.removeprefix(f"{home}/")) for kind, path in mounts if path.startswith(places)
    ]


def test_what_is_secret_below_a_private_folder_is_gone_with_it(home: Path) -> None:
    (home / "project").mkdir()
    assert below(home, home / "project", home / "none") == [
        ("show", "programs"),
        ("forget", ".cache"),
        ("stage", "project"),
    ]


def test_what_is_secret_inside_the_workspace_is_hidden_on_top_of_it(home: Path) -> None:
    (home / "link").symlink_to(".ssh")
    assert below(home, home, home / "link") == [
        ("show", "programs"),
        ("stage", str(home)),
        ("hide", ".ssh"),
        ("hide", ".netrc"),
    ]


def test_a_workspace_inside_a_hidden_folder_is_mounted_after_it(home: Path) -> None:
    (home / "state/project").mkdir(parents=True)
    assert below(home, home / "state/project", home / "state") == [
        ("show", "programs"),
        ("hide", "state"),
        ("forget", ".cache"),
        ("stage", "state/project"),
    ]


def test_nothing_is_mounted_below_devices_unless_the_workspace_is_there(home: Path) -> None:
    assert below(home, Path("/dev/shm/project"), Path("/dev/null")) == [
        ("show", "programs"),
        ("forget", ".cache"),
        ("stage", "/dev/shm/project"),
    ]
