"""What no grant for something else covers: commands, and what each needs to show its effect."""

from __future__ import annotations

from dataclasses import dataclass

SILENT, PLAIN, TERMINAL = "silent", "plain", "terminal"


@dataclass(frozen=True)
class Case:
    """A command that must ask.

    ``raw`` says where it makes the marker: nowhere, in a plain shell or on a terminal; ``allowed``
    are the first words that rules allow; ``needs`` a program the raw run needs.
    """

    id: str
    command: str
    raw: str = PLAIN
    allowed: tuple[str, ...] = ("git status",)
    needs: str = ""

    def __str__(self) -> str:
        return f"{self.id} {self.command[:40]!r}"


GRAMMAR = (
    Case("G26", "git status\ntouch m"),
    Case("G28", "git status\rtouch m", SILENT),
    Case("G30", 'git status "$(touch m)"'),
    Case("G30", "git status `touch m`"),
    Case("G30", "git log --format=$(touch m)", allowed=("git log",)),
    Case("G32", "cat <<X\n$(touch m)\nX", allowed=("cat",)),
    Case("G34", "git status > m"),
    Case("G34", "git status >> m"),
    Case("G34", "git status >| m"),
    Case("G34", "git status &> m"),
    Case("G34", "git status 2> m"),
    Case("G34", "git status 3> m"),
    Case("G34", "cat f <> m", allowed=("cat",)),
    Case("G34", "{ git status; } > m"),
    Case("G34", "git status >& m"),
    Case("G36", "git(){ touch m; }; git status"),
    Case("G36", "shopt -s expand_aliases; alias git='touch m;'\ngit status"),
    Case("G36", "alias git='touch m;'", SILENT, ("alias",)),
    Case("G36", "export X=1", SILENT, ("export",)),
    Case("G36", "export X=1; git status", SILENT),
    Case("G36", "trap 'touch m' EXIT", allowed=("trap",)),
    Case("G36", "trap 'touch m' EXIT; git status"),
    Case("G36", "source ./s", allowed=("source",)),
    Case("G36", ". ./s", allowed=(".",)),
    Case("G38", "{touch,m}", allowed=("git status", "touch,m")),
    Case("G38", "$'\\x74ouch' m"),
    Case("G38", "/usr/bin/tou?h m"),
    Case("G38", "t=touch; $t m"),
    Case("G38", "IFS=,; c=touch,m; $c"),
    Case("G40", "true && " * 60 + "touch m", allowed=("true",)),
    Case("G40", "true && " * 1500 + "touch m", allowed=("true",)),
    Case("G42", "git status =(touch m)", SILENT),
    Case("G42", "ls *(e:'touch m':)", SILENT, ("ls",)),
    Case("G42", "git status; and touch m", SILENT),
    Case("G42", "git status (touch m)", SILENT),
    Case("", "git status & touch m"),
    Case("", "git status | tee m"),
    Case("", "if git status; then touch m; fi"),
    Case("", "while touch m; do git status; break; done"),
    Case("", "(git status; touch m)"),
    Case("", "cat <(touch m)", allowed=("cat",)),
    Case("", "git status $((a[$(touch m)]))"),
    Case("", "[[ -v a[$(touch m)] ]]"),
    Case("", "cat <<< $(touch m)", allowed=("cat",)),
    Case("", "eval 'touch m'", allowed=("eval",)),
    Case("", "coproc touch m; wait", allowed=("wait",)),
    Case("", "X=$(touch m) git status"),
    Case("", "git status # x\ntouch m"),
    Case("", "git status \\\n; touch m"),
)

