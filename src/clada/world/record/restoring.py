"""Puts places back as they were before a run: content, mode, owner and attributes, as far as we may."""

from __future__ import annotations

import os

from clada.errors import CladaError, from_os_error
from clada.values import Value
from clada.world.files.atomic import Ownership, set_xattrs
from clada.world.files.content import AS_OWNER
from clada.world.files.paths import Parts, new_on_the_way
from clada.world.files.workspace import Workspace
from clada.world.record.changes import ChangedPlace
from clada.world.record.snapshot import ConcurrentChangeError
from clada.world.record.states import ABSENT, State, stamp_at, state_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self

    from clada.world.record.states import Stamp

OPEN = 0o700  # what its owner may do to a directory
OTHER_BELONGINGS = "has another owner, or other attributes, than it had"


class RestoreStep(Value):
    """A place that has to be put back: what is there, and what was."""

    place: ChangedPlace
    now: State
    before: State
    left: State  # by the run
    stamp: Stamp | None = None  # of what is there: another one means that it was changed meanwhile

    @property
    def parts(self) -> Parts:
        """The parts of its path."""
        return self.place.parts


def state_now(workspace: Workspace, parts: Parts) -> State:
    """Return what is at a path."""
    return look_at(workspace, parts)[0]


def look_at(workspace: Workspace, parts: Parts) -> tuple[State, Stamp | None]:
    """Return what is at a path, and a stamp from before; nothing is there if its directory is gone.

    Any other error while looking is raised: that a path cannot be seen says nothing about it.
    """
    try:
        parent = workspace.handle(parts[:-1])
    except CladaError as error:
        if error.error.type in {"file_not_found", "symlink_not_allowed"}:
            return ABSENT, None
        raise
    try:
        stamp = stamp_at(parent, parts[-1])
        return state_at(parent, parts[-1]), stamp
    except OSError as error:
        raise from_os_error(error) from None
    finally:
        os.close(parent)


class OpenedUp:
    """Directories on the way to places, which their owner may enter and write for as long as this is open.

    A run may have closed them, or opened them only for as long as it took to change something there.
    """

    def __init__(self, workspace: Workspace, places: Iterable[Parts]) -> None:
        self._workspace = workspace
        self._places = places if os.geteuid() else ()
        self.modes: dict[Parts, int] = {}  # that they had

    def __enter__(self) -> Self:
        ways: set[Parts] = set()
        for parts in self._places:
            ways.update(new_on_the_way(parts, ways))
        for parts in sorted(ways, key=len):
            try:
                now = state_now(self._workspace, parts)
            except CladaError:
                continue  # whoever looks at a path below it will say why it cannot
            mode = now.mode or 0
            if now.kind == "directory" and mode & OPEN != OPEN and now.owner and now.owner[0] == os.geteuid():
                self._workspace.set_mode(parts, mode | OPEN)
                self.modes[parts] = mode
        return self

    def are_done(self, places: Iterable[Parts]) -> None:
        """Take note that these have been given the modes that they should have."""
        for parts in places:
            self.modes.pop(parts, None)

    def __exit__(self, *_: object) -> None:
        for parts, mode in reversed(self.modes.items()):
            if state_now(self._workspace, parts).kind == "directory":
                self._workspace.set_mode(parts, mode)


def put_back(
    workspace: Workspace,
    steps: Sequence[RestoreStep],
    since: list[str],
    failures: dict[str, str] | None = None,
) -> list[str]:
    """Put everything back; what is in the way goes first, and directories get their modes last.

    What another program changes meanwhile is left, and its path added to `since`. The first error is raised;
    with `failures`, the reasons are put there by path instead, and the rest is done.
    """
    deepest = sorted(steps, key=lambda step: len(step.parts), reverse=True)
    going = [step for step in deepest if step.now.kind != step.before.kind or step.now.kind == "link"]
    directories = [step for step in deepest if step.before.kind == "directory"]
    if workspace.snapshot:
        files = [step for step in steps if step.now.kind != "directory"]
        workspace.snapshot.expected = {step.parts: step.stamp for step in files}
    notes: list[str] = []
    for some, action in (
        (deepest[::-1], _open_up),
        (going, _unlink),
        (going, _remove_if_empty),
        (deepest[::-1], _put),
        (directories, _finish_directory),
    ):
        for step in some:
            if step.place.path in since or (failures and step.place.path in failures):
                continue
            try:
                notes += action(workspace, step)
            except ConcurrentChangeError:
                since.append(step.place.path)
            except (CladaError, OSError) as error:
                raised = from_os_error(error) if isinstance(error, OSError) else error
                if failures is None:
                    raise _named_failure(step, raised) from None
                failures[step.place.path] = raised.error.message
    return notes


