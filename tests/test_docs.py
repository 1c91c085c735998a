"""The documentation is true: every console block is run and compared, every Python block is run.

A console block has `$ ` before each command and `> ` before its further lines; then what it prints, on both
streams. Hashes and times are masked on both sides, and a line `…` stands for any lines. A block with
`title="NAME"` behind its tag is a file. A terminal block is one command on a terminal: the text behind a
question is typed, and so is a key on a line of its own; `# meanwhile: ` is run beside it. The blocks of one
page share a new repository. `python -m tests.test_docs PAGE` writes what console blocks print now.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.conftest import Screen
from tests.display import display

from clada.cli.arguments import read
from clada.cli.flags import FLAGS
from clada.errors import ERROR_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r'^(```+)(\w*)(?: title="(\S+)")?\n(.*?)^\1$', re.MULTILINE | re.DOTALL)
QUESTION = re.compile(r"(.*\[\?\] )(\S+)$")
MEANWHILE = "# meanwhile: "
MASKS = (
    (re.compile(r"\b(?=[a-f]*\d)[0-9a-f]{7,40}\b"), "HASH"),
    (re.compile(r"(?<=commit )[0-9a-f]{9}|[0-9a-f]{7}(?= \((?:this run|your work before)\))"), "HASH"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[+-]\d\d:\d\d|Z)"), "TIME"),
    (re.compile(r"took [\d.]+ ms"), "took N ms"),
    (re.compile(r"(?<= of )\d\d:\d\d(?=,)"), "TIME"),
)
HIDDEN = ("GIT_", "XDG_", "CLADA_", "DISPLAY", "WAYLAND_", "PYTHONDONTWRITE")  # variables
ANYTHING = "…"
UNCONFINED = "clada: commands run unsandboxed"  # a note that only some machines give


def blocks(page: Path, kind: str) -> list[str]:
    """Return the fenced blocks of a page that have this tag."""
    return [
        text for _fence, tag, _name, text in FENCE.findall(page.read_text(encoding="utf-8")) if tag == kind
    ]


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
        self.folder = self.workspace = top / "project"
        home = top / "home"
        self.folder.mkdir()
        home.mkdir()
        (home / ".gitconfig").write_text(
            "[user]\nname = You\nemail = you@example.org\n[init]\ndefaultBranch = main\n", encoding="utf-8"
        )
        (home / ".config/clada").mkdir(parents=True)
        (home / ".config/clada/config.toml").write_text('record = "commits"\n', encoding="utf-8")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(HIDDEN)}
        path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
        self.environment = {**kept, "HOME": str(home), "PATH": path, "LC_ALL": "C.UTF-8"}
        self.run("git init -q")

    def write(self, name: str, content: str) -> None:
        """Put a file into it."""
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(content, encoding="utf-8")

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


def play(project: Project, block: str) -> tuple[list[str], list[str]]:
    """Run the command of a terminal block as a person would; return what is said to be shown, and what is."""
    command, *lines = block.splitlines()
    screen = Screen(
        ["bash", "-c", command.removeprefix("$ ")], project, TERM="dumb", PAGER="cat", NO_COLOR="1"
    )
    seen = ""
    try:
        for before, line in zip(["", *lines], lines, strict=False):
            question = QUESTION.match(line)
            is_key = len(line) == 1 and before.endswith("[q] quit")
            if question or is_key or line.startswith(MEANWHILE):
                screen.until(question[1] if question else before)
                seen, screen.seen = seen + screen.seen.decode(), b""
                if line.startswith(MEANWHILE):
                    project.run(f"{line.removeprefix(MEANWHILE)} >/dev/null 2>&1")  # which may stay
                else:
                    screen.type_until_read(question[2] if question else line)
        screen.end()
    finally:
        screen.close()
    shown = (seen + screen.seen.decode()).replace("\r\n", "\n").splitlines()
    return [line for line in lines if not line.startswith(MEANWHILE)], shown


@contextmanager
def surroundings(page: Path, project: Project) -> Iterator[None]:
    """Give a page the display that it needs, if it needs one."""
    if "xclip" not in page.read_text(encoding="utf-8"):
        yield
        return
    with display() as shown:
        project.environment |= {"DISPLAY": shown.name, "WAYLAND_DISPLAY": ""}
        yield


def name(page: Path) -> str:
    """Return how a page is called in the list of tests."""
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "console") or blocks(page, "terminal")], ids=name
)
def test_console(page: Path, tmp_path: Path) -> None:
    """What a page says that commands print is what they print."""
    project = Project(tmp_path)
    with surroundings(page, project):
        for _fence, tag, file, block in FENCE.findall(page.read_text(encoding="utf-8")):
            if file:
                project.write(file, block)
            played = [play(project, block)] if tag == "terminal" else []
            ran = steps(block) if tag == "console" else ()
            for expected, actual in (*played, *((said, project.run(command)) for command, said in ran)):
                assert matches(expected, actual), "\n".join([*actual, "--- but it says:", *expected])


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name)
def test_python(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python of a page runs, block after block."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    names: dict[str, Any] = {}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), names)


def test_the_snippets_for_hosts_start_the_server() -> None:
    """What a reader pastes can be read by the host, and its command line by clada."""
    text = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
    loads = {"json": json.loads, "toml": tomllib.loads}
    snippets = re.findall(r"^ *```(json|toml)\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL)  # also in tabs
    found = [loads[tag](snippet) for tag, snippet in snippets]
    assert len(found) == 5
    for servers in (servers for snippet in found for servers in snippet.values()):
        server = servers["clada"]
        if "url" in server:
            assert server["headers"]["Authorization"].startswith("Bearer ")
        else:
            assert server["command"] == "clada"
            assert read(server["args"]).command == "mcp"


def test_there_is_something_to_run() -> None:
    """The runner finds the blocks that it is for."""
    assert sum(len(list(steps(block))) for page in PAGES for block in blocks(page, "console")) > 20
    assert sum(len(blocks(page, "python")) for page in PAGES) > 3


@pytest.mark.parametrize("type_", ERROR_TYPES)
def test_every_error_type_has_an_entry(type_: str) -> None:
    """Each type is explained: what it means, and what to do."""
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| `{type_}` \| ([^|]+) \| ([^|]+) \|$", text, re.MULTILINE)
    assert row
    assert all(len(cell.split()) >= 3 for cell in row.groups())


def test_the_settings_that_a_workspace_may_have_are_listed() -> None:
    """The page of the configuration names each of them, and no other."""
    text = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    (sentence,) = re.findall(r"^The workspace's file may set (.+?)\.$", text, re.MULTILINE | re.DOTALL)
    assert set(re.findall(r"`(\w+)`", sentence)) == {flag.name for flag in FLAGS.values() if flag.shared}


LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^(```+).*?^\1$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as the site and code hosts make them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = (heading.lower().strip() for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE))
    return {re.sub(r"[^\w -]", "", heading).replace(" ", "-") for heading in headings}


def test_no_link_leads_nowhere() -> None:
    """Linked pages and headings exist, and a page of the site links only to the site."""
    missing = []
    for page in PAGES:
        for link in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
            if "://" in link:
                continue
            file, _, anchor = link.partition("#")
            target = (page.parent / file).resolve() if file else page
            leaves_site = ROOT / "docs" in page.parents and ROOT / "docs" not in target.parents
            if leaves_site or not target.exists() or (anchor and anchor not in anchors(target)):
                missing.append((name(page), link))
    assert missing == []


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    """A page that is not listed in mkdocs.yml cannot be found."""
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    docs = ROOT / "docs"
    listed = {path.strip() for path in re.findall(r"- (?:\w+: )?(\S+\.md)$", navigation, re.MULTILINE)}
    assert listed == {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}


def test_no_code_has_an_escaped_pipe() -> None:
    """The site would show the backslash: write <code>a &#124; b</code> in a table."""
    spans = [(name(page), span) for page in PAGES for span in CODE.finditer(page.read_text(encoding="utf-8"))]
    assert [(page, span[0]) for page, span in spans if not span[1] and r"\|" in span[0]] == []


