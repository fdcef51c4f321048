"""Programs of the plugin: the project does not choose them, and they get no keys."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from agentchat.core.errors import ToolError
from agentchat.core.workspace import Command
from agentchat.tools.search import ripgrep
from agentchat.workspace.local import LocalWorkspace
from agentchat.workspace.process import programs
from agentchat.workspace.shfmt import parse_shell_sync

OWN = ("git", "rg", "ast-grep", "shfmt", "bwrap")
BIN = "node_modules/.bin"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with programs of its own, each of which leaves a mark."""
    folder = tmp_path / "project" / BIN
    folder.mkdir(parents=True)
    for name in OWN:
        (folder / name).write_text(f"#!/bin/sh\nenv > {tmp_path}/ran-{name}\n")
        (folder / name).chmod(0o755)
    (tmp_path / "project/a.py").write_text("needle\n")
    return tmp_path / "project"


def marks(project: Path) -> list[str]:
    return sorted(path.name for path in project.parent.glob("ran-*"))


@pytest.fixture(params=["relative", "absolute", "empty", "link to folder", "link to program"])
def shadowed(
    request: pytest.FixtureRequest, project: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The project, whose programs come first on the PATH; the process works in it."""
    monkeypatch.chdir(project if request.param != "empty" else project / BIN)
    outside = project.parent / "outside"
    first = {"relative": f"./{BIN}", "absolute": str(project / BIN), "empty": ""}
    if request.param == "link to folder":
        outside.symlink_to(project / BIN)
    elif request.param == "link to program":
        outside.mkdir()
        for name in OWN:
            (outside / name).symlink_to(project / BIN / name)
    folder = first.get(request.param, str(outside))
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return project


@pytest.mark.parametrize("name", OWN)
def test_a_program_of_the_project_is_never_found(shadowed: Path, name: str) -> None:
    found = programs.find_program(name, str(shadowed))
    assert found is None or str(shadowed) not in os.path.realpath(found)


async def test_a_search_runs_nothing_of_the_project(shadowed: Path) -> None:
    workspace = LocalWorkspace(str(shadowed))
    assert await ripgrep.list_files(str(shadowed), workspace)
    assert parse_shell_sync("ls -l", str(shadowed)).parts
    assert marks(shadowed) == []


async def test_a_program_without_another_of_its_name_is_missing(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(project / BIN))
    workspace = LocalWorkspace(str(project))
    with pytest.raises(ToolError, match="rg is not installed"):
        await workspace.run(Command(("rg", "--version"), str(project), own=True))
    assert marks(project) == []


async def test_a_program_of_the_plugin_gets_few_variables(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ("OPENAI_API_KEY", "LD_PRELOAD", "GIT_DIR", "RIPGREP_CONFIG_PATH", "PYTHONPATH", "X")
    for name in given:
        monkeypatch.setenv(name, "")
    workspace = LocalWorkspace(str(project))
    script = "import os; print(*os.environ)"
    command = Command((sys.executable, "-c", script), str(project), own=True)
    names = (await workspace.run(command)).head.decode().split()
    assert {"PATH", "HOME"} <= set(names)
    assert not set(given) & set(names)
