"""The table of commands that run without asking: built in, or real programs whose arguments are checked.

Whatever is not in the table needs approval. To add a program, add a row with its examples; a test runs them
all, and runs every option against the real program. The reasons for each row are in docs/security.md.

Options are separated by `;`, each with all its names, and what it takes:

    -q --quiet          nothing
    -n --lines NUMBER   a value: -n5, -n 5, --lines=5, --lines 5
    --color =never      a value, in this one word only
    --stat [TEXT]       perhaps a value, in this one word only
    --merged (TEXT)     the next word, if there is one
    -NUM  +NUM          a number in place of -n NUMBER

Values and operands are of a kind, in capitals, or one of the words that stand there:
TEXT is anything, WORD all but `-`; NUMBER may have a unit, SIGNED a sign too; OFFSET is one as xxd reads it;
MODE and ATTRIBUTES are as chmod and cp read them; NAME is a file's, for clada itself; PATH is checked to be
inside; PATHSPEC, REVISION, RANGE, STASH, FORMAT and FIELDS are as git reads them. See kinds.py.
Operands: one, `?` at most one, `*` any number, `+` at least one; PATTERN/-e is not there where -e is given.
Where the last of them must be there, the program would read standard input without it.
"""

from __future__ import annotations

from clada.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_NO_MEANINGS: Mapping[int, str] = {}
# What programs that go through directories leave out: they would print what no path may name.
_PROTECTED = (".[gG][iI][tT]", ".[cC][lL][aA][dD][aA]")


class Program(Value):
    """A row: what a program may be given, and examples of commands that pass and that do not."""

    options: str
    operands: str
    passes: str
    refuses: str
    syntax: str = "getopt"
    always: tuple[str, ...] = ()  # with getopt: passed behind the options that are given, and so stronger
    operands_need: str = ""  # operands are allowed only beside one of these options
    no_file_with: str = ""  # beside one of these options, the last operand may be missing
    last_wins: str = ""  # of these options, only the last one given counts
    exit_meanings: Mapping[int, str] = _NO_MEANINGS
    whole_repository: bool = False  # acts on all of it: only where the workspace is the repository's root


