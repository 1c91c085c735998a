"""A reader that loses a race against another process still sees nothing outside."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from clada.world.sandbox.landlock import has_landlock

if TYPE_CHECKING:
    from tests.locked.conftest import Place

from tests.locked.conftest import SECRET

pytestmark = pytest.mark.skipif(not has_landlock(), reason="Landlock does not work on this machine")

TRIES = 60
# Exchanges a folder and a link that leads out, as fast as it can.
SWAPPING = """
import ctypes, sys
libc = ctypes.CDLL(None)
print("ready", flush=True)
while True:
    libc.renameat2(-100, b"folder", -100, b"link", 2)
"""
READERS = (
    "cat folder/secret",
    "grep -r what folder",
    "git diff HEAD -- folder/secret",
    "head -n1 folder/secret",
)


@pytest.mark.sample(2)
@pytest.mark.parametrize("reader", READERS)
def test_a_folder_swapped_for_a_link(place: Place, reader: str) -> None:
    place.write("folder/secret", "inside\n")
    place.commit()
    place.write("folder/secret", "changed inside\n")
    (place.inside / "link").symlink_to(place.outside)
    place.give()
    argv = [*place.user, sys.executable, "-c", SWAPPING]
    swapping = subprocess.Popen(argv, cwd=place.inside, stdout=subprocess.PIPE)
    try:
        assert swapping.stdout
        swapping.stdout.readline()
        done = place.clada(*[reader] * TRIES)
    finally:
        swapping.kill()
        swapping.communicate()
    assert len(done.tasks) == TRIES
    assert SECRET not in done.text
