"""--confirm: what is shown before anything is done, and choosing all, nothing or parts of it."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest
from tests.cli.conftest import LONG
from tests.messages import joined

if TYPE_CHECKING:
    from tests.cli.conftest import Screen, Shell, Terminals, Tmux

WRITE = '<---WRITE file="a.txt"--->\nhi\n<---END--->\n'
KEYS = "[y] all  [n] none  [s] select  [e] edit  [d] diff  [?]"
CHOICE = "[y] yes  [n] no  [a] all  [q] quit  [b] back  [s] split  [e] edit  [?]"
OLD = "".join(f"line {number}\n" for number in range(1, 31))
NEW = OLD.replace("line 3\n", "line three\n").replace("line 20\n", "line twenty\n")
ANSWER = f"""<---WRITE file="a.txt"--->
{NEW}
<---END--->
<---TASKS--->
<---WRITE file="new.txt"--->
one
<---END--->
<---SEARCH file="new.txt"--->
one
<---REPLACE--->
two
<---END--->
<---RUN--->
python3 -m pytest -q
<---END--->
<---END--->
"""


@pytest.mark.parametrize(("answer", "code", "written"), [("y", 0, True), ("n", 1, False), ("C-d", 1, False)])
def test_confirm_shows_the_diff_and_asks(
    shell: Shell, tmux: Tmux, answer: str, code: int, *, written: bool
) -> None:
    shell.write("answer.md", WRITE)
    tmux.start("clear; clada --no-git --confirm answer.md; echo exit=$?")
    seen = tmux.until(lambda screen: KEYS in screen)
    assert "+++ b/a.txt" in seen
    assert not (shell.workspace / "a.txt").exists()
    tmux.press(answer)
    seen = tmux.until(lambda screen: "exit=" in screen)
    assert f"exit={code}" in seen
    assert (shell.workspace / "a.txt").exists() is written
    assert ("clada: not executed" in seen) is not written


def test_confirm_shows_the_plan_where_it_asks_if_the_output_goes_elsewhere(shell: Shell, tmux: Tmux) -> None:
    shell.write("a.json", '{"tasks": [{"action": "write", "path": "a.txt", "content": "hi"}]}')
    tmux.start("clear; clada --no-git --confirm --output-mode=silent a.json > out; echo exit=$?")
    seen = tmux.until(lambda screen: "Execute this?" in screen)
    assert "[task-1.1] PLAN: WRITE - a.txt (would create, 2 bytes)" in seen
    assert "+++ b/a.txt" in seen
    tmux.press("y")
    tmux.until(lambda screen: "exit=0" in screen)
    assert json.loads((shell.workspace / "out").read_text())["ok"] is True


def test_confirm_shows_the_commands_that_would_run(shell: Shell, tmux: Tmux) -> None:
    shell.write("answer.md", "<---RUN--->\npython3 danger.py\n<---END--->\n")
    tmux.start("clear; clada --no-git --confirm --approve='python3 danger.py' answer.md; echo exit=$?")
    seen = tmux.until(lambda screen: "Execute this?" in screen)
    assert "  | python3 danger.py\n" in seen
    tmux.press("n")
    tmux.until(lambda screen: "exit=1" in screen)


def test_confirm_says_what_would_fail(shell: Shell, tmux: Tmux) -> None:
    shell.write("answer.md", WRITE + '<---SEARCH file="no"--->\nx\n<---REPLACE--->\ny\n<---END--->\n')
    tmux.start("clear; clada --no-git --confirm answer.md; echo exit=$?")
    tmux.until(lambda screen: "Execute this, though 1 would fail?" in screen)
    tmux.press("n")
    tmux.until(lambda screen: "exit=1" in screen)


def test_confirm_does_not_ask_for_what_could_not_be_recorded(shell: Shell, tmux: Tmux) -> None:
    shell.write("answer.md", WRITE)
    tmux.start("clear; clada --record=commits --confirm answer.md; echo exit=$?")
    seen = tmux.until(lambda screen: "exit=1" in screen)
    assert "+++ b/a.txt" in seen
    assert "[task-1] FATAL: GIT - not a git repository: " in seen
    assert "clada: not executed" in seen
    assert "Execute this" not in seen


def test_confirm_in_the_background_does_not_wait_for_ever(shell: Shell, tmux: Tmux) -> None:
    shell.write("answer.md", WRITE)
    tmux.start("clear; set -m; clada --no-git --confirm answer.md & wait $!; echo exit=$?")
    seen = tmux.until(lambda screen: "exit=1" in screen)
    assert "clada: --confirm needs a terminal to ask on" in seen


def test_confirm_without_a_terminal_is_one_line(shell: Shell) -> None:
    done = shell("--no-git", "--confirm", document=WRITE)
    assert (done.returncode, done.stdout) == (1, "")
    assert joined(done.stderr) == ("clada: --confirm needs a terminal to ask on; clada plan FILE\n")
    assert not (shell.workspace / "a.txt").exists()


FRAMES = (
    (
        "s",
        """\
