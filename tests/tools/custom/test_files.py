"""Files with tools: which are read, what is wrong with them, and who has a name first."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentchat.core.tools.registry import Registry
from agentchat.core.tools.toolset import Toolset
from agentchat.tools.builtin.catalogue import BUILTIN_GROUPS, BUILTINS
from agentchat.tools.custom.declaration.file_import import import_source
from agentchat.tools.custom.declaration.files import FileProblem, Location
from agentchat.tools.custom.registry import CustomRegistry, FileRegistry, LoadedFile
from agentchat.tools.trust import is_trusted, read_source, read_trust
from tests.tools.custom.making import a_registry

pytestmark = pytest.mark.slow

GOOD = '''\
from agentchat import tool

@tool(aliases="{name}_alias")
def {name}(path: str) -> str:
    """Do something."""
    return path
'''


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


async def load(
    *paths: Path, registry: FileRegistry | None = None
) -> tuple[list[LoadedFile], list[FileProblem]]:
    registry = registry or a_registry()
    return await registry.load([read_source(path) for path in paths])


async def run(*paths: Path) -> list[LoadedFile]:
    """Import files that are known to be good."""
    loaded, problems = await load(*paths)
    assert problems == []
    return loaded


def a_registry_of(*given: str) -> tuple[CustomRegistry, Toolset]:
    registry = Registry(BUILTINS)
    toolbox = Toolset(registry, BUILTIN_GROUPS, given)
    return CustomRegistry(registry, toolbox, "/ws"), toolbox


# --- reading ----------------------------------------------------------------------------------


BROKEN = {
    "syntax.py": ("x = 1\ndef broken(:\n", 2, "SyntaxError: "),
    "imports.py": ("import os\n\nimport no_such_module\n", 3, "ModuleNotFoundError: No module"),
    "raises.py": ("def f():\n    raise ValueError('bad')\n\nf()\n", 2, "ValueError: bad"),
    "leaves.py": ("raise SystemExit(3)\n", 1, "SystemExit: 3"),
    "nothing.py": ("x = 1\n", 0, "no tools: put @tool before a function"),
    "groups.py": ("GROUPS = {'g': 'read'}\n", 0, "GROUPS: g needs a list of tools"),
    "object.py": ("GROUPS = {'g': {'tools': [], 'prompt': 1j}}\n", 0, "not JSON serializable"),
    "option.py": (
        "from agentchat import tool\n@tool(colour=1)\ndef f(): 'd'\n", 2, "no option colour",
    ),
    "nul.py": ("x = 1\0\n", 0, "source code"),
    "dies.py": ("import os\nos._exit(1)\n", 0, "it ends the process that imports it"),
    "loops.py": ("while True: pass\n", 0, "it is not imported within 2 s; is there an endless"),
}  # fmt: skip


async def test_a_broken_file_is_reported_by_name_and_line_and_stops_no_other(
    tmp_path: Path,
) -> None:
    broken = [write(tmp_path, name, text) for name, (text, _, _) in BROKEN.items()]
    good = write(tmp_path, "good.py", "print('hello')\n" + GOOD.format(name="good"))
    loaded, problems = await load(*broken, good, registry=a_registry(2.0))
    assert [spec.name for contents in loaded for spec in contents.specs] == ["good"]
    found = {problem.path.name: problem for problem in problems}
    assert set(found) == set(BROKEN)
    for name, (_, line, text) in BROKEN.items():
        assert text in found[name].text
        assert found[name].line == line or name == "nul.py", name
    assert str(found["imports.py"]).startswith(f"{tmp_path}/imports.py:3: ModuleNotFound")


async def test_a_file_is_read_again_only_when_it_changed(tmp_path: Path) -> None:
    mark = tmp_path / "imported"
    text = f"with open({str(mark)!r}, 'a') as f: f.write('x')\n" + GOOD.format(name="good")
    path = write(tmp_path, "good.py", text)
    registry = a_registry()
    for _ in range(2):
        await registry.load([read_source(path)])
    assert mark.read_text() == "x"
    path.write_text(text.replace("something", "something else"))
    await registry.load([read_source(path)])
    assert mark.read_text() == "xx"
    registry.clear()
    await registry.load([read_source(path)])
    assert mark.read_text() == "xxx"


def test_files_with_the_same_name_are_modules_of_their_own(tmp_path: Path) -> None:
    first = write(tmp_path / "a", "tools.py", GOOD.format(name="first"))
    second = write(tmp_path / "b", "tools.py", GOOD.format(name="second"))
    loaded = [import_source(read_source(path)) for path in (first, second)]
    assert (
        len(
            {
                id(d.functions["0"].function.__globals__)
                for contents in loaded
                for d in contents.definitions
            }
        )
        == 2
    )


async def test_a_flood_of_output_at_import_goes_nowhere(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    flood = "import sys\nfor _ in range(100): sys.stdout.write('x' * 100_000)\n"
    path = write(tmp_path, "good.py", flood + GOOD.format(name="good"))
    loaded, _ = await load(path)
    assert len(loaded) == 1
    assert capfd.readouterr() == ("", "")


def test_a_folder_has_its_python_files_in_order(tmp_path: Path) -> None:
    for name in ("b.py", "a.py", "_own.py", ".hidden.py", "notes.txt", "c.py/d.py"):
        write(tmp_path, name, "")
    os.mkfifo(tmp_path / "pipe.py")
    assert [p.name for p in Location(tmp_path).files()] == ["a.py", "b.py", "c.py", "pipe.py"]
    assert Location(tmp_path / "a.py").files() == (tmp_path / "a.py",)
    assert Location(tmp_path / "missing").files() == ()
    with pytest.raises(OSError, match="no ordinary file"):
        read_source(tmp_path / "pipe.py")


# --- trust ------------------------------------------------------------------------------------


def trusting(tmp_path: Path, *lines: str) -> dict[str, str]:
    return read_trust(write(tmp_path, "state/trust", "".join(f"{line}\n" for line in lines)))


@pytest.mark.parametrize("folder", ["", ".agentchat", ".agentchat/tools"])
def test_a_projects_file_is_trusted_with_a_folder_it_is_in(tmp_path: Path, folder: str) -> None:
    project = tmp_path / "project dir"
    source = read_source(write(project, ".agentchat/tools/a.py", "x"))
    assert not is_trusted(source, project, trusting(tmp_path))
    trust = trusting(tmp_path, f"directory {(project / folder).resolve()}")
    assert is_trusted(source, project, trust)


def test_a_link_to_a_trusted_file_of_another_project_is_not_trusted(tmp_path: Path) -> None:
    other, project = tmp_path / "other", tmp_path / "project"
    for folder in (other, project):
        folder.mkdir()
    (other / "t.py").write_text("x = 1\n")
    (project / "t.py").symlink_to(other / "t.py")
    source = read_source(project / "t.py")
    trust = {str((other / "t.py").resolve()): source.digest}
    assert is_trusted(read_source(other / "t.py"), other, trust)
    assert not is_trusted(source, project, trust)


def test_a_file_is_trusted_as_it_was_and_no_more_once_it_changed(tmp_path: Path) -> None:
    path = write(tmp_path / "p", ".agentchat/tools/a.py", "x")
    source = read_source(path)
    trust = trusting(tmp_path, f"{source.digest} {path.resolve()}")
    assert is_trusted(source, tmp_path / "p", trust)
    path.write_text("y")
    assert not is_trusted(read_source(path), tmp_path / "p", trust)
    trust[str((tmp_path / "p").resolve())] = "directory"
    assert is_trusted(read_source(path), tmp_path / "p", trust)


def test_what_is_denied_is_not_trusted_with_its_folder(tmp_path: Path) -> None:
    project = tmp_path / "p"
    source = read_source(write(project, ".agentchat/tools/a.py", "x"))
    denied = trusting(tmp_path, f"! {source.path.resolve()}", f"directory {project.resolve()}")
    assert not is_trusted(source, project, denied)
    inner = (project / ".agentchat").resolve()
    assert not is_trusted(
        source, project, trusting(tmp_path, f"! {inner}", f"directory {project.resolve()}")
    )


def test_a_link_out_of_a_trusted_project_and_a_folder_above_it_count_nothing(
    tmp_path: Path,
) -> None:
    project = tmp_path / "p"
    outside = write(tmp_path, "outside.py", "x")
    link = project / ".agentchat/tools/a.py"
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    trust = trusting(tmp_path, f"directory {project.resolve()}", f"directory {tmp_path.resolve()}")
    assert not is_trusted(read_source(link), project, trust)


# --- names ------------------------------------------------------------------------------------


async def test_a_chat_is_given_tools_by_name_by_group_and_by_its_settings(tmp_path: Path) -> None:
    registry, toolbox = a_registry_of("readonly", "first", "both")
    text = GOOD.format(name="first") + GOOD.format(name="second")
    text += "GROUPS = {'both': [first, 'second', 'read'], 'more': {'tools': ['ls'], 'prompt': 'p'}}"
    before = [tool.name for tool in toolbox.tools()]
    loaded = await run(write(tmp_path, "a.py", text))
    assert registry.replace_all(loaded) == []
    assert [t.name for t in toolbox.tools()] == [*before, "first", "second"]
    assert toolbox.can_be_mentioned("first_alias")
    assert [g.name for g in toolbox.groups()][:2] == ["both", "more"]
    assert toolbox.group("more") is not None
    assert registry.replace_all([]) == []
    assert [t.name for t in toolbox.tools()] == before
    assert not toolbox.can_be_mentioned("first_alias")
    assert not toolbox.can_be_mentioned("both")


async def test_two_files_with_one_name_are_refused_with_both_places(tmp_path: Path) -> None:
    registry, _ = a_registry_of("same")
    first = write(tmp_path, "a.py", GOOD.format(name="same"))
    second = write(tmp_path, "b.py", "\n" + GOOD.format(name="same"))
    third = write(tmp_path, "c.py", GOOD.format(name="other"))
    loaded = await run(first, second, third)
    (problem,) = registry.replace_all(loaded)
    assert str(problem) == f'{second}:4: the tool name "same" is taken by {first}:3'
    assert registry.names == ("same", "other")


@pytest.mark.parametrize("name", ["read", "read_file", "resolve", "tool_search", "agent", "delete"])
async def test_the_names_of_the_plugin_cannot_be_taken(tmp_path: Path, name: str) -> None:
    registry, _ = a_registry_of()
    loaded = await run(write(tmp_path, "a.py", GOOD.format(name=name)))
    (problem,) = registry.replace_all(loaded)
    assert f'the tool name "{name}" is taken by the ' in problem.text
    assert registry.names == ()


async def test_a_group_of_a_file_takes_no_name_of_the_plugins(tmp_path: Path) -> None:
    registry, toolbox = a_registry_of("agent")
    count = len(toolbox.tools())
    loaded = await run(write(tmp_path, "a.py", "GROUPS = {'agent': ['read']}"))
    (problem,) = registry.replace_all(loaded)
    assert problem.text == 'the group name "agent" is taken'
    assert len(toolbox.tools()) == count
