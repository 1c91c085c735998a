"""`clada watch` and `clada paste`: answers that are saved or copied, on real files and a real clipboard."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest
from tests.display import display
from tests.messages import joined

from clada.cli.clipboard import INTERVAL
from clada.cli.commands.watched_files import WatchedFiles
from clada.prompts import PROMPTS, prompt

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cli.conftest import Shell, Terminals, Tmux
    from tests.display import Display

WATCH = ("watch", "--settle=300ms")
KEYS = "[y] all  [n] none  [s] select  [e] edit  [d] diff  [?]"
QUIT = "[q] quit"


def write(path: str, content: str) -> str:
    return f'<---WRITE file="{path}"--->\n{content}\n<---END--->\n'


def save(shell: Shell, path: str, text: str) -> None:
    """Save as careful editors do: another file takes the place of the old one."""
    shell.write(f"{path}~", text).replace(shell.workspace / path)


def test_an_answer_that_is_saved_is_shown_asked_about_and_reported(shell: Shell, tmux: Tmux) -> None:
    tmux.start("clear; clada watch --settle=300ms --no-git answer.md; echo exit=$?")
    tmux.until(lambda screen: QUIT in screen)
    shell.write("answer.md", write("a.txt", "hi"))
    tmux.until(lambda screen: KEYS in screen)
    assert not (shell.workspace / "a.txt").exists()
    tmux.press("y")
    seen = tmux.until(lambda screen: "do it again" in screen)
    assert (
        seen.rstrip()
        == """\
clada: watching answer.md
clada: waiting; [q] quit
clada: answer.md was saved
[task-1] PLAN: WRITE - a.txt (would create, 3 bytes)
--- /dev/null
+++ b/a.txt
@@ -0,0 +1 @@
+hi
1 planned

