"""How runs are recorded, as the command line says and asks it."""

from __future__ import annotations

import json
import os
from shlex import quote
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from tests.messages import joined

if TYPE_CHECKING:
    from tests.cli.conftest import Shell, Terminals

WRITE = '<---WRITE file="a.txt"--->\nhi\n<---END--->\n'
CAT = "<---RUN--->\ncat mine.txt\n<---END--->\n"
NOTE = "clada: not a git repository: recorded by a snapshot; clada undo reverts it\n"


# The commits, in one line.


def short(repository: Shell, commit: str = "HEAD") -> str:
    """Return the first letters of a commit."""
    return repository.git("rev-parse", commit)[:7]


def test_a_run_names_its_commits(repository: Shell) -> None:
    """Only those that were made."""
    repository.write("mine.txt", "mine\n")
    done = repository(document=WRITE)
    words = f"{short(repository, 'HEAD~1')} (your work before), {short(repository)} (this run)"
    assert done.stderr == f"clada: committed {words}\n"
    done = repository(document=WRITE.replace("hi", "ho"))
    assert done.stderr == f"clada: committed {short(repository)} (this run)\n"
    repository.write("mine.txt", "mine too\n")
    done = repository("--approve=python3 -c pass", document="<---RUN--->\npython3 -c pass\n<---END--->\n")
    assert f"clada: committed {short(repository)} (your work before)\n" in done.stderr


@pytest.mark.parametrize("flags", [["--record=snapshots"], ["--no-git"], ["--dry-run"]])
def test_a_run_without_commits_names_none(repository: Shell, flags: list[str]) -> None:
    """Nor does one that changed nothing."""
    repository.write("mine.txt", "mine\n")
    assert "committed" not in repository(*flags, document=WRITE).stderr
    assert "committed" not in repository(document=CAT).stderr


def test_what_programs_read_is_as_it_was(repository: Shell) -> None:
    """Summaries on standard output, and events on standard error."""
    repository.write("mine.txt", "mine\n")
    json.loads(repository("--summary=json", "--output-mode=silent", document=WRITE).stdout)
    ET.fromstring(repository("--summary=xml", "--output-mode=silent", document=WRITE + CAT).stdout)
    done = repository("--events=jsonl", document=WRITE.replace("hi", "again"))
    assert [json.loads(line)["event"] for line in done.stderr.splitlines()][-1] == "run_ended"


def test_a_file_that_git_was_only_told_of_is_not_said_to_be_taken_out(repository: Shell) -> None:
    """`git add -N` puts a name into the index, and no content."""
    repository.write("mine.txt", "mine\n")
    repository.git("add", "-N", "mine.txt")
    done = repository(document=WRITE)
    assert "clada: not committed, because git add -N only announces them: mine.txt\n" in done.stderr
    assert "taken them out" not in done.stderr
    assert repository.git("status", "--porcelain") == " A mine.txt\n"


# Without a repository.


def test_outside_of_a_repository_runs_are_recorded_by_snapshots(shell: Shell) -> None:
    """With a note; history and undo work."""
    shell.write("a.txt", "old\n")
    done = shell(document=WRITE)
    assert (done.returncode, done.stderr) == (0, NOTE)
    assert shell("history").stdout.count("\n") == 2  # the header, and the run
    assert shell("undo").stdout.startswith("undone: run 1 ")
    assert (shell.workspace / "a.txt").read_text() == "old\n"
    assert not (shell.workspace / ".git").exists()


@pytest.mark.parametrize("command", [[], ["plan"]])
def test_commits_that_are_asked_for_are_refused_there(shell: Shell, command: list[str]) -> None:
    """Before anything is executed."""
    done = shell(*command, "--record=commits", document=WRITE)
    assert done.returncode == 1
    assert "FATAL: GIT - not a git repository" in done.stdout
    assert os.listdir(shell.workspace) == []


def test_a_repository_that_is_named_must_be_there(shell: Shell) -> None:
    """It was asked for, too."""
    done = shell(f"--repository={shell.workspace}", document=WRITE)
    assert (done.returncode, os.listdir(shell.workspace)) == (1, [])


def test_a_damaged_repository_is_not_passed_over(shell: Shell) -> None:
    """A .git that is of no use is something to repair."""
    (shell.workspace / ".git").mkdir()
    done = shell(document=WRITE)
    assert done.returncode == 1
    assert "FATAL: GIT - not a git repository" in done.stdout


def test_the_plan_of_such_a_run_is_not_refused(shell: Shell) -> None:
    """As the run is not."""
    done = shell("plan", document=WRITE)
    assert (done.returncode, os.listdir(shell.workspace)) == (0, [])


def test_a_configuration_that_says_commits_means_those_that_can_be_made(shell: Shell) -> None:
    """It is for all workspaces."""
    shell.configure('record = "commits"\n')
    assert shell(document=WRITE).stderr == NOTE
    shell.git("init", "-q")
    assert "committed" in shell(document=WRITE.replace("hi", "ho")).stderr


# The first use.

QUESTION = "[c] commits or [s] snapshots? "
CONFIGURED = "# mine\nsandbox = \"auto\"\napprove = [\n  'x',\n]"  # without a line break at its end


