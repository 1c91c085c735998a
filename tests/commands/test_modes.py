"""Modes mean what they mean to the real chmod and mkdir."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from clada.commands.modes import read_mode

if TYPE_CHECKING:
    from pathlib import Path

UMASK = 0o027
TEXTS = """
    755 0644 000 7 +x -x +rw u+x g-w o=r a=rx u+x,g-x,o=w ug=rw u=rwX go= +X -w u+rw-x g=u o=g u-w,g=u go=u
    =rx u=g,o=u ugo-rwx a+X u= + - = uu+x a-x,u+x =
""".split()
OLD_MODES = [0o000, 0o644, 0o755, 0o700, 0o641, 0o777]


@pytest.mark.parametrize("text", TEXTS)
def test_applying_a_mode_gives_what_chmod_gives(text: str, tmp_path: Path) -> None:
    """On files and directories, from many old modes, under a umask."""
    places = []
    for old in OLD_MODES:
        for directory in (False, True):
            place = tmp_path / f"{old:o}-{directory}"
            place.mkdir() if directory else place.touch()
            os.chmod(place, old)
            places.append((place, old, directory))
    names = [str(place) for place, _old, _directory in places]
    subprocess.run(
        ["chmod", "--", text, *names], umask=UMASK, check=False, stderr=subprocess.DEVNULL
    )  # it complains where the umask keeps `-w` from removing all
    mode = read_mode(text)
    assert mode is not None
    for place, old, directory in places:
        expected = place.stat().st_mode & 0o777
        assert mode.apply(old, directory=directory, umask=UMASK) == expected, (f"{old:o}", directory)


@pytest.mark.parametrize("text", ["755", "0700", "u=rwx,go=", "+x", "-w", "go-rwx", "a=rx", "=rw"])
def test_a_new_directory_has_the_mode_that_mkdir_gives_it(text: str, tmp_path: Path) -> None:
    """A symbolic mode starts from all permissions."""
    place = tmp_path / "made"
    subprocess.run(["mkdir", f"--mode={text}", str(place)], umask=UMASK, check=True)
    mode = read_mode(text)
    assert mode is not None
    assert mode.apply(0o777, directory=True, umask=UMASK) == place.stat().st_mode & 0o777


@pytest.mark.parametrize(
    "text", ["", "8", "99999", "10000", "x", "u", "u+q", "u+x,", ",u+x", "u+xg", "+ugo", "é", "u x", "²"]
)
def test_what_is_no_mode_is_not_read(text: str) -> None:
    """Digits beyond octal, letters that mean nothing, clauses without a sign."""
    assert read_mode(text) is None


@pytest.mark.parametrize(
    "text", ["4755", "2755", "1777", "7777", "u+s", "g+s", "+t", "a=rwxs", "u-s", "g=rwx,o+t"]
)
def test_special_bits_are_noticed(text: str) -> None:
    """Setuid, setgid and sticky, as numbers and as letters."""
    mode = read_mode(text)
    assert mode is not None
    assert mode.special


@pytest.mark.parametrize("text", TEXTS)
def test_ordinary_modes_are_not_special(text: str) -> None:
    """What is neither setuid, setgid nor sticky needs no approval."""
    mode = read_mode(text)
    assert mode is not None
    assert not mode.special
