"""The documentation is true: every console block is run and compared, every Python block is run.

A console block has `$ ` before each command and `> ` before its further lines; then what it prints, on both
streams. Hashes, times and temporary places are masked on both sides, and a line `…` stands for any lines. The
blocks of one page share a new repository. `python tests/test_docs.py PAGE` writes what is printed now.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clada.cli.flags import FLAGS
from clada.errors import ERROR_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MASKS = (
    (re.compile(r"\b(?=[a-f]*\d)[0-9a-f]{7,40}\b"), "HASH"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[+-]\d\d:\d\d|Z)"), "TIME"),
    (re.compile(r"took [\d.]+ ms"), "took N ms"),
)
ANYTHING = "…"
UNCONFINED = "clada: commands run unsandboxed"  # a note that only some machines give


def blocks(page: Path, kind: str) -> list[str]:
    """Return the fenced blocks of a page that have this tag."""
    return [text for tag, text in FENCE.findall(page.read_text(encoding="utf-8")) if tag == kind]


def steps(block: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each command of a console block with the lines that it is said to print."""
    command, printed = "", list[str]()
    for line in block.splitlines():
        if line.startswith("$ "):
            if command:
                yield command, printed
            command, printed = line[2:], []
        elif line.startswith("> ") or line == ">":
            command += f"\n{line[2:]}"
        else:
            printed.append(line)
    yield command, printed


def masked(line: str) -> str:
    """Return a line without what differs from run to run."""
    for pattern, mask in MASKS:
        line = pattern.sub(mask, line)
    return line


def matches(expected: list[str], actual: list[str]) -> bool:
    """Whether a command printed what is said, `…` standing for any lines."""
    if not expected:
        return not actual
    if expected[0] == ANYTHING:
        return any(matches(expected[1:], actual[skipped:]) for skipped in range(len(actual) + 1))
    return bool(actual) and masked(expected[0]) == masked(actual[0]) and matches(expected[1:], actual[1:])


class Project:
    """A new repository, in which the commands of a page are run as a reader would run them."""

    def __init__(self, top: Path) -> None:
        self.folder, home = top / "project", top / "home"
        self.folder.mkdir()
        home.mkdir()
        (home / ".gitconfig").write_text(
            "[user]\nname = You\nemail = you@example.org\n[init]\ndefaultBranch = main\n", encoding="utf-8"
        )
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "XDG_"))}
        path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
        self.environment = {**kept, "HOME": str(home), "PATH": path, "LC_ALL": "C.UTF-8"}
        self.run("git init -q")

    def run(self, command: str) -> list[str]:
        """Run a line of shell, and return what it prints on both streams."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=90,
            start_new_session=True,  # without the terminal of whoever runs the tests
        )
        lines = done.stdout.decode().splitlines()
        return [line for line in lines if not line.startswith(UNCONFINED)]


def name(page: Path) -> str:
    """Return how a page is called in the list of tests."""
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "console")], ids=name)
def test_console(page: Path, tmp_path: Path) -> None:
    """What a page says that commands print is what they print."""
    project = Project(tmp_path)
    for block in blocks(page, "console"):
        for command, expected in steps(block):
            actual = project.run(command)
            assert matches(expected, actual), "\n".join(
                ["$ " + command, *actual, "--- but it says:", *expected]
            )


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name)
def test_python(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python of a page runs, block after block."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), names)


def test_there_is_something_to_run() -> None:
    """The runner finds the blocks that it is for."""
    assert sum(len(list(steps(block))) for page in PAGES for block in blocks(page, "console")) > 20
    assert sum(len(blocks(page, "python")) for page in PAGES) > 3


@pytest.mark.parametrize("type_", ERROR_TYPES)
def test_every_error_type_has_an_entry(type_: str) -> None:
    """Each type is explained: what it means, and what to do."""
    text = (ROOT / "docs" / "output.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| `{type_}` \| ([^|]+) \| ([^|]+) \|$", text, re.MULTILINE)
    assert row
    assert all(len(cell.split()) >= 3 for cell in row.groups())


def test_every_flag_has_its_line_in_the_table_of_keys() -> None:
    """The table says of each key whether the workspace's file may have it."""
    text = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    for flag in FLAGS.values():
        row = re.search(rf"^\|[^|]*`{flag.name}`[^|]*\|.*\| ([^|]+) \|$", text, re.MULTILINE)
        assert row, flag.name
        assert row[1] == ("yes" if flag.shared else "only `require`" if flag.name == "sandbox" else "no")


def test_no_link_leads_nowhere() -> None:
    """Pages that are linked are there."""
    missing = [
        (name(page), target)
        for page in PAGES
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert missing == []


def rewrite(page: Path, top: Path) -> None:
    """Write what the commands of a page print into it, where it says something else."""
    project = Project(top)

    def block(found: re.Match[str]) -> str:
        if found[1] != "console":
            return found[0]
        lines = []
        for command, expected in steps(found[2]):
            actual = project.run(command)
            lines += [
                f"{'> ' if number else '$ '}{line}".rstrip()
                for number, line in enumerate(command.split("\n"))
            ]
            lines += expected if matches(expected, actual) else actual
        return "\n".join(["```console", *lines, "```"])

    page.write_text(FENCE.sub(block, page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    import tempfile

    for argument in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            rewrite(Path(argument), Path(folder))
