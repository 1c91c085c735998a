"""What bubblewrap itself says is never taken for the command's output, whatever is kept of that."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from clada.errors import Trouble
from clada.world.processes.running import run
from clada.world.sandbox import layers
from clada.world.sandbox.layers import Confinement, confined_launcher

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    not layers.has_bubblewrap(), reason="bubblewrap does not work on this machine"
)
LIMITS = (0, 1, 3, 7, 1000)  # some of them within the first word that bubblewrap says
CUT = "<cut>"


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[tuple[str, int]]:
    """Return a workspace and a handle of it."""
    handle = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield str(tmp_path), handle
    os.close(handle)


def printed(script: str, workspace: tuple[str, int], limit: int, *, write: tuple[str, ...] = ()) -> list[str]:
    """Run a script in the sandbox, and return what is kept of its output."""
    folder, handle = workspace
    lines: list[str] = []
    try:
        run(
            ["sh", "-c", script],
            confined_launcher(Confinement("bubblewrap", folder, write=write), os.environ),
            directory=handle,
            timeout=90.0,
            max_output=limit,
            emit=lines.append,
            truncated=lambda: lines.append(CUT),
        )
    except Trouble as trouble:
        lines.append(trouble.error.type)
    return lines


@pytest.mark.parametrize("limit", LIMITS)
def test_a_sandbox_that_cannot_be_set_up_prints_nothing(workspace: tuple[str, int], limit: int) -> None:
    """Neither a line nor that one was cut off, however often it is tried again."""
    (folder, _handle) = workspace
    with open(os.path.join(folder, "file"), "w", encoding="utf-8"):
        pass
    assert printed("echo x", workspace, limit, write=(f"{folder}/file/x",)) == ["command_not_allowed"]


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("text", ["bwrap: x", "bwr", "b", "x", ""])
def test_what_the_command_prints_is_kept_up_to_the_limit(
    workspace: tuple[str, int], text: str, limit: int
) -> None:
    """Also where it looks like bubblewrap's words, or like the beginning of them."""
    whole = f"{text}\nend\n"
    kept = whole[:limit].removesuffix("\n").split("\n") if limit else []
    expected = kept if limit >= len(whole) else [*kept, CUT]
    assert printed(f"echo '{text}'; echo end", workspace, limit) == expected
