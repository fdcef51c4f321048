"""What is installed with the plugin, and what it says of itself."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from scripts.layers import imports_of
from scripts.nvim import ROOT

import agentchat

pytestmark = pytest.mark.slow

OURS = {"agentchat", "bench", "scripts", "tests"}
ON_REQUEST = {"xllamacpp"}
"""What `make demo MODEL=smollm2` installs by itself."""
RUN_TIME = ["requirements.txt"]


def declared(*files: str) -> set[str]:
    """Names of the distributions that requirement files ask for."""
    lines = [line for file in files for line in (ROOT / file).read_text().splitlines()]
    names = [re.match(r"[\w.-]+", line) for line in lines if not line.startswith("#")]
    return {normal(name.group()) for name in names if name}


def normal(name: str) -> str:
    """A distribution's name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def without_types(tree: ast.Module) -> ast.Module:
    """A module without what only a type checker imports."""
    tree.body = [
        node
        for node in tree.body
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    ]
    return tree


def imported(*folders: str) -> dict[str, Path]:
    """The third-party modules that the files below folders import, each with a file that does."""
    found = {}
    for path in sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(without_types(ast.parse(path.read_text(encoding="utf-8")))):
            for part in imports_of(node, at_top=True):
                if not part.relative:
                    found[part.name.split(".")[0]] = path.relative_to(ROOT)
    return {name: path for name, path in found.items() if name not in sys.stdlib_module_names}


@pytest.mark.parametrize(
    ("folders", "files"),
    [
        (["python3", "rplugin"], RUN_TIME),
        (["tests", "scripts", "bench"], [*RUN_TIME, "requirements-dev.txt"]),
    ],
    ids=["the plugin", "its tests"],
)
def test_every_package_that_is_imported_is_declared(folders: list[str], files: list[str]) -> None:
    homes = packages_distributions()
    missing = {
        name: str(path)
        for name, path in imported(*folders).items()
        if name not in OURS | ON_REQUEST
        and not {normal(home) for home in homes.get(name, [])} & declared(*files)
    }
    assert missing == {}


def test_the_version_is_written_in_one_place_of_python_and_one_of_lua() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" in project["project"]["dynamic"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "agentchat.__version__"}
    lua = [path.read_text() for path in (ROOT / "lua").rglob("*.lua")]
    found = [version for text in lua for version in re.findall(r"VERSION = '(\d[\d.]*)'", text)]
    assert found == [agentchat.__version__]


def test_the_types_of_the_package_are_shipped() -> None:
    assert (ROOT / "python3" / "agentchat" / "py.typed").exists()


def test_the_supported_pythons_are_the_same_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    classifiers = " ".join(project["project"]["classifiers"])
    versions = [int(minor) for minor in re.findall(r"Python :: 3\.(\d+)", classifiers)]
    oldest, newest = versions[0], versions[-1]
    assert project["project"]["requires-python"] == f">=3.{oldest}"
    assert project["tool"]["ruff"]["target-version"] == f"py3{oldest}"
    assert project["tool"]["mypy"]["python_version"] == f"3.{oldest}"
    for page in ("README.md", "CONTRIBUTING.md", "doc/agentchat.txt"):
        assert f"Python 3.{oldest} to 3.{newest}" in (ROOT / page).read_text(), page
    makefile = (ROOT / "Makefile").read_text()
    assert f"version_info < (3, {oldest})" in makefile
    workflow = (ROOT / ".github/workflows/ci.yml").read_text()
    for minor in versions:
        assert f"python3.{minor}" in makefile
        assert f'"3.{minor}"' in workflow
