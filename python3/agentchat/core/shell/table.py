"""What programs do that is harmless, as a text: their commands, flags and operands.

A rule of first words covers what is listed here of its program, and nothing else. Left out is each
flag that runs another program, writes a file it names, or takes either from a file; so is each that
nobody has looked at. To add a program or a flag, make sure of that from its manual.

An entry is a line with its names, traits behind the colon, and then its flags as in ``flags``,
indented. Between names stand commas, ``a|b c`` is short for ``a c, b c``. The traits are

- ``operand=RE`` fits each operand, ``most=N`` is how many of them there may be;
- ``script=RE`` fits the first, which is a program of its own, unless an option gives that;
- ``writes=files``: its operands name what it changes; ``folders``: with all that is in them;
- ``single``: it takes ``-name`` for one option; ``bundled``: letters may stand without ``-``.
"""

INSIDE = r"(?!/|~|-)(?!.*\.\.).*"
"""A relative path that stays below where it starts."""

_CLASS = r"\[\^?(?!\])(?:(?!{end})[^][\\\n]|\[:[a-z]+:\])+\]"
_TEXT = r"(?:(?!{end})[^\n\\[]|\\[^\n]|" + _CLASS + ")*+"
_PATTERN = f"/{_TEXT.format(end='/')}/I?"
_ADDRESS = rf"(?:(?:\d+|\$|{_PATTERN})(?:[,~]\+?(?:\d+|\$|{_PATTERN}))?[\x20\t]*+(?:![\x20\t]*+)?)?"
_CHANGES = "|".join(
    f"s{end}" + 2 * (_TEXT.format(end=end) + end) + r"[gpiI\d]*" for end in ("/", r"\|", *",#:@!")
)
_COMMAND = rf"{_ADDRESS}(?:[pPdDqQ=nNhHgGxl]|y/[^/\\\n]*/[^/\\\n]*/|{_CHANGES})[\x20\t]*+"
SED = rf"[\s;]*+{_COMMAND}(?:[;\n][\s;]*+{_COMMAND})*+[\s;]*+"
"""A script of sed whose commands run nothing, take no text, and read or write no file.

A class in brackets holds no end of the pattern: whether that ends it differs between seds.
"""

_NAMES = "system|getline|close|fflush|ARG[VCI]|ENVIRON|PROCINFO|SYMTAB|FUNCTAB|BINMODE"
_COMPARES = r"(?:(?!\\?print)(?:[^|@`\\]|\\[^\n|@`]|\|\|(?!\|)))*+"
_PRINTS = r"(?:[^|>@`\\]|\\[^\n|>@`]|\|\|(?!\|)|>=(?!>))*+"
AWK = f"(?!.*(?:{_NAMES})){_COMPARES}{_PRINTS}"
"""A program of awk without a pipe, a redirection or a call through a name.

Those need one of the characters left out; ``>`` names a file only behind a print. A name of the
list may follow a number directly.
"""

WRITTEN = r"(?:[^%@\\]|\\n)*(?:%\{(?!output)\w+\}(?:[^%@\\]|\\n)*)*"
"""What curl writes out: no variable that names a file."""

OUTPUT = "=?(?:wide|yaml|json|name|jsonpath=.*|custom-columns=.*)"
"""What kubectl prints."""

ADDRESS = r"(?!.*(?:::|//-)).*"
"""A git repository, but no address that names the program to reach it by."""

DEFINED = (
    r"(?:CMAKE_BUILD_TYPE|CMAKE_CXX_STANDARD|CMAKE_C_STANDARD)(?::STRING)?=\w+"
    r"|[A-Z]\w*(?::BOOL)?=(?:ON|OFF|TRUE|FALSE|YES|NO|[01])"
)
"""A variable of CMake that names no program."""

