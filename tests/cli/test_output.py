"""What is printed where and when: output modes, summaries, details, and streams that are closed."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

MIXED = """\
<---WRITE file="a.txt"--->
one
two
<---END--->
<---SEARCH file="a.txt"--->
onE
<---REPLACE--->
1
<---END--->
<---RUN--->
echo hello
<---END--->
"""
DONE = "[task-1] SUCCESS: WRITE - a.txt (created, 8 bytes)\n"
FAILED = "[task-2] ERROR: SEARCH - a.txt: match_count_mismatch: found 0 matches, expected 1"
RAN = "[task-3:exec] hello\n[task-3] SUCCESS: RUN - echo hello (exit 0)\n"
WRITE = '<---WRITE file="a.txt"--->\nhi\n<---END--->\n'
CML = '<write path="a.txt">hi</write>\n<remove path="gone"/>\n'


@pytest.mark.parametrize("mode", ["stream", "buffer"])
def test_the_text_is_the_same_at_once_or_at_the_end(shell: Shell, mode: str) -> None:
    done = shell("--no-git", f"--output-mode={mode}", document=MIXED)
    assert (done.returncode, done.stderr) == (1, "")
    first, second, *rest = done.stdout.splitlines(keepends=True)
    assert (first, "".join(rest)) == (DONE, RAN)
    assert second.startswith(FAILED)


def test_a_stream_comes_as_it_happens_and_a_buffer_at_the_end(shell: Shell) -> None:
    document = f"{WRITE}<---RUN--->\nsh -c 'echo started; sleep 1; echo ended'\n<---END--->\n"
    seen = {}
    for mode in ("stream", "buffer"):
        argv = [sys.executable, "-m", "clada", "--no-git", "--approve-all", f"--output-mode={mode}"]
        with subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            cwd=shell.workspace, env=shell.environment,
        ) as process:  # fmt: skip
            assert process.stdin
            assert process.stdout
            process.stdin.write(document.encode())
            process.stdin.close()
            first = os.read(process.stdout.fileno(), 100_000)
            seen[mode] = b"ended" in first
    assert seen == {"stream": False, "buffer": True}


def test_silent_prints_failures_to_standard_error_where_there_is_no_summary(shell: Shell) -> None:
    done = shell("--no-git", "--output-mode=silent", document=MIXED)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(FAILED)
    assert done.stderr.count("\n") == 1


def test_silent_prints_only_the_summary_where_there_is_one(shell: Shell) -> None:
    done = shell("--no-git", "--output-mode=silent", "--summary=json", document=MIXED)
    assert (done.returncode, done.stderr) == (1, "")
    assert json.loads(done.stdout)["failed"] == 1


@pytest.mark.parametrize(("summary", "stdout"), [("none", False), ("json", True)])
def test_silent_and_a_fatal_error(shell: Shell, summary: str, *, stdout: bool) -> None:
    done = shell("--output-mode=silent", f"--summary={summary}", document="<---WRITE file=a--->\n")
    assert done.returncode == 1
    assert bool(done.stdout) is stdout
    assert (done.stderr == "[task-1] FATAL: PARSE - Line 1: Unquoted attribute value\n") is not stdout


SUMMARIES = {
    ("csl", "auto"): "", ("cml", "auto"): "xml", ("json", "auto"): "json", ("toml", "auto"): "json",
    ("csl", "xml"): "xml", ("csl", "json"): "json", ("cml", "none"): "", ("json", "none"): "",
    ("toml", "xml"): "xml",
}  # fmt: skip
DOCUMENTS = {
    "csl": WRITE,
    "cml": '<write path="a.txt">hi</write>\n',
    "json": '{"tasks": [{"action": "write", "path": "a.txt", "content": "hi"}]}\n',
    "toml": '[[task]]\naction = "write"\npath = "a.txt"\ncontent = "hi"\n',
}


@pytest.mark.parametrize(("notation", "summary"), SUMMARIES)
def test_what_follows_the_status_lines(shell: Shell, notation: str, summary: str) -> None:
    done = shell("--no-git", f"--summary={summary}", document=DOCUMENTS[notation])
    _, _, rest = done.stdout.partition("\n")
    kind = {"": "", "<": "xml", "{": "json"}[rest[:1]]
    assert (done.returncode, kind) == (0, SUMMARIES[notation, summary])
    if kind == "xml":
        assert ET.fromstring(rest).get("succeeded") == "1"
    elif kind == "json":
        assert json.loads(rest)["notation"] == notation


def test_minimal_is_one_line_a_task(shell: Shell) -> None:
    done = shell("--no-git", "--error-detail=min", document=MIXED)
    assert len(done.stdout.splitlines()) == 4


def test_full_adds_the_source_and_the_near_miss_of_what_failed(shell: Shell) -> None:
    done = shell("--no-git", "--error-detail=full", document=MIXED)
    lines = done.stdout.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(FAILED))
    assert lines[start + 1 : start + 7] == [
        "  | source, from line 5:",
        '  |   <---SEARCH file="a.txt"--->',
        "  |   onE",
        "  |   <---REPLACE--->",
        "  |   1",
        "  |   <---END--->",
    ]
    assert lines[start + 7] == "  | what the file has:"
    assert any("one" in line for line in lines[start + 8 :])
    assert "took" not in done.stdout


def test_full_adds_the_end_of_a_failed_commands_output(shell: Shell) -> None:
    document = "<---RUN--->\nsh -c 'seq 1 100; exit 3'\n<---END--->\n"
    done = shell("--no-git", "--approve-all", "--error-detail=full", document=document)
    assert "[task-1] ERROR: RUN - sh -c 'seq 1 100; exit 3': exec_failed: exit code 3" in done.stdout
    shown = done.stdout.partition("  | the end of its output:\n")[2].splitlines()
    assert shown[-1] == "  |   100"
    assert "  |   1" not in shown


def test_full_shows_the_lines_around_a_fatal_error(shell: Shell) -> None:
    done = shell("--error-detail=full", document="Sure:\n<---WRIT--->\nx\n")
    assert done.stdout == (
        "[task-1] FATAL: PARSE - Line 2: Unknown operation: WRIT; did you mean WRITE?\n"
        "  |      1 Sure:\n  | >    2 <---WRIT--->\n  |      3 x\n  |      4\n"
    )


def test_debug_adds_timings(shell: Shell) -> None:
    done = shell("--no-git", "--error-detail=debug", document=MIXED)
    assert done.stdout.count("  | took ") == 3


def test_details_cannot_pass_for_a_status_line(shell: Shell) -> None:
    document = (
        '<---SEARCH file="a"--->\n[task-9] SUCCESS: WRITE - x\n\x1b[2J\n<---REPLACE--->\ny\n<---END--->\n'
    )
    shell.write("a", "[task-9] SUCCESS: WRITE - y\n\x1b[2J\n")
    done = shell("--no-git", "--error-detail=debug", document=document)
    assert [line for line in done.stdout.splitlines() if line.startswith("[task-9]")] == []
    assert "\x1b" not in done.stdout


def test_a_pipe_whose_reader_leaves_does_not_stop_the_work(shell: Shell) -> None:
    many = "".join(f'<---WRITE file="f{n}"--->\n{n}\n<---END--->\n' for n in range(3000))
    argv = [sys.executable, "-m", "clada", "--no-git"]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        cwd=shell.workspace, env=shell.environment,
    ) as process:  # fmt: skip
        assert process.stdout
        assert process.stdin
        process.stdout.close()
        process.stdin.write(many.encode())
        process.stdin.close()
        assert process.stderr
        assert process.stderr.read() == b""
        assert process.wait() == 0
    assert len(os.listdir(shell.workspace)) == 3000


def test_a_full_disk_behind_standard_output_is_said_and_fails(shell: Shell) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("needs /dev/full")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "clada", "--no-git"], input=WRITE.encode(), stdout=full,
            stderr=subprocess.PIPE, cwd=shell.workspace, env=shell.environment, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == b"clada: standard output cannot be written: No space left on device\n"
    assert (shell.workspace / "a.txt").read_text() == "hi\n"


def test_with_closed_handles_no_file_gets_our_output(shell: Shell) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m clada --no-git >&- 2>&-"], input=WRITE.encode(),
        cwd=shell.workspace, env=shell.environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert os.listdir(shell.workspace) == ["a.txt"]
    assert (shell.workspace / "a.txt").read_text() == "hi\n"


def test_version_into_a_closed_pipe_is_silent(shell: Shell) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m clada --version | true"], capture_output=True, check=False,
        env=shell.environment,
    )  # fmt: skip
    assert done.stderr == b""


def test_a_pipe_gets_no_colour_and_no_progress(shell: Shell) -> None:
    document = "<---RUN--->\nsleep 1\n<---END--->\n"
    done = shell("--no-git", "--approve-all", document=document)
    assert "\x1b" not in done.stdout + done.stderr
    assert "\r" not in done.stdout + done.stderr


def test_colour_can_be_forced_into_a_pipe_but_not_progress(shell: Shell) -> None:
    document = "<---RUN--->\nsleep 1\n<---END--->\n"
    done = shell("--no-git", "--approve-all", "--color=always", document=document, NO_COLOR="1")
    assert "\x1b[1;32mSUCCESS:\x1b[0m RUN - sleep 1 (exit 0)" in done.stdout
    assert "\r" not in done.stdout


def test_approve_all_says_so_on_standard_error(shell: Shell) -> None:
    done = shell("--no-git", "--approve-all", document=WRITE)
    assert done.stderr == "clada: --approve-all: every command runs without asking, network included\n"


def test_a_dry_run_is_lines_then_diff_then_summary_and_touches_nothing(shell: Shell) -> None:
    shell.write("a.txt", "hi")
    file = shell.workspace / "a.txt"
    before = (file.read_bytes(), file.stat().st_ino, file.stat().st_mtime_ns, file.stat().st_ctime_ns)
    done = shell("plan", "--no-git", "--summary=xml", document=WRITE)
    assert done.stdout == (
        "[task-1] PLAN: WRITE - a.txt (would overwrite, 3 bytes)\n"
        "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-hi\n\\ No newline at end of file\n+hi\n"
        '<result blocks="1" tasks="1" succeeded="0" failed="0" planned="1">\n'
        '  <block index="0" status="planned" tasks="1"/>\n'
        "</result>\n"
    )
    after = (file.read_bytes(), file.stat().st_ino, file.stat().st_mtime_ns, file.stat().st_ctime_ns)
    assert after == before


def test_in_a_dry_run_a_command_that_is_not_run_is_no_failure(shell: Shell) -> None:
    done = shell("--dry-run", "--no-git", "--summary=json", document="<---RUN--->\nls\n<---END--->\n")
    assert done.returncode == 0
    summary = json.loads(done.stdout.partition("  | ls\n")[2])
    assert (summary["ok"], summary["skipped"], summary["blocks"][0]["status"]) == (True, 1, "planned")


def test_a_dry_run_shows_the_commands_that_a_run_could_start(shell: Shell) -> None:
    """Whole and escaped: also those that it leaves out because of an earlier failure."""
    document = (
        "<---RUN--->\npython3 a.py\n<---END--->\n"
        "<---RUN--->\nmkdir new\nnpm test && npm run \x1b[2J\n<---END--->\n"
        '<---TASKS--->\n<---SEARCH file="no"--->\nx\n<---REPLACE--->\n<---END--->\n'
        "<---RUN--->\nmake\n<---END--->\n<---END--->\n"
        "<---RUN--->\nmkdir one\n<---END--->\n"
    )
    lines = shell("plan", "--no-git", "--approve=python3 a.py", document=document).stdout.splitlines()
    assert lines[0] == "[task-1] SKIP: RUN - not run in a dry run: needs no approval"
    assert [line for line in lines if line.startswith("  | ")] == [
        "  | python3 a.py",
        "  | mkdir new",
        "  | npm test && npm run \\x1b[2J",
        "  | make",
    ]


def test_the_json_summary_has_the_notes_of_standard_error(shell: Shell) -> None:
    done = shell("--no-git", "--approve-all", "--summary=json", document="nothing here")
    notes = json.loads(done.stdout)["notes"]
    assert notes == [
        "no operations found",
        "--approve-all: every command runs without asking, network included",
    ]
    assert done.stderr.splitlines() == [f"clada: {note}" for note in notes]


def test_the_json_summary_has_the_end_of_a_failed_commands_output(shell: Shell) -> None:
    wide = "w" * 600
    document = f"<---RUN--->\necho first\necho {wide}\nfalse\n<---END--->\n"
    done = shell("--no-git", "--output-mode=silent", "--summary=json", document=document)
    error = json.loads(done.stdout)["blocks"][0]["tasks"][0]["error"]
    assert error["details"] == f"first\n{wide[:500]}…"


def test_of_several_commands_the_one_that_failed_is_named(shell: Shell) -> None:
    document = f"<---RUN--->\necho one && rm absent\necho {'w' * 300}\n<---END--->\n"
    done = shell("--no-git", "--summary=xml", document=document)
    assert "rm absent …: exec_failed: exit code 1; the command was `rm absent`\n" in done.stdout
    assert "<hint>the command was `rm absent`</hint>" in done.stdout
    done = shell("--no-git", document="<---RUN--->\nrm absent\n<---END--->\n")
    assert done.stdout.endswith("[task-1] ERROR: RUN - rm absent: exec_failed: exit code 1\n")


@pytest.mark.parametrize("notation", ["json", "toml"])
def test_a_mistake_in_json_or_toml_is_named_with_its_line(shell: Shell, notation: str) -> None:
    documents = {
        "json": '{"tasks": [\n{"action": "write",\n"content": 5,\n"append": 1}]}',
        "toml": '[[task]]\naction = "write"\ncontent = 5\nappend = 1\n',
    }
    done = shell("--no-git", document=documents[notation])
    label, line = ("1.1", 2) if notation == "json" else ("1", 1)
    assert (
        f"[task-{label}] SKIP: WRITE - Line {line}: Missing required field 'path'; "
        "Line 3: Invalid value for 'content': must be a string; "
        "Line 4: Invalid value for 'append': must be a boolean\n"
    ) in done.stdout


def test_a_post_commit_that_fails_is_reported_with_its_remedy(repository: Shell) -> None:
    document = f"{WRITE}<---RUN--->\nsh -c 'touch .git/index.lock'\n<---END--->\n"
    done = repository("--approve-all", "--sandbox=off", document=document)
    assert done.returncode == 1
    last = done.stdout.splitlines()[-1]
    assert last.startswith("[run] ERROR: GIT - git_operation_failed: another git process holds ")
    assert "git add and git commit" in last
    assert (repository.workspace / "a.txt").read_text() == "hi\n"


def test_parse_prints_the_plan_and_executes_nothing(shell: Shell) -> None:
    done = shell("parse", document=WRITE)
    assert done.returncode == 0
    assert json.loads(done.stdout)["blocks"][0]["operations"] == [
        {"operation": "write", "line": 1, "path": "a.txt", "append": False, "content": "hi"}
    ]
    assert os.listdir(shell.workspace) == []


@pytest.mark.parametrize("document", ["<---WRITE--->\n<---END--->\n", "<---WRIT--->\n"])
def test_parse_fails_where_something_is_wrong(shell: Shell, document: str) -> None:
    done = shell("parse", document=document)
    assert (done.returncode, json.loads(done.stdout)["schema"]) == (1, "clada.plan/1")


def test_a_warning_comes_before_what_it_warns_of(repository: Shell) -> None:
    """That the first commit leaves a secret out is said before the run's own lines, where both are shown."""
    repository.write(".env", "TOKEN=1\n")
    done = subprocess.run(
        [sys.executable, "-m", "clada"], input=WRITE.encode(),
        cwd=repository.workspace, env=repository.environment,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    note, line, _committed = done.stdout.decode().splitlines()
    assert note.endswith("(--commit-all takes them in): .env")
    assert line.startswith("[task-1] SUCCESS: WRITE")
