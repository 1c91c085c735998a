"""Kills recorded runs at random moments: the repository stays sound, and no work is lost.

Before each run and each undo, the worker notes the tree, outside of it: after a kill, to undo that run, or to
bring that undo to its end, gives the tree that was noted; but for what a killed command may have changed.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tools.plain_git import FSCK

import clada
from clada.past import run_details
from clada.world.record.journal import read_journal

ROOT = Path(__file__).resolve().parents[3]
Tree = dict[str, tuple[int, bytes]]

STAGED = 0.3  # how often a user stages what there is
MOST_RUNS = 5  # before a kill
OURS = b"clada "  # how an index.lock of clada's own begins: the next run removes it
NAMES = (".env", "a", "b", "c/d", "c/e", "f/g/h", "i.log", "new\nline")

# Makes runs, by operations and by commands, and undoes some of them until it is killed.
WORKER = """
import json, os, pickle, random, sys
import clada
from clada.errors import CladaError
from tests.world.repository.kills import tree
root, seed, notes, names = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]
chance = random.Random(seed)
options = {"record": "commits", "workspace": root, "sandbox": "off", "approve_all": True, "again": True}
def task(number):
    name = chance.choice(names)
    content = f"run {seed} {number} {chance.random()}"
    if chance.random() < 0.3 and os.path.lexists(os.path.join(root, name)):
        return {"action": "remove", "path": name}
    if chance.random() < 0.3 and name in ("a", "b", ".env"):  # what commands do to ignored files is not kept
        script = f"echo {content} > {name}.temporary; mv {name}.temporary {name}"
        return {"action": "run", "command": f"sh -c '{script}'"}
    return {"action": "write", "path": name, "content": content}
clada.execute(json.dumps({"tasks": [task(0)]}), **options, dry_run=True)  # loads what runs need
last = max((run.number for run in clada.history(root)), default=0)
for number in range(1000):
    with open(notes, "ab", buffering=0) as file:
        file.write(pickle.dumps((last, tree(root))))
    print("next", flush=True)
    try:
        if chance.random() < 0.3:
            last = clada.undo(root).number
            continue
        tasks = [task(number) for _ in range(chance.randrange(4))]
        report = clada.execute(json.dumps({"tasks": tasks}), **options)
        assert report.error is None and report.fatal is None, (report.error, report.fatal)
        last = report.recorded or last
    except CladaError as trouble:
        if not trouble.error.message.startswith(("changed since", "run ", "no run")):
            raise
"""


def kills(rounds: int, seed: int = 0, worker: str = WORKER) -> list[str]:
    """Return what went wrong in so many kills; nothing, if all is well."""
    folder = Path(tempfile.mkdtemp(prefix="clada-kills-"))
    chance = random.Random(seed)
    try:
        _git(folder, "init", "-q")
        (folder / ".gitignore").write_text("*.log\n")
        found = [
            complaint for number in range(rounds) for complaint in _round(folder, number, chance, worker)
        ]
        return found + _unsound(folder)
    finally:
        shutil.rmtree(folder)


def _round(folder: Path, number: int, chance: random.Random, worker: str) -> list[str]:
    """Do a user's work, start runs, kill them, and look for the work."""
    _work(folder, number, chance)
    precious = _contents(folder)
    notes = folder.with_name(f"{folder.name}-notes")
    _kill_at_random(folder, number, chance, [worker, str(notes)])
    for lock in (folder / ".git").rglob("*.lock"):
        if not lock.read_bytes().startswith(OURS):
            lock.unlink()  # as the error message of the next run tells the user
    kept = {_blob(content) for content in (*_contents(folder).values(), *_journalled(folder))}
    kept |= _reachable(folder)
    lost = [path for path, content in precious.items() if _blob(content) not in kept]
    complaints = [f"round {number}: lost what was in {path!r}" for path in lost]
    complaints += [f"round {number}: {complaint}" for complaint in _not_as_noted(folder, notes)]
    notes.unlink()
    return complaints + (_unsound(folder) if number % 20 == 0 else [])


