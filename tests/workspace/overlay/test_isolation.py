"""A command that nobody was asked about changes nothing, and what it changed is a value."""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from scripts.layers import PACKAGE

from agentchat.core.errors import ToolError, Unreachable
from agentchat.core.workspace import Command
from agentchat.workspace.local import LocalWorkspace
from agentchat.workspace.overlay.client import Limits
from agentchat.workspace.overlay.folder import OverlayFolder, sweep
from agentchat.workspace.overlay.isolation import IsolatedRun, Isolation, Kept
from tests.workspace.overlay.staging import ENVIRONMENT, plainly, tree

pytestmark = pytest.mark.slow


class UnsavedWorkspace(LocalWorkspace):
    """A workspace with an editor that has unsaved texts."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.texts: dict[str, bytes] = {}

    async def unsaved(self) -> dict[str, bytes]:
        return self.texts

    async def read(self, path: str, limit: int | None = None, start: int = 0) -> bytes:
        if path in self.texts:
            return self.texts[path][start:][:limit]
        return await super().read(path, limit, start)


@dataclass
class Isolated:
    """A project, and commands that run isolated in it."""

    project: Path
    state: Path
    workspace: UnsavedWorkspace
    isolation: Isolation

    async def run(self, command: str, **more: object) -> IsolatedRun:
        network = bool(more.pop("network", False))
        argv = ("/bin/bash", "-c", command)
        settings = {"env": ENVIRONMENT, "merge_stderr": True, "timeout": 60, **more}
        inside = Command(argv, str(self.project), **settings)  # type: ignore[arg-type]
        return await self.isolation.run(inside, network=network)

    async def output(self, command: str, **more: object) -> str:
        run = await self.run(command, **more)
        return run.result.head.decode()


def open_isolated(
    project: Path, state: Path, home: Path, path: str = os.environ["PATH"], **more: object
) -> Isolated:
    workspace = UnsavedWorkspace(str(project))
    isolation = Isolation(
        workspace,
        OverlayFolder(state / "chat"),
        hidden=(str(state),),
        variables={**os.environ, "HOME": str(home), "PATH": path},
        **more,  # type: ignore[arg-type]
    )
    return Isolated(project, state, workspace, isolation)


@pytest.fixture
async def isolated(tmp_path: Path) -> AsyncIterator[Isolated]:
    project, home = tmp_path / "home/project", tmp_path / "home"
    for name in ("a.txt", "b.txt", "src/one.py", "run.sh"):
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name}\nsecond line\nthird line\n")
    opened = open_isolated(project, tmp_path / "state", home)
    try:
        await opened.isolation.ready()
    except Unreachable as reason:
        pytest.skip(str(reason))
    yield opened
    await opened.isolation.close()
    assert not list(opened.state.iterdir())


def names(run: IsolatedRun) -> dict[str, str]:
    return {file.name: file.letter for file in run.change.files}


# --- what is a change -----------------------------------------------------------------------------


def begin_repository(project: Path) -> None:
    (project / ".gitignore").write_text("build/\n*.o\n")
    plainly("git init -q -b main && git add -A && git commit -qm 1", project)


NO_CHANGE = (
    "ls -la; cat a.txt",
    "touch a.txt src",
    "cp a.txt copy; cat copy; rm copy",
    "echo more >> a.txt; git checkout -q a.txt",
    "git status; git diff; git log",
    "touch a.txt; GIT_OPTIONAL_LOCKS=1 git status; git update-index --refresh",
    "git hash-object -w a.txt; git write-tree",
    "echo x | git hash-object -w --stdin",
    "mkdir -p build; echo 1 > build/1; echo 2 > src/two.o",
    "mkdir -p src/__pycache__ .pytest_cache/v; echo 1 > src/__pycache__/one.pyc; "
    "echo 1 > .pytest_cache/v/last",
    "mkdir .benchmarks .gradle .eggs; echo 1 > .gradle/lock",
    "echo 1 > ../beside; echo 1 > /tmp/x; echo 1 > ~/.config; mkdir ~/deep",
)


async def test_what_counts_as_no_change(isolated: Isolated) -> None:
    begin_repository(isolated.project)
    before = tree(isolated.project.parent)
    for command in NO_CHANGE:
        run = await isolated.run(command)
        assert run.result.code == 0, (command, run.result.head)
        assert names(run) == {}, command
        assert tree(isolated.project.parent) == before, command


async def test_changes_are_a_value_and_the_next_command_does_not_see_them(
    isolated: Isolated,
) -> None:
    before = tree(isolated.project)
    run = await isolated.run(
        "echo more >> a.txt; rm b.txt; mv src/one.py src/1.py; mkdir new; echo x > new/x; "
        "chmod +x run.sh; ln -s a.txt link; mkfifo pipe"
    )
    assert names(run) == {
        "a.txt": "M",
        "b.txt": "D",
        "src/one.py → src/1.py": "R",
        "new/x": "A",
        "run.sh (mode)": "M",
        "link (symlink)": "A",
    }
    assert run.skipped == ("pipe (pipe)",)
    assert tree(isolated.project) == before
    assert await isolated.output("ls; cat a.txt") == (
        "a.txt\nb.txt\nrun.sh\nsrc\na.txt\nsecond line\nthird line\n"
    )


async def test_git_data_is_one_line_and_what_acts_later_stands_by_itself(
    isolated: Isolated,
) -> None:
    begin_repository(isolated.project)
    run = await isolated.run("echo x > new; git add -A; git commit -qm 2")
    assert list(names(run)) == ["new", ".git: index, refs/heads/main"]
    assert len(run.change.files[1].members) > 3
    run = await isolated.run(
        "git config core.fsmonitor ./x; echo > .git/hooks/pre-commit; "
        "echo '* filter=x' > .git/info/attributes; git branch new"
    )
    assert set(names(run)) == {
        ".git/config", ".git/hooks/pre-commit", ".git/info/attributes",
        ".git: refs/heads/new",
    }  # fmt: skip


async def test_a_command_sees_the_project_and_its_unsaved_buffers_as_they_are(
    isolated: Isolated,
) -> None:
    path, new = isolated.project / "a.txt", isolated.project / "deep/new.txt"
    isolated.workspace.texts = {str(path): b"unsaved\n", str(new): b"not on disk\n"}
    (isolated.project / "b.txt").write_text("saved meanwhile\n")
    run = await isolated.run("cat a.txt b.txt deep/new.txt; echo more >> a.txt")
    assert run.result.head == b"unsaved\nsaved meanwhile\nnot on disk\n"
    (file,) = run.change.files
    assert (file.name, file.before, file.after) == ("a.txt", b"unsaved\n", b"unsaved\nmore\n")
    assert path.read_text().startswith("a.txt\n")
    isolated.workspace.texts = {}
    (isolated.project / "b.txt").write_text("again\n")
    assert await isolated.output("cat b.txt; ls") == "again\na.txt\nb.txt\nrun.sh\nsrc\n"


async def test_what_the_user_changed_while_a_command_did_is_named(isolated: Isolated) -> None:
    running = asyncio.ensure_future(isolated.run("echo started; sleep 0.3; echo x >> b.txt"))
    await asyncio.sleep(0.15)
    (isolated.project / "b.txt").write_text("theirs\n")
    assert (await running).moved == ("b.txt",)


# --- ignored files --------------------------------------------------------------------------------

BUILD = (
    "mkdir -p build/deep; for f in a b; do "
    "[ build/deep/$f.o -nt $f.txt ] || { echo compiled $f; cp $f.txt build/deep/$f.o; }; done"
)


async def test_ignored_files_make_a_second_build_warm_and_never_reach_the_project(
    isolated: Isolated,
) -> None:
    begin_repository(isolated.project)
    before = tree(isolated.project)
    first = await isolated.run(BUILD)
    assert first.result.head == b"compiled a\ncompiled b\n"
    assert first.kept == Kept(2, ("build/",))
    assert (await isolated.run(BUILD)).result.head == b""
    (isolated.project / "a.txt").write_text("changed by the user\n")
    again = await isolated.run(BUILD)
    assert (again.result.head, again.kept) == (b"compiled a\n", Kept(1, ("build/",)))
    assert await isolated.output("cat build/deep/a.o") == "changed by the user\n"
    await isolated.run("rm -r build")
    assert (await isolated.run(BUILD)).result.head == b"compiled a\ncompiled b\n"
    before["a.txt"] = (before["a.txt"][0], b"changed by the user\n")
    assert tree(isolated.project) == before


async def test_what_the_user_changed_since_wins_over_a_kept_file(isolated: Isolated) -> None:
    begin_repository(isolated.project)
    plainly("mkdir -p build/there; echo user > build/there/1.o", isolated.project)
    await isolated.run("echo kept > build/there/1.o; echo kept > build/there/2.o; echo 3 > 3.o")
    show = "cat build/there/*.o 3.o; true"
    assert await isolated.output(show) == "kept\nkept\n3\n"
    plainly("echo again > build/there/1.o", isolated.project)
    assert await isolated.output(show) == "again\nkept\n3\n"
    plainly("echo made > build/there/2.o; echo mine > 3.o", isolated.project)
    assert await isolated.output(show) == "again\nmade\nmine\n"
    await isolated.run("echo kept > build/there/1.o; rm build/there/2.o")
    assert (await isolated.output(show)).startswith("kept\nmine\n")
    plainly("rm -r build", isolated.project)
    assert await isolated.output("ls -d build; true") == (
        "ls: cannot access 'build': No such file or directory\n"
    )


async def test_a_replaced_folder_of_ignored_files_hides_nothing_of_the_user(
    isolated: Isolated,
) -> None:
    begin_repository(isolated.project)
    plainly("mkdir build; echo user > build/1.o", isolated.project)
    await isolated.run("rm -r build; mkdir build; echo kept > build/2.o")
    plainly("echo new > build/3.o", isolated.project)
    assert await isolated.output("cat build/*.o") == "user\nkept\nnew\n"


async def test_a_kept_symlink_leads_no_later_file_out_of_the_overlay(
    isolated: Isolated, tmp_path: Path
) -> None:
    (isolated.project / ".gitignore").write_text("k\n!k/\n*.o\n.bashrc\n")
    plainly("git init -q -b main && git add -A && git commit -qm 1", isolated.project)
    target = tmp_path / "home/elsewhere"
    target.mkdir()
    (target / "a.o").write_text("theirs\n")
    before = tree(tmp_path / "home")
    for way in (f"ln -sfn {target}", f"mkdir -p src/deep; ln -sfn {target} src/deep/k; ln -sfn .."):
        await isolated.run(f"{way} k")
        for folder in ("k", "src/deep/k"):
            files = f"{folder}/a.o {folder}/.bashrc {folder}/d/b.o"
            command = f"rm -rf {folder}; mkdir -p {folder}/d; echo evil | tee {files}"
            assert await isolated.output(command) == "evil\n"
            assert tree(tmp_path / "home") == before
    assert await isolated.output("cat k/a.o") == "evil\n"


@pytest.mark.parametrize("folder", ["src", "build"])
async def test_folders_of_any_depth_are_an_error_and_leave_nothing(
    isolated: Isolated, folder: str
) -> None:
    begin_repository(isolated.project)
    deep = "import os\nfor _ in range(1500): os.mkdir('d'); os.chdir('d')"
    with pytest.raises(ToolError, match="too deep to be shown"):
        await isolated.run(f"mkdir -p {folder}; cd {folder}; python3 -c {shlex.quote(deep)}")
    assert await isolated.output("ls -d */d; true") == (
        "ls: cannot access '*/d': No such file or directory\n"
    )


async def test_kept_files_end_at_the_quota_and_with_the_chat(
    isolated: Isolated, tmp_path: Path
) -> None:
    begin_repository(isolated.project)
    small = open_isolated(
        isolated.project, tmp_path / "small", tmp_path / "home", limits=Limits(quota_mb=4)
    )
    write = "mkdir -p build; head -c 2000000 /dev/zero > build/{}"
    assert (await small.run(write.format(1))).kept == Kept(1, ("build/",))
    assert (await small.run(write.format(2))).kept == Kept(1, ("build/",), ended=True)
    assert await small.output("ls build 2>&1; true") != "1\n2\n"
    await small.isolation.close()
    assert list(small.state.iterdir()) == []


# --- secrets --------------------------------------------------------------------------------------


async def test_secrets_of_the_project_cannot_be_opened_also_new_ones(isolated: Isolated) -> None:
    (isolated.project / ".env").write_text("KEY=sesame\n")
    (isolated.project / "src/server.pem").write_text("sesame\n")
    (isolated.project / "link").symlink_to(".env")
    command = (
        "cat .env src/server.pem link; grep -r sesame .; cp .env x; chmod 644 .env; "
        "cat .env; mv src lib; cat lib/server.pem; python3 -c 'print(open(\".env\").read())'"
    )
    assert "sesame" not in await isolated.output(command)
    (isolated.project / "src/deep").mkdir()
    (isolated.project / "src/deep/.env.local").write_text("KEY=sesame\n")
    run = await isolated.run("cat src/deep/.env.local")
    assert b"Permission denied" in run.result.head
    assert run.result.code == 1
    assert names(await isolated.run("rm -f .env; echo x > .env")) == {}


async def test_an_unsaved_secret_is_not_shown(isolated: Isolated) -> None:
    texts = {".env": b"KEY=sesame\n", "src/.ssh/new": b"sesame\n", "a.txt": b"shown\n"}
    isolated.workspace.texts = {str(isolated.project / name): t for name, t in texts.items()}
    printed = await isolated.output("cat .env src/.ssh/new; grep -r sesame .; cat a.txt")
    assert printed.endswith("shown\n")
    assert "sesame" not in printed


async def test_git_settings_are_shown_without_passwords(isolated: Isolated) -> None:
    begin_repository(isolated.project)
    plainly(
        "git remote add origin https://user:sesame-of-ours-1234@example.org/x.git; "
        "git config http.extraheader 'Authorization: Basic sesame-of-ours-1234'",
        isolated.project,
    )
    run = await isolated.run("cat .git/config; git remote -v; git config -l; git status")
    assert run.result.code == 0
    assert b"sesame" not in run.result.head
    assert b"example.org/x.git (push)" in run.result.head
    assert names(run) == {}
    run = await isolated.run("git config core.fsmonitor x; cat .git/config")
    assert b"sesame" not in run.result.head
    assert names(run) == {".git/config": "M"}
    assert all(b"sesame" not in (f.before or b"") for f in run.change.files)


async def test_git_takes_a_secret_that_it_knows_for_unchanged(isolated: Isolated) -> None:
    key = isolated.project / "test.key"
    key.write_text("sesame\n")
    os.utime(key, (1, 1))  # git reads files that are as new as its index
    begin_repository(isolated.project)
    run = await isolated.run("git status --short; git diff; git add -A; git commit -am 2")
    assert names(run) == {}
    assert run.result.head == b"On branch main\nnothing to commit, working tree clean\n"
    changed = await isolated.run("echo x > new; git add -A; git commit -qm 2; git show --stat")
    assert b"1 file changed" in changed.result.head


async def test_a_secret_that_a_command_makes_is_a_change(isolated: Isolated) -> None:
    assert names(await isolated.run("echo KEY=1 > .env.test")) == {".env.test": "A"}


async def test_a_failed_command_names_what_it_tried_and_could_not_see(isolated: Isolated) -> None:
    key = isolated.project.parent / ".ssh/id_rsa"
    key.parent.mkdir()
    key.write_text("sesame")
    run = await isolated.run(f"cat {key} /nowhere /usr/bin/env > /dev/null")
    assert run.hidden == (str(key),)
    assert (await isolated.run(f"echo {key}")).hidden == ()


async def test_the_environment_has_no_key_and_names_no_socket(isolated: Isolated) -> None:
    variables = {**ENVIRONMENT, "OPENAI_API_KEY": "sesame", "NVIM": "/x", "LC_TIME": "C"}
    printed = await isolated.output("env", env=variables)
    assert "LC_TIME=C" in printed
    assert not [name for name in ("OPENAI_API_KEY", "NVIM", "sesame") if name in printed]


async def test_git_knows_the_user_and_runs_no_helper_of_the_user(isolated: Isolated) -> None:
    (isolated.project.parent / ".gitconfig").write_text(
        "[user]\n\tname = Real Name\n\temail = r@x\n[credential]\n\thelper = store\n"
    )
    home = isolated.project.parent
    plainly("git init -q", isolated.project)
    await isolated.isolation.close()
    again = open_isolated(isolated.project, isolated.state, home)
    printed = await again.output("git config --global --list")
    await again.isolation.close()
    assert "user.name=Real Name\nuser.email=r@x\n" in printed
    assert "credential" not in printed


# --- ends -----------------------------------------------------------------------------------------


def sleeps(pattern: str) -> bool:
    """Whether a process with such a command line runs on this machine."""
    return subprocess.run(["pgrep", "-f", pattern], capture_output=True).returncode == 0


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds, which nothing announces."""
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_background_processes_end_with_the_command_and_are_counted(
    isolated: Isolated,
) -> None:
    run = await isolated.run(
        "env -i /usr/bin/setsid /bin/sleep 98764 >/dev/null 2>&1 & "
        "(nohup sleep 98764 >/dev/null 2>&1 &) ; sleep 0.2; echo done"
    )
    assert (run.result.head, run.ended) == (b"done\n", 2)
    assert not sleeps("sleep 9876[4]")


