"""Undoes a run: the files that it changed are put back as they were, in a new commit.

Git writes the old files into a directory of its own first. From there each is moved to its place whole, and
never through a link.
"""

from __future__ import annotations

import os
from stat import S_IMODE, S_ISLNK

from clada.errors import Trouble, system_words
from clada.text.escape import escape_controls
from clada.values import Value
from clada.world.files.atomic import AS_OWNER, CHANCE, LEFTOVER
from clada.world.git import commits, history
from clada.world.git.calls import hardened_git
from clada.world.git.repository import check, find, os_errors_as_trouble
from clada.world.handles import is_directory, open_descendant, remove_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from clada.world.git.calls import Git
    from clada.world.git.repository import Repository

NOTHING = "000000"  # the mode of a file that does not exist
GITLINK = "160000"  # the mode of a submodule
MAX_NAMED = 20
LISTED = "clada history lists the runs"
NO_RUN = "no run is recorded for this workspace"


class ChangedFile(Value):
    """A file that differs between the commits before and after a run."""

    path: str
    old_mode: str
    old: str  # the object with its content before the run
    new_mode: str

    @property
    def was_there(self) -> bool:
        """Whether it existed before the run, and so has to be put back."""
        return self.old_mode != NOTHING


class Undone(Value):
    """What an undo did."""

    run: history.RecordedRun  # the one that was undone
    number: int  # of the undo itself, which can be undone in turn
    commit: str
    restored: tuple[str, ...]  # files put back as they were, below the workspace
    removed: tuple[str, ...]  # files that did not exist before the run
    notes: tuple[str, ...] = ()  # what could not be restored


def past_runs(workspace: str) -> list[history.RecordedRun]:
    """Return the recorded runs of the workspace, newest first."""
    repository = find(workspace)
    with os_errors_as_trouble():
        return history.runs(repository)


def runs_elsewhere(workspace: str) -> str | None:
    """Return a clause that names the other workspaces of the repository that have runs; None if none has."""
    repository = find(workspace)
    with os_errors_as_trouble():
        return _elsewhere(repository)


def _elsewhere(repository: Repository) -> str | None:
    others = history.workspaces(repository)
    return f"the repository has runs of other workspaces (--workspace): {_named(others)}" if others else None


def undo(
    workspace: str,
    number: int | None = None,
    author: str = "clada",
    *,
    lock_timeout: float = 10.0,
    waiting: Callable[[], None] | None = None,
) -> Undone:
    """Undo the last run in the workspace, or the one with this number."""
    repository = find(workspace)
    who = commits.read_author(author)
    with repository.lock(lock_timeout, waiting), os_errors_as_trouble():
        check(repository)
        git = hardened_git(repository)
        runs = history.runs(repository)
        if not runs:
            raise _trouble(NO_RUN, _elsewhere(repository) or LISTED)
        run = _chosen(runs, number)
        _refuse_without_changes(run, runs)
        files, left = _changed_files(git, run)
        _refuse_if_changed_since(git, run, files)
        _refuse_if_lost(git, run.prefix, files)
        try:
            undone = _restore_and_commit(git, repository, run, files, who)
        except OSError as error:
            message = f"undoing stopped half way: {escape_controls(system_words(error))}"
            raise Trouble("io_error", message, "every content is in a commit: git log shows them") from None
        return undone.replace(notes=_notes(run, left))


# What is to be undone, and whether it can be.


def _chosen(runs: list[history.RecordedRun], number: int | None) -> history.RecordedRun:
    """Return the run to undo; raise if there is none, or if the commit after it is missing."""
    run = next((run for run in runs if number in {None, run.number}), None)
    if run is None:
        raise _trouble(f"there is no run {number} for this workspace", LISTED)
    if run.after == history.UNKNOWN:
        raise _trouble(
            f"run {run.number} ended before its changes were committed",
            f"git diff {run.before[:12]} shows them, git restore --source={run.before[:12]} FILE undoes them",
        )
    return run


def _refuse_without_changes(run: history.RecordedRun, runs: list[history.RecordedRun]) -> None:
    """Raise if there is nothing to undo, and name the last run before it that changed something."""
    if run.before != run.after:
        return
    lost = _named(run.unrecorded, run.prefix)
    unrecorded = f" that git records; not restored: {lost}" if lost else ""
    older = runs[runs.index(run) + 1 :]
    earlier = next((each for each in older if each.after not in {each.before, history.UNKNOWN}), None)
    hint = f"the last one that did is undone by: clada undo {earlier.number}" if earlier else LISTED
    raise _trouble(f"run {run.number} changed nothing{unrecorded}", hint)


