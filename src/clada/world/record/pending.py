"""What is all or nothing and has begun: noted where the next run looks, in case this one is killed."""

from __future__ import annotations

import os

from clada.grammar import read_number
from clada.values import Value
from clada.world.record.journal import escape_field, unescape_field
from clada.world.record.store import Store, check_private, find_store, name_for, outside_store
from clada.world.xdg import state_home

OWNER_ALL, OWNER_ONLY = 0o700, 0o600
_TRIES = 100  # more than runs are likely to end while one begins


class Pending(Value):
    """A part of a run that was not brought to its end: of this workspace, by its journal, since a mark."""

    note: str  # the file that says so
    store: Store
    number: int
    mark: int


def add(store: Store, number: int, mark: int) -> None:
    """Note that something begins which is taken back if it does not end."""
    text = "\t".join(map(escape_field, (store.workspace, store.path, str(number), str(mark))))
    for _ in range(_TRIES):
        try:
            return _write(store, text)
        except FileNotFoundError:  # a run that ends just now has removed the folder
            continue
    return _write(store, text)


def _write(store: Store, text: str) -> None:
    folder = _folder()
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    try:
        os.mkdir(folder, OWNER_ALL)
    except FileExistsError:
        check_private(folder)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(_note(store), flags, OWNER_ONLY), "wb") as file:
        file.write(os.fsencode(f"{text}\n"))


def remove(store: Store) -> None:
    """Note that it has ended, or was taken back."""
    for path, act in ((_note(store), os.unlink), (_folder(), os.rmdir)):
        try:
            act(path)
        except OSError:
            return  # it is gone, or there are others


def of_workspace(workspace: str) -> Pending | None:
    """Return what is pending in a workspace, whether or not its run is still going."""
    real = os.path.realpath(workspace)
    for note in _notes():
        fields = _fields(note)
        if len(fields) == 4 and fields[0] == real:  # noqa: PLR2004 (as `add` writes them)
            number, mark = read_number(fields[2]), read_number(fields[3])
            if number and mark:
                stores = (find_store(real), outside_store(real))
                store = next((store for store in stores if store.path == fields[1]), None)
                return Pending(note, store, number, mark) if store else None
    return None


def _notes() -> list[str]:
    """Return the notes of all workspaces; runs that end meanwhile remove theirs, and the folder."""
    if not os.path.isdir(folder := _folder()):
        return []
    try:
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    except FileNotFoundError:
        return []


def _fields(note: str) -> list[str]:
    """Return what a note says: nothing, if it is gone, or nothing that `add` has made."""
    try:
        handle = os.open(note, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return []
    try:
        text = os.fsdecode(os.read(handle, 1 << 16)).strip("\n")
    except OSError:  # a directory
        return []
    finally:
        os.close(handle)
    return [unescape_field(field) for field in text.split("\t")]


def _folder() -> str:
    return os.path.join(state_home(), "clada", "pending")


def _note(store: Store) -> str:
    return os.path.join(_folder(), name_for(store.path))
