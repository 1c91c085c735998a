"""The table of commands that run without asking: built in, or real programs whose arguments are checked.

A command that is not in the table needs approval. To add a program, add a row, and its examples to
tests/commands/examples.py: tests judge each of them, and run every option of the row with the real program.
docs/allowed-programs.md has the reasons.

Options are separated by `;`, each with all its names, and what it takes:

    -q --quiet          nothing
    -n --lines NUMBER   a value: -n5, -n 5, --lines=5, --lines 5
    --color =never      a value, in this one word only
    --stat [TEXT]       perhaps a value, in this one word only
    --merged (TEXT)     the next word, if there is one
    -NUM  +NUM          a number in place of -n NUMBER

A value or operand is one of the words in lower case (`auto|never`), or of a kind in capitals. See kinds.py:

    TEXT        anything                        PATTERN     a regular expression
    WORD        anything but `-`                NAME        a file, for a built-in command
    NUMBER      perhaps with a unit             PATH        a file, checked to be in the workspace
    SIGNED      the same, perhaps with a sign   MODE        as chmod reads it
    OFFSET      as xxd reads it                 ATTRIBUTES  as `cp --preserve` reads them
    PATHSPEC, REVISION, RANGE, STASH, FORMAT, FIELDS        as git reads them

Operands: one, `?` at most one, `*` any number, `+` at least one; PATTERN/-e is no operand where -e is given.
Where the last operand must be given, the program would read standard input without it.
"""

from __future__ import annotations

from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_NO_MEANINGS: Mapping[int, str] = {}
# Names that programs which walk directories must leave out: no path may name them either.
_PROTECTED = (".[gG][iI][tT]", ".[cC][lL][aA][dD][aA]")


class ProgramRule(Value):
    """A row of the table: the arguments of a program, how it reads them, and its exit codes."""

    options: str
    operands: str
    syntax: str = "getopt"
    always: tuple[str, ...] = ()  # with getopt: options passed after the given ones, so that these win
    operands_need: str = ""  # operands are allowed only with one of these options
    no_file_with: str = ""  # with one of these options, the last operand may be missing
    last_wins: str = ""  # of these options, only the last one given counts
    exit_meanings: Mapping[int, str] = _NO_MEANINGS
    whole_repository: bool = False  # acts on all of it: allowed only where the workspace is its root


BUILT_IN: dict[str, ProgramRule] = {
    "cd": ProgramRule(options="", operands="PATH", syntax="cd"),
    "mv": ProgramRule(
        options="-f --force; -n --no-clobber; -u --update; -v --verbose; -T --no-target-directory",
        operands="NAME*",
        last_wins="f n",
    ),
    "rm": ProgramRule(options="-r -R --recursive; -f --force; -d --dir; -v --verbose", operands="NAME*"),
    "cp": ProgramRule(
        options="""
            -r -R --recursive; -a --archive; -d; -P --no-dereference; -p; --preserve [ATTRIBUTES]
            -f --force; -n --no-clobber; -u --update; -v --verbose; -T --no-target-directory
        """,
        operands="NAME*",
    ),
    "mkdir": ProgramRule(options="-p --parents; -v --verbose; -m --mode MODE", operands="NAME*"),
    "touch": ProgramRule(options="-a; -c --no-create; -m; -d --date TEXT; -t TEXT", operands="NAME*"),
    "chmod": ProgramRule(options="", operands="MODE NAME*", syntax="chmod"),
    "pwd": ProgramRule(options="-P --physical; -L --logical", operands="TEXT*"),
    "echo": ProgramRule(options="-n", operands="TEXT*", syntax="echo"),
    "true": ProgramRule(options="", operands="TEXT*", syntax="any"),
    "false": ProgramRule(options="", operands="TEXT*", syntax="any"),
}

