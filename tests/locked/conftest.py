"""A repository with secrets beside it, and the real command line in it: as root, and as an ordinary user."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests import command_line
from tools.plain_git import CONFIG

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NOBODY = 65534
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
SECRET = "what must not be seen"
HIDDEN = ("GIT_", "XDG_", "PYTHON", "NO_COLOR")


def _kept() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(HIDDEN)}


class Place:
    """A folder with a home, a workspace that is a repository, and an outside that holds a secret."""

    def __init__(self, user: Sequence[str]) -> None:
        self.user = user
        self.top = Path(os.path.realpath(tempfile.mkdtemp(prefix="clada-test-", dir="/var/tmp")))
        self.top.chmod(0o755)
        self.inside, self.outside, self.home = (self.top / name for name in ("inside", "outside", "home"))
        for folder in (self.inside, self.outside, self.home):
            folder.mkdir()
        for file in (self.outside / "secret", self.home / "secret"):
            file.write_text(f"{SECRET}\n")
        self.environment = {**_kept(), "HOME": str(self.home), "GIT_CONFIG_NOSYSTEM": "1"}
        (self.home / ".gitconfig").write_text(CONFIG)
        self.write("file", "one\ntwo\n")
        self.write("sub/other", "other\n")
        self.give()
        self.git("init", "-q")
        self.commit()

    def give(self) -> None:
        """Make everything the user's own."""
        if self.user:
            for folder, folders, files in os.walk(self.top):
                for name in (".", *folders, *files):
                    os.lchown(os.path.join(folder, name), NOBODY, NOBODY)

    def write(self, path: str, content: str = "content\n") -> Path:
        """Put a file below the workspace, with its folders."""
        file = self.inside / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
        return file

    def commit(self) -> None:
        """Commit all that there is, with plain git."""
        self.give()
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "by hand")

    def git(self, *words: str, check: bool = True) -> str:
        """Run plain git as the user, and return what it prints."""
        done = self.start(["git", *words])
        assert not check or done.returncode == 0, done.stderr
        return done.stdout

    def start(self, argv: Sequence[str], text: str = "") -> subprocess.CompletedProcess[str]:
        """Run a program in the workspace as the user."""
        return subprocess.run(
            [*self.user, *argv],
            input=text,
            cwd=self.inside,
            env=self.environment,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=90,
            start_new_session=True,
        )

    def clada(self, *bodies: str, arguments: Sequence[str] = ("--no-git",)) -> Result:
        """Run these commands, each as an operation of its own."""
        self.give()
        blocks = [{"tasks": [{"action": "run", "command": body}]} for body in bodies]
        flags = ("--format=json", "--summary=json", *arguments)
        document = json.dumps(blocks).encode()
        run = partial(command_line.start, before=self.user) if self.user else command_line.run
        done = run(*flags, document=document, directory=self.inside, environment=self.environment)
        out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        return Result(subprocess.CompletedProcess(done.args, done.returncode, out, err))

    def remove(self) -> None:
        """Leave nothing behind."""
        shutil.rmtree(self.top)


class Result:
    """What the command line said."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.text = done.stdout + done.stderr
        self.code = done.returncode
        at = done.stdout.find('{\n  "schema"')
        report: dict[str, Any] = json.loads(done.stdout[at:]) if at >= 0 else {}
        self.report = report
        self.tasks: list[dict[str, Any]] = [
            task for block in report.get("blocks", ()) for task in block["tasks"]
        ]

    def output(self, task: dict[str, Any]) -> str:
        """Return what the commands of a task printed."""
        start = f"[task-{task['label']}:exec] "
        lines = [line.removeprefix(start) for line in self.text.splitlines() if line.startswith(start)]
        return "\n".join(lines)

    @property
    def errors(self) -> list[str | None]:
        """The type of each task's error, None where there is none."""
        return [(task.get("error") or {}).get("type") for task in self.tasks]


def _users() -> list[Any]:
    """Return ourselves and, if we are root, an ordinary user who can read this Python."""
    possible = not os.geteuid() and shutil.which("setpriv")
    probe = [*AS_NOBODY, sys.executable, "-c", "import clada"]
    known = possible and not subprocess.run(probe, capture_output=True, check=False, cwd="/").returncode
    skip = pytest.mark.skipif(not known, reason="only root can become another user, who can read its Python")
    return [pytest.param((), id="oneself"), pytest.param(AS_NOBODY, id="nobody", marks=skip)]


@pytest.fixture(params=_users())
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """Return such a folder, for each kind of user."""
    made = Place(request.param)
    yield made
    made.remove()
