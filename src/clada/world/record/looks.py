"""What commands change: the tree looked at before and after each, and what was there kept for undo.

A look sees kinds, modes, sizes and times of everything that git does not ignore. Contents are kept, before a
command runs, of files that no commit and no index has; those of all others are asked of git, once they have
changed. What git has in another form than the tree (line endings, filters) counts only if its size is right.
"""

from __future__ import annotations

import os
import sys
from stat import S_IMODE, S_ISDIR, S_ISLNK, S_ISREG

from clada.errors import Trouble
from clada.world.files.paths import is_protected
from clada.world.handles import NO_FOLLOW, open_descendant
from clada.world.record.journal import Journal, read_journal
from clada.world.record.snapshot import MB, Snapshot
from clada.world.record.states import ABSENT, State, is_same_save, stamp_of, state_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from clada.settings import Settings
    from clada.world.git.calls import Git
    from clada.world.git.commits import WorkTreeStatus
    from clada.world.record.states import Stamp
    from clada.world.record.store import Store

    Table = dict[str, Stamp]

CONVERTED = ":(top,exclude,attr:!filter !ident !working-tree-encoding)"  # all but those without any of these
SIZE = 2  # where a stamp has the size of a file


class Looks:
    """The looks of one run at its workspace."""

    def __init__(self, store: Store, snapshot: Snapshot, room: int) -> None:
        self.store, self.snapshot = store, snapshot
        self.lost: list[str] = []  # what commands changed, and undo cannot bring back
        self.others: list[str] = []  # what somebody else staged or committed meanwhile
        self._room = room  # bytes that may be kept before a command
        self._before: Table = {}
        self._ignored: frozenset[str] = frozenset()
        self.ignored: frozenset[str] = frozenset()  # what git ignored before any of the commands
        self._sidecar = f"{snapshot.journal.path}.look"
        self._index = f"{snapshot.journal.path}.index"

    def before(self) -> None:
        """Look at the tree, and keep what only it has: a command is about to run."""
        git = self._git()
        self._clear()
        with Journal(self._sidecar) as sidecar:
            if git:
                self._copy_index(git)  # first: what is staged after this is not the command's
            lacking = self._not_in_git(git) if git else None
            self._before = look(self.store.workspace, self._ignored)
            only_here = self._only_in_tree(lacking)
            if self.snapshot.all_or_nothing:
                self._check_room(only_here)
            for path in only_here:
                state = state_of(self.store.workspace, path, self.snapshot.limit)
                self._room -= len(state.content)
                if self._room >= 0:
                    sidecar.add_state("before", path, state)
            sidecar.add("table", data=packed(self._before))
            if self.snapshot.durable:
                sidecar.sync()

    def _check_room(self, paths: Iterable[str]) -> None:
        """Raise where not all can be kept that a command may change: it could not be put back."""
        sizes = {path: self._before[path][SIZE] for path in paths if S_ISREG(self._before[path][0])}
        large = next((path for path, size in sizes.items() if size > self.snapshot.limit), None)
        if large is None and sum(sizes.values()) <= self._room:
            return
        what, has, most, remedy = (
            (large, sizes[large], self.snapshot.limit, "raise --snapshot-limit")
            if large is not None
            else (
                "what git lacks here",
                sum(sizes.values()),
                self._room,
                "add it to git, or raise history_size",
            )
        )
        message = (
            f"{what} has {-(-has // MB):,} MB, and a command can be taken back from {most // MB:,} MB at most"
        )
        self._clear()
        raise Trouble("permission_denied", message, f"{remedy}, or do without --atomic")

    def recover(self) -> None:
        """Look at what a command has changed whose run was killed meanwhile."""
        with read_journal(self._sidecar) as journal:
            tables = [journal.content(each) for each in journal.records() if each.fields == ("table",)]
        if tables:  # else the command had not been started
            git = self._git()
            self._ignored = ignored_places(git, self.store.prefix) if git else frozenset()
            self._before = unpacked(tables[0])
            self.after()
        self._clear()

    def after(self, *, own_git: bool = False) -> None:
        """Look again, and tell the snapshot what the command has changed. `own_git`: it was a git command."""
        git = self._git()
        now, changed = self._changed_paths(git)
        if git and changed and not own_git and self._index_has_changed(git):
            others = self._changed_in_index(git).intersection(changed)
            self.others += sorted(others)
            changed = [path for path in changed if path not in others]
        if changed:
            self._tell(git, changed, now)
        self._clear()

    def _git(self) -> Git | None:
        if self.store.repository is None:
            return None
        from clada.world.git.calls import hardened_git
        from clada.world.git.repository import check_identity

        check_identity(self.store.repository)
        git = hardened_git(self.store.repository)
        # Else `git status` would write what it has seen into the index, which is the user's.
        return git.replace(variables={**git.variables, "GIT_OPTIONAL_LOCKS": "0"})

    def _index_has_changed(self, git: Git) -> bool:
        """Whether somebody has staged or committed since the look before the command, by its bytes."""
        return _read(self._index) != _read(os.path.join(git.variables["GIT_DIR"], "index"))

    def _copy_index(self, git: Git) -> None:
        data = _read(os.path.join(git.variables["GIT_DIR"], "index"))
        if not data:
            return  # nothing was ever added
        with open(
            os.open(self._index, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW, 0o600), "wb"
        ) as copy:
            copy.write(data)

    def _not_in_git(self, git: Git) -> set[str]:
        """Return the files that git may not have as they are in the tree; see what it ignores, too."""
        from clada.world.git.commits import status

        prefix = self.store.prefix
        found = status(git, prefix, ignored=True)
        self._ignored = _places(found, prefix)
        self.ignored |= self._ignored
        known = {*found.changed, *found.untracked, *found.unmerged, *_not_looked_at(git, prefix)}
        return {path.removeprefix(prefix) for path in known | _converted(git, prefix)}

    def _only_in_tree(self, paths: set[str] | None) -> list[str]:
        """Return what git may not have as it is in the tree: these paths, or all where there is no git."""
        if paths is None:
            plain = (path for path, stamp in self._before.items() if not S_ISDIR(stamp[0]))
            folders = (path for path, stamp in self._before.items() if S_ISDIR(stamp[0]))
            return [*plain, *filter(self._has_attributes, folders)]
        return [path for path in self._before if path in paths or self._has_attributes(path)]

    def _has_attributes(self, path: str) -> bool:
        """Whether a place has an access control list, or something else that git does not know of."""
        if S_ISLNK(self._before[path][0]) or sys.platform != "linux":
            return False
        try:
            return bool(os.listxattr(f"{self.store.workspace}/{path}", follow_symlinks=False))
        except OSError:
            return False  # there are none on this file system

    def _changed_paths(self, git: Git | None) -> tuple[Table, list[str]]:
        """Return what is there now, and what was changed of it."""
        closed: dict[str, None] = {}
        now = look(self.store.workspace, self._ignored, closed)
        changed = [path for path, stamp in now.items() if self._before.get(path) != stamp]
        if closed:
            new_ones = {path for path in closed if path not in self._before}
            self.lost += new_ones
            changed = [path for path in changed if path not in new_ones]
        if git:
            new = [path for path in changed if path not in self._before]
            hidden = _ignored(git, self.store.prefix, new)
            changed = [path for path in changed if path not in hidden]
        gone = [path for path in self._before if path not in now]
        gone = [path for path in gone if not any(_is_below(path, each) for each in closed)]
        return now, [*changed, *gone]

    def _tell(self, git: Git | None, paths: list[str], now: Table) -> None:
        kept = _kept_states(self._sidecar)
        missing = [path for path in paths if path in self._before and path not in kept]
        files = [path for path in missing if not S_ISDIR(self._before[path][0])]
        kept |= self._from_git(git, files) if git and files else {}
        for path in paths:
            before = self._state_before(path, kept)
            after = state_of(self.store.workspace, path, self.snapshot.limit)
            if before and before.is_like(after) and before.is_same_beside(after):
                continue
            stamp = stamp_now(self.store.workspace, path)
            if not is_same_save(stamp, now.get(path)):
                self.others.append(path)  # it was saved after the command had ended
                continue
            if before is None or not before.can_be_put_back:
                self.lost.append(path)
            else:
                self.snapshot.left(tuple(path.split("/")), before, after, stamp)

    def _state_before(self, path: str, kept: Mapping[str, State]) -> State | None:
        stamp = self._before.get(path)
        if stamp is None:
            return ABSENT
        if S_ISDIR(stamp[0]) and path not in kept:
            return State("directory", S_IMODE(stamp[0]))
        return kept.get(path)

    def _from_git(self, git: Git, paths: list[str]) -> dict[str, State]:
        """Return what git's index had of these files, if it is what was in the tree."""
        names = _objects(git, self._index, [self.store.prefix + path for path in paths])
        wanted = [path for path in paths if self.store.prefix + path in names]
        found: dict[str, State] = {}
        for filters in (False, True):
            left = [path for path in wanted if path not in found]
            pairs = [(names[self.store.prefix + path], self.store.prefix + path) for path in left]
            for path, content in zip(left, _contents(git, pairs, filters=filters), strict=True):
                mode, size = self._before[path][0], self._before[path][SIZE]
                if content is not None and len(content) == size:
                    kind = "link" if S_ISLNK(mode) else "file"
                    found[path] = State(kind, S_IMODE(mode), None, content)
        return found

    def _changed_in_index(self, git: Git) -> set[str]:
        """Return the paths that somebody staged, or committed, since the look before the command."""
        was, now = (_entries(git, index) for index in (self._index, ""))
        prefix = self.store.prefix
        return {
            path.removeprefix(prefix) for path in was.keys() | now.keys() if was.get(path) != now.get(path)
        }

    def _clear(self) -> None:
        for path in (self._index, self._sidecar):  # the latter says that there is something to clear
            try:
                os.unlink(path)
            except FileNotFoundError:
                continue