@pytest.fixture
def dirty(repository: Shell) -> Shell:
    """Return a repository with work that is not committed, and an answer."""
    repository.write("mine.txt", "mine\n")
    repository.write("answer.md", WRITE)
    return repository


@pytest.mark.sample(2)
@pytest.mark.parametrize(("key", "record"), [("c", "commits"), ("s", "snapshots"), ("commits", "commits")])
@pytest.mark.parametrize("before", ["", CONFIGURED], ids=["no file", "a file"])
def test_the_first_run_on_a_terminal_asks_and_remembers(
    dirty: Shell, terminal: Terminals, key: str, record: str, before: str
) -> None:
    """Three lines explain both ways; what was in the configuration stays."""
    file = dirty.configure(before) if before else dirty.home / ".config/clada/config.toml"
    screen = terminal("answer.md")
    asked = screen.until(QUESTION)
    assert [line[:13].strip() for line in asked.splitlines()[1:4]] == [
        "clada records",
        "commits",
        "snapshots",
    ]
    screen.type(f"{key}\n")
    code, shown = screen.end()
    assert (code, (dirty.workspace / "a.txt").read_text()) == (0, "hi\n")
    assert ("clada: committed" in shown) == (record == "commits")
    start = f"{before}\n" if before else ""
    assert file.read_text() == f'{start}record = "{record}"\n'
    commits = dirty.git("rev-list", "--all", "--count").strip()
    assert commits == ("2" if record == "commits" else "0")
    dirty.write("mine.txt", "again\n")
    dirty.write("answer.md", WRITE.replace("hi", "ho"))
    assert QUESTION not in terminal("answer.md").end()[1]
    assert dirty.git("rev-list", "--all", "--count").strip() == str(2 * int(commits))


def test_the_answer_goes_where_configurations_are(dirty: Shell, terminal: Terminals) -> None:
    """XDG_CONFIG_HOME counts, and a link stays one."""
    place = dirty.home / "elsewhere/clada"
    place.mkdir(parents=True)
    (dirty.home / "dotfiles.toml").write_text("# mine\n")
    (place / "config.toml").symlink_to(dirty.home / "dotfiles.toml")
    screen = terminal("answer.md", XDG_CONFIG_HOME=str(dirty.home / "elsewhere"))
    screen.until(QUESTION)
    screen.type("s\n")
    assert screen.end()[0] == 0
    assert (place / "config.toml").is_symlink()
    assert (dirty.home / "dotfiles.toml").read_text() == '# mine\nrecord = "snapshots"\n'


@pytest.mark.parametrize("keys", ["\x04", "x\nx\nx\n"], ids=["end of input", "no such answer"])
def test_without_an_answer_nothing_is_executed(dirty: Shell, terminal: Terminals, keys: str) -> None:
    """Nor remembered."""
    screen = terminal("answer.md")
    for key in keys.splitlines(keepends=True):
        screen.until(QUESTION)
        screen.seen = b""
        screen.type(key)
    code, shown = screen.end()
    assert (code, (dirty.workspace / "a.txt").exists()) == (1, False)
    assert "nothing was executed\r\n  clada config set record snapshots" in shown
    assert not (dirty.home / ".config").exists()


@pytest.mark.parametrize(
    "flags", [["--record=commits"], ["--record=snapshots"], ["--no-git"], ["--dry-run"]], ids=" ".join
)
@pytest.mark.usefixtures("dirty")
def test_a_flag_makes_the_question_unnecessary(terminal: Terminals, flags: list[str]) -> None:
    """Nor for a dry run."""
    code, shown = terminal(*flags, "answer.md").end()
    assert (code, QUESTION in shown) == (0, False)


def test_no_question_is_asked_if_only_the_answer_is_new(repository: Shell, terminal: Terminals) -> None:
    """There is nothing of the user's to decide on; nor is there without a repository, or a terminal."""
    repository.write("answer.md", WRITE)
    assert QUESTION not in terminal("answer.md").end()[1]
    assert repository.git("rev-list", "--all", "--count").strip() == "1"
    repository.write("mine.txt", "mine\n")
    assert "(your work before)" in repository(document=WRITE.replace("hi", "ho")).stderr


def test_a_watch_asks_once(dirty: Shell, terminal: Terminals) -> None:
    """What was answered counts for the next answers that it attends to."""
    screen = terminal("watch", "--yes", "answer.md")
    screen.until("[q] quit")
    dirty.write("answer.md", WRITE.replace("hi", "one"))
    screen.until(QUESTION)
    screen.type("s\n")
    screen.until("do it again")
    screen.seen = b""
    dirty.write("answer.md", WRITE.replace("hi", "second"))
    screen.until("do it again")
    assert QUESTION.encode() not in screen.seen
    assert (dirty.workspace / "a.txt").read_text() == "second\n"


# Undo, and caches.

