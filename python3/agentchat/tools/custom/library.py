"""The files with tools that were loaded, each once for all chats of this process."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agentchat.tools.custom.files import Source
from agentchat.tools.custom.importing import Contents, ImportProblem, Problem, import_source
from agentchat.tools.custom.printing import diverted
from agentchat.tools.custom.probing import IMPORT_SECONDS, probe


@dataclass
class Library:
    """Files by path, as they were when they were last read.

    ``seconds`` is how long one file may take to be imported.
    """

    seconds: float = IMPORT_SECONDS
    _known: dict[Path, tuple[str, Contents | Problem]] = field(default_factory=dict)

    def load(self, sources: Sequence[Source]) -> None:
        """Import what changed. Blocks; call it in a thread.

        Each file is imported twice: by a process that may hang or die, then by this one.
        """
        fresh = [source for source in sources if not self._has(source)]
        problems = {problem.path: problem for problem in probe(fresh, self.seconds)}
        for source in fresh:
            found = problems.get(source.path) or _bounded_import(source, self.seconds)
            self._forget(source.path)
            self._known[source.path] = (source.digest, found)

    def contents(self, sources: Iterable[Source]) -> tuple[list[Contents], list[Problem]]:
        """Return what was loaded of these files, and what is wrong with the others."""
        loaded: list[Contents] = []
        problems: list[Problem] = []
        for source in sources:
            digest, found = self._known.get(source.path, ("", None))
            if digest != source.digest:
                continue
            if isinstance(found, Contents):
                loaded.append(found)
            elif found is not None:
                problems.append(found)
        return loaded, problems

    def clear(self) -> None:
        """Forget every file, so that each is imported again."""
        for path in tuple(self._known):
            self._forget(path)

    def _has(self, source: Source) -> bool:
        return self._known.get(source.path, ("", None))[0] == source.digest

    def _forget(self, path: Path) -> None:
        """Drop the module of a file that is imported again; its functions may still run."""
        old = self._known.pop(path, None)
        if old is None or not isinstance(old[1], Contents):
            return
        name = next((d.module for d in old[1].definitions), "")
        sys.modules.pop(name, None)


def _bounded_import(source: Source, seconds: float) -> Contents | Problem:
    """Import a file that came to an end before, in a thread that is not waited for longer."""
    answer: queue.SimpleQueue[Contents | Problem] = queue.SimpleQueue()

    def main() -> None:
        with diverted(lambda text: None):
            try:
                answer.put(import_source(source))
            except ImportProblem as found:
                answer.put(found.problem)

    threading.Thread(target=main, name=f"import {source.path.name}", daemon=True).start()
    try:
        return answer.get(timeout=seconds)
    except queue.Empty:
        return Problem(source.path, 0, f"it was not imported within {seconds:g} s this time")