def was_looking(store: Store, number: int) -> bool:
    """Whether a run was killed while a command ran, and nobody has looked since what that has changed."""
    return os.path.lexists(f"{store.journal(number)}.look")


def recover(store: Store, number: int, settings: Settings) -> None:
    """Complete the journal of such a run, which may have been in another part of the repository."""
    from clada.world.record.history import all_runs

    run = next((run for run in all_runs(store) if run.number == number), None)
    if run is None:
        return
    place = store
    if store.repository and not store.outside:
        workspace = os.path.join(store.repository.root, run.prefix).rstrip("/")
        place = store.replace(workspace=workspace, prefix=run.prefix)
    with Journal(store.journal(number), again=True) as journal:
        Looks(place, Snapshot(journal, settings.snapshot_limit), settings.history_size).recover()


# The tree.


def look(
    workspace: str, ignored: frozenset[str] = frozenset(), closed: dict[str, None] | None = None
) -> Table:
    """Return the stamps of all that is in the workspace, by path; not what is ignored, or git's and clada's.

    Repositories in it are not entered. Directories that we cannot look into are added to `closed`.
    """
    found: Table = {}
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            entries = _listed(os.path.join(workspace, folder))
        except OSError:
            entries = []
            if closed is not None:
                closed[folder] = None
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if path in ignored or is_protected(entry.name):
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                if closed is not None and not os.access(os.path.join(workspace, folder), os.X_OK):
                    closed[folder] = None
                continue  # or else it is gone
            found[path] = stamp_of(status)
            if S_ISDIR(status.st_mode) and not os.path.lexists(os.path.join(workspace, path, ".git")):
                folders.append(path)
    return found


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(f"{folder}/")