async def test_a_timeout_is_told_and_what_was_changed_until_then(isolated: Isolated) -> None:
    began = time.monotonic()
    run = await isolated.run("echo x > new; trap '' TERM; sleep 98763", timeout=0.5)
    assert time.monotonic() - began < 5
    assert (run.result.code, names(run)) == (None, {"new": "A"})


async def test_a_cancelled_command_is_dead(isolated: Isolated) -> None:
    running = asyncio.ensure_future(isolated.run("exec sleep 98762"))
    await until(lambda: sleeps("sleep 9876[2]"))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not sleeps("sleep 9876[2]")
    assert await isolated.output("echo alive") == "alive\n"


async def test_a_missing_program_or_directory_is_told(isolated: Isolated) -> None:
    with pytest.raises(ToolError, match=r"Cannot run /nowhere: No such file or directory. Nothing"):
        await isolated.isolation.run(Command(("/nowhere",), str(isolated.project)))
    with pytest.raises(ToolError, match=r"Working directory not found: /home/nobody. Nothing was"):
        await isolated.isolation.run(Command(("true",), "/home/nobody"))


async def test_a_killed_server_is_started_again(isolated: Isolated) -> None:
    client = isolated.isolation._client
    assert client is not None
    assert client._process is not None
    running = asyncio.ensure_future(isolated.run("sleep 98761"))
    await until(lambda: sleeps("sleep 9876[1]"))
    client._process.kill()
    with pytest.raises(Unreachable, match="The next call starts it again"):
        await running
    await until(lambda: not sleeps("sleep 9876[1]"))
    assert await isolated.output("echo alive") == "alive\n"


