"""Approval by prefix: which words may be one, and which further arguments it covers.

A prefix lets a program run with any further arguments, so what runs whatever it is given cannot be one: an
interpreter, a shell, a package runner or `sudo` by itself. Options that make a program run, load or write
something else than its work are not covered; the person who adds the prefix is shown them.
"""

from __future__ import annotations

from clada.commands.programs import ALLOWED, BUILT_IN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# What runs a script that it is given, and whatever else.
_SCRIPTED = frozenset(
    """
    ash bash csh dash elvish fish groovy jruby julia ksh lua luajit mksh node nodejs nu octave perl php
    powershell pwsh pypy python pythonw racket raku rbash rscript ruby sh tclsh tcsh truffleruby ts-node
    tsx xonsh yash zsh
    """.split()
)
# What runs programs in a language of its own, or leads to a prompt.
_INTERPRETERS = frozenset(
    """
    awk bc bpython busybox clisp cmd crystal dart dc ed elixir emacs erl escript ex gawk gdb ghci
    gnuplot guile iex ipython irb java jshell kotlin lldb mawk micropython mysql nawk nvim osascript
    pike psql r runghc runhaskell sbcl scala scheme sed sqlite swift toybox vi view vim wish
    """.split()
)
# What starts another program that it is given: as somebody else, elsewhere, or in another way.
_WRAPPERS = frozenset(
    """
    aws-vault at batch bwrap caffeinate catchsegv chroot chrt chronic command cross-env crontab
    dbus-run-session direnv docker doas docker-compose doppler dotenv dotenvx dumb-init entr env eval
    exec expect faketime fakeroot firejail flock genv gnice gnohup gosu gstdbuf gtimeout gxargs heroku
    ionice kubectl ltrace machinectl mosh nerdctl nice nodemon nohup nsenter numactl op parallel perf
    pkexec podman prlimit proot rlwrap rsh run-parts run0 runuser screen script setarch setpriv setsid
    softlimit ssh sshpass start-stop-daemon stdbuf strace su su-exec sudo sudo-rs sudoedit supervise
    systemd-run taskset time timeout tini tmux toolbox torsocks unbuffer unshare vagrant valgrind watch
    watchexec winpty xargs xvfb-run
    """.split()
)
_LOADERS = ("ld-linux", "ld-musl", "ld.so")  # by which the system itself starts programs
_RUNNERS = frozenset("bunx nix-shell npx pipx pnpx uvx".split())  # of packages, by their names
# Programs of many commands: by themselves they are no prefix, and these of their commands run what follows.
_TOOLS = {
    "bun": "exec repl run x", "bundle": "exec", "cargo": "", "composer": "exec", "conda": "run",
    "corepack": "npm npx pnpm yarn", "deno": "eval repl run serve x", "dotnet": "exec fsi script",
    "gem": "exec", "git": "bisect config difftool filter-branch mergetool rebase submodule worktree",
    "go": "generate run tool", "gradle": "", "hatch": "run shell", "mamba": "run", "micromamba": "run",
    "mise": "exec x", "mix": "cmd eval run", "mvn": "", "nix": "develop run shell",
    "npm": "exec explore x", "pdm": "run", "pip": "", "pipenv": "run shell", "pnpm": "dlx exec",
    "poetry": "run shell", "rye": "run", "stack": "exec ghci runghc script", "uv": "run tool x",
    "yarn": "dlx exec node",
}  # fmt: skip
# Modules of Python that run what they are given, or lead to a prompt.
_MODULES = frozenset(
    """
    IPython ast asyncio bdb bpython cProfile code codeop doctest ensurepip idlelib ipykernel jupyter pdb pip
    pipx poetry profile ptpython pudb runpy site timeit trace uv venv virtualenv zipapp
    """.split()
)
_ASSIGNMENT, _RESPONSE = "NAME=VALUE", "@FILE"
# By program: what a prefix does not cover. Of a program that is not here, what does harm in most.
_OTHERS = """
    -C -c -e -o --chdir --command --config --config-file --configfile --cwd --debugger --dir --directory
    --editor --eval --exec --exec-path --execute --import --init-file --load --loader --node-options --out
    --outdir --outfile --output --output-dir --output-file --pager --plugin --plugins --prefix --preload
    --rcfile --receive-pack --require --root --rootdir --rsh --script-shell --settings --shell --to-command
    --upload-pack --use-compress-program --userconfig --workdir @FILE NAME=VALUE
"""
_PYTEST = """
    -c -o -p --basetemp --confcutdir --config-file --debug --html --import-mode
    --junit-xml --junitxml --log-file --override-ini --pastebin --pdb --pdbcls --pyargs --rootdir --rsyncdir
    --trace --tx @FILE
"""
_SCRIPTS = """
    -C --cache --cwd --dir --globalconfig --node-options --prefix --script-shell --shell-emulator --userconfig
"""
_MAKE = "-C -E -I -f --directory --eval --file --include-dir --makefile NAME=VALUE"
_UNCOVERED = {
    "pytest": _PYTEST,
    "py.test": _PYTEST,
    "unittest": "-t --top-level-directory",
    "npm": _SCRIPTS,
    "pnpm": _SCRIPTS,
    "yarn": _SCRIPTS,
    "make": _MAKE,
    "gmake": _MAKE,
    "cargo": "-C -Z --artifact-dir --config --manifest-path --out-dir --target-dir",
    "go": """
        -C -asmflags -blockprofile -c -coverprofile -cpuprofile -exec -gccgoflags -gcflags -ldflags
        -memprofile -modfile -mutexprofile -o -outputdir -overlay -pkgdir -toolexec -trace -vettool
    """,
    "tar": """
        -C -F -I --checkpoint-action --directory --info-script --new-volume-script --rmt-command --rsh-command
        --to-command --use-compress-program
    """,
    "rsync": "-e --rsh --rsync-path",
    "git clone": "-c -u --config --reference --separate-git-dir --template --upload-pack",
    "git": """
        -C -O -S -c -o -x --config --config-env --exec --exec-path --ext-diff --git-dir --gpg-sign --output
        --receive-pack --reference --separate-git-dir --template --textconv --upload-pack --work-tree
    """,
}


