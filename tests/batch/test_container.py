"""Jobs in containers: the command line, carried out by a stand-in for podman, which really executes it.

Neither podman nor docker runs where these tests do. The stand-in shows that the job, the result and the one
file of clada go in and out as they should; not that an image confines anything.
"""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.batch.conftest import edit, run_document

import clada

if TYPE_CHECKING:
    from tests.batch.conftest import Yard

# It notes the options of `podman run`, and runs what follows the image: in the directory that they name,
# without installed modules and without the environment.
PODMAN = """#!{python} -I
import json, os, subprocess, sys
words = sys.argv[1:]
if words[0] == "rm":
    sys.exit(0)
assert words.pop(0) == "run"
options = {{}}
while words[0].startswith("--"):
    name, _, value = words.pop(0).removeprefix("--").partition("=")
    options.setdefault(name, []).append(value)
image, program, *rest = words
with open("{top}/calls.jsonl", "a") as file:
    file.write(json.dumps({{"image": image, "program": program, **options}}) + "\\n")
if image == "broken":
    sys.exit("no such image")
assert program == "python3"
os.chdir(options["workdir"][0])
sys.exit(subprocess.call(["{python}", "-I", "-S", *rest], env={{"PATH": os.environ["PATH"]}}))
"""


@pytest.fixture
def podman(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> Yard:
    """Return a yard where podman is a stand-in."""
    programs = yard.top / "bin"
    programs.mkdir()
    (programs / "podman").write_text(PODMAN.format(python=os.path.realpath(sys.executable), top=yard.top))
    (programs / "podman").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return yard


@pytest.mark.slow
def test_jobs_run_in_containers(podman: Yard) -> None:
    folder = podman.workspace("w")
    podman.repository()
    jobs: list[dict[str, Any]] = [
        {"id": "path", "path": str(folder), "document": edit(), "checks": ["cat a.txt"]},
        {"id": "repo", "repo": str(podman.top / "repo"), "commit": "HEAD", "document": edit("old", "newer"),
         "checks": ["git log --oneline"]},
        {"id": "fails", "path": str(folder), "document": edit("other")},
        {"id": "command", "path": str(folder), "document": run_document("ls")},
    ]  # fmt: skip
    found = clada.batch.run(
        jobs, workers=2, container="python:3.11", approve_checks=True, memory=1 << 29, processes=50
    )
    results = {result["id"]: result for result in found}
    statuses = {id_: (result["status"], result["error"]) for id_, result in results.items()}
    assert {id_: status for id_, (status, _error) in statuses.items()} == {
        "path": "applied", "repo": "applied", "fails": "failed", "command": "applied",
    }, statuses  # fmt: skip
    assert results["path"]["diff"].endswith("-old\n+new\n")
    assert results["path"]["checks"][0]["output"] == "new\n"
    assert results["repo"]["checks"][0]["output"].endswith(" first\n")
    assert results["fails"]["error_type"] == "match_count_mismatch"
    assert results["command"]["report"]["blocks"][0]["tasks"][0]["output"] == ["a.txt"]
    assert (folder / "a.txt").read_text() == "old\n"
    calls = [json.loads(line) for line in (podman.top / "calls.jsonl").read_text().splitlines()]
    assert len(calls) == 4
    for call in calls:
        assert (call["image"], call["network"], call["memory"]) == ("python:3.11", ["none"], [str(1 << 29)])
        assert (call["pids-limit"], call["security-opt"]) == (["50"], ["no-new-privileges"])
        workspace, original, archive = call["volume"]
        assert workspace == f"{call['workdir'][0]}:{call['workdir'][0]}"
        assert original.endswith(":ro")
        assert archive.endswith("clada.pyz:ro")
    assert len({call["name"][0] for call in calls}) == 4


def test_a_container_that_does_not_start_is_a_failed_job(podman: Yard) -> None:
    jobs = [{"id": 1, "path": str(podman.workspace("w")), "document": edit()}]
    (result,) = clada.batch.run(jobs, container="broken")
    assert result["status"] == "failed"
    assert result["error"].startswith("the container ended with exit code 1: no such image")


def test_without_podman_and_docker_nothing_is_begun(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    jobs = [{"id": 1, "path": str(yard.workspace("w")), "document": edit()}]
    with pytest.raises(clada.UsageError, match="--container needs podman or docker"):
        next(clada.batch.run(jobs, container="image"))
