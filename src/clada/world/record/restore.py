"""Puts paths back to their state before a run: content, mode, owner and attributes, as far as permitted.

`compare` says which paths can be put back, `restore` does it. `roll_back` does both for the atomic part of a
run.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

from clada.errors import CladaError, from_os_error, system_words
from clada.values import Value
from clada.world.files.atomic import Ownership, set_xattrs
from clada.world.files.content import AS_OWNER, ConcurrentChangeError, Version
from clada.world.files.paths import Parts, new_on_the_way
from clada.world.files.workspace import Workspace
from clada.world.record.states import ABSENT, State, state_and_version
from clada.world.record.tree_diff import ChangedPath, RunChanges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

OWNER_RIGHTS = 0o700  # to read, write and enter a directory
OTHER_OWNER = "has another owner, or other attributes, than it had"


class RestoreStep(Value):
    """A path to put back."""

    changed: ChangedPath
    now: State
    before: State
    after: State  # the run's, which matches the state now
    version: Version | None = None  # of what is there now; another one means that it was changed meanwhile

    @property
    def path(self) -> str:
        """The path below the workspace."""
        return self.changed.path

    @property
    def parts(self) -> Parts:
        """The parts of the path."""
        return self.changed.parts


class Comparison(Value):
    """What a comparison of a run's changes with the tree found."""

    steps: list[RestoreStep]  # paths that are as the run left them
    changed_since: list[str]  # paths that were changed after the run
    unreadable: dict[str, str]  # paths whose state cannot be read, and why


# The state of a path now.


def current_state(workspace: Workspace, parts: Parts) -> State:
    """Return the state of a path."""
    return _state_and_version(workspace, parts)[0]


def _state_and_version(workspace: Workspace, parts: Parts) -> tuple[State, Version | None]:
    """Return the state of a path, and its version; it is absent if its directory is gone.

    Any other error is raised, because a path that cannot be read may be in any state.
    """
    try:
        parent = workspace.handle(parts[:-1])
    except CladaError as error:
        if error.error.type in {"file_not_found", "symlink_not_allowed"}:
            return ABSENT, None
        raise
    try:
        return state_and_version(parent, parts[-1])
    except OSError as error:
        raise from_os_error(error) from None
    finally:
        os.close(parent)


@contextmanager
def temporarily_writable(workspace: Workspace, paths: Iterable[Parts]) -> Iterator[dict[Parts, int]]:
    """Let the owner enter and write the directories above these paths; yield the modes that they had.

    These modes are set again at the end, except those that the caller has removed. A run may have closed the
    directories, or opened them only while it changed something there.
    """
    above: set[Parts] = set()
    for parts in paths if os.geteuid() else ():
        above.update(new_on_the_way(parts, above))
    modes: dict[Parts, int] = {}
    for parts in sorted(above, key=len):
        try:
            now = current_state(workspace, parts)
        except CladaError:
            continue  # the comparison of a path below it will say why
        mode, is_ours = now.mode or 0, now.owner is not None and now.owner[0] == os.geteuid()
        if now.kind == "directory" and mode & OWNER_RIGHTS != OWNER_RIGHTS and is_ours:
            workspace.set_mode(parts, mode | OWNER_RIGHTS)
            modes[parts] = mode
    try:
        yield modes
    finally:
        for parts, mode in reversed(modes.items()):
            if current_state(workspace, parts).kind == "directory":
                workspace.set_mode(parts, mode)


# Which paths can be put back.


