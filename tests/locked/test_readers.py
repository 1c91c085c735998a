"""Readers and git reach the workspace, the repository and the system's own folders, and nothing else."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import pytest

from clada.world.sandbox.landlock import has_landlock

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.locked.conftest import Place

from tests.locked.conftest import SECRET
from tests.programs import needs

pytestmark = pytest.mark.skipif(not has_landlock(), reason="Landlock does not work on this machine")

# Programs as a reader, past all checks of what they are given: argv[1] is a list of commands.
READING = """
import json, os, sys
from clada.world.processes.run import RunOptions, run
from clada.world.sandbox.layers import confined_launcher
from clada.world.sandbox.landlock import ReadOnly
here = os.open(".", os.O_RDONLY)
for argv in json.loads(sys.argv[1]):
    lines = []
    launcher = confined_launcher(ReadOnly((os.getcwd(),)), os.environ)
    code = run(argv, launcher, RunOptions(directory=here, timeout=20, emit=lines.extend)).exit_code
    print(json.dumps([code, lines]))
"""
# Hardened git as clada calls it, past all checks.
CALLING = """
import json, os, sys
from clada.world.git.git import hardened_git
from clada.world.git.repository import find
git = hardened_git(find("."))
for call in json.loads(sys.argv[1]):
    done = git.call(*call)
    print(json.dumps([done.code, (done.output + done.errors).decode().splitlines()]))
