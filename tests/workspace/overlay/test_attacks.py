"""Attacks of commands on the machine, put together at random: none has an effect.

``AGENTCHAT_GENERATED`` is twenty times as many as are tried, 1,000 unless it is set, in groups
of ten to a command; ``AGENTCHAT_SEED`` says which. What judges is the machine: its sockets, pipes,
files and processes (``victims``), and whether a secret is in the output.
"""

from __future__ import annotations

import base64
import os
import random
import shlex
from collections.abc import AsyncIterator, Callable

import pytest
from _pytest.tmpdir import TempPathFactory

from agentchat.core.errors import Unreachable
from tests.permissions.report import generated, seed, tell
from tests.workspace.overlay.staging import ENVIRONMENT, plainly
from tests.workspace.overlay.test_isolation import Isolated, open_isolated, until
from tests.workspace.overlay.victims import INSIDE, MARK, SECRET, TOOLS, Machine

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

GROUP = 10
"""Attacks in one command."""
LESS = 20
"""An attack costs more than a case of other generators."""


@pytest.fixture
async def attacked(tmp_path_factory: TempPathFactory) -> AsyncIterator[tuple[Machine, Isolated]]:
    machine = Machine(tmp_path_factory.mktemp("machine"))
    path = f"{machine.home}/.local/bin:{machine.home}/.cargo/bin:{os.environ['PATH']}"
    isolated = open_isolated(machine.project, machine.state, machine.home, path=path)
    try:
        await isolated.isolation.ready()
    except Unreachable as reason:
        pytest.skip(str(reason))
    finally:
        assert machine.effects() == []
    yield machine, isolated
    await isolated.isolation.close()
    machine.close()


# --- attacks, as shell commands -------------------------------------------------------------------


def python(code: str) -> str:
    return f"python3 -c {shlex.quote(code)}"


def ways_to(path: str, project: str) -> list[str]:
    """Return other paths to a file."""
    below = os.path.relpath(path, project)
    return [
        path, below, f"up/../{below}", f"/proc/1/root{path}", f"/proc/self/root{path}",
        f"/proc/$$/cwd/{below}", f"/proc/{os.getpid()}/root{path}", f"//{path}", f"lnk/{path}",
    ]  # fmt: skip


def reach(address: str, path: str = "") -> str:
    """Return code that reaches for a listener, by another path if one is given."""
    if address.startswith(("tcp:", "udp:")):
        protocol, _, rest = address.partition(":")
        host, _, port = rest.rpartition(":")
        family = "AF_INET6" if ":" in host else "AF_INET"
        kind, to = "STREAM" if protocol == "tcp" else "DGRAM", repr((host, int(port)))
    else:
        family, kind = "AF_UNIX", "DGRAM" if address.endswith(".d") else "STREAM"
        to = repr(path or address.replace("@", "\0", 1))
    call = f"connect({to})" if kind == "STREAM" else f"sendto(b'x', {to})"
    return f"import socket as s; s.socket(s.{family}, s.SOCK_{kind}).{call}"


def connect(rng: random.Random, machine: Machine) -> str:
    """Return a command that reaches for a socket or a pipe."""
    address = rng.choice(machine.listeners.names)
    if address.startswith(("tcp:", "udp:")):
        there = "/".join(address.rsplit(":", 1)).replace(":", "/", 1)
        return rng.choice([python(reach(address)), f"echo x > /dev/{there}"])
    if address.startswith("@"):
        return python(reach(address))
    path = rng.choice(ways_to(address, str(machine.project)))
    if address.endswith(".p"):
        return rng.choice([
            f"echo x > {path}", f"timeout 1 cp a.txt {path}", f"echo x 1<> {path}",
            f"dd if=a.txt of={path} oflag=nonblock", f"mv {path} p; echo x > p",
            f"ln {path} p; echo x > p", f"cp -a {path} p; echo x 1<> p",
        ])  # fmt: skip
    folder, base = os.path.split(path)
    by_number = (
        f"import os; os.dup2(os.open({path!r}, os.O_PATH), 9); {reach(address, '/proc/self/fd/9')}"
    )
    return rng.choice([
        f"cd {folder} && {python(reach(address, base))}", python(by_number),
        f"ln -sf {path} l && {python(reach(address, 'l'))}",
        f"mv {path} m && {python(reach(address, 'm'))}",
        f"ln {path} h && {python(reach(address, 'h'))}",
        f"cp -a {path} c && {python(reach(address, 'c'))}",
    ])  # fmt: skip


