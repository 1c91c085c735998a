"""Undoing a run: the files that it changed are put back as they were, in a new commit."""

from __future__ import annotations

import os

from clada.errors import Trouble, system_words
from clada.text.escape import escape_controls
from clada.values import Value
from clada.world.git import commits, history, restoring, staging
from clada.world.git.calls import hardened_git
from clada.world.git.repository import Reaching, check, find
from clada.world.handles import remove_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from clada.world.git.calls import Git
    from clada.world.git.repository import Repository

NOTHING = "000000"  # the mode of what is not there
GITLINK = "160000"  # the mode of a submodule
MAX_NAMED = 20
LISTED = "clada history lists the runs"
NO_RUN = "no run is recorded for this workspace"


class Difference(Value):
    """How one file differs between the commits before and after a run."""

    path: str
    old_mode: str
    old: str
    new_mode: str


class Undone(Value):
    """What an undo did."""

    run: history.Run  # the one that was undone
    number: int  # of the undo itself, which can be undone in turn
    commit: str
    restored: tuple[str, ...]  # files put back as they were, below the workspace
    removed: tuple[str, ...]  # files that were not there before the run
    notes: tuple[str, ...] = ()  # what could not be restored


def past_runs(workspace: str) -> list[history.Run]:
    """Return the recorded runs of the workspace, newest first."""
    repository = find(workspace)
    with Reaching():
        return history.runs(repository)


def runs_elsewhere(workspace: str) -> str | None:
    """Return a clause that names the other workspaces of the repository, if these have runs."""
    repository = find(workspace)
    with Reaching():
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
    with repository.lock(lock_timeout, waiting), Reaching():
        check(repository)
        git = hardened_git(repository)
        runs = history.runs(repository)
        if not runs:
            raise _trouble(NO_RUN, _elsewhere(repository) or LISTED)
        run = _chosen(runs, number)
        _refuse_without_changes(run, runs)
        differences, left = _differences(git, run)
        _refuse_if_changed(git, run, differences)
        try:
            return _undone(git, repository, run, differences, who).replace(notes=_notes(run, left))
        except OSError as error:
            message = f"undoing stopped half way: {escape_controls(system_words(error))}"
            raise Trouble("io_error", message, "every content is in a commit: git log shows them") from None


def _chosen(runs: list[history.Run], number: int | None) -> history.Run:
    """Return the run to undo, which must have been recorded to its end."""
    run = next((run for run in runs if number in {None, run.number}), None)
    if run is None:
        raise _trouble(f"there is no run {number} for this workspace", LISTED)
    if run.after == history.UNKNOWN:
        raise _trouble(
            f"run {run.number} ended before its changes were committed",
            f"git diff {run.before[:12]} shows them, git restore --source={run.before[:12]} FILE undoes them",
        )
    return run


def _refuse_without_changes(run: history.Run, runs: list[history.Run]) -> None:
    """Raise where there is nothing to undo, and name the run before it that changed something."""
    if run.before != run.after:
        return
    lost = _named(run.unrecorded, run.prefix)
    unrecorded = f" that git records; not restored: {lost}" if lost else ""
    older = runs[runs.index(run) + 1 :]
    earlier = next((each for each in older if each.after not in {each.before, history.UNKNOWN}), None)
    hint = f"the last one that did is undone by: clada undo {earlier.number}" if earlier else LISTED
    raise _trouble(f"run {run.number} changed nothing{unrecorded}", hint)


def _differences(git: Git, run: history.Run) -> tuple[list[Difference], list[str]]:
    """Return what the run changed and undo puts back, and the files that it leaves as they are."""
    before = run.before or commits.empty_tree(git)
    found = _diff(git, before, run.after, run.prefix)
    left = [
        each.path
        for each in found
        if GITLINK in {each.old_mode, each.new_mode} or staging.protected(each.path)
    ]
    taken = [each for each in found if each.path not in left]
    if not taken:
        raise _trouble(f"run {run.number} changed nothing that could be undone", LISTED)
    return taken, left


def _diff(git: Git, before: str, after: str, prefix: str) -> list[Difference]:
    limit = ["--", prefix.rstrip("/")] if prefix else []
    call = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--ignore-submodules=none")
    parts = os.fsdecode(git.ask(*call, before, after, *limit)).split("\0")[:-1]
    fields = [part[1:].split(" ") for part in parts[0::2]]
    return [
        Difference(path, old_mode, old, new_mode)
        for path, (old_mode, new_mode, old, _, _) in zip(parts[1::2], fields, strict=True)
    ]