def _listed(folder: str) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return list(entries)


def state_of(workspace: str, path: str, limit: int) -> State:
    """Return what stands at a path below the workspace, where nothing on the way is a link."""
    above, _, name = path.rpartition("/")
    try:
        parent = open_descendant(workspace, above)
    except OSError:
        return ABSENT
    try:
        return state_at(parent, name, limit)
    except OSError:
        return State("other")  # nobody may read it
    finally:
        os.close(parent)


def stamp_now(workspace: str, path: str) -> Stamp | None:
    """Return the stamp of what stands at a path below the workspace; None where there is nothing."""
    try:
        return stamp_of(os.lstat(os.path.join(workspace, path)))
    except OSError:
        return None


def packed(table: Table) -> bytes:
    """Return a table as bytes."""
    rows = (f"{path}\0{' '.join(map(str, stamp))}\0" for path, stamp in table.items())
    return os.fsencode("".join(rows))


def unpacked(data: bytes) -> Table:
    """Return the table that bytes stand for."""
    parts = os.fsdecode(data).split("\0")
    return {
        path: tuple(map(int, stamp.split())) for path, stamp in zip(parts[0::2], parts[1::2], strict=False)
    }


def _read(path: str) -> bytes:
    try:
        with open(os.open(path, os.O_RDONLY | NO_FOLLOW), "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""


def _kept_states(sidecar: str) -> dict[str, State]:
    found: dict[str, State] = {}
    with read_journal(sidecar) as journal:
        for record in journal.records():
            if record.fields[0] == "before" and (state := journal.state(record)):
                found[record.fields[1]] = state
    return found


# Git.


def ignored_places(git: Git, prefix: str) -> frozenset[str]:
    """Return the files and directories in the workspace that git ignores."""
    from clada.world.git.commits import status

    return _places(status(git, prefix, ignored=True), prefix)


def _places(found: WorkTreeStatus, prefix: str) -> frozenset[str]:
    return frozenset(path.removeprefix(prefix).rstrip("/") for path in found.ignored)


def _not_looked_at(git: Git, prefix: str) -> set[str]:
    """Return the tracked files at whose content git does not look: marked to be skipped or left alone."""
    listed = os.fsdecode(git.check_output("ls-files", "-v", "-z", *_limit(prefix))).split("\0")[:-1]
    return {line[2:] for line in listed if line[0] == "S" or line[0].islower()}


def _converted(git: Git, prefix: str) -> set[str]:
    """Return the tracked files that are other bytes in the tree than in git, which may be as many.

    Line endings are another matter: with them, there are more bytes in the tree.
    """
    within = [f":(top,literal){prefix.rstrip('/')}"] if prefix else []
    listed = git.check_output("ls-files", "-z", "--", CONVERTED, *within, GIT_LITERAL_PATHSPECS="0")
    return set(os.fsdecode(listed).split("\0")[:-1])


def _limit(prefix: str) -> tuple[str, ...]:
    """Return the arguments that limit a git command to the workspace."""
    return ("--", prefix.rstrip("/")) if prefix else ()


def _ignored(git: Git, prefix: str, paths: list[str]) -> set[str]:
    """Return which of these new places are ignored."""
    from clada.world.git.commits import ignored_files

    try:
        return {path.removeprefix(prefix) for path in ignored_files(git, [prefix + path for path in paths])}
    except Trouble:
        return set()  # git refuses what is in a submodule, checked out or not


def _entries(git: Git, index: str) -> dict[str, str]:
    """Return mode and object of each file in an index; an empty name stands for the user's own."""
    if index and not os.path.exists(index):
        return {}
    chosen = index or os.path.join(git.variables["GIT_DIR"], "index")
    listed = os.fsdecode(git.check_output("ls-files", "-s", "-z", GIT_INDEX_FILE=chosen)).split("\0")[:-1]
    return {path: entry for entry, _, path in (line.partition("\t") for line in listed)}


def _objects(git: Git, index: str, paths: list[str]) -> dict[str, str]:
    """Return the objects that an index has for these paths."""
    from clada.world.git.commits import FEW

    if not os.path.exists(index):
        return {}
    limit = ["--", *paths] if len(paths) <= FEW else []
    listed = os.fsdecode(git.check_output("ls-files", "-s", "-z", *limit, GIT_INDEX_FILE=index))
    rows = (line.partition("\t") for line in listed.split("\0")[:-1])
    return {path: entry.split()[1] for entry, _, path in rows}


def _contents(git: Git, pairs: list[tuple[str, str]], *, filters: bool) -> Iterator[bytes | None]:
    """Yield the contents of objects, as they are or as git would check them out; None for one it lacks."""
    if filters:  # git tells no sizes then, so it can be asked for one at a time only
        for name, path in pairs:
            result = git.call("cat-file", "--filters", f"--path={path}", name)
            yield result.output if result.code == 0 else None
        return
    stdin = "".join(f"{name}\n" for name, _path in pairs).encode()
    output, at = (git.check_output("cat-file", "--batch", stdin=stdin) if pairs else b""), 0
    for _ in pairs:
        words = output[at : output.find(b"\n", at)].split()
        at = output.find(b"\n", at) + 1
        if words[1:2] != [b"blob"]:
            yield None
            continue
        size = int(words[2])
        yield output[at : at + size]
        at += size + 1
