"""What known programs do beyond their name: flags that run or write something else.

A rule of first words covers a program's ordinary work. It never covers what is listed here, nor
a flag that looks like it of a program that is not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

RUNS, WRITES, MEANS = "runs another command", "writes a file", "changes what it does"


@dataclass(frozen=True, slots=True)
class Program:
    """The flags of one program that no rule for it covers, each with the reason.

    ``letters`` are short options, found anywhere in a cluster unless the program has no
    ``clusters``; ``options`` longer ones by their beginning, also abbreviated; ``words`` operands
    by their beginning (``=``: any assignment); ``operands`` how many there may be before one is a
    file it writes.
    """

    letters: Mapping[str, str]
    options: Mapping[str, str]
    words: Mapping[str, str]
    operands: int | None = None
    clusters: bool = True


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _program(
    runs: str = "",
    writes: str = "",
    words: str = "",
    operands: int | None = None,
    clusters: bool = True,
) -> Program:
    """Return a program from flags: ``-x`` is a letter, ``--xy`` and ``-xy`` are options."""
    said = [(flag, RUNS) for flag in runs.split()] + [(flag, WRITES) for flag in writes.split()]
    letters = {flag[1]: why for flag, why in said if len(flag) == 2}
    options = {flag: why for flag, why in said if len(flag) > 2}
    means = dict.fromkeys(words.split(), MEANS)
    return Program(letters, options, means, operands, clusters)


_HARMLESS = _words(
    ": arch basename builtin cal cat chmod chown cksum cmp column comm command cp cut df dirname"
    " doas du echo egrep env expand expr false fgrep fold free getconf grep groups head hexdump"
    " hostid id ionice join jq ln ls lsblk md5sum mkdir mv nice nl nohup nproc od paste"
    " pathchk pgrep ping printenv ps pwd readlink realpath rm rmdir seq setsid sha1sum sha256sum"
    " sha512sum shred sleep stat stdbuf strings sudo sum tac tail time timeout touch tr true"
    " truncate tsort tty type uname unexpand unzip uptime users wc which who whoami yes zgrep"
)
"""Programs none of whose flags runs or writes anything that its name does not say."""

PROGRAMS: Mapping[str, Program] = {
    **dict.fromkeys(_HARMLESS, _program()),
    "git": _program(
        "--exec --exec-path --upload-pack --receive-pack --open-files-in-pager --ext-diff"
        " --textconv --tool --extcmd --config-env --template --config --editor"
        " --upload-archive --filters -x -O -u -c -t",
        "--output --git-dir --work-tree --separate-git-dir --export-marks --index-output"
        " --unsafe-paths -o",
        words="ext:: fd::",
    ),
    "find": _program(
        "-exec -execdir -ok -okdir",
        "-delete -fprint -fprint0 -fprintf -fls -files0-from",
        clusters=False,
    ),
    "fd": _program("-x -X --exec --exec-batch"),
    "fdfind": _program("-x -X --exec --exec-batch"),
    "rg": _program("--pre --hostname-bin --search-zip -z"),
    "ag": _program("--pager"),
    "tar": _program(
        "-I -F -T --use-compress-program --checkpoint-action --to-command --info-script"
        " --new-volume-script --rsh-command --rmt-command --files-from",
        "-g -P --index-file --listed-incremental --volno-file --remove-files --absolute-names",
    ),
    "sort": _program("--compress-program", "-o -T --output --temporary-directory"),
    "uniq": _program(operands=1),
    **dict.fromkeys(_words("tee sponge split csplit"), _program("--filter", "-f", operands=0)),
    **dict.fromkeys(_words("cpp xxd objcopy pdftotext"), _program(writes="-o", operands=1)),
    **dict.fromkeys(_words("test ["), _program("-v -R")),
    "wait": _program("-p"),
    "install": _program("--strip-program"),
    "dd": _program(words="of="),
    "curl": _program(
        "-K --config --libcurl --engine",
        "-o -O -J -D -c -w -T --output --output-dir --remote-name --remote-header-name"
        " --dump-header --cookie-jar --trace --stderr --create-dirs --etag-save --hsts --alt-svc"
        " --upload-file --write-out",
    ),
    "wget": _program("-e --execute --use-askpass --config", "-O -o -P -a --output --append-output"),
    "less": _program("-k --lesskey", "-o -O --log-file --LOG-FILE", words="+"),
    "more": _program(words="+"),
    "man": _program("-P -H -C -X --pager --html --config-file --gxditview"),
    "scp": _program("-o -F -S -D -J"),
    "sftp": _program("-o -F -S -D -b -J"),
    "rsync": _program(
        "-e -M --rsh --rsync-path --daemon --config --remote-option",
        "-T --log-file --write-batch --only-write-batch --remove-source-files --backup-dir"
        " --temp-dir --partial-dir",
    ),
    "date": _program(writes="-s --set"),
    **dict.fromkeys(_words("groff troff nroff"), _program("-U -F -M -K -P")),
    "openssl": _program(
        "-engine -provider -provider-path -config", "-out -keyout -writerand", clusters=False
    ),
    "cmake": _program("-P -E -C -D -T --toolchain --preset", "--install --graphviz"),
    "lsof": _program(writes="-D"),
    "ss": _program(writes="-D --diag -K --kill -F"),
    "luacheck": _program("--config --default-config --formatter", "--cache"),
    "stylua": _program("-f --config-path"),
    "file": _program(writes="-C --compile"),
    "tree": _program(writes="-o -R"),
    "diff": _program(writes="--output"),
    "printf": _program(writes="-v"),
    "zip": _program("-T --unzip-command", "-m -O -b --move --out --output-file --temp-path"),
    "7z": _program(writes="-o"),
    "shuf": _program(writes="-o --output"),
    "make": _program("-f -C -I -E --file --makefile --eval --directory", "-o -W", words="="),
    "just": _program("-f -d -c --justfile --shell --set --working-directory --command"),
    "cargo": _program("-Z --config", "--target-dir --artifact-dir --out-dir"),
    "go": _program(
        "-exec -toolexec -vettool -overlay -modfile -C",
        "-o -w -outputdir -coverprofile -cpuprofile -memprofile -blockprofile -mutexprofile -trace",
        clusters=False,
    ),
    **dict.fromkeys(
        _words("gcc g++ cc c++ clang clang++"),
        _program("-B -X -wrapper -fplugin -specs", "-o", words="@", clusters=False),
    ),
    "npm": _program("-c --call --script-shell --prefix --node-options --userconfig --globalconfig"),
    "pip": _program("--python --config-settings --global-option", "-t --target --log --prefix"),
    "pytest": _program(
        "-p -c --config-file --cov-config --rootdir --pyargs --confcutdir --override-ini"
        " --pastebin --pdbcls",
        "-o --junitxml --junit-xml --basetemp --log-file --debug --report-log --html --cov-report",
    ),
    "ruff": _program("--config", "--output-file"),
    "mypy": _program(
        "--config-file --python-executable --install-types",
        "--junit-xml --cache-dir --any-exprs-report --cobertura-xml-report --html-report"
        " --linecount-report --linecoverage-report --lineprecision-report --txt-report"
        " --xml-report --xslt-html-report --xslt-txt-report",
    ),
}

NEVER: Mapping[str, str] = {
    **dict.fromkeys(
        _words(
            "alias unalias trap source . eval set shopt unset enable hash read mapfile readarray"
            " getopts let export declare local typeset readonly bind complete compopt umask ulimit"
            " exec coproc suspend logout fc history"
        ),
        "it changes what later commands mean",
    ),
    **dict.fromkeys(_words("cd pushd popd"), "it changes where later commands run"),
    **dict.fromkeys(
        _words(
            "xargs parallel watch entr watchexec flock script expect unbuffer busybox toybox chroot"
            " unshare nsenter systemd-run su runuser pkexec run-parts at batch crontab"
            " start-stop-daemon ssh ssh-agent dbus-run-session gdb lldb strace ltrace valgrind perf"
            " tmux screen socat nc ncat netcat telnet proot firejail bwrap fakeroot rlwrap ed ex"
            " vi vim nvim emacs nano sqlite3 psql mysql m4 tclsh wish osascript xdg-open open"
            " view rview rvim vimdiff gvim pico joe micro hx kak taskset chrt numactl prlimit"
            " setpriv setarch linux32 linux64 i386 x86_64 choom runcon capsh catchsegv eatmydata"
            " faketime chronic ifne pee vipe combine hyperfine cpulimit daemonize dbus-launch"
            " xvfb-run sg newgrp sudoedit systemd-inhibit sshpass gnuplot octave maxima dc fzf"
            " cmd cmd.exe cscript wscript powershell powershell.exe ftp lftp mail"
            " mailx mutt convert magick mogrify ldd ssh-add ssh-keygen dtach abduco zellij tsp nq"
            " redis-cli mongo mongosh duckdb jobs"
        ),
        RUNS,
    ),
}
"""Programs that no rule covers at all."""

INTERPRETERS = re.compile(
    r"(?:ba|da|k|z|c|tc|fi|mk|a)?sh|rbash|pwsh|python[\d.]*|pypy[\d.]*|perl[\d.]*|ruby[\d.]*|irb"
    r"|node|nodejs|deno|bun|lua[\d.]*|luajit|php[\d.]*|Rscript|R|julia|guile|racket|sbcl|ghci"
    r"|runghc|scala|groovy|jshell|java|erl|elixir|ocaml|swift|npx|bunx|pnpx|uvx|pipx|uv|poetry"
    r"|pipenv|hatch|tox|nox|bundle|rake|direnv|nix|nix-shell|guix"
)
"""Programs that run what they are given: a rule must name that, not only the program."""

AWKS = _words("awk gawk mawk nawk original-awk")
"""Programs whose first operand is a program, which must be known to do no more than print."""

TASKS = _words("tox nox rake")
"""Interpreters of which a rule may name the whole command, options and all."""

SUBCOMMANDS = _words(
    "apk apt apt-get ar brew cabal cargo composer conda dnf docker dotnet flatpak gem gh glab go"
    " helm ip kubectl mix mvn npm opam openssl pacman pip pip3 pnpm podman snap stack systemctl"
    " terraform yarn yum zypper"
)
"""Programs of many commands: a rule must name which."""

RUNNING = _words("exec x dlx run tool generate alias config edit extension")
"""Commands of those that run what they are given, or change what others do."""

STARTING = _words("exec dlx run x")
"""Commands of an interpreter behind which it runs what follows."""

SCRIPTS = _words("npm pnpm yarn composer cargo")
"""Programs whose ``run`` runs what the project itself names."""

WRITERS = _words(
    "rm mv cp ln chmod chown chgrp chattr setfacl setfattr install truncate shred touch mkdir rmdir"
    " mkfifo mknod patch unzip tar zip rsync"
)
"""Programs whose operands are what they change."""

DEEP = _words("rm chmod chown chgrp chattr setfacl shred")
"""Those that change all that a folder holds."""

STARTED = (WRITERS - _words("install patch")) | _words(
    "sed awk curl dd dlx doas env eval exec git nc ssh sudo tee wget xargs"
)
"""Programs that another program, given their name, probably runs."""

GIT_COMMANDS = _words(
    "add am apply archive blame branch bundle cat-file check-attr check-ignore check-ref-format"
    " checkout cherry cherry-pick clean clone commit count-objects describe diff diff-files"
    " diff-index diff-tree fetch for-each-ref format-patch fsck gc grep init log ls-files ls-remote"
    " ls-tree merge merge-base merge-tree mv name-rev notes pull push range-diff read-tree rebase"
    " reflog remote reset restore rev-list rev-parse revert rm shortlog show show-branch show-ref"
    " sparse-checkout stash status switch symbolic-ref tag update-index var verify-commit version"
    " whatchanged worktree write-tree"
)
"""What git does itself, and neither an alias, a configured tool nor its configuration."""

GIT_RUNNERS = _words(
    "bisect config credential cvsserver daemon difftool fast-import filter-branch for-each-repo gui"
    " help hook instaweb mergetool send-email shell submodule svn web--browse p4 imap-send"
    " maintenance receive-pack upload-pack http-backend bugreport scalar"
)
GIT_READS = _words("--get --get-all --get-regexp --list -l get list")
GIT_WHERE = _words(
    "--global --local --system --worktree --show-origin --show-scope --null -z --name-only --all"
    " --includes --no-includes --regexp"
)
"""What ``git config`` may do, and where."""

GIT_WRITERS = _words("bundle clone init worktree")
"""Which of its commands write where they are told."""

GIT_LETTERS = {
    "rebase": "xO", "clone": "uOco", "archive": "o", "format-patch": "o", "push": "o",
    "fetch": "uO", "pull": "uO", "ls-remote": "uO",
}  # fmt: skip
"""Which of git's dangerous letters mean that in which subcommand; in the others only ``-O``."""
