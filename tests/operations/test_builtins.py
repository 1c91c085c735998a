"""Built-in commands do what the real programs do: on disk, on the overlay, and in what they print."""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

import clada
from clada.commands.judgements import BuiltIn
from clada.commands.policy import judge
from clada.operations.builtins import COMMANDS as BUILT_INS
from clada.operations.builtins import BuiltInResult, run
from clada.world.files.overlay import Overlay
from clada.world.files.tree import walk
from clada.world.files.workspace import Workspace
from clada.world.handles import remove_tree

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clada.world.files.tree import Files

    Row = tuple[str, tuple[str, ...]]
    Tree = dict[str, tuple[object, ...]]

DAY = 86_400 * 10**9
LONG_AGO = 1_600_000_000 * 10**9

# What stands in the workspace: its mode and, for a file, its content. Directories end in a slash.
BEFORE = {
    "a": (0o644, "a\n"),
    "b": (0o600, "b\n"),
    "run.sh": (0o755, "echo\n"),
    "all": (0o777, "all\n"),
    "ro": (0o444, "ro\n"),
    "empty": (0o644, ""),
    "two words": (0o640, "two\n"),
    "it's": (0o644, "it\n"),
    "d/": (0o755, ""),
    "d/x": (0o644, "x\n"),
    "d/run.sh": (0o750, "echo\n"),
    "d/s/": (0o700, ""),
    "d/s/y": (0o600, "y\n"),
    "e/": (0o755, ""),
    "e2/": (0o775, ""),
    "full/": (0o755, ""),
    "full/a": (0o600, "full\n"),
    "full/d/": (0o711, ""),
    "full/d/x": (0o666, "old x\n"),
    "full/d/z": (0o644, "z\n"),
    "clash/": (0o755, ""),
    "clash/d": (0o644, "a file\n"),
    "clash/a/": (0o755, ""),
    "clash/x/": (0o755, ""),
}
NEWER = ("b", "full/d/x")  # the others are all of one age

