"""``bash``: one command, one fresh shell, nothing left behind."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from agentchat.core.errors import ToolError
from agentchat.tools.builtin.bash import TOOL, environment
from tests.tools.conftest import Bench


def alive(pid: int) -> bool:
    """Whether a process runs; one that is dead but not collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def dead(pids: list[int], within: float) -> bool:
    limit = time.monotonic() + within
    while any(alive(pid) for pid in pids):
        if time.monotonic() > limit:
            return False
        await asyncio.sleep(0.01)
    return True


@pytest.mark.parametrize(
    ("command", "text", "code"),
    [
        ("echo x; exit 2", "x\n\nCommand exited with code 2", 2),
        ("exit 3", "(no output)\n\nCommand exited with code 3", 3),
        ("exit 0", "(no output)", 0),
        ("echo hi; echo oops >&2", "hi\noops", 0),
        ("kill -9 $$", "(no output)\n\nCommand was killed by signal 9", -9),
        ("printf '\\033[31mred\\033[0m\\n'", "red", 0),
        ("cat", "(no output)", 0),
        ("-x", None, 127),
        ("export X=1; echo $X", "1", 0),
        ("printf 'get\\n10 %%\\r50 %%\\r100 %%\\r\\ndone\\r'", "get\n100 %\r\ndone", 0),
    ],
)
async def test_the_result_is_the_output_and_how_the_command_ended(
    bench: Bench, command: str, text: str | None, code: int
) -> None:
    result = await bench.call(TOOL, command=command)
    assert text is None or result.text == text
    assert result.details == {"exitCode": code}
    assert result.is_error == (code != 0)


async def test_each_call_is_a_fresh_shell_in_the_working_directory(bench: Bench) -> None:
    await bench.call(TOOL, command="export X=1; cd /; alias ls=false")
    result = await bench.call(TOOL, command='echo "[$X]"; pwd')
    assert result.text == f"[]\n{bench.root}"


async def test_a_timeout_kills_the_shell_and_its_children(bench: Bench) -> None:
    began = time.monotonic()
    result = await bench.call(
        TOOL, command="trap '' TERM; sleep 30 & echo $! $$; sleep 30", timeout=1
    )
    assert result.text.endswith("\n\nCommand timed out after 1 seconds")
    assert result.details == {"exitCode": None}
    assert time.monotonic() - began < 2.5
    assert await dead([int(pid) for pid in result.text.split()[:2]], within=1)


async def test_a_timeout_may_be_a_part_of_a_second(bench: Bench) -> None:
    result = await bench.call(TOOL, command="sleep 30", timeout=0.2)
    assert result.text == "(no output)\n\nCommand timed out after 0.2 seconds"


async def test_a_background_process_does_not_outlive_its_command(bench: Bench) -> None:
    began = time.monotonic()
    result = await bench.call(TOOL, command="sleep 30 & echo $!")
    assert time.monotonic() - began < 2
    pid, _, line = result.text.partition("\n\n")
    assert line == "1 background process was ended."
    assert await dead([int(pid)], within=1)


@pytest.mark.parametrize(
    "command", ["setsid sleep 30 & echo $!; sleep 0.1", "(setsid sleep 30 & echo $!)"]
)
async def test_a_process_that_left_the_group_does_not_outlive_its_command(
    bench: Bench, command: str
) -> None:
    result = await bench.call(TOOL, command=command)
    pid, _, line = result.text.partition("\n\n")
    assert line == "1 background process was ended."
    assert await dead([int(pid)], within=1)


async def test_cancelling_kills_the_group_and_what_was_shown_stays(bench: Bench) -> None:
    running = asyncio.ensure_future(bench.call(TOOL, command="echo $$; sleep 30 & sleep 30"))
    await asyncio.wait_for(bench.progressed.wait(), 5)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await dead([int(bench.shown[0])], within=1)
    assert len(bench.shown) == 1


async def test_one_long_line_reaches_the_model_as_head_and_tail(bench: Bench) -> None:
    result = await bench.call(TOOL, command="head -c 700000 /dev/zero | tr '\\0' x")
    head, note, tail = result.text.split("\n")
    path = bench.context().free_path()
    assert head == tail == "x" * 32 * 1024
    assert note == f"[... {700_000 - 64 * 1024} bytes truncated; full output: {path} ...]"
    assert result.details is not None
    assert result.details["truncation"] == {
        "truncated": True,
        "by": "bytes",
        "lines": 3,
        "bytes": len(result.text),
        "total_bytes": 700_000,
        "path": path,
    }
    assert Path(path).read_bytes() == b"x" * 700_000
    assert Path(path).stat().st_mode & 0o777 == 0o600


async def test_long_output_is_cut_between_characters(bench: Bench) -> None:
    bench.write("f", "a" + "é" * 100_000)
    result = await bench.call(TOOL, command="cat f")
    head, note, tail = result.text.split("\n")
    dropped = int(note.split()[1])
    assert "\ufffd" not in result.text
    assert len((head + tail).encode()) + dropped == 200_001


async def test_a_flood_is_drained_and_ends_at_its_deadline(bench: Bench) -> None:
    began = time.monotonic()
    result = await bench.call(TOOL, command="yes", timeout=1)
    assert time.monotonic() - began < 3
    assert result.text.endswith("Command timed out after 1 seconds")
    assert len(result.text) < 70_000
    assert len(bench.shown) < 60


async def test_many_small_pieces_are_shown_thirty_times_a_second(bench: Bench) -> None:
    began = time.monotonic()
    await bench.call(TOOL, command="for i in $(seq 3000); do echo $i; done")
    seconds = time.monotonic() - began
    assert "".join(bench.shown).split() == [str(i) for i in range(1, 3001)]
    assert len(bench.shown) <= 30 * seconds + 2


async def test_a_missing_working_directory_is_named_and_nothing_runs(bench: Bench) -> None:
    bench.root.rmdir()
    with pytest.raises(ToolError, match=f"{bench.root}.*Nothing was run"):
        await bench.call(TOOL, command="touch /tmp/m")


def test_a_command_sees_no_secrets_and_no_pager() -> None:
    given = {"PATH": "/bin", "OPENAI_API_KEY": "s", "BASH_ENV": "x", "LC_ALL": "C", "PAGER": "v"}
    made = environment(given)
    assert {"OPENAI_API_KEY", "BASH_ENV"}.isdisjoint(made)
    assert (made["PATH"], made["LC_ALL"], made["PAGER"]) == ("/bin", "C", "cat")


async def test_no_descriptor_of_the_host_reaches_a_command(bench: Bench) -> None:
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(10)]
    result = await bench.call(TOOL, command="ls /proc/self/fd | wc -l")
    for fd in held:
        os.close(fd)
    assert int(result.text) <= 4


async def test_a_command_runs_in_the_directory_that_the_call_names(bench: Bench) -> None:
    bench.write("sub/file", "")
    assert (await bench.call(TOOL, command="pwd; ls", cwd="sub")).text == f"{bench.root}/sub\nfile"
