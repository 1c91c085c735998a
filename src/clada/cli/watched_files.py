"""Answers that are saved as files, one after the other, for `clada watch FILE` or DIR."""

from __future__ import annotations

import os
import time
from fnmatch import fnmatchcase
from shlex import quote
from stat import S_ISREG
from tempfile import mkstemp

from clada.errors import CladaError, UsageError, reason
from clada.grammar import MAX_INPUT
from clada.report.llm import is_report
from clada.world.files.stat import Stamp
from clada.world.locks import try_flock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    Signature = tuple[int, ...]

TICK = 100  # milliseconds between two looks at the keyboard
LOOK = 10  # ticks after which we look, though nothing was told
SAVED = 2  # where a signature has the time of the last save
REPORT = ".report.md"
# What editors and browsers make beside a file: backups, automatic saves, locks, downloads under way, origins.
SCRATCH = """
    .* *~ #*# ~$* *.sw? *.tmp *.bak *.orig *.save *.autosave *___jb_*___ 4913
    *.part *.crdownload *.download *:Zone.Identifier
""".split()
ANSWER = ".md"  # what is cut off the name of an answer for that of its report
HINT = "pip install 'clada[watch]'"


class WatchedFiles:
    """The files at a place that were saved since we began to look, each once it is unchanged for a while.

    Two of them exclude each other in one directory, in all processes.
    """

    def __init__(self, place: str, workspace: str, settle: float) -> None:
        self.place, self._settle = place, settle
        is_directory = os.path.isdir(place)
        self._parent = place if is_directory else os.path.dirname(place)
        self._directory = self._parent or "."
        self._single = None if is_directory else os.path.basename(place)
        if not os.path.isdir(self._directory):
            raise UsageError(
                f"{place}: there is no directory {self._directory}", f"mkdir -p {quote(self._directory)}"
            )
        real = os.path.realpath(workspace)
        if is_directory and os.path.commonpath([os.path.realpath(place), real]) == os.path.realpath(place):
            raise UsageError(f"{place} contains the workspace: watch a file in it", "clada watch answer.md")
        if place.endswith(REPORT):
            raise UsageError(f"{place} is the name of a report, not of an answer", "clada watch answer.md")
        self._lock = self._locked()
        self._known = self.signatures()
        self._waiting: dict[str, tuple[Signature, float]] = {}  # since when they are as they are

    def _locked(self) -> int:
        """Return a handle that keeps the lock of the directory for as long as it is open."""
        handle = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if try_flock(handle):
            return handle
        os.close(handle)
        message = f"another clada watch is watching {self._directory}: end it, or watch another directory"
        raise CladaError("io_error", message, "clada watch ~/Downloads")

    def close(self) -> None:
        """Let others watch this place."""
        os.close(self._lock)

    def ticks(self) -> Iterator[list[str]]:
        """Yield the files that are new, or were saved again, and are left alone by now; often none.

        They are in the order in which they were saved.
        """
        ticks = _load()(
            self._directory,
            watch_filter=None,
            step=50,
            debounce=TICK,
            rust_timeout=TICK,
            yield_on_timeout=True,
            recursive=False,
        )
        try:
            for number, changes in enumerate(ticks):
                if not os.path.isdir(self._directory):
                    break
                # Not all file systems tell of every change, and none of those from before it was asked to.
                yield self._settled() if changes or self._waiting or number % LOOK == 0 else []
        except FileNotFoundError:
            pass
        raise CladaError("io_error", f"{self._directory} was removed", f"mkdir -p {quote(self._directory)}")

    @property
    def uncommitted(self) -> list[str]:
        """What no commit is to have: a directory with all in it, or an answer and the report on it."""
        return [self.place, report_path(self.place)] if self._single else [self._directory]

    def take(self, path: str) -> None:
        """Attend to a file as it was when we looked; what is saved since then comes by itself."""
        self._known[path] = self._waiting.pop(path)[0]

    def leave(self, paths: Sequence[str]) -> None:
        """Take files as they are now for such that are no answers."""
        real = set(map(os.path.realpath, paths))
        self._known |= {
            path: found for path, found in self.signatures().items() if os.path.realpath(path) in real
        }

    def leave_changed(self, before: dict[str, Signature]) -> list[str]:
        """Take files that have changed since then for such that are no answers; return them."""
        now = self.signatures()
        changed = [path for path, signature in now.items() if before.get(path) != signature]
        self._known |= {path: now[path] for path in changed}
        return sorted(changed)

    def _settled(self) -> list[str]:
        now, found = time.monotonic(), self.signatures()
        for path, signature in found.items():
            if self._known.get(path) != signature and self._waiting.get(path, ((), 0))[0] != signature:
                self._waiting[path] = (signature, now)
        self._waiting = {
            path: since
            for path, since in self._waiting.items()
            if path in found and self._known.get(path) != found[path]
        }
        settled = [path for path, (_signature, since) in self._waiting.items() if now - since >= self._settle]
        return sorted(settled, key=lambda path: (found[path][SAVED], path))

    def signatures(self) -> dict[str, Signature]:
        """Return the files that may be answers, each with what changes when it is saved."""
        found: dict[str, Signature] = {}
        try:
            names = [self._single] if self._single else os.listdir(self._directory)
        except OSError:
            return {}
        for name in names:
            if self._single or not _is_scratch(name):
                path = os.path.join(self._parent, name)
                try:
                    status = os.stat(path)
                except OSError:
                    continue  # it is not there yet, or no longer
                if S_ISREG(status.st_mode):
                    found[path] = Stamp.of(status).content
        return found


def _is_scratch(name: str) -> bool:
    """Whether a name is none of an answer's: of a report, or of what programs leave beside their files."""
    return any(fnmatchcase(name, pattern) for pattern in (*SCRATCH, f"*{REPORT}"))


def read(path: str) -> bytes:
    """Return what is in a file, but no more than it takes to see that it is too much."""
    try:
        with open(path, "rb") as file:
            return file.read(MAX_INPUT + 1)
    except OSError as error:
        raise CladaError("io_error", f"{path}: {reason(error)}", f"ls -l {quote(path)}") from None


def _is_file(path: str) -> bool:
    """Whether a path leads to a regular file: to read a pipe or a device may never end."""
    try:
        return S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False


def report_path(path: str) -> str:
    """Return where the report on an answer goes: beside it, under a name of its own."""
    return f"{path.removesuffix(ANSWER)}{REPORT}"


def write_report(path: str, text: str) -> None:
    """Put a report where one of ours may be, and nothing else."""
    try:
        if os.path.lexists(path) and not (_is_file(path) and is_report(read(path).decode(errors="replace"))):
            hint = f"mv {quote(path)} {quote(f'{path}.old')}"
            raise CladaError("io_error", f"{path} is not a report of clada and is not overwritten", hint)
        handle, aside = mkstemp(".tmp", ".clada-", os.path.dirname(path) or ".")
        try:
            with open(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
            os.replace(aside, path)
        except OSError:
            os.unlink(aside)
            raise
    except OSError as error:
        raise CladaError("io_error", f"{path}: {reason(error)}", f"ls -l {quote(path)}") from None


def _load() -> Any:
    try:
        from watchfiles import watch
    except ImportError:
        raise CladaError("io_error", "clada watch needs watchfiles", HINT) from None
    return watch
