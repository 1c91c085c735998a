"""The first run in a repository with uncommitted work: asks how to record runs, and remembers the answer."""

from __future__ import annotations

import os

from clada import config
from clada.cli.console import STDOUT
from clada.cli.questions import answer, open_terminal, write
from clada.errors import CladaError, reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clada.cli.console import Console

EXPLANATION = """
clada records each run, so that clada undo can take it back. This repository has uncommitted work:
  commits    put your work into one commit on this branch, and what the run changes into a second one
  snapshots  leave branch and index as they are, and keep what the run changes in a private journal
"""
QUESTION = "Record runs by [c] commits or [s] snapshots? (asked once; --record changes it) "
ANSWERS = {"c": "commits", "commits": "commits", "s": "snapshots", "snapshots": "snapshots"}
NO_ANSWER = "it is not decided how to record: nothing was executed"


def with_record(options: dict[str, Any], console: Console) -> dict[str, Any]:
    """Return the options with a way to record: asked for at the first use on a terminal, else as they are."""
    is_set = options["record"] != "auto" or "record" in options["given"] or options.get("record_configured")
    if is_set or options["dry_run"] or not os.isatty(STDOUT):
        return options
    record = config.own_settings().get("record")  # which may have been answered since clada was started
    if record is None and _has_uncommitted_work(options):
        record = _ask(console)
    return options if record is None else {**options, "record": record, "record_configured": True}


def _has_uncommitted_work(options: dict[str, Any]) -> bool:
    """Whether there are changes that a commit before the run would take; the answer itself is none."""
    from clada.world.git import repository
    from clada.world.git.commit import work_tree_status
    from clada.world.git.git import hardened_git

    try:
        found = repository.find(options["workspace"], named=options["repository"])
        git = hardened_git(found)
        seen = work_tree_status(
            git.replace(variables={**git.variables, "GIT_OPTIONAL_LOCKS": "0"}), found.prefix
        )
    except CladaError:
        return False  # the run itself will say what is wrong
    answers = {os.path.realpath(path) for path in options["uncommitted"]}
    paths = (*seen.changed, *seen.staged, *seen.untracked)
    return any(os.path.realpath(os.path.join(found.root, path)) not in answers for path in paths)


def _ask(console: Console) -> str | None:
    """Explain both ways, ask for one and remember it; None without a terminal."""
    terminal = open_terminal()
    if terminal is None:
        return None
    try:
        write(terminal, EXPLANATION)
        record = answer(terminal, None, QUESTION, ANSWERS)
    finally:
        os.close(terminal)
    if record is None:
        raise CladaError("invalid_operation", NO_ANSWER, "clada config set record snapshots")
    try:
        path = config.set_in_user_file("record", [record])
        console.note(f'remembered in {path}: record = "{record}"')
    except (OSError, CladaError) as error:
        why = reason(error) if isinstance(error, OSError) else error.error.message
        console.note(f"{config.user_file()} cannot be written: {why}; you will be asked again")
    preference: str = config.as_preference("record", record)
    return preference
