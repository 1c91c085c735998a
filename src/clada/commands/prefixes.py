"""Approval by prefix: which words may be one, and which further arguments it covers.

A prefix lets a program run with any further arguments, so a program that runs anything it is given cannot be
one: an interpreter, a shell, a package runner or `sudo` by itself. Of options, a prefix covers those in
HARMLESS, which neither run, load nor write anything else; a person who adds the prefix is shown them. All
others need the exact command.

HARMLESS has one row for each program, or for one of its commands. An option that is missing needs approval
of the exact command, and so does every option of a program that has no row. So an option that a new version
of a program adds is not covered until it was reviewed. In a row, `-x` is a switch, and may stand in a bundle;
`-k=` takes a value, which may be attached; `--name` is the whole name, with a value or without. Where options
have long names behind one dash (`-race`), there are no bundles. `NAME=VALUE` and `@NAME` stand for operands
of that form: make takes the one for a variable, and many programs read more options from the file that the
other one names.
"""

from __future__ import annotations

from clada.commands.programs import ALLOWED, BUILT_IN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

ASSIGNMENT, RESPONSE = "NAME=VALUE", "@NAME"
OLD_STYLE = ("tar", "gtar", "bsdtar")  # their first word is a bundle of options, with a dash or without

_PYTEST = """
    -h -k= -l -m= -n= -q -r= -s -v -x --capture --co --collect-only --color --cov --cov-fail-under
    --deselect --disable-warnings --dist --durations --durations-min --exitfirst --failed-first --ff
    --fixtures --ignore --last-failed --lf --markers --maxfail --new-first --nf --no-cov --no-header
    --no-summary --numprocesses --quiet --reruns --setup-show --showlocals --stepwise --strict-markers
    --sw --tb --timeout --verbose --version NAME=VALUE
"""
# npm and the like pass words after `--` to a script: these mean the same to most test runners.
_NPM = """
    -D -E -s --all --bail --ci --coverage --dev --dry-run --frozen-lockfile --ignore-scripts --include
    --if-present --json --legacy-peer-deps --loglevel --no-audit --no-color --no-fund --offline --omit
    --prefer-offline --production --recursive --runInBand --save-dev --save-exact --silent
    --testNamePattern --verbose --watch --watchAll --workspace --workspaces @NAME
"""
_MAKE = """
    -B -O -S -i -j= -k -l= -n -q -r -s -w --always-make --dry-run --ignore-errors --jobs --just-print
    --keep-going --load-average --no-print-directory --output-sync --print-directory --question --quiet
    --silent --trace
"""
_GRADLE = """
    -i -m -q -s -w --build-cache --console --continue --daemon --dry-run --info --no-build-cache
    --no-daemon --offline --parallel --quiet --rerun-tasks --stacktrace --tests --warn
"""
_TAR = """
    -J -c -f= -j -p -t -v -x -z --bzip2 --create --exclude --extract --file --get --gzip --list
    --no-same-owner --strip-components --verbose --xz --zstd
"""
HARMLESS = {
    "black": """
        -S -l= -q -t= -v --check --color --diff --fast --line-length --no-color --preview --quiet --safe
        --skip-string-normalization --target-version --verbose
    """,
    "bun": "-t= --bail --coverage --only --rerun-each --test-name-pattern --timeout --todo --watch",
    "cargo": """
        -A= -D= -F= -W= -j= -p= -q -r -v --all --all-features --all-targets --bench --bin --bins --check
        --color --doc --exact --example --examples --exclude --features --frozen --ignored
        --include-ignored --jobs --keep-going --lib --list --locked --message-format --no-default-features
        --no-deps --no-fail-fast --no-run --nocapture --offline --package --profile --quiet --release
        --show-output --skip --test --test-threads --tests --verbose --workspace
    """,
    "cmake": "-j= -t= -v --build --clean-first --config --parallel --target --verbose --version",
    "coverage": """
        -i -m --fail-under --include --omit --precision --show-missing --skip-covered --skip-empty --sort
    """,
    "ctest": """
        -E= -L= -N -R= -V -j= --output-on-failure --parallel --progress --quiet --rerun-failed --timeout
        --verbose
    """,
    "deno fmt": "-q --check --quiet",
    "deno lint": "-q --compact --json --quiet",
    "deno test": "-q --doc --fail-fast --filter --no-run --parallel --quiet --shuffle",
    "eslint": """
        --cache-strategy --color --debug --ext --fix --fix-dry-run --fix-type --ignore-pattern
        --max-warnings --no-color --no-error-on-unmatched-pattern --no-inline-config --quiet
        --report-unused-disable-directives --version
    """,
    "flake8": """
        -j= -q -v --color --count --exclude --extend-ignore --extend-select --ignore --jobs
        --max-complexity --max-line-length --quiet --select --show-source --statistics --verbose
    """,
    "git add": "-A -N -n -u -v --all --dry-run --intent-to-add --update --verbose @NAME",
    "git checkout": "-b= -q -t --detach --quiet --track @NAME",
    "git clone": "-b= -q -v --branch --depth --no-checkout --no-tags --quiet --single-branch --verbose",
    "git commit": """
        -a -m= -q -s -v --all --allow-empty --dry-run --message --no-edit --quiet --signoff --verbose
        NAME=VALUE @NAME
    """,
    "git fetch": "-p -q -t -v --all --depth --dry-run --prune --quiet --tags --unshallow --verbose @NAME",
    "git grep": """
        -E -F -L -P -c -e= -h -i -l -n -w -A= -B= -C= --cached --count --files-with-matches
        --fixed-strings --heading --ignore-case --line-number --name-only --word-regexp NAME=VALUE @NAME
    """,
    "git merge": """
        -m= -q -v --abort --ff --ff-only --no-edit --no-ff --quiet --squash --stat NAME=VALUE @NAME
    """,
    "git mv": "-n -v --dry-run --verbose @NAME",
    "git pull": """
        -q -v --all --depth --ff-only --no-edit --no-rebase --prune --quiet --tags --verbose @NAME
    """,
    "git push": "-n -q -u -v --dry-run --follow-tags --quiet --set-upstream --tags --verbose @NAME",
    "git restore": "-S -W -q -s= --quiet --source --staged --worktree @NAME",
    "git switch": "-c= -q -t --create --detach --quiet --track @NAME",
    "git tag": "-a -l -m= -n= --annotate --list --message NAME=VALUE @NAME",
    "go": """
        -a -bench -benchmem -benchtime -count -cover -covermode -coverpkg -cpu -failfast -fullpath -json
        -list -m -n -p -parallel -race -run -short -shuffle -skip -tags -timeout -trimpath -u -v -x
    """,
    "gofmt": "-d -e -l -s -w",
    "golangci-lint": "-v --fast --fix --issues-exit-code --new --timeout --verbose",
    "gradle": _GRADLE,
    "gradlew": _GRADLE,
    "gmake": _MAKE,
    "isort": "-c -q -v --check --check-only --diff --line-length --quiet --verbose",
    "jest": """
        -b -e -i -t= -w= --bail --ci --colors --coverage --detectOpenHandles --expand --findRelatedTests
        --forceExit --listTests --maxWorkers --no-cache --onlyChanged --passWithNoTests --runInBand
        --silent --testNamePattern --testPathPattern --testPathPatterns --verbose --watch --watchAll
    """,
    "make": _MAKE,
    "mix test": """
        --cover --exclude --failed --include --max-failures --only --seed --slowest --stale --trace
    """,
    "mocha": "-b -f= -g= -i -t= --bail --exit --fgrep --forbid-only --grep --invert --slow --timeout",
    "mvn": """
        -B -N -T -U -X -am -amd -batch-mode -e -fae -ff -fn -ntp -o -offline -pl -q -quiet -show-version
        -V
    """,
    "mypy": """
        -m= -p= -v --check-untyped-defs --disallow-untyped-defs --exclude --explicit-package-bases
        --follow-imports --ignore-missing-imports --module --namespace-packages --no-error-summary
        --no-incremental --package --pretty --python-version --show-error-codes --strict --strict-optional
        --verbose --version --warn-return-any --warn-unreachable --warn-unused-ignores
    """,
    "ninja": "-j= -k= -l= -n -v --quiet --verbose --version",
    "nox": """
        -R -e= -k= -l -p= -r -s= -t= --list --no-install --reuse-existing-virtualenvs --session --sessions
    """,
    "npm": _NPM,
    "phpunit": """
        --colors --exclude-group --filter --group --list-tests --no-coverage --no-progress --order-by
        --stop-on-error --stop-on-failure --testdox --testsuite
    """,
    "pnpm": _NPM,
    "poetry": """
        -n -q -v --all-extras --all-groups --dry-run --extras --no-ansi --no-interaction --no-root --only
        --quiet --sync --verbose --with --without
    """,
    "pre-commit": "-a -v --all-files --color --files --from-ref --show-diff-on-failure --to-ref --verbose",
    "prettier": """
        -c -l -u -w --check --ignore-unknown --list-different --log-level --loglevel --no-color
        --print-width --single-quote --tab-width --write
    """,
    "py.test": _PYTEST,
    "pylint": """
        -E -d= -e= -j= -r= -s= -v --disable --enable --errors-only --jobs --reports --score --verbose
    """,
    "pyright": "--level --outputjson --pythonplatform --pythonversion --skipunannotated --stats --warnings",
    "pytest": _PYTEST,
    "rspec": "-b -e= -t= --backtrace --dry-run --example --fail-fast --only-failures --order --seed --tag",
    "rsync": """
        -P -a -c -h -n -q -r -t -u -v -x -z --archive --checksum --compress --dry-run --exclude
        --human-readable --include --itemize-changes --partial --progress --quiet --recursive --stats
        --times --update --verbose
    """,
    "rubocop": "-A -D -L -a -x --autocorrect --display-cop-names --except --fail-level --only --parallel",
    "ruff": """
        -e -n -q -s -v --check --diff --exclude --exit-zero --extend-ignore --extend-select --fix
        --fix-only --ignore --line-length --no-cache --output-format --preview --quiet --select
        --show-files --show-fixes --silent --statistics --target-version --unsafe-fixes --verbose
    """,
    "shellcheck": """
        -S= -a -e= -f= -i= -o= -s= --color --enable --exclude --format --include --severity --shell
    """,
    "tar": _TAR,
    "terraform": "-check -compact-warnings -diff -json -list -no-color -recursive",
    "tox": "-e= -l -p= -q -r -v --colored --list --notest --parallel --quiet --recreate --verbose",
    "tsc": "-p -w --noEmit --pretty --project --skipLibCheck --strict --target --version --watch",
    "unittest": """
        -b -c -f -h -k= -p= -q -s= -v --buffer --catch --failfast --help --locals --pattern --quiet
        --start-directory --verbose
    """,
    "vitest": "-t= --bail --changed --no-color --passWithNoTests --run --silent --testNamePattern --watch",
    "yarn": _NPM,
}  # fmt: skip

