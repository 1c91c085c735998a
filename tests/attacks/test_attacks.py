"""Tables of attacks, through the command line, as root and as an ordinary user; load; and faults.

Each table is a module beside this one. A row says what is required; a test names the rows that fail.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.attacks import (
    approvals,
    commands,
    confined_git,
    faults,
    git,
    layers,
    load,
    parsers,
    reading,
    trust,
    whole,
)
from tests.attacks.place import users
from tests.attacks.rows import failures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.attacks.place import User
    from tests.attacks.rows import Row

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
# Each table, and how many rows it has at least.
TABLES: dict[str, tuple[Callable[[User], Iterator[Row]], int]] = {
    "commands": (commands.rows, 700),
    "git": (git.rows, 50),
    "parsers": (parsers.rows, 20),
    "approvals": (approvals.rows, 30),
    "reading": (reading.rows, 200),
    "confined git": (confined_git.rows, 80),
    "layers": (layers.rows, 1),
    "trust": (trust.rows, 40),
}
# What takes more than root, or what leaves its effect to others to see.
NOT_EVERYWHERE = {
    *("talk_to_a_virtual_machine", "read_the_keyring", "set_an_attribute", "read_other_homes"),
    *("resolve_a_name", "outlive_the_supervisor", "listen_to_the_kernel"),
}


@pytest.mark.parametrize("user", users(), ids=lambda user: user.name)
@pytest.mark.parametrize("table", TABLES)
def test_every_attack_ends_as_required(table: str, user: User) -> None:
    """No row of the table fails, and there are rows."""
    rows_for, least = TABLES[table]
    rows = list(rows_for(user))
    assert len(rows) >= least
    assert not failures(rows), "\n".join(failures(rows))


@pytest.mark.parametrize(
    "rows", [load.rows, faults.rows, whole.rows], ids=["load", "faults", "random documents"]
)
def test_load_and_faults_end_as_required(rows: Callable[[], list[Row]]) -> None:
    """Kills, full disks, failing system calls; thousands of operations and runs; random documents."""
    failed = failures(rows())
    assert not failed, "\n".join(failed)


@pytest.mark.skipif(os.geteuid() != 0, reason="others can do less without a sandbox, too")
def test_the_attempts_on_layers_are_real() -> None:
    """Without a sandbox they work: a row that says "stopped" says something."""
    names = list(layers.functions_of(layers.HOSTILE))
    found = layers.attempted(users()[0], layers.UNCONFINED, layers.HOSTILE, names)
    assert {name for name, (said, _effect) in found.items() if said != "success"} <= NOT_EVERYWHERE
    effects = found[names[0]][1]
    assert all(text in effects for text in ("was stopped", "has priority 19", "left /etc/"))
