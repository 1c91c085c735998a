"""The clipboard: a real one, of a display without a screen; and which program is chosen by what is there."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.display import display as start_display
from tests.programs import needs, skip_without
from tests.waiting import eventually

from clada.cli import clipboard
from clada.errors import CladaError
from clada.grammar import MAX_INPUT

if TYPE_CHECKING:
    from collections.abc import Iterator

FAILING = '<---SEARCH file="café.txt"--->\nold — “text”\n<---REPLACE--->\nnew\n<---END--->\n'
READING = {"xclip": ["xclip", "-selection", "clipboard", "-o"], "xsel": ["xsel", "--clipboard", "--output"]}

# What stands for the programs of a desktop: each keeps what it copies under its own name.
COPYING = """#!/bin/sh
case "$*" in *-o*) exec /bin/cat "KEPT-${0##*/}" ;; esac
exec /bin/cat > "KEPT-${0##*/}"
"""
PASTING = "#!/bin/sh\nexec /bin/cat KEPT-{}\n"
# PowerShell prints the clipboard and a line end, in the old code page; or in UTF-8, with its mark.
POWERSHELL = """#!/bin/sh
case "$*" in *OutputEncoding*UTF8*) printf '\\357\\273\\277'; page=UTF-8 ;; *) page=CP850//TRANSLIT ;; esac
/usr/bin/iconv -f UTF-16 -t "$page" KEPT-clip.exe
printf '\\r\\n'
"""
STUBS = {
    "wl-paste": PASTING.format("wl-copy"),
    "pbpaste": PASTING.format("pbcopy"),
    "powershell.exe": POWERSHELL,
}


@pytest.fixture
def display(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Start an X server of our own, without a screen."""
    with start_display() as shown:
        monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
        monkeypatch.setenv("DISPLAY", shown.name)
        yield shown.name


def clada(workspace: Path, *arguments: str, document: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "clada", *arguments]
    return subprocess.run(
        command, cwd=workspace, input=document, capture_output=True, text=True, check=False, timeout=60
    )


def _read_by(program: str) -> str:
    return subprocess.run(READING[program], capture_output=True, check=True).stdout.decode()


@pytest.mark.parametrize("program", READING)
def test_a_report_is_on_the_clipboard(
    display: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    """Letter by letter, and it stays there after clada has ended."""
    skip_without(program)
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / program).symlink_to(str(shutil.which(program)))  # and no other
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    assert clada(workspace, "--record=snapshots", document=FAILING).returncode == 1
    report = clada(workspace, "report").stdout
    assert "café.txt" in report
    copied = clada(workspace, "report", "--copy")
    assert (copied.returncode, copied.stdout) == (0, "")
    assert copied.stderr == "clada: the report is on the clipboard\n"
    # A moment after it has ended in the foreground, xsel has it for others.
    assert eventually(lambda: _read_by(program) == report), _read_by(program)
    assert clipboard.paste().decode() == report
    assert display


def test_without_a_display_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CladaError, match="no clipboard: there is no display"):
        clipboard.copy("text")
    monkeypatch.setenv("DISPLAY", ":0")
    with pytest.raises(CladaError, match="no clipboard: no program for it is installed"):
        clipboard.copy("text")


ENDLESS = "#!/bin/sh\nprintf %s $$ > {}\nexec /bin/cat /dev/zero\n"


def _stubs(monkeypatch: pytest.MonkeyPatch, folder: Path, paste: str) -> None:
    for name, text in (("wl-copy", COPYING), ("wl-paste", paste)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("WAYLAND_DISPLAY", "x")


def test_a_clipboard_without_end_is_read_as_far_as_a_document_may_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And its program is ended."""
    _stubs(monkeypatch, tmp_path, ENDLESS.format(tmp_path / "pid"))
    assert len(clipboard.paste()) == MAX_INPUT + 1
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_clipboard_that_never_answers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _stubs(monkeypatch, tmp_path, "#!/bin/sh\nexec /bin/sleep 1000\n")
    monkeypatch.setattr(clipboard, "LONG", 0.2)
    with pytest.raises(CladaError, match="wl-paste could not paste: it takes more than"):
        clipboard.paste()


def test_why_a_clipboard_cannot_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _stubs(monkeypatch, tmp_path, "#!/bin/sh\necho no display >&2\nexit 3\n")
    with pytest.raises(CladaError, match="wl-paste could not paste: no display"):
        clipboard.paste()


@needs("xclip")
def test_a_display_that_is_gone_is_an_error_and_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", ":987")
    with pytest.raises(CladaError, match="xclip could not copy"):
        clipboard.copy("text")


@pytest.mark.parametrize(
    ("there", "variables", "chosen"),
    [
        (("wl-copy", "wl-paste", "xclip"), ("WAYLAND_DISPLAY", "DISPLAY"), "wl-copy"),
        (("wl-copy", "wl-paste", "xclip"), ("DISPLAY",), "xclip"),
        (("xsel",), ("WAYLAND_DISPLAY", "DISPLAY"), "xsel"),
        (("pbcopy", "pbpaste"), (), "pbcopy"),
        (("clip.exe", "powershell.exe"), (), "clip.exe"),
        (("xclip", "clip.exe", "powershell.exe"), (), "clip.exe"),
    ],
)
def test_the_program_is_chosen_by_what_is_there(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    there: tuple[str, ...],
    variables: tuple[str, ...],
    chosen: str,
) -> None:
    """By the programs in the path, and by the kind of display."""
    for name in there:
        (tmp_path / name).write_text(STUBS.get(name, COPYING).replace("KEPT", str(tmp_path / "got")))
        (tmp_path / name).chmod(0o755)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name in variables:
        monkeypatch.setenv(name, ":1")
    monkeypatch.setenv("PATH", str(tmp_path))
    clipboard.copy("é — “ü”\n")
    (got,) = tmp_path.glob("got-*")
    assert got.name == f"got-{chosen}"
    assert got.read_bytes().decode("utf-16" if chosen == "clip.exe" else "utf-8") == "é — “ü”\n"
    assert clipboard.paste().decode().rstrip("\r\n") == "é — “ü”"