# Interpreters that run a script.
_SCRIPTED = frozenset(
    """
    ash bash csh dash elvish fish groovy jruby julia ksh lua luajit mksh node nodejs nu octave perl php
    powershell pwsh pypy python pythonw racket raku rbash rscript ruby sh tclsh tcsh truffleruby ts-node
    tsx xonsh yash zsh
    """.split()
)
# Programs with a language of their own, or a prompt.
_INTERPRETERS = frozenset(
    """
    awk bc bpython busybox clisp cmd crystal dart dc ed elixir emacs erl escript ex gawk gdb ghci
    gnuplot guile iex ipython irb java jshell kotlin lldb mawk micropython mysql nawk nvim osascript
    pike psql r runghc runhaskell sbcl scala scheme sed sqlite swift toybox vi view vim wish
    """.split()
)
# Programs that start another one: as another user, elsewhere, or in another way.
_WRAPPERS = frozenset(
    """
    abduco accelerate air apply arch asciinema at aws-vault batch bpftrace bwrap caffeinate capsh
    catchsegv cgexec chokidar chpst chronic chroot chrt command concurrently crontab cross-env daemonize
    dbus-run-session detach direnv distrobox dlv doas docker docker-compose doppler dotenv dotenvx dtach
    dumb-init entr env envdir eval exec execlineb expect fakeroot faketime firejail flamegraph
    flatpak flock gdbserver genv gnice gnohup gosu gow gstdbuf gtimeout gxargs heaptrack heroku
    hyperfine i386 ifne incus ionice kubectl linux32 linux64 ltrace lxc lxc-attach machinectl modd mosh
    mpiexec mpirun nc ncat nerdctl netcat newgrp nice nodemon nohup npm-run-all nsenter numactl onchange
    op papermill parallel pee perf pkexec podman poop prlimit proot proxychains proxychains4 reflex
    rlwrap rr rsh run-p run-parts run-s run0 runcon runuser salloc samply sbatch schroot screen script
    sem setarch setpriv setsid setuidgid sg socat softlimit srun ssh ssh-agent sshpass start-stop-daemon
    stdbuf strace su su-exec sudo sudo-rs sudoedit supervise systemd-nspawn systemd-run taskset time
    timeout tini tmux toolbox torchrun torify torsocks tsocks ttyd uftrace uname26 unbuffer unshare
    vagrant valgrind vipe watch watchexec wine winpty x86_64 xargs xvfb-run
    """.split()
)
_MARKS = ("+", "/")  # start options of a few programs: `/p:NAME=VALUE`, `+cmd`
_LOADERS = ("ld-linux", "ld-musl", "ld.so")  # loaders of the system, which start programs
_RUNNERS = frozenset("bunx nix-shell npx pipx pnpx uvx".split())  # programs that run packages by name
# Programs with many commands: without a command, they cannot be a prefix; these of their commands run others.
_TOOLS = {
    "asdf": "exec", "bun": "exec repl run x", "bundle": "exec", "cargo": "", "composer": "exec",
    "conda": "run", "corepack": "npm npx pnpm yarn", "coverage": "run", "deno": "eval repl run serve x",
    "dotnet": "exec fsi script", "fnm": "exec", "gem": "exec",
    "git": "bisect config difftool filter-branch mergetool rebase submodule worktree",
    "go": "generate run tool", "gradle": "", "hatch": "run shell", "jupyter": "console run",
    "lerna": "exec", "mamba": "run", "micromamba": "run", "mise": "exec x", "mix": "cmd eval run",
    "mvn": "", "nix": "develop run shell", "nodenv": "exec", "npm": "config exec explore pkg x",
    "pdm": "run", "pip": "", "pipenv": "run shell", "pixi": "exec run", "pnpm": "config dlx exec",
    "poetry": "run self shell", "pre-commit": "try-repo", "pyenv": "exec", "rbenv": "exec",
    "rustup": "run", "rye": "run", "stack": "exec ghci runghc script", "uv": "run tool x", "volta": "run",
    "yarn": "config dlx exec node",
}  # fmt: skip
# Python modules that run their arguments, or open a prompt.
_MODULES = frozenset(
    """
    IPython ast asyncio bdb bpython cProfile code codeop doctest ensurepip idlelib ipykernel jupyter pdb pip
    pipx poetry profile ptpython pudb runpy site timeit trace uv venv virtualenv zipapp
    """.split()
)


