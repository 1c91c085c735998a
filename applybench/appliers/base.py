"""What an applier is, and what its adapter may use: installing, running, a process that stays."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, ClassVar

from applybench.cases import Case
from applybench.score import Outcome

TIMEOUT = 60  # seconds for one case
REPOSITORY = Path(__file__).parents[2]


class Applier:
    """A program that applies edits. A subclass sets the names and defines `apply`."""

    name: ClassVar[str]
    formats: ClassVar[frozenset[str]]
    pip: ClassVar[str] = ""  # a requirement, installed into an environment of its own
    npm: ClassVar[str] = ""  # a package with its version
    leaves_out: ClassVar[frozenset[str]] = frozenset()  # slips that cannot reach it
    in_process: ClassVar[bool] = False  # so that it gets every answer, however few the others get
    share = 1  # it gets one answer of so many; more than 1 for a slow start

    def __init__(self, tools: Path) -> None:
        self.folder = tools.resolve() / self.name.replace(" ", "-")

    def install(self) -> None:
        """Install the program, unless it is there."""
        if self.folder.is_dir():
            return
        if self.pip:
            subprocess.run([sys.executable, "-m", "venv", self.folder], check=True)
            subprocess.run([self.folder / "bin/pip", "install", "-q", self.pip], check=True)
        if self.npm:
            self.folder.mkdir(parents=True)
            (self.folder / "package.json").write_text('{"private": true}')
            subprocess.run(["npm", "install", "--silent", "--no-save", self.npm], cwd=self.folder, check=True)

    def version(self) -> str:
        """Return the version, or raise OSError if the program is not there."""
        raise NotImplementedError

    def apply(self, root: Path, case: Case) -> Outcome:
        """Apply the case's answer to the tree at `root`."""
        raise NotImplementedError

    def close(self) -> None:
        """End what was started."""

    def takes(self, case: Case) -> bool:
        """Return whether this case is for this applier."""
        return case.format in self.formats and case.slip not in self.leaves_out


def run(argv: list[str], root: Path, text: str = "") -> tuple[int, str]:
    """Run a program in the tree; return its exit code and what it printed."""
    done = subprocess.run(
        argv, cwd=root, input=text.encode(), capture_output=True, timeout=TIMEOUT, check=False
    )
    return done.returncode, (done.stdout + done.stderr).decode(errors="replace")


def without_fence(answer: str) -> str:
    """Return the diff in a fence, as a caller of a program that knows no fences would cut it out."""
    fenced = re.search(r"(?ms)^(`{3,})diff\n(.*?)^\1$", answer)
    return fenced[2] if fenced else answer


class Served(Applier):
    """An applier whose adapter also runs in an environment of its own, and is asked by lines of JSON."""

    module: ClassVar[str]
    _process: subprocess.Popen[str] | None = None

    def version(self) -> str:
        """Return the installed version of the package."""
        name = self.pip.partition("==")[0]
        code = f"import importlib.metadata as m; print(m.version({name!r}))"
        return subprocess.run(
            [self.folder / "bin/python", "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()

    def apply(self, root: Path, case: Case) -> Outcome:
        """Send the answer to the process and wait for its word."""
        process = self._process or self._start()
        stdin, stdout = process.stdin, process.stdout
        assert stdin  # noqa: S101 (both are pipes)
        assert stdout  # noqa: S101
        request = {
            "root": str(root),
            "format": case.format,
            "answer": case.answer,
            "files": sorted(case.tree),
        }
        stdin.write(json.dumps(request) + "\n")
        stdin.flush()
        reply = stdout.readline()
        if not reply:
            self.close()
            return Outcome(None, "the process ended")
        return Outcome(**json.loads(reply))

    def close(self) -> None:
        """End the process."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _start(self) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "HOME": str(self.folder)}
        self._process = subprocess.Popen(
            [self.folder / "bin/python", "-m", self.module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        return self._process


def serve(start: Callable[[], Callable[[dict[str, Any]], bool]]) -> None:
    """Answer requests in the environment of the applier, by the function that `start` returns."""
    replies: IO[str] = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the applier prints is no reply
    handle = start()
    for line in sys.stdin:
        request = json.loads(line)
        reply: dict[str, object]
        with contextlib.chdir(request["root"]):
            try:
                reply = {"success": handle(request), "message": ""}
            except ValueError as error:  # how both of aider and gptme refuse
                reply = {"success": False, "message": str(error)[:200]}
            except Exception as error:  # noqa: BLE001 (a crash of the applier is a score)
                reply = {"success": None, "message": repr(error)[:200]}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()
