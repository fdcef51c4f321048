"""Check how the modules of the package depend on each other: `python -m scripts.layers`.

Prints a line for each finding: the file, the rule, and what breaks it. Every import counts, also
one inside a function or under `TYPE_CHECKING`.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python3" / "agentchat"

LEVELS = (
    "core",
    "core/diff core/shell core/prompts",
    "core/edit",
    "core/workspace core/frontend",
    "core/tools",
    "core/model",
    "core/context",
    "core/permissions",
    "core/turn",
    "rpc",
    "models/response",
    "models/protocols",
    "models/offline",
    "tools",
    "tools/search tools/web workspace/process",
    "tools/astgrep workspace/files",
    "tools/builtin tools/custom/declaration",
    "tools/custom/process",
    "tools/custom workspace",
    "tools/mcp",
    "workspace/remote models journal",
    "workspace/overlay workspace/operations",
    "agent/execution",
    "agent/permissions agent/undo agent/prompts agent/external",
    "agent/external/acp",
    "agent/modes",
    "agent",
    "app",
    "nvim/render",
    "nvim",
    "headless",
    "mcp_server",
)
"""The folders, the lowest first: a folder may import itself and those in lines above it here.

A module that is named has this level, whatever that of its folder: the contracts of ``core`` stand
on folders in it.
"""

BESIDE = (
    {"tools", "workspace", "models", "journal"},
    {"nvim", "headless", "mcp_server"},
)
"""Top folders that do not import one another, whatever their levels; the second are the faces."""

MOST_MODULES = 14
"""Modules in one folder, ``__init__`` aside."""

LISTS = {"tools/builtin"}
"""Folders with a module for each thing of a kind, which are as long as that list."""

LATE_ONLY = {"httpx2", "PIL", "pathspec", "bs4", "markdownify", "genai_prices", "yaml"}
"""Libraries that cost too much to import before they are needed."""

FROZEN_DATACLASS = "dataclass(frozen=True, slots=True)"

VAGUE = {"utils", "util", "helpers", "common", "misc"}

KNOW_NEOVIM = {"nvim"}


@dataclass(frozen=True, order=True)
class Finding:
    """A violation of a rule: ``path`` is relative to the package, ``edge`` is what violates it."""

    path: str
    rule: str
    edge: str

    def __str__(self) -> str:
        return f"{self.path}: {self.rule}: {self.edge}"


@dataclass(frozen=True)
class Import:
    """An imported name, like ``agentchat.core.errors.ToolError``."""

    name: str
    line: int
    at_top: bool
    relative: bool = False


@dataclass(frozen=True)
class Module:
    """A file of the package; ``name`` is like ``core/shell/parse``."""

    name: str
    path: Path

    @property
    def folder(self) -> str:
        """The folder it is in, empty for the package itself."""
        return self.name.rpartition("/")[0]

    @property
    def is_package(self) -> bool:
        """Whether it is the ``__init__`` of its folder."""
        return self.path.name == "__init__.py"

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed source."""
        return ast.parse(self.path.read_text(encoding="utf-8"))

    @cached_property
    def imports(self) -> list[Import]:
        """All that it imports, wherever in the file."""
        top = set(map(id, self.tree.body))
        return [
            found for node in ast.walk(self.tree) for found in imports_of(node, id(node) in top)
        ]

    @property
    def classes(self) -> list[str]:
        """The public classes it defines at its top."""
        found = [node.name for node in self.tree.body if isinstance(node, ast.ClassDef)]
        return [name for name in found if not name.startswith("_")]