def test_pages_are_short() -> None:
    """A page has at most 1,200 words, all pages of the site at most 25,000, and the README at most 700."""
    words = {name(page): len(page.read_text(encoding="utf-8").split()) for page in PAGES}
    assert {page: count for page, count in words.items() if count > 1200} == {}
    assert words["README.md"] <= 700
    assert sum(_count_words(page) for page in PAGES if ROOT / "docs" in page.parents) <= 25_000


def _count_words(page: Path) -> int:
    """Count the words of a page, without the bars of its tables."""
    return sum(any(map(str.isalnum, word)) for word in page.read_text(encoding="utf-8").split())


def rewrite(page: Path, top: Path) -> None:
    """Write what the commands of a page print into it, where it says something else."""
    project = Project(top)

    def block(found: re.Match[str]) -> str:
        if found[3]:
            project.write(found[3], found[4])
        if found[2] != "console":
            return found[0]
        lines = []
        for command, expected in steps(found[4]):
            actual = project.run(command)
            lines += [
                f"{'> ' if number else '$ '}{line}".rstrip()
                for number, line in enumerate(command.split("\n"))
            ]
            lines += expected if matches(expected, actual) else actual
        return "\n".join([f"{found[1]}console", *lines, found[1]])

    page.write_text(FENCE.sub(block, page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    import tempfile

    for argument in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            rewrite(Path(argument), Path(folder))