"""


def results(place: Place, script: str, calls: list[list[str]]) -> list[tuple[int, str]]:
    """Run such a script as the user; return code and output of each call."""
    place.give()
    done = place.start([sys.executable, "-P", "-c", script, json.dumps(calls)])
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [(code, "\n".join(output)) for code, output in lines]


def test_a_reader_sees_no_home_and_nothing_else_outside(place: Place) -> None:
    (place.inside / "link").symlink_to(place.outside)
    outside = [f"{place.outside}/secret", "../outside/secret", "link/secret", f"{place.home}/secret"]
    system = ["/etc/hostname", "/etc/shadow", "/etc/ssh/sshd_config", "/proc/self/environ", "/proc/1/environ"]
    system += [
        os.path.expanduser("~root/.bashrc"),
        "/var/log/dpkg.log",
        "/boot/grub/grub.cfg",
        "/proc/mounts",
        "/dev/tty",
        "/dev/mem",
    ]
    calls = [["cat", path] for path in (*outside, *system)]
    calls += [["grep", "-r", "what", str(place.outside)], ["head", "-c9", outside[0]]]
    calls += [
        ["ls", path] for path in (str(place.outside), str(place.home), "/root", "/home", "/etc", "/", "..")
    ]
    calls += [["find", str(place.outside)], ["diff", "file", outside[0]], ["wc", outside[3]]]
    check_nothing_seen(place, calls)


@needs("xxd")
def test_xxd_sees_nothing_outside(place: Place) -> None:
    check_nothing_seen(place, [["xxd", f"{place.outside}/secret"]])


def check_nothing_seen(place: Place, calls: list[list[str]]) -> None:
    """Run readers of what is outside: each fails, and shows nothing of it."""
    for call, (code, text) in zip(calls, results(place, READING, calls), strict=True):
        assert code != 0, (call, text)
        assert SECRET not in text


def test_a_reader_writes_nothing_and_starts_nothing(place: Place) -> None:
    calls = [
        ["find", ".", "-maxdepth", "0", "-exec", "/bin/sh", "-c", "echo started", ";"],
        ["find", ".", "-maxdepth", "0", "-exec", "/usr/bin/id", ";"],
        ["find", "file", "-fprint", "made"],
        ["find", "file", "-delete"],
    ]
    check_nothing_done(place, calls)


@needs("tree")
def test_tree_writes_nothing(place: Place) -> None:
    check_nothing_done(place, [["tree", "-o", "made"]])


def check_nothing_done(place: Place, calls: list[list[str]]) -> None:
    """Run readers that try to start a program or to write: none succeeds."""
    for _code, text in results(place, READING, calls):
        assert "started" not in text
        assert "uid=" not in text
    assert sorted(os.listdir(place.inside)) == [".git", "file", "sub"]


def test_a_reader_works_as_it_does_outside(place: Place) -> None:
    """With the names of users, the kinds of files and the local time, as without confinement."""
    calls = [
        *(["ls", "-la", "."], ["stat", "file"], ["cat", "file"], ["grep", "-rn", "o", "sub"], ["wc", "file"]),
        *(
            ["find", ".", "-name", "file", "-printf", "%u %g %p"],
            ["head", "-1", "file"],
            ["tail", "-1", "file"],
        ),
        *(["diff", "file", "sub/other"], ["realpath", "file"], ["dirname", "a/b"]),
    ]
    check_same_as_outside(place, calls)


@pytest.mark.parametrize(
    "call",
    [pytest.param(call, marks=needs(call.split()[0])) for call in ("xxd file", "file file", "tree sub")],
)
def test_an_optional_reader_works_as_it_does_outside(call: str, place: Place) -> None:
    check_same_as_outside(place, [call.split()])


def check_same_as_outside(place: Place, calls: list[list[str]]) -> None:
    """Run programs as confined readers and without confinement: code and output are the same."""
    os.utime(place.inside / "file", (0, 0))
    for call, (code, text) in zip(calls, results(place, READING, calls), strict=True):
        plain = place.start(call)
        if call[0] != "stat":  # whose access time moves
            assert (code, text) == (plain.returncode, plain.stdout.rstrip("\n"))


def test_clada_calls_of_git_stay_in_the_repository(place: Place) -> None:
    marker = f"{place.inside}/marker"
    calls = [
        ["hash-object", "-w", f"{place.outside}/secret"],
        ["hash-object", "--no-filters", f"{place.home}/secret"],
        ["diff", "--no-index", f"{place.outside}/secret", "file"],
        ["config", "--file", f"{place.home}/secret", "--list"],
        ["config", "--file", f"{place.outside}/made", "a.b", "c"],
        ["config", "--file", f"{place.inside}/made", "a.b", "c"],
        ["checkout-index", "-a", f"--prefix={place.outside}/"],
        ["checkout-index", "-a", f"--prefix={place.inside}/made/"],
        ["-c", f"alias.x=!touch {marker}", "x"],
        ["-c", f"core.fsmonitor=touch {marker}", "status", f"--output={marker}"],
        ["ls-remote", "https://127.0.0.1:9/x"],
    ]
    for call, (code, text) in zip(calls, results(place, CALLING, calls), strict=True):
        assert code != 0, (call, text)
        assert SECRET not in text
    assert not os.path.exists(marker)
    assert not (place.outside / "made").exists()
    assert sorted(os.listdir(place.inside)) == [".git", "file", "sub"]


def test_a_repository_that_includes_a_file_of_the_home_does_not_get_it_read(place: Place) -> None:
    place.git("config", "include.path", str(place.home / "private"))
    (place.home / "private").write_text(f"[alias]\nx = {SECRET}\n[core]\nbare = {SECRET}\n")
    done = place.clada("git status", "git log", "git branch")
    assert SECRET not in done.text
    done = place.clada("git status", arguments=())
    assert SECRET not in done.text


def _linked(place: Place) -> None:
    """Make the workspace a linked work tree of a repository elsewhere."""
    main = place.top / "main"
    place.inside.rename(main)
    place.inside = main
    place.git("worktree", "add", "-q", "-b", "linked", str(place.top / "inside"))
    place.inside = place.top / "inside"


def _shared(place: Place) -> None:
    """Make it a clone that has the objects of another."""
    other = place.top / "other"
    place.inside.rename(other)
    place.inside = place.top
    place.git("clone", "-q", "--shared", str(other), "inside")
    place.git("config", "--global", "clada.alternates", str(place.top / "other"))
    place.inside = place.top / "inside"


def _below(place: Place) -> None:
    """Make it a folder of the repository."""
    place.inside = place.inside / "sub"
    place.write("file", "one\ntwo\n")
    place.commit()


def _configured(place: Place) -> None:
    """Give the user a configuration of several files."""
    (place.home / "dot files").mkdir()
    own = place.home / "dot files" / "own"
    own.write_text("[core]\nexcludesFile = ~/ignored # mine\n[include]\npath = more\n")
    (place.home / "dot files" / "more").write_text('[core]\nattributesFile = "~/dot files/attributes"\n')
    (place.home / "dot files" / "attributes").write_text("*.x -text\n")
    (place.home / "ignored").write_text("*.ignored\n")
    (place.home / ".config" / "git").mkdir(parents=True)
    (place.home / ".config" / "git" / "ignore").write_text("*.other\n")
    with (place.home / ".gitconfig").open("a") as file:
        file.write('[include]\n\tpath = "~/dot files/own"\n[includeIf "gitdir:**"] path = ~/dot files/more\n')
    place.write("a.ignored")


@pytest.mark.sample(3)
@pytest.mark.parametrize("arrange", [_linked, _shared, _below, _configured], ids=lambda made: made.__name__)
def test_ordinary_work_in_unusual_repositories_goes_on(place: Place, arrange: object) -> None:
    assert callable(arrange)
    place.give()
    arrange(place)
    place.write("file", "changed\n")
    done = place.clada("git status -s", "git diff", "git log --format=%s", "git show HEAD:./file", "ls")
    assert done.errors == [None] * 5, done.text
    assert "a.ignored" not in done.output(done.tasks[0])
    assert all("denied" not in done.output(task) for task in done.tasks)
    before = place.git("rev-parse", "HEAD")
    done = place.clada("mkdir made && touch made/new", arguments=())
    assert done.code == 0, done.text
    assert place.git("log", "--format=%s", f"{before.strip()}..").count("[clada:") == 2
    assert place.git("status", "--porcelain") == ""
    undone = place.start([sys.executable, "-m", "clada", "undo"])
    assert undone.returncode == 0, undone.stderr
    assert not (place.inside / "made").exists()


def test_filters_of_the_user_still_run_where_they_ran(place: Place) -> None:
    """In clada's own commits, in a stash and in what looks at the tree; they may write and read their own."""
    tool = place.home / "filter"
    tool.write_text(f"#!/bin/sh\nprintf x >> {place.home}/log\ntr a-z A-Z\n")
    tool.chmod(0o755)
    with (place.home / ".gitconfig").open("a") as file:
        file.write(f'[filter "big"]\nclean = {tool}\nsmudge = tr A-Z a-z\nrequired = true\n')
    place.write(".gitattributes", "*.bin filter=big\n")
    place.write("x.bin", "content\n")
    done = place.clada("touch new", arguments=())
    assert done.code == 0, done.text
    assert place.git("cat-file", "-p", "HEAD:x.bin") == "CONTENT\n"
    assert (place.home / "log").exists()
    place.write("x.bin", "other\n")
    done = place.clada("git stash", "git stash pop")
    assert done.errors == [None, None], done.text
    assert (place.inside / "x.bin").read_text() == "other\n"


