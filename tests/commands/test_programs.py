"""Every option in the table is really one: each is run once against the real program."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from clada.commands.arguments import Option, _table
from clada.commands.policy import Allowed, BuiltIn, judge
from clada.commands.programs import ALLOWED, BUILT_IN

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LC_ALL": "C.UTF-8",
    "HOME": "/nowhere",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}
COMPLAINTS = [
    "unrecognized",
    "unknown",
    "invalid",
    "usage",
    "illegal",
    "ambiguous",
    "requires",
    "missing",
    "must",
]


def run(words: tuple[str, ...] | list[str], directory: Path) -> subprocess.CompletedProcess[str]:
    """Run a real program."""
    return subprocess.run(
        words,
        cwd=directory,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=90,
        check=False,
    )


def make_tree(directory: Path) -> Path:
    """Make some files to look at."""
    (directory / "src").mkdir()
    (directory / "a").write_text("one\ntwo\nthree\n")
    (directory / "b").write_text("one\nTWO\nthree\n")
    (directory / "src" / "c.py").write_text("print('a')\n")
    return directory


def make_repository(directory: Path) -> Path:
    """Make a repository with a commit and a change."""
    make_tree(directory)
    for line in ["init -q -b main", "add .", "commit -q -m one"]:
        done = run(["git", *line.split()], directory)
        assert done.returncode == 0, done.stderr
    (directory / "a").write_text("one\n2\nthree\n")
    (directory / ".gitignore").write_text("*.o\n")
    return directory


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a repository that is only looked at."""
    return make_repository(tmp_path_factory.mktemp("repository"))


# What an option of this kind is given; where a program wants something else, under `program option`.
SAMPLES = {
    "TEXT": "a", "NUMBER": "1", "SIGNED": "1", "OFFSET": "1", "PATH": "a", "FORMAT": "%h", "RANGE": "1,1:a",
    "FIELDS": "refname", "MODE": "755", "ATTRIBUTES": "mode",
    "find -regextype": "posix-egrep", "find -type": "f", "find -size": "+1k", "find -perm": "644",
    "find -user": "0", "find -group": "0", "find -newermt": "2020-01-01", "find -newerat": "2020-01-01",
    "find -newerct": "2020-01-01", "ls --block-size": "1K", "ls --time-style": "iso",
    "git log -M": "50%", "git log -C": "50%", "git log --diff-filter": "M", "git log --since": "2020-01-01",
    "git log --until": "2030-01-01", "git log --date": "iso", "git log --stat": "80",
    "tree --charset": "ascii",
    "git branch --contains": "HEAD", "git branch --no-contains": "HEAD", "git branch --merged": "HEAD",
    "git branch --no-merged": "HEAD", "git branch --points-at": "HEAD", "git branch --format": "%(refname)",
    "touch -d": "2020-01-01", "touch -t": "202001010000",
}  # fmt: skip
NUMBERS_FOR_FIND = "amin atime cmin ctime mmin mtime used uid gid maxdepth mindepth".split()
OPERANDS = {
    "cat": "a", "head": "a", "tail": "a", "grep": "o a", "wc": "a", "diff": "a b", "file": "a", "stat": "a",
    "realpath": "a", "xxd": "a", "dirname": "a", "find": ".", "ls": ".", "tree": ".", "git log": "-- a",
}  # fmt: skip
COMPANIONS = {
    "git ls-files -i": "-o -x a",
    "git ls-files --ignored": "-o -x a",
    "grep -e": "",
    "grep --regexp": "",
}


def sample(program: str, option: Option, kind: str) -> str:
    """Return a value that the real program takes for this option."""
    if program == "find" and option.key in NUMBERS_FOR_FIND:
        return "1"
    return SAMPLES.get(f"{program} {option.names[0]}") or SAMPLES.get(kind) or kind


def forms(program: str, option: Option, name: str) -> Iterator[list[str]]:
    """Yield all ways to write this option under this name."""
    long = name.startswith("--")
    for kind in option.kind.split("|"):
        value = sample(program, option, kind)
        if option.form in ("flag", "optional", "next"):
            yield [name]
        if option.form in ("value", "next"):
            yield [name, value]
        if option.form not in ("flag", "next") and program != "find":
            if long:
                yield [f"{name}={value}"]
            elif len(name) == 2 and (program != "tree" or name == "-L"):
                yield [name + value]


def arguments(program: str, option: Option, words: list[str]) -> list[str]:
    """Return the whole command: with something for the program to work on."""
    name = "-5" if words == ["-NUM"] else "+2" if words == ["+NUM"] else words[0]
    extra = COMPANIONS.get(f"{program} {words[0]}", "").split()
    operands = OPERANDS.get(program, "").split()
    if program == "grep" and option.key == "e":
        operands = ["a"]
    if program == "find" and words[0] in "( ) ! , -not -a -and -o -or".split():
        return ["find", ".", *CONNECTED[words[0]]]
    if program == "find":
        return ["find", *words, "."] if words == ["-P"] else ["find", ".", *words]
    if program == "git log" and option.key == "L":
        operands = []
    if option.form == "next" and len(words) == 1:
        operands = []
    return [*program.split(), name, *words[1:], *extra, *operands]


