"""Golden cases, through the real command line: a folder a behaviour, compared byte by byte.

tests/cases/<behaviour>/ holds
  document   what comes in on standard input
  args       arguments, one a line; --no-git always comes before them (may be missing)
  before/    the workspace before (may be missing: it is empty then)
  links      symbolic links that are there before, too, as `name -> target` (may be missing); not links
             themselves, because the source distribution of setuptools would hold what they lead to
  after/     the workspace after (may be missing: nothing has changed then); files and links, with their modes
  stdout     what is printed; durations count as 0
  stderr     the same (may be missing: nothing is then)
  exit       the exit code

After a change that is meant, `python -m tests.test_cases` writes down what happens now; `git diff` shows it.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests import command_line

if TYPE_CHECKING:
    import subprocess

CASES = Path(__file__).parent / "cases"
NAMES = sorted(folder.name for folder in CASES.iterdir() if folder.is_dir())
DURATION = re.compile(rb'("duration": )[0-9.e-]+')


def test_there_are_cases() -> None:
    """A runner that finds nothing would be content with anything."""
    assert len(NAMES) >= 40


@pytest.mark.parametrize("name", NAMES)
def test_case(name: str, tmp_path: Path) -> None:
    """The command line does what the folder says, no more and no less."""
    case, workspace = CASES / name, tmp_path / "workspace"
    prepare(case, workspace)
    after = _tree(case / "after") if (case / "after").exists() else _tree(workspace)
    done = _run(case, workspace)
    assert _text(done.stdout) == _text(_read(case / "stdout"))
    assert _text(done.stderr) == _text(_read(case / "stderr"))
    assert done.returncode == int(_read(case / "exit"))
    assert _tree(workspace) == after


def prepare(case: Path, workspace: Path) -> None:
    """Make the workspace as it is before the document of a case is carried out."""
    if (case / "before").exists():
        shutil.copytree(case / "before", workspace)
    else:
        workspace.mkdir()
    for line in _read(case / "links").decode().splitlines():
        name, target = line.split(" -> ")
        (workspace / name).symlink_to(target)


def _run(case: Path, workspace: Path) -> subprocess.CompletedProcess[bytes]:
    home = str(workspace.parent)
    arguments = _read(case / "args").decode().splitlines()
    return command_line.run(
        "--no-git",
        *arguments,
        document=_read(case / "document"),
        directory=workspace,
        environment={**os.environ, "HOME": home, "XDG_CONFIG_HOME": home},
    )


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def _text(data: bytes) -> str:
    """Return output so that a difference shows well and no byte gets lost."""
    return DURATION.sub(rb"\g<1>0", data).decode(errors="surrogateescape")


def _tree(top: Path) -> dict[str, tuple[bytes | str, bool]]:
    """Return files with content, links with target, and whether a file can be executed: what git keeps."""
    return {
        str(path.relative_to(top)): (_content(path), bool(path.lstat().st_mode & stat.S_IXUSR))
        for path in top.rglob("*")
        if path.is_symlink() or not path.is_dir()
    }


def _content(path: Path) -> bytes | str:
    return str(path.readlink()) if path.is_symlink() else path.read_bytes()


def _accept(case: Path, workspace: Path) -> None:
    prepare(case, workspace)
    before = _tree(workspace)
    done = _run(case, workspace)
    (case / "stdout").write_bytes(DURATION.sub(rb"\g<1>0", done.stdout))
    (case / "stderr").write_bytes(done.stderr)
    (case / "exit").write_text(f"{done.returncode}\n")
    if not done.stderr:
        (case / "stderr").unlink()
    shutil.rmtree(case / "after", ignore_errors=True)
    if _tree(workspace) != before:
        shutil.copytree(workspace, case / "after", symlinks=True)


if __name__ == "__main__":
    for chosen in sys.argv[1:] or NAMES:
        with tempfile.TemporaryDirectory() as temporary:
            _accept(CASES / chosen, Path(temporary) / "workspace")