# Each line is a command, run in the workspace or in the directory in front of the colon.
COMMANDS = """
    mv a new
    mv a b
    mv -v a b
    mv -f a b
    mv a ro
    mv a e
    mv a e/
    mv -v a e
    mv a b e
    mv -v a b run.sh e
    mv a full
    mv -T a new
    mv -T a b
    mv -T a e
    mv -T d e
    mv -T d full
    mv -T d a
    mv -T d d
    mv -T a b e
    mv d new
    mv d new/
    mv d/ new
    mv d/ new/
    mv -v d/ e/
    mv d e
    mv d/s e
    mv d/s .
    mv d full
    mv d a
    mv d d
    mv d d/s
    mv d d/new
    mv d/s d
    mv a a
    mv a ./a
    mv d/x d/s/../x
    mv a/ new
    mv a new/
    mv a b/
    mv a b/x
    mv a no/new
    mv a no/new/
    mv a/x new
    mv no new
    mv no/x new
    mv no no2 e
    mv no a e
    mv a no b e
    mv a a e
    mv a d/x full/a e
    mv d/x full/d/x e
    mv d full/d e
    mv a b new
    mv a b ro
    mv a clash
    mv d clash
    mv a clash/x clash
    mv -n d d
    mv -nf a a
    mv -u a a
    mv -u d/x d
    mv -u a b
    mv -u b a
    mv -uv a run.sh e
    mv -u a full
    mv -n a new
    mv -n a e
    mv
    mv a
    mv -T a
    mv '' new
    mv a ''
    mv 'two words' "it's"
    mv "it's" no/x
    mv "no 'such' \\"file" e
    mv -v "it's" 'two words' e
    mv empty new
    mv a 'new name'
    mv a café
    d: mv x ..
    d: mv x ../e
    d: mv ../a .
    d: mv -v ../a ../b .
    d: mv . ../e
    d: mv s/. ../e
    d/s: mv y ../../e/new

    rm a
    rm -v a
    rm a b
    rm a a
    rm -v a no b
    rm -f a
    rm -f no
    rm -f
    rm
    rm no
    rm no a
    rm no/x
    rm a/x
    rm -f a/x
    rm a/
    rm -f a/
    rm no/
    rm d
    rm d a
    rm e
    rm e/
    rm -d e
    rm -dv e
    rm -d e/
    rm -d d
    rm -d a
    rm -r d
    rm -R d
    rm -rf d
    rm -rf d no
    rm -rv d
    rm -rv d/
    rm -r d/
    rm -r a d e
    rm -r d d/x
    rm -r d/x d
    rm -rd d
    rm -r full clash
    rm -r ./d
    rm -r d/./s
    rm -r d/s/../s
    rm -r d/s/..
    rm -r d/.
    rm ''
    rm -f ''
    rm -r ''
    rm ro
    rm "it's" 'two words'
    rm "it's no" no
    rm d/s
    rm -- a
    d: rm x
    d: rm -r s
    d: rm -r .
    d: rm .
    d: rm -r ../e
    d: rm ../a ../no

    cp a new
    cp -v a new
    cp a b
    cp -v a b
    cp -f a b
    cp a ro
    cp -p ro a
    cp -u b ro
    cp ro new
    cp run.sh new
    cp all new
    cp b new
    cp run.sh a
    cp a e
    cp a e/
    cp a b run.sh e
    cp -v a b e
    cp a full
    cp -p a new
    cp -p all e
    cp -p run.sh b
    cp --preserve a new
    cp --preserve=mode all new
    cp --preserve=timestamps all new
    cp --preserve=mode,timestamps all new
    cp --preserve=all all new
    cp --preserve=links all new
    cp -d all new
    cp -P all new
    cp -a all new
    cp -r a new
    cp -r d new
    cp -r d new/
    cp -r d/ new
    cp -R d new
    cp -rv d new
    cp -rv d e
    cp -r d e e2
    cp -r d full
    cp -rv d full
    cp -rf d full
    cp -ru d full
    cp -rp d new
    cp -a d new
    cp -a d full
    cp -a full/. e
    cp -aT d e2
    cp -rT d e
    cp -rT d full
    cp -rvT d e
    cp -T a new
    cp -T a b
    cp -T a e
    cp -rT d a
    cp -rT d d
    cp -r d clash
    cp -rT d clash
    cp -rTv clash d
    cp a clash
    cp d new
    cp d e
    cp d a e
    cp d/x a full
    cp -r d a
    cp -r d/. e
    cp -rv d/. e
    cp -rv d/s/.. e
    cp -r d/s .
    cp -r d/s d/new
    cp a a
    cp a ./a
    cp a a e
    cp -r d d e
    cp -r d ./d e
    cp a full/a e
    cp -r d full/d e
    cp a/ new
    cp a new/
    cp a b/
    cp a b/x
    cp a/x new
    cp no new
    cp no no2 e
    cp no a e
    cp a no/new
    cp -r d no/new
    cp a b new
    cp a b ro
    cp -T a b e
    cp a
    cp
    cp '' new
    cp a ''
    cp -u a b
    cp -u b a
    cp -uv a run.sh e
    cp -n a new
    cp -n d d
    cp -u d/x d
    cp empty new
    cp a empty
    cp 'two words' "it's"
    cp "it's" no/x
    cp -v "it's" 'two words' e
    d: cp x ..
    d: cp -r s ../e
    d: cp ../a ../b .
    d: cp -r . ../e
    d: cp -r s/.. ../new

    mkdir new
    mkdir -v new
    mkdir new new2
    mkdir new/
    mkdir -v new/
    mkdir a
    mkdir d
    mkdir a/
    mkdir new d new2
    mkdir new/x
    mkdir new new/x
    mkdir a/x
    mkdir -p new
    mkdir -p new/x/y
    mkdir -pv new/x
    mkdir -pv new//x/
    mkdir -pv ./new/x
    mkdir -pv d/s/t/u
    mkdir -pv d/../new/x
    mkdir -pv no/../new
    mkdir -p d
    mkdir -p a
    mkdir -p a/
    mkdir -p a/x
    mkdir -p d/x/y/z
    mkdir -p .
    mkdir -p d a new
    mkdir .
    mkdir
    mkdir ''
    mkdir -p ''
    mkdir -m 700 new
    mkdir -m 0777 new
    mkdir -m 0 new
    mkdir -m u=rwx,go= new
    mkdir -m a=rx new
    mkdir -m +w new
    mkdir -m go-w new
    mkdir -m =rx new
    mkdir -m g=u,o-x new
    mkdir -p -m 700 new/x
    mkdir -p -m 700 d
    mkdir "it's new" 'x y'
    d: mkdir ../new
    d: mkdir s
    d: mkdir -p s/t

    touch new
    touch a
    touch a new
    touch new d
    touch d/
    touch .
    touch new/
    touch a/
    touch no/new
    touch a/x
    touch new no/x new2
    touch -c new
    touch -c a
    touch -c no/x
    touch -c a/x
    touch -c new/
    touch -c a/
    touch
    touch -c
    touch ''
    touch -c ''
    touch -a a
    touch -m a
    touch -am a
    touch -a new
    touch -d 2024-01-20 a
    touch -d '2024-01-20 10:30' a
    touch -d '2024-01-20 10:30:00' a
    touch -d '2024-01-20 10:30:00.25' a
    touch -d 2024-01-20T10:30:00 a
    touch -d 2024-01-20T10:30:00Z a
    touch -d 2024-01-20T10:30:00+02:00 a
    touch -d '2024-01-20 10:30:00 +0200' a
    touch -d '2024-01-20 10:30:00 UTC' a
    touch -d 2024-07-20 new
    touch -d @1700000000 a
    touch -d @1700000000.5 a
    touch -d @-1000 a
    touch -d @0 a
    touch -d now a
    touch -m -d 2024-01-20 a
    touch -a -d 2024-01-20 a
    touch -c -d 2024-01-20 new
    touch -d bad a
    touch -d 2024-13-01 a
    touch -d 2024-02-30 new
    touch -d "it's" new
    touch -t 202401201030 a
    touch -t 202401201030.45 a
    touch -t 2401201030 a
    touch -t 6901201030 a
    touch -t 01201030 a
    touch -t 202401201030 new
    touch -t 99 a
    touch -t 202413201030 a
    touch -t 202401201030.5 a
    touch -t bad new
    touch -t 202401201030 -d 2024-01-20 a
    d: touch new ../a
    d: touch ../new

    chmod 755 a
    chmod 0644 run.sh
    chmod 00600 a
    chmod 0 a
    chmod 7 a
    chmod 77 a
    chmod 777 a b d
    chmod 700 d
    chmod 755 d/
    chmod +x a
    chmod -x run.sh
    chmod -w a
    chmod -w all
    chmod -rwx all
    chmod -w a all b
    chmod +w ro
    chmod +rwx b
    chmod u+x a
    chmod u+x,go-w a
    chmod a+x a
    chmod a=rX a
    chmod a=rX run.sh
    chmod a=rX d
    chmod a-x,a+X run.sh
    chmod u=rw,go=r run.sh
    chmod =r a
    chmod =rw all
    chmod = a
    chmod u= a
    chmod g=u a
    chmod go=u run.sh
    chmod u=g,g=o d
    chmod o+u b
    chmod u+r-w+x a
    chmod ug+x,o= a b
    chmod go-rwx all d
    chmod 755 no
    chmod 755 no a
    chmod 755 no/x
    chmod 755 a/x
    chmod 755 a/
    chmod 755 ''
    chmod 755 "it's no"
    chmod 755
    chmod +x
    d: chmod 600 x ../a
    d: chmod 711 .

    pwd
    pwd -P
    pwd -L
    d/s: pwd
    pwd x
    echo
    echo hello
    echo hello 'wide  world'
    echo -n hello
    echo -n
    echo hello -n
    true
    true x
    false
    false x
"""
MODE_RULES = """
    cp all new
    cp run.sh new
    cp run.sh b
    cp -r d new
    cp -r d full
    cp -p all new
    cp -a d new
    mkdir new
    mkdir -p new/x
    mkdir -p -m 700 new/x
    mkdir -m 777 new
    mkdir -m +w new
    mkdir -m =rx new
    touch new
    chmod +x a
    chmod +rwx b
    chmod -w all
    chmod -rwx all
    chmod =rw all
    chmod a+w a
"""