LOG = """
  -psuiEFPDwbWzRartcmgqve -# -n? -S? -G? -L? -M? -C? -B? -l? -U? --oneline --stat --shortstat
  --numstat --dirstat --summary --name-only --name-status --patch --patch-with-stat --graph
  --decorate --all --branches --tags --remotes --format --pretty --abbrev-commit --abbrev --author
  --committer --since --after --until --before --grep --invert-grep --follow --merges --reverse
  --regexp-ignore-case --extended-regexp --fixed-strings --perl-regexp --first-parent --date
  --date-order --topo-order --author-date-order --full-history --simplify-merges --ancestry-path
  --left-right --cherry --cherry-pick --cherry-mark --boundary --max-count --skip --max-parents
  --min-parents --cached --staged --merge-base --word-diff --color-words --word-diff-regex
  --color-moved --unified --ignore-all-space --ignore-space-change --ignore-blank-lines
  --ignore-space-at-eol --ignore-cr-at-eol --minimal --patience --histogram --diff-algorithm
  --diff-filter --find-renames --find-copies --find-copies-harder --pickaxe-all --pickaxe-regex
  --function-context --relative --exit-code --check --raw --binary --full-index --text --submodule
  --src-prefix --dst-prefix --line-prefix --source --indent-heuristic --output-indicator-new
  --output-indicator-old --output-indicator-context --walk-reflogs --cc --encoding --notes --count
  --objects --parents --children --numbered --email --compact-summary --root --dense --sparse
  --mailmap --full-diff --not --glob"""

MERGE = """
  -qvn -m? -X? -C? --ff --ff-only --squash --commit --abort --continue --quit --skip --stat --log
  --message --signoff --autostash --allow-unrelated-histories --strategy-option --verify
  --mainline --allow-empty --keep-redundant-commits"""

SCRIPT = r"""operand=(?![+]|\w+=).*
  -v -q --check --diff --list --all --watch --timeout --help"""
"""A script of the project that a rule names."""