BUILT_IN: dict[str, Program] = {
    "cd": Program(
        options="",
        operands="PATH",
        syntax="cd",
        passes="""
            cd src
            cd ..
            cd -- -x
        """,
        refuses="""
            cd
            cd -
            cd -- -
            cd -P src
            cd a b
            cd ''
        """,
    ),
    "mv": Program(
        options="""
            -f --force; -n --no-clobber; -u --update; -v --verbose; -T --no-target-directory
        """,
        operands="NAME*",
        last_wins="f n",
        passes="""
            mv a b
            mv -fv a b dir
            mv a b --verbose
            mv --no-clobber -- -a b
        """,
        refuses="""
            mv -t dir a
            mv -fi a b
            mv --backup a b
            mv --backup=numbered a b
            mv -b a b
            mv -S .old a b
            mv --suffix=.old a b
            mv -Z a b
            mv --forc a b
            mv --update=none a b
            mv --strip-trailing-slashes a b
            mv - b
        """,
    ),
    "rm": Program(
        options="""
            -r -R --recursive; -f --force; -d --dir; -v --verbose
        """,
        operands="NAME*",
        passes="""
            rm a
            rm -rf build
            rm build -r
            rm --recursive --force --verbose a
            rm -- -a
        """,
        refuses="""
            rm -i a
            rm -rI a
            rm --interactive=never a
            rm --interactive a
            rm --no-preserve-root -r a
            rm --one-file-system a
            rm --rec a
            rm a -i
        """,
    ),
    "cp": Program(
        options="""
            -r -R --recursive; -a --archive; -d; -P --no-dereference; -p; --preserve [ATTRIBUTES]
            -f --force; -n --no-clobber; -u --update; -v --verbose; -T --no-target-directory
        """,
        operands="NAME*",
        passes="""
            cp a b
            cp -r src dst
            cp -aT a b
            cp --preserve a b
            cp --preserve=mode,timestamps a b
        """,
        refuses="""
            cp -L a b
            cp -rH a b
            cp -s a b
            cp -l a b
            cp --link a b
            cp --parents a b
            cp -t dir a
            cp --target-directory=dir a
            cp -b a b
            cp -S x a b
            cp -i a b
            cp -Z a b
            cp --attributes-only a b
            cp --copy-contents a b
            cp --preserve=context a b
            cp --no-preserve=mode a b
            cp --reflink a b
            cp --sparse=always a b
            cp -x a b
        """,
    ),
    "mkdir": Program(
        options="""
            -p --parents; -v --verbose; -m --mode MODE
        """,
        operands="NAME*",
        passes="""
            mkdir a
            mkdir -p a/b/c
            mkdir -pv -m 755 a
            mkdir -m0700 a
            mkdir --mode=u=rwx,go= a
        """,
        refuses="""
            mkdir -Z a
            mkdir --context=x a
            mkdir -m 1777 a
            mkdir -m 4755 a
            mkdir -m u+s a
            mkdir --mode=+t a
            mkdir --par a
        """,
    ),
    "touch": Program(
        options="""
            -a; -c --no-create; -m; -d --date TEXT; -t TEXT
        """,
        operands="NAME*",
        passes="""
            touch a
            touch -acm a b
            touch -d '2 days ago' a
            touch --date=2024-01-01 a
            touch -t 202401010000 a
        """,
        refuses="""
            touch -r b a
            touch -cr b a
            touch --reference=b a
            touch --ref=b a
            touch -h a
            touch --time=atime a
            touch -
        """,
    ),
    "chmod": Program(
        options="",
        operands="MODE NAME*",
        syntax="chmod",
        passes="""
            chmod +x run.sh
            chmod -x run.sh
            chmod u+x,go-w a b
            chmod 755 a
            chmod 0644 a
            chmod u=rwX,g=u a
            chmod -- -w a
        """,
        refuses="""
            chmod -R 755 a
            chmod 755 -R a
            chmod --recursive 755 a
            chmod 4755 a
            chmod 2755 a
            chmod 1777 a
            chmod u+s a
            chmod g+xs a
            chmod +t a
            chmod -s a
            chmod -v 755 a
            chmod --reference=b a
            chmod -x -w a
        """,
    ),
    "pwd": Program(
        options="-P --physical; -L --logical",
        operands="TEXT*",
        passes="""
            pwd
            pwd -P
            pwd -LP
        """,
        refuses="""
            pwd -W
            pwd --phys
        """,
    ),
    "echo": Program(
        options="-n",
        operands="TEXT*",
        syntax="echo",
        passes="""
            echo
            echo hello 'wide  world'
            echo -n a -e
            echo -nn a
            echo --help -x -
        """,
        refuses="""
            echo -e 'a\\tb'
            echo -E a
            echo -ne a
            echo -n -e a
        """,
    ),
    "true": Program(options="", operands="TEXT*", syntax="any", passes="true", refuses=""),
    "false": Program(options="", operands="TEXT*", syntax="any", passes="false --x -", refuses=""),
}


