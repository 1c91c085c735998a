"""What commands change: the tree looked at before and after each, and what was there kept for undo.

A look sees kinds, modes, sizes and times of everything. Contents are kept, before a command runs, of files
that no commit and no index has, and of some that git ignores; those of all others are asked of git, once they
have changed. What git has in another form than the tree counts only if its size is right. Ignored directories
and repositories of their own are looked at from outside: what is changed in them is named.
"""

from __future__ import annotations

import os
import sys
from stat import S_IMODE, S_ISDIR, S_ISLNK, S_ISREG

from clada.errors import CladaError
from clada.world.files.paths import display_path
from clada.world.handles import NO_FOLLOW, OWNER_ALL
from clada.world.record import in_git
from clada.world.record.changes import WORKSPACE, named
from clada.world.record.journal import Journal, read_journal
from clada.world.record.snapshot import MB, Snapshot
from clada.world.record.states import ABSENT, State, is_same_save, stamp_of
from clada.world.record.trees import (
    changed_apart,
    changed_modes,
    look,
    look_apart,
    look_apart_again,
    packed,
    stamp_now,
    states_of,
    unpacked,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clada.settings import Settings
    from clada.world.git.commit import WorkTreeStatus
    from clada.world.git.git import Git
    from clada.world.record.placing import OverlayWrites
    from clada.world.record.states import Stamp
    from clada.world.record.store import Store
    from clada.world.record.trees import Table

SIZE = 2  # where a stamp has the size of a file
MOST_IGNORED = 1_000  # ignored files whose content is kept, at most
MOST_OF_IGNORED = 16 * MB  # in all of them


class Looks:
    """The looks of one run at its workspace."""

    def __init__(self, store: Store, snapshot: Snapshot, room: int) -> None:
        self.store, self.snapshot = store, snapshot
        self.lost: list[str] = []  # what commands changed, and undo cannot bring back
        self.unkept: dict[str, Stamp | None] = {}  # files among these, as the command left them
        # What has another mode since the command: its path, and both modes, with the kind of file.
        self.modes: list[tuple[str, int, int]] = []
        self.others: list[str] = []  # what somebody else staged or committed meanwhile
        self._too_large: dict[str, int] = {}  # files that are not kept before a command, and their sizes
        self._room = room  # bytes that may be kept before a command
        self._before: Table = {}
        self._apart: Table = {}  # of what is looked at from outside
        self._ignored: frozenset[str] = frozenset()
        self.ignored: frozenset[str] = frozenset()  # what git ignored before any of the commands
        self._sidecar = f"{snapshot.journal.path}.look"
        self._index = f"{snapshot.journal.path}.index"

    def before(self) -> None:
        """Look at the tree, and keep what only it has: a command is about to run, which may change it."""
        self.snapshot.begin_changes()
        git = self._git()
        self._clear()
        with Journal(self._sidecar) as sidecar:
            found = self._ask(git) if git else None
            seen = look(self.store.workspace, self._ignored)
            seen.stamps[WORKSPACE] = stamp_of(os.lstat(self.store.workspace))
            self._before, self._apart = seen.stamps, look_apart(self.store.workspace, seen.apart)
            only_here = self._only_in_tree(git, found)
            sizes = {path: self._before[path][SIZE] for path in only_here if S_ISREG(self._before[path][0])}
            self._too_large = {path: size for path, size in sizes.items() if size > self.snapshot.limit}
            if self.snapshot.all_or_nothing:
                self._check_room(sizes)
            for path, state in states_of(self.store.workspace, only_here, self.snapshot.limit):
                self._room -= len(state.content)
                if self._room >= 0:
                    sidecar.add_state("before", path, state)
            sidecar.add("apart", data=packed(self._apart))
            sidecar.add("table", data=packed(self._before))
            if self.snapshot.durable:
                sidecar.sync()

    @property
    def warning(self) -> str:
        """What the person should know before a command runs, of which nobody knows what it will change."""
        if not self._too_large:
            return ""
        paths, most = named(list(self._too_large)), -(-max(self._too_large.values()) // MB)
        why = f"--snapshot-limit={most}MB keeps them"
        return f"too large to be kept for undo, should a command change them: {paths} ({why})"

    def _check_room(self, sizes: Mapping[str, int]) -> None:
        """Raise where not all can be kept that a command may change: it could not be put back."""
        large = next(iter(self._too_large), None)
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
        raise CladaError("permission_denied", message, f"{remedy}, or do without --atomic")

    def note_suspects(self) -> None:
        """Name in the journal what is different since a command began whose run was killed meanwhile.

        Nobody can tell what the command changed from what the user has changed since, days later perhaps: so
        none of it is undone. What was there before the command is kept beside the names.
        """
        with read_journal(self._sidecar) as journal:
            tables = {
                each.fields[0]: journal.content(each) for each in journal.records() if not each.fields[1:]
            }
        if "table" in tables:  # else the command had not been started
            git = self._git()
            self._ignored = in_git.ignored_places(git, self.store.prefix) if git else frozenset()
            self._before, self._apart = unpacked(tables["table"]), unpacked(tables.get("apart", b""))
            _now, changed = self._changed_paths(git)
            for path, before, _after in self._differences(git, changed):
                self.snapshot.journal.add("suspect", path)
                if before and before.can_be_put_back:
                    self.snapshot.journal.add_state("was", path, before)
            for path in self.lost:
                self.snapshot.journal.add("suspect", path)
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

    def take_over(self, writes: OverlayWrites) -> None:
        """Learn what was put in place of a command that had an overlay: this is all that it changed."""
        self.modes = writes.modes
        self.lost += [display_path(parts) for parts in writes.repositories]
        git = self._git()
        paths = writes.paths if git else []
        for path in in_git.ignored(git, self.store.prefix, paths) if git and paths else ():
            self.snapshot.journal.add("ignored", path)

    def _git(self) -> Git | None:
        if self.store.repository is None:
            return None
        from clada.world.git.git import hardened_git
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

    def _ask(self, git: Git) -> WorkTreeStatus:
        """Ask git what is changed here, and what is ignored."""
        from clada.world.git.commit import work_tree_status

        self._copy_index(git)  # first: what is staged after this is not the command's
        found = work_tree_status(git, self.store.prefix, ignored=True)
        self._ignored = in_git.places(found, self.store.prefix)
        self.ignored |= self._ignored
        return found

    def _only_in_tree(self, git: Git | None, found: WorkTreeStatus | None) -> list[str]:
        """Return what git may not have as it is in the tree; where there is no git, all of it."""
        if git is None or found is None:
            plain = (path for path, stamp in self._before.items() if not S_ISDIR(stamp[0]))
            folders = (path for path, stamp in self._before.items() if S_ISDIR(stamp[0]))
            return [*plain, *filter(self._has_attributes, folders)]
        prefix = self.store.prefix
        sizes = {prefix + path: stamp[SIZE] for path, stamp in self._before.items() if S_ISREG(stamp[0])}
        known = {*found.changed, *found.untracked, *found.unmerged, *in_git.not_looked_at(git, prefix)}
        known |= in_git.converted(git, prefix, self._index, sizes)
        paths = {path.removeprefix(prefix) for path in known}.union(self._ignored_to_keep())
        return [path for path in self._before if path in paths or self._has_attributes(path)]

    def _ignored_to_keep(self) -> list[str]:
        """Return the ignored files whose content is kept: what looks like a secret first, then small ones."""
        from clada.world.secrets.names import looks_secret

        sizes = {path: self._before[path][SIZE] for path in self._ignored if path in self._before}
        room, kept = min(MOST_OF_IGNORED, self._room), list[str]()
        for path in sorted(sizes, key=lambda path: (not looks_secret(path), sizes[path]))[:MOST_IGNORED]:
            room -= sizes[path]
            if room < 0 or sizes[path] > self.snapshot.limit:
                break
            kept.append(path)
        return kept

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
        stamp = self._reopened()
        seen = look(self.store.workspace, self._ignored)
        seen.stamps[WORKSPACE] = stamp
        now, closed = seen.stamps, seen.closed
        changed = [path for path, stamp in now.items() if self._before.get(path) != stamp]
        if closed:
            new_ones = {path for path in closed if path not in self._before}
            self.lost += sorted(new_ones)
            changed = [path for path in changed if path not in new_ones]
        if git:
            hidden = self._new_and_ignored(git, changed, now)
            changed = [path for path in changed if path not in hidden]
        gone = [path for path in self._before if path not in now]
        gone = [path for path in gone if not any(path.startswith(f"{each}/") for each in closed)]
        apart = look_apart_again(self.store.workspace, self._apart)
        self.lost += changed_apart(self._apart, apart)
        self.modes = changed_modes(self._before, now) + changed_modes(self._apart, apart)
        return now, [*changed, *gone]

    def _reopened(self) -> Stamp:
        """Return the stamp of the workspace itself, which we open to us again if a command has closed it."""
        status = os.lstat(self.store.workspace)
        if status.st_mode & OWNER_ALL != OWNER_ALL and status.st_uid == os.geteuid():
            os.chmod(self.store.workspace, S_IMODE(status.st_mode) | OWNER_ALL)
        return stamp_of(os.lstat(self.store.workspace))

    def _new_and_ignored(self, git: Git, changed: list[str], now: Table) -> set[str]:
        """Return what is new in directories that are ignored, or that has too much beside it that is."""
        from clada.world.git.commit import with_parents

        ignored = in_git.ignored(
            git, self.store.prefix, [path for path in changed if path not in self._before]
        )
        folders = {path for path in ignored if S_ISDIR(now[path][0])}
        inside = {path for path in ignored if not folders.isdisjoint(with_parents(path))}
        alone = ignored - inside
        if len(alone) > MOST_IGNORED:
            return ignored
        self._ignored |= alone
        return inside

    def _differences(self, git: Git | None, paths: list[str]) -> Iterator[tuple[str, State | None, State]]:
        """Yield what was and what is at those of these paths where that differs; None if nobody kept it."""
        kept = _kept_states(self._sidecar)
        missing = [path for path in paths if path in self._before and path not in kept]
        files = [path for path in missing if not S_ISDIR(self._before[path][0])]
        kept |= self._from_git(git, files) if git and files else {}
        for path, after in states_of(self.store.workspace, paths, self.snapshot.limit):
            before = self._state_before(path, kept)
            if not (before and before.is_like(after) and before.is_same_beside(after)):
                yield path, before, after

    def _tell(self, git: Git | None, paths: list[str], now: Table) -> None:
        for path, before, after in self._differences(git, paths):
            stamp = stamp_now(self.store.workspace, path)
            if not is_same_save(stamp, now.get(path)):
                self.others.append(path)  # it was saved after the command had ended
                continue
            if before is None or not before.can_be_put_back:
                self.lost.append(path)
                self.unkept[path] = stamp
            else:
                self.snapshot.found(tuple(path.split("/")), before, after, stamp)
                if path in self._ignored:
                    self.snapshot.journal.add("ignored", path)

    def _state_before(self, path: str, kept: Mapping[str, State]) -> State | None:
        stamp = self._before.get(path)
        if stamp is None:
            return ABSENT
        if S_ISDIR(stamp[0]) and path not in kept:
            return State("directory", S_IMODE(stamp[0]))
        return kept.get(path)

    def _from_git(self, git: Git, paths: list[str]) -> dict[str, State]:
        """Return what git's index had of these files, if it is what was in the tree."""
        names = in_git.objects(git, self._index, [self.store.prefix + path for path in paths])
        wanted = [path for path in paths if self.store.prefix + path in names]
        found: dict[str, State] = {}
        for filters in (False, True):
            left = [path for path in wanted if path not in found]
            pairs = [(names[self.store.prefix + path], self.store.prefix + path) for path in left]
            for path, content in zip(left, in_git.contents(git, pairs, filters=filters), strict=True):
                mode, size = self._before[path][0], self._before[path][SIZE]
                if content is not None and len(content) == size:
                    kind = "link" if S_ISLNK(mode) else "file"
                    found[path] = State(kind, S_IMODE(mode), None, content)
        return found

    def _changed_in_index(self, git: Git) -> set[str]:
        """Return the paths that somebody staged, or committed, since the look before the command."""
        was, now = (in_git.entries(git, index) for index in (self._index, ""))
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


def note_suspects(store: Store, number: int, settings: Settings) -> None:
    """Complete the journal of a killed run, which may have been in another part of the repository."""
    from clada.world.record.history import all_runs

    run = next((run for run in all_runs(store) if run.number == number), None)
    if run is None:
        return
    place = store
    if store.repository and not store.outside:
        workspace = os.path.join(store.repository.root, run.prefix).rstrip("/")
        place = store.replace(workspace=workspace, prefix=run.prefix)
    with Journal(store.journal(number), again=True) as journal:
        Looks(place, Snapshot(journal, settings.snapshot_limit), settings.history_size).note_suspects()


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