def compare(
    changes: RunChanges,
    interrupted: RunChanges,
    workspace: Workspace,
    modes: Mapping[Parts, int],
    *,
    killed: bool,
) -> Comparison:
    """Compare what a run left with the tree as it is now.

    `interrupted` is what an earlier undo of the run did before it was stopped; `modes` are those of
    directories that are temporarily writable.
    """
    found = Comparison([], [], {})
    undone = {changed.path: changed for changed in interrupted.paths}
    for changed in changes.paths:
        before = changed.before
        try:
            now, version = _state_and_version(workspace, changed.parts)
        except CladaError as error:
            found.unreadable[changed.path] = error.error.message
            continue
        now = now.replace(mode=modes.get(changed.parts, now.mode))
        if before.digest:
            continue  # its content was not saved; clada does not write such a record
        if now.is_like(before) and not _has_new_xattrs(changed, now, before):
            continue  # it is back already
        after = _matching_state(changed, now, killed=killed)
        if after is None and changed.path in undone:
            after = _matching_state(undone[changed.path], now, killed=True)
        elif after and before.kind == now.kind == "directory" and after.mode is None:
            continue
        if after:
            found.steps.append(RestoreStep(changed, now, before, after, version))
        elif not now.replace(mode=None).is_like(before):  # if only the mode was changed, that stays
            found.changed_since.append(changed.path)
    found.changed_since.extend((*_blocked(workspace, found.steps), *_in_the_way(workspace, found.steps)))
    return found


def _has_new_xattrs(changed: ChangedPath, now: State, before: State) -> bool:
    """Whether a file has extended attributes that the run gave it."""
    after = changed.after
    return not after.same_xattrs(before) and after.same_xattrs(now)


def _matching_state(changed: ChangedPath, now: State, *, killed: bool) -> State | None:
    """Return the state that the run gave a path, if it has that now; a kill may have cut off an addition."""
    before = changed.before
    for state in changed.possible_states():
        if now.is_like(state):
            return state
        cut_off = now.replace(content=state.content[: len(now.content)])
        is_longer = before.kind == "file" and not now.digest and now.content.startswith(before.content)
        if killed and now.is_like(cut_off) and now.kind == "file" and is_longer:
            return state
    return None


def _blocked(workspace: Workspace, steps: Sequence[RestoreStep]) -> list[str]:
    """Return the paths that cannot be put back, because something else is where their directory was."""
    clearing = {step.parts for step in steps if step.now.kind != "directory" == step.before.kind}
    # Each directory above is free, or not: then it is cleared by a step or blocked, with all below it.
    above: dict[Parts, str] = {(): "free"}
    found = []
    for step in steps:
        directory = step.parts[:-1] if step.before.kind != "absent" else ()
        for parts in new_on_the_way(directory, above):
            above[parts] = above[parts[:-1]]
            if parts in clearing and above[parts] == "free":
                above[parts] = "cleared"
            elif above[parts] == "free" and current_state(workspace, parts).kind not in {
                "directory",
                "absent",
            }:
                above[parts] = "blocked"
        if above[directory] == "blocked":
            found.append(step.path)
    return found


def _in_the_way(workspace: Workspace, steps: Sequence[RestoreStep]) -> list[str]:
    """Return what others have put into directories that have to go, because something else was there."""
    directories = [step for step in steps if step.now.kind == "directory"]
    replaced = {step.parts for step in directories if step.before.kind not in {"directory", "absent"}}
    going = {step.parts for step in steps}
    above: dict[Parts, bool] = {(): False}  # whether it is, or is in, a directory that has to go
    found = []
    for step in directories if replaced else ():
        for parts in new_on_the_way(step.parts, above):
            above[parts] = above[parts[:-1]] or parts in replaced
        if above[step.parts]:
            inside = [(*step.parts, name) for name in workspace.names(step.parts)]
            found += ["/".join(parts) for parts in inside if parts not in going]
    return found


# Putting back.


