"""A parent directory is swapped for a link to outside, and back, as fast as it goes: nothing ever escapes."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import picture

from clada.model import Failed
from clada.world.files.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conftest import Attempt, Place

TRIES = 40_000

# Exchanges the two names for good, so that there is never a moment without either.
SWAPPER = """
import ctypes, os
exchange = ctypes.CDLL(None).renameat2
one, two = os.fsencode("folder"), os.fsencode("aside")
assert exchange(-100, one, -100, two, 2) == 0, "no exchange of names here"
print("swapping", flush=True)
parent = os.getppid()
while os.getppid() == parent:
    for pause in range(1000):
        exchange(-100, one, -100, two, 2)  # now it is the directory
        for _ in range(pause):
            pass
        exchange(-100, one, -100, two, 2)  # now it is the link
"""
OPERATIONS: list[tuple[str, dict[str, Any]]] = [
    ("write", {"path": "folder/file", "content": "new {}"}),
    ("write", {"path": "folder/new{}", "content": "x"}),
    ("write", {"path": "folder/file", "content": "old", "append": True}),
    ("edit", {"path": "folder/file", "search": "old", "replace": "new old", "count": "all"}),
    ("write", {"path": "folder/sub/deep/{}/file", "content": "x"}),
    ("remove", {"path": "folder/new{}"}),
    ("move", {"source": "plain", "to": "folder/plain"}),
    ("move", {"source": "folder/plain", "to": "plain"}),
    ("remove", {"path": "folder/sub"}),
    ("remove", {"path": "folder/file"}),
]


@pytest.fixture
def swapped(place: Place) -> Iterator[Place]:
    """Set up a directory and a link of the same shape, and a process that swaps them."""
    for top in (place.inside / "folder", place.outside):
        (top / "sub").mkdir(parents=True)
        (top / "sub/keep").write_text("old")
        (top / "file").write_text("old")
    place.write("plain", "plain")
    (place.outside / "new1").write_text("old")
    (place.inside / "aside").symlink_to(place.outside)
    swapper = subprocess.Popen(
        [sys.executable, "-c", SWAPPER], cwd=place.inside, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert swapper.stdout
    assert swapper.stderr
    if swapper.stdout.readline() != b"swapping\n":
        pytest.skip(f"names cannot be exchanged here: {swapper.stderr.read().decode()[-60:]}")
    yield place
    swapper.kill()
    swapper.communicate()


@pytest.mark.slow
def test_nothing_escapes_by_a_parent_that_becomes_a_link(swapped: Place, attempt: Attempt) -> None:
    """Every kind of change meets the directory or is refused at the link; both do happen."""
    before = picture(swapped.outside)
    ends: Counter[str] = Counter()
    with Workspace(str(swapped.inside)) as files:
        for number, (name, fields) in zip(range(TRIES), itertools.cycle(OPERATIONS), strict=False):
            files.forget()  # each try walks anew, as in a run of its own
            filled = {
                key: value.format(number % 5) if isinstance(value, str) else value
                for key, value in fields.items()
            }
            outcome = attempt(files, name, **filled)
            ends[outcome.error.type if isinstance(outcome, Failed) else "done"] += 1
    assert picture(swapped.outside) == before
    assert ends["done"], ends
    assert ends["symlink_not_allowed"], ends