HOST = """
import asyncio, os, sys
from pathlib import Path
from agentchat.core.workspace import Command
from agentchat.workspace.local import LocalWorkspace
from agentchat.workspace.overlay.folder import OverlayFolder
from agentchat.workspace.overlay.isolation import Isolation

project, state = sys.argv[1:]
isolation = Isolation(LocalWorkspace(project), OverlayFolder(Path(state)))
command = Command(("sh", "-c", "setsid sleep 98760 & sleep 98760"), project, env=dict(os.environ))
asyncio.run(isolation.run(command))
"""


async def test_nothing_is_left_of_a_killed_host_but_files_to_sweep(
    isolated: Isolated, tmp_path: Path
) -> None:
    state = tmp_path / "killed/chat"
    argv = (sys.executable, "-c", HOST, str(isolated.project), str(state))
    host = subprocess.Popen(  # noqa: ASYNC220
        argv, env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    )
    await until(lambda: sleeps("sleep 9876[0]"))
    host.kill()
    host.wait()
    await until(lambda: not sleeps("sleep 9876[0]"))
    await until(lambda: not sleeps(f"{state}"))
    assert str(state) not in Path("/proc/mounts").read_text()
    sweep(state.parent, keeps_changes=False)
    assert not state.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
async def test_a_mount_inside_the_workspace_is_the_reason_why_there_is_no_overlay(
    isolated: Isolated,
) -> None:
    volume = isolated.project / "src"
    assert plainly(f"mount -t tmpfs none {volume}", isolated.project).returncode == 0
    try:
        assert isolated.isolation.why_impossible() == (
            f"{volume} is mounted inside the workspace, so no overlay can show it. "
            "Open a folder without mounts."
        )
    finally:
        assert plainly(f"umount {volume}", isolated.project).returncode == 0


