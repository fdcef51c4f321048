"""Fixtures for scenarios: an editor, a model server, a project."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import project
from tests.support.chat import Chat
from tests.support.editor import Editor
from tests.support.model_server import ModelServer
from tests.support.prefork import Prefork
from tests.support.sshd import Missing, Sshd

BASIC: dict[str, Any] = {"python": sys.executable, "ui": {"prompt_delay_ms": 0}}
"""Scenarios answer prompts at once; the tests of the delay itself ask for the default."""

EDITORS = pytest.StashKey[list[Editor]]()

StartEditor = Callable[..., Editor]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A small project, made anew for each test."""
    return project.build(tmp_path / "project").resolve()


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    """A model server; a request that no reply was scripted for fails the test."""
    server = ModelServer()
    yield server
    server.close()
    server.check()


@pytest.fixture(scope="session")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    """A real SSH server; a test that breaks it or its configuration starts one of its own."""
    try:
        server = Sshd(tmp_path_factory.mktemp("ssh") / "server")
    except Missing as missing:
        pytest.skip(str(missing))
    yield server
    server.close()


@pytest.fixture(scope="session")
def prefork() -> Iterator[Prefork]:
    """A process that hosts are forked from; with ``AGENTCHAT_REAL_HOSTS`` none is."""
    server = Prefork()
    yield server
    server.close()


@pytest.fixture
def start_editor(
    tmp_path: Path, workspace: Path, request: pytest.FixtureRequest
) -> Iterator[StartEditor]:
    """Start editors in the workspace: ``start_editor(settings=…, env=…, init=…, size=…)``."""
    editors: list[Editor] = request.node.stash.setdefault(EDITORS, [])
    basic, parents = _host(request)
    # Of a test about questions: commands ask before they run.
    is_marked = request.node.get_closest_marker("asks_first") is not None
    asks_first = {"commands": {"unasked": "none"}} if is_marked else {}

    def start(settings: dict[str, Any] | None = None, **more: Any) -> Editor:
        home = more.pop("home", tmp_path / f"home{len(editors)}")
        settings = {**basic, **asks_first, **(settings or {})}
        editor = Editor(home, workspace, settings=settings, parents=parents, **more)
        editors.append(editor)
        return editor

    yield start
    _finish(editors)


@pytest.fixture
def editor(start_editor: StartEditor, model_server: ModelServer) -> Editor:
    """An editor whose model is the scripted server."""
    return start_editor(env=connected(model_server))


@pytest.fixture
def offline_editor(start_editor: StartEditor) -> Editor:
    """An editor without a key and without a server."""
    return start_editor()


@pytest.fixture
def chat(editor: Editor) -> Chat:
    """A chat in ``editor``."""
    return Chat.open(editor)


def connected(server: ModelServer) -> dict[str, str]:
    """The variables by which a user names a server."""
    return {
        "OPENAI_BASE_URL": server.url,
        "OPENAI_API_KEY": "test-key",
        "AGENTCHAT_MODEL": "test-model",
    }


def _host(request: pytest.FixtureRequest) -> tuple[dict[str, Any], Callable[[], dict[int, int]]]:
    """The basic settings, and the hosts that run; a test marked ``real_host`` starts its own."""
    if os.environ.get("AGENTCHAT_REAL_HOSTS") or request.node.get_closest_marker("real_host"):
        return BASIC, dict
    prefork: Prefork = request.getfixturevalue("prefork")
    return {**BASIC, "python": prefork.python}, prefork.parents


def _finish(editors: list[Editor]) -> None:
    """Finish each editor, whatever happens at another, and tell of all that went wrong."""
    problems = []
    for editor in editors:
        try:
            if editor.process.poll() is None:
                editor.finish()
        except AssertionError as problem:
            problems.append(str(problem))
    assert not problems, "\n".join(problems)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what drives a Neovim; it waits for several processes, so give it time."""
    for item in items:
        if "start_editor" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.neovim)
            item.add_marker(pytest.mark.timeout(240))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the screens of a failed test."""
    report = yield
    if report.when == "call" and report.failed and "notices:" not in report.longreprtext:
        for editor in item.stash.get(EDITORS, []):
            report.sections.append(("Neovim", _shown(editor)))
    return report


def _shown(editor: Editor) -> str:
    try:
        return editor.report()
    except Exception as error:
        return f"nothing to show: {error}"