def refusal(words: Sequence[str]) -> str | None:
    """Return why these words cannot be a prefix; None if they can."""
    words = tuple(words)
    if not words or not words[0]:
        return "a prefix has at least the name of a program"
    name, base = _name(words[0]), words[0].rpartition("/")[2]
    if name in _WRAPPERS or name.startswith(_LOADERS):
        return f"`{words[0]}` runs any program that follows: approve exact commands"
    if name in _TOOLS and len(words) == 1:
        return f"`{words[0]}` can do too much: name one of its commands, too"
    if base in BUILT_IN or any(
        f"{known} ".startswith(" ".join((base, *words[1:2], ""))) for known in ALLOWED
    ):
        shown = " ".join(words[: 2 if name == "git" else 1])
        return f"`{shown}` runs without asking; what it may not do so needs approval of the exact command"
    if name in _RUNNERS:
        return _behind(words[:1], words[1:])
    if name in _TOOLS:
        return _tool(name, words)
    if name in _SCRIPTED:
        return _scripted(name, words)
    return f"`{words[0]}` runs whatever follows: approve exact commands" if name in _INTERPRETERS else None


def uncovered(words: Sequence[str]) -> tuple[str, ...]:
    """Return the options that a prefix of these words does not cover."""
    listed = _UNCOVERED.get(" ".join(words[:2])) or _UNCOVERED.get(_worker(tuple(words)), _OTHERS)
    return tuple(listed.split())


def covers(prefix: Sequence[str], words: Sequence[str]) -> bool:
    """Whether a prefix approves a command: its words come first, and nothing follows that it leaves out."""
    length = len(prefix)
    if tuple(words[:length]) != tuple(prefix) or refusal(prefix):
        return False
    options = uncovered(prefix)
    return not any(_is_one_of(word, options) for word in words[length:])


def _name(word: str) -> str:
    """Return the name of a program without its directory and version: `/usr/bin/python3.12` is python."""
    name = word.rpartition("/")[2].lower().removesuffix(".exe")
    return name.rstrip("0123456789.-") or name


def _behind(runner: tuple[str, ...], rest: tuple[str, ...]) -> str | None:
    """Return why what stands behind a runner cannot be a prefix."""
    shown = " ".join(runner)
    if not rest:
        return f"`{shown}` runs any program that follows: name that, too"
    if rest[0].startswith("-"):
        return f"`{rest[0]}` stands where `{shown}` has the program: approve exact commands"
    return refusal(rest)


def _tool(name: str, words: tuple[str, ...]) -> str | None:
    if words[1].startswith("-"):
        return f"`{words[1]}` stands where `{words[0]}` has its command: approve exact commands"
    if words[1] in _TOOLS[name].split():
        return _behind(words[:2], words[2:])
    return None


def _scripted(name: str, words: tuple[str, ...]) -> str | None:
    """Take an interpreter only with what it runs: a module of Python's, or a script of the workspace's."""
    if name.startswith(("python", "pypy")) and words[1:2] == ("-m",) and len(words) > 2:  # noqa: PLR2004
        module = words[2].partition(".")[0]
        return f"the module `{words[2]}` runs whatever it is given" if module in _MODULES else None
    script = words[1] if len(words) > 1 else ""
    parts = script.split("/")
    if script and "." in parts[-1].strip(".") and script[0] not in "-/~" and ".." not in parts:
        return None
    return f"`{' '.join(words)}` runs whatever follows: name the script, or a module with -m, too"


def _worker(words: tuple[str, ...]) -> str:
    """Return the name of the program, or module, that does the work of a prefix."""
    name = _name(words[0])
    if name.startswith(("python", "pypy")) and words[1:2] == ("-m",):
        return words[2]
    if name in _RUNNERS and len(words) > 1:
        return _worker(words[1:])
    if name in _TOOLS and len(words) > 2 and words[1] in _TOOLS[name].split():  # noqa: PLR2004
        return _worker(words[2:])
    return name


def _is_one_of(word: str, options: Sequence[str]) -> bool:
    """Whether a word is one of these options, in whatever form: with a value, bundled, or abbreviated."""
    name, equals, _value = word.partition("=")
    if not word.startswith("-"):
        assigned = bool(equals) and _ASSIGNMENT in options  # make has `A:=b`, `A!=b` and `.A=b`, too
        return assigned or (word.startswith("@") and _RESPONSE in options)
    short = [option for option in options if option[0] == "-" != option[1]]
    if any(
        len(option) > len("-x") for option in short
    ):  # as Go has them: whole words, behind one dash or two
        return f"-{name.lstrip('-')}" in short
    if name.startswith("--"):
        return name != "--" and any(option.startswith(name) for option in options)
    return any(option[1] in name for option in short)
