"""Runs a command under every CPython from 3.11 on that this machine has: `python -m tools.pythons COMMAND …`.

    python -m tools.pythons                      # lists them
    python -m tools.pythons tests tests/cli      # these tests, each in an environment build/python3.X
    python -m tools.pythons newest tests/cli     # under the newest alone whose packages can be installed

To add a version, put it on PATH, or use `pyenv install` or `uv python install`. Under the newest one,
warnings are errors, in the tests and in the programs that they start.
"""

from __future__ import annotations

import glob
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
OLDEST = (3, 11)
PLACES = (
    *os.environ.get("PATH", "").split(os.pathsep),
    os.path.expanduser("~/.pyenv/versions/*/bin"),
    os.path.expanduser("~/.local/share/uv/python/*/bin"),
    "/usr/bin", "/usr/local/bin", "/opt/python*/bin",
)  # fmt: skip
ASK = "import sys, ensurepip; print(sys.implementation.name, *sys.version_info[:2])"
WARNINGS_AS_ERRORS = {"PYTHONWARNINGS": "error"}


def find_pythons() -> dict[tuple[int, int], str]:
    """Return a Python of each version that can be used, oldest first."""
    found: dict[tuple[int, int], str] = {}
    for place in PLACES:
        for path in sorted(glob.glob(f"{place}/python3.[0-9]*")):
            if path.rpartition(".")[2].isdecimal() and "/shims" not in path:
                version = _version(path)
                if version and version >= OLDEST:
                    found.setdefault(version, path)
    return dict(sorted(found.items()))


def _version(path: str) -> tuple[int, int] | None:
    """Return the version of a CPython that can make environments; None if it is something else."""
    try:
        done = subprocess.run([path, "-I", "-c", ASK], capture_output=True, text=True, check=True, timeout=60)
        name, major, minor = done.stdout.split()
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return (int(major), int(minor)) if name == "cpython" else None


def environment_of(version: tuple[int, int], python: str) -> Path:
    """Return the environment of a Python, and make it if there is none."""
    venv = ROOT / "build" / f"python{version[0]}.{version[1]}"
    if not (venv / ".dev").exists():
        for what in ("run", "dev"):
            subprocess.run(["sh", "tools/setup", python, str(venv), what], cwd=ROOT, check=True)
    return venv


def passes(venv: Path, arguments: list[str], **variables: str) -> bool:
    """Run pytest with these arguments in an environment."""
    print(f"== {venv.name}", flush=True)
    environment = {**os.environ, "PATH": f"{venv}/bin{os.pathsep}{os.environ['PATH']}", **variables}
    command = [str(venv / "bin" / "python"), "-m", "pytest", "-q", *arguments]
    return not subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def run_tests(arguments: list[str]) -> int:
    """Run pytest with these arguments under each Python; return 1 if it fails under one."""
    pythons = find_pythons()
    failed = []
    for version, python in pythons.items():
        venv = environment_of(version, python)
        variables = WARNINGS_AS_ERRORS if version == max(pythons) else {}
        if not passes(venv, arguments, **variables):
            failed.append(venv.name)
    print(f"failed under {', '.join(failed)}" if failed else f"passed under {len(pythons)} versions")
    return 1 if failed else 0


def run_under_newest(arguments: list[str]) -> int:
    """Run pytest under the newest Python whose packages can be installed; return 1 if it fails."""
    for version, python in reversed(find_pythons().items()):
        try:
            venv = environment_of(version, python)
        except subprocess.CalledProcessError:
            print(f"the packages for {python} cannot be installed: trying an older one", file=sys.stderr)
        else:
            return 0 if passes(venv, arguments, **WARNINGS_AS_ERRORS) else 1
    print("no Python with the packages of the tests", file=sys.stderr)
    return 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["tests"]:
        sys.exit(run_tests(sys.argv[2:]))
    if sys.argv[1:2] == ["newest"]:
        sys.exit(run_under_newest(sys.argv[2:]))
    for (major, minor), path in find_pythons().items():
        print(f"{major}.{minor} {path}")
