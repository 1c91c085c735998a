"""Built-in commands keep clada's rules on links, protected names and bounds, and say what else is wrong."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import shlex
import stat
import threading
from typing import TYPE_CHECKING

import pytest

import clada
from clada.commands.judgements import BuiltIn
from clada.commands.policy import judge
from clada.model import Change, Failed
from clada.operations.builtins import run
from clada.operations.builtins.mkdir_chmod import _umask_of_new_directory, umask
from clada.world.files.overlay import Overlay
from clada.world.files.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from clada.world.files.tree import Files


@pytest.fixture
def top(tmp_path: Path) -> Iterator[Path]:
    """Make a workspace, and a directory outside of it that nothing may touch."""
    workspace, outside = tmp_path / "ws", tmp_path / "outside"
    for path in ("ws/a", "ws/b", "ws/d/x", "ws/d/s/y", "outside/x", "outside/deep/y", "ws-sibling/x"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
    (workspace / "e").mkdir()
    before = picture(outside)
    yield workspace
    assert picture(outside) == before
    assert (tmp_path / "ws-sibling/x").read_text() == "ws-sibling/x"


def picture(directory: Path) -> dict[str, object]:
    """Return all that stands in a directory, links as such."""
    places = (f"{top}/{name}" for top, *names in os.walk(directory) for name in (*names[0], *names[1]))
    return {place[len(str(directory)) + 1 :]: _pictured(place) for place in places}


def _pictured(place: str) -> object:
    status = os.lstat(place)
    if stat.S_ISLNK(status.st_mode):
        return os.readlink(place)
    if not stat.S_ISREG(status.st_mode):
        return status.st_mode, status.st_mtime_ns
    with open(place, "rb", buffering=0) as file:
        return status.st_mode, status.st_mtime_ns, file.read()


def command_of(text: str) -> BuiltIn:
    """Return the command as the policy reads it."""
    command = judge(shlex.split(text))
    assert isinstance(command, BuiltIn), command
    return command


def do(files: Files, text: str, here: tuple[str, ...] = ()) -> tuple[int, list[str]]:
    """Carry out a command; return its exit code and output."""
    lines: list[str] = []
    ran = run(command_of(text), files, here, lines.append)
    assert ran.refused is None, ran
    return ran.exit_code, lines


def refused(files: Files, text: str, here: tuple[str, ...] = ()) -> str:
    """Carry out a command that breaks a rule; return the type of its error."""
    ran = run(command_of(text), files, here, print)
    assert ran.refused, ran
    return ran.refused.type


def assert_refused(top: Path, text: str, type_: str, here: tuple[str, ...] = ()) -> None:
    """Assert that a command is refused, on disk and on the overlay, and that nothing has changed."""
    before = picture(top)
    with Workspace(str(top)) as files:
        overlay = Overlay(files)
        assert refused(overlay, text, here) == type_
        assert overlay.touched == set()
        assert refused(files, text, here) == type_
        assert files.touched == set()
    assert picture(top) == before


# Links.

LINKS = {
    "to a file inside": "d/x",
    "to a directory inside": "d",
    "to a file outside": "../outside/x",
    "to a directory outside": "../outside",
    "to nothing": "nowhere",
    "to itself": "link",
    "to the workspace": ".",
}
LEAF = """
    mv a link
    mv -f a link
    mv -T a link
    mv a b link
    mv a link/
    mv a link/new
    mv d link
    mv a holder
    cp link new
    cp -r link new
    cp -a link new
    cp -d link new
    cp -P link e
    cp a link
    cp -f a link
    cp -T a link
    cp a link/
    cp a link/new
    cp a b link
    cp a holder
    cp -r d link
    cp link/ new
    cp -r link/. new
    cp a link e
    cp -r holder new
    cp -r holder/. e
    cp -r a d holder e
    cp -rT e2 holder
    touch link
    touch -c link
    touch -d 2024-01-20 link
    touch a link
    mkdir link
    mkdir link/
    mkdir -p link
    mkdir link/new
    mkdir -p link/new/x
    mkdir -p new link/x
    chmod 600 link
    chmod +x a link
    chmod +x link/
    cd link
    cd link/
