"""What small jobs of one worker are about to change in place: one behind the other, in two files by turns.

    [number, "id", size]
    what a file of the job's own would hold (see kept.py), in so many bytes

To make a file for each job, and to remove it, takes as long as a small edit. What is shorter than it says was
torn by a kill: nothing was changed by then. When a worker has died, and when a batch ends or goes on, what
has no result gets a file of its own, by which it is put back like all others.
"""

from __future__ import annotations

import json
import os

from clada.batch import kept, workspaces
from clada.errors import CladaError
from clada.world import handles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

PREFIX = "worker-"  # of the names of journals
LARGE = 1 << 16  # bytes that are kept of a job in a file of its own: here they would stay for a while
_FLAGS = kept.NEW | os.O_APPEND


def path_of(worker: int, work: str) -> str:
    """Return where the journal of a worker is, without the endings of its files."""
    return f"{work}/{workspaces.BEGUN}/{PREFIX}{worker}"


class KeptJournal:
    """The journal of one worker, which is alone to write it."""

    def __init__(self, path: str, most: int) -> None:
        """Take its path, and how many jobs at most have been begun and have no result yet.

        So once one file has taken as many, all jobs in the other have their results, and it is begun anew.
        """
        self.last = -1  # the number of the last job that is in it
        self._path, self._most = path, most
        self._files: list[int] = []  # the last is written to
        self._room = self._size = 0  # jobs that may follow there, and bytes that it has

    def add(self, number: int, id_: str, data: bytes) -> None:
        """Keep what a job is about to change."""
        if not self._room:
            self._turn()
        self._room -= 1
        record = json.dumps([number, id_, len(data)]).encode() + b"\n" + data
        try:
            handles.write(self._files[-1], record)
        except OSError:
            os.ftruncate(self._files[-1], self._size)  # so that those which follow are found
            raise
        self._size += len(record)
        self.last = number

    def _turn(self) -> None:
        """Go over to the other file."""
        if len(self._files) <= 1:
            self._files.append(os.open(f"{self._path}.{len(self._files)}", _FLAGS, 0o600))
        else:
            os.ftruncate(self._files[0], 0)
            self._files.reverse()
        self._room, self._size = self._most, 0


def unpack(work: str, wanted: Callable[[int, str], bool], prefix: str = PREFIX) -> None:
    """Give each job of journals that is wanted, by its number and id, a file of its own; remove the journals.

    They are no longer written. To begin again, after an interruption or a CladaError,
    leads to the same.
    """
    for name in workspaces.begun_names(work):
        if name.startswith(prefix):
            _unpack(f"{work}/{workspaces.BEGUN}/{name}", work, wanted)


def _unpack(path: str, work: str, wanted: Callable[[int, str], bool]) -> None:
    with open(path, "rb") as file:
        while (head := file.readline()).endswith(b"\n"):
            number, id_, size = json.loads(head)
            data = file.read(size)
            if len(data) == size and wanted(number, id_):
                _write(f"{workspaces.begun_of(number, id_, work)}{workspaces.FILES}", data)
    os.unlink(path)


def _write(own: str, data: bytes) -> None:
    try:
        kept.write(own, data, kept.REPLACE)  # it is there already where this was cut short
    except OSError as error:
        message = f"{own} cannot be written: {(error.strerror or str(error)).lower()}"
        raise CladaError("io_error", message, "make room, and go on with --resume") from None