(1/5) task 1: WRITE - a.txt (would overwrite, 239 bytes), hunk 1 of 2
@@ -1,6 +1,6 @@
 line 1
 line 2
-line 3
+line three
 line 4
 line 5
 line 6
""",
    ),
    (
        "n",
        """\
(2/5) task 1: WRITE - a.txt (would overwrite, 239 bytes), hunk 2 of 2
@@ -17,7 +17,7 @@
 line 17
 line 18
 line 19
-line 20
+line twenty
 line 21
 line 22
 line 23
""",
    ),
    (
        "y",
        """\
(3/5) task 2.1: WRITE - new.txt (would create, 4 bytes)
@@ -0,0 +1 @@
+one
""",
    ),
    (
        "n",
        """\
(4/5) task 2.2: EDIT - new.txt (would edit, 1 replacement at line 1)
@@ -1 +1 @@
-one
+two
""",
    ),
    (
        "n",
        """\
(5/5) task 2.3: RUN - needs approval
  | python3 -m pytest -q
""",
    ),
)


def test_operations_and_hunks_are_chosen_one_by_one(shell: Shell, tmux: Tmux) -> None:
    shell.write("a.txt", OLD)
    shell.write("answer.md", ANSWER)
    tmux.start("clear; clada --no-git --confirm answer.md; echo exit=$?", PAGER="cat")
    tmux.until(lambda screen: KEYS in screen)
    for key, frame in FRAMES:
        tmux.clear()
        tmux.press(key)
        assert f"{frame}{CHOICE}" in tmux.until(lambda screen: CHOICE in screen.rsplit("(", 1)[-1])
    tmux.clear()
    tmux.press("y")
    seen = tmux.until(lambda screen: KEYS in screen)
    assert (
        """\
[task-1] PLAN: WRITE - a.txt (would overwrite, 235 bytes, hunk 2 of 2)
[task-2.1] SKIP: WRITE - not chosen (new.txt)
[task-2.2] SKIP: EDIT - not chosen (new.txt)
[task-2.3] SKIP: RUN - not run in a dry run: needs approval
  | python3 -m pytest -q
1 planned, 3 not tried
clada: task 2.3 is a command that runs without tasks 2.1, 2.2 of its block