"""
ANCESTOR = """
    mv link/x new
    mv link/x/ new
    mv a link/x
    mv -n a link/x
    mv a d/x link/x
    mv a link/x e
    mv link/x a e
    cp link/x new
    cp -r link/deep new
    cp a link/x
    cp a link/new
    cp -r d link/new
    cp a link/x e
    rm link/x
    rm -f link/x
    rm -r link/deep
    rm -rf link/deep
    rm a link/x
    rm -rf d link/x
    touch link/x
    touch link/new
    touch -c link/x
    touch new link/new
    mkdir link/new
    mkdir -p link/new/deeper
    mkdir new link/new
    chmod 600 link/x
    chmod 600 a link/x
    cd link/deep
"""


def lines_of(table: str) -> list[str]:
    """Return the commands of a table."""
    return [line.strip() for line in table.strip().splitlines()]


def with_links(top: Path, target: str) -> None:
    """Put a link there, a directory that holds the same, and one that would be copied onto it."""
    for name in ("holder", "e2"):
        (top / name).mkdir(exist_ok=True)
    (top / "e2/z").write_text("z")
    for path in ("link", "holder/a", "holder/z"):
        (top / path).unlink(missing_ok=True)
        below = "/" in path and target != "link"
        (top / path).symlink_to(f"../{target}" if below else target)


@pytest.mark.parametrize("command", lines_of(LEAF))
def test_a_link_is_neither_read_nor_written_nor_replaced(command: str, top: Path) -> None:
    """Whatever it leads to, and though other operands are fine."""
    for target in LINKS.values():
        with_links(top, target)
        assert_refused(top, command, "symlink_not_allowed")


@pytest.mark.parametrize("command", lines_of(ANCESTOR))
def test_a_link_on_the_way_is_not_followed(command: str, top: Path) -> None:
    """Not even where nothing would be found behind it, and though other operands are fine."""
    for target in LINKS.values():
        with_links(top, target)
        assert_refused(top, command, "symlink_not_allowed")


@pytest.mark.parametrize("target", LINKS.values(), ids=LINKS)
@pytest.mark.parametrize(
    "command",
    ["rm link", "rm -f link", "rm -r link", "rm -rf link"],
)
def test_removing_a_link_removes_only_the_link(command: str, target: str, top: Path) -> None:
    """What it leads to stays."""
    (top / "link").symlink_to(target)
    before = picture(top)
    del before["link"]
    with Workspace(str(top)) as files:
        overlay = Overlay(files)
        assert do(overlay, command) == (0, [])
        assert overlay.entry(("link",)) is None
        assert do(files, command) == (0, [])
    assert picture(top) == before


@pytest.mark.parametrize("target", LINKS.values(), ids=LINKS)
@pytest.mark.parametrize("command", ["rm -r link/", "rm -rf link//", "rm link/", "rm -d link/"])
def test_a_slash_after_a_link_removes_nothing(command: str, target: str, top: Path) -> None:
    """As the real rm has it: neither the link, which is not meant, nor what it leads to."""
    (top / "link").symlink_to(target)
    before = picture(top)
    named = command.rsplit(maxsplit=1)[-1]
    expected = (1, [f"rm: cannot remove '{named}': Not a directory"])
    with Workspace(str(top)) as files:
        assert do(Overlay(files), command) == expected
        assert do(files, command) == expected
    assert picture(top) == before


@pytest.mark.parametrize("target", LINKS.values(), ids=LINKS)
@pytest.mark.parametrize(
    ("command", "arrival"),
    [("mv link new", "new"), ("mv link/ new", "new"), ("mv link e", "e/link"), ("mv -f link a", "a")],
)
def test_moving_a_link_moves_only_the_link(command: str, arrival: str, target: str, top: Path) -> None:
    """What it leads to stays where it is."""
    (top / "link").symlink_to(target)
    before = {path: seen for path, seen in picture(top).items() if path not in ("e", arrival)}
    before[arrival] = before.pop("link")
    with Workspace(str(top)) as files:
        overlay = Overlay(files)
        assert do(overlay, command) == (0, [])
        entry = overlay.entry(tuple(arrival.split("/")))
        assert entry
        assert entry.kind == "link"
        assert do(files, command) == (0, [])
    after = picture(top)
    assert {path: seen for path, seen in after.items() if path != "e"} == before


def test_a_directory_goes_with_the_links_in_it(top: Path) -> None:
    """They are moved and removed, never followed."""
    with_links(top, "../outside")
    with Workspace(str(top)) as files:
        assert do(files, "mv holder moved") == (0, [])
        assert (top / "moved/z").is_symlink()
        assert do(files, "rm -rv moved") == (
            0,
            ["removed 'moved/z'", "removed 'moved/a'", "removed directory 'moved'"],
        )
    assert not (top / "moved").exists()


@pytest.mark.parametrize(
    "command", ["touch l2/new", "cp l2 n", "cp a l2", "mkdir l2/n", "rm l2/x", "cd l2", "mv l2/x n"]
)
def test_the_overlay_knows_a_link_that_it_has_moved(command: str, top: Path) -> None:
    """A dry run refuses what the run itself would."""
    (top / "link").symlink_to("d")
    with Workspace(str(top)) as files:
        overlay = Overlay(files)
        assert do(overlay, "mv link l2") == (0, [])
        assert refused(overlay, command) == "symlink_not_allowed"


def exchange(one: Path, other: Path) -> None:
    """Swap two names, at one moment."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), 2) == 0, ctypes.get_errno()


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "renameat2"), reason="needs Linux to swap two names")
def test_a_parent_that_turns_into_a_link_meanwhile_leads_nowhere(top: Path) -> None:
    """Commands run while a thread swaps the directory for a link to the outside, and back."""
    (top / "bait").symlink_to("../outside")
    stop = threading.Event()
    swaps = 0

    def swap() -> None:
        nonlocal swaps
        while not stop.is_set():
            exchange(top / "d", top / "bait")
            swaps += 1

    commands = lines_of(SWAPPED)
    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        with Workspace(str(top)) as files:
            types = {type_ for _ in range(300) for command in commands for type_ in attempted(files, command)}
    finally:
        stop.set()
        swapper.join()
    assert "symlink_not_allowed" in types
    assert types <= {"symlink_not_allowed", "io_error"}  # the latter says that it was moved at this moment
    assert swaps > 100


