"""The clipboard, by the programs that a desktop has for it."""

from __future__ import annotations

import os
from codecs import BOM_UTF8

from clada.errors import Trouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# PowerShell prints in the code page of the console, which has few letters, unless it is told otherwise.
GET = "[Console]::OutputEncoding = [Text.Encoding]::UTF8; Get-Clipboard -Raw"
# What copies to and pastes from the clipboard: the variable without which it cannot work, both commands, and
# the encoding of what is copied; what is pasted is UTF-8. They are tried in this order: Wayland, X, macOS,
# Windows around WSL.
PROGRAMS = (
    ("WAYLAND_DISPLAY", ("wl-copy",), ("wl-paste", "--no-newline"), "utf-8"),
    ("DISPLAY", ("xclip", "-selection", "clipboard"), ("xclip", "-selection", "clipboard", "-o"), "utf-8"),
    ("DISPLAY", ("xsel", "--clipboard", "--input"), ("xsel", "--clipboard", "--output"), "utf-8"),
    ("", ("pbcopy",), ("pbpaste",), "utf-8"),
    ("", ("clip.exe",), ("powershell.exe", "-NoProfile", "-Command", GET), "utf-16"),
)
HINT = "install wl-clipboard (Wayland) or xclip (X)"
LONG = 10  # seconds that a clipboard may take
SHORT = 1  # seconds until what was copied is there; another program may have copied meanwhile


def copy(text: str) -> None:
    """Put a text on the clipboard."""
    import subprocess

    argv, _, encoding = _programs()
    data = text.encode(encoding, "replace")
    # xclip stays, to hand the text out: it must not keep our output open.
    _call(argv, data, subprocess.DEVNULL, "copy")
    if argv[0] == "xclip":
        _wait_for(data)


def _wait_for(data: bytes) -> None:
    """Wait until the clipboard has this: xclip returns before it has asked for the clipboard."""
    from time import monotonic, sleep

    until = monotonic() + SHORT
    while not _has(data) and monotonic() < until:
        sleep(0.01)


def _has(data: bytes) -> bool:
    try:
        return paste() == data
    except Trouble:  # as long as nothing has ever been copied
        return False


def paste() -> bytes:
    """Return what is on the clipboard."""
    import subprocess

    return _call(_programs()[1], b"", subprocess.PIPE, "paste").removeprefix(BOM_UTF8)


def check() -> None:
    """Raise where there is no clipboard."""
    _programs()


def _call(argv: Sequence[str], data: bytes, output: int, what: str) -> bytes:
    import subprocess

    try:
        done = subprocess.run(  # noqa: S603 (one of the programs above)
            argv, input=data, stdout=output, stderr=output, timeout=LONG, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Trouble("io_error", f"{argv[0]} could not {what}: {error}", HINT) from None
    if done.returncode:
        words = (done.stderr or b"").decode(errors="replace").strip() or f"exit code {done.returncode}"
        raise Trouble("io_error", f"{argv[0]} could not {what}: {words}", HINT)
    return done.stdout or b""


def _programs() -> tuple[Sequence[str], Sequence[str], str]:
    """Return the commands of this desktop, and their encoding."""
    from shutil import which

    for variable, copying, pasting, encoding in PROGRAMS:
        if (not variable or os.environ.get(variable)) and which(copying[0]) and which(pasting[0]):
            return copying, pasting, encoding
    display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    lacking = "no program for it is installed" if display else "there is no display"
    raise Trouble("io_error", f"no clipboard: {lacking}", HINT)