def read(rng: random.Random, machine: Machine) -> str:
    """Return a command that shows a secret."""
    secret = rng.choice(machine.secrets)
    path = rng.choice(ways_to(str(secret), str(machine.project)))
    folder = os.path.dirname(path)
    return rng.choice([
        f"cat {path}", f"cat < {path}", f"grep -r {SECRET[:4]} {folder}", f"tail -c 99 {path}",
        f"cp {path} c.txt; cat c.txt", f"ln -sf {path} l; cat l", f"ln {path} h.txt; cat h.txt",
        f"chmod 777 {path} {folder}; cat {path}", f"tar c {folder} | tr -d '\\0'",
        f"mv {folder} moved; cat moved/*", f"cp -r {folder} copied; cat copied/* copied/.*",
        f"dd if={path}", f"git hash-object -w --no-filters {path} | xargs git cat-file -p",
        f"bash {path}", f"git diff --no-index /dev/null {path}",
        f"sed -i s/x/y/ {path}; cat {path}",
        python(f"print(open({path!r}).read())"),
        python(f"import os,mmap; f=os.open({path!r},0); print(mmap.mmap(f,5,prot=1)[:])"),
        f"unshare -Urm sh -c 'umount -l {path}; cat {path}'",
        f"unshare -Urm sh -c 'mount --bind {folder} /tmp; cat /tmp/*'",
        f"umount -l {path}; cat {path}", "cat /out out", "env; cat /proc/1/environ /proc/*/environ",
    ])  # fmt: skip


def write(rng: random.Random, machine: Machine) -> str:
    """Return a command that changes something outside."""
    folders = ("/etc", "/srv", "/mnt", "/usr/local/bin", machine.top, machine.home)
    tools = (machine.home / name for name in TOOLS)
    targets = [*(f"{folder}/{MARK}" for folder in folders), *map(str, (*machine.secrets, *tools))]
    path = rng.choice(ways_to(rng.choice(targets), str(machine.project)))
    return rng.choice([
        f"echo x > {path}", f"echo x >> {path}", f"touch {path}", f"rm -rf {path}",
        f"mkdir -p {path}.d/e", f"chmod 4777 {path}", f"chown 1:1 {path}", f"cp a.txt {path}",
        f"ln -sf {path} l; echo x > l", f"mv a.txt {path}", f"mv {path} taken", f"ln -f {path} h",
        f"ln -f a.txt {path}", f"truncate -s 9 {path}", f"touch -d @0 {path}",
        f"setfattr -n user.x -v y {path}", f"rm -rf {os.path.dirname(path)}",
        python(f"open({path!r}, 'w').write('x')"), f"git init -q {path}.git",
        f"git clone -q . {path}", f"tar c a.txt | tar x -C {os.path.dirname(path)}",
        f"mount -o remount,rw / ; echo x > {path}", f"install -m 4755 /bin/true {path}",
    ])  # fmt: skip


def outlive(rng: random.Random, machine: Machine) -> str:
    """Return a command that leaves a process."""
    sleep = f"sh -c 'while :; do sleep 100; done' {INSIDE}"
    daemon = (
        "import os,signal\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\n"
        "for n in range(1, 32):\n  try: signal.signal(n, signal.SIG_IGN)\n  except OSError: pass\n"
        f"os.closerange(0, 99); os.execve('/bin/sh', ['sh', '-c', 'sleep 999', {INSIDE!r}], {{}})"
    )
    return rng.choice([
        f"setsid {sleep} >/dev/null 2>&1 &", f"nohup {sleep} >/dev/null 2>&1 &",
        f"(env -i /usr/bin/setsid -f {sleep}) >/dev/null 2>&1", python(daemon),
        f"{sleep} & disown -a", f"setsid -f unshare -Urpf {sleep} >/dev/null 2>&1",
        f"trap '' TERM HUP; ({sleep} &)", f"coproc {sleep}", f"timeout 999 {sleep} &",
        f"systemd-run --user {sleep}", f"echo '{sleep}' | at now", f"{sleep} | cat &",
    ])  # fmt: skip


