"""Repositories in the workspace are read-only to commands, and git works in them; what is new is told."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.world.test_sandbox import WORKS, Place, layers, only_bubblewrap, only_landlock, place

import clada
from clada.errors import CladaError
from clada.operations.run import launch
from clada.world.approvals import Approvals
from clada.world.sandbox.guard import Guard
from clada.world.sandbox.tree import describe_new, scan

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["place"]


def git(folder: str, *words: str) -> str:
    """Run git, and return what it prints."""
    settings = ["-c", "protocol.file.allow=always", "-c", "user.name=x", "-c", "user.email=x"]
    done = subprocess.run(["git", *settings, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Make a workspace with a submodule, a repository in a folder and a bare one; each test has a copy."""
    top = str(tmp_path_factory.mktemp("repositories"))
    for folder in ("outside/origin", "workspace", "workspace/vendor/own"):
        os.makedirs(f"{top}/{folder}", exist_ok=True)
        git(f"{top}/{folder}", "init", "-q")
        Path(f"{top}/{folder}/file").write_text("x\n")
        git(f"{top}/{folder}", "add", "file")
        git(f"{top}/{folder}", "commit", "-q", "-m", "first")
    for name in ("lib/sub", "lib/empty"):
        git(f"{top}/workspace", "submodule", "--quiet", "add", f"{top}/outside/origin", name)
    git(f"{top}/workspace", "submodule", "--quiet", "deinit", "-f", "lib/empty")
    git(f"{top}/workspace", "init", "-q", "--bare", "data/bare.git")
    return top


@pytest.fixture
def nested(place: Place, repositories: str) -> Place:
    """Return a place whose workspace has these repositories, and approvals in a folder."""
    shutil.rmtree(place.path("workspace/.git"))
    subprocess.run(["cp", "-a", f"{repositories}/.", place.base], check=True)
    for folder in ("workspace", "workspace/lib/sub", "workspace/vendor/own"):
        git(place.path(folder), "update-index", "-q", "--refresh")  # for a copy has other inodes
    os.unlink(place.path("workspace/.clada/allowed-commands.json"))
    os.mkdir(place.path("workspace/part"))
    for name in ("lib.sample", "lfs/sub", "objects/ab"):  # as submodules with these names have them
        os.makedirs(place.path(f"workspace/.git/modules/{name}"))
        Path(place.path(f"workspace/.git/modules/{name}/config")).write_text("[core]\n")
    for folder in ("workspace", "workspace/part"):
        Approvals.load(place.path(folder)).add("make")
    return place


def protected(place: Place) -> dict[str, Any]:
    """Return the options for a run with what the walk finds."""
    return {"nested": tuple(sorted(scan(place.workspace).nested))}


def contents(place: Place, nested: Sequence[str]) -> dict[str, bytes]:
    """Return all that is protected."""
    tops = [Path(place.workspace, name) for name in (".git", ".clada", *nested)]
    files = [file for top in tops for file in (top, *top.rglob("*"))]
    return {str(file): file.read_bytes() for file in files if file.is_file()}


def test_what_the_walk_finds(nested: Place) -> None:
    """Nested repositories of each kind are found, and approvals; links are not followed."""
    os.symlink(nested.path("outside"), nested.path("workspace/link"))
    found = scan(nested.workspace)
    assert found.nested == {"lib/sub/.git", "lib/empty", "vendor/own/.git", "data/bare.git", "part/.clada"}
    assert found.whole


@pytest.mark.parametrize("path", ["../outside", "..", "link", "link/other", "/etc", "part/../../outside"])
def test_an_index_does_not_lead_out(path: str, nested: Place) -> None:
    """What a hostile index calls a submodule is none, unless it is a folder of the workspace."""
    os.makedirs(nested.path("outside/other"))
    os.symlink(nested.path("outside"), nested.path("workspace/link"))
    before = scan(nested.workspace).nested
    index = Path(nested.path("workspace/.git/index"))
    entries = index.read_bytes()
    name = path.encode() + b"\0" * (8 - (62 + len(path)) % 8)
    entry = bytes(24) + b"\0\0\xe0\0" + bytes(32) + bytes([0, len(path)]) + name
    index.write_bytes(entries[:8] + (1).to_bytes(4, "big") + entry)
    assert scan(nested.workspace).nested == before - {"lib/empty"}