def _named_failure(step: RestoreStep, raised: CladaError) -> CladaError:
    message = f"{step.place.path}: {raised.error.message}"
    hint = raised.error.hint or "repair this, and undo again: it goes on from there"
    return CladaError.of(raised.error.replace(message=message, hint=hint))


def _put(workspace: Workspace, step: RestoreStep) -> list[str]:
    """Put back what was at one place; return what to say of it."""
    match step.before.kind:
        case "directory":
            if step.now.kind != "directory":
                workspace.make_all(step.parts[:-1])
                workspace.make(step.parts, OPEN)
        case "file":
            return _put_file(workspace, step)
        case "link":
            workspace.make_link(step.parts, step.before.content)
        case "other":
            return [f"{step.place.path} was a pipe, a socket or a device, and is not restored"]
        case _:
            pass  # nothing was there
    return []


def _open_up(workspace: Workspace, step: RestoreStep) -> list[str]:
    """Give ourselves the right to reach what is in a directory that the run has closed."""
    mode = step.now.mode or 0
    if step.now.kind == "directory" and mode & OPEN != OPEN:
        workspace.set_mode(step.parts, mode | OPEN)
    return []


def _finish_directory(workspace: Workspace, step: RestoreStep) -> list[str]:
    """Give a directory its mode again, now that all is in it; one that was gone, its owner and attributes."""
    notes = []
    if step.now.kind != "directory":
        handle = workspace.handle(step.parts)
        try:
            if step.before.owner and step.before.owner != (os.geteuid(), os.getegid()):
                os.fchown(handle, *step.before.owner)
            set_xattrs(handle, dict(step.before.attributes))
        except (OSError, CladaError):
            notes.append(f"{step.place.path}/ {OTHER_BELONGINGS}")
        finally:
            os.close(handle)
    if step.before.mode is not None:
        workspace.set_mode(step.parts, step.before.mode)
    return notes


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
            raise  # else another program was faster
    if step.before.kind != "absent":
        path = "/".join(step.parts)
        raise CladaError("permission_denied", f"there is something in {path} by now", "move it elsewhere")
    return [f"{step.place.path}/ is not empty, and stays"]


def _put_file(workspace: Workspace, step: RestoreStep) -> list[str]:
    """Put a file back. One that is still there keeps its mode and the rest, unless the run changed them."""
    before = step.before
    same = step.left.mode == before.mode and step.now.is_same_beside(before)
    unknown = step.left.mode is None and not step.place.is_made_anew()
    if step.now.kind == "file" and (same or unknown):
        workspace.store(step.parts, before.content)
        return []
    mode, notes = before.mode, []
    if mode is not None and mode & AS_OWNER:
        mode &= ~AS_OWNER
        notes.append(f"{step.place.path} was setuid or setgid, and is not any more")
    now = step.now
    others_stay = now.is_same_beside(before) and before.owner in {None, now.owner}
    if mode is not None and now.replace(mode=None).is_like(before) and others_stay:
        workspace.set_mode(step.parts, mode)  # which its directory need not allow
        return notes
    if before.owner is None:  # what git had of it
        workspace.store(step.parts, before.content, mode)
        return notes
    workspace.store(step.parts, before.content, mode, Ownership(before.owner, dict(before.attributes)))
    now = state_now(workspace, step.parts)
    if (now.owner, now.attributes) != (before.owner, before.attributes):
        notes.append(f"{step.place.path} {OTHER_BELONGINGS}")
    return notes
