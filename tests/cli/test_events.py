"""`--events=jsonl`: every event of a run as a line of JSON that fits its schema, where the flag says."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from tests.messages import headline

import clada

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

VALIDATOR = Draft202012Validator(clada.schema("event"))
WRITE = '<---WRITE file="a.txt"--->\nhi\n<---END--->\n'
RUN = "<---RUN--->\n{}\n<---END--->\n"
INVALID = "<---TASKS--->\n<---WRITE--->\nx\n<---END--->\n<---RUN--->\nls\n<---END--->\n<---END--->\n"
NOTED = '<---WRITE file="b.txt"--->\nx\n<---END--->\n```\n<<<<<<< SEARCH\n```\n'
DOCUMENTS = {
    "a write and a command": (WRITE + RUN.format("cat a.txt"), ("--no-git",), 0),
    "a block that is invalid": (INVALID + WRITE, ("--no-git",), 1),
    "a fatal error": ("<---WRIT--->\n", ("--no-git",), 1),
    "nothing": ("prose", ("--no-git",), 3),
    "a failed edit": (
        WRITE + '<---SEARCH file="a.txt"--->\nha\n<---REPLACE--->\nx\n<---END--->\n',
        ("--no-git",),
        1,
    ),
    "a dry run": (WRITE + RUN.format("npm test"), ("--no-git", "--dry-run"), 0),
    "all or nothing": (WRITE + RUN.format("cat nowhere"), ("--no-git", "--atomic"), 1),
    "too much output": (WRITE + RUN.format("cat a.txt a.txt"), ("--no-git", "--max-output=1"), 0),
    "no repository": (WRITE, ("--record=commits",), 1),
    "CML": ('<write path="a.txt">x</write>\n<run>npm test</run>', ("--no-git",), 1),
    "a dialect": ("a.txt\n```\n<<<<<<< SEARCH\n=======\nnew\n>>>>>>> REPLACE\n```\n", ("--no-git",), 0),
}


def events(text: str) -> list[dict[str, Any]]:
    """Return the events among lines, each of which fits the schema."""
    found = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    for event in found:
        VALIDATOR.validate(event)
    return found


def kinds(text: str) -> list[str]:
    """Return the kinds of the events."""
    return [event["event"] for event in events(text)]


@pytest.mark.parametrize("case", DOCUMENTS)
def test_every_line_fits_the_schema_and_the_ends_are_told(shell: Shell, case: str) -> None:
    document, flags, code = DOCUMENTS[case]
    done = shell(*flags, "--events=jsonl", document=document)
    assert done.returncode == code
    first, *_, last = events(done.stderr)
    assert (first["event"], first["schema"]) == ("run_started", "clada.event/1")
    assert (last["event"], last["ok"]) == ("run_ended", code == 0)
    ended = [event for event in events(done.stderr) if event["event"] == "task_ended"]
    assert len(ended) == last["tasks"]
    assert sum(event["task"]["status"] == "success" for event in ended) == last["succeeded"]
    assert "{" not in done.stdout or flags[-1] == "--dry-run"


def test_the_schema_refuses_what_is_no_event() -> None:
    Draft202012Validator.check_schema(clada.schema("event"))
    for wrong in ({}, {"event": "x"}, {"event": "note"}, {"event": "note", "text": "x", "more": 1}):
        assert not VALIDATOR.is_valid(wrong)
    assert not VALIDATOR.is_valid({"event": "task_ended", "task": {}})


def test_the_events_of_a_run_in_their_order(shell: Shell) -> None:
    done = shell("--no-git", "--events=jsonl", document=INVALID + RUN.format("echo one\necho two") + WRITE)
    found = events(done.stderr)
    assert [event["event"] for event in found if event["event"] != "output"] == [
        *("run_started", "block_skipped", "task_ended", "task_ended"),
        *("task_started", "task_ended", "task_started", "task_ended", "run_ended"),
    ]
    lines = [line for event in found if event["event"] == "output" for line in event["lines"]]
    assert lines == ["one", "two"]
    assert found[0]["tasks"] == 4
    started = [(event["label"], event["operation"]) for event in found if event["event"] == "task_started"]
    assert started == [("2", "run"), ("3", "write")]


def test_notes_on_standard_error_are_told_once(shell: Shell) -> None:
    done = shell("--no-git", "--events=jsonl", document="prose")
    assert [event["text"] for event in events(done.stderr) if event["event"] == "note"] == [
        "no operations found"
    ]
    assert all(line.startswith("{") for line in done.stderr.splitlines())
    elsewhere = shell("--no-git", "--events=jsonl:events.jsonl", document="prose")
    assert elsewhere.stderr == "clada: no operations found\n"


def test_a_recorded_run_tells_its_number_and_commits(shell: Shell) -> None:
    shell.git("init", "-q")
    done = shell("--events=jsonl", document=WRITE)
    last = events(done.stderr)[-1]
    assert (last["run"], last["commits"]["post"]) == (1, shell.git("rev-parse", "HEAD").strip())


def test_a_file_gets_the_events_of_one_run_after_another(shell: Shell) -> None:
    for _ in range(2):
        done = shell("--no-git", "--events", "jsonl:events.jsonl", document=WRITE)
        assert (done.returncode, done.stderr) == (0, "")
    text = (shell.workspace / "events.jsonl").read_text(encoding="utf-8")
    assert kinds(text).count("run_started") == 2


def test_a_handle_gets_the_events_and_commands_do_not_get_it(shell: Shell) -> None:
    argv = [sys.executable, "-m", "clada", "--no-git", "--sandbox=off", "--events=jsonl:{}"]
    command = "sh -c 'echo forged >&{}'"
    read, write = os.pipe()
    argv[-1] = argv[-1].format(write)
    command = command.format(write)
    document = RUN.format(command).encode()
    with subprocess.Popen(
        [*argv, "--approve", command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=shell.workspace,
        env=shell.environment,
        pass_fds=[write],
    ) as process:
        os.close(write)
        process.communicate(document)
    with open(read, encoding="utf-8") as pipe:
        text = pipe.read()
    assert all(line.startswith("{") for line in text.splitlines())
    assert kinds(text)[-1] == "run_ended"
    assert process.returncode == 1  # for the command found no such handle


def test_a_reader_that_leaves_does_not_stop_the_run(shell: Shell) -> None:
    done = subprocess.run(
        [
            "bash",
            "-c",
            f"{sys.executable} -m clada --no-git --events=jsonl 2> >(head -c 1 >/dev/null); echo $?",
        ],
        input=(RUN.format("echo x") * 200 + WRITE).encode(),
        capture_output=True,
        cwd=shell.workspace,
        env=shell.environment,
        check=True,
    )
    assert done.stdout.decode().splitlines()[-1] == "0"
    assert (shell.workspace / "a.txt").exists()


def test_a_full_disk_is_told_and_counts(shell: Shell) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("/dev/full is missing")
    done = shell("--no-git", "--events=jsonl:/dev/full", document=WRITE)
    assert done.returncode == 1
    assert done.stderr == "clada: the file of events cannot be written: No space left on device\n"
    assert (shell.workspace / "a.txt").exists()


MISTAKES = {
    "xml": "--events must be jsonl, jsonl:FD or jsonl:FILE, not 'xml'",
    "jsonl:": "--events must be jsonl, jsonl:FD or jsonl:FILE, not 'jsonl:'",
    "jsonl:77": "--events: handle 77 is not open",
    "jsonl:0": "--events: handle 0 is not open for writing",
    "jsonl:99999999999999999999": "--events: handle 99999999999999999999 is not open",
    "jsonl:nowhere/x": "--events: nowhere/x: no such file or directory",
    "jsonl:.": "--events: .: is a directory",
}


@pytest.mark.parametrize("value", MISTAKES)
def test_a_wrong_value_is_a_usage_error_before_anything_is_done(shell: Shell, value: str) -> None:
    done = shell("--no-git", f"--events={value}", document=WRITE)
    assert (done.returncode, done.stdout, headline(done.stderr)) == (2, "", f"clada: {MISTAKES[value]}\n")
    assert not (shell.workspace / "a.txt").exists()


def test_plan_and_resume_have_it_too(shell: Shell) -> None:
    planned = shell("plan", "--no-git", "--events=jsonl", document=WRITE).stderr
    assert kinds(planned)[-1] == "run_ended"
    assert '"status": "planned"' in planned
    assert '"success"' not in planned
    shell.git("init", "-q")
    shell(document=WRITE + RUN.format("cat nowhere"))
    resumed = events(shell("resume", "--events=jsonl").stderr)
    assert [event["task"]["status"] for event in resumed if event["event"] == "task_ended"] == [
        "skipped",
        "error",
    ]