def imports_of(node: ast.AST, at_top: bool) -> Iterator[Import]:
    """Yield what one statement or call imports."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield Import(alias.name, node.lineno, at_top)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield Import(f"{node.module}.{alias.name}", node.lineno, at_top, bool(node.level))
    elif isinstance(node, ast.Call) and called(node) in ("import_module", "__import__"):
        names = [part.value for part in node.args[:1] if isinstance(part, ast.Constant)]
        yield from (Import(str(name), node.lineno, at_top=False) for name in names)


def called(node: ast.Call) -> str:
    """Return the last part of the name of what is called."""
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


class Package:
    """The modules below a folder and the edges between them."""

    def __init__(self, root: Path, levels: Iterable[str] = LEVELS) -> None:
        self.name = root.name
        self.level = {folder: n for n, row in enumerate(levels) for folder in row.split()}
        self.modules = {module.name: module for module in self._read(root)}
        self.inner = {name: dict(self._edges(module)) for name, module in self.modules.items()}

    def _read(self, root: Path) -> Iterator[Module]:
        for path in sorted(root.rglob("*.py")):
            yield Module(path.relative_to(root).with_suffix("").as_posix(), path)

    def _edges(self, module: Module) -> Iterator[tuple[str, int]]:
        """Yield the modules that a module imports, each with a line that does."""
        for found in module.imports:
            target = self._find(found.name)
            if target not in (None, module.name):
                yield str(target), found.line

    def _find(self, name: str) -> str | None:
        """Return the module an imported name is, or is in."""
        top, _, rest = name.partition(".")
        path = rest.replace(".", "/")
        if top != self.name:
            return None
        while path:
            for candidate in (path, f"{path}/__init__"):
                if candidate in self.modules:
                    return candidate
            path = path.rpartition("/")[0]
        return "__init__"

    def edges(self) -> Iterator[tuple[Module, Module, int]]:
        """Yield each import of one module by another, below the package's own ``__init__``."""
        for name, targets in self.inner.items():
            for target, line in targets.items():
                if self.modules[name].folder and self.modules[target].folder:
                    yield self.modules[name], self.modules[target], line

    def outside(self, module: Module, *, at_top: bool = False) -> Iterator[tuple[str, int]]:
        """Yield the top names a module imports from elsewhere than the package and Python."""
        for found in module.imports:
            top = found.name.split(".")[0]
            ours = top == self.name or top in sys.stdlib_module_names or found.relative
            if not ours and (found.at_top or not at_top):
                yield top, found.line

    def place(self, module: Module) -> str:
        """Return what has a level: the module itself if it is named, else its folder."""
        return module.name if module.name in self.level else module.folder

    def path(self, module: Module, line: int = 0) -> str:
        """Return where something is: ``core/turn.py:12``."""
        return f"{module.name}.py:{line}" if line else f"{module.name}.py"


Rule = Callable[[Package], Iterator[Finding]]


def known_folders(package: Package) -> Iterator[Finding]:
    """Each folder has a level."""
    for folder in sorted({module.folder for module in package.modules.values()} - {""}):
        if folder not in package.level:
            yield Finding(f"{folder}/", "folder without a level", "add it to LEVELS")


def downward_imports(package: Package) -> Iterator[Finding]:
    """A folder imports itself and what is below it."""
    for module, target, line in package.edges():
        here = package.level.get(package.place(module), len(package.level))
        there = package.level.get(package.place(target), -1)
        if package.place(module) != package.place(target) and there >= here:
            where = package.path(module, line)
            yield Finding(where, "import of a folder not below", package.path(target))


def separate_rooms(package: Package) -> Iterator[Finding]:
    """The rooms beside each other do not import one another."""
    for module, target, line in package.edges():
        here, there = module.folder.split("/")[0], target.folder.split("/")[0]
        if here != there and any({here, there} <= rooms for rooms in BESIDE):
            where = package.path(module, line)
            yield Finding(where, "import of a room beside", package.path(target))


def acyclic_modules(package: Package) -> Iterator[Finding]:
    """No import leads back to where it started."""
    graph = {name: sorted(targets) for name, targets in package.inner.items()}
    for cycle in cycles(graph):
        yield Finding(f"{cycle[0]}.py", "cycle of modules", " → ".join(cycle))


def acyclic_folders(package: Package) -> Iterator[Finding]:
    """Nor do folders import one another in a circle."""
    graph: dict[str, list[str]] = defaultdict(list)
    for module, target, _ in package.edges():
        here, there = package.place(module), package.place(target)
        if here != there:
            graph[here].append(there)
    for cycle in cycles(graph):
        yield Finding(f"{cycle[0]}/", "cycle of folders", " → ".join(cycle))