def _changed_files(git: Git, run: history.RecordedRun) -> tuple[list[ChangedFile], list[str]]:
    """Return the files that the run changed and undo puts back, and the paths that it leaves alone."""
    found = _diff(git, run.before or commits.empty_tree(git), run.after, run.prefix)
    left = [
        each.path
        for each in found
        if GITLINK in {each.old_mode, each.new_mode} or commits.is_off_limits(each.path)
    ]
    taken = [each for each in found if each.path not in left]
    if not taken:
        raise _trouble(f"run {run.number} changed nothing that could be undone", LISTED)
    return taken, left


def _diff(git: Git, before: str, after: str, prefix: str) -> list[ChangedFile]:
    limit = ["--", prefix.rstrip("/")] if prefix else []
    call = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--ignore-submodules=none")
    parts = os.fsdecode(git.check_output(*call, before, after, *limit)).split("\0")[:-1]
    fields = [part[1:].split(" ") for part in parts[0::2]]
    return [
        ChangedFile(path, old_mode, old, new_mode)
        for path, (old_mode, new_mode, old, _, _) in zip(parts[1::2], fields, strict=True)
    ]


def _refuse_if_changed_since(git: Git, run: history.RecordedRun, files: list[ChangedFile]) -> None:
    """Raise, naming the files, if undoing would lose what was done to them since."""
    paths = {each.path for each in files}
    found = commits.status(git, run.prefix)
    commits.refuse_unmerged(git, found, run.prefix)
    since = {*found.changed, *found.untracked, *found.staged}
    since |= {each.path for each in _diff(git, run.after, found.head, run.prefix)}
    changed = sorted((since & paths) | _in_the_way(commits.WorkTree(git.root), files))
    if changed:
        raise _trouble(
            f"changed since run {run.number}: {_named(changed, run.prefix)}",
            "undo the later runs first, or put these files back as that run left them",
        )


def _in_the_way(tree: commits.WorkTree, files: list[ChangedFile]) -> set[str]:
    """Return what is at places where a file has to come back, even if git ignores it."""
    going = {each.path for each in files if not each.was_there}
    found: set[str] = set()
    for each in files:
        kind = tree.kind(each.path)
        if each.new_mode != NOTHING:
            found |= set() if kind == "file" else {each.path}
        elif kind == "directory":
            found |= set(tree.files(each.path)) - going
        elif kind == "beyond":
            found |= {
                path for path in commits.with_parents(each.path) if tree.kind(path) in {"file", "other"}
            } - going
        elif kind != "gone":
            found.add(each.path)
    return found


def _refuse_if_lost(git: Git, prefix: str, files: list[ChangedFile]) -> None:
    """Raise if git no longer has a content that is to come back."""
    wanted = {each.old: each.path for each in files if each.was_there}
    stdin = "".join(f"{name}\n" for name in wanted).encode()
    listed = git.check_output("cat-file", "--batch-check", stdin=stdin).decode().splitlines()
    missing = [wanted[line.split()[0]] for line in listed if line.endswith(" missing")]
    if missing:
        names = _named(missing, prefix)
        raise _trouble(f"the repository does not have the content of {names}", "fetch it first")


# Undoing it.


