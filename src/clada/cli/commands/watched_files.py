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

    Signature = tuple[int, ...]

TICK = 100  # milliseconds between two checks of the keyboard
SCAN_EVERY = 10  # ticks after which files are checked even without an event
SAVED = 2  # index of the modification time in a signature
REPORT = ".report.md"
# Reports, and what editors and browsers make beside a file: backups, automatic saves, locks, downloads under
# way, origins.
NOT_ANSWERS = f"""
    *{REPORT} .* *~ #*# ~$* *.sw? *.tmp *.bak *.orig *.save *.autosave *___jb_*___ 4913
    *.part *.crdownload *.download *:Zone.Identifier
""".split()
ANSWER = ".md"  # suffix that the name of a report replaces
HINT = "pip install 'clada[watch]'"


class WatchedFiles:
    """The files that are saved at a path, each once it has been unchanged for a while.

    Only one process watches a directory at a time.
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
        self._lock = self._lock_directory()
        self._known = self.signatures()
        self._waiting: dict[str, tuple[Signature, float]] = {}  # since when they are as they are

    def _lock_directory(self) -> int:
        """Lock the directory; the lock lasts as long as the returned handle is open."""
        handle = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if try_flock(handle):
            return handle
        os.close(handle)
        message = f"another clada watch is watching {self._directory}: end it, or watch another directory"
        raise CladaError("io_error", message, "clada watch ~/Downloads")

    def close(self) -> None:
        """Let other processes watch this directory."""
        os.close(self._lock)

    def ticks(self) -> Iterator[list[str]]:
        """Yield the files that were saved and have not changed since, in the order of saving; often none."""
        try:
            from watchfiles import watch
        except ImportError:
            raise CladaError("io_error", "clada watch needs watchfiles", HINT) from None
        ticks = watch(
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
                # Not all file systems report every change, and none reports earlier ones.
                yield self._find_settled() if changes or self._waiting or number % SCAN_EVERY == 0 else []
        except FileNotFoundError:
            pass
        raise CladaError("io_error", f"{self._directory} was removed", f"mkdir -p {quote(self._directory)}")

    @property
    def uncommitted(self) -> list[str]:
        """Paths to keep out of commits: the directory, or the answer and its report."""
        return [self.place, report_path(self.place)] if self._single else [self._directory]

    def take(self, path: str) -> None:
        """Note that this version of a file was handled; a later one is yielded again."""
        self._known[path] = self._waiting.pop(path)[0]

    def leave(self, paths: Sequence[str]) -> None:
        """Do not take these files for answers until they change again."""
        real = set(map(os.path.realpath, paths))
        self._known |= {
            path: found for path, found in self.signatures().items() if os.path.realpath(path) in real
        }

    def leave_changed(self, before: dict[str, Signature]) -> list[str]:
        """Do not take files that have changed since then for answers; return them."""
        now = self.signatures()
        changed = [path for path, signature in now.items() if before.get(path) != signature]
        self._known |= {path: now[path] for path in changed}
        return sorted(changed)

    def _find_settled(self) -> list[str]:
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
        """Return the files that may be answers, each with values that change when it is saved."""
        found: dict[str, Signature] = {}
        try:
            names = [self._single] if self._single else os.listdir(self._directory)
        except OSError:
            return {}
        for name in names:
            if self._single or not any(fnmatchcase(name, pattern) for pattern in NOT_ANSWERS):
                path = os.path.join(self._parent, name)
                try:
                    status = os.stat(path)
                except OSError:
                    continue  # it is not there yet, or no longer
                if S_ISREG(status.st_mode):
                    found[path] = Stamp.of(status).content
        return found


def read(path: str) -> bytes:
    """Return the content of a file, at most one byte more than the limit of a document."""
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
    """Write a report; replace only an earlier report of clada."""
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
