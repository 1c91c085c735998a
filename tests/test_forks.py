"""Tests in forks are told of as tests that run one after the other are, also if what runs them dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.waiting import eventually

ROOT = Path(__file__).parent.parent
ALONE = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # to load others' takes most of the time
TESTS = """
import os, pathlib, signal
import pytest

HERE = pathlib.Path(__file__).parent

@pytest.fixture(scope="{scope}")
def made():
    with open(HERE / "made", "a") as file:
        file.write("x")
    yield
    with open(HERE / "ended", "a") as file:
        file.write("x")

@pytest.mark.parametrize("number", range(30))
def test_each(number, made, tmp_path):
    print(f"said by {{number}}")
    (HERE / f"ran-{{number}}").touch(exist_ok=False)
    assert number != 7

def test_one_that_dies():
    os.kill(os.getpid(), signal.SIGKILL)

@pytest.mark.skip(reason="no reason")
def test_one_that_is_skipped():
    pass
"""


def _command(folder: Path, *flags: str) -> list[str]:
    plugins = ("-p", "tools.forks", "-p", "no:cacheprovider")
    place = ("-c", "/dev/null", f"--rootdir={folder}")
    return [sys.executable, "-m", "pytest", *plugins, *place, "-ra", *flags, str(folder)]


def _run(
    folder: Path, *flags: str, scope: str = "function", tests: str = TESTS
) -> subprocess.CompletedProcess[str]:
    (folder / "test_some.py").write_text(tests.format(scope=scope))
    return subprocess.run(
        _command(folder, *flags),
        cwd=ROOT,
        env=ALONE,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_each_test_runs_once_and_is_reported_with_what_it_said(tmp_path: Path) -> None:
    """One has failed, one took its fork along, which another stands in for."""
    done = _run(tmp_path, "--forks=3")
    assert done.returncode == 1
    assert "2 failed, 29 passed, 1 skipped" in done.stdout
    assert "said by 7" in done.stdout
    assert "said by 8" not in done.stdout
    assert "who ran it ended with exit code -9" in done.stdout
    assert len(list(tmp_path.glob("ran-*"))) == 30
    assert (tmp_path / "made").read_text() == (tmp_path / "ended").read_text() == "x" * 30


def test_what_tests_share_is_made_once(tmp_path: Path) -> None:
    """And ended when the last of them has."""
    done = _run(tmp_path, "--forks=3", "-k", "not dies", scope="module")
    assert "1 failed, 29 passed, 1 skipped, 1 deselected" in done.stdout
    assert (tmp_path / "made").read_text() == (tmp_path / "ended").read_text() == "x"


def test_nothing_is_begun_after_the_last_failure_that_is_allowed(tmp_path: Path) -> None:
    """As without forks: `-x` stops."""
    done = _run(tmp_path, "--forks=1", "-x", "-k", "each")
    assert done.returncode == 1
    assert "stopping after 1 failures" in done.stdout
    assert len(list(tmp_path.glob("ran-*"))) == 8


def test_what_tests_share_is_ended_also_if_they_are_interrupted(tmp_path: Path) -> None:
    """For it may be a server. Here pytest alone is: Ctrl-C is told to all that a terminal has started."""
    text = TESTS + "def test_one_that_waits(made):\n    (HERE / 'waits').touch()\n    signal.pause()\n"
    (tmp_path / "test_some.py").write_text(text.format(scope="session"))
    # Who starts this in the background has it ignore that.
    heeding = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    (tmp_path / "conftest.py").write_text(heeding)
    command = _command(tmp_path, "--forks=2", "-k", "waits or skipped")
    with subprocess.Popen(command, cwd=ROOT, env=ALONE, stdout=subprocess.PIPE, text=True) as process:
        assert eventually((tmp_path / "waits").exists)
        os.kill(process.pid, signal.SIGINT)
        output = process.communicate(timeout=60)[0]
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert "KeyboardInterrupt" in output
    assert (tmp_path / "made").read_text() == (tmp_path / "ended").read_text() == "x"


def test_one_that_ends_its_process_without_a_word_has_failed(tmp_path: Path) -> None:
    """It is not run again and again."""
    done = _run(tmp_path, "--forks=2", tests="import os\ndef test_it():\n    os._exit(0)\n")
    assert "who ran it ended with exit code 0" in done.stdout
    assert done.returncode == 1


def test_forks_that_cannot_begin_are_told_of(tmp_path: Path) -> None:
    """Nor are they started again and again."""
    (tmp_path / "conftest.py").write_text(
        "import os\nos.register_at_fork(after_in_child=lambda: os._exit(3))"
    )
    done = _run(tmp_path, "--forks=2", "-k", "each")
    assert "a fork ended with exit code 3 before its first test" in done.stdout
    assert done.returncode == pytest.ExitCode.INTERNAL_ERROR


def test_one_that_takes_too_long_is_told_of_as_such(tmp_path: Path) -> None:
    """The limit is looked after by a plugin, which asks for the terminal."""
    text = "import signal\ndef test_it():\n    signal.pause()\n"
    limit = ("-p", "pytest_timeout", "--timeout=0.2", "--timeout-method=signal")
    done = _run(tmp_path, "--forks=2", *limit, tests=text)
    assert "Failed: Timeout (>0.2s)" in done.stdout


def test_forks_have_temporary_folders_of_their_own(tmp_path: Path) -> None:
    """In the one that was asked for, which none of them removes while others are at work."""
    text = TESTS.replace('print(f"said', '(tmp_path / "kept").touch(); print(f"said')
    done = _run(tmp_path, "--forks=3", f"--basetemp={tmp_path / 'base'}", "-k", "each", tests=text)
    assert "1 failed, 29 passed" in done.stdout
    assert len({path.resolve() for path in tmp_path.glob("base/fork*/*/kept")}) == 30


def test_there_may_be_more_tests_than_a_pipe_takes(tmp_path: Path) -> None:
    """One by one: here of one that stops at once, so that this takes no time."""
    many = "def pytest_collection_modifyitems(items):\n    items *= 20_000\n"
    (tmp_path / "conftest.py").write_text(many)
    text = "import pytest\npytestmark = pytest.mark.long\ndef test_it():\n    assert False\n"
    done = _run(tmp_path, "--forks=2", "-x", tests=text)
    assert "stopping after" in done.stdout