VERSIONS = {
    "2": (),
    "3": ("update-index", "--index-version", "3"),
    "4": ("update-index", "--index-version", "4"),
    "shared": ("update-index", "--split-index"),
}


@pytest.mark.parametrize("objects", ["sha1", "sha256"])
@pytest.mark.parametrize("version", VERSIONS)
def test_submodules_are_found_in_an_index_of_each_kind(version: str, objects: str, place: Place) -> None:
    """Also those whose names differ by little, and after one with a flag of its own."""
    names = ("lib/a", "lib/ab", "lib/ab/c-very-" + "long-" * 40 + "name", "z")
    shutil.rmtree(place.path("workspace/.git"))
    git(place.workspace, "init", "-q", f"--object-format={objects}")
    for folder in ("lib/aa", "lib/b"):
        os.makedirs(place.path(f"workspace/{folder}"))
        Path(place.path(f"workspace/{folder}/file")).write_text("x\n")
    git(place.workspace, "add", "lib")
    Path(place.path("workspace/later")).write_text("x\n")
    git(place.workspace, "add", "--intent-to-add", "later")
    link = "1" * (40 if objects == "sha1" else 64)
    for name in names:
        os.makedirs(place.path(f"workspace/{name}"), exist_ok=True)
        if name != "lib/ab":  # which would be in the way of the one below it
            git(place.workspace, "update-index", "--add", "--cacheinfo", f"160000,{link},{name}")
    if VERSIONS[version]:
        git(place.workspace, *VERSIONS[version])
    assert scan(place.workspace).nested == set(names) - {"lib/ab"}


def test_submodules_of_a_linked_work_tree_are_found(nested: Place) -> None:
    """Its index is elsewhere."""
    linked = nested.path("linked")
    git(nested.workspace, "commit", "-q", "-a", "-m", "second")
    git(nested.workspace, "worktree", "add", "-q", linked)
    assert scan(linked).nested == {"lib/sub", "lib/empty"}


ATTACKS = {
    "configuration": "printf '[core]\\nfsmonitor = x\\n' >> vendor/own/.git/config",
    "hook": "echo x > vendor/own/.git/hooks/post-checkout",
    "link in the logs": "ln -sf ~/.bashrc vendor/own/.git/logs/HEAD",
    "submodule replaced": "rm -f lib/sub/.git && mkdir lib/sub/.git && echo x > lib/sub/.git/config",
    "folder above replaced": "mv lib/sub lib/old && mkdir lib/sub && cp -r vendor/own/.git lib/sub/.git",
    "folders above replaced": "mv lib old && mkdir -p lib/sub && echo 'gitdir: ../../old' > lib/sub/.git",
    "folder above a link": "mv vendor/own vendor/x && ln -s ../part vendor/own",
    "submodule that is not checked out": "mkdir lib/empty/.git && echo x > lib/empty/.git/config",
    "modules": "printf '[core]\\nfsmonitor = x\\n' >> .git/modules/lib/sub/config",
    "bare": "echo x >> data/bare.git/config",
    "approvals of a part": "echo x > part/.clada/allowed-commands.json",
    "a submodule with the name of a sample": "echo fsmonitor=x >> .git/modules/lib.sample/config",
    "a branch with the name of a sample": "echo x > .git/refs/heads/x.sample",
    "a folder with the name of a sample": "mkdir .git/hooks/x.sample",
    "a submodule with the name of what is large": "echo fsmonitor=x >> .git/modules/lfs/sub/config",
    "a submodule with the name of objects": "echo fsmonitor=x >> .git/modules/objects/ab/config",
    "alternates": "mkdir -p .git/objects/info && echo /elsewhere > .git/objects/info/alternates",
    "commit graph": "mkdir -p .git/objects/info && echo x > .git/objects/info/commit-graph",
    "forged object": "mkdir -p .git/objects/ab && echo x > .git/objects/ab/$(printf 'c%.0s' $(seq 38))",
    "log as a reference": "mkdir -p .git/logs/refs && ln -sf ~/.bashrc .git/logs/refs/stash",
    "reference in the logs": "mkdir -p .git/refs/heads/logs && echo x > .git/refs/heads/logs/x",
}


