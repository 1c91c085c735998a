"""The recorded runs of a workspace, and undoing them."""

from __future__ import annotations

import os

from clada.settings import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from clada.world.git.history import RecordedRun
    from clada.world.git.undo import Undone


def history(workspace: str | PathLike[str] = ".") -> list[RecordedRun]:
    """Return the recorded runs of a workspace, newest first. Raises Trouble where there is no record."""
    from clada.world.git.undo import past_runs

    return past_runs(os.fspath(workspace))


def undo(
    workspace: str | PathLike[str] = ".",
    run: int | None = None,
    *,
    git_author: str = "clada",
    lock_timeout: float = 10.0,
    waiting: Callable[[], None] | None = None,
) -> Undone:
    """Put back what the last run changed, or the one with this number, and say what was done.

    Raises Trouble where it cannot be undone, with the reason, and nothing is changed; `waiting` is called
    where another run must end first.
    """
    from clada.world.git.undo import undo as undo_run

    chosen = Settings.from_options(workspace=workspace, git_author=git_author, lock_timeout=lock_timeout)
    timeout = chosen.lock_timeout
    return undo_run(chosen.workspace, run, chosen.git_author, lock_timeout=timeout, waiting=waiting)