SWAPPED = """
    touch d/new
    rm -f d/x
    cp a d/x
    mv b d/y
    mv d/y b
    chmod 600 d/x
    mkdir d/made
    rm -r d/made
    cp -r d copy
"""


def attempted(files: Workspace, command: str) -> list[str]:
    """Carry out a command without what is known of directories; return the type of error that it raises."""
    files.forget()
    ran = run(command_of(command), files, (), print)
    return [ran.refused.type] if ran.refused else []


# Protected names, and the workspace's bounds.

PROTECTED = """
    rm -r .git
    rm -rf .git/config
    rm -rf .GIT
    rm -r sub
    rm -rf a sub
    rm -r sub/.git/
    rm sub/.git/config
    mv .git new
    mv sub new
    mv a b sub e
    mv a .git/config
    mv a .git
    mv .clada/allowed-commands.json new
    mv a .clada/allowed-commands.json
    cp .git/config new
    cp -r .git new
    cp -r sub new
    cp -r a sub e
    cp -r . e
    cp a .clada/allowed-commands.json
    cp a .Clada/allowed-commands.json
    cp a d/.git
    touch .git/config
    touch new .clada/new
    mkdir .git
    mkdir d/.git
    mkdir -p new/.clada/x
    mkdir -p .git/../new
    chmod 777 .git/config
    chmod 777 a .clada
    cd .git
    cd .git/hooks
"""


@pytest.mark.parametrize("command", lines_of(PROTECTED))
def test_protected_names_are_protected_from_every_command(command: str, top: Path) -> None:
    """And so is a directory that holds one; nothing of a command that names one is done."""
    for path in (
        ".git/config",
        ".git/hooks/x",
        ".clada/allowed-commands.json",
        "sub/.git/config",
        "sub/file",
    ):
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(path)
    assert_refused(top, command, "permission_denied")


BOUNDS = {
    "path_escape": """
        rm ../outside/x
        rm -rf ..
        rm -rf ../../outside
        rm a ../outside/x
        rm -r d/../../outside
        rm /etc/hostname
        mv ../outside/x new
        mv a ../outside/new
        mv a ..
        mv a /tmp
        mv ../ws-sibling/x new
        cp ../outside/x new
        cp -r ../outside new
        cp a ../outside/new
        cp a /tmp/clada-must-not-be
        cp a b ../outside
        touch ../new
        touch new ../new
        mkdir ../new
        mkdir -p d/../../new/x
        chmod 777 ../outside/x
        chmod 777 ..
        cd ..
        cd /
        cd ../ws-sibling
        cp C:/x new
        mv a ..\\\\new
    """,
    "permission_denied": """
        rm -r .
        rm -rf ./
        rm -rf d/..
        rm .
        rm -rf a .
        mv . e
        mv d/.. e
        mv ./ new
    """,
}