CONNECTED = {
    "(": "( -true )".split(), ")": "( -true )".split(), "!": "! -true".split(), ",": "-true , -true".split(),
    "-not": "-not -true".split(), "-a": "-true -a -true".split(), "-and": "-true -and -true".split(),
    "-o": "-true -o -true".split(), "-or": "-true -or -true".split(),
}  # fmt: skip


def commands_for(program: str) -> list[list[str]]:
    """Return a command for every way to write every option of a row."""
    options = _table(ALLOWED[program])
    return [
        arguments(program, option, words)
        for name, option in options.items()
        for words in forms(program, option, name)
    ]


def works(words: list[str], directory: Path) -> str:
    """Run an allowed command; return what is wrong with it, or nothing."""
    judgement = judge(words)
    if not isinstance(judgement, Allowed):
        return f"{words}: {judgement}"
    done = run(judgement.words, directory)
    fine = {0, *judgement.exit_meanings}
    if done.returncode not in fine or any(complaint in done.stderr.lower() for complaint in COMPLAINTS):
        return f"{judgement.words}: exit {done.returncode}: {done.stderr}"
    return ""


PROGRAMS = [name for name in ALLOWED if not name.startswith(("git diff", "git log", "git show", "git stash"))]


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_allowed_option_works_with_the_real_program(program: str, repository: Path) -> None:
    """It exits well, and complains of nothing."""
    if not shutil.which(program.split(maxsplit=1)[0], path=ENVIRONMENT["PATH"]):
        pytest.skip(f"{program} is not installed here")
    commands = commands_for(program)
    assert len(commands) >= len(_table(ALLOWED[program]))
    assert [trouble for words in commands if (trouble := works(words, repository))] == []


def test_every_option_of_history_works_with_one_of_its_commands(repository: Path) -> None:
    """diff, log and show share their options in git too, but `--cached` is of use to diff alone."""
    for words in commands_for("git log"):
        troubles = [
            works(["git", subcommand, *words[2:]], repository) for subcommand in ("log", "diff", "show")
        ]
        assert "" in troubles, troubles


def test_the_examples_of_history_work(repository: Path) -> None:
    """With the repository as it is."""
    for line in [
        "git diff --cached --stat",
        "git show HEAD:a",
        "git log --oneline -5",
        "git log -L:one:a -n1",
    ]:
        assert works(line.split(), repository) == ""


def test_stash_puts_away_and_brings_back(tmp_path: Path) -> None:
    """Push takes changed and untracked files; list, show, apply and pop work."""
    make_repository(tmp_path)
    (tmp_path / "new").write_text("new\n")
    assert works("git stash -u -m half".split(), tmp_path) == ""
    assert not (tmp_path / "new").exists()
    assert (tmp_path / "a").read_text() == "one\ntwo\nthree\n"
    for line in ["list", "show", "show -p", "show --stat stash@{0}", "show 0", "pop"]:
        assert works(["git", "stash", *line.split()], tmp_path) == "", line
    assert (tmp_path / "new").read_text() == "new\n"
    for line in ["push -kq", "apply"]:
        assert works(["git", "stash", *line.split()], tmp_path) == "", line
    assert (tmp_path / "a").read_text() == "one\n2\nthree\n"


REAL_BUILT_INS = {
    "mv": "a moved", "rm": "a", "cp": "a copied", "mkdir": "made", "touch": "a touched", "pwd": "",
}  # fmt: skip


@pytest.mark.parametrize("program", REAL_BUILT_INS)
def test_every_option_of_a_built_in_command_is_one_of_the_real_program(program: str, tmp_path: Path) -> None:
    """Clada imitates no option that does not exist."""
    for number, (name, option) in enumerate(_table(BUILT_IN[program]).items()):
        for form, words in enumerate(forms(program, option, name)):
            directory = tmp_path / f"{number}-{form}"
            directory.mkdir()
            make_tree(directory)
            command = [program, *words, *REAL_BUILT_INS[program].split()]
            assert isinstance(judge(command), BuiltIn)
            done = run(command, directory)
            assert (done.returncode, done.stderr) == (0, ""), command


def test_a_program_of_the_workspace_is_never_named(repository: Path) -> None:
    """argv[0] is the bare name, to be found on a fixed system path; a path to a program needs approval."""
    planted = repository / "cat"
    planted.write_text("#!/bin/sh\necho planted\n")
    os.chmod(planted, 0o755)
    judgement = judge(["cat", "b"])
    assert isinstance(judgement, Allowed)
    assert judgement.argv[0] == "cat"
    assert not isinstance(judge(["./cat", "b"]), Allowed)
    assert not isinstance(judge([str(planted), "b"]), Allowed)
