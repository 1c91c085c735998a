"""Reads the record of earlier versions, which was in text files, into the database of a store.

    history    a line when a run starts, commits, did less than planned, and ends; fields separated by tabs
    unignored  paths that git ignored formerly, each ended by NUL
    answers    paths of answers that are left out of commits, in the same form

The task statuses were in the journals of the runs, and a pending atomic run in a file of its own.
"""

from __future__ import annotations

import os

from clada.grammar import read_number
from clada.world.handles import NO_FOLLOW
from clada.world.record.history import HEX, MAX_NUMBER, document_key, marker_of
from clada.world.record.journal import read_journal, unescape_field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sqlite3 import Connection

    from clada.world.record.store import Store

MAX_HISTORY = 16 << 20  # bytes, from the end: older runs are left out
MAX_LIST = 1 << 20  # bytes of a list of paths
MAX_FIELD = 64 << 10  # characters of one field
LISTS = {"unignored": "formerly ignored", "answers": "answer"}  # files, and the reasons in the database


def take_over(db: Connection, store: Store) -> None:
    """Copy all that earlier versions have recorded in a store."""
    for line in _read(os.path.join(store.path, "history"), MAX_HISTORY).split("\n"):
        _add_line(db, [unescape_field(field[:MAX_FIELD]) for field in line.split("\t")])
    for (number,) in db.execute("SELECT number FROM runs").fetchall():
        _add_document(db, store, number)
    for name, reason in LISTS.items():
        paths = _read(os.path.join(store.path, name), MAX_LIST).split("\0")[:-1]
        rows = [(reason, os.fsencode(path)) for path in set(paths)]
        db.executemany("INSERT INTO left_out (reason, path) VALUES (?, ?)", rows)
    _add_pending(db, store)


def remove_old_files(store: Store) -> None:
    """Remove the files, now that the database has what was in them."""
    for name in ("history", *LISTS):
        try:
            os.unlink(os.path.join(store.path, name))
        except OSError:
            continue  # a database that exists is used in any case


def _add_line(db: Connection, fields: list[str]) -> None:
    """Add what one line tells; a line that was cut off, or that clada cannot have written, is ignored."""
    number = read_number(fields[1]) if len(fields) > 1 else None
    if number is None or not 0 < number <= MAX_NUMBER:
        return
    match fields:
        case ["start", _, when, what, prefix, record, undoes, continues, pre]:
            numbers = (read_number(undoes) or 0, read_number(continues) or 0)
            texts = (when, os.fsencode(what), os.fsencode(prefix), record)
            query = """INSERT OR REPLACE INTO runs
                (number, started, what, prefix, record, undoes, continues, pre)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
            values: tuple[object, ...] = (
                number,
                *texts,
                *(min(each, MAX_NUMBER) for each in numbers),
                _hex(pre),
            )
        case ["pre", _, commit]:
            query, values = "UPDATE runs SET pre = ? WHERE number = ?", (_hex(commit), number)
        case ["did", _, what]:
            query, values = "UPDATE runs SET what = ? WHERE number = ?", (os.fsencode(what), number)
        case ["end", _, ended, changed, post, kind, *unrecorded]:
            query = """UPDATE runs SET ended = ?, changed = ?, post = ?, commands = ?, unrecorded = ?
                WHERE number = ?"""
            count = min(read_number(changed) or 0, MAX_NUMBER)
            paths = os.fsencode("\0".join(unrecorded)[:MAX_FIELD])
            values = (ended, count, _hex(post), kind == "commands", paths, number)
        case _:
            return
    db.execute(query, tuple(_plain(value) for value in values))


def _plain(value: object) -> object:
    """Return a text as sqlite takes it: bytes that are not UTF-8 only occur in planted files."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else value


def _hex(text: str) -> str:
    return text if HEX.issuperset(text) else ""


def _add_document(db: Connection, store: Store, number: int) -> None:
    """Add what the journal of a run has of its document, and of how its tasks ended."""
    try:
        journal = read_journal(store.journal(number))
    except OSError:
        return  # it was pruned
    with journal:
        for record in journal.records():
            if record.fields[0] == "document":
                key = document_key(journal.content(record))
                db.execute("UPDATE runs SET document = ? WHERE number = ?", (key, number))
            elif record.fields[0] == "tasks":
                statuses = journal.content(record).decode(errors="replace").split("\n")
                rows = [(number, position, status) for position, status in enumerate(statuses)]
                db.executemany("INSERT OR REPLACE INTO tasks (run, position, status) VALUES (?, ?, ?)", rows)


def _add_pending(db: Connection, store: Store) -> None:
    """Add the atomic run that was killed, if there is one."""
    fields = [unescape_field(field) for field in _read(marker_of(store), MAX_LIST).strip("\n").split("\t")]
    if len(fields) != 4 or fields[1] != store.path:  # noqa: PLR2004 (workspace, store, run, mark)
        return
    number, mark = read_number(fields[2]), read_number(fields[3])
    root = store.repository.root if store.repository and not store.outside else fields[0]
    prefix = "" if fields[0] == root else f"{os.path.relpath(fields[0], root)}/"
    if number and mark and max(number, mark) <= MAX_NUMBER and not prefix.startswith("../"):
        values = (number, mark, os.fsencode(prefix))
        db.execute("INSERT INTO pending (run, mark, prefix) VALUES (?, ?, ?)", values)


def _read(path: str, limit: int) -> str:
    """Return the end of a file; nothing where there is none, or it is not a file."""
    try:
        with open(os.open(path, os.O_RDONLY | NO_FOLLOW | os.O_NONBLOCK), "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - limit))
            return os.fsdecode(file.read(limit))
    except OSError:
        return ""
