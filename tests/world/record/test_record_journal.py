"""The journal: read up to where it is whole, private, and harmless whatever somebody has planted in it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.world.record.conftest import Recorded, command, write
from tests.world.repository.states import clean, files, git

from clada.errors import CladaError
from clada.world.record.journal import MAGIC, Journal, escape_field, read_journal, unescape_field
from clada.world.record.states import ABSENT, State
from clada.world.record.tree_diff import RunChanges

if TYPE_CHECKING:
    from tests.world.record.conftest import Ordinary

CONTENT = b"content\n\0\xff" * 100


def told(path: Path) -> list[tuple[tuple[str, ...], bytes]]:
    """Return what a journal says."""
    with read_journal(str(path)) as journal:
        return [(record.fields[:2], journal.content(record)) for record in journal.records()]


def sample(path: Path) -> list[tuple[tuple[str, ...], bytes]]:
    """Write a journal of all kinds of records, and return what it says."""
    state = State("file", 0o640, (1, 2), CONTENT, {"user.x": b"\0=\n"})
    with Journal(str(path)) as journal:
        journal.add("document", data=b"a\tb\n")
        journal.add_state("before", "tab\t line\n cr\r back\\slash \udcff", state)
        journal.add_state("after", "@1+2", state)
        journal.add_state("before", "none", ABSENT)
        journal.add("report", data=b"\n")
    return told(path)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    """Names with tabs, line breaks and bytes that are no text; contents of any bytes, and attributes."""
    records = sample(tmp_path / "1")
    assert [fields for fields, _ in records] == [
        ("document",),
        ("before", "tab\t line\n cr\r back\\slash \udcff"),
        ("after", "@1+2"),
        ("before", "none"),
        ("report",),
    ]
    assert [content for _, content in records] == [b"a\tb\n", CONTENT, CONTENT, b"", b"\n"]
    with read_journal(str(tmp_path / "1")) as journal:
        _, record, *_ = journal.records()
        assert journal.state(record) == State("file", 0o640, (1, 2), CONTENT, {"user.x": b"\0=\n"})


def test_a_content_is_written_once(tmp_path: Path) -> None:
    """However often it is told of."""
    sample(tmp_path / "1")
    assert (tmp_path / "1").read_bytes().count(CONTENT) == 1


@given(st.text(st.characters(exclude_categories=())))
def test_any_field_comes_back(field: str) -> None:
    """And has no tab and no line break on the way."""
    assert not {"\t", "\n", "\r"} & set(escape_field(field))
    assert unescape_field(escape_field(field)) == field


def test_a_journal_torn_at_any_byte_says_what_came_before(tmp_path: Path) -> None:
    """And can be gone on with."""
    records = sample(tmp_path / "1")
    whole = (tmp_path / "1").read_bytes()
    torn = tmp_path / "2"
    seen = set()
    for size in range(len(whole)):
        torn.write_bytes(whole[:size])
        found = told(torn)
        assert found == records[: len(found)]
        seen.add(len(found))
    assert seen == set(range(len(records)))
    for size in range(len(MAGIC), len(whole), 97):
        torn.write_bytes(whole[:size])
        found = told(torn)
        with Journal(str(torn), again=True) as journal:
            journal.add("more", data=b"more")
        assert told(torn) == [*found, (("more",), b"more")]


def test_a_byte_that_was_turned_ends_the_journal(tmp_path: Path) -> None:
    """Nothing after it is believed, nor it itself."""
    records = sample(tmp_path / "1")
    whole = (tmp_path / "1").read_bytes()
    for at in range(0, len(whole), 3):
        (tmp_path / "2").write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        found = told(tmp_path / "2")
        assert found == records[: len(found)]
        assert len(found) < len(records)


# What somebody has planted.


def record(*fields: str, data: bytes = b"", size: str = "") -> bytes:
    """Return a record as clada would write it, with a right checksum."""
    text = "\t".join(map(escape_field, fields)).encode("utf-8", "surrogateescape")
    head = b"%08x %s %s\n" % (crc32(data, crc32(text)), size.encode() or b"%d" % len(data), text)
    return head + data + (b"\n" if data else b"")


def plant(place: Recorded, *records: bytes, history: str = "") -> None:
    """Put a journal there, as the last run's; or with a history, as an earlier version wrote it."""
    place.run(write("decoy.txt", "decoy\n"))
    (place.store / "runs/1").write_bytes(MAGIC + b"".join(records))
    if history:
        (place.store / "record.db").unlink()
        (place.store / "history").write_text(history)


PLACES = (
    "../outside.txt", "dir/../../outside.txt", "/etc/clada-was-here", "./a.txt", "dir//c.txt", "", "..", ".",
    ".git/config", "dir/.git/hooks/x", ".GIT/config", ".clada/approvals", "out/planted.txt",
    "out/outside.txt", "nul\0nul",
)  # fmt: skip