def _not_as_noted(folder: Path, notes: Path) -> list[str]:
    """Take back what the last run did, or bring the undo to its end; return what is not as it was noted."""
    noted = _noted(notes)
    if not noted:
        return []  # it was killed before its first run
    runs = clada.history(folder)
    run = runs[0] if runs and runs[0].number > noted[0][0] else None
    if run is None:  # none was begun
        return [] if tree(str(folder)) == noted[-1][1] else ["files were changed before the run was recorded"]
    first = run.undoes or run.number
    before = next((seen for last, seen in reversed(noted) if last < first), None)
    if before is None or (run.undoes and run.undoes <= noted[0][0]):
        return []  # it is of an earlier round, and the user has worked since
    if not run.undoes or run.ended != "ok":
        try:
            clada.undo(folder, None if run.undoes else run.number)
        except clada.CladaError as trouble:
            if not any(words in str(trouble) for words in ("changed nothing", "undone already")):
                return [f"run {run.number} cannot be undone: {trouble}"]
    now = tree(str(folder))
    # A command was killed, and undo names what that may have changed, and leaves it.
    left = {path for path, _before, _now in run_details(run.number, folder).suspects}
    names = sorted(name for name in now.keys() | before.keys() if now.get(name) != before.get(name))
    names = [name for name in names if name not in left]
    return [f"run {run.number}, {run.ended}: {names} is not as before"] if names else []


def _noted(notes: Path) -> list[tuple[int, Tree]]:
    """Return what the worker noted: the number of the last run, and the tree, before each that followed."""
    found = []
    with notes.open("a+b") as file:  # which may not be there
        file.seek(0)
        while file.peek(1):
            try:
                found.append(pickle.load(file))
            except (EOFError, pickle.UnpicklingError):
                break  # it was killed right then
    return found


def tree(folder: str) -> Tree:
    """Return mode and content of all files."""
    paths = [path for path in Path(folder).rglob("*") if path.is_file() and ".git" not in path.parts]
    return {str(path.relative_to(folder)): (path.stat().st_mode, path.read_bytes()) for path in paths}


def _work(folder: Path, number: int, chance: random.Random) -> None:
    """Edit, add, stage and remove some files, as a user would between runs."""
    for _ in range(chance.randrange(1, 4)):
        path = folder / chance.choice(NAMES)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"user {number} {chance.random()}")
        if chance.random() < STAGED:
            _git(folder, "add", "-A")


def _kill_at_random(folder: Path, number: int, chance: random.Random, script: list[str]) -> None:
    """Let it make a few runs, and kill it in the middle of the next: they take as long as the last ones."""
    argv = [sys.executable, "-c", script[0], str(folder), str(number), *script[1:], *NAMES]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as worker:
        assert worker.stdout is not None
        worker.stdout.readline()
        begun, runs = time.perf_counter(), chance.randrange(1, MOST_RUNS)
        for _ in range(runs):
            worker.stdout.readline()
        time.sleep(chance.random() * (time.perf_counter() - begun) / runs)
        children = _children(worker.pid) if number % 2 else []  # else git may finish what it is at
        for pid in (worker.pid, *children):
            _kill(pid)
        _, errors = worker.communicate()
        if b"Error" in errors or b"CladaError" in errors:
            raise SystemExit(errors.decode())
    _await_end(folder)


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _kill(pid: int) -> None:
    try:
        os.kill(pid, 9)
    except ProcessLookupError:
        return


def _await_end(folder: Path) -> None:
    """Wait for the git process or command that a killed run may have left: it is at work in the folder."""
    while any(_works_in(entry, folder) for entry in Path("/proc").iterdir() if entry.name.isdecimal()):
        time.sleep(0.005)


def _works_in(process: Path, folder: Path) -> bool:
    try:
        named = os.fsencode(folder) in (process / "cmdline").read_bytes()
        return process.name != str(os.getpid()) and (named or Path(os.readlink(process / "cwd")) == folder)
    except OSError:
        return False


def _contents(folder: Path) -> dict[str, bytes]:
    paths = [path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def _blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _journalled(folder: Path) -> list[bytes]:
    """Return what the journals of the runs have of the tree, and the looks before commands."""
    found = []
    for path in (folder / f".git/clada/{os.geteuid()}/runs").glob("*"):
        with read_journal(str(path)) as journal:
            found += [
                state.content
                for record in journal.records()
                if record.fields[0] == "before" and (state := journal.state(record))
            ]
    return found


def _reachable(folder: Path) -> set[str]:
    listed = _git(folder, "rev-list", "--objects", "--all")
    return {line.split(" ")[0] for line in listed.splitlines()}


def _unsound(folder: Path) -> list[str]:
    done = subprocess.run(
        ["git", "-C", folder, *FSCK],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = (done.stdout + done.stderr).splitlines()
    return [f"git fsck: {line}" for line in lines if not line.startswith("notice:")]


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, text=True, check=False)
    return done.stdout
