"""A command in an atomic run writes to an overlay: its writes are known, and those of others left alone."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from tests.waiting import eventually
from tests.world.record.conftest import NOBODY, Recorded, command, write
from tests.world.repository.states import clean, files

import clada
from clada.world.sandbox import layers, overlay

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.world.record.conftest import Ordinary

pytestmark = pytest.mark.skipif(not layers.has_namespaces(), reason="there are no namespaces here")
ATOMIC = {"atomic": True, "sandbox": "auto"}
MISSING = {"action": "remove", "path": "missing"}

# What a command does to the tree that `furnish` makes.
SCRIPTS = {
    "change": "echo more >> file; echo other > folder/inner",
    "create": "echo new > new; mkdir -p a/b; echo deep > a/b/c; mkdir empty",
    "remove": "rm file; rm -r folder",
    "modes": "chmod 600 file; chmod 700 folder; chmod +x folder/inner; mkdir -m 750 private",
    "the workspace's own mode": "chmod 750 . > /dev/null",
    "links": "ln -s nowhere link; rm a-link; ln -s folder a-link; ln file second",
    "link for file": "rm file; ln -s folder/inner file",
    "file for link": "rm a-link; echo file > a-link",
    "directory anew": "rm -r folder; mkdir folder; echo anew > folder/inner; echo new > folder/new",
    "directory for file": "rm file; mkdir file; echo inner > file/inner",
    "file for directory": "rm -r folder; echo file > folder",
    "closed": "mkdir closed; echo x > closed/x; chmod 000 closed/x closed",
    "pipe": "mkfifo pipe",
    "rename": "mv file renamed; mv renamed folder/renamed",
    "new directory renamed": "mkdir one; echo x > one/x; mv one two",
    "through several": "echo 1 > n; mv n file; rm file; echo 2 > file",
    "odd names": "echo x > 'a b'; echo x > '-n'; echo x > 'é'; echo x > \"$(printf 'q\\002')\"",
    "comma and colon": "mkdir 'x,y:z'; echo x > 'x,y:z/f'",
    "hard links among old ones": "echo more >> twin-1",
    "sparse": "truncate -s 1M sparse; printf end >> sparse",
    "nothing": "cat file > /dev/null",
    "touched": "touch -d 2001-01-01 file > /dev/null",
    "attributes": "setfattr -n user.note -v new file || true",
}


def furnish(place: Recorded) -> None:
    place.write("file", "file\n", 0o640)
    place.write("folder/inner", "inner\n")
    place.write("folder/deep/er", "er\n")
    place.write("twin-1", "twin\n")
    os.link(place.workspace / "twin-1", place.workspace / "twin-2")
    (place.workspace / "a-link").symlink_to("file")


@pytest.fixture(params=["repository", "no-repository"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Recorded:
    """Make a workspace with a name that mount options could not hold."""
    make = clean if request.param == "repository" else files
    place = Recorded(make(tmp_path / "place,with: odd\\name"))
    furnish(place)
    return place


def run(place: Recorded, *tasks: dict[str, Any], **options: Any) -> clada.Report:
    return place.attempt(*tasks, **{**ATOMIC, **options})


def confinements(report: clada.Report) -> set[str | None]:
    return {task.confinement for task in report.tasks if task.operation == "run"}


@pytest.mark.sample(16)
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_command_does_what_it_does_without_an_overlay(place: Recorded, tmp_path: Path, script: str) -> None:
    """And undo takes exactly that back."""
    other = Recorded(tmp_path / "other")
    shutil.copytree(place.workspace, other.workspace, symlinks=True)
    before = {**place.tree(), ".": place.workspace.stat().st_mode}
    other.run(command(SCRIPTS[script]))
    report = run(place, command(SCRIPTS[script]))
    assert report.ok, report.text()
    assert confinements(report) == {"namespace+overlay"}
    assert place.tree() == other.tree()
    assert place.workspace.stat().st_mode == other.workspace.stat().st_mode
    if script == "touched":
        assert (place.workspace / "file").stat().st_mtime == (other.workspace / "file").stat().st_mtime
    assert not list(place.store.glob("overlay-*"))
    if before != {**place.tree(), ".": place.workspace.stat().st_mode}:
        place.undo()
    assert {**place.tree(), ".": place.workspace.stat().st_mode} == before


@pytest.mark.sample(24)
@pytest.mark.parametrize("ends", ["by itself", "in the task after it"])
@pytest.mark.parametrize("script", SCRIPTS)
def test_what_a_command_wrote_is_gone_where_something_fails(place: Recorded, script: str, ends: str) -> None:
    before = place.tree()
    tasks = (
        [command(f"{SCRIPTS[script]}; false")] if ends == "by itself" else [command(SCRIPTS[script]), MISSING]
    )
    report = run(place, write("new-one", "new\n"), *tasks)
    assert not report.ok
    assert report.error is None
    assert place.tree() == before
    assert not list(place.store.glob("overlay-*"))


USERS: dict[str, Callable[[Path], object]] = {
    "save": lambda top: (top / "file").write_text("theirs\n"),
    "create": lambda top: (top / "theirs").write_text("theirs\n"),
    "delete": lambda top: (top / "file").unlink(),
    "rename": lambda top: (top / "file").rename(top / "theirs"),
    "rename a directory": lambda top: (top / "folder").rename(top / "theirs"),
    "replace": lambda top: (
        (top / "t").write_text("theirs\n"),
        (top / "t").rename(top / "folder" / "inner"),
    ),
    "mode": lambda top: (top / "file").chmod(0o600),
}


def acts(place: Recorded, action: Callable[[Path], object]) -> Callable[[object], None]:
    """Return what acts as a user once the command has printed something: it is running, or has just ended."""

    def hear(event: object) -> None:
        if isinstance(event, clada.Output):
            action(place.workspace)

    return hear


@pytest.mark.sample(6)
@pytest.mark.parametrize("user", USERS)
def test_what_a_user_does_meanwhile_stays_where_the_command_fails(place: Recorded, user: str) -> None:
    alone = Recorded(place.workspace.parent / "alone")
    shutil.copytree(place.workspace, alone.workspace, symlinks=True)
    USERS[user](alone.workspace)
    report = run(
        place,
        write("new-one", "x\n"),
        command("echo x > file; rm -r folder; echo go; false"),
        on_event=acts(place, USERS[user]),
    )
    assert not report.ok
    assert report.error is None
    assert place.tree() == alone.tree()


@pytest.mark.sample(6)
@pytest.mark.parametrize("user", USERS)
def test_what_a_user_does_meanwhile_stays_where_the_command_changes_something_else(
    place: Recorded, user: str
) -> None:
    alone = Recorded(place.workspace.parent / "alone")
    shutil.copytree(place.workspace, alone.workspace, symlinks=True)
    USERS[user](alone.workspace)
    alone.write("by-command", "x\n")
    report = run(place, command("echo x > by-command; echo go"), on_event=acts(place, USERS[user]))
    assert report.ok, report.text()
    assert place.tree() == alone.tree()


@pytest.mark.sample(8)
@pytest.mark.parametrize(
    ("user", "script", "path"),
    [
        ("save", "echo x > file", "file"),
        ("save", "rm file", "file"),
        ("delete", "echo x >> file", "file"),
        ("rename", "echo x >> file", "file"),
        ("create", "echo x > theirs", "theirs"),
        ("create", "mkdir theirs", "theirs"),
        ("replace", "rm -r folder", "folder/inner"),
        ("replace", "rm -r folder; mkdir folder", "folder/inner"),
        ("replace", "rm -r folder; echo x > folder", "folder/inner"),
        ("rename", "mkdir theirs; echo x > theirs/x", "theirs"),
    ],
)
def test_what_both_changed_is_refused_and_named(place: Recorded, user: str, script: str, path: str) -> None:
    alone = Recorded(place.workspace.parent / "alone")
    shutil.copytree(place.workspace, alone.workspace, symlinks=True)
    USERS[user](alone.workspace)
    report = run(place, command(f"{script}; echo go"), on_event=acts(place, USERS[user]))
    error = report.tasks[0].error
    assert error is not None
    assert "changed by another program while the command ran" in error.message
    assert path in error.message
    assert place.tree() == alone.tree()


@pytest.mark.parametrize("name", [".git", ".clada", ".GIT"])
def test_what_is_protected_cannot_be_made(tmp_path: Path, name: str) -> None:
    place = Recorded(tmp_path / "place")
    place.write("file", "old\n")
    report = run(place, command(f"mkdir {name}; echo x > {name}/config; echo x > file"))
    assert not report.ok
    assert os.listdir(place.workspace) == ["file"]
    assert (place.workspace / "file").read_text() == "old\n"


def test_a_nested_repository_is_read_only_and_what_is_beside_it_is_not(place: Recorded) -> None:
    place.write("sub/repo/.git/config", "[core]\n")
    place.write("sub/repo/file", "old\n")
    before = place.tree()
    report = run(
        place, command("echo x > sub/repo/file; echo x > sub/new; echo evil >> sub/repo/.git/config; true")
    )
    assert report.ok
    assert (place.workspace / "sub/repo/.git/config").read_text() == "[core]\n"
    assert (place.workspace / "sub/repo/file").read_text() == "x\n"
    report = run(place, command("echo y > sub/repo/file; echo y > sub/other; false"))
    assert not report.ok
    assert (place.workspace / "sub/repo/file").read_text() == "x\n"
    place.undo()
    assert place.tree() == before


def test_places_that_settings_open_do_not_lead_past_the_overlay(place: Recorded) -> None:
    before = place.tree()
    folder = str(place.workspace / "folder")
    report = run(place, command("echo x > folder/inner; false"), sandbox_write=[folder])
    assert not report.ok
    assert place.tree() == before


def test_a_new_repository_is_put_in_place_and_named(place: Recorded) -> None:
    report = run(place, command("git init -q vendor"))
    assert report.ok
    assert (place.workspace / "vendor/.git/HEAD").exists()
    assert any("vendor/.git" in note for note in report.notes)


def test_what_overlays_cannot_do_is_explained(place: Recorded) -> None:
    python = "import os; os.rename('folder', 'other')"
    report = run(place, command(f'python3 -c "{python}"'))
    error = report.tasks[0].error
    assert error is not None
    assert "cannot rename directories" in str(error.hint)


def test_a_workspace_that_would_be_closed_to_its_owner_is_not(place: Recorded) -> None:
    """Without an overlay, it is opened again to its owner, and undo brings back its mode."""
    mode = place.workspace.stat().st_mode
    for tasks, options in (("chmod 000 . > /dev/null", ATOMIC), ("chmod 000 .", {}), ("chmod 000 .", ATOMIC)):
        report = place.attempt(command(tasks), **options)
        assert "closed to its owner" in str(report.tasks[0].error)
        assert place.workspace.stat().st_mode == mode
    place.run(command("chmod 000 . > /dev/null"))
    assert place.workspace.stat().st_mode & 0o777 == 0o700
    place.undo()
    assert place.workspace.stat().st_mode == mode
    place.run(command("chmod 777 ."))
    assert place.workspace.stat().st_mode & 0o777 == 0o777
    assert place.undo().restored == ("./",)
    assert place.workspace.stat().st_mode == mode


def test_where_there_can_be_no_overlay_the_report_says_so(
    place: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overlay, "problem", lambda *_: "for a test")
    for options in ({}, {"sandbox": "off"}):
        report = run(place, command("echo x > file"), **options)
        assert report.ok
        assert confinements(report) in ({"namespace"}, {"bubblewrap"}, {"none"})
        assert any("not to an overlay" in note for note in report.notes)
        place.undo()
    assert not any("overlay" in note for note in run(place, write("x", "x\n")).notes)


def test_what_is_mounted_in_the_workspace_is_no_place_for_an_overlay(
    place: Recorded, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mounts = tmp_path / "mountinfo"
    root = str(place.workspace).replace("\\", r"\134").replace(" ", r"\040")
    mounts.write_text(f"1 1 0:1 / {root}/node_modules rw - tmpfs tmpfs rw\n")
    assert overlay.problem(str(place.workspace), str(place.workspace)) is None
    monkeypatch.setattr(overlay, "MOUNTS", str(mounts))
    assert (
        overlay.problem(str(place.workspace), str(place.workspace)) == "something is mounted in the workspace"
    )


def test_a_kill_leaves_nothing_of_the_command(place: Recorded) -> None:
    before = place.tree()
    process = place.start(
        command("echo half > file; touch here; echo go; sleep 60"), arguments=["--atomic", "--sandbox=auto"]
    )
    assert eventually(lambda: bool(list(place.store.glob("overlay-*/upper/here"))))
    assert place.kill(process)
    place.write("saved-since", "theirs\n")
    assert "rolled back" in place.call("recover").stdout
    assert (place.workspace / "saved-since").read_text() == "theirs\n"
    (place.workspace / "saved-since").unlink()
    assert place.tree() == before
    assert not list(place.store.glob("overlay-*"))


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="root becomes another user")
def test_an_ordinary_user_has_overlays_too(ordinary: Ordinary) -> None:
    place = Recorded(ordinary.top / "place")
    furnish(place)

    def act() -> None:
        assert os.geteuid() == NOBODY
        before = place.tree()
        for script in SCRIPTS.values():
            report = run(place, command(script))
            assert report.ok, report.text()
            assert confinements(report) == {"namespace+overlay"}, report.notes
            now = place.tree()
            assert not run(place, command("echo x > file2; rm -rf a-link; mkdir more; false")).ok
            assert place.tree() == now
            if now != before or "chmod 750 ." in script:
                place.undo()
            assert place.tree() == before, script

    ordinary.do(act)


def test_the_report_names_the_way_in_json(place: Recorded) -> None:
    report = run(place, command("true > /dev/null")).to_dict()
    assert report["blocks"][0]["tasks"][0]["confinement"] == "namespace+overlay"