@pytest.mark.sample(12)
@layers
@pytest.mark.parametrize("attack", ATTACKS)
def test_repositories_are_read_only(layer: str, attack: str, nested: Place) -> None:
    """No command changes a repository in the workspace: it is stopped, or what it did is undone."""
    options = protected(nested)
    before, outside = contents(nested, options["nested"]), nested.state()
    if layer == "landlock":
        with pytest.raises(CladaError, match="was undone") as caught:
            nested.run("sh", "-c", ATTACKS[attack], layer=layer, **options)
        assert caught.value.error.type == "permission_denied"
    else:
        assert nested.run("sh", "-c", ATTACKS[attack], layer=layer, **options).ended.exit_code != 0
    assert contents(nested, options["nested"]) == before
    assert nested.state() == outside


@only_landlock
def test_a_changed_object_is_told(nested: Place) -> None:
    """An object of git that was changed or removed cannot be put back, which is said."""
    script = "chmod -R u+w .git/objects && for f in .git/objects/??/*; do echo x > $f; done"
    with pytest.raises(CladaError, match="could not be put back"):
        nested.run("sh", "-c", script, layer="landlock")


# Objects are not remembered; so they must not be removed, wherever a command has put them.
MOVED = {
    "touched": "touch .git/objects/??/*",
    "linked elsewhere": "ln .git/objects/*/* .",
    "moved within": "mv .git/objects .git/evil",
    "moved into what is new": "mkdir .git/a && mv .git/objects/* .git/a && rmdir .git/objects",
    "in another .git": "mv .git old && mkdir .git && mv old/objects .git/objects && mv old .git/old",
    "in a .git in .git": "mkdir new && mv .git new/ && mv new/.git/objects new/x && mv new .git",
}


@pytest.mark.parametrize("how", MOVED)
def test_a_guard_removes_nothing_that_it_cannot_put_back(nested: Place, how: str) -> None:
    """Git's objects are where they were, and what happened is told."""
    guard = Guard(nested.workspace)
    subprocess.run(["sh", "-c", MOVED[how]], cwd=nested.workspace, check=True)
    with pytest.raises(CladaError, match="could not be put back"):
        guard.restore()
    assert git(nested.workspace, "fsck", "--no-dangling") == ""
    assert sorted(os.listdir(nested.path("workspace/.git"))) == sorted(
        {*os.listdir(nested.path("workspace/vendor/own/.git")), "modules"}
    )


def test_a_guard_remembers_settings_wherever_they_lie(nested: Place) -> None:
    """Only folders of objects in a git directory are too large, not what has such a name."""
    os.renames(nested.path("workspace/vendor/own"), nested.path("workspace/vendor/lfs/own"))
    config = Path(nested.path("workspace/vendor/lfs/own/.git/config"))
    before = config.read_bytes()
    guard = Guard(nested.workspace, ("vendor/lfs/own/.git",))
    with config.open("a") as file:
        file.write("[core]\nfsmonitor = touch marker\n")
    assert guard.restore() == ["vendor/lfs/own/.git/config"]
    assert config.read_bytes() == before


def test_a_guard_follows_no_link_above_what_it_guards(nested: Place) -> None:
    """Where a folder above was replaced by a link, nothing is changed in the place that it leads to."""
    guard = Guard(nested.workspace, ("vendor/own/.git",))
    elsewhere = Path(nested.path("outside/other"))
    (elsewhere / ".git").mkdir(parents=True)
    (elsewhere / ".git/config").write_text("theirs\n")
    os.rename(nested.path("workspace/vendor/own"), nested.path("workspace/moved"))
    os.symlink(elsewhere, nested.path("workspace/vendor/own"))
    assert guard.restore() == ["vendor/own/.git"]
    assert (elsewhere / ".git/config").read_text() == "theirs\n"
    assert git(nested.path("workspace/vendor/own"), "log", "--format=%s") == "first\n"


