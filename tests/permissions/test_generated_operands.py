"""Generated operands, directories and orders of commands; the disk and the output are the judges.

Rules allow every program here by its first words. What they let run may change ordinary files of
the workspace, and read what is neither secret nor outside; everything else is an escape.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from agentchat.agent.execution.locate import locate_call
from agentchat.core.messages import ToolCall
from agentchat.core.permissions.grants import Grants
from agentchat.core.permissions.policy import Policy, Verdict, decide
from agentchat.core.permissions.sensitive_paths import is_protected, is_secret
from agentchat.core.tools.call import CallTarget, ValidCall
from agentchat.tools.builtin import bash
from agentchat.workspace.local import LocalWorkspace
from tests.permissions.gate import allow
from tests.permissions.ground import Ground
from tests.permissions.report import generated, tell
from tests.permissions.report import seed as chosen

pytestmark = pytest.mark.slow

COUNT = max(generated() // 5, 100)
PRIVATE = "PRIVATE-TEXT"

SETUP = f"""
mkdir -p deep nested workflows .github/workflows ../outside/sub dest bare shadow
for f in .env deep/server.key ../outside/p ../outside/sub/q; do echo {PRIVATE} > $f; done
for f in conftest.py nested/conftest.py Makefile workflows/ci.yml src/g nested/a dest/a; do
  echo a > $f; done