PROGRAMS = r"""
arch, basename, bc, b2sum, cal, cat, cksum, cmp, column, comm, cut, df, dig:
  *
dirname, du, echo, egrep, expand, expr, false, fgrep, fold, free, getconf, grep, groups, head:
  *
hexdump, host, hostid, id, join, jq, ls, lsblk, md5sum, netstat, nl, nproc, nslookup, od, paste:
  *
pathchk, pgrep, ping, printenv, ps, pwd, readlink, realpath, seq, sha1sum, sha256sum, sha512sum:
  *
shellcheck, sleep, stat, strings, sum, tac, tail, tr, true, tsort, tty, type, uname, unexpand:
  *
uptime, users, wc, which, who, whoami, whois, yes, zgrep:
  *
cp, ln, mv, mkdir, rmdir, touch, truncate, unzip, mkfifo: writes=files
  *
chgrp, chmod, chown, rm, shred: writes=folders
  *
install: writes=files
  -bcCdDpsv -m: -o: -g: --mode: --owner: --group:
zip: writes=files
  -rq9jyuv -x? -i?
tar: writes=files bundled operand=[^:]*
  -txczjJvpkmOhau -f=[^:]+ -C=<INSIDE> --exclude: --strip-components: --list --extract --create
  --gzip --bzip2 --xz --zstd --file=[^:]+ --directory=<INSIDE> --keep-old-files --wildcards
  --to-stdout --totals --dereference --sort: --owner: --group: --mtime: --numeric-owner
rsync: writes=files operand=[^:]*
  -avzrtulpHAXnhPqcixgoDmWR --progress --stats --delete --exclude: --include: --archive --checksum
  --recursive --itemize-changes --update --partial --compress --human-readable
test, [: single
  -a -b -c -d -e -ef -eq -f -g -G -ge -gt -h -k -L -le -lt -n -N -ne -nt -o -O -ot -p -r -s -S -t -u
  -w -x -z -#
printf:
wait:
  -nf
find: single
  -print -print0 -ls -prune -depth -d -not -a -and -o -or -empty -follow -xdev -mount -daystart
  -noleaf -true -false -quit -nouser -nogroup -readable -writable -executable -L -H -P -name:
  -iname: -path: -ipath: -wholename: -iwholename: -regex: -iregex: -type: -xtype: -maxdepth:
  -mindepth: -size: -mtime: -mmin: -atime: -amin: -ctime: -cmin: -newer: -anewer: -cnewer: -newermt:
  -newerct: -perm: -user: -group: -uid: -gid: -links: -inum: -samefile: -fstype: -printf:
  -regextype: -lname: -ilname:
fd, fdfind:
  -HILapisgF0u1 -t? -e? -d? -E? -S? -c? --type --extension --hidden --max-depth --min-depth
  --exclude --glob --full-path --follow --absolute-path --ignore-case --case-sensitive --size
  --changed-within --changed-before --max-results --print0 --unrestricted
rg:
  -nNiSswxvclaoLFUPHI0pquh. -A? -B? -C? -e? -g? -t? -T? -m? -M? -j? -d? -r? -f? -E? --line-number
  --ignore-case --smart-case --case-sensitive --word-regexp --line-regexp --invert-match --count
  --count-matches --files --files-with-matches --files-without-match --text --only-matching --follow
  --fixed-strings --multiline --multiline-dotall --pcre2 --with-filename --heading --hidden
  --vimgrep --null --pretty --unrestricted --after-context --before-context --context --regexp
  --glob --iglob --type --type-not --type-list --max-count --max-columns --max-depth --max-filesize
  --threads --replace --file --encoding --engine --sort --sortr --stats --trim --column --json
  --passthru --one-file-system --byte-offset --colors --crlf
ag:
  -ilwnQcvsLuaH -A? -B? -C? -G? -m? --hidden --literal --ignore --depth
sort:
  -bdfghinMRrVzusCcm -k? -t? -S? --key --field-separator --numeric-sort --reverse --unique --check
  --human-numeric-sort --version-sort --ignore-case --stable --merge --zero-terminated --sort
  --general-numeric-sort --month-sort --random-sort --parallel
uniq: most=1
  -cdDuiz -f: -s: -w: --count --repeated --unique --ignore-case --all-repeated --group
  --skip-fields: --skip-chars: --check-chars: --zero-terminated
tee: most=0
  -aip --append
xxd: most=1 single
  -a -b -C -d -e -E -i -p -ps -r -u -l: -len: -s: -seek: -c: -cols: -g: -groupsize:
base32, base64:
  -dDi -w? --decode --wrap
shuf:
  -erz -i? -n? --echo --input-range --head-count --repeat
sed: script=<SED>
  -nErsuz -e=<SED> --expression=<SED> --regexp-extended --separate --null-data
awk, gawk, mawk, nawk, original-awk: single script=<AWK>
  -F: ~-F.+ -v=[A-Za-z_]\w*=.*
date: operand=\+.*
  -uR -I? -d: -r: --date: --reference: --utc --iso-8601 --rfc-3339 --rfc-email
diff:
  -urqsiwbBEaNycptden -U? -C? -W? -I? -x? -F? --unified --recursive --brief --context --ignore-case
  --report-identical-files --ignore-all-space --ignore-space-change --ignore-blank-lines --text
  --strip-trailing-cr --new-file --side-by-side --minimal --suppress-common-lines --width --exclude
  --label --show-c-function
tree:
  -adfipshugDFCnrtcUlxqNQvJ -L? -I? -P? --dirsfirst --gitignore --prune --noreport --du --si
  --filelimit --charset
file:
  -bikLNhrs0 -f? --mime --mime-type --mime-encoding --brief --dereference
man:
  -kfaw -s? --where --whatis --apropos
less, more: operand=(?![+]).*
  -NSRFXinEeMmQqrsuVwdflpc
lsof:
  -nPtla -i? -p? -u? -c?
ss:
  -tulpnaxswe46Hiomr --tcp --udp --listening --processes --numeric --all
bat:
  -pnA -l? -r? --plain --number --language --line-range --style --paging=never
yq:
  -rePcCMn
curl:
  -sSfLiIkvgGN#460qjZ -X: -A: -b: -e: -m: -u: -r: -z: -d=(?!@).* -H=(?!@).* -F=[^@<]* -o=/dev/null
  -w=<WRITTEN> --show-error --fail --fail-with-body --location --include --head --insecure --get
  --request: --header=(?!@).* --data=(?!@).* --data-raw: --data-urlencode=[^@]* --json=(?!@).*
  --form=[^@<]* --form-string: --user-agent: --referer: --user: --cookie: --max-time:
  --connect-timeout: --retry: --retry-delay: --retry-all-errors --retry-connrefused --compressed
  --http1.1 --http2 --ipv4 --ipv6 --url: --globoff --progress-bar --max-redirs: --range: --parallel
  --output=/dev/null --write-out=<WRITTEN>
wget:
  -qvcS -T: -t: -O=-|/dev/null --output-document=-|/dev/null --spider --tries: --timeout: --header:
  --user-agent: --continue --max-redirect:
make: operand=[^=]*|(?:V|VERBOSE|DEBUG|JOBS)=\d+
  -knsBiqrRwdpS -j? -l? -O? --jobs --keep-going --just-print --always-make --question --recon
  --print-data-base --print-directory --trace --output-sync -C=! -f=!
just: operand=[^=]*
  -lnvqu --list --summary --unsorted
ninja:
  -vnd -j? -k? -l? -C=! -f=!
cmake: operand=<INSIDE>
  -S=<INSIDE> -B=<INSIDE> --build=<INSIDE> -G: -D=<DEFINED> -LANv -j? --parallel --fresh
  --target=(?!install).* --config=(?:Debug|Release|RelWithDebInfo|MinSizeRel) --clean-first
ctest: single
  -V -VV -N ~-j\d* -R: -E: -L: --test-dir=<INSIDE> --output-on-failure --rerun-failed
  --stop-on-failure --parallel --timeout:
meson setup|compile|test: operand=<INSIDE>
  --buildtype --reconfigure --wipe -C=! --suite --list --print-errorlogs
gcc, g++, cc, c++, clang, clang++: single operand=(?!@).*
  ~-W(?![alp],)[\w=+-]* ~-O\w* ~-g\w* ~-[ILDU].+ ~-l\w+ ~-std=\S+ ~-fno-[\w-]+ -I: -L: -D: -U: -c -S
  -E -v -w -static -shared -pthread -pedantic -ansi -m32 -m64 -pipe -M -MM -fPIC -fpic -fopenmp
  -fsanitize -fsyntax-only -fdiagnostics-color
gradle, gradlew: operand=[\w:.*-]+
  -qisx --info --stacktrace --offline --parallel --continue --rerun-tasks --tests --daemon --console
  --warning-mode --exclude-task
mvn test|clean|install|package|verify|compile|validate: single operand=[a-z-]+
  -q -B -e -X -U -am -amd -pl: -T: ~-D(?:skipTests|skipITs|maven\.test\.skip)(?:=true)?
  ~-Dtest=[\w.#*,+]+
pytest:
  -qvxslh -k? -m? -n? -r? -p=no:[\w.]+ --cov --cov-branch --cov-fail-under --co --collect-only
  --help --cov-report=(?:term(?:-missing)?(?::skip-covered)?)? --lf --last-failed --ff
  --failed-first --nf --new-first --sw --stepwise --maxfail --tb --durations --durations-min
  --markers --showlocals --disable-warnings --disable-pytest-warnings --capture --strict-markers
  --strict-config --exitfirst --fixtures --pdb --runxfail --ignore --ignore-glob --deselect
  --import-mode --benchmark-only --benchmark-skip --numprocesses --dist --timeout --setup-show
  --reruns --asyncio-mode --code-highlight --doctest-modules --show-capture --log-level
  --log-cli-level
ruff:
  -qvnes --select --ignore --extend-select --extend-ignore --preview --check --diff --statistics
  --output-format --line-length --target-version --exclude --extend-exclude --exit-zero --show-files
  --show-settings --isolated --watch --respect-gitignore --force-exclude --help
mypy:
  --help -v -m? -p? --strict --ignore-missing-imports --follow-imports --show-error-codes --pretty
  --show-error-context --show-column-numbers --python-version --platform --exclude --module
  --package --warn-unused-ignores --warn-unused-configs --warn-unreachable --warn-return-any
  --disallow-untyped-defs --disallow-any-generics --check-untyped-defs --explicit-package-bases
  --namespace-packages --enable-error-code --disable-error-code --strict-equality
black:
  --help -qvSC -l? -t? --check --diff --line-length --target-version --skip-string-normalization
  --skip-magic-trailing-comma --preview --fast --safe --include --exclude --workers
isort:
  -cqv --check --check-only --diff --df --profile=\w+ --line-length
flake8:
  -qv --max-line-length --max-complexity --select --ignore --extend-ignore --statistics --count
  --show-source --exclude
pylint:
  -E -j? -d? -e? -r? -s? -f=[\w-]+ --errors-only --jobs --disable --enable --recursive --fail-under
  --score --reports --output-format=[\w-]+
pyright:
  --warnings --stats --outputjson --level --pythonversion --pythonplatform
pip-audit: most=0
  --desc --strict --local
unittest:
  -vqfb -k? --failfast --buffer --locals
json.tool: most=1
  --sort-keys --indent --compact --json-lines
http.server: most=1
  --bind
venv: operand=<INSIDE>
  --clear --upgrade-deps --system-site-packages
vite, next: operand=build|dev|lint|start|preview
shfmt: single
  -d -l -i: -s -ci -bn -sr -ln:
gofmt, goimports: single
  -l -d -s -e
staticcheck: single
  -checks: -tags: -tests -show-ignored
golangci-lint run:
  -v -E? -D? --timeout --fast --new --enable --disable
luacheck:
  -q -j? --codes --std --globals --read-globals --ignore --only
stylua:
  -cg --check --verify --glob --respect-ignores
clang-format:
  -n --Werror --style=(?:file|LLVM|Google|Chromium|Mozilla|WebKit)
eslint:
  -f=json|compact|stylish|unix --format=json|compact|stylish|unix --ext --max-warnings
  --report-unused-disable-directives --ignore-pattern
prettier:
  -clu --check --list-different --ignore-unknown --log-level
tsc:
  -wp --noEmit --pretty --watch --strict --skipLibCheck --project --showConfig
jest, vitest:
  -ib -t? -w? --run --runInBand --testNamePattern --testPathPattern --testPathPatterns --watchAll
  --watch --coverage --collectCoverage --bail --ci --maxWorkers --findRelatedTests --onlyChanged
  --passWithNoTests --detectOpenHandles --listTests --forceExit --changedSince --changed --expand
  --json --runTestsByPath --selectProjects --reporter=\w+
mocha:
  -gbi --recursive --timeout --grep --bail --exit --reporter=\w+ --invert --parallel
rspec:
  -fbe --format=\w+ --example --tag --fail-fast --order --seed
cargo build|test|check|clippy|doc|fmt|bench|tree|metadata|update|fetch|clean|run|add|remove|nextest:
  -qvD -j? -p? -F? --release --workspace --all --all-targets --all-features --no-default-features
  --features --lib --bin --bins --test --tests --example --examples --bench --benches --package
  --exclude --profile --target=[a-z0-9_]+(?:-[a-z0-9_]+)+ --locked --offline --frozen --doc --jobs
  --message-format --keep-going --format-version --depth --invert --edges --duplicates --check --dev
  --build --optional --test-threads --nocapture --ignored --include-ignored --exact --skip
  --show-output
go build|test|vet|fmt|list|mod|version|get|doc|clean: single
  -v -x -n -race -short -cover -count: -run: -bench: -benchtime: -benchmem -timeout: -failfast
  -parallel: -p: -tags: -covermode: -coverpkg: -vet: -json -list: -shuffle: -skip: -cpu: -mod:
  -trimpath -a -i -m -u -d -t -f: -deps -e -test -versions -retracted -C=!
go env: single
  -json -changed
npm|pnpm|yarn test|t|run|ci|install|i|add|remove|uninstall|ls|list|view|info|outdated|audit|start:
  <NPM>
npm|pnpm|yarn build|lint|why|explain|check|dev|format|typecheck:
  <NPM>
pip|pip3 install|list|show|freeze|check|uninstall|index:
  -qvUy -r? -e? --upgrade --user --yes --requirement --editable --pre --outdated --format --all
  --disable-pip-version-check --upgrade-strategy --constraint --force-reinstall --files
apt install|list|search|show|update|remove, apt-get install|update|remove, apt-cache search|show:
  -qy --yes --installed --upgradable --all-versions
brew list|info|install|search:
  -v --cask --json
docker ps|images, docker image ls:
  <DOCKER> -f? --filter
docker inspect:
  -s -f? --format --size --type
docker logs, docker compose logs:
  <DOCKER> -f
docker rm:
  -fv --force --volumes
docker network|volume ls|inspect, docker version|info|stats|top|port|history|pull:
  <DOCKER>
docker start|stop|restart, docker compose up|down|ps|build|pull|images|restart|stop:
  <DOCKER>
docker build:
  -qt --tag --pull --progress --target --build-arg
kubectl get|describe|top|version|explain|api-resources|cluster-info, kubectl config view:
  <KUBECTL>
kubectl logs:
  <KUBECTL> -f
helm list|status|history|lint:
  -aA -n? --all
terraform fmt|validate|plan|show|output|version|providers|init: single
  -check -diff -recursive -list -write -json -no-color -detailed-exitcode -input -lock -refresh
  -compact-warnings -target -upgrade -backend
dotnet build|test|restore:
  -c=(?:Debug|Release) --configuration=(?:Debug|Release) -f? -v? --filter --verbosity --nologo
  --framework --list-tests
mix test|format:
  --trace --only --exclude --seed --stale --failed --cover --check-formatted
pre-commit run:
  -av --all-files --files --show-diff-on-failure --hook-stage
openssl version|dgst|x509|rand: single
  -a -sha1 -sha256 -sha512 -md5 -noout -text -subject -issuer -dates -fingerprint -enddate -hex
  -base64 -in: -inform:
systemctl status|is-active|list-units|cat:
  -al -n? --all --user --type --state --lines
ip addr|route|link show:
git:
  -C=! -c=! --git-dir=! --work-tree=! --no-pager --no-optional-locks --version
git log|show|diff|reflog|shortlog|whatchanged|rev-list|range-diff|diff-tree|diff-index|diff-files:
  <LOG>
git status:
  -sbvz -u? --short --branch --porcelain --long --ignored --untracked-files --column --ahead-behind
  --show-stash --renames --find-renames
git branch:
  -arvdDmMcCflutqi --all --remotes --list --show-current --contains --merged --sort --format
  --points-at --delete --move --copy --force --set-upstream-to --unset-upstream --track --column
  --ignore-case --abbrev
git tag:
  -adlfi -m? -n? -F? --list --sort --contains --points-at --message --annotate --delete --force
  --merged --format --column --cleanup
git add:
  -AupnvfiN --all --update --patch --force --intent-to-add --ignore-errors --renormalize --refresh
  --chmod
git commit:
  -avqsnoiz -m? -C? -F? -u? --all --message --amend --fixup --squash --author --date --signoff
  --allow-empty --allow-empty-message --file --reuse-message --cleanup --trailer --status --branch
  --short --porcelain --only --include --reset-author
git checkout|switch|restore:
  -bBqftpdmlWcCS23 -s? --track --force --detach --ours --theirs --orphan --merge --conflict --create
  --force-create --discard-changes --guess --source --staged --worktree --patch --overlay
  --ignore-unmerged --progress
git stash:
  <LOG> -aukm --include-untracked --all --keep-index --message --index
git merge:
  <MERGE>
git cherry-pick|revert:
  <MERGE> -x
git rebase:
  <MERGE> -fr --onto --autosquash --root --rebase-merges --fork-point --keep-base --update-refs
  --empty --force-rebase --reapply-cherry-picks --show-current-patch
git reset:
  -qNp --hard --soft --mixed --merge --keep --patch --intent-to-add
git rm|mv|clean: writes=files
  -rfnqkvdxX -e? --cached --force --ignore-unmatch --exclude
git grep:
  -niwvclLohHEFPGWpqaIrz -# -e? -f? -A? -B? -C? -m? --line-number --ignore-case --word-regexp
  --invert-match --count --files-with-matches --files-without-match --name-only --only-matching
  --heading --break --cached --untracked --extended-regexp --fixed-strings --perl-regexp --and --or
  --not --all-match --context --after-context --before-context --function-context --show-function
  --max-depth --recursive --column --full-name --text --exclude-standard --recurse-submodules
git blame|annotate:
  -wesltnfpcb -L? -M? -C? --porcelain --line-porcelain --root --since --date --reverse --abbrev
  --first-parent --show-email --show-name --show-number --ignore-rev --ignore-revs-file --minimal
git ls-files|ls-tree:
  -cdmoisuktvzrl -x? -X? --cached --deleted --modified --others --ignored --stage --unmerged
  --killed --exclude-standard --directory --full-name --full-tree --error-unmatch --exclude --eol
  --abbrev --recurse-submodules --format --long --name-only --name-status --object-only
git rev-parse:
  -q --show-toplevel --abbrev-ref --short --verify --symbolic-full-name --symbolic --show-prefix
  --is-inside-work-tree --is-bare-repository --show-cdup --all --branches --tags --remotes
git cat-file:
  -ptse --batch-check --batch --batch-all-objects
git apply:
  -R3v -p? --check --stat --numstat --summary --reverse --index --cached --whitespace
git archive:
  -lv --format=tar|zip --prefix --list
git format-patch:
  -nks -# --stdout --signoff --cover-letter --numbered --root
git show-ref|for-each-ref|describe|name-rev|merge-base|cherry|count-objects|var|version:
  <REFS>
git fsck|gc|check-ignore|check-attr|symbolic-ref|write-tree|sparse-checkout|show-branch:
  <REFS>
git fetch|pull: operand=<ADDRESS>
  -pvqftnak46rP -j? -X? --prune --prune-tags --tags --depth --unshallow --force --rebase --ff --all
  --ff-only --autostash --append --multiple --jobs --set-upstream --recurse-submodules --deepen
  --shallow-since --keep --progress --atomic --squash --commit --stat --signoff --strategy-option
  --allow-unrelated-histories
git push: operand=<ADDRESS>
  -ufdnqv --set-upstream --force --force-with-lease --force-if-includes --tags --all --delete
  --follow-tags --prune --porcelain --atomic --progress
git ls-remote: operand=<ADDRESS>
  -htq --heads --tags --refs --symref --sort --exit-code --get-url --branches
git remote: operand=<ADDRESS>
  -vftn --tags --push --all --add --delete
git clone: operand=<ADDRESS> writes=files
  -qvnls -b? -j? --branch --depth --single-branch --bare --mirror --recursive --recurse-submodules
  --filter --shallow-since --shallow-submodules --tags --jobs --sparse --progress
git init: writes=files
  -q -b? --bare --initial-branch
git worktree: writes=files
  -bBfdvq --force --detach --porcelain --lock --track --orphan
git config, git config get: most=1 operand=\w[\w-]*(?:\.[\w-]+)+
  <CONFIG>
git config list: most=0
  <CONFIG>
"""