def test_a_walk_that_is_remembered_misses_nothing(nested: Place) -> None:
    """Not what is made right after it, nor in a folder whose time is set back; what is gone is not kept."""
    folder = Path(nested.path("workspace/deep/er"))
    folder.mkdir(parents=True)
    os.utime(folder, (1, 1))
    first = scan(nested.workspace)
    (folder / ".git").mkdir()
    os.utime(folder, (1, 1))
    second = scan(nested.workspace, first)
    assert second.nested - first.nested == {"deep/er/.git"}
    time.sleep(0.1)  # until the clock has moved on
    third = scan(nested.workspace, second)
    (folder / ".git").rmdir()
    (folder / "program").touch(0o755)
    os.utime(folder, (1, 1))
    shutil.rmtree(nested.path("workspace/vendor"))
    fourth = scan(nested.workspace, third)
    assert third.nested - fourth.nested == {"deep/er/.git", "vendor/own/.git"}
    assert list(describe_new(third, fourth)) == ["the command made executables: deep/er/program"]
    assert scan(nested.workspace).nested == fourth.nested


def test_every_new_repository_is_named(nested: Place) -> None:
    """Decoys do not hide one; of executables, a few are named."""
    before = scan(nested.workspace)
    for number in range(9):
        os.makedirs(nested.path(f"workspace/n{number}/.git"))
        Path(nested.path(f"workspace/p{number}")).touch(0o755)
    repositories = ", ".join(f"n{number}/.git" for number in range(9))
    assert list(describe_new(before, scan(nested.workspace, before))) == [
        f"the command made {repositories}: git and clada would use it",
        "the command made executables: p0, p1, p2 and 6 more",
    ]


@pytest.mark.sample(3)
@layers
@pytest.mark.parametrize("folder", ["", "lib/sub", "vendor/own"])
def test_git_works_in_each_of_them(layer: str, folder: str, nested: Place) -> None:
    """`git status`, `log` and `diff` tell what they do outside of the sandbox."""
    Path(nested.path(f"workspace/{folder}/file")).write_text("changed\n")
    script = f"cd ./{folder} && git status --short && git log --format=%s && git diff --stat"
    expected = subprocess.run(
        ["sh", "-c", script], cwd=nested.workspace, check=True, capture_output=True, text=True
    )
    result = nested.run("sh", "-c", script, layer=layer, **protected(nested))
    assert result.lines == expected.stdout.splitlines()


def run_in(workspace: str, *commands: str, **options: Any) -> tuple[clada.Report, list[str], list[str]]:
    """Carry out a document that runs these commands; return the report, the output and the notes."""
    events: list[clada.Event] = []
    text = "".join(f"<---RUN--->\n{command}\n<---END--->\n" for command in commands)
    report = clada.execute(
        clada.parse(text), workspace=workspace, approve_all=True, on_event=events.append,
        **{"record": "none", **options},
    )  # fmt: skip
    lines = [line for event in events if isinstance(event, clada.Output) for line in event.lines]
    notes = [event.text for event in events if isinstance(event, clada.Note)]
    return report, lines, notes


