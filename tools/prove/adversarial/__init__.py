"""Every case of the security document's list of tests, through the command line, as each kind of user."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tools.prove.adversarial import (
    approvals,
    commands,
    confined_git,
    files,
    forging,
    git,
    layers,
    links,
    parsers,
    paths,
    reading,
    resources,
    trust,
)
from tools.prove.place import users
from tools.prove.rows import CHANGING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tools.prove.place import User
    from tools.prove.rows import Row

    Group = Callable[[User, bool], Iterator[Row]]

GROUPS: dict[str, Group] = {
    "Paths": paths.rows,
    "Links": links.rows,
    "Files": files.rows,
    "Commands": commands.rows,
    "Git": git.rows,
    "Parsers": parsers.rows,
    "Forging": forging.rows,
    "Resources": resources.rows,
    "Approvals": approvals.rows,
    "Reading": reading.rows,
    "Git confined": confined_git.rows,
    "Layers": layers.rows,
    "Trust": trust.rows,
}


def rows(name: str, *, quick: bool) -> list[Row]:
    """Return the rows of a group: one for all users where they saw the same, one for each otherwise."""
    seen = {user.name: list(GROUPS[name](user, quick)) for user in users()}
    first, *others = seen.values()
    if others and all([_told(row) for row in other] == [_told(row) for row in first] for other in others):
        return first
    if not others:
        return first
    return list(_merged(seen))


def _told(row: Row) -> tuple[str, str, bool | None]:
    """Return what a row says, but for places and figures: they are never quite the same."""
    return row.case, re.sub(r"[\d.,]+", "#", CHANGING.sub("", row.observed)), row.ok


def _merged(seen: dict[str, list[Row]]) -> Iterator[Row]:
    """Yield what all saw alike once, and the rest with the name of who saw it."""
    common = set.intersection(*({_told(row) for row in rows} for rows in seen.values()))
    told = set()
    for user, rows in seen.items():
        for row in rows:
            if _told(row) not in common:
                yield row._replace(case=f"{row.case} ({user})")
            elif _told(row) not in told:
                told.add(_told(row))
                yield row