def restore(
    workspace: Workspace,
    steps: Sequence[RestoreStep],
    changed_since: list[str],
    failures: dict[str, str] | None = None,
) -> list[str]:
    """Put these paths back; return notes on what differs from the state before.

    What is in the way is removed first, and directories get their modes last. A path that has another version
    than the step's when it is replaced is left, and added to `changed_since`. The first error is raised; with
    `failures`, the reasons are collected there by path instead, and the other paths are put back.
    """
    deepest = sorted(steps, key=lambda step: len(step.parts), reverse=True)
    going = [step for step in deepest if step.now.kind != step.before.kind or step.now.kind == "link"]
    directories = [step for step in deepest if step.before.kind == "directory"]
    order = (
        (deepest[::-1], _open_directory),
        (going, _unlink),
        (going, _remove_if_empty),
        (deepest[::-1], _put),
        (directories, _finish_directory),
    )
    notes: list[str] = []
    workspace.expected = {step.parts: step.version for step in steps if step.now.kind != "directory"}
    try:
        for step, action in ((step, action) for some, action in order for step in some):
            if step.path in changed_since or (failures and step.path in failures):
                continue
            try:
                notes += action(workspace, step)
            except ConcurrentChangeError:
                changed_since.append(step.path)
            except (CladaError, OSError) as error:
                raised = from_os_error(error) if isinstance(error, OSError) else error
                if failures is None:
                    raise _with_path(step, raised) from None
                failures[step.path] = raised.error.message
    finally:
        workspace.expected = {}
    return notes


def _with_path(step: RestoreStep, raised: CladaError) -> CladaError:
    message = f"{step.path}: {raised.error.message}"
    hint = raised.error.hint or "fix this and run clada undo again: it continues"
    return CladaError.of(raised.error.replace(message=message, hint=hint))


def _open_directory(workspace: Workspace, step: RestoreStep) -> list[str]:
    """Make a directory accessible that the run has closed."""
    mode = step.now.mode or 0
    if step.now.kind == "directory" and mode & OWNER_RIGHTS != OWNER_RIGHTS:
        workspace.set_mode(step.parts, mode | OWNER_RIGHTS)
    return []


def _unlink(workspace: Workspace, step: RestoreStep) -> list[str]:
    """Remove a file or a link that the run put where there was nothing, or something else."""
    if step.now.kind not in {"absent", "directory"}:
        workspace.unlink(step.parts)
    return []


def _remove_if_empty(workspace: Workspace, step: RestoreStep) -> list[str]:
    """Remove a directory that the run made; if another program has put something into it, it stays."""
    if step.now.kind != "directory":
        return []
    try:
        if not workspace.names(step.parts):
            workspace.remove_directory(step.parts)
            return []
    except CladaError:
        if not workspace.names(step.parts):
            raise  # else another program has put something there at this moment
    if step.before.kind != "absent":
        raise CladaError(
            "permission_denied", f"{step.path} is not empty any more", "move its files elsewhere"
        )
    return [f"{step.path}/ is not empty, and stays"]


def _put(workspace: Workspace, step: RestoreStep) -> list[str]:
    """Put back what was at a path."""
    match step.before.kind:
        case "directory":
            if step.now.kind != "directory":
                workspace.make_all(step.parts[:-1])
                workspace.make(step.parts, OWNER_RIGHTS)
        case "file":
            return _put_file(workspace, step)
        case "link":
            workspace.make_link(step.parts, step.before.content)
        case "other":
            return [f"{step.path} was a pipe, a socket or a device, and is not restored"]
        case _:
            pass  # nothing was there
    return []


def _put_file(workspace: Workspace, step: RestoreStep) -> list[str]:
    """Put a file back. One that is still there keeps what the run did not change: mode, owner, attributes."""
    before, now = step.before, step.now
    same = step.after.mode == before.mode and now.same_xattrs(before)
    unknown = step.after.mode is None and not step.changed.was_replaced()
    if now.kind == "file" and (same or unknown):
        workspace.store(step.parts, before.content)
        return []
    mode, notes = before.mode, []
    if mode is not None and mode & AS_OWNER:
        mode &= ~AS_OWNER
        notes.append(f"{step.path} was setuid or setgid, and is not any more")
    same_owner = now.same_xattrs(before) and before.owner in {None, now.owner}
    if mode is not None and now.replace(mode=None).is_like(before) and same_owner:
        workspace.set_mode(step.parts, mode)  # needs no right to write in the directory
        return notes
    if before.owner is None:  # its content came from git
        workspace.store(step.parts, before.content, mode)
        return notes
    workspace.store(step.parts, before.content, mode, Ownership(before.owner, dict(before.attributes)))
    now = current_state(workspace, step.parts)
    if (now.owner, now.attributes) != (before.owner, before.attributes):
        notes.append(f"{step.path} {OTHER_OWNER}")
    return notes


