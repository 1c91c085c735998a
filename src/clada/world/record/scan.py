"""Scans of the workspace before and after a command, which show what the command changed.

A scan has kinds, modes, sizes and times of all paths. Before a command runs, the contents are saved of files
that git does not have, and of some that git ignores. Those of all others are read from git once they have
changed, and used if the size is right. Ignored directories and nested repositories are scanned separately:
changes in them are named, and cannot be undone.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from stat import S_IMODE, S_ISDIR, S_ISLNK, S_ISREG

from clada.errors import CladaError
from clada.values import Value
from clada.world.files.paths import display_path, is_protected
from clada.world.files.stat import Stamp, is_same_save
from clada.world.files.walk import walk
from clada.world.git.git import hardened_git
from clada.world.git.repository import check_identity
from clada.world.git.status import with_parents, work_tree_status
from clada.world.handles import NO_FOLLOW, OWNER_ALL
from clada.world.record import git_files, history
from clada.world.record.journal import Journal, read_journal
from clada.world.record.snapshot import MB, Snapshot
from clada.world.record.states import ABSENT, State, stamp_at, states_of
from clada.world.record.tree_diff import WORKSPACE, format_paths, is_cache
from clada.world.secrets.names import looks_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from clada.settings import Settings
    from clada.world.git.git import Git
    from clada.world.git.status import WorkTreeStatus
    from clada.world.record.overlay_writes import OverlayWrites
    from clada.world.record.store import Store

    Stamps = dict[str, Stamp]

MOST_IGNORED = 1_000  # ignored files whose content is saved, at most
MOST_OF_IGNORED = 16 * MB  # of content of all of them
MOST_SEPARATE = 10_000  # entries that are scanned in ignored directories and nested repositories


# Scanning.


class Scan(Value):
    """What a scan found."""

    stamps: Stamps  # of all paths
    closed: frozenset[str] = frozenset()  # directories that cannot be read
    separate: tuple[str, ...] = ()  # directories that were not entered: ignored ones, and nested repositories
    is_complete: bool = True


def scan_tree(top: str, ignored: frozenset[str] = frozenset(), most: int | None = None) -> Scan:
    """Scan all below a directory, except git's and clada's own; stop after `most` paths.

    Ignored directories and nested repositories are not entered.
    """
    stamps: Stamps = {}
    closed, separate = set[str](), list[str]()
    for directory in walk(top, lambda path, _error: closed.add(path)):
        directory.enter = []
        for entry in directory.entries:
            if is_protected(entry.name):
                continue
            path = directory.join(entry.name)
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                if not os.access(".", os.X_OK, dir_fd=directory.handle):
                    closed.add(directory.path)
                continue  # or else it was removed meanwhile
            is_directory = S_ISDIR(status.st_mode)
            if is_directory and path in ignored:
                separate.append(path)
                continue
            stamps[path] = Stamp.of(status)
            if is_directory and _has_entry(directory.handle, f"{entry.name}/.git"):
                separate.append(path)
            elif is_directory:
                directory.enter.append(entry.name)
        if most is not None and len(stamps) > most:
            return Scan(stamps, frozenset(closed), tuple(separate), is_complete=False)
    return Scan(stamps, frozenset(closed), tuple(separate))


def _has_entry(directory: int, path: str) -> bool:
    try:
        os.stat(path, dir_fd=directory, follow_symlinks=False)
    except OSError:
        return False
    return True


def scan_separate(workspace: str, directories: Iterable[str]) -> Stamps:
    """Return the stamps of what is in these directories, by directory, two slashes and path.

    Of a directory with very many entries, only its own stamp; of caches, none.
    """
    found: Stamps = {}
    for directory in directories:
        top = os.path.join(workspace, directory)
        if is_cache(workspace, directory):
            continue
        scan = scan_tree(top, most=MOST_SEPARATE - len(found))
        if scan.is_complete:
            found |= {f"{directory}//{path}": stamp for path, stamp in scan.stamps.items()}
        else:
            found[f"{directory}//"] = Stamp.of(os.lstat(top), listing=True)
    return found


def _pack(stamps: Stamps) -> bytes:
    rows = (f"{path}\0{' '.join(map(str, stamp))}\0" for path, stamp in stamps.items())
    return os.fsencode("".join(rows))


def _unpack(data: bytes) -> Stamps:
    parts = os.fsdecode(data).split("\0")
    return {
        path: Stamp(*map(int, stamp.split())) for path, stamp in zip(parts[0::2], parts[1::2], strict=False)
    }


# Around commands.


class TreeScan:
    """The scans of one run around its commands."""

    def __init__(self, store: Store, snapshot: Snapshot, room: int) -> None:
        self.store, self.snapshot = store, snapshot
        self.lost: list[str] = []  # paths that commands changed and undo cannot bring back
        self.unsaved: dict[str, Stamp | None] = {}  # files among these, as the command left them
        self.others: list[str] = []  # paths that another program staged, committed or saved meanwhile
        self.ignored: frozenset[str] = frozenset()  # paths that git ignored before any of the commands
        self._too_large: dict[str, int] = {}  # files that are too large to save, and their sizes
        self._room = room  # bytes that may be saved before a command
        self._before: Stamps = {}
        self._separate: Stamps = {}
        self._ignored: frozenset[str] = frozenset()
        self._sidecar = f"{snapshot.journal.path}.look"
        self._index = f"{snapshot.journal.path}.index"

    def before(self) -> None:
        """Scan the tree, and save what only the tree has, because a command is about to run."""
        self.snapshot.begin_changes()
        git = self._git()
        self._remove_files()
        workspace, snapshot = self.store.workspace, self.snapshot
        with Journal(self._sidecar) as sidecar:
            found = self._ask(git) if git else None
            scan = scan_tree(workspace, self._ignored)
            self._before = {**scan.stamps, WORKSPACE: Stamp.of(os.lstat(workspace))}
            self._separate = scan_separate(workspace, scan.separate)
            only_here = self._only_in_tree(git, found)
            sizes = {path: self._before[path].size for path in only_here if S_ISREG(self._before[path].mode)}
            self._too_large = {path: size for path, size in sizes.items() if size > snapshot.limit}
            if snapshot.all_or_nothing:
                self._check_room(sizes)
            for path, state in states_of(workspace, only_here, snapshot.limit):
                self._room -= len(state.content)
                if self._room >= 0:
                    sidecar.add_state("before", path, state)
            sidecar.add("apart", data=_pack(self._separate))
            sidecar.add("table", data=_pack(self._before))
            if snapshot.durable:
                sidecar.sync()

    @property
    def warning(self) -> str:
        """A note on files that are too large to save, which the command may change."""
        if not self._too_large:
            return ""
        paths, most = format_paths(list(self._too_large)), -(-max(self._too_large.values()) // MB)
        why = f"--snapshot-limit={most}MB keeps them"
        return f"too large to be kept for undo, should a command change them: {paths} ({why})"

    def _check_room(self, sizes: Mapping[str, int]) -> None:
        """Raise where not all can be saved that a command may change, so that it could not be rolled back."""
        large = next(iter(self._too_large), None)
        if large is None and sum(sizes.values()) <= self._room:
            return
        what, has, most, remedy = (
            (large, sizes[large], self.snapshot.limit, "raise --snapshot-limit")
            if large is not None
            else (
                "the untracked files here",
                sum(sizes.values()),
                self._room,
                "add it to git, or raise history_size",
            )
        )
        message = (
            f"{what}: {-(-has // MB):,} MB, but a command can be rolled back only up to {most // MB:,} MB"
        )
        self._remove_files()
        raise CladaError("permission_denied", message, f"{remedy}, or do without --atomic")

    def find_suspects(self) -> None:
        """Name in the journal what is different since the command began during which the run was killed.

        The command's changes cannot be told from those that the user made since, so none is undone. The
        states before the command are saved beside the names.
        """
        with read_journal(self._sidecar) as journal:
            tables = {
                each.fields[0]: journal.content(each) for each in journal.records() if not each.fields[1:]
            }
        if "table" in tables:  # else the command had not been started
            git = self._git()
            self._ignored = git_files.ignored_paths(git, self.store.prefix) if git else frozenset()
            self._before, self._separate = _unpack(tables["table"]), _unpack(tables.get("apart", b""))
            _now, changed = self._changed_paths(git)
            for path, before, _after in self._differences(git, changed):
                self.snapshot.journal.add("suspect", path)
                if before and before.can_be_put_back:
                    self.snapshot.journal.add_state("was", path, before)
            for path in self.lost:
                self.snapshot.journal.add("suspect", path)
        self._remove_files()

    def after(self, *, own_git: bool = False) -> None:
        """Scan again, and record what the command has changed. `own_git`: it was a git command."""
        git = self._git()
        now, changed = self._changed_paths(git)
        if git and changed and not own_git:
            others = self._changed_in_index(git).intersection(changed)
            self.others += sorted(others)
            changed = [path for path in changed if path not in others]
        if changed:
            self._record(git, changed, now)
        self._remove_files()

    def take_over(self, writes: OverlayWrites) -> None:
        """Take over what was put in place of a command that had an overlay: this is all that it changed."""
        self.lost += [display_path(parts) for parts in writes.repositories]
        git = self._git()
        paths = writes.paths if git else []
        for path in git_files.ignored(git, self.store.prefix, paths) if git and paths else ():
            self.snapshot.journal.add("ignored", path)

    def _git(self) -> Git | None:
        if self.store.repository is None:
            return None
        check_identity(self.store.repository)
        return hardened_git(self.store.repository, refresh=False)

    def _copy_index(self, git: Git) -> None:
        data = _read(os.path.join(git.variables["GIT_DIR"], "index"))
        if not data:
            return  # nothing was ever added
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW
        with open(os.open(self._index, flags, 0o600), "wb") as copy:
            copy.write(data)

    def _ask(self, git: Git) -> WorkTreeStatus:
        """Ask git what is changed here, and what is ignored."""
        self._copy_index(git)  # first: what is staged after this is not the command's
        found = work_tree_status(git, self.store.prefix, ignored=True)
        self._ignored = git_files.ignored_in_status(found, self.store.prefix)
        self.ignored |= self._ignored
        return found

    def _only_in_tree(self, git: Git | None, found: WorkTreeStatus | None) -> list[str]:
        """Return the paths that git may not have as they are in the tree; without git, all of them."""
        if git is None or found is None:
            plain = (path for path, stamp in self._before.items() if not S_ISDIR(stamp.mode))
            directories = (path for path, stamp in self._before.items() if S_ISDIR(stamp.mode))
            return [*plain, *filter(self._has_attributes, directories)]
        prefix = self.store.prefix
        sizes = {prefix + path: stamp.size for path, stamp in self._before.items() if S_ISREG(stamp.mode)}
        known = {*found.changed, *found.untracked, *found.unmerged, *git_files.assumed_unchanged(git, prefix)}
        known |= git_files.converted(git, prefix, self._index, sizes)
        paths = {path.removeprefix(prefix) for path in known}.union(self._ignored_to_save())
        return [path for path in self._before if path in paths or self._has_attributes(path)]

    def _ignored_to_save(self) -> list[str]:
        """Return the ignored files whose content is saved: likely secrets first, then small ones."""
        sizes = {path: self._before[path].size for path in self._ignored if path in self._before}
        room, chosen = min(MOST_OF_IGNORED, self._room), list[str]()
        for path in sorted(sizes, key=lambda path: (not looks_secret(path), sizes[path]))[:MOST_IGNORED]:
            room -= sizes[path]
            if room < 0 or sizes[path] > self.snapshot.limit:
                break
            chosen.append(path)
        return chosen

    def _has_attributes(self, path: str) -> bool:
        """Whether a path has an access control list or another extended attribute, unknown to git."""
        if S_ISLNK(self._before[path].mode) or sys.platform != "linux":
            return False
        try:
            return bool(os.listxattr(f"{self.store.workspace}/{path}", follow_symlinks=False))
        except OSError:
            return False  # the file system has none

    def _changed_paths(self, git: Git | None) -> tuple[Stamps, list[str]]:
        """Return the stamps now, and the paths whose stamps differ."""
        workspace = self._reopen_workspace()
        scan = scan_tree(self.store.workspace, self._ignored)
        now = {**scan.stamps, WORKSPACE: workspace}
        changed = [path for path, stamp in now.items() if self._before.get(path) != stamp]
        if scan.closed:
            new_ones = {path for path in scan.closed if path not in self._before}
            self.lost += sorted(new_ones)
            changed = [path for path in changed if path not in new_ones]
        if git:
            hidden = self._new_and_ignored(git, changed, now)
            changed = [path for path in changed if path not in hidden]
        gone = [path for path in self._before if path not in now]
        gone = [path for path in gone if not any(path.startswith(f"{each}/") for each in scan.closed)]
        self._scan_separate_again()
        return now, [*changed, *gone]

    def _scan_separate_again(self) -> None:
        """Scan ignored directories and nested repositories again; name those that have changed as lost."""
        directories = dict.fromkeys(key.partition("//")[0] for key in self._separate)
        there = (each for each in directories if os.path.isdir(os.path.join(self.store.workspace, each)))
        now = scan_separate(self.store.workspace, there)
        changed = (key for key, stamp in self._separate.items() if not is_same_save(now.get(key), stamp))
        self.lost += dict.fromkeys(key.partition("//")[0] for key in changed)

    def _reopen_workspace(self) -> Stamp:
        """Return the stamp of the workspace itself, made accessible again if a command has closed it."""
        status = os.lstat(self.store.workspace)
        if status.st_mode & OWNER_ALL != OWNER_ALL and status.st_uid == os.geteuid():
            os.chmod(self.store.workspace, S_IMODE(status.st_mode) | OWNER_ALL)
        return Stamp.of(os.lstat(self.store.workspace))

    def _new_and_ignored(self, git: Git, changed: list[str], now: Stamps) -> set[str]:
        """Return new paths in ignored directories; with very many ignored paths, all of these."""
        ignored = git_files.ignored(
            git, self.store.prefix, [path for path in changed if path not in self._before]
        )
        directories = {path for path in ignored if S_ISDIR(now[path].mode)}
        inside = {path for path in ignored if not directories.isdisjoint(with_parents(path))}
        alone = ignored - inside
        if len(alone) > MOST_IGNORED:
            return ignored
        self._ignored |= alone
        return inside

    def _differences(self, git: Git | None, paths: list[str]) -> Iterator[tuple[str, State | None, State]]:
        """Yield the states before and now of those of these paths that differ; None if it was not saved."""
        saved = _saved_states(self._sidecar)
        missing = [path for path in paths if path in self._before and path not in saved]
        files = [path for path in missing if not S_ISDIR(self._before[path].mode)]
        saved |= self._from_git(git, files) if git and files else {}
        for path, after in states_of(self.store.workspace, paths, self.snapshot.limit):
            before = self._state_before(path, saved)
            if not (before and before.is_like(after) and before.same_xattrs(after)):
                yield path, before, after

    def _record(self, git: Git | None, paths: list[str], now: Stamps) -> None:
        """Record the differences at these paths in the journal."""
        for path, before, after in self._differences(git, paths):
            stamp = stamp_at(None, os.path.join(self.store.workspace, path))
            if not is_same_save(stamp, now.get(path)):
                self.others.append(path)  # it was saved after the command had ended
                continue
            if before is None or not before.can_be_put_back:
                self.lost.append(path)
                self.unsaved[path] = stamp
            else:
                self.snapshot.found(tuple(path.split("/")), before, after, stamp)
                if path in self._ignored:
                    self.snapshot.journal.add("ignored", path)

    def _state_before(self, path: str, saved: Mapping[str, State]) -> State | None:
        stamp = self._before.get(path)
        if stamp is None:
            return ABSENT
        if S_ISDIR(stamp.mode) and path not in saved:
            return State("directory", S_IMODE(stamp.mode))
        return saved.get(path)

    def _from_git(self, git: Git, paths: list[str]) -> dict[str, State]:
        """Return the states of these files from git's index, if the size is that of the file in the tree."""
        names = git_files.objects(git, self._index, [self.store.prefix + path for path in paths])
        wanted = [path for path in paths if self.store.prefix + path in names]
        found: dict[str, State] = {}
        for filters in (False, True):
            left = [path for path in wanted if path not in found]
            pairs = [(names[self.store.prefix + path], self.store.prefix + path) for path in left]
            for path, content in zip(left, git_files.contents(git, pairs, filters=filters), strict=True):
                stamp = self._before[path]
                if content is not None and len(content) == stamp.size:
                    kind = "link" if S_ISLNK(stamp.mode) else "file"
                    found[path] = State(kind, S_IMODE(stamp.mode), None, content)
        return found

    def _changed_in_index(self, git: Git) -> set[str]:
        """Return the paths that were staged, or committed, since the scan before the command."""
        if _read(self._index) == _read(os.path.join(git.variables["GIT_DIR"], "index")):
            return set()
        was, now = (git_files.entries(git, index) for index in (self._index, ""))
        prefix = self.store.prefix
        return {
            path.removeprefix(prefix) for path in was.keys() | now.keys() if was.get(path) != now.get(path)
        }

    def _remove_files(self) -> None:
        for path in (self._index, self._sidecar):  # the sidecar last: it shows that there is more to remove
            with suppress(FileNotFoundError):
                os.unlink(path)


def find_suspects(store: Store, number: int, settings: Settings) -> None:
    """Complete the journal of a killed run, which may have been in another part of the repository."""
    run = next((run for run in history.all_runs(store) if run.number == number), None)
    if run is None:
        return
    place = store
    if store.repository and not store.outside:
        workspace = os.path.join(store.repository.root, run.prefix).rstrip("/")
        place = store.replace(workspace=workspace, prefix=run.prefix)
    with Journal(store.journal(number), again=True) as journal:
        TreeScan(place, Snapshot(journal, settings.snapshot_limit), settings.history_size).find_suspects()


def _read(path: str) -> bytes:
    try:
        with open(os.open(path, os.O_RDONLY | NO_FOLLOW), "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""


def _saved_states(sidecar: str) -> dict[str, State]:
    found: dict[str, State] = {}
    with read_journal(sidecar) as journal:
        for record in journal.records():
            if record.fields[0] == "before" and (state := journal.state(record)):
                found[record.fields[1]] = state
    return found