def refusal(words: Sequence[str]) -> str | None:
    """Return why these words cannot be a prefix; None if they can."""
    words = tuple(words)
    if not words or not words[0]:
        return "a prefix has at least the name of a program"
    name, base = _name(words[0]), words[0].rpartition("/")[2]
    if name in _WRAPPERS or base in _WRAPPERS or name.startswith(_LOADERS):
        return f"`{words[0]}` runs any program that follows: approve exact commands"
    if name in _TOOLS and len(words) == 1:
        return f"`{words[0]}` can do too much: name one of its commands, too"
    if base in BUILT_IN or any(
        f"{known} ".startswith(" ".join((base, *words[1:2], ""))) for known in ALLOWED
    ):
        shown = " ".join(words[: 2 if name == "git" else 1])
        return f"`{shown}` runs without approval; for its other options approve the exact command"
    if name in _RUNNERS:
        return _refuse_behind(words[:1], words[1:])
    if name in _TOOLS:
        return _refuse_tool(name, words)
    if name in _SCRIPTED:
        return _refuse_interpreter(name, words)
    return f"`{words[0]}` runs any code: approve exact commands" if name in _INTERPRETERS else None


def covered_options(prefix: Sequence[str]) -> tuple[str, ...]:
    """Return the options that a prefix covers, to be shown; none if each needs approval."""
    return tuple(option.rstrip("=") for option in _harmless_options(prefix) if option.startswith("-"))