_READERS: dict[str, ProgramRule] = {
    "dirname": ProgramRule(options="-z --zero", operands="WORD*"),
    "cat": ProgramRule(
        options="""
            -A --show-all; -b --number-nonblank; -e; -E --show-ends; -n --number; -s --squeeze-blank; -t
            -T --show-tabs; -u; -v --show-nonprinting
        """,
        operands="PATH+",
    ),
    "head": ProgramRule(
        options="""
            -n --lines SIGNED; -c --bytes SIGNED; -NUM; -q --quiet --silent; -v --verbose
            -z --zero-terminated
        """,
        operands="PATH+",
    ),
    "tail": ProgramRule(
        options="""
            -n --lines SIGNED; -c --bytes SIGNED; -NUM; +NUM; -q --quiet --silent; -v --verbose
            -z --zero-terminated
        """,
        operands="PATH+",
    ),
    "grep": ProgramRule(
        options="""
            -E --extended-regexp; -F --fixed-strings; -G --basic-regexp; -P --perl-regexp; -e --regexp TEXT
            -i --ignore-case; -w --word-regexp; -x --line-regexp; -v --invert-match; -c --count
            -l --files-with-matches; -L --files-without-match; -o --only-matching; -q --quiet --silent
            -s --no-messages; -n --line-number; -H --with-filename; -h --no-filename; -b --byte-offset
            -m --max-count NUMBER; -A --after-context NUMBER; -B --before-context NUMBER; -C --context NUMBER
            -0 -1 -2 -3 -4 -5 -6 -7 -8 -9; -r --recursive; -a --text; -I; -z --null-data; -Z --null
            -T --initial-tab; --include TEXT; --exclude TEXT; --exclude-dir TEXT
            --binary-files binary|text|without-match; --color =never; --colour =never
        """,
        operands="PATTERN/-e PATH+",
        no_file_with="-r",
        always=(
            "--devices=skip",
            *(f"{option}={name}" for option in ("--exclude", "--exclude-dir") for name in _PROTECTED),
        ),
        exit_meanings={1: "no line matched"},
    ),
    "find": ProgramRule(
        options="""
            -P; -name TEXT; -iname TEXT; -path TEXT; -ipath TEXT; -wholename TEXT; -iwholename TEXT
            -regex TEXT; -iregex TEXT; -regextype TEXT; -lname TEXT; -ilname TEXT; -type TEXT; -size TEXT
            -empty; -amin TEXT; -atime TEXT; -cmin TEXT; -ctime TEXT; -mmin TEXT; -mtime TEXT; -daystart
            -used TEXT; -newermt TEXT; -newerat TEXT; -newerct TEXT; -newer PATH; -anewer PATH; -cnewer PATH
            -newermm PATH; -newerma PATH; -newermc PATH; -neweram PATH; -neweraa PATH; -newerac PATH
            -newercm PATH; -newerca PATH; -newercc PATH
            -perm TEXT; -readable; -writable; -executable; -user TEXT; -group TEXT; -uid TEXT; -gid TEXT
            -nouser; -nogroup; -maxdepth TEXT; -mindepth TEXT; -depth; -mount; -xdev; -true; -false
            -prune; -quit; -print; -print0; -printf TEXT; -ls; -not; -a -and; -o -or; (; ); !; ,
        """,
        operands="PATH*",
        syntax="find",
    ),
    "ls": ProgramRule(
        options="""
            -a --all; -A --almost-all; --author; -b --escape; --block-size TEXT; -B --ignore-backups; -c; -C
            --color =never|auto; -d --directory; -f; -F; --classify [always|auto|never]; --file-type
            --format across|commas|horizontal|long|single-column|verbose|vertical; --full-time; -g
            --group-directories-first; -G --no-group; -h --human-readable; --si; --hide TEXT
            --indicator-style none|slash|file-type|classify; -i --inode; -I --ignore TEXT; -k --kibibytes
            -l; -m; -n --numeric-uid-gid; -o; -p; -q --hide-control-chars; -Q --quote-name
            --quoting-style locale|shell|shell-always|shell-escape|shell-escape-always|c|escape
            -r --reverse; -R --recursive; -s --size; -S; --sort none|size|time|version|extension|width
            --time atime|access|use|ctime|status|birth|creation; --time-style TEXT; -t; -T --tabsize NUMBER
            -u; -U; -v; -w --width NUMBER; -x; -X; --zero; -1; --help; --version
        """,
        operands="PATH*",
    ),
    "tree": ProgramRule(
        options="""
            -a; -d; -f; -i; -x; -L NUMBER; -P TEXT; -I TEXT; --gitignore; --prune; --noreport
            --filelimit NUMBER; -p; -u; -g; -s; -h; --du; -D; -F; -t; -r; --dirsfirst; -J; -X; --charset TEXT
        """,
        operands="PATH*",
        syntax="tree",
    ),
    "wc": ProgramRule(
        options="-c --bytes; -m --chars; -l --lines; -w --words; -L --max-line-length",
        operands="PATH+",
    ),
    "diff": ProgramRule(
        options="""
            -u; -U NUMBER; --unified [NUMBER]; -c; -C NUMBER; --context [NUMBER]; -y --side-by-side
            -W --width NUMBER; -r --recursive; -q --brief; -s --report-identical-files; -N --new-file
            -i --ignore-case; -E --ignore-tab-expansion; -Z --ignore-trailing-space; -b --ignore-space-change
            -w --ignore-all-space; -B --ignore-blank-lines; -a --text; -x --exclude TEXT
            -I --ignore-matching-lines TEXT; -p --show-c-function; -F --show-function-line TEXT
            -t --expand-tabs; -T --initial-tab; -e --ed; -n --rcs; -d --minimal; --normal; --label TEXT
            --strip-trailing-cr; --color =never
        """,
        operands="PATH*",
        always=("--no-dereference", *(f"--exclude={name}" for name in _PROTECTED)),
        exit_meanings={1: "the files differ"},
    ),
    "file": ProgramRule(
        options="""
            -b --brief; -i --mime; --mime-type; --mime-encoding; --extension; -k --keep-going
            -h --no-dereference; -N --no-pad; -n --no-buffer; -0 --print0; -F --separator TEXT
        """,
        operands="PATH*",
    ),
    "stat": ProgramRule(
        options="-c --format TEXT; --printf TEXT; -t --terse; -f --file-system",
        operands="PATH*",
    ),
    "realpath": ProgramRule(
        options="""
            -e --canonicalize-existing; -m --canonicalize-missing; -q --quiet; -s --strip --no-symlinks
            -z --zero; --relative-to PATH; --relative-base PATH
        """,
        operands="PATH*",
    ),
    "xxd": ProgramRule(
        options="""
            -a -autoskip; -b -bits; -c -cols OFFSET; -e; -g -groupsize OFFSET; -i -include; -l -len OFFSET
            -o OFFSET; -p -ps -plain -postscript; -s -seek -skip OFFSET; -u -upper
        """,
        operands="PATH",
        syntax="xxd",
    ),
}