PYTEST = "mkdir -p .pytest_cache/v; date +%N > .pytest_cache/v/last; echo '*' > .pytest_cache/.gitignore"
CACHES = {
    "pytest": PYTEST,
    "python": "mkdir -p __pycache__ lib/__pycache__; date +%N > lib/__pycache__/a.pyc",
    "others": "mkdir -p .mypy_cache .ruff_cache/0; date +%N > .mypy_cache/x; date > z.pyc",
    "tagged": "date +%N > build/x",
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("is_repository", [True, False], ids=["commits", "snapshots"])
@pytest.mark.parametrize("script", CACHES.values(), ids=CACHES)
def test_a_run_that_only_touched_caches_is_passed_over(
    shell: Shell, script: str, is_repository: bool
) -> None:
    """The run before is undone, although caches that it wrote were written again since."""
    if is_repository:
        shell.git("init", "-q")
    shell.write("build/CACHEDIR.TAG", "")
    shell.write("a.txt", "old\n")
    command = f"<---RUN--->\nsh -c {quote(script)}\n<---END--->\n"
    for document in (WRITE + command, command, command):
        assert shell("--approve-all", "--sandbox=off", document=document).returncode == 0
    done = shell("undo")
    assert done.stdout.startswith("undone: run 1 (")
    assert (shell.workspace / "a.txt").read_text() == "old\n"
    assert shell("undo").stdout.startswith("undone: run 4 (")  # the undo itself
    assert (shell.workspace / "a.txt").read_text() == "hi\n"


def test_a_run_cannot_hide_behind_a_tag_of_its_own(shell: Shell) -> None:
    """What it calls a cache itself is none."""
    shell(document=WRITE)
    tag = '<---WRITE file="src/CACHEDIR.TAG"--->\nx\n<---END--->\n'
    shell(document=tag + WRITE.replace("a.txt", "src/a.txt"))
    assert shell("undo").stdout.startswith("undone: run 2 (")


def test_only_caches_are_nothing_to_undo(shell: Shell) -> None:
    """It is said so."""
    document = f"<---RUN--->\nsh -c {quote(PYTEST)}\n<---END--->\n"
    shell("--approve-all", "--sandbox=off", document=document)
    done = shell("undo")
    assert (done.returncode, joined(done.stderr)) == (
        1,
        "clada: no run changed anything; clada history\n",
    )


# Resuming.

GATE = "<---RUN--->\nsh -c true\n<---END--->\n"  # needs approval
SECOND = WRITE.replace("a.txt", "b.txt")


def test_resume_says_what_was_not_chosen(shell: Shell, terminal: Terminals) -> None:
    """It is not carried out, and said once more where nothing else is left."""
    shell.write("answer.md", WRITE + SECOND + GATE)
    screen = terminal("--record=snapshots", "--confirm", "answer.md")
    for key in ("s", "y", "n", "y", "y"):
        screen.until("[?] ")
        screen.seen = b""
        screen.type(f"{key}\n")
    screen.until("[y] once")
    screen.type("n\n")
    screen.end()
    done = shell("resume", "--approve=sh -c true")
    assert (done.returncode, "clada: left out, as they were not chosen: write b.txt\n" in done.stderr) == (
        0,
        True,
    )
    assert not (shell.workspace / "b.txt").exists()
    done = shell("resume")
    assert done.returncode == 1
    assert (
        "run 2 did everything that was chosen; left out: write b.txt; clada --again --confirm ANSWER"
        in joined(done.stderr)
    )


@pytest.mark.parametrize("record", ["commits", "snapshots"])
@pytest.mark.parametrize("back", [["reset", "-q", "--hard", "first"], ["checkout", "-q", "first", "--", "."]])
def test_resume_notices_that_what_was_done_was_taken_back(
    repository: Shell, record: str, back: list[str]
) -> None:
    """It says what to do, and does nothing; --again goes on all the same."""
    repository.write("a.txt", "old\n")
    repository.git("add", "a.txt")
    repository.git("commit", "-q", "-m", "first")
    repository.git("tag", "first")
    repository(f"--record={record}", document=WRITE + GATE)
    repository.git(*back)
    done = repository("resume", "--approve=sh -c true")
    assert done.returncode == 1
    assert joined(done.stderr) == (
        "clada: files are no longer as run 1 left them: a.txt; clada resume --again; clada --again ANSWER\n"
    )
    done = repository("resume", "--again", "--approve=sh -c true")
    assert done.returncode == 0
    assert "clada: changed since run 1: a.txt\n" in done.stderr
    assert (repository.workspace / "a.txt").read_text() == "old\n"


def test_a_reset_to_a_state_before_the_users_own_work_is_noticed(repository: Shell) -> None:
    """By the commit of the run, which is gone; what is edited by hand is only noted."""
    repository.write("a.txt", "old\n")
    repository.git("add", "a.txt")
    repository.git("commit", "-q", "-m", "first")
    repository.write("a.txt", "mine\n")
    repository(document=WRITE + GATE)
    repository.write("a.txt", "repaired\n")
    done = repository("resume")
    assert "clada: changed since run 1: a.txt\n" in done.stderr
    repository.git("reset", "-q", "--hard", "HEAD~2")
    done = repository("resume", "--approve=sh -c true")
    assert (done.returncode, "files are no longer as run 2 left them: a.txt" in joined(done.stderr)) == (
        1,
        True,
    )