def covers(prefix: Sequence[str], words: Sequence[str]) -> bool:
    """Whether a prefix approves a command: it starts with its words, and only harmless options follow."""
    length = len(prefix)
    if tuple(words[:length]) != tuple(prefix) or refusal(prefix):
        return False
    options, rest = _harmless_options(prefix), words[length:]
    if length == 1 and rest and _name(words[0]) in OLD_STYLE and not rest[0].startswith("-"):
        letters, *rest = rest  # `tar cIf x`, where each letter is an option
        if not all(f"-{letter}" in options or f"-{letter}=" in options for letter in letters):
            return False
    return all(_is_harmless(word, options) for word in rest)


def _harmless_options(prefix: Sequence[str]) -> tuple[str, ...]:
    """Return the harmless options of the program, or command, that a prefix finally runs."""
    worker = _worker(tuple(prefix))
    name = _name(worker[0])
    return tuple((HARMLESS.get(" ".join((name, *worker[1:2]))) or HARMLESS.get(name, "")).split())


def _name(word: str) -> str:
    """Return the name of a program without its directory and version: `/usr/bin/python3.12` is python."""
    name = word.rpartition("/")[2].lower().removesuffix(".exe")
    return name.rstrip("0123456789.-") or name


def _refuse_behind(runner: tuple[str, ...], rest: tuple[str, ...]) -> str | None:
    """Return why the words after a runner cannot be a prefix."""
    shown = " ".join(runner)
    if not rest:
        return f"`{shown}` runs any program that follows: name that, too"
    if rest[0].startswith("-"):
        return f"`{rest[0]}` stands where `{shown}` has the program: approve exact commands"
    return refusal(rest)


