"""What bubblewrap itself says is never taken for the command's output, and that never for its words."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

import clada
from clada.errors import CladaError
from clada.world.processes.run import RunOptions, run
from clada.world.sandbox import layers
from clada.world.sandbox.layers import Confinement, confined_launcher

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    not layers.has_bubblewrap(), reason="bubblewrap does not work on this machine"
)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[tuple[str, int]]:
    """Return a workspace and a handle of it."""
    handle = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield str(tmp_path), handle
    os.close(handle)


def test_an_atomic_run_has_an_overlay_beside_bubblewrap(tmp_path: Path) -> None:
    """Bubblewrap cannot give a command an overlay: such a command runs in namespaces of our own."""
    document = '{"tasks": [{"action": "run", "command": "sh -c \'echo x > made; exit 1\'"}]}'
    approve = ["sh -c 'echo x > made; exit 1'"]
    for atomic, confinement in ((True, "namespace+overlay"), (False, "bubblewrap")):
        report = clada.execute(
            document, workspace=str(tmp_path), record="snapshots", atomic=atomic, approve=approve
        )
        assert [task.confinement for task in report.tasks] == [confinement], report.notes
        assert (tmp_path / "made").exists() is not atomic


def printed(script: str, workspace: tuple[str, int], *, write: tuple[str, ...] = ()) -> list[str]:
    """Run a script in the sandbox, and return its output."""
    folder, handle = workspace
    lines: list[str] = []
    try:
        run(
            ["sh", "-c", script],
            confined_launcher(Confinement("bubblewrap", folder, write=write), os.environ),
            RunOptions(directory=handle, timeout=90.0, emit=lines.extend),
        )
    except CladaError as trouble:
        lines.append(trouble.error.type)
    return lines


def test_a_sandbox_that_cannot_be_set_up_prints_nothing(workspace: tuple[str, int]) -> None:
    """However often it is tried again."""
    (folder, _handle) = workspace
    with open(os.path.join(folder, "file"), "w", encoding="utf-8"):
        pass
    assert printed("echo x", workspace, write=(f"{folder}/file/x",)) == ["command_not_allowed"]


@pytest.mark.parametrize("between", ["", "sleep 0.1; "])
@pytest.mark.parametrize("text", ["bwrap: x", "bwr", "x", ""])
def test_what_the_command_prints_is_its_own(workspace: tuple[str, int], text: str, between: str) -> None:
    """Also where it looks like bubblewrap's words, alone or with more lines."""
    assert printed(f"echo '{text}'", workspace) == [text]
    assert printed(f"echo '{text}'; {between}echo end", workspace) == [text, "end"]


def test_more_places_than_a_pipe_can_hold(workspace: tuple[str, int]) -> None:
    """What the command sees is told to bubblewrap whole, however much it is."""
    folder, _handle = workspace
    missing = tuple(f"{folder}/{number}{'x' * 200}" for number in range(500))
    assert printed("echo x; touch .clada", workspace, write=missing) == ["x", "permission_denied"]