def rows(table: str) -> list[Row]:
    """Return where each command of a table is run, and its words."""
    found = [_row(line.strip()) for line in table.splitlines() if line.strip()]
    assert found
    return found


def _row(line: str) -> Row:
    directory, colon, command = line.partition(": ")
    return (directory, tuple(shlex.split(command))) if colon else (".", tuple(shlex.split(line)))


def named(row: Row) -> str:
    """Return a row's name in pytest's output."""
    return f"{row[0]}: {shlex.join(row[1])}"


@pytest.fixture(autouse=True)
def _usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def plant(top: Path) -> Path:
    """Make the tree that every command starts from."""
    top.mkdir()
    for path, (mode, content) in BEFORE.items():
        place = f"{top}/{path}"
        if path.endswith("/"):
            os.mkdir(place)
        else:
            with open(place, "wb", buffering=0) as file:
                file.write(content.encode())
        os.chmod(place, mode)
    for path in reversed(BEFORE):
        when = LONG_AGO + DAY * (path in NEWER)
        os.utime(f"{top}/{path}", ns=(when, when))
    return top


def on_disk(top: Path, *, directory_times: bool = False) -> Tree:
    """Return what stands in a directory: kinds, modes, contents, and when each file was changed."""
    found: Tree = {}
    now = time.time()
    for folder, folders, files in os.walk(top):
        for name in (*folders, *files):
            place = f"{folder}/{name}"
            status = os.lstat(place)
            when = "now" if abs(status.st_mtime - now) < 3600 else status.st_mtime_ns
            mode = status.st_mode & 0o7777
            if stat.S_ISDIR(status.st_mode):
                kind: tuple[object, ...] = ("directory", mode, when if directory_times else None)
            else:
                kind = ("file", mode, when, content_of(place, mode))
            found[place[len(str(top)) + 1 :]] = kind
    return found