@pytest.mark.parametrize(
    ("command", "type_"), [(line, type_) for type_, table in BOUNDS.items() for line in lines_of(table)]
)
def test_commands_stay_in_the_workspace(command: str, type_: str, top: Path) -> None:
    """What is outside cannot be named, and the workspace itself stays."""
    assert_refused(top, command, type_)


@pytest.mark.parametrize(
    ("command", "type_"), [("rm -rf ../..", "path_escape"), ("rm -rf ..", "permission_denied")]
)
def test_a_directory_on_the_way_is_where_paths_start(command: str, type_: str, top: Path) -> None:
    """`..` of a directory in the workspace may be the workspace, and not more."""
    assert_refused(top, command, type_, here=("d",))


@pytest.mark.parametrize("command", ["rm -rf {}", "mv {} new", "rm -rf {}/ws/../"])
def test_no_escape_takes_the_workspace_away(command: str, top: Path) -> None:
    """Though paths outside are allowed, the directories that the workspace lies in stay."""
    before = picture(top.parent)
    with Workspace(str(top), allow_escape=True) as files:
        assert refused(files, command.format(top.parent)) == "permission_denied"
        assert do(files, f"cp {top.parent}/outside/x {top.parent}/extra")[0] == 0
    (top.parent / "extra").unlink()
    assert picture(top.parent).keys() == before.keys()


@pytest.mark.parametrize(
    "command", ["cp pipe new", "cp -r holder new", "cp a pipe", "touch pipe", "chmod 600 pipe", "mv a pipe"]
)
def test_neither_pipes_nor_devices_are_touched(command: str, top: Path) -> None:
    """They are no regular files: a copy would wait for ever."""
    (top / "holder").mkdir()
    os.mkfifo(top / "pipe")
    os.mkfifo(top / "holder/pipe")
    assert_refused(top, command, "permission_denied")


def test_a_pipe_can_be_moved_and_removed(top: Path) -> None:
    """For nothing is read from it or written to it."""
    os.mkfifo(top / "pipe")
    with Workspace(str(top)) as files:
        assert do(files, "mv pipe e") == (0, [])
        assert do(files, "rm e/pipe") == (0, [])


@pytest.mark.parametrize("command", ["rm -rf ''", "mv '' new", "cp -r '' new", "chmod 700 ''"])
def test_an_empty_name_never_means_the_directory(command: str, top: Path) -> None:
    """It names nothing."""
    before = picture(top)
    with Workspace(str(top)) as files:
        do(files, command, here=("d",))
    assert picture(top) == before


def test_copies_are_never_setuid(top: Path) -> None:
    """Not even with -p."""
    (top / "a").chmod(0o4755)
    with Workspace(str(top)) as files:
        do(files, "cp -p a new")
        do(files, "cp a new2")
    assert (top / "new").stat().st_mode & 0o7777 == 0o755
    assert (top / "new2").stat().st_mode & 0o7000 == 0


def test_chmod_leaves_a_setgid_directory_so(top: Path) -> None:
    """A number of permission bits does not take it away."""
    (top / "e").chmod(0o2755)
    with Workspace(str(top)) as files:
        do(files, "chmod 700 e")
    assert (top / "e").stat().st_mode & 0o7777 == 0o2700


# Other troubles: said in coreutils' words, and exit code 1.

WORDS = [
    (BuiltIn("cd", {}, ("no",)), "cd: no: No such file or directory"),
    (BuiltIn("cd", {}, ("a",)), "cd: a: Not a directory"),
    (BuiltIn("cd", {}, ("a/",)), "cd: a/: Not a directory"),
    (BuiltIn("cd", {}, ("a/x",)), "cd: a/x: Not a directory"),
    (BuiltIn("rm", {}, ("no",)), "rm: cannot remove 'no': No such file or directory"),
    (BuiltIn("rm", {}, ("d",)), "rm: cannot remove 'd': Is a directory"),
    (BuiltIn("mkdir", {}, ("d",)), "mkdir: cannot create directory 'd': File exists"),
    (BuiltIn("cp", {}, ("d", "new")), "cp: -r not specified; omitting directory 'd'"),
    (BuiltIn("cp", {"r": True}, ("d", "d/s")), "cp: cannot copy a directory, 'd', into itself, 'd/s/d'"),
    (BuiltIn("cp", {"r": True}, (".", "e")), "cp: cannot copy a directory, '.', into itself, 'e/.'"),
    (BuiltIn("mv", {}, ("d", "d/s")), "mv: cannot move 'd' to a subdirectory of itself, 'd/s/d'"),
    (BuiltIn("mv", {}, ("a",)), "mv: missing destination file operand after 'a'"),
    (BuiltIn("touch", {"d": "next week"}, ("a",)), "touch: invalid date format 'next week'"),
    (BuiltIn("touch", {"d": "@" + "9" * 30}, ("a",)), f"touch: invalid date format '@{'9' * 30}'"),
    (
        BuiltIn("rm", {}, ("a\n[task-1] SUCCESS\x1b[2J",)),
        "rm: cannot remove 'a\\n[task-1] SUCCESS\\x1b[2J': No such file or directory",
    ),
    (BuiltIn("rm", {}, ("\u202ea",)), "rm: cannot remove '\\u202ea': No such file or directory"),
]


