"""How the modules depend on each other, and that the check of it finds what breaks a rule."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from scripts import layers
from scripts.layers import Package, Rule

LEVELS = ("core", "core/turn", "core/model", "tools models", "agent", "nvim", "headless")


@pytest.fixture(scope="module")
def ours() -> Package:
    return Package(layers.PACKAGE)


@pytest.mark.parametrize("rule", layers.RULES, ids=lambda rule: rule.__name__)
def test_the_package_keeps_the_rule(rule: Rule, ours: Package) -> None:
    assert sorted(map(str, rule(ours))) == []


def test_every_folder_with_a_level_is_named_once() -> None:
    folders = " ".join(layers.LEVELS).split()
    assert sorted(set(folders)) == sorted(folders)


def package(root: Path, files: Mapping[str, str]) -> Package:
    """Write a package and read it."""
    for name, text in files.items():
        path = root / "agentchat" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Package(root / "agentchat", LEVELS)


UPWARD = {
    "top": "from agentchat.agent.session import Session",
    "module": "from agentchat.agent import session",
    "plain": "import agentchat.agent.session",
    "in a function": "def f():\n    from agentchat.agent.session import Session",
    "for types": "if TYPE_CHECKING:\n    from agentchat.agent.session import Session",
    "by name": "x = importlib.import_module('agentchat.agent.session')",
}


@pytest.mark.parametrize("source", UPWARD.values(), ids=UPWARD.keys())
def test_an_upward_import_is_found_wherever_it_stands(source: str, tmp_path: Path) -> None:
    files = {"core/errors.py": source, "agent/session.py": "class Session: ..."}
    (found,) = layers.downward_imports(package(tmp_path, files))
    line = source.count("\n") + 1
    assert str(found) == f"core/errors.py:{line}: import of a folder not below: agent/session.py"


WRONG: dict[str, tuple[Rule, dict[str, str], str]] = {
    "a folder inside a room": (
        layers.downward_imports,
        {"core/errors.py": "import agentchat.core.turn.loop", "core/turn/loop.py": ""},
        "core/errors.py:1: import of a folder not below: core/turn/loop.py",
    ),
    "rooms beside each other": (
        layers.separate_rooms,
        {"tools/bash.py": "from agentchat.models.sse import x", "models/sse.py": "x = 1"},
        "tools/bash.py:1: import of a room beside: models/sse.py",
    ),
    "a face on another": (
        layers.separate_rooms,
        {
            "headless/chat.py": "import agentchat.nvim.view",
            "nvim/view.py": "import re",
        },
        "headless/chat.py:1: import of a room beside: nvim/view.py",
    ),
    "a module with a level of its own": (
        layers.downward_imports,
        {
            "core/model.py": "import agentchat.core.turn.loop\nimport agentchat.core.errors",
            "core/turn/loop.py": "import agentchat.core.model",
            "core/errors.py": "",
        },
        "core/turn/loop.py:1: import of a folder not below: core/model.py",
    ),
    "a folder that nobody placed": (
        layers.known_folders,
        {"utils/text.py": ""},
        "utils/: folder without a level: add it to LEVELS",
    ),
    "a cycle of modules": (
        layers.acyclic_modules,
        {
            "core/a.py": "from agentchat.core.b import x",
            "core/b.py": "def f():\n    from agentchat.core.c import x",
            "core/c.py": "from agentchat.core import a",
        },
        "core/a.py: cycle of modules: core/a → core/b → core/c",
    ),
    "a cycle of folders": (
        layers.acyclic_folders,
        {
            "core/a.py": "from agentchat.core.turn import b",
            "core/turn/b.py": "",
            "core/turn/c.py": "import agentchat.core.d",
            "core/d.py": "",
        },
        "core/: cycle of folders: core → core/turn",
    ),
    "a library in the core": (
        layers.standard_core,
        {"core/turn/loop.py": "def f():\n    import pydantic"},
        "core/turn/loop.py:2: third-party import in core: pydantic",
    ),
    "pynvim below nvim": (
        layers.one_bridge,
        {"agent/session.py": "import pynvim", "nvim/plugin.py": "import pynvim"},
        "agent/session.py:1: import of pynvim outside nvim: pynvim",
    ),
    "a slow library at the top": (
        layers.late_libraries,
        {"tools/read.py": "def f():\n    import PIL\nfrom PIL import Image"},
        "tools/read.py:3: slow library imported at the top: PIL",
    ),
    "a relative import": (
        layers.absolute_imports,
        {"core/a.py": "from .b import x"},
        "core/a.py:1: relative import: b.x",
    ),
    "a vague name": (
        layers.searchable_names,
        {"core/utils.py": ""},
        "core/utils.py: name that says nothing: utils",
    ),
    "a value class that is slow to define": (
        layers.cheap_values,
        {"core/a.py": "@dataclass(frozen=True, slots=True)\nclass Span: ..."},
        "core/a.py:2: dataclass that can be @frozen: Span",
    ),
    "a crowded folder": (
        layers.small_folders,
        {"agent/__init__.py": "", **{f"agent/m{n}.py": "" for n in range(15)}},
        "agent/: more than 14 modules: 15",
    ),
    "a class name used twice": (
        layers.unique_classes,
        {"core/a.py": "class Call: ...\nclass _Own: ...", "models/b.py": "class Call: ..."},
        "models/b.py: class Call is defined twice: core/a.py",
    ),
}


@pytest.mark.parametrize(("rule", "files", "finding"), WRONG.values(), ids=WRONG.keys())
def test_what_breaks_a_rule_is_named_with_its_file(
    rule: Rule, files: dict[str, str], finding: str, tmp_path: Path
) -> None:
    assert [str(found) for found in rule(package(tmp_path, files))] == [finding]


def test_a_package_without_faults_has_no_findings(tmp_path: Path) -> None:
    files = {
        "__init__.py": "from agentchat.tools.builtin.bash import tool",
        "core/errors.py": "import re",
        "core/turn/loop.py": "from agentchat.core.errors import x",
        "tools/bash.py": "import pydantic\nfrom agentchat.core import errors\ntool = 1",
        "nvim/plugin.py": "import pynvim\nimport agentchat.tools.builtin.bash",
    }
    assert layers.findings(package(tmp_path, files)) == []