def standard_core(package: Package) -> Iterator[Finding]:
    """The core imports nothing but the standard library."""
    for module in package.modules.values():
        if module.folder.split("/")[0] == "core":
            for name, line in package.outside(module):
                yield Finding(package.path(module, line), "third-party import in core", name)


def one_bridge(package: Package) -> Iterator[Finding]:
    """One folder knows Neovim."""
    for module in package.modules.values():
        for name, line in package.outside(module):
            if name == "pynvim" and module.folder.split("/")[0] not in KNOW_NEOVIM:
                yield Finding(package.path(module, line), "import of pynvim outside nvim", name)


def late_libraries(package: Package) -> Iterator[Finding]:
    """Slow libraries are imported where they are used; the SDK of MCP has loaded its own."""
    for module in package.modules.values():
        outside = dict(package.outside(module, at_top=True))
        for name, line in outside.items():
            if name in LATE_ONLY and "mcp" not in outside:
                yield Finding(package.path(module, line), "slow library imported at the top", name)


def absolute_imports(package: Package) -> Iterator[Finding]:
    """Imports name the package."""
    for module in package.modules.values():
        for found in module.imports:
            if found.relative:
                yield Finding(package.path(module, found.line), "relative import", found.name)


def searchable_names(package: Package) -> Iterator[Finding]:
    """No module is named for what does not fit elsewhere."""
    for module in package.modules.values():
        if module.path.stem in VAGUE:
            yield Finding(package.path(module), "name that says nothing", module.path.stem)


def cheap_values(package: Package) -> Iterator[Finding]:
    """Value classes are ``@frozen``, which costs a tenth when the module is imported."""
    for module in package.modules.values():
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef) and FROZEN_DATACLASS in _decorators(node):
                where = package.path(module, node.lineno)
                yield Finding(where, "dataclass that can be @frozen", node.name)


def _decorators(node: ast.ClassDef) -> set[str]:
    return {ast.unparse(decorator) for decorator in node.decorator_list}


def small_folders(package: Package) -> Iterator[Finding]:
    """A folder is read at a glance."""
    sizes = Counter(m.folder for m in package.modules.values() if not m.is_package)
    for folder, size in sizes.items():
        if size > MOST_MODULES and folder not in LISTS:
            yield Finding(f"{folder}/", f"more than {MOST_MODULES} modules", str(size))


def unique_classes(package: Package) -> Iterator[Finding]:
    """A public class name is defined once."""
    homes: dict[str, list[Module]] = defaultdict(list)
    for module in package.modules.values():
        for name in module.classes:
            homes[name].append(module)
    for name, modules in homes.items():
        for module in modules[1:]:
            first = package.path(modules[0])
            yield Finding(package.path(module), f"class {name} is defined twice", first)


RULES: tuple[Rule, ...] = (
    known_folders,
    downward_imports,
    separate_rooms,
    acyclic_modules,
    acyclic_folders,
    standard_core,
    one_bridge,
    late_libraries,
    absolute_imports,
    searchable_names,
    cheap_values,
    small_folders,
    unique_classes,
)


def cycles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the sets of nodes that reach each other, sorted, of two nodes and more."""
    reached = {node: reachable(graph, node) for node in graph}
    found = {
        frozenset(other for other in reached[node] if node in reached.get(other, ()))
        for node in graph
        if node in reached[node]
    }
    return sorted(sorted(nodes) for nodes in found if len(nodes) > 1)


def reachable(graph: Mapping[str, Iterable[str]], start: str) -> set[str]:
    """Return the nodes that edges lead to from ``start``."""
    found: set[str] = set()
    new = set(graph.get(start, ()))
    while new:
        found |= new
        new = {target for node in new for target in graph.get(node, ())} - found
    return found


def findings(package: Package) -> list[Finding]:
    """Return all violations."""
    return sorted({found for rule in RULES for found in rule(package)})


def main() -> int:
    """Print the findings and return the exit code."""
    found = findings(Package(PACKAGE))
    for finding in found:
        print(f"python3/agentchat/{finding}")
    print(f"{len(found)} findings")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