@pytest.mark.sample(20)
@pytest.mark.parametrize("path", PLACES)
@pytest.mark.parametrize("kind", ["file", "absent", "link", "directory"])
def test_a_planted_place_is_never_touched(repo: Recorded, path: str, kind: str) -> None:
    """It leads out, or to git's and clada's own, or through a link."""
    top = repo.workspace.parent
    (top / "outside.txt").write_text("outside\n")
    (repo.workspace / "out").symlink_to("..")
    plant(
        repo,
        record("before", path, kind, "644", "0:0", "", data=b"planted" if kind != "absent" else b""),
        record(
            "after",
            path,
            "absent" if kind != "absent" else "file",
            "",
            "",
            "",
            data=b"outside\n" * (kind == "absent"),
        ),
    )
    around = Recorded(top)
    (repo.workspace / ".clada").mkdir()
    before, config = around.tree(), (repo.workspace / ".git/config").read_bytes()
    with pytest.raises(CladaError):
        repo.undo(1)
    assert around.tree() == before
    assert (repo.workspace / ".git/config").read_bytes() == config
    assert os.listdir(repo.workspace / ".clada") == []
    assert not os.path.exists("/etc/clada-was-here")


@pytest.mark.parametrize(
    "fields",
    [
        ("before", "a.txt"),
        ("before", "a.txt", "odd", "644", "0:0", ""),
        ("before", "a.txt", "file", "nine", "0:0", ""),
        ("before", "a.txt", "file", "644", "root:root", ""),
        ("before", "a.txt", "file", "644", "0:0", "", "user.x=zz"),
        ("before", "a.txt", "file", "644", "0:0", "", "@0+99999999999999"),
        ("before", "a.txt", "file", "644", "0:0", "", "@99999999999999999+1"),
        ("before", "a.txt", "file", "644", "0:0", "", "@-5+3"),
        ("before", "a.txt", "file", "644", "0:0", "a digest"),
        ("before", "a.txt" + "x" * 5000, "file", "644", "0:0", ""),
        ("x" * (5 << 20),),
    ],
)
def test_a_malformed_record_is_no_record(repo: Recorded, fields: tuple[str, ...]) -> None:
    """No traceback, no lack of memory, and above all no empty file where one was."""
    plant(
        repo,
        record(*fields),
        record("after", fields[1] if len(fields) > 1 else "", "file", "", "", "", data=b"a\n"),
    )
    before = repo.tree()
    with pytest.raises(CladaError):
        repo.undo(1)
    assert repo.tree() == before
    shown = repo.call("history", "show", "1")
    assert "Traceback" not in shown.stderr
    assert "internal error" not in shown.stderr


@pytest.mark.parametrize("size", ["99999999999999999999", "-1", "1e9", "9999999999"])
def test_a_size_that_is_none_ends_the_journal(repo: Recorded, size: str) -> None:
    """However large it says it is."""
    plant(repo, record("before", "a.txt", "file", "644", "0:0", "", data=b"x", size=size))
    with pytest.raises(CladaError, match="changed nothing"):
        repo.undo(1)


HISTORIES = (
    "start\t1\tnow\twhat\t\tcommits\t0\t0\t--output=/tmp/clada-was-here\nend\t1\tok\t1\t--output=/tmp/clada-was-here\tfiles\n",
    "start\t99999999999999999999\tnow\twhat\t\tsnapshots\t0\t0\t\n",
    "start\t-1\tnow\twhat\t\tsnapshots\t0\t0\t\nstart\tx\tnow\twhat\t\tsnapshots\t0\t0\t\nstart\n",
    "start\t1\tnow\twhat\t\tsnapshots\t1\t1\t\nend\t1\tkilled\t99999999999999999999\t\tfiles\n",
    "start\t1\t\x1b[31mnow\t\x1b]0;title\x07\t\tsnapshots\t0\t0\t\nend\t1\t\x1b[2J\t1\t\tfiles\t\x1b[2J\n",
    "start\t1\tnow\twhat\t../..\tsnapshots\t0\t0\t\n",
    "start\t1\tnow\t" + "x" * (1 << 20) + "\t\tsnapshots\t0\t0\t\n",
    "\0\n" * 1000,
)  # fmt: skip


@pytest.mark.parametrize("text", HISTORIES)
def test_a_planted_history_reaches_neither_git_nor_the_terminal(repo: Recorded, text: str) -> None:
    """Hashes are hex and numbers are numbers, or they are not used; no control character is shown."""
    plant(repo, history=text)
    before = repo.tree()
    for arguments in (["history"], ["history", "show", "1"], ["undo", "--dry-run"], ["undo"], ["undo", "1"]):
        done = repo.call(*arguments)
        assert "Traceback" not in done.stderr
        assert "internal error" not in done.stderr
        assert "\x1b" not in done.stdout + done.stderr
    assert repo.tree() == before
    assert not os.path.exists("/tmp/clada-was-here")
    repo.run(write("a.txt", "works\n"))
    repo.undo()
    assert repo.tree() == before