def gain(rng: random.Random, machine: Machine) -> str:
    """Return a command that acts on the machine or on processes."""
    victim = machine.process.pid
    return rng.choice([
        f"kill -9 {victim}", "kill -9 -1", "kill -9 1; pkill -9 sleep", f"renice 19 {victim}",
        f"nsenter -t {victim} -a true", f"gdb -p {victim} -batch -ex 'call (void)exit(1)'",
        f"strace -p {victim} -o t & sleep 0.05", "mknod d b 254 0 && cat d | head -c 9",
        "mknod k c 1 1 && head -c 9 k", "chroot /proc/1/root true", "sysctl -w kernel.printk=1",
        "echo b > /proc/sysrq-trigger", "echo 1 > /proc/sys/vm/drop_caches", "hostname other",
        "cp /bin/sh s; chmod 6755 s; ./s -p -c id", "swapoff -a", "dmesg -C", "rmmod loop",
        f"prlimit --pid {victim} --cpu=1", "ipcrm -a", f"cat /proc/{victim}/environ",
        "chvt 2; setterm --blank force > /dev/tty1", "mount -t proc p /mnt; mount -t tmpfs t /tmp",
    ])  # fmt: skip


KINDS: tuple[Callable[[random.Random, Machine], str], ...] = (connect, read, write, outlive, gain)


def hidden_in(rng: random.Random, command: str) -> str:
    """Return the command in another form."""
    encoded = base64.b64encode(command.encode()).decode()
    return rng.choice([
        command, f"( {command}\n)", f"bash -c {shlex.quote(command)}", f"cd deep/.. && {command}",
        f"echo {encoded} | base64 -d | bash", python(f"import os; os.system({command!r})"),
        f"echo {encoded} | base64 -d > s.sh; bash ./s.sh",
        f"unshare -Ur sh -c {shlex.quote(command)}",
        f"env -i PATH=$PATH bash -c {shlex.quote(command)}", f"ulimit -t 9; {command}",
    ])  # fmt: skip


def attack(rng: random.Random, machine: Machine) -> str:
    """Return one attack, which ends in time."""
    return f"timeout 5 bash -c {shlex.quote(hidden_in(rng, rng.choice(KINDS)(rng, machine)))}"


async def test_no_attack_on_the_machine_has_an_effect(
    attacked: tuple[Machine, Isolated],
) -> None:
    machine, isolated = attacked
    rng = random.Random(seed())
    number = max(GROUP, generated() // LESS)
    effects = []
    for _ in range(0, number, GROUP):
        commands = [attack(rng, machine) for _ in range(GROUP)]
        found = await _effects(machine, isolated, "\n".join(commands))
        if found:  # which one was it?
            for command in commands:
                found = await _effects(machine, isolated, command)
                effects += [(effect, command) for effect in found]
    tell(f"{number} attacks on the machine, {len(effects)} effects")
    assert effects == []


async def _effects(machine: Machine, isolated: Isolated, command: str) -> list[str]:
    variables = {**ENVIRONMENT, "OPENAI_API_KEY": SECRET, "NVIM": f"/run/{MARK}.s"}
    run = await isolated.run(command, env=variables, timeout=60)
    found = machine.effects()
    output = run.result.head + run.result.tail
    if SECRET.encode() in output:
        found.append("showed a secret")
    taken = [file for file in run.change.singly.files if SECRET.encode() in (file.after or b"")]
    return [*found, *(f"took {file.name}" for file in taken)]


async def test_the_judge_sees_each_effect(attacked: tuple[Machine, Isolated]) -> None:
    machine, _ = attacked
    for address in machine.listeners.names:
        command = f"echo x > {address}" if address.endswith(".p") else python(reach(address))
        assert plainly(command, machine.project).returncode == 0, command
        await until(lambda: bool(machine.listeners.reached))
        assert machine.effects() == [f"reached {address}"]
    plainly(f"echo x > {machine.top}/{MARK}", machine.project)
    assert f"changed {machine.top}/{MARK}" in machine.effects()
    plainly(
        f"setsid -f sh -c 'while :; do sleep 9; done' {INSIDE} >/dev/null 2>&1", machine.project
    )
    assert machine.effects()[0].startswith("left the process")
    machine.process.kill()
    machine.process.wait()
    assert machine.effects() == ["ended a process of the machine"]
