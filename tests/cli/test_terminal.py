"""What a person at a terminal sees: colour, progress, the diff, and questions."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Shell, Terminals, Tmux

WRITE = '<---WRITE file="a.txt"--->\nhi\n<---END--->\n'
MARKUP = '<---WRITE file="[bold red]:smile:[/bold red].txt"--->\nhi\n<---END--->\n'
WAITING = "read x < go"  # until a test writes into that pipe
SLOW = f"<---RUN--->\nsh -c '{WAITING}; echo woken'\n<---END--->\n"
ERASE = "\x1b[2K"


def test_status_lines_are_in_colour(terminal: Terminals) -> None:
    document = (
        WRITE
        + '<---SEARCH file="a.txt"--->\nx\n<---REPLACE--->\n<---END--->\n<---RUN--->\necho out\n<---END--->\n'
    )
    code, seen = terminal("--no-git", document=document).end()
    assert code == 1
    assert "\x1b[1;32mSUCCESS:\x1b[0m WRITE - a.txt (created, 3 bytes)\r\n" in seen
    assert "\x1b[1;31mERROR:\x1b[0m EDIT - a.txt: match_count_mismatch" in seen
    assert "\x1b[2m[task-3:exec] out\x1b[0m\r\n" in seen


@pytest.mark.parametrize(("arguments", "environment"), [(("--color=never",), {}), ((), {"NO_COLOR": "1"})])
def test_no_colour_where_it_is_not_wanted(
    terminal: Terminals, arguments: tuple[str, ...], environment: dict[str, str]
) -> None:
    code, seen = terminal("--no-git", *arguments, document=WRITE, **environment).end()
    assert (code, seen) == (0, "[task-1] SUCCESS: WRITE - a.txt (created, 3 bytes)\r\n1 done\r\n")


def test_an_answer_that_is_cut_off_ends_in_a_line_that_says_that_nothing_was_executed(
    shell: Shell, terminal: Terminals
) -> None:
    document = WRITE + WRITE.removesuffix("<---END--->\n")
    code, seen = terminal("--no-git", "--color=never", document=document).end()
    assert (code, list(shell.workspace.iterdir())) == (1, [])
    assert "FATAL: PARSE - Line 4: Unterminated WRITE operation" in seen
    assert seen.endswith("nothing was executed\r\n")


def test_text_is_not_read_as_markup(terminal: Terminals) -> None:
    _, seen = terminal("--no-git", document=MARKUP).end()
    assert "WRITE - [bold red]:smile:[/bold red].txt (created, 3 bytes)" in seen


def test_the_diff_of_a_plan_is_in_colour(shell: Shell, terminal: Terminals) -> None:
    shell.write("a.txt", "old\nsame\n")
    _, seen = terminal("plan", "--no-git", document=WRITE).end()
    assert "\x1b[1m--- a/a.txt\x1b[0m\r\n" in seen
    assert "\x1b[31m-old\x1b[0m\r\n" in seen
    assert "\x1b[32m+hi\x1b[0m\r\n" in seen


def test_a_run_ends_in_a_line_that_counts_and_names_failures_again_that_scrolled_away(
    shell: Shell, terminal: Terminals
) -> None:
    missing = '<---SEARCH file="missing"--->\na\n<---REPLACE--->\nb\n<---END--->\n'
    many = "".join(f'<---WRITE file="{number}"--->\n<---END--->\n' for number in range(90))
    failure = "[task-1] ERROR: EDIT - missing: file_not_found"
    _, seen = terminal("--record=snapshots", "--color=never", document=missing + many).end()
    assert seen.count(failure) == 2
    assert seen.endswith("90 done, 1 failed · clada undo reverts it\r\nfor the LLM: clada report\r\n")
    shell.write("few.md", missing + WRITE)
    _, seen = terminal("--no-git", "--color=never", "few.md").end()
    assert seen.count(failure) == 1
    assert seen.endswith("1 done, 1 failed\r\n")


@pytest.mark.parametrize(
    ("document", "closing"),
    [
        (WRITE.replace("hi", "other") + WRITE, "2 done"),  # in the end, the file is as it was
        (
            "<---RUN--->\nmkdir __pycache__\n<---END--->\n<---RUN--->\ntouch __pycache__/a\n<---END--->\n",
            "2 done",
        ),
        (WRITE.replace("hi", "other"), "1 done · clada undo reverts it"),
    ],
)
def test_undo_is_offered_where_it_would_find_something(
    shell: Shell, terminal: Terminals, document: str, closing: str
) -> None:
    shell.write("a.txt", "hi\n")
    code, seen = terminal("--record=snapshots", "--color=never", document=document).end()
    assert (code, seen.splitlines()[-1]) == (0, closing)
    assert (shell("undo").returncode == 0) == ("undo" in closing)


@pytest.mark.parametrize(
    ("flags", "document"),
    [
        (("--record=snapshots",), "<---RUN--->\nls\n<---END--->\n"),
        (("--record=snapshots",), WRITE),
        (("--no-git", "--atomic"), WRITE.replace("hi", "other")),
    ],
    ids=["read", "unchanged", "not recorded"],
)
def test_the_closing_line_offers_no_undo_of_another_run(
    shell: Shell, terminal: Terminals, flags: tuple[str, ...], document: str
) -> None:
    shell("--record=snapshots", document=WRITE)
    _, seen = terminal(*flags, "--color=never", document=document).end()
    assert seen.endswith("\n1 done\r\n")


@pytest.mark.parametrize("mode", ["stream", "buffer"])
def test_a_failure_has_scrolled_away_by_the_rows_that_lines_take(
    shell: Shell, terminal: Terminals, mode: str
) -> None:
    """What a command prints counts line by line, and long lines by how often they are wrapped."""
    missing = '<---SEARCH file="missing"--->\na\n<---REPLACE--->\nb\n<---END--->\n'
    failure = "[task-1] ERROR: EDIT - missing: file_not_found"
    shell.write("long.txt", f"{700 * 'x'}\n" * 3)
    shell.write("short.txt", "x\n" * 3)
    for name, times in (("long", 2), ("short", 1)):
        shell.write("doc.md", f"{missing}<---RUN--->\ncat {name}.txt\n<---END--->\n")
        screen = terminal("--no-git", "--color=never", f"--output-mode={mode}", "doc.md", LINES="24")
        _, seen = screen.end()
        assert seen.count(failure) == times, name
        assert seen.endswith("1 done, 1 failed\r\n")


MISSING = '<---SEARCH file="missing"--->\na\n<---REPLACE--->\nb\n<---END--->\n'
QUESTION = "<---RUN--->\nsh -c true\n<---END--->\n"
FAILED_FIRST = "[task-1] ERROR: EDIT - missing: file_not_found"


@pytest.mark.parametrize(("questions", "times"), [(1, 1), (3, 2)])
def test_questions_scroll_failures_away_too(
    shell: Shell, terminal: Terminals, questions: int, times: int
) -> None:
    """Each takes more than ten rows of the 24."""
    shell.write("doc.md", MISSING + QUESTION * questions)
    screen = terminal("--no-git", "--color=never", "doc.md", LINES="24")
    seen = ""
    for _ in range(questions):
        seen += screen.until("[?] ")
        screen.seen = b""
        screen.type_until_read("n")
    seen += screen.end()[1]
    assert seen.count(FAILED_FIRST) == times
    assert seen.endswith(f"{questions + 1} failed\r\n")


def test_a_failure_above_questions_is_on_the_screen_at_the_end(shell: Shell, tmux: Tmux) -> None:
    shell.write("doc.md", MISSING + QUESTION * 3)
    tmux.start("clear; clada --no-git doc.md; echo exit=$?")
    for number in (2, 3, 4):
        plan = f"the plan, {number} of 4"
        tmux.until(lambda screen, plan=plan: plan in screen and screen.rstrip().endswith("[?]"))  # type: ignore[misc]
        tmux.type("n")
    seen = tmux.until(lambda screen: "exit=1" in screen)
    assert FAILED_FIRST in seen


def test_more_failures_than_the_screen_holds_are_counted(shell: Shell, terminal: Terminals) -> None:
    missing = '<---SEARCH file="missing"--->\na\n<---REPLACE--->\nb\n<---END--->\n'
    shell.write("doc.md", missing * 100)
    _, seen = terminal("--no-git", "--color=never", "doc.md").end()
    *_, more, last = seen.split("\r\n")[:-1]
    assert more.startswith("… and ")
    assert more.endswith(" more failures")
    assert last == "100 failed"


def test_quick_work_shows_no_progress(terminal: Terminals) -> None:
    def is_quiet() -> bool:
        _, seen = terminal("--no-git", document=WRITE).end()
        return "of 1 done" not in seen and ERASE not in seen

    assert any(is_quiet() for _ in range(9))  # on a busy machine even this can take long


def test_slow_work_shows_progress_which_disappears(shell: Shell, terminal: Terminals) -> None:
    os.mkfifo(shell.workspace / "go")
    screen = terminal("--no-git", "--approve-all", "--color=never", document=WRITE + SLOW)
    seen = screen.until("1 of 2 done, running sh -c 'read x < go; echo woken' (")
    assert "exec]" not in seen
    shell.write("go", "now\n")
    screen.until(f"\r{ERASE}[task-2:exec] woken\r\n")
    _, seen = screen.end()
    last = seen.rpartition("\r\n")
    assert last[0].endswith(f"[task-2] SUCCESS: RUN - sh -c '{WAITING}; echo woken' (exit 0)\r\n2 done")
    assert not last[2] or last[2].endswith(ERASE)  # what was drawn while the work ended is gone too
    assert all(f"\r{ERASE}".startswith(rest[:5]) for rest in seen.split(" s)")[1:])


def test_what_an_interrupt_skips_is_not_done(shell: Shell, terminal: Terminals) -> None:
    os.mkfifo(shell.workspace / "go")
    after = "".join(f'<---WRITE file="{number}"--->\n<---END--->\n' for number in range(3000))
    shell.write("answer.md", WRITE + SLOW + after)
    screen = terminal("--no-git", "--approve-all", "--color=never", "answer.md")
    screen.until("1 of 3002 done, running sh")
    screen.type("\x03")
    _, seen = screen.end()
    assert seen.count("] SKIP: WRITE - interrupted") == 3000
    assert {line.rpartition(ERASE)[2] for line in seen.split(" of 3002 done")[:-1]} <= {"1", "2"}


def test_an_interrupted_run_names_the_command_that_continues_it(shell: Shell, terminal: Terminals) -> None:
    os.mkfifo(shell.workspace / "go")
    shell.write("answer.md", WRITE + SLOW)
    screen = terminal("--record=snapshots", "--approve-all", "--color=never", "answer.md")
    screen.until("1 of 2 done, running sh")
    screen.type("\x03")
    _, seen = screen.end()
    assert seen.endswith("\r\nto continue: clada resume\r\n")


def test_a_long_command_does_not_wrap_the_progress_line(shell: Shell, terminal: Terminals) -> None:
    os.mkfifo(shell.workspace / "go")
    long = "x" * 200
    document = f"<---RUN--->\nsh -c '{WAITING}; echo {long}'\n<---END--->\n"
    screen = terminal("--no-git", "--approve-all", document=document)
    seen = screen.until(" s)")
    line = seen.rpartition(ERASE)[2]
    assert len(line) < 80
    assert line.startswith("0 of 1 done, running sh -c")


def test_a_command_cannot_steer_the_terminal_by_the_progress_line(shell: Shell, terminal: Terminals) -> None:
    os.mkfifo(shell.workspace / "go")
    document = "<---RUN--->\nsh -c 'read x < go; true \x1b]0;mine\x07'\necho 2\n<---END--->\n"
    seen = terminal("--no-git", "--approve-all", "--color=never", document=document).until(" s)")
    assert "running sh -c 'read x < go; true \\x1b]0;mine\\x07' … (" in seen
    assert "\x1b]" not in seen


def test_a_dumb_terminal_gets_neither(terminal: Terminals) -> None:
    document = "<---RUN--->\nsleep 1\n<---END--->\n"
    _, seen = terminal("--no-git", "--approve-all", document=document, TERM="dumb").end()
    assert "\x1b" not in seen


# What is on the screen in the end: tmux shows what a person would see.


def test_the_progress_line_leaves_nothing_behind(shell: Shell, tmux: Tmux) -> None:
    shell.write("answer.md", WRITE + SLOW)
    os.mkfifo(shell.workspace / "go")
    tmux.start("clear; clada --no-git --approve-all answer.md 2>/dev/null; echo exit=$?")
    seen = tmux.until(lambda screen: "1 of 2 done, running sh -c" in screen)
    assert "exit=" not in seen
    shell.write("go", "now\n")
    seen = tmux.until(lambda screen: "exit=0" in screen)
    lines = [line for line in seen.splitlines() if line and not line.startswith("$")]
    assert lines == [
        "[task-1] SUCCESS: WRITE - a.txt (created, 3 bytes)",
        "[task-2:exec] woken",
        f"[task-2] SUCCESS: RUN - sh -c '{WAITING}; echo woken' (exit 0)",
        "2 done",
        "exit=0",
    ]


def test_a_command_is_put_to_the_person(shell: Shell, tmux: Tmux) -> None:
    shell.write("answer.md", "<---RUN--->\nsh -c 'echo ran'\n<---END--->\n")
    tmux.start("clear; clada --no-git --sandbox=off answer.md; echo exit=$?")
    seen = tmux.until(lambda screen: "[?]" in screen)
    assert "clada: may this command run?" in seen
    assert "command:    sh -c 'echo ran'" in seen
    time.sleep(0.8)
    assert tmux("capture-pane", "-p") == seen  # no progress line gets into the question
    tmux.type("y")
    seen = tmux.until(lambda screen: "exit=" in screen)
    assert "[task-1:exec] ran" in seen
    assert "exit=0" in seen


def test_no_is_an_answer(shell: Shell, tmux: Tmux) -> None:
    shell.write("answer.md", "<---RUN--->\nsh -c 'echo ran > file'\n<---END--->\n")
    tmux.start("clear; clada --no-git --sandbox=off answer.md; echo exit=$?")
    tmux.until(lambda screen: "[?]" in screen)
    tmux.type("n")
    tmux.until(lambda screen: "exit=1" in screen)
    assert not (shell.workspace / "file").exists()


def test_always_is_stored_and_not_asked_again(shell: Shell, tmux: Tmux) -> None:
    shell.write("answer.md", "<---RUN--->\nsh -c 'echo ran'\n<---END--->\n")
    tmux.start("clear; clada --no-git --sandbox=off answer.md; echo exit=$?")
    tmux.until(lambda screen: "[?]" in screen)
    tmux.type("a")
    tmux.until(lambda screen: "exit=0" in screen)
    assert shell("approvals", "list").stdout == "allowed  sh -c 'echo ran'\n"
    assert shell("--no-git", "--sandbox=off", "answer.md").returncode == 0


# The same words in all notations, and few of them.


@pytest.mark.parametrize(
    "document",
    [
        '<---WRITE file="a.txt"--->\nhi\n<---END--->\n',
        '<write path="a.txt">hi\n</write>\n',
        '{"tasks": [{"action": "write", "path": "a.txt", "content": "hi\\n"}]}',
    ],
)
def test_all_notations_have_the_same_lines_and_no_summary(
    shell: Shell, terminal: Terminals, document: str
) -> None:
    shell.write("answer.md", document.replace(">hi\n</write>", "><![CDATA[hi\n]]></write>"))
    _, seen = terminal("--no-git", "--color=never", "answer.md").end()
    seen = seen.replace("[task-1.1]", "[task-1]")  # in JSON it is in a block
    assert seen == "[task-1] SUCCESS: WRITE - a.txt (created, 3 bytes)\r\n1 done\r\n"


def test_a_summary_that_is_asked_for_is_printed(shell: Shell, terminal: Terminals) -> None:
    shell.write("answer.md", WRITE)
    _, seen = terminal("--no-git", "--summary=xml", "answer.md").end()
    assert "<result " in seen


def test_a_run_of_many_files_shows_failures_and_counts_by_kind(shell: Shell, terminal: Terminals) -> None:
    many = "".join(f'<---WRITE file="{number}"--->\n<---END--->\n' for number in range(3000))
    shell.write("answer.md", many + MISSING + WRITE)
    shell.write("a.txt", "old\n")
    for flags, counts in ([], "3,000 created, 1 overwritten"), (["-v"], "3,001 unchanged"):
        _, seen = terminal("--no-git", "--color=never", *flags, "answer.md").end()
        assert seen.count("SUCCESS") == 0
        assert "[task-3001] ERROR: EDIT - missing: file_not_found" in seen
        assert f"3001 done, 1 failed ({counts})\r\n" in seen
    assert shell("--no-git", "answer.md").stdout.count("SUCCESS") == 3001  # all lines in a pipe


def test_force_color_colours_a_pipe_and_no_color_wins(shell: Shell) -> None:
    assert "\x1b[" in shell("--no-git", document=WRITE, FORCE_COLOR="1").stdout
    assert "\x1b[" not in shell("--no-git", document=WRITE, FORCE_COLOR="0").stdout
    assert "\x1b[" not in shell("--no-git", document=WRITE, FORCE_COLOR="1", NO_COLOR="1").stdout
    assert "\x1b[" not in shell("--no-git", "--color=never", document=WRITE, FORCE_COLOR="1").stdout


def test_quiet_prints_failures_only(shell: Shell) -> None:
    done = shell("--no-git", "-q", document=WRITE + MISSING)
    assert done.stdout == ""
    assert done.stderr == "[task-2] ERROR: SEARCH - missing: file_not_found: no such file or directory\n"


def test_short_flags_stand_together(shell: Shell) -> None:
    done = shell("-nv", "-C.", "-m", "x", document=WRITE + MISSING)
    assert "PLAN: WRITE" in done.stdout
    assert not (shell.workspace / "a.txt").exists()


def test_yes_does_not_ask_though_it_is_configured(shell: Shell) -> None:
    shell.configure("confirm = true\n")
    assert shell("--no-git", document=WRITE).returncode == 1
    assert shell("--no-git", "-y", document=WRITE).returncode == 0