Execute what is chosen?
"""
        + KEYS
        in seen
    )
    tmux.press("n")
    tmux.until(lambda screen: "exit=1" in screen)
    assert (shell.workspace / "a.txt").read_text() == OLD


def answers(screen: Screen, *keys: str) -> None:
    """Give answers, each to the question that comes next."""
    for key in keys:
        screen.until("[?] ")
        screen.seen = b""
        screen.type(key)
        screen.until(f"{key}\r\n")  # which is shown once it was read


def test_what_is_chosen_is_executed_and_no_more(shell: Shell, terminal: Terminals) -> None:
    shell.write("a.txt", OLD)
    screen = terminal("--no-git", "--confirm", document=ANSWER, PAGER="cat")
    answers(screen, "s", "y", "n", "y", "q", "y")
    code, seen = screen.end()
    assert code == 0
    assert "WRITE - a.txt (overwritten, 235 bytes, hunk 1 of 2)" in seen
    assert (shell.workspace / "a.txt").read_text() == OLD.replace("line 3\n", "line three\n")
    assert (shell.workspace / "new.txt").read_text() == "one\n"


def test_a_failure_is_tried_and_reported_or_left_out_as_not_wanted(shell: Shell, terminal: Terminals) -> None:
    """The question says what each answer tells the model."""
    missing = '<---SEARCH file="missing"--->\nx\n<---REPLACE--->\ny\n<---END--->\n'
    reports = {}
    for key in ("y", "n"):
        screen = terminal("--no-git", "--confirm", "--summary=llm", "--color=never", document=missing + WRITE)
        answers(screen, "s")
        assert "would fail: [y] tries it, and reports the error to the model" in screen.until("[b] back")
        answers(screen, key, "y", "y")
        reports[key] = screen.end()[1]
        (shell.workspace / "a.txt").unlink()
    assert "[task-1] ERROR: SEARCH - missing: file_not_found" in reports["y"]
    assert "not chosen" not in reports["y"]
    assert "[task-1] SKIP: SEARCH - not chosen (missing)" in reports["n"]


def test_one_can_go_back_and_take_the_rest(shell: Shell, terminal: Terminals) -> None:
    shell.write("a.txt", OLD)
    screen = terminal(
        "--no-git",
        "--confirm",
        "--approve-all",
        "--sandbox=off",
        document=ANSWER.replace("python3 -m pytest -q", "sh -c true"),
        PAGER="cat",
    )
    answers(screen, "s", "n", "b", "?", "a", "y")
    assert screen.end()[0] == 0
    assert (shell.workspace / "a.txt").read_text() == NEW
    assert (shell.workspace / "new.txt").read_text() == "two\n"


def test_choosing_nothing_is_told_and_executes_nothing(shell: Shell, terminal: Terminals) -> None:
    screen = terminal("--no-git", "--confirm", document=WRITE)
    answers(screen, "s", "n")
    assert "clada: nothing is chosen" in screen.until(KEYS)
    screen.type("n")
    assert screen.end()[0] == 1
    assert not (shell.workspace / "a.txt").exists()


def test_a_long_diff_goes_through_the_pager_if_it_is_asked_for(shell: Shell, terminal: Terminals) -> None:
    """No pager opens by itself, because it would take the keys that are meant for the question."""
    pager = shell.write("pager", "#!/bin/sh\necho PAGED $LESS; cat > paged; echo END\n")
    pager.chmod(0o755)
    shell.write("a.txt", OLD)
    screen = terminal("--no-git", "--confirm", document=ANSWER, PAGER=str(pager))
    seen = screen.until(KEYS)
    assert "PAGED" not in seen
    assert "the diff has 23 lines: [d] shows it" in seen
    assert "+line three" not in seen
    screen.seen = b""
    screen.type("d")
    seen = screen.until(KEYS)
    assert "PAGED FRX\r\nEND\r\n" in seen
    assert "+line three" not in seen
    assert "three" in (shell.workspace / "paged").read_text()
    screen.type("n")
    assert screen.end()[0] == 1
    screen = terminal("--no-git", "--confirm", document=WRITE.replace("a.txt", "b.txt"), PAGER=str(pager))
    assert "PAGED" not in screen.until(KEYS)
    screen.seen = b""
    screen.type("d")
    assert "+++ b/b.txt" in screen.until(KEYS)


def test_words_that_differ_stand_out(shell: Shell, terminal: Terminals) -> None:
    shell.write("a.txt", "def total(items, tax):\n")
    document = '<---SEARCH file="a.txt"--->\ntax\n<---REPLACE--->\nrate\n<---END--->\n'
    seen = terminal("--no-git", "--confirm", document=document).until(KEYS)
    assert "\x1b[31m-def total(items, \x1b[0m\x1b[1;7;31mtax\x1b[0m\x1b[31m):\x1b[0m\r\n" in seen
    assert "\x1b[32m+def total(items, \x1b[0m\x1b[1;7;32mrate\x1b[0m\x1b[32m):\x1b[0m\r\n" in seen


def test_the_document_can_be_changed_in_the_editor(shell: Shell, terminal: Terminals) -> None:
    editor = shell.write("editor", '#!/bin/sh\nsed -i s/hi/changed/ "$1"\n')
    editor.chmod(0o755)
    screen = terminal("--no-git", "--confirm", document=WRITE, EDITOR=str(editor))
    answers(screen, "e", "y")
    code, seen = screen.end()
    assert code == 0, seen
    assert (shell.workspace / "a.txt").read_text() == "changed\n"


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (
            'echo "<---END--->" > "$1"',
            "clada: Line 1: END marker without active operation; the document stays",
        ),
        ('echo nothing > "$1"', "clada: no operations found; the document stays as it was"),
        ("exit 3", "clada: the editor ended with exit code 3: nothing was changed"),
    ],
)
def test_what_is_no_plan_any_more_is_put_back(
    shell: Shell, terminal: Terminals, script: str, told: str
) -> None:
    editor = shell.write("editor", f"#!/bin/sh\n{script}\n")
    editor.chmod(0o755)
    screen = terminal("--no-git", "--confirm", document=WRITE, VISUAL=str(editor))
    answers(screen, "e")
    assert told in screen.until(KEYS)
    screen.type("y")
    assert screen.end()[0] == 0
    assert (shell.workspace / "a.txt").read_text() == "hi\n"


def test_an_editor_that_is_not_there_is_told(terminal: Terminals) -> None:
    screen = terminal("--no-git", "--confirm", document=WRITE, EDITOR="no-such-editor -w")
    answers(screen, "e")
    assert "clada: the editor no-such-editor -w cannot be started; export EDITOR=nano" in screen.until(KEYS)


def test_a_command_is_shown_in_full_with_nothing_hidden(terminal: Terminals) -> None:
    command = f"python3 -c 'x'{' ' * 60}evil \x1b[2K"
    screen = terminal("--no-git", "--confirm", document=f"<---RUN--->\n{command}\n<---END--->\n")
    answers(screen, "s")
    assert "  | python3 -c 'x'\u27e860 blanks\u27e9evil \u27e8\\x1b\u27e9[2K" in screen.until(CHOICE)


CLOSE = NEW.replace("line 6\n", "line six\n")  # with two changes in the first hunk
SPLIT = f'<---WRITE file="a.txt"--->\n{CLOSE}\n<---END--->\n'


def test_a_hunk_is_split_into_its_changes(shell: Shell, terminal: Terminals) -> None:
    shell.write("a.txt", OLD)
    screen = terminal("--no-git", "--confirm", "--color=never", document=SPLIT)
    answers(screen, "s")
    assert "(1/2)" in screen.until(CHOICE)
    answers(screen, "s")
    seen = screen.until(CHOICE)
    assert "(1/3) task 1: WRITE - a.txt (would overwrite, 241 bytes), hunk 1 of 3" in seen
    assert "-line 6" not in seen
    answers(screen, "s")
    assert "this is one change: it cannot be split" in screen.until(CHOICE)
    answers(screen, "n", "y", "n", "y")
    code, seen = screen.end()
    assert code == 0
    assert "(overwritten, 233 bytes, hunk 2 of 3)" in seen
    assert (shell.workspace / "a.txt").read_text() == OLD.replace("line 6\n", "line six\n")


def test_a_hunk_is_edited_and_the_report_and_the_history_say_so(shell: Shell, terminal: Terminals) -> None:
    editor = shell.write("editor", '#!/bin/sh\necho $1 > named; sed -i s/three/drei/ "$1"\n')
    editor.chmod(0o755)
    shell.write("a.txt", OLD)
    settings = ("--record=snapshots", "--color=never", "--summary=llm", "--confirm")
    screen = terminal(*settings, document=SPLIT + WRITE.replace("a.txt", "b.txt"), EDITOR=str(editor))
    answers(screen, "s", "e")
    assert "hunk 1 of 2, edited" in screen.until(CHOICE)
    answers(screen, "e")
    assert "nothing was changed" in screen.until(CHOICE)
    answers(screen, "a", "y")
    code, seen = screen.end()
    assert code == 0
    assert "[task-1] SUCCESS: WRITE - a.txt (overwritten, 240 bytes, edited by the user)" in seen
    assert "The user edited these changes: read the files" in seen
    assert (shell.workspace / "a.txt").read_text() == CLOSE.replace("three", "drei")
    assert (shell.workspace / "named").read_text().endswith("/a.txt\n")
    assert "2 writes, 1 edited by the user" in shell("history").stdout
    assert "overwritten, 240 bytes, edited by the user" in shell("history", "show", "1").stdout


def test_a_new_file_is_edited_before_it_is_written(shell: Shell, terminal: Terminals) -> None:
    editor = shell.write("editor", '#!/bin/sh\nprintf "two\\nlines" > "$1"\n')
    editor.chmod(0o755)
    screen = terminal("--no-git", "--confirm", "--color=never", document=WRITE, EDITOR=str(editor))
    answers(screen, "s", "e", "y", "y")
    code, seen = screen.end()
    assert code == 0
    assert "WRITE - a.txt (created, 10 bytes, edited by the user)" in seen
    assert (shell.workspace / "a.txt").read_text() == "two\nlines\n"


def test_an_edited_document_is_reported_as_edited(shell: Shell, terminal: Terminals) -> None:
    editor = shell.write("editor", '#!/bin/sh\nsed -i s/hi/changed/ "$1"\n')
    editor.chmod(0o755)
    screen = terminal("--no-git", "--confirm", "--summary=llm", document=WRITE, EDITOR=str(editor))
    answers(screen, "e", "y")
    assert "Note: the document was edited by the user before it was run" in screen.end()[1]


def test_keys_search_and_go_to_a_number(shell: Shell, terminal: Terminals) -> None:
    shell.write("a.txt", OLD)
    screen = terminal("--no-git", "--confirm", "--color=never", document=ANSWER)
    answers(screen, "s")

    def ask(key: str, question: str, text: str) -> str:
        answers(screen, key)
        screen.until(question)
        screen.type_until_read(text)
        return screen.until(CHOICE)

    assert "(5/5) task 2.3: RUN" in ask("/", "Search for: ", "PYTEST")
    assert "(2/5) task 1: WRITE - a.txt" in ask("/", "Search for: ", "twenty")
    assert "not found: absent" in ask("/", "Search for: ", "absent")
    assert "(3/5) task 2.1" in ask("g", "Go to (1-5): ", "3")
    assert "not a number from 1 to 5: 6" in ask("g", "Go to (1-5): ", "6")
    answers(screen, "y")
    screen.until("(4/5)")
    assert "(3/5, yes so far)" in ask("g", "Go to (1-5): ", "3")
    answers(screen, "y", "q")  # what was not looked at is left out
    screen.until(KEYS)
    answers(screen, "y")
    assert screen.end()[0] == 0
    assert (shell.workspace / "a.txt").read_text() == OLD
    assert (shell.workspace / "new.txt").read_text() == "one\n"


def test_a_long_hunk_is_shown_whole_and_the_pager_only_on_request(shell: Shell, terminal: Terminals) -> None:
    pager = shell.write("pager", "#!/bin/sh\ncat > paged; echo PAGED\n")
    pager.chmod(0o755)
    document = f'<---WRITE file="b.txt"--->\n{OLD}\n<---END--->\n'
    screen = terminal("--no-git", "--confirm", "--color=never", document=document, PAGER=str(pager))
    answers(screen, "s")
    seen = screen.until(CHOICE)
    assert "PAGED" not in seen
    assert "+line 1\r\n" in seen
    assert "+line 30\r\n" in seen
    answers(screen, "p")
    assert "PAGED" in screen.until(CHOICE)
    assert "+line 30\n" in (shell.workspace / "paged").read_text()


def test_every_key_is_explained(terminal: Terminals) -> None:
    screen = terminal("--no-git", "--confirm", "--color=never", document=WRITE)
    answers(screen, "s", "?")
    seen = screen.until(CHOICE)
    for letter in "ynaqbsep/g?":
        assert f"\r\n{letter}  " in seen
    answers(screen, "x")  # an unknown key explains the others
    assert "carry this out" in screen.until(CHOICE)


def test_keys_that_send_several_bytes_and_enter_answer_nothing(shell: Shell, terminal: Terminals) -> None:
    """The cursor key up sends ESC [ A, and a would mean yes to everything."""
    screen = terminal("--no-git", "--confirm", "--color=never", document=WRITE)
    screen.until("[?] ")
    for keys in ("\x1b[A", "\n", "\x1bOA"):
        screen.type(keys)
    answers(screen, "n")
    assert screen.end()[0] == 1
    assert not (shell.workspace / "a.txt").exists()


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_leaves_the_terminal_as_it_was(terminal: Terminals, name: str) -> None:
    screen = terminal("--no-git", "--confirm", document=WRITE)
    screen.until("[?] ")
    assert not screen.echoes()
    screen.process.send_signal(getattr(signal, name))
    assert screen.process.wait(LONG) in (130, -getattr(signal, name))
    assert screen.echoes()


def test_a_dumb_terminal_is_answered_by_lines(shell: Shell, terminal: Terminals) -> None:
    shell.write("a.txt", OLD)
    screen = terminal("--no-git", "--confirm", document=ANSWER, TERM="dumb")
    for line in ("s", "no", "yes", "q", "y"):
        screen.until("[?] ")
        screen.seen = b""
        screen.type_until_read(line)
    assert screen.end()[0] == 0
    assert (shell.workspace / "a.txt").read_text() == OLD.replace("line 20\n", "line twenty\n")