Execute this?
[y] all  [n] none  [s] select  [e] edit  [d] diff  [?] y
[task-1] SUCCESS: WRITE - a.txt (created, 3 bytes)
1 done
clada: the report is in answer.report.md
clada: waiting; [r] do it again  [q] quit"""
    )
    assert (shell.workspace / "answer.report.md").read_text() == "The operation was carried out.\n"
    tmux.type("q")
    tmux.until(lambda screen: "exit=0" in screen)


def test_what_was_declined_is_neither_done_nor_reported_and_asked_about_again(
    shell: Shell, terminal: Terminals
) -> None:
    screen = terminal(*WATCH, "--no-git")
    screen.until(QUIT)
    for _ in range(2):
        save(shell, "answer.md", write("a.txt", "hi"))
        screen.until(KEYS)
        screen.seen = b""
        screen.type("n")
        screen.until("clada: not executed")
        screen.until("do it again")
    assert sorted(path.name for path in shell.workspace.iterdir()) == ["answer.md"]


def test_the_same_text_is_carried_out_once_unless_asked(shell: Shell, terminal: Terminals) -> None:
    answer = '<---WRITE file="log" append="true"--->\nline\n<---END--->\n'
    screen = terminal(*WATCH, "--yes", "--no-git", "answer.md")
    screen.until(QUIT)
    save(shell, "answer.md", answer)
    screen.until("do it again")
    screen.seen = b""
    save(shell, "answer.md", answer)
    screen.until("clada: answer.md has the same text as before: it is not carried out twice")
    screen.until("do it again")
    assert (shell.workspace / "log").read_text() == "line\n"
    screen.seen = b""
    screen.type("r\n")
    screen.until("do it again")
    assert (shell.workspace / "log").read_text() == "line\nline\n"
    screen.type("\x04")  # the end of input
    assert screen.end()[0] == 0


def test_the_same_text_is_known_again_by_the_next_watch_unless_it_was_undone(
    repository: Shell, terminal: Terminals
) -> None:
    answer = '<---WRITE file="log" append="true"--->\nline\n<---END--->\n'
    assert repository(document=answer).returncode == 0
    screen = terminal(*WATCH, "--yes", "answer.md")
    screen.until(QUIT)
    save(repository, "answer.md", answer)
    screen.until("clada: answer.md has the same text as run 1: it is not carried out twice")
    assert (repository.workspace / "log").read_text() == "line\n"
    assert repository("undo").returncode == 0
    screen.seen = b""
    save(repository, "answer.md", answer)
    screen.until("1 done")
    assert (repository.workspace / "log").read_text() == "line\n"


def test_a_plan_is_not_taken_for_a_run(shell: Shell, terminal: Terminals) -> None:
    screen = terminal(*WATCH, "--dry-run", "--no-git", "--color=never")
    screen.until(QUIT)
    for _ in range(2):
        screen.seen = b""
        save(shell, "answer.md", write("a.txt", "hi"))
        screen.until("PLAN: WRITE - a.txt (would create, 3 bytes)")
        screen.until("do it again")
    assert "SUCCESS" not in screen.seen.decode()
    assert not (shell.workspace / "a.txt").exists()


def test_the_report_is_never_that_of_an_earlier_answer(shell: Shell, terminal: Terminals) -> None:
    copied = shell.home / "copied"
    program = shell.home / "xclip"
    program.write_text(f'#!/bin/sh\n[ "$3" ] && exec cat "{copied}"\nexec cat > "{copied}"\n')
    program.chmod(0o755)
    shell.environment.update(DISPLAY=":0", PATH=f"{shell.home}:{shell.environment['PATH']}")
    screen = terminal(*WATCH, "--no-git")
    screen.until(QUIT)
    save(shell, "answer.md", write("a.txt", "hi"))
    screen.until(KEYS)
    screen.type("y")
    screen.until("[c] copy the report")
    screen.seen = b""
    save(shell, "answer.md", write("b.txt", "hi"))
    screen.until(KEYS)
    screen.type("n")
    screen.until("clada: waiting; [r] do it again  [q] quit")  # there is no report on this one
    screen.type("c\n")
    save(shell, "answer.md", "I have done so.\n")
    screen.until("clada: no operations found in answer.md")
    screen.until("clada: the report is in answer.report.md")
    report = (shell.workspace / "answer.report.md").read_text()
    assert report.startswith("No operations were found.\n")
    assert not copied.exists()


def test_what_is_there_already_waits_for_the_next_save(shell: Shell, terminal: Terminals) -> None:
    shell.write("answer.md", write("old", "x"))
    screen = terminal(*WATCH, "--yes", "--no-git", "answer.md")
    screen.until(QUIT)
    shell.write("answer.md", write("new", "x"))
    screen.until("do it again")
    assert not (shell.workspace / "old").exists()
    assert (shell.workspace / "new").exists()


def test_an_answer_that_grows_is_not_taken_before_it_is_quiet(tmp_path: Path) -> None:
    """However long it grows, and however complete its beginnings are."""
    (tmp_path / "answers").mkdir()
    file = tmp_path / "answers" / "a.md"
    place = WatchedFiles(str(file.parent), str(tmp_path / "workspace"), 3600)
    ticks = place.ticks()
    file.write_text(write("a", "one"))
    assert not any(next(ticks) for _ in range(20))
    place.close()


def test_an_answer_that_is_cut_off_is_reported_and_taken_when_it_is_complete(
    shell: Shell, terminal: Terminals
) -> None:
    screen = terminal(*WATCH, "--yes", "--no-git", "answer.md")
    screen.until(QUIT)
    whole = write("a", "one") + write("b", "two")
    shell.write("answer.md", whole[:70])
    screen.until("Unterminated WRITE operation")
    screen.until("do it again")
    assert not (shell.workspace / "a").exists()
    screen.seen = b""
    shell.write("answer.md", whole)
    screen.until("2 done")
    assert (shell.workspace / "b").read_text() == "two\n"


def test_a_text_that_continues_one_that_was_carried_out_is_only_reported(
    shell: Shell, terminal: Terminals
) -> None:
    screen = terminal(*WATCH, "--yes", "--no-git", "answer.md")
    screen.until(QUIT)
    shell.write("answer.md", write("a", "one"))
    screen.until("1 done")
    screen.seen = b""
    shell.write("answer.md", write("a", "one") + write("b", "two"))
    screen.until("clada: answer.md continues what was carried out before: it is not carried out")
    screen.until("do it again")
    assert not (shell.workspace / "b").exists()
    screen.type("r\n")  # a person may have it carried out all the same
    screen.until("2 done")


def test_the_next_watch_knows_that_a_text_continues_a_recorded_run(
    repository: Shell, terminal: Terminals
) -> None:
    assert repository(document=write("a", "one")).returncode == 0
    screen = terminal(*WATCH, "--yes", "answer.md")
    screen.until(QUIT)
    save(repository, "answer.md", write("a", "one") + write("b", "two"))
    screen.until("clada: answer.md continues run 1: it is not carried out")
    assert not (repository.workspace / "b").exists()


def test_two_watches_of_one_folder_exclude_each_other(shell: Shell, terminal: Terminals) -> None:
    (shell.workspace / "answers").mkdir()
    first = terminal(*WATCH, "--yes", "--no-git", "answers")
    first.until(QUIT)
    second = shell("watch", "--yes", "--no-git", "answers")
    assert second.returncode == 1
    assert "another clada watch is watching answers: end it, or watch another directory" in joined(
        second.stderr
    )
    first.type("q\n")
    assert first.end()[0] == 0
    third = terminal(*WATCH, "--yes", "--no-git", "answers")
    third.until(QUIT)


def test_what_a_command_puts_into_the_folder_is_no_answer(shell: Shell, terminal: Terminals) -> None:
    (shell.workspace / "answers").mkdir()
    shell.write("poison.md", write("evil", "x"))
    screen = terminal(*WATCH, "--yes", "--no-git", "--approve=cp poison.md answers/next.md", "answers")
    screen.until(QUIT)
    shell.write("answers/one.md", "<---RUN--->\ncp poison.md answers/next.md\n<---END--->\n")
    screen.until("clada: answers/next.md changed while a command ran: save it again if it is an answer")
    shell.write("answers/two.md", write("later", "x"))
    screen.until("clada: the report is in answers/two.report.md")
    assert not (shell.workspace / "evil").exists()
    shell.write("answers/next.md", write("evil", "x") + "\n")  # saved by the user
    screen.until("clada: the report is in answers/next.report.md")
    assert (shell.workspace / "evil").exists()


def test_what_is_saved_while_one_is_attended_to_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / "answers").mkdir()
    file = tmp_path / "answers" / "a.md"
    place = WatchedFiles(str(file.parent), str(tmp_path / "workspace"), 0.3)
    ticks = place.ticks()
    for content in ("first", "second, saved while the first is read"):
        file.write_text(content)
        assert next(settled for settled in ticks if settled) == [str(file)]
    place.take(str(file))
    file.write_text("third")
    assert next(settled for settled in ticks if settled) == [str(file)]
    place.take(str(file))
    file.write_text("by an operation")
    place.leave([str(file)])
    assert not any(next(ticks) for _ in range(10))


def test_an_answer_that_stays_cut_off_is_told_and_reported(shell: Shell, terminal: Terminals) -> None:
    screen = terminal(*WATCH, "--no-git", "answer.md")
    screen.until(QUIT)
    shell.write("answer.md", '<---WRITE file="a"--->\nhalf')
    screen.until("Line 1: Unterminated WRITE operation")
    screen.until("clada: the report is in answer.report.md")
    report = (shell.workspace / "answer.report.md").read_text()
    assert report.startswith("[task-1] FATAL: PARSE - Line 1: Unterminated WRITE operation")
    assert "Next: nothing was carried out." in report


def test_in_a_directory_each_answer_counts_and_nothing_else(shell: Shell, terminal: Terminals) -> None:
    (shell.workspace / "answers").mkdir()
    screen = terminal(*WATCH, "--yes", "--no-git", "answers")
    screen.until(QUIT)
    for name in (
        "old.report.md",
        ".hidden.md",
        "draft.md~",
        "x.swp",
        "#b.md#",
        "b.md___jb_tmp___",
        "c.md.save",
    ):
        shell.write(f"answers/{name}", write(f"by-{name}", "x"))
    shell.write("answers/prose.md", "Nothing to do.\n")
    screen.until("clada: no operations found in answers/prose.md")
    # Files that an answer writes are not answers.
    shell.write("answers/one.md", write("answers/two.md", "<---RUN--->\ntouch harm\n<---END--->"))
    screen.until("clada: the report is in answers/one.report.md")
    shell.write("answers/three.json", '{"tasks": [{"action": "write", "path": "c", "content": "x"}]}')
    screen.until("clada: the report is in answers/three.json.report.md")
    assert sorted(path.name for path in shell.workspace.iterdir()) == ["answers", "c"]


def test_answers_that_are_saved_together_are_carried_out_in_order_and_none_is_committed(
    repository: Shell, terminal: Terminals
) -> None:
    (repository.workspace / "answers").mkdir()
    screen = terminal(*WATCH, "--yes", "answers")
    assert "clada: kept out of commits, by .git/info/exclude: /answers/" in screen.until(QUIT)
    saved = time.time_ns()
    for age, name in enumerate(("b.md", "c.md", "a.txt", "a.md", "prose.md")):  # the newest first
        text = f'<---WRITE file="log" append="true"--->\n{name}\n<---END--->\n' if age < 4 else "Hello!\n"
        path = repository.write(f"answers/.{name}", text)
        os.utime(path, ns=(saved, saved - min(age, 2) * 1_000_000))
    for path in (repository.workspace / "answers").iterdir():  # which is in no order
        path.rename(path.with_name(path.name.removeprefix(".")))
    screen.until("clada: the report is in answers/b.report.md")
    assert (repository.workspace / "log").read_text() == "a.md\na.txt\nc.md\nb.md\n"
    assert set(repository.git("log", "--name-only", "--format=").split()) == {"log"}
    reports = sorted(path.name for path in (repository.workspace / "answers").glob("*.report.md"))
    assert reports == ["a.report.md", "a.txt.report.md", "b.report.md", "c.report.md"]


def test_an_answer_that_git_tracks_is_said_to_be_committed(repository: Shell, terminal: Terminals) -> None:
    save(repository, "answer.md", write("a", "x"))
    repository.git("add", "answer.md")
    repository.git("commit", "-qm", "with the answer")
    screen = terminal(*WATCH, "--yes", "answer.md")
    seen = screen.until(QUIT)
    assert "clada: kept out of commits, by .git/info/exclude: /answer.report.md\r\n" in seen
    assert (
        "clada: git tracks answer.md: what is saved there is committed with the next run\r\n"
        "  git rm --cached answer.md\r\n"
    ) in seen
    repository.git("rm", "-q", "--cached", "answer.md")
    save(repository, "answer.md", write("a", "y"))
    screen.until("do it again")
    assert repository.git("log", "-1", "--name-only", "--format=").split() == ["a"]
    assert repository.git("show", "HEAD:answer.md") == write("a", "x")


def test_a_file_that_is_no_report_is_not_overwritten(shell: Shell, terminal: Terminals) -> None:
    shell.write("answer.report.md", "my own notes\n")
    screen = terminal(*WATCH, "--yes", "--no-git", "answer.md")
    screen.until(QUIT)
    shell.write("answer.md", write("a", "x"))
    screen.until(
        "clada: answer.report.md is not a report of clada and is not overwritten\r\n  mv answer.report.md"
    )
    assert (shell.workspace / "answer.report.md").read_text() == "my own notes\n"


@pytest.mark.parametrize("what", ["a pipe", "a device"])
def test_a_report_that_could_be_read_for_ever_is_not(shell: Shell, terminal: Terminals, what: str) -> None:
    report = shell.workspace / "answer.report.md"
    os.mkfifo(report) if what == "a pipe" else report.symlink_to("/dev/zero")
    screen = terminal("watch", "--yes", "--no-git", "answer.md")
    screen.until(QUIT)
    shell.write("answer.md", write("a", "x"))
    screen.until(
        "clada: answer.report.md is not a report of clada and is not overwritten\r\n  mv answer.report.md"
    )
    assert not report.is_file()


def test_a_report_that_is_saved_as_an_answer_is_left_alone(shell: Shell, terminal: Terminals) -> None:
    screen = terminal(*WATCH, "--yes", "--no-git", "answer.md")
    screen.until(QUIT)
    shell.write("answer.md", "The operation was carried out.\n\n" + write("a", "x"))
    screen.until("clada: answer.md is a report of clada, not an answer")
    assert not (shell.workspace / "a").exists()


def test_a_prompt_that_is_saved_as_an_answer_is_left_alone(shell: Shell, terminal: Terminals) -> None:
    (shell.workspace / "answers").mkdir()
    screen = terminal(*WATCH, "--yes", "--no-git", "answers")
    screen.until(QUIT)
    for name in PROMPTS:
        shell.write(f"answers/{name}.md", prompt(name))
    for name in PROMPTS:
        screen.until(f"clada: answers/{name}.md is a prompt of clada, not an answer")
    assert [path.name for path in shell.workspace.iterdir()] == ["answers"]


def test_neither_answer_nor_report_is_committed(repository: Shell, terminal: Terminals) -> None:
    repository.write("kept.txt", "x")
    repository.configure('record = "commits"\n')
    screen = terminal(*WATCH, "--yes", "answer [1].md")
    screen.until(QUIT)
    for text in ("one", "two"):
        screen.seen = b""
        save(repository, "answer [1].md", write("a.txt", text))
        screen.until("do it again")
    committed = set(repository.git("log", "--name-only", "--format=").split())
    assert committed == {"kept.txt", "a.txt"}
    assert repository.git("status", "--porcelain") == ""
    excluded = (repository.workspace / ".git" / "info" / "exclude").read_text()
    assert excluded.endswith(
        "# clada watch: answers, and the reports on them\n/answer\\ \\[1\\].md\n/answer\\ \\[1\\].report.md\n"
    )


def test_trouble_with_one_answer_does_not_end_the_watch(shell: Shell, terminal: Terminals) -> None:
    screen = terminal(
        "watch", "--record=commits", "--yes", "answer.md"
    )  # there is no repository to record it in
    screen.until(QUIT)
    shell.write("answer.md", write("a", "x"))
    screen.until("GIT - not a git repository")
    shell.git("init", "-q")
    screen.seen = b""
    save(shell, "answer.md", write("a", "x"))  # the same once more, for nothing was done
    screen.until("1 done")
    assert (shell.workspace / "a").exists()


def test_a_place_that_goes_away_ends_it(shell: Shell, terminal: Terminals) -> None:
    (shell.workspace / "answers").mkdir()
    screen = terminal(*WATCH, "--yes", "--no-git", "answers")
    screen.until(QUIT)
    (shell.workspace / "answers").rmdir()
    code, seen = screen.end()
    assert code == 1
    assert "clada: answers was removed\r\n  mkdir -p answers\r\n" in seen


def test_an_interrupt_ends_it(terminal: Terminals) -> None:
    screen = terminal(*WATCH, "--no-git", "answer.md")
    screen.until(QUIT)
    screen.type("\x03")
    assert screen.end()[0] == 130


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("watch", "x"), 1, "clada watch needs a terminal to ask on; clada watch --yes"),
        (("watch", "--yes", "no/x"), 2, "no/x: there is no directory no"),
        (("watch", "--yes", "x.report.md"), 2, "x.report.md is the name of a report, not of an answer"),
        (("watch", "--yes", "."), 2, ". contains the workspace: watch a file in it; clada watch answer.md"),
        (("watch", "--clipboard", "x"), 2, "--clipboard watches the clipboard, not x: give one of them"),
        (("watch", "--clipboard", "--yes"), 1, "no clipboard: there is no display"),
        (("paste",), 1, "no clipboard: there is no display"),
        (("--copy",), 1, "no clipboard: there is no display"),
    ],
)  # fmt: skip
def test_what_cannot_be_watched_is_one_line(
    shell: Shell, arguments: tuple[str, ...], code: int, told: str
) -> None:
    shell.environment["PATH"] = "/usr/bin:/bin"
    done = shell(*arguments, document="", DISPLAY="", WAYLAND_DISPLAY="")
    assert done.returncode == code
    assert joined(done.stderr).splitlines()[-1].startswith(f"clada: {told}")


def test_what_is_not_installed_is_named(shell: Shell) -> None:
    (shell.home / "watchfiles.py").write_text("raise ImportError\n")
    done = shell("watch", "--yes", "x", PYTHONPATH=str(shell.home))
    assert done.returncode == 1
    assert joined(done.stderr).endswith("clada: clada watch needs watchfiles; pip install 'clada[watch]'\n")


# The clipboard.


@pytest.fixture
def desktop(shell: Shell) -> Iterator[Display]:
    with display() as shown:
        shell.environment["DISPLAY"] = shown.name
        shell.environment.pop("WAYLAND_DISPLAY", None)
        yield shown


def test_answers_that_are_copied_are_carried_out_and_reports_never(
    shell: Shell, terminal: Terminals, desktop: Display
) -> None:
    desktop.copy(write("before", "x"))
    screen = terminal(*WATCH, "--clipboard", "--no-git")
    screen.until(QUIT)
    desktop.copy("some private text")
    desktop.copy(write("a.txt", "hi"))
    seen = screen.until(KEYS)
    assert "business" not in seen
    screen.type("y")
    screen.until("[c] copy the report")
    assert desktop.paste() == write("a.txt", "hi")  # nothing is copied unasked
    screen.type("c\n")
    screen.until("clada: the report is on the clipboard")
    assert desktop.paste() == "The operation was carried out.\n"
    time.sleep(3 * INTERVAL)  # so that each is seen
    for own in ("The operation was carried out.\n" + write("report", "x"), prompt("csl")):
        desktop.copy(own)
        time.sleep(3 * INTERVAL)
    screen.seen = b""
    desktop.copy(write("a.txt", "hi"))
    screen.until("the clipboard has the same text as before")
    screen.type("q\n")
    assert screen.end()[0] == 0
    assert [path.name for path in shell.workspace.iterdir()] == ["a.txt"]


def test_a_desktop_that_goes_away_is_told(terminal: Terminals, desktop: Display) -> None:
    screen = terminal(*WATCH, "--clipboard", "--no-git")
    screen.until(QUIT)
    desktop.close()
    code, seen = screen.end()
    assert code == 1
    assert "clada: xclip could not paste: Error: Can't open display" in seen


def test_paste_carries_out_what_was_copied_and_copies_the_report(shell: Shell, desktop: Display) -> None:
    done = shell("paste", "--no-git")
    assert (done.returncode, done.stdout) == (1, "")
    desktop.copy("Sure!\n" + write("a.txt", "hi") + "<---RUN--->\ncat a.txt\n<---END--->\n")
    done = shell("paste", "--no-git", "--copy")
    assert (done.returncode, done.stderr) == (0, "clada: the report is on the clipboard\n")
    assert done.stdout.startswith("[task-1] SUCCESS: WRITE - a.txt (created, 3 bytes)\n")
    assert desktop.paste() == (
        "All 2 operations were carried out.\n\n"
        "[task-2] SUCCESS: RUN - cat a.txt (exit 0)\n  output:\n    hi\n"
    )
    desktop.copy("The operation was carried out.\n")
    done = shell("paste", "--no-git")
    assert joined(done.stderr) == (
        "clada: on the clipboard there is a report of clada, not an answer; copy the answer, then:; "
        "clada paste\n"
    )


def test_a_prompt_that_was_copied_is_not_carried_out(shell: Shell, desktop: Display) -> None:
    for name in PROMPTS:
        assert shell("prompt", name, "--copy").stderr == "clada: the instructions are on the clipboard\n"
        assert desktop.paste() == prompt(name)
        done = shell("paste", "--no-git")
        assert (done.returncode, done.stdout) == (1, "")
        assert joined(done.stderr) == (
            "clada: on the clipboard there is a prompt of clada, not an answer; copy the answer, then:; "
            "clada paste\n"
        )
    assert list(shell.workspace.iterdir()) == []
