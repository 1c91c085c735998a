"""A place with workspaces, jobs and results, and the real command line on them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests import command_line
from tools.plain_git import IDENTITY

from clada.world.libc import LIBC

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2


def edit(old: str = "old", new: str = "new", path: str = "a.txt") -> str:
    """Return a document of one edit."""
    return f'<---SEARCH file="{path}"--->\n{old}\n<---REPLACE--->\n{new}\n<---END--->\n'


def run_document(command: str) -> str:
    """Return a document of one command."""
    return f"<---RUN--->\n{command}\n<---END--->\n"


def give_up_powers() -> None:
    """Have the program that is about to start keep to the modes of files, also if it is root's."""
    if sys.platform == "linux" and os.geteuid() == 0:
        for power in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            assert LIBC.prctl(PR_CAPBSET_DROP, power, 0, 0, 0) == 0


class Yard:
    """A directory with workspaces, in which batches are run."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.jobs_file, self.out = top / "jobs.jsonl", top / "results.jsonl"
        home = top / "home"
        home.mkdir()
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "XDG_"))}
        self.environment = {**kept, "HOME": str(home)}

    def workspace(self, name: str, **files: str) -> Path:
        """Make a workspace with these files; `a_txt` is a.txt."""
        folder = self.top / name
        folder.mkdir()
        for file, content in (files or {"a_txt": "old\n"}).items():
            (folder / file.replace("_", ".")).write_text(content)
        return folder

    def jobs(self, jobs: Sequence[dict[str, Any]]) -> None:
        """Write the jobs file."""
        self.jobs_file.write_text("".join(f"{json.dumps(job)}\n" for job in jobs))

    def command(self, *flags: str) -> list[str]:
        """Return the command line of a batch."""
        return [sys.executable, "-m", "clada", "batch", str(self.jobs_file), f"--out={self.out}", *flags]

    def batch(self, *flags: str) -> subprocess.CompletedProcess[str]:
        """Run a batch to its end, as somebody for whom read-only is read-only."""
        words = self.command(*flags)[3:]
        done = command_line.start(
            *words, directory=self.top, environment=self.environment, preexec_fn=give_up_powers
        )
        return command_line.decoded(done)

    def clada(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run any other command."""
        return command_line.decoded(
            command_line.run(*words, directory=self.top, environment=self.environment)
        )

    def results(self) -> dict[str, dict[str, Any]]:
        """Return the results by id; each id is there once, and each line is whole."""
        text = self.out.read_bytes()
        assert not text or text.endswith(b"\n")
        found = [json.loads(line) for line in text.splitlines()]
        by_id = {result["id"]: result for result in found}
        assert len(by_id) == len(found)
        return by_id

    def statuses(self) -> dict[str, str]:
        """Return the statuses by id."""
        return {id_: result["status"] for id_, result in self.results().items()}

    def repository(self, name: str = "repo", *flags: str) -> Path:
        """Make a repository with one commit, of a.txt."""
        folder = self.workspace(name)
        self.git(folder, "init", "-q", *flags)
        self.git(folder, "add", "-A")
        self.git(folder, "commit", "-qm", "first")
        return folder

    def git(self, folder: Path, *words: str, given: str | None = None) -> str:
        """Run git, and return what it prints."""
        done = subprocess.run(
            ["git", *IDENTITY, *words], cwd=folder, env=self.environment, capture_output=True, check=True,
            text=True, input=given,
        )  # fmt: skip
        return done.stdout.strip()


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    """Return a new place for batches."""
    return Yard(tmp_path)