# Shared by diff, log and show: git itself reads them in one place.
_HISTORY_OPTIONS = """
    -p --patch; -U --unified [NUMBER]; --stat [TEXT]; --numstat; --shortstat; --name-only; --name-status
    --summary; --cached; --staged; -w --ignore-all-space; -b --ignore-space-change
    --word-diff [plain|porcelain|none]; --diff-filter TEXT; -M --find-renames [TEXT]; -C --find-copies [TEXT]
    -S TEXT; -G TEXT; -L RANGE; -n --max-count NUMBER; -NUM; --oneline; --graph; --all
    --decorate [short|full|auto|no]; --since TEXT; --until TEXT; --author TEXT; --grep TEXT; --format =FORMAT
    --pretty [FORMAT]; --date TEXT; --follow; --reverse; --no-merges; --first-parent; -z; --relative
"""

_GIT: dict[str, ProgramRule] = {
    "git status": ProgramRule(
        options="""
            -s --short; -b --branch; -v --verbose; -u --untracked-files [all|normal|no]
            --porcelain [v1|v2|1|2]; --long; --show-stash; --ignored [traditional|matching|no]; -z --null
        """,
        operands="PATHSPEC*",
        syntax="git",
    ),
    "git diff": ProgramRule(options=_HISTORY_OPTIONS, operands="REVISION*", syntax="git"),
    "git log": ProgramRule(options=_HISTORY_OPTIONS, operands="REVISION*", syntax="git"),
    "git show": ProgramRule(options=_HISTORY_OPTIONS, operands="REVISION*", syntax="git"),
    "git branch": ProgramRule(
        options="""
            --show-current; -a --all; -r --remotes; -v --verbose; -l --list; --contains (TEXT)
            --no-contains (TEXT); --merged (TEXT); --no-merged (TEXT); --points-at TEXT; --sort FIELDS
            --format FIELDS
        """,
        operands="TEXT*",
        operands_need="--list --contains --no-contains --merged --no-merged --points-at",
        syntax="git",
    ),
    "git ls-files": ProgramRule(
        options="""
            -c --cached; -d --deleted; -m --modified; -o --others; -i --ignored; -s --stage; -t; -u --unmerged
            -k --killed; -z; -x --exclude TEXT; --exclude-standard; --full-name; --error-unmatch
        """,
        operands="PATHSPEC*",
        syntax="git",
    ),
    "git stash push": ProgramRule(
        options="-m --message TEXT; -u --include-untracked; -k --keep-index; -q --quiet",
        operands="",
        syntax="git",
        whole_repository=True,
    ),
    "git stash pop": ProgramRule(options="", operands="STASH?", syntax="git", whole_repository=True),
    "git stash apply": ProgramRule(options="", operands="STASH?", syntax="git", whole_repository=True),
    "git stash list": ProgramRule(options="", operands="", syntax="git"),
    "git stash show": ProgramRule(options="-p --patch; --stat", operands="STASH?", syntax="git"),
}

ALLOWED: dict[str, ProgramRule] = {**_READERS, **_GIT}