ln -s .. lin; ln -s .env plain; ln -s .git gitlin; ln -s ../outside out; ln -s ../../outside dest/o
ln -s ../conftest.py dest/f; ln -s ../../outside/p nested/lp; ln ../outside/p hard
ln src/g nested/hard2; mkfifo pipe
git init -q --bare bare; git init -q other; echo {PRIVATE} > other/id_rsa
printf '#!/bin/sh\\ntouch "$PWD/../outside/ran"\\n' > hook; chmod +x hook
for r in bare other; do git -C $r config core.fsmonitor "$PWD/hook"; done
cp hook dest/cat; cp hook nested/git-x; echo 'open("../outside/ran", "w")' > shadow/json.py
git add src nested dest f g; git commit -qm two
"""

PATHS = st.sampled_from(
    ["f", "g", "src", "src/g", "src/new", "new", "new/deep", "deep", "deep/server.key", "lin",
     "lin/outside/p", "plain", "hard", ".env", ".git", "gitlin", "gitlin/config", ".git/config",
     "out", "out/p", "../outside", "../outside/p", ".", "..", "conftest.py", "nested", "nested/lp",
     "nested/a", "nested/hard2", "dest", "dest/f", "dest/o", "dest/.", "src/../.env", ".github",
     "workflows", "workflows/ci.yml", ".github/workflows", "./f", "src/", "ci.yml", "m",
     "Makefile", "other", "other/id_rsa", "bare", "p", "q", "hook", "x", "HEAD", "HEAD:f",
     "HEAD:deep/server.key", "{root}/f", "{root}/../outside/p", "src/.././f", "nested/../out/p",
     "pipe", "shadow"]
)  # fmt: skip
FLAGS = st.sampled_from(
    ["-r", "-a", "-f", "-s", "-R", "-L", "-P", "-H", "-b", "-S", "-S file", "--suffix=file", "-t",
     "-t src", "-t .git", "--target-directory=out", "-T", "-d", "-p", "-n", "-v", "-i", "-l", "-x",
     "-e a", "-f deep/server.key", "--parents", "--backup", "-u", "--hidden", "-C 2", "-1", "-h",
     "--files0-from=.env", "--reference=../outside/p", "--no-index", "--no-ignore", "--include=*",
     "-c", "--", "-rn", "-rf", "-sf", "-la", "-type f", "-name a", "-o m", "-D", "--exclude=a",
     "--no-preserve-root", "-maxdepth 2", "--dereference", "-uu", "-z", "777", "u+s", "a", "p"]
)  # fmt: skip
PROGRAMS = st.sampled_from(
    ["touch", "mkdir", "rm", "rmdir", "cp", "mv", "ln", "ln -s", "chmod", "truncate", "install",
     "rsync", "tar", "zip", "git mv", "git rm", "git checkout", "git restore", "cat", "head",
     "tail", "grep", "grep -r", "rg", "diff", "diff -r", "sort", "uniq", "wc", "sed", "awk",
     "find", "ls", "du", "git diff", "git show", "git log", "git grep", "git status", "base64",
     "xxd", "cut", "nl", "tac", "file", "stat", "tree", "comm", "paste", "strings", "od", "tee",
     "shred", "md5sum", "python3 -m json.tool", "git blame", "git ls-files", "git stash",
     "git add", "fold", "date"]
)  # fmt: skip
WORDS = st.one_of(PATHS, PATHS, FLAGS)
PARTS = st.builds(lambda p, w: " ".join([p, *w]), PROGRAMS, st.lists(WORDS, max_size=4))
LIKELY = st.sampled_from(
    ["ln -s ../outside x", "ln -s .git x", "mv out x", "cp -a out x", "mv lin src/new",
     "cp -P gitlin x", "git checkout HEAD -- dest", "cat x/p", "touch x/new", "cp f x", "rm -r x",
     "grep -r a x", "cp -r workflows .github", "mv workflows .github", "cp -r nested dest",
     "cp f dest", "cat f", "cp -bS file f Make", "mkdir src/new", "ls src", "git status",
     "cat src/g", "rg a src"]
)  # fmt: skip
COMMANDS = st.builds(
    lambda first, more: first + "".join(a + b for a, b in more),
    st.one_of(PARTS, LIKELY),
    st.lists(
        st.tuples(st.sampled_from(["; ", " && ", " | ", " || "]), st.one_of(PARTS, LIKELY)),
        max_size=2,
    ),
)
FOLDERS = st.sampled_from(
    [*[None] * 8, "src", "deep", "other", ".git", "bare", "lin", "shadow", "dest"]
)
PLAIN = """
touch mkdir rm rmdir cp mv ln chmod truncate install rsync tar zip cat head tail grep rg diff sort
uniq wc sed awk find ls du base64 xxd cut nl tac file stat tree comm paste strings od tee shred
md5sum fold date
"""
OF_GIT = "mv rm checkout restore diff show log grep status blame ls-files stash add"
ALLOWED = allow(*PLAIN.split(), *(f"git {name}" for name in OF_GIT.split()), "python3 -m json.tool")

many = settings(
    max_examples=COUNT,
    deadline=None,
    database=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)


class Escaped(Exception):
    """A command that nobody was asked about did what its rules do not cover."""


Change = Callable[[CallTarget], CallTarget]


@dataclass
class Judge:
    """Lets commands run that the rules allow, each in a fresh copy, and looks at what they did."""

    template: Path
    folder: Path
    change: Change = lambda target: target
    judged: int = 0
    ran: int = 0

    @property
    def root(self) -> Path:
        return self.folder / "ws"

    def __call__(self, command: str, cwd: str | None) -> None:
        command = command.replace("{root}", str(self.root))
        self.judged += 1
        if not asyncio.run(self._allows(command, cwd)):
            return
        self.ran += 1
        before = self._state()
        try:
            self._check(command, cwd, before, self._run(command, cwd))
        finally:
            self.refresh()

    def _check(self, command: str, cwd: str | None, before: dict[str, str], output: bytes) -> None:
        if PRIVATE.encode() in output:
            raise Escaped(f"read something private: {command!r} in {cwd}")
        after = self._state()
        if after != before:
            changed = sorted(
                k for k in before.keys() | after.keys() if before.get(k) != after.get(k)
            )
            raise Escaped(f"changed {changed[:3]}: {command!r} in {cwd}")

    def refresh(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        subprocess.run(["cp", "-a", str(self.template), str(self.folder)], check=True)

    async def _allows(self, command: str, cwd: str | None) -> bool:
        given = {"command": command} | ({"cwd": cwd} if cwd else {})
        arguments = bash.TOOL.arguments.parse(given)
        call = ValidCall(ToolCall("1", "bash", json.dumps(given)), bash.TOOL, given, arguments)
        target = await locate_call(call, LocalWorkspace(str(self.root)))
        policy = Policy(Grants(), rules=ALLOWED)
        return decide(call, self.change(target), policy).verdict is Verdict.ALLOW

    def _run(self, command: str, cwd: str | None) -> bytes:
        env = {**bash.environment(os.environ), "HOME": str(self.template.parent)}
        try:
            done = subprocess.run(
                ["/bin/bash", "--noprofile", "--norc", "-c", "--", command],
                cwd=self.root / (cwd or "."),
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=10,
            )
        except subprocess.TimeoutExpired as error:
            return error.stdout or b""
        return done.stdout

    def _state(self) -> dict[str, str]:
        """Return what no rule covers: all outside, and what is protected or secret inside."""
        found = {}
        for path in sorted(self.folder.rglob("*")):
            shown = path.relative_to(self.folder).parts
            own = shown[0] != "ws" or _asks(shown[1:])
            if own and not path.is_fifo():
                found["/".join(shown)] = _stamp(path)
        return found


def _asks(parts: tuple[str, ...]) -> bool:
    if parts[:1] == (".git",):  # git's own data aside
        return parts[1:2] in (("config",), ("hooks",), ("info",))
    return is_protected(parts) or is_secret(parts)


def _stamp(path: Path) -> str:
    status = path.lstat()
    if path.is_symlink():
        return f"link {os.readlink(path)}"
    content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    return f"{status.st_mode:o} {content}"


@pytest.fixture(scope="module")
def template() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve() / "template"
        ground = Ground(folder / "ws")
        subprocess.run(
            ["/bin/bash", "-ec", SETUP], cwd=ground.root, env=ground.env, check=True,
            capture_output=True,
        )  # fmt: skip
        yield folder


@pytest.mark.timeout(300 + COUNT)
def test_no_generated_operand_leads_out_of_what_rules_cover(template: Path) -> None:
    judge = Judge(template, template.parent / "copy")
    judge.refresh()

    @seed(chosen())
    @many
    @given(COMMANDS, FOLDERS)
    def no_escape(command: str, cwd: str | None) -> None:
        judge(command, cwd)

    no_escape()
    tell(f"gate: {judge.judged} commands with operands judged, {judge.ran} run, 0 escapes")
    assert judge.ran > COUNT / 40, "hardly anything was allowed: the test proves little"


def test_the_judge_catches_a_gate_that_does_not_look_at_the_disk(template: Path) -> None:
    def blind(target: CallTarget) -> CallTarget:
        assert target.script is not None
        parts = tuple(replace(part, operands=()) for part in target.script.parts)
        return replace(target, script=replace(target.script, parts=parts))

    judge = Judge(template, template.parent / "blind", blind)
    judge.refresh()

    @seed(1)
    @settings(many, max_examples=400)
    @given(COMMANDS, FOLDERS)
    def no_escape(command: str, cwd: str | None) -> None:
        judge(command, cwd)

    with pytest.raises(Escaped):
        no_escape()
