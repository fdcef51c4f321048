"""Generated commands and paths, with the file system as the judge; and two gates it catches.

``AGENTCHAT_GENERATED`` is how many commands are tried, 1,000 unless it is set; ``AGENTCHAT_SEED``
says which.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from agentchat.core.errors import ToolError
from agentchat.workspace.local import LocalWorkspace
from tests.permissions.gate import Decision, allow
from tests.permissions.ground import Ground
from tests.permissions.report import generated, tell
from tests.permissions.report import seed as chosen

pytestmark = pytest.mark.slow

COUNT = generated()
ALLOWED = ("git status", "git log", "ls", "echo", "cat", "wc", "env", "timeout", "nice", "find",
           "sort", "xargs", "true", "tee", "git", "tar", "sed", "uniq", "test", "printf", "xxd",
           "split", "wait", "rg", "command", "exec", "flock", "setarch", "stdbuf", "setsid", "time",
           "nohup", "builtin", "taskset", "ionice", "script", "!", "busybox", "awk",
           "[")  # fmt: skip
many = settings(
    max_examples=COUNT,
    deadline=None,
    database=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)

PAYLOADS = st.sampled_from(
    ["touch m", "touch 'm'", "t\\ouch m", "{touch,m}", "$'\\x74ouch' m", "/usr/bin/tou?h m",
     "cp f m", "> m", ": >m", "sh s", "./s", "t=touch; $t m", "eval touch m", "d/../s",
     "sh ./d/../s", "$PWD/s", "python3 -c 'open(\"m\", \"w\")'", "tee m", "busybox touch m"]
)  # fmt: skip
PLAIN = st.sampled_from(
    ["git status", "git log -1", "git log --format='%h;%s'", "ls", "echo a", "cat f", "true",
     "echo 'a;b' \"c|d\"", "wc -l f", "find . -name f", "sort f", "ls -la src", "git log --oneline"]
)  # fmt: skip
SEPARATORS = st.sampled_from(
    [";", " ; ", "\n", "\r", "\r\n", " && ", " || ", " | ", " |& ", " & ", "\t", " ", "\\\n",
     " #\n", " # \\\n", ";#\\\n", " \\\n", "\\\n;", "#\\\\\n", " # 'a\\\n", "\x0b", "\u00a0",
     "\u2028", " ! ", "&&\n"]
)  # fmt: skip
REDIRECTIONS = st.sampled_from(
    [" > m", " >> m", " >| m", " &> m", " 2> m", " 3> m", " <> m", " >& m", " >m", " 1>m",
     " 2>&1 >m", " 2>&1", " >/dev/null", " {fd}>m", " > 'm'", " >\\m"]
)  # fmt: skip
WRAPPERS = st.sampled_from(
    ["env", "env -i", "env -S", "env X=1", "timeout 5", "timeout -s KILL 5", "nice", "nice -n 5",
     "xargs", "echo m | xargs", "command", "exec", "nohup", "setsid", "time", "!", "git -c a=b",
     "stdbuf -o0", "builtin", "coproc", "flock f", "taskset 1", "setarch -R", "ionice -c3",
     "exec -a x", "command -p", "env -u A", "timeout --signal=9 5", "sh -c", "script -qc"]
)  # fmt: skip
SUBSTITUTIONS = st.sampled_from(
    ['"$({})"', "$({})", "`{}`", '"`{}`"', "<({})", "${{x:-$({})}}", "$(( $({}) ))", "'{}'",
     '"{}"', "<<X\n$({})\nX", "<<'X'\n$({})\nX", "<<< $({})", "$'{}'", "\\$({})", "a[$({})]"]
)  # fmt: skip
FLAGS = st.sampled_from(
    ["git diff --no-index --output=m f g", "git diff --no-index --outp m f g", "git log --output=m",
     "git grep --no-index -O'touch m;:' a f", "git -c alias.x='!touch m' x", "find f -fprint m",
     "find f -exec touch m ';'", "find f -fls m", "sort -o m f", "sort -ru -om f", "tee m",
     "sort f --output m", "git --exec-path=d x", "git -c core.fsmonitor='touch m;false' status",
     "git log -1 --output m", "env -S'touch m'", "echo m | tee m", "cat f | tee -a m",
     "tar -cf /dev/null --checkpoint=1 --checkpoint-action=exec='touch m' f", "uniq f m",
     "tar cIf 'touch m; cat' /dev/null f", "sed -n '1e touch m' f", "sed 'w m' f", "sed -i p f",
     "sed 's/a/touch m/e' f", "test -v 'a[$(touch m)]'", "xxd f m", "split f m", "wait -p m",
     "printf -v 'a[$(touch m)]' x", "git archive -o m HEAD", "git config --get a.b --edit",
     "git fetch 'ext::sh -c touch% m'", "git bundle create m HEAD", "rg --pre ./s a f"]
)  # fmt: skip

SED_PIECES = st.sampled_from(
    ["s/", "/", "/", "[", "]", "[^", "[]", "w m", "e touch m", "w src/m", "p", ";", "g", "!", "1",
     "$", ",", "\\", "|", "#", "{", "}", "\n", " ", "e", "w", "I", "[a/]", "[[:alpha:]]", "\\/",
     "W m"]
)  # fmt: skip
AWK_PIECES = st.sampled_from(
    ["{", "}", "print", "printf", "/", '"', "\\", '\\"', ">", '> "m"', "|", '| "sh"', '"touch m"',
     "||", ">=", "1", "$1", " ", ";", "\n", "(", ")", "[", "]", "\\/", "getline", "@", "BEGIN", "#"]
)  # fmt: skip


def _scripts(start: str, pieces: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(pieces, max_size=8).map(lambda said: f"{start}{''.join(said)}' f")


def _inside(shape: str, inner: str) -> str:
    return shape.replace("{}", inner).replace("{{", "{").replace("}}", "}")


HARMFUL = st.one_of(
    PAYLOADS,
    FLAGS,
    st.builds(lambda plain, to: plain + to, PLAIN, REDIRECTIONS),
    st.builds(lambda w, p: f"{w} {p}", WRAPPERS, PAYLOADS),
    st.builds(lambda p, s, i: f"{p} {_inside(s, i)}", PLAIN, SUBSTITUTIONS, PAYLOADS),
    st.builds(lambda p: f"f(){{ {p}; }}; f", PAYLOADS),
    st.builds(lambda a, p: f"git(){{ {p}; }}{a}git status", SEPARATORS, PAYLOADS),
    st.builds(lambda p: f"if {p}; then true; fi", PAYLOADS),
    *(_scripts(f"sed '{start}", SED_PIECES) for start in ("", "s/[/]/", "s/a/b/g;", "/[/]")),
    *(_scripts(f"awk '{start}", AWK_PIECES) for start in ("", "{print ", "BEGIN{print $1")),
)
PARTS = st.one_of(PLAIN, HARMFUL)
COMMANDS = st.one_of(
    st.builds(
        lambda first, more: first + "".join(a + b for a, b in more),
        PLAIN,
        st.lists(st.tuples(SEPARATORS, PARTS), max_size=3),
    ),
    HARMFUL,
    st.builds(
        lambda p, q: f"{p}{q}", PLAIN, st.text("abm;|&<>$`\"'\\(){}[]*?!#~= \t\n", max_size=12)
    ),
)

Allows = Callable[[str], Coroutine[Any, Any, bool]]


class Caught(Exception):
    """Something happened that nobody consented to."""


class Judge:
    """Runs what a gate lets through, and looks at what it did; counts all three."""

    def __init__(self, ground: Ground, allows: Allows) -> None:
        self._ground = ground
        self._allows = allows
        self.judged = self.ran = 0

    def __call__(self, command: str) -> None:
        self.judged += 1
        if not asyncio.run(self._allows(command)):
            return
        self.ran += 1
        before = self._state()
        self._ground.run(command)
        after = self._state()
        for name in after.keys() - before.keys():
            Path(name).unlink(missing_ok=True)
        if after != before:
            raise Caught(command)

    def _state(self) -> dict[str, tuple[int, int]]:
        """Return the files there are, with size and time; git's own locks and caches aside."""
        found = [p for p in self._ground.root.parent.rglob("*") if ".git" not in p.parts]
        found += [self._ground.root / ".git" / "config", *self._ground.root.glob(".git/hooks/*")]
        return {str(p): _stamp(p) for p in found if not p.is_dir()}