PROGRAMS = (
    Case("G44", "env touch m", allowed=("env",)),
    Case("G44", "env -S 'touch m'", allowed=("env",)),
    Case("G44", "echo m | xargs touch", allowed=("echo", "xargs")),
    Case("G44", "nice touch m", allowed=("nice",)),
    Case("G44", "nohup touch m", allowed=("nohup",)),
    Case("G44", "timeout 5 touch m", allowed=("timeout",)),
    Case("G44", "setsid touch m", allowed=("setsid",)),
    Case("G44", "stdbuf -o0 touch m", allowed=("stdbuf",)),
    Case("G44", "sudo touch m", allowed=("sudo",), needs="sudo"),
    Case("G44", "watch touch m", TERMINAL, ("watch",), "watch"),
    Case("G44", "ssh -oProxyCommand='touch m' x", allowed=("ssh",), needs="ssh"),
    Case("G44", "command touch m", allowed=("command",)),
    Case("G44", "exec touch m", allowed=("exec",)),
    Case("G44", "bash -c 'touch m'", allowed=("bash",)),
    Case("G44", "bash s", allowed=("bash",)),
    Case("G44", "echo touch m | sh", allowed=("echo", "sh")),
    Case("G44", 'python3 -c \'open("m","w")\'', allowed=("python3",)),
    Case("G44", "nice timeout 5 env touch m", allowed=("nice", "timeout", "env")),
    Case("G44", "awk 'BEGIN{system(\"touch m\")}'", allowed=("awk",)),
    Case("G44", "sed '1e touch m' f", allowed=("sed",)),
    Case("G44", "sed 'w m' f", allowed=("sed",)),
    Case("G46", "git -c alias.x='!touch m' x", allowed=("git",)),
    Case("G46", "git -c core.fsmonitor='touch m;false' status", allowed=("git",)),
    Case("G46", "git -c core.pager='touch m; cat' -p log", TERMINAL, ("git",)),
    Case("G46", "git --exec-path=d x", allowed=("git",)),
    Case("G46", "git diff --no-index --output=m f g", allowed=("git",)),
    Case("G46", "git diff --no-index --output=m f g", allowed=("git diff",)),
    Case("G46", "git diff --no-index --outpu=m f g", SILENT, ("git diff",)),
    Case("G46", "git grep --no-index -O'touch m;:' a f", allowed=("git",)),
    Case("G46", "git grep --no-index -O'touch m;:' a f", allowed=("git grep",)),
    Case("G46", "git config alias.x '!touch m'", SILENT, ("git config",)),
    Case("G46", "git bisect run touch m", SILENT, ("git bisect",)),
    Case("G46", "git rebase -x 'touch m' --root", allowed=("git rebase",)),
    Case("G48", "find f -exec touch m \\;", allowed=("find",)),
    Case("G48", "find f -exec touch m ';'", allowed=("find",)),
    Case("G48", "find f -fprint m", allowed=("find",)),
    Case("G48", "find f -fprintf m x", allowed=("find",)),
    Case("G48", "find f -fls m", allowed=("find",)),
    Case("G48", "find . -delete", SILENT, ("find",)),
    Case(
        "G50",
        "tar -cf /dev/null --checkpoint=1 --checkpoint-action=exec='touch m' f",
        allowed=("tar",),
    ),
    Case("G50", "tar -cf t.tar -I 'touch m; cat' f", allowed=("tar",)),
    Case("G50", "tar cIf 'touch m; cat' t.tar f", allowed=("tar",)),
    Case("G50", "sort -o m f", allowed=("sort",)),
    Case("G50", "sort -uo m f", allowed=("sort",)),
    Case("G50", "sort --outp=m f", allowed=("sort",)),
    Case("G50", "uniq f m", allowed=("uniq",)),
    Case("G50", "echo | tee m", allowed=("echo", "tee")),
    Case("G50", "dd if=f of=m", allowed=("dd",)),
    Case("G50", "curl -o m file://$PWD/f", allowed=("curl",), needs="curl"),
    Case("G52", "less '+!touch m' f", TERMINAL, ("less",), "less"),
    Case("G52", "LESSOPEN='|touch m; cat %s' less f", TERMINAL, ("less",), "less"),
    Case("G52", "PAGER='touch m; cat' git log", TERMINAL, ("git log",)),
    Case("G52", "EDITOR='touch m;:' git commit --amend", TERMINAL, ("git commit",)),
    Case("", "make -f s", SILENT, ("make",)),
    Case("", "make SHELL='touch m;' all", SILENT, ("make",)),
    Case("", "printf -v PATH d", SILENT, ("printf",)),
    Case("", "cd d; git status", SILENT, ("git status", "cd")),
)

RUNS = (
    Case("G110", "git log --format='%h;%s'", allowed=("git log",)),
    Case("G112", "ls | wc -l", allowed=("ls", "wc")),
    Case("", "git status 2>&1", allowed=("git status",)),
    Case("", "git status >/dev/null 2>&1 && ls -la", allowed=("git status", "ls")),
    Case("", "git --no-pager log --oneline -5", allowed=("git",)),
    Case("", "timeout 5 git status", allowed=("timeout", "git status")),
    Case("", "sed -n '1,5p' f", allowed=("sed",)),
    Case("", "sed 's/a/b/g;2p' f", allowed=("sed",)),
    Case("", "find . -name 'f' -type f", allowed=("find",)),
    Case("", "sort -n f | uniq -c", allowed=("sort", "uniq")),
    Case("", "git diff HEAD~0 -- f", allowed=("git diff",)),
    Case("", "(ls; ls) | head -2", allowed=("ls", "head")),
    Case("", "python3 -m this", allowed=("python3 -m this",)),
    Case("", 'grep -rn "a b" src || true', allowed=("grep", "true")),
    Case("", "git  status ", allowed=("git status",)),
)