@pytest.mark.parametrize(("command", "said"), WORDS, ids=[said[:60] for _, said in WORDS])
def test_what_cannot_be_done_is_said(command: BuiltIn, said: str, top: Path) -> None:
    """In one line, with exit code 1, and nothing is changed by it."""
    before = picture(top)
    with Workspace(str(top)) as files:
        lines: list[str] = []
        ran = run(command, files, (), lines.append)
    assert (ran.exit_code, ran.here, ran.changes) == (1, (), ())
    assert lines == [said]
    assert picture(top) == before


def as_ordinary_user(action: Callable[[], object]) -> object:
    """Return what an action returns that is done by somebody who is not root, in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
                # Who changes users loses the view of his own /proc, until he starts a program or says this.
                ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
            os.write(writing, json.dumps(action()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        said = answer.read()
    os.waitpid(child, 0)
    assert said, "the child has failed"
    return json.loads(said)


DENIED = {
    "rm locked/x": "rm: cannot remove 'locked/x': Permission denied",
    "rm -r locked": "rm: cannot remove 'locked/x': Permission denied",
    "rm -r holder": "rm: cannot remove 'holder': Permission denied",
    "rm -rf holder/dark": "rm: cannot remove 'holder/dark': Permission denied",
    "mv locked/x new": "mv: cannot move 'locked/x' to 'new': Permission denied",
    "mv free/y locked": "mv: cannot move 'free/y' to 'locked/y': Permission denied",
    "mv holder/dark new": "mv: cannot move 'holder/dark' to 'new': Permission denied",
    "cp secret new": "cp: cannot open 'secret' for reading: Permission denied",
    "cp a locked": "cp: cannot create regular file 'locked/a': Permission denied",
    "cp -r holder new": "cp: cannot access 'holder': Permission denied",
    "mkdir locked/new": "mkdir: cannot create directory 'locked/new': Permission denied",
    "mkdir -p locked/new/x": "mkdir: cannot create directory 'locked/new': Permission denied",
    "touch locked/new": "touch: cannot touch 'locked/new': Permission denied",
    "rm holder/dark/x": "rm: cannot remove 'holder/dark/x': Permission denied",
    "cp holder/dark/x new": "cp: cannot stat 'holder/dark/x': Permission denied",
    "cd holder/dark/x": "cd: holder/dark/x: Permission denied",
}


@pytest.mark.parametrize(("command", "said"), DENIED.items(), ids=DENIED)
def test_what_the_system_denies_is_no_rule_of_ours(command: str, said: str, top: Path) -> None:
    """It is said in the system's words: `locked` cannot be written, `dark` not even be read."""
    for path in ("locked/x", "free/y", "holder/dark/x", "holder/other", "secret"):
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(path)
    before = picture(top)
    for directory in (top, top / "holder", top / "free"):
        directory.chmod(0o777)
    for path, mode in (("locked", 0o555), ("holder/dark", 0o000), ("secret", 0o000)):
        (top / path).chmod(mode)
    with Workspace(str(top)) as files:  # by us, for others may not come so far
        done = as_ordinary_user(lambda: do(files, command))
    for path in ("locked", "holder/dark", "secret"):
        (top / path).chmod(0o755)
    assert done == [1, [said]]
    assert picture(top).keys() == before.keys()