def _restore_and_commit(
    git: Git,
    repository: Repository,
    run: history.RecordedRun,
    files: list[ChangedFile],
    author: commits.Author,
) -> Undone:
    """Put the files back and commit them; what else is staged or changed stays as it is."""
    when, head = commits.timestamp(), commits.head(git)
    store = os.path.join(repository.git_dir, "clada", f"undo.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        tree = _check_out(git, store, head.tree, files)
        # An undo is a run like any other in the history.
        begun = history.RecordedRun(0, when, f"undo of run {run.number}", run.prefix, head.commit)
        begun = history.start(repository, begun)
        for each in files:
            if not each.was_there:
                remove_file(git.root, each.path, run.prefix.rstrip("/"))
        for each in files:
            if each.was_there:
                same_mode = each.old_mode == each.new_mode
                restore_file(git.root, each.path, f"{store}/files", like_present=same_mode)
    finally:
        remove_tree(store)
    commits.stage(git, [each.path for each in files])
    made = commits.commit_tree(git, tree, head.commit, f"[clada:undo] {when}", author)
    history.end(repository, begun.replace(ended="ok", after=made, post=made, unrecorded=run.unrecorded))
    restored = [each.path for each in files if each.was_there]
    removed = [each.path for each in files if not each.was_there]
    return Undone(run, begun.number, made, _below(run.prefix, restored), _below(run.prefix, removed))


def _check_out(git: Git, store: str, tree: str, files: list[ChangedFile]) -> str:
    """Write the files as they were to `files` in the store; return the last commit's tree with them."""
    os.makedirs(store)
    index = f"{store}/index"
    gone_first = sorted(files, key=lambda each: each.was_there)
    entries = os.fsencode("".join(f"{each.old_mode} {each.old}\t{each.path}\0" for each in gone_first))
    git.check_output("read-tree", tree, GIT_INDEX_FILE=index)
    update = ("update-index", "--add", "--replace", "-z", "--index-info")
    git.check_output(*update, stdin=entries, GIT_INDEX_FILE=index)
    back = b"".join(os.fsencode(each.path) + b"\0" for each in files if each.was_there)
    if back:
        checkout = ("checkout-index", "-f", "-q", "-z", "--stdin", f"--prefix={store}/files/")
        git.check_output(*checkout, stdin=back, GIT_INDEX_FILE=index)
    return git.check_word("write-tree", "--missing-ok", GIT_INDEX_FILE=index)


def remove_file(root: str, path: str, keep: str) -> None:
    """Remove a file, and the directories that this leaves empty, except for the one to keep."""
    directory, _, name = path.rpartition("/")
    parent = open_descendant(root, directory)
    try:
        os.unlink(name, dir_fd=parent)
    finally:
        os.close(parent)
    while directory and directory != keep and _remove_empty(root, directory):
        directory = directory.rpartition("/")[0]


def _remove_empty(root: str, directory: str) -> bool:
    """Remove a directory if there is nothing in it; return whether that is so."""
    above, _, name = directory.rpartition("/")
    try:
        parent = open_descendant(root, above)
    except OSError:
        return False  # another program has changed something there
    try:
        os.rmdir(name, dir_fd=parent)
    except OSError:
        return False  # it is not empty
    finally:
        os.close(parent)
    return True


def restore_file(root: str, path: str, store: str, *, like_present: bool) -> None:
    """Move a file from the store to its place; `like_present`: with mode and owner of the present one."""
    directory, _, name = path.rpartition("/")
    source = os.path.join(store, path)
    parent = open_descendant(root, directory, make=True)
    try:
        if like_present:
            _copy_mode(source, os.stat(name, dir_fd=parent, follow_symlinks=False))
        _remove_empty_directories(name, parent)
        _move(source, name, parent)
    finally:
        os.close(parent)


def _copy_mode(path: str | int, present: os.stat_result) -> None:
    """Give a file the owner and the mode of another; if it cannot be given away, it stays the user's own."""
    if S_ISLNK(present.st_mode):
        return
    mode = S_IMODE(present.st_mode)
    try:
        os.chown(path, present.st_uid, present.st_gid)
    except PermissionError:
        mode &= ~AS_OWNER
    os.chmod(path, mode)


def _remove_empty_directories(name: str, parent: int) -> None:
    """Remove a directory that is where a file has to be, with the empty directories in it."""
    if not is_directory(name, parent):
        return
    for _, directories, _, handle in os.fwalk(name, topdown=False, dir_fd=parent):
        for inner in directories:
            os.rmdir(inner, dir_fd=handle)
    os.rmdir(name, dir_fd=parent)


def _move(source: str, name: str, parent: int) -> None:
    try:
        os.rename(source, name, dst_dir_fd=parent)
    except OSError as error:
        import errno

        if error.errno != errno.EXDEV:
            raise
        _copy(source, name, parent)


def _copy(source: str, name: str, parent: int) -> None:
    """Move a file to another file system: as a copy beside its place that is then renamed."""
    temporary = f"{LEFTOVER}{os.getpid()}-{os.urandom(CHANCE).hex()}"  # a later run removes it
    try:
        if os.path.islink(source):
            os.symlink(os.readlink(source), temporary, dir_fd=parent)
        else:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            handle = os.open(temporary, flags, 0o600, dir_fd=parent)
            with open(source, "rb") as old, open(handle, "wb") as new:
                while chunk := old.read(1 << 20):
                    new.write(chunk)
                new.flush()
                _copy_mode(handle, os.fstat(old.fileno()))
        os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        remove_tree(temporary, parent)
        raise


# What is said about it.


def _notes(run: history.RecordedRun, left: list[str]) -> tuple[str, ...]:
    """Return what the undo could not restore."""
    notes = []
    if run.unrecorded:
        names = _named(run.unrecorded, run.prefix)
        notes.append(f"not restored, because git does not record them: {names}")
    if left:
        names = _named(left, run.prefix)
        notes.append(f"not restored, because undo leaves approvals and submodules alone: {names}")
    if run.commands:
        notes.append("not undone: what the run's commands did to ignored files and outside the workspace")
    return tuple(notes)


def _below(prefix: str, paths: Iterable[str]) -> tuple[str, ...]:
    """Return the paths relative to the workspace; those outside of it stay as they are."""
    return tuple(path.removeprefix(prefix) for path in paths)


def _named(paths: Sequence[str], prefix: str = "") -> str:
    names = ", ".join(escape_controls(path) for path in _below(prefix, paths[:MAX_NAMED]))
    return f"{names} and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else names


def _trouble(message: str, hint: str) -> Trouble:
    return Trouble("git_operation_failed", message, hint)