# Whether git commands see the repository alone, under any configuration.
SEEN = """
from clada.world.git.git import hardened_git
from clada.world.git.repository import find
confinement = hardened_git(find(".")).confinement
names = "log show branch status diff".split()
print([bool(confinement and confinement.of_reader(name).read) for name in names])
"""


def _filters(place: Place) -> None:
    with (place.home / ".gitconfig").open("a") as file:
        file.write('[filter "lfs"]\nclean = git-lfs clean -- %f\n')


def _script(place: Place) -> None:
    program = place.outside / "git"
    program.write_text('#!/bin/sh\nexec /usr/bin/git "$@"\n')
    program.chmod(0o755)
    place.environment["PATH"] = f"{place.outside}:{place.environment['PATH']}"


@pytest.mark.parametrize(
    ("arrange", "seen", "reason"),
    [
        (None, [True] * 5, ""),
        (_filters, [True] * 3 + [False] * 2, "your git configuration has filters"),
        (_script, [False] * 5, "it is a script"),
    ],
)
def test_what_lifts_the_confinement_of_git_is_told(
    place: Place, arrange: Callable[[Place], None] | None, seen: list[bool], reason: str
) -> None:
    """By the doctor; and for filters in the report, where a command is one that may start them."""
    if arrange:
        arrange(place)
    place.give()
    assert place.start([sys.executable, "-P", "-c", SEEN]).stdout.strip() == str(seen)
    told = next(
        line
        for line in place.start([sys.executable, "-m", "clada", "doctor"]).stdout.splitlines()
        if "readers" in line
    )
    assert told.startswith("note" if reason else "ok")
    assert reason in told
    assert "git reach the workspace" in told or reason
    if arrange == _filters:
        assert reason not in place.clada("git log", "git branch", "cat file").text
        assert [reason in note for note in place.clada("git status", "git diff").report["notes"]] == [True]


def test_without_a_sandbox_nothing_is_confined(place: Place) -> None:
    done = place.clada("git log", "cat file", arguments=("--no-git", "--sandbox=off"))
    assert [task["confinement"] for task in done.tasks] == ["none", "none"]
    done = place.clada("git log", "cat file", "git stash list")
    assert [task["confinement"] for task in done.tasks] == ["landlock"] * 3


def test_with_allow_escape_a_reader_may_leave(place: Place) -> None:
    (place.outside / "note").write_text(f"{SECRET}\n")
    done = place.clada(f"cat {place.outside}/note", arguments=("--no-git", "--allow-escape"))
    assert SECRET in done.text