def _finish_directory(workspace: Workspace, step: RestoreStep) -> list[str]:
    """Set the mode of a directory, now that all is in it; and owner and attributes, if it was gone."""
    notes = []
    if step.now.kind != "directory":
        handle = workspace.handle(step.parts)
        try:
            if step.before.owner and step.before.owner != (os.geteuid(), os.getegid()):
                os.fchown(handle, *step.before.owner)
            set_xattrs(handle, dict(step.before.attributes))
        except (OSError, CladaError):
            notes.append(f"{step.path}/ {OTHER_OWNER}")
        finally:
            os.close(handle)
    if step.before.mode is not None:
        workspace.set_mode(step.parts, step.before.mode)
    return notes


# Rolling back.


class Rollback(Value):
    """What a rollback did, by path."""

    changed_since: tuple[str, ...] = ()  # left, because another program has changed them
    failed: Mapping[str, str] = {}  # could not be read, or put back: why
    replaced: tuple[str, ...] = ()  # put back, though another program may have changed them; saved for undo
    unattributed: tuple[str, ...] = ()  # left, because another program may have changed them

    @property
    def remaining(self) -> frozenset[str]:
        """The paths that are not as they were before."""
        return frozenset((*self.changed_since, *self.failed, *self.unattributed))


def roll_back(journal: str, workspace: Workspace, mark: int, *, killed: bool = False) -> Rollback:
    """Put back what a run did since a mark, because it failed or was `killed`, perhaps days ago.

    A difference that was only found after a command may be another program's work. During the run it is put
    back, and the state that this replaces is saved in the journal first; after a kill it is left.
    """
    workspace.forget()  # each path needs file handles, and few may be left
    done = _roll_back_once(journal, workspace, mark, killed=killed)
    if done.failed:  # perhaps because another program was at work there: look again
        again = _roll_back_once(journal, workspace, mark, killed=killed)
        done = again.replace(replaced=tuple(dict.fromkeys((*done.replaced, *again.replaced))))
    if not done.failed:
        return done
    # The disk may be full. The journal has all that is needed to try again without recording this; only what
    # would have to be saved first stays.
    snapshot = workspace.stop_recording()
    try:
        again = _roll_back_once(journal, workspace, mark, killed=killed)
    finally:
        if snapshot:
            workspace.record_in(snapshot)
    return again.replace(replaced=done.replaced)


def _roll_back_once(journal: str, workspace: Workspace, mark: int, *, killed: bool) -> Rollback:
    with (
        RunChanges([journal], since=mark) as changes,
        RunChanges([]) as nothing,
        temporarily_writable(workspace, [changed.parts for changed in changes.paths]) as modes,
    ):
        found = compare(changes, nothing, workspace, modes, killed=killed)
        changed_since, failed = found.changed_since, found.unreadable
        steps = [step for step in found.steps if step.path not in changed_since]
        uncertain = [step for step in steps if step.path in changes.found]
        replaced = () if killed else _save_current(workspace, uncertain, failed)
        left = [step.path for step in uncertain if step.path not in replaced]
        steps = [step for step in steps if step.path not in left]
        restore(workspace, steps, changed_since, failed)
        for step in steps:
            modes.pop(step.parts, None)  # it has the mode that it should have
        done = tuple(path for path in replaced if path not in failed and path not in changed_since)
        unattributed = tuple(path for path in left if path not in failed)
        return Rollback(tuple(changed_since), failed, done, unattributed)


def _save_current(
    workspace: Workspace, steps: Sequence[RestoreStep], failed: dict[str, str]
) -> tuple[str, ...]:
    """Write the states that a rollback replaces into the journal; return the paths where that worked."""
    if workspace.snapshot is None:
        return ()
    saved = []
    for step in steps:
        try:
            workspace.snapshot.journal.add_state("replaced", step.path, step.now)
            saved.append(step.path)
        except OSError as error:
            failed[step.path] = system_words(error)
    return tuple(saved)
