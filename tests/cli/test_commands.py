"""The commands beside the main job: approvals, history, undo, doctor."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.messages import headline, joined

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Shell

WRITE = '<---WRITE file="a.txt"--->\nhi\n<---END--->\n'
HASH = "[0-9a-f]{9}"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d"


def test_approvals_are_listed_added_blocked_and_removed(shell: Shell) -> None:
    assert shell("approvals", "add", "npm test").stdout == "approved: npm test\n"
    assert shell("approvals", "add", "--network", "npm install").stdout == (
        "approved with network: npm install\n"
    )
    assert shell("approvals", "block", "npm publish").stdout == "blocked: npm publish\n"
    listed = shell("approvals", "list")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert listed.stdout == "network  npm install\nallowed  npm test\nblocked  npm publish\n"
    assert shell("approvals", "remove", "npm test").stdout == "removed: npm test\n"
    assert shell("approvals").stdout == "network  npm install\nblocked  npm publish\n"


def test_no_approvals_yet_is_said(shell: Shell) -> None:
    done = shell("approvals")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == (
        'clada: no command is approved or blocked here\n  clada approvals add "npm test"\n'
    )


def test_removing_what_is_not_there_fails(shell: Shell) -> None:
    done = shell("approvals", "remove", "npm test")
    assert (done.returncode, done.stdout) == (1, "")
    assert headline(done.stderr) == "clada: neither approved nor blocked: npm test\n"


def test_the_hint_of_a_refused_command_is_a_line_that_works(shell: Shell) -> None:
    document = "<---RUN--->\nsh -c 'echo it'\n<---END--->\n"
    refused = shell("--no-git", document=document)
    assert refused.returncode == 1
    assert "command_not_allowed" in refused.stdout
    line = re.search(r"clada approvals add .*", refused.stdout)
    assert line
    argv = ["sh", "-c", line[0].replace("clada", f"{sys.executable} -m clada", 1)]
    subprocess.run(argv, cwd=shell.workspace, env=shell.environment, check=True)
    assert shell("--no-git", document=document).returncode == 0


def test_a_damaged_approvals_file_is_an_error(shell: Shell) -> None:
    shell.write(".clada/allowed-commands.json", "{")
    for arguments in (("approvals", "list"), ("approvals", "add", "x")):
        done = shell(*arguments)
        assert (done.returncode, done.stdout) == (1, "")
        assert ".clada/allowed-commands.json is damaged: line 1" in done.stderr


def test_history_lists_the_runs_newest_first(repository: Shell) -> None:
    repository.write("mine.txt", "mine\n")
    repository(document=WRITE)
    repository(document=WRITE.replace("a.txt", "b.txt") + "<---RUN--->\nfalse\n<---END--->\n")
    done = repository("history", "-v")
    assert (done.returncode, done.stderr) == (0, "")
    _header, newest, oldest = done.stdout.splitlines()
    assert re.fullmatch(
        rf"2  {TIME}  failed  -\.\.{HASH}          1 write, 0 of 1 run  b\.txt, false", newest.strip()
    )
    assert re.fullmatch(rf"1  {TIME}  ok      {HASH}\.\.{HASH}  1 write              a\.txt", oldest.strip())


def test_history_cannot_steer_the_terminal(repository: Shell) -> None:
    """The record is a file that a hostile repository may bring along."""
    repository("--summary=none", document=WRITE)
    evil = "\x1b]0;evil\x07\x9b2J\r"
    columns = (
        "started",
        "what",
        "record",
        "undoes",
        "continues",
        "pre",
        "ended",
        "changed",
        "post",
        "commands",
    )
    path = repository.workspace / f".git/clada/{os.geteuid()}/record.db"
    with closing(sqlite3.connect(path)) as database, database:
        for column in columns:
            database.execute(f"UPDATE runs SET {column} = ?", (evil,))
    printed = repository("history").stdout
    assert printed.count("evil") == 2  # when and what; all the rest is of a form that is known
    assert printed.replace("\n", "").isprintable()


def test_history_without_runs_or_without_a_repository(shell: Shell) -> None:
    for _ in range(2):
        done = shell("history")
        assert (done.returncode, done.stdout) == (0, "")
        assert done.stderr == "clada: no run is recorded for this workspace yet\n"
        shell.git("init", "-q")


def test_undo_without_a_repository_has_the_runs_that_were_recorded_elsewhere(shell: Shell) -> None:
    done = shell("undo")
    assert (done.returncode, done.stdout) == (1, "")
    assert joined(done.stderr) == "clada: no run is recorded for this workspace; clada history\n"
    shell("--record=snapshots", document=WRITE)
    done = shell("undo")
    assert (done.returncode, done.stderr) == (0, "")
    assert list(shell.workspace.iterdir()) == []
    assert (shell.home / ".local/state/clada").is_dir()


def test_a_record_that_cannot_be_kept_is_told_before_anything_is_executed(shell: Shell) -> None:
    place = shell.write("file", "")
    done = shell("--record=snapshots", document=WRITE, XDG_STATE_HOME=str(place))
    assert done.returncode == 1
    assert done.stdout.startswith(f"[task-1] FATAL: INPUT - cannot keep a record in {place}/clada/")
    assert "--record=none" in done.stdout
    assert list(shell.workspace.iterdir()) == [place]


def test_only_a_run_that_would_be_recorded_is_told_of_no_git(shell: Shell) -> None:
    done = shell("--no-git", document="<---RUN--->\ngit status\n<---END--->\n")
    assert done.returncode == 1
    assert "git init" in done.stdout
    assert "--no-git" not in done.stdout + done.stderr
    recorded = shell("--record=commits", document=WRITE)
    assert "; git init, or use --no-git to work without commits; --record=snapshots" in recorded.stdout
    shell.git("init", "-q", "--bare", ".")
    assert "or use --no-git" in shell("doctor").stdout


def test_undo_takes_a_run_back_and_undo_again_brings_it_back(repository: Shell) -> None:
    repository.write("a.txt", "old\n")
    repository(document=WRITE + WRITE.replace("a.txt", "new.txt"))
    done = repository("undo")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(
        rf"undone: run 1 \(2 writes: a.txt, new.txt\)\n  restored a.txt\n  removed new.txt\n"
        rf"recorded as run 2, commit {HASH}; clada undo reverts it\n",
        done.stdout,
    )
    assert (repository.workspace / "a.txt").read_text() == "old\n"
    assert not (repository.workspace / "new.txt").exists()
    assert repository("undo", "2").returncode == 0
    assert (repository.workspace / "new.txt").read_text() == "hi\n"


def test_history_names_a_few_files_and_says_how_many_more(repository: Shell) -> None:
    """Enough to tell runs apart, in one line that is not too long."""
    repository(document="".join(WRITE.replace("a.txt", f"{name}.txt") for name in "abcde"))
    repository(document=WRITE.replace("a.txt", "x" * 100) + "<---RUN--->\nls\n-l\n<---END--->\n")
    _, newest, oldest = (line.split("  ")[-1].strip() for line in repository("history").stdout.splitlines())
    assert oldest == "a.txt, b.txt, c.txt and 2 more"
    assert newest == f"{'x' * 59}…"


def test_the_commit_of_an_undo_says_what_it_undoes(repository: Shell) -> None:
    """In its body, and in a trailer beside that of its own run."""
    repository.write("a.txt", "old\n")
    repository(document=WRITE + WRITE.replace("a.txt", "new.txt"))
    repository("undo")
    assert repository.git("log", "-1", "--format=%b").rstrip("\n") == (
        "- undo of run 1: 2 writes: a.txt, new.txt\n- restore a.txt\n- remove new.txt\n\n"
        "Clada-Run: 2\nClada-Undoes: 1"
    )


def test_undo_is_recorded_as_the_run_was_unless_a_flag_says_otherwise(repository: Shell) -> None:
    """A configuration is about runs, and a flag about this undo: it counts, or is refused."""
    repository.write("a.txt", "old\n")
    repository(document=WRITE)
    (repository.home / ".config/clada").mkdir(parents=True)
    (repository.home / ".config/clada/config.toml").write_text('record = "snapshots"\n')

    def undone(*flags: str) -> str:
        """Undo, and return the subject of the last commit without its time."""
        assert repository("undo", *flags).returncode == 0
        return repository.git("log", "-1", "--format=%s").split()[0]

    assert undone() == "[clada:undo]"
    repository.git("commit", "-q", "--allow-empty", "-m", "mine")
    assert undone("--record=snapshots") == "mine"
    repository.git("commit", "-q", "-a", "-m", "mine")
    assert undone("--record=commits") == "[clada:undo]"
    for flag in ("--record=none", "--no-git"):
        done = repository("undo", flag)
        assert (done.returncode, joined(done.stderr)) == (
            2,
            "clada: an undo is recorded too, so that it can be undone; clada undo --record=snapshots\n",
        )


def test_undo_refuses_where_files_changed_since_and_names_them(repository: Shell) -> None:
    repository(document=WRITE)
    repository.write("a.txt", "changed since\n")
    done = repository("undo")
    assert (done.returncode, done.stdout) == (1, "")
    assert joined(done.stderr).startswith("clada: changed since run 1: a.txt; ")
    assert (repository.workspace / "a.txt").read_text() == "changed since\n"


def test_undo_brings_back_what_git_ignores(repository: Shell) -> None:
    repository.write(".gitignore", "ignored.txt\n")
    repository.write("ignored.txt", "old\n")
    repository(document=WRITE.replace("a.txt", "ignored.txt"))
    done = repository("undo")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "undone: run 1 (1 write: ignored.txt)\n  restored ignored.txt\n"
        "recorded as run 2; clada undo reverts it\n"
    )
    assert (repository.workspace / "ignored.txt").read_text() == "old\n"


def test_undo_names_what_it_cannot_restore(repository: Shell, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    repository("--allow-escape", document=WRITE + WRITE.replace("a.txt", str(outside)))
    done = repository("undo")
    assert done.returncode == 0
    assert done.stderr == f"clada: not restored, because no record of them was kept: {outside}\n"


@pytest.mark.parametrize("arguments", [(), ("7",)])
def test_undo_without_any_run(repository: Shell, arguments: tuple[str, ...]) -> None:
    done = repository("undo", *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert joined(done.stderr) == "clada: no run is recorded for this workspace; clada history\n"


def test_undo_without_such_a_run(repository: Shell) -> None:
    repository(document=WRITE)
    done = repository("undo", "7")
    assert (done.returncode, done.stdout) == (1, "")
    assert joined(done.stderr) == "clada: there is no run 7 for this workspace; clada history\n"


def test_history_and_undo_name_the_other_workspaces_of_the_repository(repository: Shell) -> None:
    places = [repository.workspace / name for name in ("", "sub/a", "empty")]
    for place in places:
        place.mkdir(parents=True, exist_ok=True)
    repository.write("sub/a/known.txt", "")
    for place in places[:2]:
        repository(f"--workspace={place}", document=WRITE)
    others = f"the repository has runs of other workspaces: {places[1]}, {places[0]}"
    others = f"\n  {others}\n  clada history --workspace={places[1]}\n"
    history = repository("history", "--workspace=empty")
    assert (history.returncode, history.stdout) == (0, "")
    assert history.stderr == f"clada: no run is recorded for this workspace yet{others}"
    undo = repository("undo", "--workspace=empty")
    assert (undo.returncode, undo.stdout) == (1, "")
    assert undo.stderr == f"clada: no run is recorded for this workspace{others}"


def findings(shell: Shell, *arguments: str) -> tuple[int, dict[str, tuple[str, str]]]:
    """Return the exit code of doctor, and what it found: the state and the text of each thing."""
    done = shell("doctor", *arguments)
    assert done.stderr == ""
    rows = [line.split(maxsplit=2) for line in done.stdout.splitlines() if not line.startswith(" ")]
    return done.returncode, {name: (state, text) for state, name, text in rows}


def test_doctor_says_that_all_is_well(repository: Shell) -> None:
    code, found = findings(repository)
    assert code == 0
    assert list(found) == [
        "clada", "workspace", "git", "repository", "sandbox", "readers", "approvals", "trust",
        "configuration", "terminal",
    ]  # fmt: skip
    assert found["repository"] == ("ok", f"runs are recorded in {repository.workspace}")
    assert found["git"][1].startswith("git version 2")
    assert found["approvals"][0] == found["configuration"][0] == "ok"


def test_doctor_says_how_runs_are_recorded_without_a_repository(shell: Shell) -> None:
    code, found = findings(shell)
    assert (code, found["repository"][0]) == (0, "note")
    assert "runs are recorded by snapshots" in shell("doctor").stdout
    assert "git init" in shell("doctor").stdout


def test_doctor_is_content_without_a_repository_where_none_is_wanted(shell: Shell) -> None:
    shell.configure("no_git = true\n")
    code, found = findings(shell)
    assert (code, found["repository"][0]) == (0, "note")


def test_doctor_finds_a_damaged_approvals_file(repository: Shell) -> None:
    repository.write(".clada/allowed-commands.json", "[")
    code, found = findings(repository)
    assert (code, found["approvals"][0]) == (1, "broken")


def test_doctor_counts_approvals(repository: Shell) -> None:
    assert repository("approvals", "add", "npm test").returncode == 0
    assert findings(repository)[1]["approvals"] == ("ok", "1 approved, 0 blocked; clada approvals list")


def test_doctor_finds_mistakes_in_the_configuration(repository: Shell) -> None:
    repository.write(".clada/config.toml", "approve_all = true\n")
    code, found = findings(repository)
    assert (code, found["configuration"][0]) == (1, "broken")
    assert "approve_all cannot be set here" in found["configuration"][1]


def test_doctor_takes_the_workspace_that_is_given_though_it_is_the_default(repository: Shell) -> None:
    repository.configure(f'workspace = "{repository.home}"\n')
    assert findings(repository)[1]["workspace"] == ("ok", str(repository.home))
    assert findings(repository, "--workspace=.")[1]["workspace"] == ("ok", str(repository.workspace))


def test_doctor_finds_that_the_workspace_is_not_there(shell: Shell) -> None:
    code, found = findings(shell, "--workspace=nowhere")
    assert (code, found["workspace"][0]) == (1, "broken")


def test_doctor_finds_a_merge_in_progress(repository: Shell) -> None:
    repository.write("a", "a")
    repository.git("add", "a")
    repository.git("commit", "-qm", "a")
    (repository.workspace / ".git" / "MERGE_HEAD").write_text(repository.git("rev-parse", "HEAD"))
    code, found = findings(repository)
    assert (code, found["repository"]) == (1, ("broken", "a merge is in progress"))


def test_the_workspace_flag_leads_every_command_elsewhere(shell: Shell) -> None:
    os.mkdir(shell.workspace / "sub")
    shell("approvals", "add", "x", "--workspace=sub")
    stored = json.loads((shell.workspace / "sub/.clada/allowed-commands.json").read_text())
    assert stored["commands"] == ["x"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("pytest *",),
            "clada approvals add --prefix pytest; clada approvals add --shell",
        ),
        (("echo a | foo",), "clada approvals add --shell 'echo a | foo'"),
        (("npm test | tail -5",), "clada approvals add 'npm test'; clada approvals"),
        (("$ npm test",), "clada approvals add 'npm test'"),
        (("--network", "`npm i`"), "clada approvals add --network 'npm i'"),
        (("echo 'a",), "opens a quotation that is never closed"),
        (("--shell", "echo 'a"), "opens a quotation that is never closed"),
        (("cd a b",), "cd takes one directory"),
        (("--prefix", "python3"), "it cannot be a prefix"),
        (("--prefix", "a && b"), "the first words of one command"),
        (("--prefix", "a | b"), "the first words of one command"),
        (("--prefix", "--shell", "a"), "--prefix and --shell do not go together"),
    ],
)
def test_approvals_refuse_what_could_never_match(shell: Shell, arguments: tuple[str, ...], said: str) -> None:
    done = shell("approvals", "add", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in joined(done.stderr)
    assert not (shell.workspace / ".clada").exists()


def test_approvals_show_what_a_prefix_covers(shell: Shell) -> None:
    done = shell("approvals", "add", "--prefix", "--network", "make test")
    first, second = done.stdout.splitlines()
    assert first == "approved as a prefix with network: make test"
    assert second.startswith("with any further names and paths and these options: -B -O -S -i -j -k ")
    assert second.endswith("; other options need approval of the exact command")
    assert shell("approvals", "list").stdout.startswith("network  make test …  (options: -B -O -S -i -j -k ")
    stored = json.loads((shell.workspace / ".clada" / "allowed-commands.json").read_text())
    assert (stored["prefixes"], stored["commands"]) == (["make test"], [])
    assert shell("approvals", "remove", "make test").returncode == 0
    assert shell("approvals", "list").stdout == ""


def test_approvals_take_texts_for_a_shell(shell: Shell) -> None:
    assert shell("approvals", "add", "--shell", "ls *.txt").stdout == "approved: ls *.txt\n"
    shell.write("a.txt", "")
    document = "<---RUN--->\nls *.txt\n<---END--->\n"
    assert shell("--no-git", document=document).returncode == 1
    assert "a.txt" in shell("--no-git", "--shell=approved", "--sandbox=off", document=document).stdout