def content_of(place: str, mode: int) -> bytes:
    """Return the content of a file of ours, though its mode may keep even us from reading it."""
    if not mode & 0o400:
        os.chmod(place, mode | 0o400)
    with open(place, "rb", buffering=0) as file:
        content = file.read()
    if not mode & 0o400:
        os.chmod(place, mode)
    return content


def seen(files: Files) -> Tree:
    """Return what seems to stand there; the overlay keeps no modes of directories, and no times."""
    found: Tree = {}
    for parts, entry in walk(files, ()):
        is_file = entry.kind == "file"
        found["/".join(parts)] = ("file", entry.mode, files.load(parts)) if is_file else (entry.kind,)
    return found


def less(tree: Tree) -> Tree:
    """Return a tree as `seen` returns it."""
    return {path: (e[0], e[1], e[3]) if e[0] == "file" else (e[0],) for path, e in tree.items()}


def built_in(*words: str) -> BuiltIn:
    """Return the command as the policy reads it."""
    command = judge(words)
    assert isinstance(command, BuiltIn), command
    return command


def really(words: tuple[str, ...], directory: Path) -> tuple[int, list[str]]:
    """Run the real program; return its exit code and output, without the advice to try --help."""
    done = subprocess.run(
        words,
        executable=f"/bin/{words[0]}",
        cwd=directory,
        env={**os.environ, "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    lines = done.stdout.decode().splitlines()
    return done.returncode, [line for line in lines if not line.startswith("Try '")]


def carried_out(
    words: tuple[str, ...], files: Files, directory: str = "."
) -> tuple[BuiltInResult, list[str]]:
    """Run the built-in command; return how it went, and its output."""
    lines: list[str] = []
    here = tuple(part for part in directory.split("/") if part != ".")
    return run(built_in(*words), files, here, lines.append), lines


def has_coreutils(version: str = "") -> bool:
    """Whether the real programs are GNU's, and of this version."""
    try:
        first = subprocess.run(["/bin/mv", "--version"], capture_output=True, check=True).stdout.split(b"\n")[
            0
        ]
    except (OSError, subprocess.CalledProcessError):
        return False
    return first.startswith(b"mv (GNU coreutils)") and first.decode().endswith(version)


compared = pytest.mark.skipif(not has_coreutils(), reason="needs GNU coreutils to compare with")
# Their words differ a little from version to version.
SAME_WORDS = has_coreutils("9.1")


@compared
@pytest.mark.parametrize("row", rows(COMMANDS), ids=named)
def test_a_command_does_what_the_real_one_does(row: Row, tmp_path: Path) -> None:
    """Tree, exit code and words are the same: on disk and on the overlay, which leaves the disk alone."""
    directory, words = row
    twin, ours, under = plant(tmp_path / "twin"), plant(tmp_path / "ours"), plant(tmp_path / "under")
    exit_code, said = really(words, twin / directory)
    expected = on_disk(twin)

    with Workspace(str(ours)) as files:
        ran, lines = carried_out(words, files, directory)
    assert on_disk(ours) == expected
    assert ran.exit_code == exit_code
    assert ran.here == tuple(part for part in directory.split("/") if part != ".")
    if SAME_WORDS:
        assert sorted(lines) == sorted(line.replace("/twin", "/ours") for line in said)

    with Workspace(str(under)) as disk:
        before = on_disk(under, directory_times=True)
        dry, dry_lines = carried_out(words, overlay := Overlay(disk), directory)
        assert seen(overlay) == less(expected)
        assert on_disk(under, directory_times=True) == before
    assert dry == ran
    assert dry_lines == [line.replace("/ours", "/under") for line in lines]


def test_enough_commands_are_compared() -> None:
    """All commands but cd, which is no program, are in the table many times."""
    assert len(rows(COMMANDS)) >= 120
    assert {words[0] for _, words in rows(COMMANDS)} == set(BUILT_INS) - {"cd"}


@compared
@pytest.mark.parametrize("mask", [0o000, 0o002, 0o077])
@pytest.mark.parametrize("row", rows(MODE_RULES), ids=named)
def test_the_umask_counts_as_it_does_for_the_real_command(row: Row, mask: int, tmp_path: Path) -> None:
    """New files and directories, and modes without a who, lack what the umask takes away."""
    twin, ours = plant(tmp_path / "twin"), plant(tmp_path / "ours")
    os.umask(mask)
    exit_code, said = really(row[1], twin)
    with Workspace(str(ours)) as files:
        ran, lines = carried_out(row[1], files)
    assert os.umask(mask) == mask
    assert on_disk(ours) == on_disk(twin)
    assert ran.exit_code == exit_code
    if SAME_WORDS:
        assert lines == said


# What the longest paths cost.

LONGEST = {
    "mkdir -p": f"mkdir -p {'a/' * 2047}b",
    "mkdir -p, up and down": f"mkdir -p {'a/../' * 800}b",
    "touch": f"touch {'a/' * 2047}b",
    "cat, up and down": f"cat {'a/../' * 800}b",
    "cat, deep and on": f"cat {'a/' * 1000}{'../b/' * 400}c",
    "mkdir and cd": "\n".join(["mkdir a && cd a"] * 1000),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize("body", LONGEST.values(), ids=LONGEST)
def test_the_longest_paths_cost_no_more_than_their_length(tmp_path: Path, body: str, dry_run: bool) -> None:
    """All of these take a second or so; where a step costs as much as all before it, they take minutes."""
    plan = clada.parse(f"<---RUN--->\n{body}\n<---END--->\n")
    start = time.monotonic()
    report = clada.execute(plan, workspace=tmp_path, git=False, dry_run=dry_run)
    assert time.monotonic() - start < 20
    assert report.fatal is None
    remove_tree(str(tmp_path))  # which is deeper than others can remove it
