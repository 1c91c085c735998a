"""The source distribution: whoever unpacks it can run `make demo` and `make test`, as in a clone."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build"
LIMIT = 3600  # seconds: `make test` sets up an environment and runs all tests, perhaps on a busy machine
SHOWN = 100  # lines of its output that are of interest if it fails

pytestmark = [pytest.mark.slow, pytest.mark.timeout(LIMIT)]


@pytest.fixture(scope="module")
def unpacked() -> Iterator[Path]:
    """Build the distribution and return where it is unpacked.

    That is not below /tmp, which commands in a sandbox see empty: tests run the Python of its `.venv` there.
    """
    BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="sdist-", dir=BUILD) as folder:
        subprocess.run([sys.executable, "-m", "build", "--sdist", "--outdir", folder, str(ROOT)], check=True)
        (archive,) = Path(folder).glob("clada-*.tar.gz")
        subprocess.run(["tar", "-xzf", str(archive), "-C", folder], check=True)
        os.chmod(folder, 0o755)  # some tests run clada as another user
        yield archive.with_name(archive.name.removesuffix(".tar.gz"))


def run(unpacked: Path, *command: str) -> str:
    """Run a command in it, without what this run has in its environment; return the end of its output."""
    ours = ("CLADA_", "GIT_", "MAKE", "MFLAGS", "PYTEST_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environment["GIT_CEILING_DIRECTORIES"] = str(BUILD)  # the repository around it is not its own
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(
            command, cwd=unpacked, env=environment, stdout=output, stderr=output, check=False
        )
        output.seek(0)
        shown = "\n".join(output.read().decode(errors="replace").splitlines()[-SHOWN:])
    assert done.returncode == 0, shown
    return shown


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="git does not say here which files there should be")
def test_it_holds_every_file_of_the_repository(unpacked: Path) -> None:
    """With the same content, and executable where it should be."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = {path for path in listed.stdout.split("\0")[:-1] if (ROOT / path).is_file()}
    files |= {f"src/clada/docs/{page.name}" for page in (ROOT / "docs").glob("*.md")}  # docs is a link there
    assert [path for path in sorted(files) if not (unpacked / path).is_file()] == []
    for path in files:
        assert (unpacked / path).read_bytes() == (ROOT / path).read_bytes(), path
        assert os.access(unpacked / path, os.X_OK) == os.access(ROOT / path, os.X_OK), path
        assert not (ROOT / path).is_symlink(), f"{path}: setuptools would store the file that it leads to"


def test_the_demo_and_the_tests_run_in_it(unpacked: Path) -> None:
    """By the two commands of the README. `make test` leaves out slow tests, and so this one."""
    assert "undone: run 1 " in run(unpacked, "make", "demo")
    assert " passed" in run(unpacked, "make", "test").splitlines()[-1]
