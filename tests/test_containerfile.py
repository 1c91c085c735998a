"""Containerfile: simple checks, and a build where a builder is there and can fetch the base image."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINES = re.sub(r"\\\n\s*", "", (ROOT / "Containerfile").read_text()).splitlines()
STEPS = [line.partition(" ")[::2] for line in LINES if line and not line.startswith("#")]


def words(step: str) -> list[str]:
    return [text for name, text in STEPS if name == step]


def test_every_step_is_known_and_the_image_has_a_version() -> None:
    assert {name for name, _ in STEPS} <= {"FROM", "RUN", "COPY", "USER", "WORKDIR", "ENTRYPOINT"}
    assert re.fullmatch(r"python:3\.\d+-slim", words("FROM")[0])


def test_it_runs_as_an_ordinary_user_that_exists() -> None:
    assert [name for name, _ in STEPS].index("USER") > [name for name, _ in STEPS].index("RUN")
    user = words("USER")[-1]
    assert user not in ("root", "0")
    assert any(line.startswith("useradd") and line.endswith(f" {user}") for line in words("RUN"))
    assert json.loads(words("ENTRYPOINT")[0]) == ["clada"]


def test_it_has_git_and_bubblewrap_and_leaves_no_lists() -> None:
    (line,) = [line for line in words("RUN") if "apt-get" in line]
    assert "--no-install-recommends bubblewrap git" in line
    assert line.endswith("rm -rf /var/lib/apt/lists/*")


def test_copied_files_exist_and_suffice_for_a_build() -> None:
    copied = [name for line in words("COPY") for name in line.split()[:-1]]
    assert all((ROOT / name).exists() for name in copied)
    assert {"src", "docs", "setup.py", "pyproject.toml", "README.md", "LICENSE"} <= set(copied)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_image_can_be_built_and_run() -> None:
    builder = shutil.which("podman") or shutil.which("docker")
    if not builder:
        pytest.skip("not installed: podman, docker")
    (base,) = words("FROM")
    try:
        subprocess.run([builder, "pull", base], capture_output=True, check=True, timeout=300)
    except subprocess.SubprocessError:
        pytest.skip(f"{builder} cannot fetch {base}")
    subprocess.run([builder, "build", "-t", "clada-test", "-f", "Containerfile", "."], cwd=ROOT, check=True)
    done = subprocess.run(
        [builder, "run", "--rm", "clada-test", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("clada ")