SHARED = {
    "SED": SED,
    "AWK": AWK,
    "INSIDE": INSIDE,
    "WRITTEN": WRITTEN,
    "DEFINED": DEFINED,
    "ADDRESS": ADDRESS,
    "LOG": LOG,
    "MERGE": MERGE,
    "REFS": """
        -vqnHdzlt --sort --format --count --points-at --merged --contains --heads --tags --verify
        --hash --dereference --abbrev --always --dirty --exact-match --long --match --candidates
        --all --first-parent --is-ancestor --octopus --independent --fork-point --name-only --refs
        --non-matching --short --human-readable --aggressive --auto --prune --full --unreachable""",
    "CONFIG": """
        -lz --get --get-all --get-regexp --list --global --local --system --worktree --show-origin
        --show-scope --null --name-only --includes""",
    "NPM": """
        -sDEP --save-dev --save --save-exact --dev --production --omit --include --frozen-lockfile
        --immutable --prefer-offline --offline --legacy-peer-deps --force --ignore-scripts --all
        --depth --json --workspace --workspaces --if-present --long --parseable --watch --watchAll
        --coverage --ci""",
    "DOCKER": """
        -aqstd -n? --all --latest --size --format --follow --tail --since --until --timestamps
        --detach --wait --build --force-recreate --remove-orphans --pull --digests""",
    "KUBECTL": f"""
        -Awp -n? -l? -c? -L? -o={OUTPUT} --output={OUTPUT} --namespace --all-namespaces --watch
        --selector --field-selector --show-labels --label-columns --sort-by --ignore-not-found
        --show-kind --previous --follow --tail --since --timestamps --all-containers --container
        --prefix --client""",
}
"""Texts that the table names in angle brackets."""