def test_a_full_disk_is_said_and_leaves_nothing_behind(top: Path) -> None:
    """A limit on file sizes stands in for it."""
    (top / "big").write_bytes(b"x" * 5000)
    before = picture(top)

    def act(files: Workspace) -> object:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        return do(files, "cp big a new")

    (top / "new").mkdir(mode=0o777)
    (top / "new").chmod(0o777)
    with Workspace(str(top)) as files:
        done = as_ordinary_user(lambda: act(files))
    assert done == [1, ["cp: cannot create regular file 'new/big': File too large"]]
    assert [path.name for path in (top / "new").iterdir()] == ["a"]
    (top / "new/a").unlink()
    (top / "new").rmdir()
    assert picture(top) == before


# cd, pwd, echo.


def test_cd_changes_the_directory_for_the_next_command(top: Path) -> None:
    """Relative, upwards within the workspace, and by an absolute path inside of it."""
    with Workspace(str(top)) as files:
        for here, to, there in [
            ((), "d", ("d",)),
            (("d",), "s/", ("d", "s")),
            (("d", "s"), "../..", ()),
            (("d", "s"), ".", ("d", "s")),
            (("d", "s"), str(top), ()),
            ((), f"{top}/d/s", ("d", "s")),
        ]:
            ran = run(command_of(f"cd {to}"), files, here, print)
            assert (ran.exit_code, ran.here) == (0, there)
        assert do(files, "pwd", ("d", "s")) == (0, [f"{top}/d/s"])


def test_echo_prints_line_by_line(top: Path) -> None:
    """So that each gets its prefix; what could steer a terminal is escaped."""
    with Workspace(str(top)) as files:
        assert do(files, "echo 'two\nlines' more") == (0, ["two", "lines more"])
        assert do(files, "echo 'one\n'") == (0, ["one", ""])
        assert do(files, "echo -n 'one\n'") == (0, ["one"])
        assert do(files, "echo '\x1b[2J'") == (0, ["\\x1b[2J"])


# What is reported.

CHANGES = {
    "mv a new": (("a", "removed"), ("new", "moved")),
    "mv a b e": (("a", "removed"), ("e/a", "moved"), ("b", "removed"), ("e/b", "moved")),
    "rm a": (("a", "removed"),),
    "rm -r d": (("d", "removed"),),
    "rm -f no": (),
    "cp a new": (("new", "created"),),
    "cp a b": (("b", "overwritten"),),
    "cp -r d new": (("new", "created"),),
    "cp -r d/. e": (("e/s", "created"), ("e/x", "created")),
    "mkdir new": (("new", "created"),),
    "mkdir -p new/x d": (("new", "created"), ("new/x", "created")),
    "touch new a": (("new", "created"),),
    "chmod 600 a": (("a", "edited"),),
    "echo a": (),
}


@pytest.mark.parametrize(("command", "changes"), CHANGES.items(), ids=CHANGES)
def test_changes_are_reported(command: str, changes: tuple[tuple[str, str], ...], top: Path) -> None:
    """Each by its path in the workspace; what is in a new directory is new by that."""
    (top / "a").chmod(0o644)
    with Workspace(str(top)) as files:
        for world in (Overlay(files), files):
            assert run(command_of(command), world, (), print).changes == tuple(
                Change(*change) for change in changes
            )


# A few more ways in which files can be.


def test_a_skipped_file_is_no_failure(top: Path) -> None:
    """As in most versions of coreutils: with -n what is there stays, and that is fine."""
    with Workspace(str(top)) as files:
        assert do(files, "mv -n a b") == (0, [])
        assert do(files, "cp -n a b") == (0, [])
        assert do(files, "cp -rnT d e") == (0, [])
        (top / "e/x").write_text("kept")
        assert do(files, "cp -rnT d e") == (0, [])
    assert (top / "b").read_text() == "ws/b"
    assert (top / "e/x").read_text() == "kept"


@pytest.mark.parametrize("command", ["mv -n {}", "mv -nT {}", "mv -fn {}", "cp -n {}", "cp -rnT {}"])
def test_what_would_replace_itself_is_kept_too(command: str, top: Path) -> None:
    """With -n nothing is replaced, so that it is the same file does not matter."""
    with Workspace(str(top)) as files:
        assert do(files, command.format("a ./a")) == (0, [])
        if "T" in command:
            assert do(files, command.format("d d/")) == (0, [])
        else:
            assert do(files, command.format("d/x d")) == (0, [])
    assert (top / "a").read_text() == "ws/a"
    assert (top / "d/x").exists()


