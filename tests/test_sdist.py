"""The source distribution: whoever unpacks it can run `make demo` and `make test`, as in a clone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tools.release import made_by_tools

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build"
LIMIT = 3600  # seconds: `make test` sets up an environment and checks types, perhaps on a busy machine
# These read the files of the repository: docs, examples, answers, corpus, tools and the package itself.
TESTS = "TESTS=tests/test_*.py"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(LIMIT)]


@pytest.fixture(scope="module")
def unpacked() -> Iterator[Path]:
    """Build the distribution and return where it is unpacked.

    It is built from a copy, because setuptools takes in all files that an earlier build listed, too. It is
    unpacked outside of /tmp, which commands in a sandbox see empty: tests run the Python of its `.venv`.
    """
    BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="sdist-", dir=BUILD) as folder:
        copy = f"{folder}/copy"
        shutil.copytree(ROOT, copy, symlinks=True, ignore=made_by_tools)
        subprocess.run([sys.executable, "-m", "build", "--sdist", "--outdir", folder, copy], check=True)
        shutil.rmtree(copy)
        (archive,) = Path(folder).glob("clada-*.tar.gz")
        subprocess.run(["tar", "-xzf", str(archive), "-C", folder], check=True)
        os.chmod(folder, 0o755)  # some tests run clada as another user
        yield archive.with_name(archive.name.removesuffix(".tar.gz"))


def run(unpacked: Path, *command: str) -> str:
    """Run a command in it, without what this run has in its environment; return its output."""
    ours = ("CLADA_", "GIT_", "MAKE", "MFLAGS", "PYTEST_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environment["GIT_CEILING_DIRECTORIES"] = str(BUILD)  # the repository around it is not its own
    done = subprocess.run(
        command,
        cwd=unpacked,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="git does not say here which files there should be")
def test_it_holds_every_file_of_the_repository(unpacked: Path) -> None:
    """With the same content, and executable where it should be."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    tracked = listed.stdout.split("\0")[:-1]
    links = [path for path in tracked if (ROOT / path).is_symlink()]
    assert links == ["src/clada/docs"]  # setuptools stores the files behind a link
    files = {path for path in tracked if (ROOT / path).is_file()}
    files |= {f"src/clada/docs/{page.name}" for page in (ROOT / "docs").glob("*.md")}
    assert [path for path in sorted(files) if not (unpacked / path).is_file()] == []
    for path in files:
        assert (unpacked / path).read_bytes() == (ROOT / path).read_bytes(), path
        assert os.access(unpacked / path, os.X_OK) == os.access(ROOT / path, os.X_OK), path


@pytest.fixture
def base() -> Iterator[Path]:
    """Make a directory for the files of these tests: two sessions would remove each other's old ones."""
    folder = tempfile.mkdtemp(prefix="clada-sdist-")
    os.chmod(folder, 0o755)
    yield Path(folder, "tests")
    subprocess.run(["rm", "-rf", folder], check=False)  # deeper trees than shutil.rmtree can remove


def test_the_demo_and_the_tests_run_in_it(unpacked: Path, base: Path) -> None:
    """By the two commands of the README. `make test` leaves out slow tests, and so this one.

    The other tests are the same files as in the repository, and are run there.
    """
    assert "undone: run 1 " in run(unpacked, "make", "demo")
    options = f"PYTEST_ADDOPTS=--basetemp={base}"
    assert " passed" in run(unpacked, "env", options, "make", "test", TESTS).splitlines()[-1]
