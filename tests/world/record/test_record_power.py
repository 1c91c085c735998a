"""A power cut: with `durable`, each file has its old or its new content, and the old one is in the record.

The workspace and the record are on an image of a disk. Cut off is what has not reached it: the run is
stopped, the image copied, and the copy mounted. That takes root, loop devices and mkfs.ext4.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.waiting import eventually
from tests.world.record.conftest import Recorded, write
from tests.world.repository.states import git

import clada
from clada.world.record.journal import Journal
from clada.world.record.store import find_store
from clada.world.record.tree_diff import RunChanges

if TYPE_CHECKING:
    from collections.abc import Iterator

CUTS = 12
FILES = 40
OLD = {f"old{number}.txt": f"old {number}\n" * 200 for number in range(FILES)}
TASKS: list[dict[str, Any]] = [
    *(write(name, f"new, {name}\n" * 300) for name in OLD if int(name[3:-4]) % 4 < 2),
    *({"action": "remove", "path": name} for name in OLD if int(name[3:-4]) % 4 == 2),
    *({"action": "move", "from": name, "to": f"moved/{name}"} for name in OLD if int(name[3:-4]) % 4 == 3),
]


def mount(image: Path, where: Path) -> None:
    """Mount an image; what only the mounted system has in memory comes to it late."""
    subprocess.run(["mount", "-o", "loop,commit=600", str(image), str(where)], check=True)


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Mount a small disk, with the record of runs on it, too."""
    if os.geteuid() != 0 or not shutil.which("mkfs.ext4") or not os.path.exists("/dev/loop-control"):
        pytest.skip("takes root, mkfs.ext4 and loop devices")
    image, where = tmp_path / "image", tmp_path / "disk"
    with open(image, "wb") as file:
        file.truncate(24 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True)
    where.mkdir()
    try:
        mount(image, where)
    except subprocess.CalledProcessError:
        pytest.skip("nothing can be mounted here")
    monkeypatch.setenv("XDG_STATE_HOME", str(where / "state"))
    yield where
    subprocess.run(["umount", "--lazy", str(where)], check=False, capture_output=True)


def stopped(process: int) -> bool:
    """Whether a process has stopped, and is in no call of the system any more."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] in "TZ"


def cut_at(process: int, image: Path, copy: Path) -> None:
    """Copy what has reached the disk at this moment."""
    os.kill(process, signal.SIGSTOP)
    assert eventually(lambda: stopped(process))
    shutil.copyfile(image, copy)
    os.kill(process, signal.SIGCONT)


@pytest.mark.slow
@pytest.mark.parametrize("where", ["no-repository", "repository"])
def test_after_a_power_cut_each_content_is_there(disk: Path, tmp_path: Path, where: str) -> None:
    """In the tree or in the record; and none is half."""
    place = Recorded(disk / "workspace")
    for name, content in OLD.items():
        place.write(name, content)
    if where == "repository":
        git(place.workspace, "init", "-q")
    os.sync()
    before = place.tree()
    chance, copies = random.Random(1), list[Path]()
    while len(copies) < CUTS:
        begin = time.monotonic()
        child = os.fork()
        if child == 0:
            place.attempt(*TASKS, durable=True)
            os._exit(0)
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            time.sleep(chance.random() * 0.1)
            copies.append(tmp_path / f"copy{len(copies)}")
            cut_at(child, tmp_path / "image", copies[-1])
        assert time.monotonic() > begin
        place.undo()
        os.sync()
    assert place.tree() == before
    subprocess.run(["umount", str(disk)], check=True)
    states = [after_cut(copy, place, disk) for copy in copies]
    assert {"killed", "changed"} <= {word for state in states for word in state}


@pytest.mark.slow
def test_the_proof_notices_a_record_that_has_not_reached_the_disk(
    disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without waiting for it, contents are lost."""
    monkeypatch.setattr(Journal, "sync", lambda _self: None)
    with pytest.raises(AssertionError):
        test_after_a_power_cut_each_content_is_there(disk, tmp_path, "no-repository")


def after_cut(copy: Path, place: Recorded, disk: Path) -> set[str]:
    """Look at what is there after a cut."""
    mount(copy, disk)
    try:
        runs = clada.history(str(place.workspace))
        store = find_store(str(place.workspace))
        tree = {path: shown[3] for path, shown in place.tree().items() if shown[0] == "-"}
        kept: set[bytes] = set()
        for run in runs:
            if os.path.exists(store.journal(run.number)):
                with RunChanges([store.journal(run.number)]) as changes:
                    kept |= {
                        changes.saved(path).content
                        for path in (*changes.unfinished, *(each.path for each in changes.paths))
                    }
        for name, content in OLD.items():
            found = tree.get(name, tree.get(f"moved/{name}"))
            assert found in {None, content.encode(), f"new, {name}\n".encode() * 300}
            assert found == content.encode() or content.encode() in kept
        words = {run.ended for run in runs[:1]}
        if any(tree.get(name) != content.encode() for name, content in OLD.items()):
            words.add("changed")
        return words
    finally:
        subprocess.run(["umount", str(disk)], check=True)
        copy.unlink()
