"""The byte journal of a run: one private file of records, each written before the change that it describes.

    clada journal 1
    CRC LENGTH FIELD<tab>FIELD…
    LENGTH bytes

Fields are texts, escaped; the CRC is of the fields and the bytes. Bytes that the journal has already are not
written again: a field `@OFFSET+LENGTH` refers to them. The journal ends at a record that a kill or a power
cut has torn: the change that it describes was not made.
"""

from __future__ import annotations

import os
from errno import EAGAIN
from zlib import crc32

from clada.grammar import read_number
from clada.values import Value
from clada.world.handles import NO_FOLLOW, write
from clada.world.locks import try_flock
from clada.world.record.states import KINDS, State
from clada.world.record.store import give_to_owner_of_directory, sync_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO, Self

MAGIC = b"clada journal 1\n"
WORTH_SHARING = 64  # bytes from which a repeated content is written once
MAX_LINE = 4 << 20  # bytes of fields
STATE_FIELDS = 6
ESCAPES = (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r"))


class Journal:
    """A journal that is being written. Its lock is held until it is closed, or its writer dies."""

    def __init__(self, path: str, *, again: bool = False) -> None:
        """Create a journal; or with `again`, append to one whose writer has died."""
        self.path = path
        self._end = _intact_size(path) if again else 0
        flags = os.O_RDWR | NO_FOLLOW | (os.O_APPEND if again else os.O_CREAT | os.O_EXCL)
        self._handle = os.open(path, flags, 0o600)
        give_to_owner_of_directory(path)
        if not try_flock(self._handle):
            raise BlockingIOError(EAGAIN, "another run writes it", path)
        self._last: tuple[bytes, int] = (b"", 0)  # the last content, and its offset
        self._synced, self._name_synced = True, again
        if again:
            os.ftruncate(self._handle, self._end)
        else:
            self._write([MAGIC])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it, if it is not closed already."""
        if self._handle >= 0:
            handle, self._handle = self._handle, -1
            os.close(handle)

    def add(self, *fields: str, data: bytes = b"") -> None:
        """Write a record."""
        shared = len(data) > WORTH_SHARING and data is self._last[0]
        if shared:
            fields, data = (*fields, f"@{self._last[1]}+{len(data)}"), b""
        text = os.fsencode("\t".join(map(escape_field, fields)))
        head = b"%08x %d %s\n" % (crc32(data, crc32(text)), len(data), text)
        if data:
            self._last = data, self._end + len(head)
        self._write([head, data, b"\n"] if data else [head])

    def add_state(self, kind: str, path: str, state: State) -> None:
        """Write the state of a path: `before` a change, or `after` it."""
        mode = "" if state.mode is None else f"{state.mode:o}"
        owner = "" if state.owner is None else f"{state.owner[0]}:{state.owner[1]}"
        extra = [f"{name}={value.hex()}" for name, value in state.attributes.items()]
        self.add(kind, path, state.kind, mode, owner, state.digest, *extra, data=state.content)

    def sync(self) -> None:
        """Wait until all records have reached the disk."""
        if not self._synced:
            os.fsync(self._handle)
            self._synced = True
        if not self._name_synced:
            sync_directory(os.path.dirname(self.path))  # its name must reach the disk, too
            self._name_synced = True

    def _write(self, pieces: list[bytes]) -> None:
        size = sum(map(len, pieces))
        try:
            written = os.writev(self._handle, pieces)
            if written < size:
                write(self._handle, b"".join(pieces), written)
        except OSError:  # the disk is full: half a record would hide all later ones
            os.ftruncate(self._handle, self._end)
            os.lseek(self._handle, self._end, os.SEEK_SET)
            raise
        self._end += size
        self._synced = False


def _intact_size(path: str) -> int:
    """Return the size of a journal without a torn record at its end."""
    with read_journal(path) as journal:
        end = len(MAGIC)
        for record in journal.records():
            end = record.offset + record.size + (1 if record.size else 0)
    return end


class Record(Value):
    """One record: its fields, and the position of its bytes."""

    fields: tuple[str, ...]
    offset: int
    size: int


def read_journal(path: str) -> JournalReader:
    """Open a journal for reading."""
    return JournalReader(open(os.open(path, os.O_RDONLY | NO_FOLLOW), "rb"))


class JournalReader:
    """Reads a journal, which its writer may still extend."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def records(self) -> Iterator[Record]:
        """Yield the records up to the end, or to the first that is torn."""
        file = self._file
        file.seek(0)
        if file.read(len(MAGIC)) != MAGIC:
            return
        while head := file.readline(MAX_LINE):
            record = _record(head, file)
            if record is None:
                return
            where = file.tell()
            yield record
            file.seek(where)

    def content(self, record: Record) -> bytes:
        """Return the bytes of a record, or those that it refers to."""
        offset, size = self._position(record)
        self._file.seek(offset)
        return self._file.read(size)

    def _position(self, record: Record) -> tuple[int, int]:
        """Return the offset and size of the bytes of a record; 0, 0 if the reference is not valid."""
        if not record.fields[-1].startswith("@"):
            return record.offset, record.size
        first, _, second = record.fields[-1][1:].partition("+")
        offset, size = read_number(first), read_number(second)
        if offset is None or size is None or offset + size > record.offset:
            return 0, 0
        return offset, size

    def state(self, record: Record, *, content: bool = True) -> State | None:
        """Return the state in a record, with or without content; None if it is malformed."""
        fields = list(record.fields)
        if fields[-1].startswith("@"):
            fields.pop()
            if self._position(record) == (0, 0):
                return None
        if len(fields) < STATE_FIELDS or fields[2] not in KINDS:
            return None
        _, _, kind, mode, owner, digest, *extra = fields
        user, _, group = owner.partition(":")
        pairs = (each.rpartition("=") for each in extra)
        try:
            attributes = {name: bytes.fromhex(value) for name, _, value in pairs}
            ids = (int(user), int(group)) if owner else None
            bits = int(mode, 8) & 0o7777 if mode else None
        except ValueError:
            return None
        return State(kind, bits, ids, self.content(record) if content else b"", attributes, digest)


def _record(head: bytes, file: BinaryIO) -> Record | None:
    """Return the record that begins with this line; None if it is torn."""
    check, _, rest = head.partition(b" ")
    length, _, text = rest.partition(b" ")
    size = read_number(length.decode("ascii", "replace"))
    if size is None or not head.endswith(b"\n"):
        return None
    offset = file.tell()
    found = crc32(text[:-1])
    left = size
    while left:
        piece = file.read(min(left, 1 << 20))
        if not piece:
            return None
        found = crc32(piece, found)
        left -= len(piece)
    if check != b"%08x" % found or (size and file.read(1) != b"\n"):
        return None
    return Record(tuple(map(unescape_field, os.fsdecode(text[:-1]).split("\t"))), offset, size)


def escape_field(field: str) -> str:
    """Return a field with tabs and line breaks escaped."""
    for plain, escaped in ESCAPES:
        if plain in field:
            field = field.replace(plain, escaped)
    return field


def unescape_field(field: str) -> str:
    """Return the text of an escaped field."""
    if "\\" not in field:
        return field
    parts = field.split("\\\\")
    for plain, escaped in ESCAPES[1:]:
        parts = [part.replace(escaped, plain) for part in parts]
    return "\\".join(parts)