@pytest.fixture(params=[*WORKS, "off"])
def layer_of_run(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Force a layer by the variable for that, or run without one."""
    layer: str = request.param
    if layer == "off":
        return "off"
    if not WORKS[layer]():
        pytest.skip(f"{layer} does not work on this machine")
    monkeypatch.setenv("CLADA_SANDBOX_LAYER", layer)
    return "auto"


@pytest.mark.sample(2)
def test_what_is_new_is_told(nested: Place, layer_of_run: str) -> None:
    """Repositories and executables that a command made are named in the report, once each."""
    made = "git init -q planted && git init -q --bare planted.git"
    for name, text in {"plant": made, "build": "echo x > tool && chmod 755 tool", "idle": "true"}.items():
        Path(nested.path(f"workspace/{name}.sh")).write_text(text)
    report, _lines, notes = run_in(
        nested.workspace, "sh plant.sh", "sh build.sh", "sh build.sh", "sh idle.sh", sandbox=layer_of_run
    )
    assert report.ok, report.tasks
    assert [note for note in notes if note.startswith("the command made")] == [
        "the command made planted.git, planted/.git: git and clada would use it",
        "the command made executables: tool",
    ]


# How a command can make a program of a file that was there.
RAISED = {
    "by its name": "chmod 755 plain",
    "and sets its time back": "chmod 755 plain && touch -d @1 plain .",
    "by another name": "ln plain x && chmod 755 x && rm x",
    "by one in a new folder": "mkdir d && ln plain d/x && chmod 755 d/x && rm -r d",
    "in its place": "cp plain x && chmod 755 x && mv x plain",
}


@pytest.mark.sample(2)
@pytest.mark.parametrize("record", ["none", "snapshots", "commits"])
@pytest.mark.parametrize("folder", ["", "ignored"])
def test_a_file_that_becomes_a_program_is_told(nested: Place, record: clada.RecordMode, folder: str) -> None:
    """However that is done and recorded, and each time; what was a program before is not told again."""
    Path(nested.path("workspace/.gitignore")).write_text("ignored/\n")
    place = Path(nested.path("workspace"), folder)
    place.mkdir(exist_ok=True)
    (place / "plain").write_text("x\n")
    scripts = [each for script in RAISED.values() for each in (script, script, "chmod 644 plain")]
    for number, script in enumerate(scripts):
        Path(nested.path(f"workspace/{number}.sh")).write_text(f"cd ./{folder} && {script}")
    commands = [f"sh {number}.sh" for number in range(len(scripts))]
    report, _lines, notes = run_in(nested.workspace, *commands, record=record)
    assert report.ok, report.tasks
    told = [note for note in notes if note.startswith("the command made")]
    assert told == [f"the command made executables: {folder}/plain".replace(" /", " ")] * len(RAISED)


@pytest.mark.parametrize("record", ["none", "snapshots"])
def test_what_a_document_makes_is_not_the_commands(nested: Place, record: clada.RecordMode) -> None:
    """Only what commands made is told as theirs."""
    text = (
        "<---RUN--->\nsh -c true\n<---END--->\n"
        "<---RUN--->\ncp tool copied\n<---END--->\n"
        "<---RUN--->\nsh -c true\n<---END--->\n"
    )
    Path(nested.path("workspace/tool")).touch(0o755)
    events: list[clada.Event] = []
    report = clada.execute(
        text, workspace=nested.workspace, record=record, approve_all=True, on_event=events.append
    )
    assert report.ok, report.tasks
    assert os.access(nested.path("workspace/copied"), os.X_OK)
    assert not [event for event in events if isinstance(event, clada.Note) and "made" in event.text]


def test_nor_is_what_is_put_back_between_them(nested: Place) -> None:
    """A block that is all or nothing had removed a program, and has failed."""
    text = (
        '<---TASKS atomic="true"--->\n<---RUN--->\nsh -c "rm tool"\n<---END--->\n'
        "<---RUN--->\nsh -c false\n<---END--->\n<---END--->\n<---RUN--->\nsh -c true\n<---END--->\n"
    )
    tool = Path(nested.path("workspace/tool"))
    tool.touch(0o755)
    events: list[clada.Event] = []
    report = clada.execute(
        text, workspace=nested.workspace, record="none", approve_all=True, on_event=events.append
    )
    assert [task.status for task in report.tasks] == ["rolled_back", "error", "success"]
    assert tool.exists()
    assert not [event for event in events if isinstance(event, clada.Note) and "made" in event.text]


def test_setuid_files_are_told_above_all(nested: Place) -> None:
    """A setuid file that is new, in any way, has a note of its own."""
    before = scan(nested.workspace)
    Path(nested.path("workspace/tool")).touch()
    os.chmod(nested.path("workspace/tool"), 0o4755)
    assert list(describe_new(before, scan(nested.workspace, before))) == [
        "the command made setuid or setgid files: tool"
    ]


def test_nested_repositories_are_protected_in_a_run(nested: Place, layer_of_run: str) -> None:
    """A run finds them by itself, and protects them in every layer."""
    if layer_of_run == "off":
        pytest.skip("nothing is protected then")
    Path(nested.path("workspace/attack.sh")).write_text("echo x > vendor/own/.git/config\n")
    before = Path(nested.path("workspace/vendor/own/.git/config")).read_text()
    report, _lines, _notes = run_in(nested.workspace, "sh attack.sh")
    assert not report.ok
    assert Path(nested.path("workspace/vendor/own/.git/config")).read_text() == before


@pytest.mark.sample(2)
def test_a_linked_work_tree(nested: Place, layer_of_run: str) -> None:
    """In a linked work tree, git finds its directory outside of the workspace, and cannot change it."""
    linked = nested.path("linked")
    git(nested.workspace, "worktree", "add", "-q", linked)
    Path(linked, "file").write_text("changed\n")
    Path(linked, "look.sh").write_text("git status --short file && git log --format=%s -1\n")
    report, lines, _notes = run_in(linked, "sh look.sh", sandbox=layer_of_run)
    assert report.ok, (report.tasks, lines)
    assert lines == [" M file", "first"]


def test_a_part_of_a_repository(nested: Place, layer_of_run: str) -> None:
    """Where the workspace is a part of a repository, commands read the rest, and do not write it."""
    part = nested.path("workspace/part")
    Path(part, "look.sh").write_text("cat ../file && git status --short ../file; echo x > ../file; true\n")
    _report, lines, _notes = run_in(part, "sh look.sh", sandbox=layer_of_run)
    assert lines[0] == "x", lines
    if layer_of_run != "off":
        assert git(nested.workspace, "status", "--short", "file") == ""


@pytest.mark.parametrize("layer", ["nonsense", "none"])
def test_a_layer_that_is_forced_and_missing(
    layer: str, nested: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A layer that does not work is an error, and never a run with less confinement."""
    monkeypatch.setenv("CLADA_SANDBOX_LAYER", layer)
    report, _lines, _notes = run_in(nested.workspace, "touch-nothing")
    error = report.tasks[0].error
    assert error
    assert (error.type, error.message) == (
        "command_not_allowed",
        f"CLADA_SANDBOX_LAYER asks for {layer}, which is not a layer that works here",
    )


@only_landlock
def test_landlock_alone_says_so(nested: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last resort is named as such in the report, once."""
    monkeypatch.setenv("CLADA_SANDBOX_LAYER", "landlock")
    _report, _lines, notes = run_in(nested.workspace, "true --x", "sh -c true", "sh -c true")
    assert notes.count(launch.LANDLOCK_ALONE) == 1


@only_bubblewrap
def test_bubblewrap_has_nothing_to_say(nested: Place) -> None:
    """Where mounts protect what must be, no note is made."""
    assert run_in(nested.workspace, "sh -c true")[2] == []


SURVIVOR = """
import ctypes, os, resource, signal, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 99)
        for _ in range(99):  # again and again, for a while
            time.sleep(0.05)
            try:
                os.makedirs(".clada", exist_ok=True)
                open(".clada/allowed-commands.json", "w").write("survived")
            except OSError:
                pass
    os._exit(0)
for pid in (os.getppid(), 1):
    try:
        resource.prlimit(pid, resource.RLIMIT_CPU, (0, 0))
    except OSError:
        pass
print("started", flush=True)
ctypes.CDLL(None).ptrace(0, 0, None, None)
os.kill(os.getpid(), signal.SIGSTOP)
"""


@layers
def test_no_survivor_approves_a_command(layer: str, place: Place) -> None:
    """A command that attacks its supervisor is ended with all that it started, before what is put back."""
    before = place.state()
    program = ("/usr/bin/python3", "-I", "-S", "-c", SURVIVOR)
    try:
        ended = place.run(*program, layer=layer, timeout=1.5).ended
        assert ended.exit_code == 137
        assert ended.timed_out or layer != "landlock"
    except CladaError as trouble:  # the first process ran just when the clock ticked: it has no time left
        if "supervised the command was killed" not in str(trouble):
            raise
    time.sleep(0.5)  # ten times as long as it takes a survivor
    assert place.state() == before
