"""What runs in an overlay changes nothing of the project until it is applied, then all of it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from scripts.layers import PACKAGE

from agentchat.core.diff.changeset import ChangeSet, FileChange
from agentchat.core.errors import ToolError, Unreachable
from agentchat.workspace.overlay.folder import sweep
from tests.workspace.overlay.staging import (
    Staging,
    Tree,
    open_staging,
    plainly,
    tree,
    try_staging,
)

pytestmark = pytest.mark.slow


@pytest.fixture
async def staging(tmp_path: Path) -> AsyncIterator[Staging]:
    project = tmp_path / "project"
    for name in ("a.txt", "b.txt", "src/one.py", "src/two.py", "src/deep/three.py", "run.sh"):
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name}\nsecond line\nthird line\n")
    opened = await try_staging(project, tmp_path / "state")
    yield opened
    await opened.overlay.close()


COMMANDS = (
    "git init -q -b main && printf 'build/\\n*.o\\n' > .gitignore && git add -A",
    "git commit -qm 1",
    "sed -i 's/second/2nd/' a.txt src/*.py",
    "rm -r src/deep",
    "git checkout -q . && git status --short",
    "rm -r src/deep",
    "mv b.txt c.txt",
    "mv src lib",
    "mkdir -p src && cp lib/one.py src/copy.py",
    "ln -s a.txt link && ln -s /nowhere broken",
    "ln -sfn lib/one.py link",
    "chmod 755 run.sh && chmod 600 a.txt",
    "chmod 700 lib",
    "printf 'x' >> a.txt",
    "printf '\\0\\1\\2' > binary && cp binary other",
    "printf '1,2c1\\n< a\\n---\\n> b\\n' > p.diff; printf 'a\\n' > pa; printf 'b\\n' > pb; "
    "diff -u --label pa --label pb pa pb > p.diff; patch -s pa p.diff",
    "mkdir -p empty/one/two && mkdir -m 750 private",
    "mkdir node_modules && printf '{}' > node_modules/package.json && touch package-lock.json",
    "mkdir -p .venv/lib && printf 'pkg' > .venv/lib/pkg.py && ln -s lib .venv/lib64",
    "printf 'all:\\n\\tmkdir -p build && for i in `seq 300`; do echo $$i > build/$$i.o; done\\n' "
    "> Makefile && (make -s || true)",
    "mkdir -p build && for i in `seq 300`; do echo $i > build/$i.o; done",
    "find . -name '1*.o' -delete",
    "find lib -name '*.py' | xargs sed -i 's/line/LINE/'",
    "touch 'a b' \"it's\" '-dash' \"$(printf 'caf\\303\\251')\" && rm -- -dash",
    "printf 'new' > tmp && mv tmp a.txt",
    "rm a.txt && ln -s b.txt a.txt",
    "rm link && printf 'a file now' > link",
    "rm -r lib && mkdir -p lib/again && printf 'z' > lib/again/z",
    "tar cf t.tar --mtime=@0 --sort=name lib && rm -r lib && tar xf t.tar",
    "git add -A && git commit -qm 2 && git tag v1 && git branch topic",
    "git checkout -q topic && git rm -q --cached c.txt && git stash -q || true",
    "truncate -s 100 c.txt; : > run.sh",
    "umask 077; printf 's' > secret",
    "rm c.txt && mkdir c.txt && printf 'x' > c.txt/inside",
    "rm -r empty && printf 'was a folder' > empty",
    "rm -r private && ln -s src private && rm broken && mkdir -p broken/deep",
)
"""Real command lines, each of which works on what the ones before it left."""


async def test_thirty_commands_change_nothing_until_applied_and_then_what_a_plain_run_does(
    staging: Staging, tmp_path: Path
) -> None:
    plain = tmp_path / "plain"
    shutil.copytree(staging.project, plain, symlinks=True)
    before = tree(staging.project)
    for command in COMMANDS:
        code, output = await staging.run(command)
        done = plainly(command, plain)
        assert (code, command) == (done.returncode, command), (output, done.stderr)
        assert tree(staging.project) == before, command
    await staging.apply()
    changed = _without_stat_data(tree(staging.project))
    assert changed == _without_stat_data(tree(plain))
    assert plainly("git status --short && git log", staging.project).returncode == 0
    assert (await staging.changes()).changes_nothing


async def test_a_file_that_was_moved_and_made_private_is_private_when_applied(
    staging: Staging,
) -> None:
    (staging.project / "run.sh").chmod(0o755)
    await staging.run("mv b.txt n.txt; chmod 600 n.txt; mv run.sh r; chmod 644 r; mv a.txt c.txt")
    assert await staging.named() == {
        "b.txt": "D", "n.txt": "A", "run.sh": "D", "r": "A", "a.txt → c.txt": "R",
    }  # fmt: skip
    await staging.apply()
    modes = {path.name: path.stat().st_mode & 0o777 for path in staging.project.iterdir()}
    assert (modes["n.txt"], modes["r"]) == (0o600, 0o644)


def _without_stat_data(found: Tree) -> Tree:
    """Leave out what holds times or numbers of files: the index of git, logs, archives."""
    varying = (".git/index", ".git/logs", "t.tar", ".git/refs/stash", ".git/ORIG_HEAD")
    kept = {name: one for name, one in found.items() if not name.startswith(varying)}
    return {name: one for name, one in kept.items() if not name.startswith(".git/objects/")}


async def test_what_is_discarded_leaves_nothing(staging: Staging) -> None:
    before = tree(staging.project)
    await staging.run("rm -r src; mkdir -m 000 locked; echo x > a.txt")
    assert not (await staging.changes()).changes_nothing
    await staging.overlay.clear()
    assert (await staging.changes()).changes_nothing
    assert tree(staging.project) == before
    assert (await staging.run("cat a.txt; ls"))[1].startswith("a.txt\nsecond line")
    await staging.overlay.close()
    assert not (staging.state / "chat").exists()


async def test_changes_are_told_apart(staging: Staging) -> None:
    await staging.run(
        "echo more >> a.txt; rm b.txt; mv src/one.py src/1.py; chmod +x run.sh; "
        "ln -s a.txt link; mkdir empty; printf '\\0' > binary; mkfifo pipe"
    )
    assert await staging.named() == {
        "a.txt": "M",
        "b.txt": "D",
        "binary": "A",
        "src/one.py → src/1.py": "R",
        "run.sh (mode)": "M",
        "link (symlink)": "A",
        "empty (folder)": "A",
    }
    assert staging.overlay.changes.skipped == ["pipe (pipe)"]


async def test_git_and_ignored_files_are_one_line_each(staging: Staging) -> None:
    plainly("git init -q -b main", staging.project)
    (staging.project / ".gitignore").write_text("build/\n")
    await staging.run(
        "git add -A; git commit -qm 1; mkdir build; echo 1 > build/1; echo 2 > build/2"
    )
    files = (await staging.changes()).files
    names = [file.name for file in files]
    assert names[0].startswith(".git: ")
    assert "index" in names[0]
    assert "refs/heads/main" in names[0]
    assert names[1:] == ["ignored by git, 4 bytes"]
    assert [len(file.members) > 1 for file in files] == [True, True]


ATTEMPTS = (
    ("echo x > /etc/agentchat-was-here", "Read-only file system"),
    ("echo x > ../beside; false", ""),
    ("mount -t tmpfs none /opt", "permission denied|must be superuser|not permitted"),
    ("umount -l .", "must be superuser|not permitted|not mounted"),
    ("mount -o remount,rw /", "permission denied|must be superuser|not permitted"),
    ("ls -A ~/.ssh 2>&1; cat ~/.ssh/* 2>&1; false", ""),
    ("cat /proc/1/root/etc/passwd", "Permission denied"),
    ("readlink /proc/1/fd/0", ""),
    ("mknod node b 8 0", "not permitted"),
    ("kill -9 -1; kill -9 1; sleep 0.1; false", ""),
    ("echo 1 > /proc/sys/kernel/hostname", "Read-only|Permission"),
    ("chroot /proc/1/root true", "not permitted|Permission denied"),
    ("exec 3<>/dev/tcp/127.0.0.1/22", "unreachable|refused"),
    ("unshare -Urm umount -l /proc", "Read-only|not permitted|Invalid|denied"),
    ("nsenter -t 1 -m true", "not permitted|Permission denied|denied"),
)
"""Ways to leave the overlay, and how each is refused."""


async def test_nothing_outside_can_be_reached(staging: Staging) -> None:
    for command, reason in ATTEMPTS:
        code, output = await staging.run(command)
        assert (code != 0, command) == (True, command), output
        assert re.search(reason, output), (command, output)
    assert not Path("/etc/agentchat-was-here").exists()
    assert not (staging.project.parent / "beside").exists()


def test_where_the_kernel_allows_no_namespace_the_reason_says_how_to_allow_them() -> None:
    forbid = "echo 0 > /proc/sys/user/max_user_namespaces && exec"
    ask = (
        "from agentchat.workspace.overlay.launcher import why_impossible; from pathlib import Path;"
        "print(why_impossible('/ws', Path('/state')))"
    )
    argv = ["unshare", "-Ur", "sh", "-c", f'{forbid} "$0" -c "$1"', sys.executable, ask]
    done = subprocess.run(
        argv, env={"PYTHONPATH": str(PACKAGE.parent), **os.environ}, capture_output=True
    )
    if done.returncode:
        pytest.skip(done.stderr.decode())
    assert done.stdout.decode() == (
        "No overlay works here (user.max_user_namespaces is 0). "
        "Run `sudo sysctl -w user.max_user_namespaces=15000`.\n"
    )


async def test_caches_of_builds_can_be_written_and_are_forgotten(
    staging: Staging, tmp_path: Path
) -> None:
    cache = tmp_path / "home/.cache/pip"
    cache.mkdir(parents=True)
    (cache / "old").write_text("old\n")
    building = open_staging(staging.project, tmp_path / "other", home=tmp_path / "home")
    write = f"cat {cache}/old && echo x > {cache}/new && ls {cache}"
    assert await building.run(write) == (0, "old\nnew\nold\n")
    assert [path.name for path in cache.iterdir()] == ["old"]
    await building.overlay.pause()
    assert (await building.run(f"ls {cache}"))[1] == "old\n"
    await building.overlay.close()


async def test_hidden_folders_are_empty(staging: Staging) -> None:
    (staging.state / "secret").write_text("key")
    code, output = await staging.run(f"ls -A {staging.state}; cat {staging.state}/secret")
    assert code != 0
    assert "key" not in output


async def test_setuid_files_get_no_power_and_devices_are_left_out(staging: Staging) -> None:
    await staging.run("cp /bin/true t; chmod 4755 t; python3 -c 'import socket as s; "
                      "s.socket(s.AF_UNIX).bind(\"sock\")'")  # fmt: skip
    assert await staging.named() == {"t": "A"}
    assert staging.overlay.changes.skipped == ["sock (socket)"]


async def test_what_a_command_leaves_running_ends_with_it(staging: Staging) -> None:
    await staging.run("env -i /usr/bin/setsid /bin/sleep 98765 >/dev/null 2>&1 & sleep 0.3")
    assert plainly("pgrep -f 'sleep 9876[5]'", staging.project).stdout == b""


async def test_a_command_that_fills_the_disk_is_stopped(tmp_path: Path, staging: Staging) -> None:
    small = open_staging(staging.project, tmp_path / "small", quota_mb=2)
    with pytest.raises(ToolError, match=r"exceeds 2 MiB \(stage.quota_mb\)"):
        await small.run(
            "for i in `seq 1000`; do head -c 1000000 /dev/urandom > f$i; sleep 0.05; done"
        )
    code, _ = await small.run("head -c 9000000 /dev/zero > /tmp/big")
    assert code != 0
    await small.overlay.clear()
    await small.overlay.close()


async def test_the_changes_survive_a_kill_and_are_found_again(staging: Staging) -> None:
    before = tree(staging.project)
    await staging.run("echo x >> a.txt; rm b.txt")
    client = staging.overlay._client
    assert client is not None
    os.killpg(client._process.pid, 9)
    await staging.overlay.pause()
    folder = staging.state / "chat"
    staging.overlay._overlay.folder.unlock()
    sweep(staging.state)
    assert not (folder / "work").exists()
    again = open_staging(staging.project, staging.state)
    assert again.overlay.has_changes()
    assert await again.named() == {"a.txt": "M", "b.txt": "D"}
    assert tree(staging.project) == before
    await again.overlay.clear()
    await again.overlay.close()


async def test_applied_files_are_newer_in_the_order_in_which_they_were_changed(
    staging: Staging,
) -> None:
    await staging.run("echo 1 > c.txt; sleep .01; cp c.txt b.txt; sleep .01; echo 2 > a.txt")
    await staging.apply()
    times = [(staging.project / name).stat().st_mtime_ns for name in ("c.txt", "b.txt", "a.txt")]
    assert times == sorted(set(times))


async def test_a_file_that_the_user_changed_meanwhile_is_not_overwritten(staging: Staging) -> None:
    await staging.run("sed -i s/third/3rd/ a.txt")
    await staging.changes()
    (staging.project / "a.txt").write_text("mine\n")
    with pytest.raises(ToolError, match="changed since the preview"):
        await staging.apply()
    assert (staging.project / "a.txt").read_text() == "mine\n"


async def test_tools_see_and_change_the_overlay(staging: Staging) -> None:
    path = str(staging.project / "a.txt")
    text = await staging.overlay.read(path)
    await staging.overlay.apply(ChangeSet((FileChange(path, text, b"edited\n"),)))
    assert (await staging.run("cat a.txt"))[1] == "edited\n"
    assert (staging.project / "a.txt").read_bytes() == text
    target = await staging.overlay.locate("a.txt")
    assert (target.path, target.display_path, str(target.zone)) == (path, "a.txt", "ordinary")


async def test_the_network_is_there_only_when_asked_for(staging: Staging) -> None:
    listening = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    connect = f"exec 3<>/dev/tcp/127.0.0.1/{port}"
    assert (await staging.run(connect))[0] != 0
    assert (await staging.run(connect, network=True))[0] == 0
    assert (await staging.run(connect))[0] != 0
    listening.close()


async def test_programs_of_one_command_can_talk_over_the_loopback(staging: Staging) -> None:
    code, output = await staging.run(
        'python3 -c \'import socket as s; a = s.create_server(("127.0.0.1", 0)); '
        's.create_connection(a.getsockname()); print("connected")\''
    )
    assert (code, output) == (0, "connected\n")


async def test_two_overlays_over_one_project_do_not_see_each_other(
    staging: Staging, tmp_path: Path
) -> None:
    other = open_staging(staging.project, tmp_path / "other")
    await staging.run("echo 1 > a.txt; echo mine > mine")
    await other.run("echo 2 > a.txt; echo theirs > theirs")
    await other.changes()
    assert (await other.run("cat a.txt; ls"))[1].split() == [
        "2", "a.txt", "b.txt", "run.sh", "src", "theirs",
    ]  # fmt: skip
    await staging.apply()
    with pytest.raises(ToolError, match="changed since the preview"):
        await other.apply()
    assert (staging.project / "a.txt").read_text() == "1\n"
    assert not (staging.project / "theirs").exists()
    await other.overlay.clear()
    await other.overlay.close()


async def test_another_process_cannot_use_the_same_overlay(staging: Staging) -> None:
    with pytest.raises(Unreachable, match="another Neovim uses it"):
        await open_staging(staging.project, staging.state).overlay.ready()


KILLS = int(os.environ.get("AGENTCHAT_FAULTS", "3")) or len(COMMANDS)
"""How many of the commands are killed; 0 for all."""


async def test_a_kill_at_any_moment_leaves_the_project_as_it_was(staging: Staging) -> None:
    before = tree(staging.project)
    for number, command in enumerate(COMMANDS[:KILLS]):
        running = asyncio.ensure_future(staging.run(command))
        await asyncio.sleep(number * 7 % 30 / 1000)
        client = staging.overlay._client
        assert client is not None
        os.killpg(client._process.pid, 9)
        with contextlib.suppress(Unreachable):
            await running  # it may have ended before
        assert tree(staging.project) == before, command
        with contextlib.suppress(Unreachable):
            await staging.run("true")  # finds out that the connection is lost
        assert (await staging.run("ls"))[0] == 0
        await staging.changes()


async def test_a_file_that_changed_while_a_command_changed_it_is_named(staging: Staging) -> None:
    running = asyncio.ensure_future(staging.run("sleep 0.2; echo mine >> b.txt; echo x > a.txt"))
    await asyncio.sleep(0.1)
    (staging.project / "b.txt").write_text("theirs\n")
    await running
    assert staging.overlay.changes.moved(await staging.changes()) == ["b.txt"]


async def test_a_file_too_large_for_the_journal_is_left_out_and_named(staging: Staging) -> None:
    await staging.run("truncate -s 300M big; echo x > small")
    assert await staging.named() == {"small": "A"}
    assert staging.overlay.changes.skipped == ["big (300.0 MiB)"]


async def test_each_of_many_commands_at_once_has_its_own_end(staging: Staging) -> None:
    runs = (staging.run(f"sleep 0.0{number % 3}; exit {number}") for number in range(30))
    assert [code for code, _ in await asyncio.gather(*runs)] == list(range(30))