def _refuse_if_changed(git: Git, run: history.Run, differences: list[Difference]) -> None:
    """Raise, naming the files, where undoing would lose what was done to them since."""
    paths = {each.path for each in differences}
    found = staging.scan(git, run.prefix)
    staging.refuse_unmerged(git, found, run.prefix)
    since = {*found.changed, *found.untracked, *found.staged}
    since |= {each.path for each in _diff(git, run.after, found.head, run.prefix)}
    in_the_way = _in_the_way(staging.Tree(git.root), differences)
    changed = sorted((since & paths) | in_the_way)
    if changed:
        raise _trouble(
            f"changed since run {run.number}: {_named(changed, run.prefix)}",
            "undo the later runs first, or put these files back as that run left them",
        )


def _in_the_way(tree: staging.Tree, differences: list[Difference]) -> set[str]:
    """Return what stands where a file has to come back, even if git ignores it."""
    going = {each.path for each in differences if each.old_mode == NOTHING}
    found: set[str] = set()
    for each in differences:
        kind = tree.kind(each.path)
        if each.new_mode != NOTHING:
            found |= set() if kind == "file" else {each.path}
        elif kind == "directory":
            found |= set(tree.files(each.path)) - going
        elif kind == "beyond":
            found |= {
                path for path in staging.lineage(each.path) if tree.kind(path) in {"file", "other"}
            } - going
        elif kind != "gone":
            found.add(each.path)
    return found


def _undone(
    git: Git, repository: Repository, run: history.Run, differences: list[Difference], author: commits.Author
) -> Undone:
    """Put the files back and commit them; what else is staged or changed stays as it is."""
    _check_contents(git, run.prefix, differences)
    when, head = commits.timestamp(), commits.head(git)
    store = os.path.join(repository.git_dir, "clada", f"undo.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        tree = _tree(git, store, head.tree, differences)
        begun = _begun(repository, run, when, head.commit)
        _put_back(git.root, store, run.prefix, differences)
    finally:
        remove_tree(store)
    staging.stage(git, [each.path for each in differences])
    made = commits.record(git, tree, head.commit, f"[clada:undo] {when}", author)
    history.end(repository, begun.replace(ended="ok", after=made, post=made, unrecorded=run.unrecorded))
    restored = [each.path for each in differences if each.old_mode != NOTHING]
    removed = [each.path for each in differences if each.old_mode == NOTHING]
    return Undone(run, begun.number, made, _below(run.prefix, restored), _below(run.prefix, removed))


def _begun(repository: Repository, run: history.Run, when: str, head: str) -> history.Run:
    """Record the start of the undo, which is a run like any other."""
    what = f"undo of run {run.number}"
    return history.start(repository, history.Run(0, when, what, run.prefix, head))


def _check_contents(git: Git, prefix: str, differences: list[Difference]) -> None:
    """Raise, before anything is touched, where git no longer has what is to come back."""
    wanted = {each.old: each.path for each in differences if each.old_mode != NOTHING}
    given = "".join(f"{name}\n" for name in wanted).encode()
    listed = git.ask("cat-file", "--batch-check", given=given).decode().splitlines()
    missing = [wanted[line.split()[0]] for line in listed if line.endswith(" missing")]
    if missing:
        names = _named(missing, prefix)
        raise _trouble(f"the repository does not have the content of {names}", "fetch it first")


def _tree(git: Git, store: str, tree: str, differences: list[Difference]) -> str:
    """Return the last commit's tree with these files as they were, and write them into the store."""
    os.makedirs(store)
    index = f"{store}/index"
    gone_first = sorted(differences, key=lambda each: each.old_mode != NOTHING)
    given = os.fsencode("".join(f"{each.old_mode} {each.old}\t{each.path}\0" for each in gone_first))
    git.ask("read-tree", tree, GIT_INDEX_FILE=index)
    git.ask("update-index", "--add", "--replace", "-z", "--index-info", given=given, GIT_INDEX_FILE=index)
    back = [each.path for each in differences if each.old_mode != NOTHING]
    restoring.check_out(git, index, f"{store}/files", back)
    return git.word("write-tree", "--missing-ok", GIT_INDEX_FILE=index)


def _put_back(root: str, store: str, prefix: str, differences: list[Difference]) -> None:
    """Make the files in the tree what they were before the run."""
    for each in differences:
        if each.old_mode == NOTHING:
            restoring.take_away(root, each.path, prefix.rstrip("/"))
    for each in differences:
        if each.old_mode != NOTHING:
            same = each.old_mode == each.new_mode
            restoring.bring_back(root, each.path, f"{store}/files", like_present=same)


def _notes(run: history.Run, left: list[str]) -> tuple[str, ...]:
    """Return what the undo could not restore, in words."""
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
    """Return the paths as the workspace knows them; what is not in it keeps its whole name."""
    return tuple(path.removeprefix(prefix) for path in paths)


def _named(paths: Sequence[str], prefix: str = "") -> str:
    names = ", ".join(escape_controls(path) for path in _below(prefix, paths[:MAX_NAMED]))
    return f"{names} and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else names


def _trouble(message: str, hint: str) -> Trouble:
    return Trouble("git_operation_failed", message, hint)
