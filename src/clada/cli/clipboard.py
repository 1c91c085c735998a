"""The clipboard, by the programs that a desktop has for it."""

from __future__ import annotations

import os
import subprocess
from codecs import BOM_UTF8
from contextlib import suppress
from select import select
from shutil import which
from time import monotonic, sleep

from clada.errors import CladaError
from clada.grammar import MAX_INPUT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import IO

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
HINT = "install wl-clipboard (Wayland) or xclip (X); without one:\n"
FROM_FILE = "clada FILE"
CHUNK = 1 << 20
MOST_WORDS = 4096  # bytes of an error message that are read
LONG = 10  # seconds that a clipboard may take
SHORT = 1  # seconds until what was copied is there; another program may have copied meanwhile


def copy(text: str, instead: str = "clada report") -> None:
    """Put a text on the clipboard; where that fails, the error names a command to use instead."""
    argv, _, encoding = _programs(instead)
    data = text.encode(encoding, "replace")
    # xclip stays, to hand the text out: it must not keep our output open.
    quiet = subprocess.DEVNULL
    try:
        done = subprocess.run(  # noqa: S603 (one of the programs above)
            argv, input=data, stdout=quiet, stderr=quiet, timeout=LONG, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CladaError("io_error", f"{argv[0]} could not copy: {error}", HINT + instead) from None
    _refuse_failure(argv[0], "copy", done.returncode, instead)
    until = monotonic() + SHORT
    while argv[0] == "xclip" and monotonic() < until:  # it returns before it has asked for the clipboard
        with suppress(CladaError):  # as long as nothing has ever been copied
            if paste() == data:
                break
        sleep(0.01)


def paste() -> bytes:
    """Return what is on the clipboard; of more than a document may have, no more than shows that."""
    argv = _programs()[1]
    try:
        with subprocess.Popen(  # noqa: S603 (one of the programs above)
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as helper:
            try:
                data = _read_bounded(helper.stdout, MAX_INPUT + 1)
                if len(data) > MAX_INPUT:
                    return data
                words = _read_bounded(helper.stderr, MOST_WORDS)
                helper.wait(LONG)
            finally:
                helper.kill()  # its remaining output is not needed
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CladaError("io_error", f"{argv[0]} could not paste: {error}", HINT + FROM_FILE) from None
    _refuse_failure(argv[0], "paste", helper.returncode, FROM_FILE, words)
    return data.removeprefix(BOM_UTF8)


def _read_bounded(pipe: IO[bytes] | None, most: int) -> bytes:
    """Read a pipe to its end, but no more than so many bytes, and no longer than a clipboard may take."""
    handle, until, pieces, size = pipe.fileno() if pipe else -1, monotonic() + LONG, [b""], 0
    while size < most:
        left = until - monotonic()
        if left <= 0 or not select([handle], [], [], left)[0]:
            raise TimeoutError(f"it takes more than {LONG} seconds")
        pieces.append(os.read(handle, min(CHUNK, most - size)))
        size += len(pieces[-1])
        if not pieces[-1]:
            break
    return b"".join(pieces)


def is_available() -> bool:
    """Return whether there is a clipboard."""
    try:
        _programs()
    except CladaError:
        return False
    return True


def _refuse_failure(program: str, what: str, exit_code: int, instead: str, words: bytes = b"") -> None:
    if exit_code:
        why = words.decode(errors="replace").strip() or f"exit code {exit_code}"
        raise CladaError("io_error", f"{program} could not {what}: {why}", HINT + instead)


def _programs(instead: str = FROM_FILE) -> tuple[Sequence[str], Sequence[str], str]:
    """Return the commands of this desktop, and their encoding."""
    for variable, copying, pasting, encoding in PROGRAMS:
        if (not variable or os.environ.get(variable)) and which(copying[0]) and which(pasting[0]):
            return copying, pasting, encoding
    display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if not display:
        raise CladaError("io_error", "no clipboard: there is no display", instead)
    raise CladaError("io_error", "no clipboard: no program for it is installed", HINT + instead)


UNREACHABLE = ("display", "connect")  # words in the messages of programs that find no desktop
INTERVAL = 0.5  # seconds between two checks of the clipboard


class ClipboardWatch:
    """The texts that are copied from now on, for `clada watch --clipboard`."""

    def __init__(self) -> None:
        _programs()  # raises where there is no clipboard
        self._known = _copied_text()

    def ticks(self) -> Iterator[bytes]:
        """Yield the copied text if it is new, else nothing."""
        while True:
            sleep(INTERVAL)
            text = _copied_text()
            yield b"" if text == self._known else text
            self._known = text


def _copied_text() -> bytes:
    try:
        return paste()
    except CladaError as error:
        if any(word in error.error.message.lower() for word in UNREACHABLE):
            raise
        return b""  # nothing was copied, or a picture