def _stamp(path: Path) -> tuple[int, int]:
    said = path.lstat()
    return said.st_size, said.st_mtime_ns


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name).resolve()


SHARES = 2
"""Into how many tests the commands are divided, so that they run side by side."""


@pytest.mark.timeout(300 + COUNT)  # they run for real, on whatever machine this is
@pytest.mark.parametrize("share", range(SHARES))
def test_no_generated_command_has_an_effect_that_was_not_allowed(folder: Path, share: int) -> None:
    ground = Ground(folder / f"real{share}" / "ws")
    judge = Judge(ground, Decision(ground.root, allow(*ALLOWED)).allows)

    @seed(chosen() * SHARES + share)
    @settings(many, max_examples=COUNT // SHARES)
    @given(COMMANDS)
    def no_effect(command: str) -> None:
        judge(command)

    no_effect()
    tell(f"gate: {judge.judged} commands judged, {judge.ran} run, 0 effects without consent")
    assert judge.ran > COUNT / SHARES / 50, "hardly anything was allowed: the test proves little"


@pytest.mark.timeout(300 + COUNT)
def test_an_exact_repeat_of_a_generated_command_is_not_asked_again(folder: Path) -> None:
    ground = Ground(folder / "repeats" / "ws")
    judged = asked = 0

    @seed(chosen())
    @settings(many, max_examples=max(COUNT // 4, 100))
    @given(COMMANDS)
    def no_question(command: str) -> None:
        nonlocal judged, asked
        decision = Decision(ground.root, ())
        if asyncio.run(decision.remembers(command)):
            judged += 1
            asked += not asyncio.run(decision.allows(command))
            assert not asyncio.run(decision.allows(f"{command} ")), "other bytes"

    no_question()
    tell(f"gate: {judged} commands repeated exactly, {asked} asked again")
    assert asked == 0


def test_the_judge_catches_a_gate_that_compares_words_of_shlex(folder: Path) -> None:
    async def allows(command: str) -> bool:
        try:
            words = shlex.split(command)
        except ValueError:
            return False
        if any(mark in command for mark in "|;&<>$`"):
            return False
        return any(words[: len(a.split())] == a.split() for a in ("git status", "git log", "ls"))

    assert _is_caught(Judge(Ground(folder / "shlex" / "ws"), allows))


def _is_caught(judge: Judge) -> bool:
    @seed(1)
    @settings(many, max_examples=1000)
    @given(COMMANDS)
    def no_effect(command: str) -> None:
        judge(command)

    try:
        no_effect()
    except Caught:
        return True
    return False


STEPS = st.sampled_from(
    ["..", ".", "src", "lin", "a", "m", "", "lin2", "ws-evil", "~", "$HOME", "*"]
)
PATHS = st.builds(
    lambda start, steps: start + "/".join(steps),
    st.sampled_from(["", "/", "{root}/", "{root}-evil/", "{root}/../", "{outside}/", "./"]),
    st.lists(STEPS, min_size=1, max_size=5),
)


class Paths:
    """A workspace with links out of it, and a place outside whose name begins like its own."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "ws"
        self.outside = folder / "ws-evil"
        for made in (self.root / "src", self.outside / "a"):
            made.mkdir(parents=True)
        (self.root / "lin").symlink_to(self.outside)
        (self.root / "lin2").symlink_to("../ws-evil/a")

    def given(self, path: str) -> str:
        return path.replace("{root}", str(self.root)).replace("{outside}", str(self.outside))

    def write(self, path: str) -> None:
        """Write as a tool would once the path may be written, and look where it went."""
        before = self._outside()
        target = Path(path)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("written")
        except OSError:
            pass
        if self._outside() != before:
            raise Caught(path)

    def _outside(self) -> dict[str, float]:
        folder = self.root.parent
        return {
            str(p): p.stat().st_mtime_ns
            for p in folder.rglob("*")
            if self.root not in (p, *p.parents) and p.is_file()
        }


Locates = Callable[[Paths, str], Coroutine[Any, Any, "str | None"]]


def _write_generated(folder: Path, locates: Locates) -> int:
    written = 0

    @seed(chosen())
    @settings(many, max_examples=max(COUNT // 5, 100))
    @given(PATHS)
    def stays_inside(path: str) -> None:
        nonlocal written
        shutil.rmtree(folder, ignore_errors=True)
        paths = Paths(folder)
        target = asyncio.run(locates(paths, paths.given(path)))
        if target is not None:
            written += 1
            paths.write(target)

    stays_inside()
    return written


@pytest.mark.timeout(120 + COUNT // 10)
def test_no_generated_path_leads_out_of_the_workspace(folder: Path) -> None:
    async def locates(paths: Paths, path: str) -> str | None:
        try:
            target = await LocalWorkspace(str(paths.root)).locate(path)
        except ToolError:
            return None
        return target.path if target.ordinary else None

    assert _write_generated(folder / "paths", locates) > 20


def test_the_judge_catches_a_gate_that_compares_the_beginning_of_paths(folder: Path) -> None:
    async def locates(paths: Paths, path: str) -> str | None:
        joined = os.path.normpath(os.path.join(paths.root, path))
        return joined if joined.startswith(str(paths.root)) else None

    with pytest.raises(Caught):
        _write_generated(folder / "startswith", locates)