_READERS: dict[str, Program] = {
    "dirname": Program(
        options="-z --zero",
        operands="WORD*",
        passes="""
            dirname src/app.js
            dirname -z a/b c/d
        """,
        refuses="""
            dirname -
            dirname --zer a
            dirname -x a
        """,
    ),
    "cat": Program(
        options="""
            -A --show-all; -b --number-nonblank; -e; -E --show-ends; -n --number; -s --squeeze-blank; -t
            -T --show-tabs; -u; -v --show-nonprinting
        """,
        operands="PATH+",
        passes="""
            cat a
            cat -n a b
            cat a -AbeEnstTuv
            cat -- -x
        """,
        refuses="""
            cat
            cat -n
            cat -
            cat a -
            cat --numb a
            cat --version
        """,
    ),
    "head": Program(
        options="""
            -n --lines SIGNED; -c --bytes SIGNED; -NUM; -q --quiet --silent; -v --verbose
            -z --zero-terminated
        """,
        operands="PATH+",
        passes="""
            head a
            head -5 a
            head -n 5 a
            head -n -5 a
            head -n5 -qv a b
            head --lines=5 a
            head --bytes 1K a
            head a -c 10
        """,
        refuses="""
            head
            head -5
            head -
            head -n x a
            head --line=5 a
            head -n
            head -5q a
        """,
    ),
    "tail": Program(
        options="""
            -n --lines SIGNED; -c --bytes SIGNED; -NUM; +NUM; -q --quiet --silent; -v --verbose
            -z --zero-terminated
        """,
        operands="PATH+",
        passes="""
            tail a
            tail -5 a
            tail +5 a
            tail -n +5 a
            tail -c 10 -q a b
            tail --lines=+2 a
            tail a +5
        """,
        refuses="""
            tail
            tail -n 5
            tail -f a
            tail -F a
            tail -qf a
            tail -5f a
            tail +5f -f a
            tail -cf a
            tail --follow a
            tail --follow=name a
            tail --fol a
            tail --f=name a
            tail --retry a
            tail --pid=1 a
            tail --pid 1 a
            tail -s 1 a
            tail --sleep-interval=1 a
            tail --max-unchanged-stats=1 a
            tail a -f
            tail -n 5 a -f
        """,
    ),
    "grep": Program(
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
        passes="""
            grep a b
            grep -rn 'a b' src
            grep -e -f -e b file
            grep -e a -- -file
            grep -A3 -B 2 --context=1 a b
            grep -5i a b
            grep - a
            grep --include='*.py' --exclude-dir node_modules -r a .
            grep --color=never a b
            grep a b -i
            grep -r a
            grep --recursive -e a
        """,
        refuses="""
            grep a
            grep -i a
            grep -e a
            grep -f patterns a
            grep -if patterns a
            grep --file=patterns a
            grep --file patterns a
            grep --fil=patterns a
            grep --exclude-from=x -r a
            grep --exclude-fr=x -r a
            grep -R a .
            grep -nR a .
            grep --dereference-recursive a
            grep -D read a b
            grep -d recurse a b
            grep --devices=read a b
            grep --directories=recurse a b
            grep --label=x a b
            grep --color=always a b
            grep --color a b
            grep a -
            grep -e a -
            grep a b -R
        """,
    ),
    "find": Program(
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
        passes="""
            find
            find .
            find src tests -name '*.py' -type f
            find . -maxdepth 2 ! -name a -o -not '(' -size +1k -a -empty ')' -print0
            find . -newer src -newermt 2024-01-01
            find -P . -name node_modules -prune -o -printf '%p\\n'
            find . -true , -ls -quit
        """,
        refuses="""
            find . -exec rm '{}' +
            find . -execdir rm '{}' +
            find . -ok rm '{}' ';'
            find . -okdir rm '{}' ';'
            find . -delete
            find . --delete
            find . -name a -delete
            find . '(' -delete ')'
            find . -fprint out
            find . -fprint0 out
            find . -fprintf out %p
            find . -fls out
            find . -files0-from list
            find -L .
            find -H .
            find . -follow
            find -D exec .
            find -O3 .
            find . -samefile /etc/passwd
            find . -xtype f
            find - -name a
            find -- .
            find . -name
            find . -name a b
        """,
    ),
    "ls": Program(
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
        passes="""
            ls
            ls -la
            ls -lhtr src
            ls src -R
            ls --sort=size --color=never
            ls -I '*.o' -w80
        """,
        refuses="""
            ls -L
            ls -lL
            ls -H a
            ls --dereference a
            ls --dereference-command-line a
            ls --dereference-command-line-symlink-to-dir a
            ls --deref a
            ls --hyperlink
            ls --hyperlink=always
            ls -D
            ls --dired
            ls -N
            ls --literal
            ls --quoting-style=literal
            ls --show-control-chars
            ls -Z
            ls --context
            ls --color=always
            ls --color
            ls --al
            ls -
            ls src -L
        """,
    ),
    "tree": Program(
        options="""
            -a; -d; -f; -i; -x; -L NUMBER; -P TEXT; -I TEXT; --gitignore; --prune; --noreport
            --filelimit NUMBER; -p; -u; -g; -s; -h; --du; -D; -F; -t; -r; --dirsfirst; -J; -X; --charset TEXT
        """,
        operands="PATH*",
        syntax="tree",
        passes="""
            tree
            tree -a -L 2 src
            tree -aL 2
            tree -L2
            tree -I 'node_modules|dist' --dirsfirst
            tree --filelimit=10 --charset ascii src -d
        """,
        refuses="""
            tree -o out
            tree -ao out
            tree -Po x out
            tree -Pfoo
            tree -l
            tree -al
            tree -R
            tree -H x
            tree -T x
            tree --fromfile a
            tree --info
            tree --infofile=x
            tree --infofile x
            tree --gitfile=x
            tree --gitfile x
            tree --fflinks
            tree -N
            tree -C
            tree --hintro=x
            tree --noreports
            tree --char=x
            tree src -l
            tree -
        """,
    ),
    "wc": Program(
        options="-c --bytes; -m --chars; -l --lines; -w --words; -L --max-line-length",
        operands="PATH+",
        passes="""
            wc -l a
            wc -cmlwL a b
            wc a --lines
        """,
        refuses="""
            wc
            wc -l
            wc --files0-from=a
            wc --files0-from a
            wc --files a
            wc -
            wc --line a
            wc --total=never a
        """,
    ),
    "diff": Program(
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
        passes="""
            diff a b
            diff -u a b
            diff -U5 a b
            diff --unified=5 a b
            diff -ruN old new -x '*.o'
            diff --label A --label=B a b
        """,
        refuses="""
            diff -l a b
            diff -ul a b
            diff --paginate a b
            diff --pag a b
            diff --from-file=a b
            diff --from-file a b
            diff --to-file=a b
            diff -X list a b
            diff --exclude-from=list a b
            diff -S x a b
            diff --starting-file=x a b
            diff -D X a b
            diff --ifdef=X a b
            diff --line-format=%L a b
            diff --old-line-format=%L a b
            diff --changed-group-format=%= a b
            diff --unchanged-group-format= a b
            diff --palette=x a b
            diff --color=always a b
            diff --color a b
            diff a -
            diff a b -l
        """,
    ),
    "file": Program(
        options="""
            -b --brief; -i --mime; --mime-type; --mime-encoding; --extension; -k --keep-going
            -h --no-dereference; -N --no-pad; -n --no-buffer; -0 --print0; -F --separator TEXT
        """,
        operands="PATH*",
        passes="""
            file a
            file -bi a
            file --mime-type a b
            file -F : a
        """,
        refuses="""
            file -C -m x
            file -m x a
            file --magic-file=x a
            file --compile
            file -f list
            file -bf list
            file --files-from=list
            file --files-from list
            file --files=list
            file -z a
            file --uncompress a
            file -Z a
            file -s a
            file --special-files a
            file -L a
            file --dereference a
            file -p a
            file --preserve-date a
            file -P bytes=1 a
            file --parameter bytes=1 a
            file -S a
            file --no-sandbox a
            file -r a
            file --raw a
            file -d a
            file -c a
            file -l
            file a -L
            file -
        """,
    ),
    "stat": Program(
        options="-c --format TEXT; --printf TEXT; -t --terse; -f --file-system",
        operands="PATH*",
        passes="""
            stat a
            stat -c %s a
            stat --printf='%n\\n' a b
            stat -tf .
        """,
        refuses="""
            stat -L a
            stat -tL a
            stat --dereference a
            stat --deref a
            stat --cached=never a
            stat -
            stat a -L
        """,
    ),
    "realpath": Program(
        options="""
            -e --canonicalize-existing; -m --canonicalize-missing; -q --quiet; -s --strip --no-symlinks
            -z --zero; --relative-to PATH; --relative-base PATH
        """,
        operands="PATH*",
        passes="""
            realpath a
            realpath -emqsz a
            realpath --relative-to=src a
            realpath --relative-base src a
        """,
        refuses="""
            realpath -L a
            realpath -P a
            realpath --logical a
            realpath --relative=src a
            realpath -
        """,
    ),
    "xxd": Program(
        options="""
            -a -autoskip; -b -bits; -c -cols OFFSET; -e; -g -groupsize OFFSET; -i -include; -l -len OFFSET
            -o OFFSET; -p -ps -plain -postscript; -s -seek -skip OFFSET; -u -upper
        """,
        operands="PATH",
        syntax="xxd",
        passes="""
            xxd a
            xxd -p a
            xxd -c16 -l 0x20 a
            xxd -s -4 a
            xxd -- a
        """,
        refuses="""
            xxd
            xxd -p
            xxd a b
            xxd -r
            xxd -revert
            xxd -r a
            xxd -re a
            xxd -revert a
            xxd --revert a
            xxd --r a
            xxd -rp a
            xxd -pr a
            xxd -p -r a b
            xxd a -r
            xxd -
            xxd -c x a
            xxd -E a
            xxd -n x a
        """,
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
_HISTORY_REFUSES = """
    git {} --output=x
    git {} --output x
    git {} --outp=x
    git {} --no-index a b
    git {} -O x
    git {} -Oorder
    git {} -wOorder
    git {} --ext-diff
    git {} --ext
    git {} --textconv
    git {} --submodule
    git {} --submodule=log
    git {} --stdin
    git {} --show-signature
    git {} --show-sig
    git {} --help
    git {} -- --help
    git {} '--format=%G?'
    git {} --format=%h%+GK
    git {} --pretty=format:%GS
    git {} --pretty=tformat:%-GS
    git {} --pretty=mine
    git {} --format=one
    git {} --word-diff=color
    git {} -L /a:b/,+1:../x:y
    git {} ':(top)x'
    git {} -- ':/'
    git {} -
    git {} --author --output=x
    git {} -S -Ox
    git {} -pS -Ox
"""

_GIT: dict[str, Program] = {
    "git status": Program(
        options="""
            -s --short; -b --branch; -v --verbose; -u --untracked-files [all|normal|no]
            --porcelain [v1|v2|1|2]; --long; --show-stash; --ignored [traditional|matching|no]; -z --null
        """,
        operands="PATHSPEC*",
        syntax="git",
        passes="""
            git status
            git --no-pager status -sb
            git status --porcelain=v2 -uall -z
            git status -- src
            git status src ':!src/x'
        """,
        refuses="""
            git status --ignore-submodules
            git status --ignore-submodules=all
            git status --ignore-sub
            git status --help
            git status --porc
            git status --column
            git -C x status
            git -Cx status
            git -c a.b=c status
            git --git-dir=x status
            git --git-dir x status
            git --work-tree=x status
            git --exec-path=x status
            git --namespace=x status
            git -p status
            git --paginate status
            git --bare status
            git --help
            git --version
            git
            git commit -m x
            git push
        """,
    ),
    "git diff": Program(
        options=_HISTORY_OPTIONS,
        operands="REVISION*",
        syntax="git",
        passes="""
            git diff
            git diff --cached --stat
            git diff HEAD~1 -- src/app.js
            git diff main..dev -U5 -w
            git diff HEAD:a HEAD:b
            git diff -M90% --name-status -z
            git diff -- . ':!package-lock.json'
        """,
        refuses=_HISTORY_REFUSES.format(*["diff"] * _HISTORY_REFUSES.count("{}")),
    ),
    "git log": Program(
        options=_HISTORY_OPTIONS,
        operands="REVISION*",
        syntax="git",
        passes="""
            git log
            git log --oneline -5
            git log -n 5 --graph --all
            git log --format='%h %s' --date=short
            git log --pretty=format:%h --since=yesterday --author me
            git log -L 1,5:src/app.js
            git log -L:main:src/app.js
            git log --follow -- src/app.js
            git log 'HEAD@{2024-01-01 10:00}'
        """,
        refuses=_HISTORY_REFUSES.format(*["log"] * _HISTORY_REFUSES.count("{}")),
    ),
    "git show": Program(
        options=_HISTORY_OPTIONS,
        operands="REVISION*",
        syntax="git",
        passes="""
            git show
            git show HEAD~1 --stat
            git show HEAD:src/app.js
            git show :src/app.js
            git show --pretty=oneline --name-only HEAD
        """,
        refuses=_HISTORY_REFUSES.format(*["show"] * _HISTORY_REFUSES.count("{}")),
    ),
    "git branch": Program(
        options="""
            --show-current; -a --all; -r --remotes; -v --verbose; -l --list; --contains (TEXT)
            --no-contains (TEXT); --merged (TEXT); --no-merged (TEXT); --points-at TEXT; --sort FIELDS
            --format FIELDS
        """,
        operands="TEXT*",
        operands_need="--list --contains --no-contains --merged --no-merged --points-at",
        syntax="git",
        passes="""
            git branch
            git branch -avv
            git branch --show-current
            git branch --list 'feature/*'
            git branch --merged main
            git branch --contains
            git branch --sort=-committerdate --format='%(refname:short)'
        """,
        refuses="""
            git branch new
            git branch -v new
            git branch new main
            git branch -- new
            git branch -d x
            git branch -rd x
            git branch -D x
            git branch --delete x
            git branch --del x
            git branch -m x
            git branch --move x
            git branch -M x
            git branch -c x
            git branch --copy x
            git branch -C x
            git branch -f x
            git branch --force x
            git branch -u x
            git branch --set-upstream-to=x
            git branch --unset-upstream
            git branch -t x
            git branch --track x
            git branch --edit-description
            git branch --format='%(signature)'
            git branch --sort=signature
            git branch --help
        """,
    ),
    "git ls-files": Program(
        options="""
            -c --cached; -d --deleted; -m --modified; -o --others; -i --ignored; -s --stage; -t; -u --unmerged
            -k --killed; -z; -x --exclude TEXT; --exclude-standard; --full-name; --error-unmatch
        """,
        operands="PATHSPEC*",
        syntax="git",
        passes="""
            git ls-files
            git ls-files -co --exclude-standard -z
            git ls-files -x '*.o' src
            git ls-files --error-unmatch -- a
        """,
        refuses="""
            git ls-files -X list
            git ls-files -cX list
            git ls-files --exclude-from=list
            git ls-files --exclude-from list
            git ls-files --exclude-fr=list
            git ls-files --exclude-per-directory=.x
            git ls-files --recurse-submodules
            git ls-files --with-tree=HEAD
            git ls-files -f
            git ls-files --help
            git ls-files ':/'
        """,
    ),
    "git stash push": Program(
        options="-m --message TEXT; -u --include-untracked; -k --keep-index; -q --quiet",
        operands="",
        syntax="git",
        whole_repository=True,
        passes="""
            git stash
            git stash -u
            git stash push
            git stash push -u -m 'half done'
        """,
        refuses="""
            git stash -p
            git stash push -p
            git stash push -up
            git stash push --patch
            git stash push --pat
            git stash push src
            git stash push -- src
            git stash push -a
            git stash push --all
            git stash push -S
            git stash push --pathspec-from-file=x
            git stash drop
            git stash clear
            git stash branch x
            git stash create
            git stash store x
            git stash save x
            git stash --help
        """,
    ),
    "git stash pop": Program(
        options="",
        operands="STASH?",
        syntax="git",
        whole_repository=True,
        passes="""
            git stash pop
            git stash pop stash@{1}
        """,
        refuses="""
            git stash pop --index
            git stash pop x y
            git stash pop HEAD
        """,
    ),
    "git stash apply": Program(
        options="",
        operands="STASH?",
        syntax="git",
        whole_repository=True,
        passes="""
            git stash apply
            git stash apply 1
        """,
        refuses="""
            git stash apply --index
            git stash apply main
        """,
    ),
    "git stash list": Program(
        options="",
        operands="",
        syntax="git",
        passes="git stash list",
        refuses="""
            git stash list -p
            git stash list '--format=%G?'
            git stash list HEAD
        """,
    ),
    "git stash show": Program(
        options="-p --patch; --stat",
        operands="STASH?",
        syntax="git",
        passes="""
            git stash show
            git stash show -p stash@{0}
            git stash show --stat
        """,
        refuses="""
            git stash show --ext-diff
            git stash show --textconv
            git stash show -u
            git stash show --output=x
        """,
    ),
}

ALLOWED: dict[str, Program] = {**_READERS, **_GIT}
