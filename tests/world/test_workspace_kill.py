"""kill -9 at any moment: each file has its old or its new content, and the next run leaves nothing behind."""

from __future__ import annotations

import random
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest

from clada.world.files.atomic import NAMELESS
from clada.world.files.scratch import LEFTOVER

if TYPE_CHECKING:
    from tests.conftest import Place

RUNS = 60
FILES = 4
VERSIONS = {letter: f"{letter * 79}\n" * 1000 for letter in "abc"}


def _document() -> str:
    """Return a document that keeps writing and editing the same files, from one version to the next."""
    return "".join(
        f'<---WRITE file="file{number}"--->\n{VERSIONS[version]}\n<---END--->\n'
        for version in "bcab" * 10
        for number in range(FILES)
    )


def _killed_run(place: Place, document: bytes, after: int) -> bool:
    """Start a run, kill it after so many status lines, and return whether it was still at work."""
    run = subprocess.Popen(
        [sys.executable, "-m", "clada", "--no-git", "-"],
        cwd=place.inside,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert run.stdin
    assert run.stdout
    run.stdin.write(document)
    run.stdin.close()
    for _ in range(after):
        run.stdout.readline()
    run.kill()
    run.stdout.close()
    return run.wait() < 0


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_kill_leaves_the_old_or_the_new_content(place: Place) -> None:
    """Never a mix; and a later run clears what may be left of a file that was being written."""
    chance = random.Random(3)
    document = _document().encode()
    for number in range(FILES):
        place.write(f"file{number}", VERSIONS["a"])
    whole = {content.encode() for content in VERSIONS.values()}
    killed = tries = 0
    while tries < RUNS or killed <= RUNS / 4:  # on a busy machine, a run can be over before it is killed
        tries += 1
        assert tries < 20 * RUNS, "most runs were over before they were killed"
        killed += _killed_run(place, document, chance.randrange(1, 20))
        for number in range(FILES):
            assert (place.inside / f"file{number}").read_bytes() in whole
    assert place.clada('<---WRITE file="file0"--->\n<---END--->\n').returncode == 0
    assert sorted(path.name for path in place.inside.iterdir()) == [f"file{n}" for n in range(FILES)]


DYING = """
import os, signal, sys
from clada.world import libc
from clada.world.files import atomic
from clada.world.files.workspace import Workspace

atomic.NAMELESS = atomic.NAMELESS if {nameless} else 0
{call} = lambda *arguments, **options: os.kill(os.getpid(), signal.SIGKILL)
Workspace(".").store(("file",), b"new")
"""


@pytest.mark.parametrize(
    ("nameless", "call", "left"),
    [
        (True, "os.write", 0),
        (True, "os.fchmod", 0),
        (True, "os.link", 0),
        (True, "libc.renameat2", 0),  # between the link that gives it a name elsewhere and the rename
        (False, "os.write", 1),
        (False, "libc.renameat2", 1),
    ],
)
def test_what_is_left_at_the_worst_moment_is_cleared(
    place: Place, monkeypatch: pytest.MonkeyPatch, nameless: bool, call: str, left: int
) -> None:
    """Killed at each of its steps, a run leaves the old file; one more only where all files have names."""
    if nameless and not NAMELESS:
        pytest.skip("this system has no files without a name")
    # Scratch files are outside of the workspace only if that is on the same file system.
    monkeypatch.setenv("XDG_STATE_HOME", str(place.top / "state"))
    place.write("file", "old").chmod(0o666)  # which the umask gives to no new file
    script = textwrap.dedent(DYING).format(nameless=nameless, call=call)
    died = subprocess.run([sys.executable, "-c", script], cwd=place.inside, check=False)
    assert died.returncode < 0
    assert (place.inside / "file").read_text() == "old"
    assert sum(path.name.startswith(LEFTOVER) for path in place.inside.iterdir()) == left
    assert place.clada('<---WRITE file="other"--->\n<---END--->\n').returncode == 0
    assert {path.name for path in place.inside.iterdir()} == {"file", "other"}
