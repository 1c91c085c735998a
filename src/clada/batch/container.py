"""Jobs in containers: podman or docker starts clada, as one file, in an image that has Python.

The workspace is mounted under its own path, and the original of it read-only, so that nothing else of this
machine is there. The job goes in on standard input, and its result comes back on standard output.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile

from clada.batch.jobs import Check, Job, resolve
from clada.errors import CladaError, UsageError
from clada.values import fields_of
from clada.world.git.harden import lend_objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clada.batch.run_job import Config

PROGRAMS = ("podman", "docker")
GRACE = 15.0  # seconds in which a container may start and end, beyond the time of the job
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MAIN = "import sys; sys.path.insert(0, sys.argv[1] + '/src'); from clada.batch.container import main; main()"


def find_program() -> str:
    """Return podman or docker; UsageError where neither is installed."""
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if found is None:
        raise UsageError("--container needs podman or docker, and neither is installed")
    return found


def write_archive(path: str) -> None:
    """Write clada into one file that Python can import from."""
    if not os.path.isdir(PACKAGE):  # this is such a file already: …/clada.pyz/src/clada
        shutil.copyfile(PACKAGE.rsplit("/", 2)[0], path)
        return
    with zipfile.ZipFile(f"{path}.new", "w", zipfile.ZIP_DEFLATED) as archive:
        for folder, folders, names in os.walk(PACKAGE):
            folders[:] = sorted(set(folders) - {"__pycache__"})
            for name in sorted(names):
                file = os.path.join(folder, name)
                archive.write(file, os.path.join("src/clada", os.path.relpath(file, PACKAGE)))
    os.replace(f"{path}.new", path)


def archive_of(config: Config) -> str:
    """Return the path of the archive of clada that containers of a batch start."""
    return f"{config.work}/clada.pyz"


def command_line(job: Job, workspace: str, config: Config, name: str) -> list[str]:
    """Return the command that starts a job in a container."""
    from clada.batch.workspaces import repository_of

    original = resolve(config.base, job.path) if job.path else repository_of(job, config.base)
    program = find_program()
    user = ["--userns=keep-id"] if program.endswith("podman") and os.getuid() else []
    return [
        program, "run", "--rm", "--interactive", f"--name={name}", "--network=none", *user,
        f"--user={os.getuid()}:{os.getgid()}", f"--memory={config.memory}",
        f"--pids-limit={config.processes}", "--security-opt=no-new-privileges",
        f"--volume={workspace}:{workspace}",
        f"--volume={original}:{original}:ro", f"--volume={archive_of(config)}:{archive_of(config)}:ro",
        f"--workdir={workspace}", "--env=HOME=/tmp", str(config.container),
        "python3", "-c", MAIN, archive_of(config),
    ]  # fmt: skip


def run(job: Job, workspace: str, config: Config, seconds: float) -> dict[str, Any]:
    """Carry out a job in a container; CladaError if the container failed."""
    if not os.path.exists(archive_of(config)):  # on another node of a cluster
        write_archive(archive_of(config))
    name = os.path.basename(workspace)[-40:]
    command = command_line(job, workspace, config, f"clada-{name}")
    given = {"job": _as_dict(job), "workspace": workspace, "config": fields_of(config), "seconds": seconds}
    try:
        done = subprocess.run(  # noqa: S603 (podman or docker, with our own arguments)
            command, input=json.dumps(given).encode(), capture_output=True, check=False,
            timeout=seconds + GRACE,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        subprocess.run([command[0], "rm", "--force", f"clada-{name}"], capture_output=True, check=False)  # noqa: S603
        raise CladaError("exec_timeout", f"the container took longer than {seconds:g} s") from None
    if done.returncode or not done.stdout:
        words = done.stderr.decode(errors="replace").strip().splitlines() or ["no output"]
        message = f"the container ended with exit code {done.returncode}: {words[-1]}"
        raise CladaError("io_error", message, "the image needs python3, 3.11 or newer")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _as_dict(job: Job) -> dict[str, Any]:
    return {**fields_of(job), "checks": [fields_of(check) for check in job.checks]}


def main() -> None:
    """Carry out the job on standard input: this is what runs in a container."""
    from clada.batch.run_job import Config, apply_and_check, failure
    from clada.errors import unforeseen

    given = json.load(sys.stdin)
    checks = tuple(Check(**check) for check in given["job"].pop("checks"))
    job = Job(**given["job"], checks=checks)
    if job.repo:  # the work tree was made outside, with the objects of that repository
        git_dir = f"{os.path.realpath(given['workspace'])}/.git"
        with open(f"{git_dir}/objects/info/alternates", encoding="utf-8") as file:
            lend_objects(file.readline().rstrip("\n"), git_dir)
    output = os.dup(1)
    os.dup2(2, 1)  # standard output is for the result alone
    try:
        found = apply_and_check(job, given["workspace"], Config(**given["config"]), given["seconds"])
    except CladaError as error:
        found = failure("failed", error.error)
    except Exception as error:  # noqa: BLE001 (as outside of a container)
        found = failure("failed", unforeseen(error))
    with open(output, "w", encoding="utf-8") as file:
        json.dump(found, file)