# Where it is kept.


def test_only_its_user_can_look_into_the_record(place: Recorded) -> None:
    """Directories are 0700 and files 0600, whatever the umask; what others could have opened is closed."""
    old = os.umask(0)
    try:
        place.run(write("a.txt", "new\n"), command("echo 1 > b.txt; true"))
        place.store.chmod(0o755)
        place.run(write("a.txt", "newer\n"))
    finally:
        os.umask(old)
    modes = {place.store.stat().st_mode & 0o777, (place.store / "runs").stat().st_mode & 0o777}
    assert modes == {0o700}
    records = [
        place.store / "record.db",
        place.store / "record.db-journal",
        *(place.store / "runs").iterdir(),
    ]
    assert {path.stat().st_mode & 0o777 for path in records} == {0o600}


@pytest.mark.parametrize("part", ["", "runs", "record.db"])
def test_a_record_that_is_a_link_is_refused(place: Recorded, tmp_path: Path, part: str) -> None:
    """Nothing is written where it leads, and nothing is executed."""
    place.run(write("a.txt", "new\n"))
    real = tmp_path / "elsewhere"
    (place.store / part).rename(real)
    (place.store / part).symlink_to(real)
    kept = real.read_bytes() if part == "record.db" else sorted(os.listdir(real))
    before = place.tree()
    report = place.attempt(write("a.txt", "newer\n"))
    assert report.fatal
    assert place.tree() == before
    assert kept == (real.read_bytes() if part == "record.db" else sorted(os.listdir(real)))


def test_a_record_of_somebody_else_is_refused(place: Recorded) -> None:
    """Who could have put anything into it."""
    if os.geteuid() != 0:
        pytest.skip("takes root, to give a directory away")
    place.run(write("a.txt", "new\n"))
    os.chown(place.store, 65534, 65534)
    report = place.attempt(write("a.txt", "newer\n"))
    assert report.fatal
    assert "is not a directory of yours" in report.fatal.message


def test_without_a_repository_the_record_is_below_the_state_directory(plain: Recorded, home: Path) -> None:
    """Nothing of it is in the workspace; a workspace of the same name elsewhere has another."""
    plain.run(write("a.txt", "new\n"))
    assert plain.store.parent == home / "state/clada"
    assert not [name for name in plain.tree() if "clada" in name]
    other = Recorded(files(plain.workspace.parent / "other/workspace"))
    assert other.store != plain.store


def test_a_repository_that_cannot_be_written_has_its_record_in_the_state_directory(
    ordinary: Ordinary,
) -> None:
    """So runs, and their undo, work there too."""
    place = Recorded(clean(ordinary.top / "workspace"))

    def readonly() -> None:
        (place.workspace / ".git").chmod(0o555)
        before = place.tree()
        place.run(write("a.txt", "new\n"), command("echo 1 > b.txt; true"))
        assert str(place.store).startswith(str(ordinary.top / "home/state"))
        place.undo()
        assert place.tree() == before
        (place.workspace / ".git").chmod(0o755)

    ordinary.do(readonly)


def test_two_users_of_a_repository_have_records_of_their_own(ordinary: Ordinary) -> None:
    """Each sees and undoes what they did; the lock is the same."""
    if os.geteuid() != 0:
        pytest.skip("takes root, to be two users")
    git(ordinary.top, "init", "-q", "--shared=all", "workspace")
    place = Recorded(files(ordinary.top / "workspace"))
    git(place.workspace, "config", "--file", str(ordinary.top / "home/.gitconfig"), "safe.directory", "*")
    subprocess.run(["chmod", "-R", "a+rwX", str(ordinary.top)], check=True)

    def first() -> None:
        place.run(write("first.txt", "1\n"))
        assert place.history() == ["ok"]

    def second() -> None:
        assert place.history() == []
        place.run(write("second.txt", "2\n"), command("echo 1 > third.txt; true"))
        assert place.undo().removed == ("second.txt", "third.txt")
        with pytest.raises(CladaError, match="there is no run 9"):
            place.undo(9)

    def undo() -> None:
        place.undo()

    ordinary.do(first, given=False)
    ordinary.do(second, user=65533, given=False)
    ordinary.do(undo, given=False)
    assert not (place.workspace / "first.txt").exists()


def test_changes_of_no_journal_are_none() -> None:
    """As of an undo that continues no other."""
    with RunChanges([]) as changes:
        assert changes.paths == []