def test_a_hard_link_is_not_written_through(top: Path) -> None:
    """Copying over one of two names leaves the other's content alone; renaming one to the other fails."""
    os.link(top / "a", top / "hard")
    with Workspace(str(top)) as files:
        assert do(files, "mv a hard") == (1, ["mv: 'a' and 'hard' are the same file"])
        assert do(files, "cp b hard") == (0, [])
    assert (top / "a").read_text() == "ws/a"
    assert (top / "hard").read_text() == "ws/b"


@pytest.mark.parametrize(
    "command", ["chmod 600 linked", "chmod +x a linked", "touch linked", "touch -d 2020-01-01 a linked"]
)
def test_the_mode_and_times_of_a_file_with_other_names_stay(top: Path, command: str) -> None:
    """They belong to all its names, of which some may be outside; and nothing else is done either."""
    os.link(top.parent / "outside" / "x", top / "linked")
    before = (top / "linked").stat()
    assert_refused(top, command, "permission_denied")
    after = (top / "linked").stat()
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
    with Workspace(str(top)) as files:
        assert do(files, "touch -c missing") == (0, [])
        assert do(files, "cp linked copy") == (0, [])
        assert do(files, "chmod 600 copy") == (0, [])


def test_a_very_deep_tree_is_copied_moved_and_removed(top: Path) -> None:
    """Deeper than any path that is allowed: moves can make such a tree."""
    path, more = "/".join(["n" * 20] * 150), "/".join(["m" * 20] * 150)
    with Workspace(str(top)) as files:
        assert do(files, f"mkdir -p {path} {more}") == (0, [])
        assert do(files, f"touch {path}/x {more}/x") == (0, [])
        assert do(files, f"mv {'m' * 20} {path}") == (0, [])
        assert do(files, f"cp -r {'n' * 20} copy") == (0, [])
        assert do(files, f"rm copy/{path.partition('/')[2]}/x") == (0, [])
        assert do(files, "mv copy e") == (0, [])
        assert do(files, f"rm -r e {'n' * 20}") == (0, [])
    assert sorted(os.listdir(top)) == ["a", "b", "d"]


def test_preserved_directories_keep_their_times(top: Path) -> None:
    """They are set after what is in them has been made."""
    for path in ("d/s", "d"):
        os.utime(top / path, ns=(10**18, 10**18))
    with Workspace(str(top)) as files:
        assert do(files, "cp -a d new") == (0, [])
    assert [(top / path).stat().st_mtime_ns for path in ("new", "new/s")] == [10**18, 10**18]


def test_the_umask_is_the_same_by_both_ways() -> None:
    """Read from the system, and tried where the system does not tell."""
    before = os.umask(0o027)
    try:
        assert umask() == _umask_of_new_directory() == 0o027
    finally:
        os.umask(before)


def test_backslashes_in_paths_are_slashes(top: Path) -> None:
    """As in every path that a document names."""
    with Workspace(str(top)) as files:
        assert do(files, "mkdir -p 'new\\x\\y'") == (0, [])
        assert do(files, "mv a 'new\\x\\'") == (0, [])
        assert do(files, "cp 'd\\x' 'new\\x'") == (0, [])
    assert sorted(str(path.relative_to(top / "new")) for path in (top / "new").rglob("*")) == [
        "x",
        "x/a",
        "x/x",
        "x/y",
    ]


def test_a_rule_that_is_met_half_way_does_not_hide_what_was_done(top: Path) -> None:
    """The report names the changes that were made before it."""
    (top / "link").symlink_to("a")
    (top / "d/link").write_text("a file of the same name")
    with Workspace(str(top)) as files:
        ran = run(command_of("mv link d/link e"), files, (), print)
    assert ran.refused
    assert ran.refused.type == "symlink_not_allowed"
    assert ran.changes == (Change("link", "removed"), Change("e/link", "moved"))


def test_half_done_changes_are_in_the_report(top: Path) -> None:
    """Of a run that a rule ends."""
    (top / "link").symlink_to("a")
    (top / "d/link").write_text("a file of the same name")
    plan = clada.parse("<---RUN--->\nmv link d/link e\n<---END--->\n")
    outcome = clada.execute(plan, workspace=str(top), git=False).tasks[0].outcome
    assert isinstance(outcome, Failed)
    assert outcome.error.type == "symlink_not_allowed"
    assert outcome.changes == (Change("link", "removed"), Change("e/link", "moved"))