async def test_input_and_errors_are_passed(isolated: Isolated) -> None:
    run = await isolated.run("cat; echo bad >&2", stdin=b"input", merge_stderr=False)
    assert (run.result.head, run.result.stderr) == (b"input", b"bad\n")


# --- limits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("bomb() { bomb | bomb & }; bomb; sleep 20", "it ran more than 100 processes"),
        (
            'for i in 1 2 3 4; do python3 -c \'x = b"1" * (80 << 20); '
            "import time; time.sleep(20)' & done; wait",
            "it used more than 200 MiB of memory",
        ),
        ("head -c 90M /dev/zero > x; head -c 90M /dev/zero > y; sleep 20", "exceeds 160 MiB"),
    ],
)
async def test_a_bomb_is_stopped_and_the_message_says_why(
    isolated: Isolated, tmp_path: Path, command: str, reason: str
) -> None:
    limits = Limits(processes=100, memory_mb=200, quota_mb=160)
    small = open_isolated(isolated.project, tmp_path / "small", tmp_path / "home", limits=limits)
    run = await small.run(command)
    assert reason in run.stopped
    assert run.result.code == -9
    assert (await small.run("echo alive")).result.head == b"alive\n"
    await small.isolation.close()


async def test_one_process_cannot_have_more_memory_than_all_may(
    isolated: Isolated, tmp_path: Path
) -> None:
    limits = Limits(memory_mb=100)
    small = open_isolated(isolated.project, tmp_path / "small", tmp_path / "home", limits=limits)
    assert "MemoryError" in await small.output("python3 -c 'x = bytearray(200 << 20)'")
    await small.isolation.close()


async def test_temporary_files_are_limited(isolated: Isolated, tmp_path: Path) -> None:
    limits = Limits(quota_mb=8)
    small = open_isolated(isolated.project, tmp_path / "small", tmp_path / "home", limits=limits)
    assert "No space left" in await small.output("head -c 3M /dev/zero > /tmp/x")
    await small.isolation.close()