def _refuse_tool(name: str, words: tuple[str, ...]) -> str | None:
    if words[1].startswith("-"):
        return f"`{words[1]}` stands where `{words[0]}` has its command: approve exact commands"
    if words[1] in _TOOLS[name].split():
        return _refuse_behind(words[:2], words[2:])
    return None


def _refuse_interpreter(name: str, words: tuple[str, ...]) -> str | None:
    """Accept an interpreter only with a Python module, or with a script of the workspace."""
    if name.startswith(("python", "pypy")) and words[1:2] == ("-m",) and len(words) > 2:  # noqa: PLR2004
        module = words[2].partition(".")[0]
        if module in _MODULES:
            return f"the module `{words[2]}` runs any code"
        return refusal(words[2:]) if module in _TOOLS else None
    script = words[1] if len(words) > 1 else ""
    parts = script.split("/")
    if script and "." in parts[-1].strip(".") and script[0] not in "-/~" and ".." not in parts:
        return None
    return f"`{' '.join(words)}` runs any code: name the script, or a module with -m, too"


def _worker(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a prefix from the program, or module, that it finally runs."""
    name = _name(words[0])
    if name.startswith(("python", "pypy")) and words[1:2] == ("-m",):
        return words[2:]
    if name in _RUNNERS and len(words) > 1:
        return _worker(words[1:])
    if name in _TOOLS and len(words) > 2 and words[1] in _TOOLS[name].split():  # noqa: PLR2004
        return _worker(words[2:])
    return words


def _is_harmless(word: str, options: Sequence[str]) -> bool:
    """Whether a word is an operand that cannot be read as an option, or one of these options."""
    name, equals, _value = word.partition("=")
    if not word.startswith("-") or word in ("-", "--"):
        if not options and word.startswith(_MARKS):
            return False
        assigned = bool(equals) and ASSIGNMENT not in options  # make has `A:=b`, `A!=b` and `.A=b`, too
        return not assigned and (not word.startswith("@") or RESPONSE in options)
    if any(option[0] == "-" != option[1] and len(option) > len("-x=") for option in options):
        return f"-{name.lstrip('-')}" in options  # as Go has them: whole words, behind one dash or two
    return name in options if name.startswith("--") else _is_bundle(word[1:], options)


def _is_bundle(letters: str, options: Sequence[str]) -> bool:
    """Whether each letter of a bundle is one of these options, up to one that takes a value."""
    for letter in letters:
        if f"-{letter}=" in options:
            return True
        if f"-{letter}" not in options:
            return False
    return True
