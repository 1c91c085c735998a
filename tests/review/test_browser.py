"""A review in a real browser: looking, choosing, approving, carrying out, undoing."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import re
import signal
import subprocess
import zlib
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.conftest import CLADA
from tests.review.conftest import Tab
from tests.waiting import eventually
from tools.benchmarks.measuring import PACKAGES

from clada.review.markup import MINUS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.review.conftest import Review

    Start = Callable[..., Review]

LINES = [f"line {number}" for number in range(1, 41)]
TEXT = "\n".join(LINES) + "\n"
NEW = TEXT.replace("line 3\n", "line three\n").replace("line 30\n", "line thirty\n")
WHOLE_WAY = f"""\
First the file.

<---WRITE file="a.txt"--->
{NEW}
<---END--->
Then another:
<---WRITE file="b.txt"--->
new
<---END--->
"""
COMMANDS = """\
<---RUN--->
ls
<---END--->
<---RUN--->
python3 -u slow.py
<---END--->
<---RUN--->
python3 -c 'open("never", "w")'
<---END--->
"""
SLOW = """\
import os, time
print("first", flush=True)
while not os.path.exists("go"):
    time.sleep(0.05)
print("last")
"""
slow = pytest.mark.slow


def saved(page: Any, action: Callable[[], object]) -> None:
    """Do something, and wait until the server has kept what is chosen."""
    with page.expect_response(lambda response: response.url.endswith("/choose")):
        action()


def test_the_whole_way(review: Start, tab: Tab) -> None:
    """Looking touches nothing; what is chosen is done, live; it is undone, and the page shows that."""
    running = review(WHOLE_WAY, {"a.txt": TEXT})
    page = tab.open(running.address)
    assert page.title() == "workspace · clada review"
    assert [card.inner_text() for card in page.query_selector_all(".card h2")] == ["a.txt", "b.txt"]
    assert page.inner_text("#summary").split() == f"2 operations in 2 files +3 {MINUS}2".split()
    assert "First the file." in page.inner_text(".prose >> nth=0")
    assert "thirty" in page.inner_text("tr.added mark >> nth=1")
    assert running.read("a.txt") == TEXT
    page.get_by_label("take write b.txt").uncheck()
    page.get_by_role("button", name="Apply 1 of 2").click()
    page.wait_for_selector("#report:not([hidden])")
    assert page.inner_text("#report-title") == "Done, 1 not chosen"
    assert page.title() == "✓ Done, 1 not chosen · workspace · clada review"
    assert "[task-2] SKIP: WRITE - not chosen" in page.text_content("#report-text")
    assert running.read("a.txt") == NEW
    assert not (running.workspace / "b.txt").exists()
    page.get_by_role("button", name="Undo").click()
    page.wait_for_selector(".message:has-text('Undone: restored a.txt.')")
    assert running.read("a.txt") == TEXT
    assert page.locator("#report").is_hidden()
    assert not page.get_by_label("take write b.txt").is_checked()
    page.get_by_role("button", name="Apply 1 of 2").click()
    page.wait_for_selector("#report:not([hidden])")
    page.close()
    code, out, _err = running.end()  # nothing is left to choose: it ends with its page
    assert (code, out.count("SUCCESS")) == (0, 1)


@slow
def test_hunks_are_chosen_one_by_one(review: Start, tab: Tab) -> None:
    running = review(WHOLE_WAY, {"a.txt": TEXT})
    page = tab.open(running.address)
    page.get_by_label("hunk 1 of 2 of a.txt", exact=True).uncheck()
    assert page.get_by_label("take write a.txt").evaluate("box => box.indeterminate")
    page.get_by_role("button", name="Apply 2 of 2").click()
    page.wait_for_selector("#report-title:has-text('Done')")
    assert running.read("a.txt") == TEXT.replace("line 30\n", "line thirty\n")
    assert "hunk 2 of 2" in page.text_content("#report-text")
    page.reload()
    page.wait_for_selector("#report-title:has-text('Done')")
    hunks = [page.get_by_label(f"hunk {number} of 2 of a.txt", exact=True) for number in (1, 2)]
    assert [hunk.is_checked() for hunk in hunks] == [False, True]


@slow
def test_choices_survive_a_reload_a_look_again_and_a_closed_tab(review: Start, context: Any) -> None:
    running = review(WHOLE_WAY + COMMANDS, {"a.txt": TEXT, "slow.py": SLOW})
    tab = Tab(context)
    page = tab.open(running.address)
    saved(page, lambda: page.get_by_label("hunk 1 of 2 of a.txt", exact=True).uncheck())
    saved(page, lambda: page.get_by_label("take write b.txt").uncheck())
    page.get_by_label("note on task 2", exact=True).click()
    saved(page, lambda: page.keyboard.type("there is one"))
    saved(page, page.locator("#op-3").get_by_label("Once").check)
    saved(page, page.locator("#file-1 input.viewed").check)

    def is_as_chosen() -> bool:
        page.wait_for_selector("#apply:has-text('Apply 3 of 5')")
        return (
            not page.get_by_label("hunk 1 of 2 of a.txt", exact=True).is_checked()
            and not page.get_by_label("take write b.txt").is_checked()
            and page.get_by_label("note on task 2, for the model").input_value() == "there is one"
            and page.locator("#op-3").get_by_label("Once").is_checked()
            and page.locator("#file-1 input.viewed").is_checked()
            and page.locator("#op-1").is_hidden()
        )

    page.reload()
    assert is_as_chosen()
    running.write("b.txt", "another\n")  # which makes what is shown out of date
    page.get_by_role("button", name="Apply 3 of 5").click()
    page.get_by_role("button", name="Apply and run them").click()
    page.wait_for_selector(".message.bad:has-text('changed since this was shown: b.txt')")
    page.get_by_role("button", name="Look again").last.click()
    page.wait_for_selector("body[data-version='2']")
    assert is_as_chosen()
    page.close()
    page = Tab(context).open(running.address)
    assert is_as_chosen()
    page.close()


@slow
def test_each_command_is_approved_by_itself_and_its_output_is_seen_as_it_comes(
    review: Start, tab: Tab
) -> None:
    running = review(COMMANDS, {"slow.py": SLOW})
    page = tab.open(running.address)
    ops = page.locator(".op")
    assert [ops.nth(number).locator(".take").is_checked() for number in range(3)] == [True, True, True]
    assert [ops.nth(number).locator("fieldset").count() for number in range(3)] == [0, 1, 1]
    assert ops.nth(1).locator(".outcome").inner_text() == "needs your approval"
    assert "2 commands need you" in page.inner_text("#summary")
    ops.nth(1).get_by_label("Once").check()
    ops.nth(1).get_by_label("with the network").check()
    assert ops.nth(1).locator(".outcome").inner_text() == "approved once, with the network"
    page.keyboard.press("a")  # asks, and runs nothing
    page.wait_for_selector("#confirm[open]")
    assert page.inner_text("#commands").split("\n") == ["ls", "python3 -u slow.py"]
    assert page.inner_text("#unapproved") == "1 more is not approved, and will be reported as refused."
    page.keyboard.press("Escape")
    assert ops.nth(0).locator(".output").is_hidden()
    page.get_by_role("button", name="Apply 2 of 3").click()
    page.get_by_role("button", name="Apply and run them").click()
    page.wait_for_selector("#op-1 .output:has-text('first')")
    page.wait_for_selector("#op-1.running .outcome:has-text('running, 1 s')")
    assert "now: run python3 -u slow.py" in page.inner_text("#status")
    assert page.title().startswith("▶ 1 of 3 · ")
    running.write("go", "")
    page.wait_for_selector("#report-title:has-text('1 of 3 failed')")
    assert page.title() == "✗ 1 of 3 failed · workspace · clada review"
    assert page.locator("#failures a").count() == 1
    assert ops.nth(1).locator(".output").inner_text() == "first\nlast\n"
    assert "exit 0" in ops.nth(1).locator(".outcome").inner_text()
    assert "failed: needs approval" in ops.nth(2).locator(".outcome").inner_text()
    page.reload()
    page.wait_for_selector("#report-title:has-text('1 of 3 failed')")
    assert ops.nth(1).get_by_label("Once").is_checked()
    assert ops.nth(1).get_by_label("with the network").is_checked()
    assert ops.nth(2).get_by_label("Not yet").is_checked()
    assert not (running.workspace / "never").exists()


@slow
def test_select_none_takes_commands_out_too(review: Start, tab: Tab) -> None:
    page = tab.open(review(WHOLE_WAY + COMMANDS, {"a.txt": TEXT, "slow.py": SLOW}).address)
    page.locator("#op-3").get_by_label("Once").check()
    page.get_by_role("button", name="Select none").click()
    assert page.locator(".take:checked").count() == 0
    assert page.locator("#op-3").get_by_label("Not yet").is_checked()
    assert page.locator("#apply").is_disabled()
    page.get_by_role("button", name="Select all").click()
    assert page.inner_text("#apply") == "Apply 3 of 5"


@slow
def test_a_run_is_stopped(review: Start, tab: Tab) -> None:
    running = review("<---RUN--->\nsleep 600\n<---END--->\n" + WHOLE_WAY, {"a.txt": TEXT})
    page = tab.open(running.address)
    page.get_by_label("Once").check()
    page.keyboard.press("a")
    page.get_by_role("button", name="Apply and run them").click()
    page.wait_for_selector(".running")
    page.get_by_role("button", name="Stop").click()
    page.wait_for_selector("#report:not([hidden])")
    assert "interrupted" in page.text_content("#report-text")
    assert running.read("a.txt") == TEXT


NEARLY = """\
<---SEARCH file="a.py"--->
def area(w, h):
    return w+h
<---REPLACE--->
def area(w, h):
    return w @ h
<---END--->
"""
AREA = "# shapes\ndef area(w, h):\n    return w * h\n"


@slow
def test_a_failure_is_reported_as_one(review: Start, tab: Tab) -> None:
    page = tab.open(review(NEARLY, {"a.py": AREA}).address)
    shown = page.inner_text(".trouble p.bad")
    assert shown == "found 0 matches, expected 1; closest is lines 2-3: line 3 reads `return w * h`"
    assert "return w * h" in page.inner_text(".trouble .added")
    assert "return w+h" in page.inner_text(".trouble .removed")
    page.get_by_role("button", name="Get the report").click()
    page.wait_for_selector("#report.bad #report-title:has-text('1 of 1 failed')")
    assert "ERROR: SEARCH - a.py: match_count_mismatch" in page.text_content("#report-text")


@slow
def test_a_place_is_chosen_and_its_text_edited(review: Start, tab: Tab) -> None:
    running = review(NEARLY, {"a.py": AREA})
    page = tab.open(running.address)
    page.get_by_role("button", name="Use lines 2–3").click()  # noqa: RUF001 (as typographers do)
    page.wait_for_selector(".op:not([data-failing])")
    page.get_by_label("edit hunk 1 of 1 of a.py").click()
    text = page.locator("#editor[open] #edited")
    text.fill(text.input_value().replace("w @ h", "h * w"))
    page.get_by_role("button", name="Keep this text").click()
    page.wait_for_selector(".chip:has-text('edited by you')")
    page.get_by_role("button", name="Apply 1 of 1").click()
    page.wait_for_selector("#report-title:has-text('Done')")
    assert running.read("a.py") == AREA.replace("w * h", "h * w")
    said = page.text_content("#report-text")
    assert "lines 2-3 chosen by the user, edited by the user" in said


@slow
def test_the_tree_finds_and_leads(review: Start, tab: Tab) -> None:
    page = tab.open(review(WHOLE_WAY + COMMANDS + NEARLY, {"a.txt": TEXT, "a.py": AREA}).address)
    entries = page.locator(".entry:visible")
    assert entries.count() == 6
    page.keyboard.press("/")
    page.keyboard.type("a.")
    assert [each.locator(".file").text_content() for each in entries.all()] == ["a.txt", "a.py"]
    assert page.inner_text("#found") == "2 of 6"
    page.locator("#search").fill("")
    page.get_by_role("button", name="Failing").click()
    entries.locator("a").click()
    assert page.evaluate("() => document.activeElement.id") == "op-5"
    page.get_by_role("link", name="2 commands need you").click()
    assert page.evaluate("() => document.activeElement.id") == "op-3"
    page.keyboard.press("f")
    assert page.evaluate("() => document.activeElement.id") == "op-5"


@slow
def test_the_tree_has_folders_which_fold_and_are_hidden_when_nothing_in_them_is_found(
    review: Start, tab: Tab
) -> None:
    paths = ("src/app/main.py", "src/app/views/list.py", "src/lib.py", "docs/en/a.md", "top.md")
    answer = "".join(f'<---WRITE file="{path}"--->\nx\n<---END--->\n' for path in paths)
    page = tab.open(review(answer, {}).address)
    folders = page.locator(".folder:visible > details > summary")
    assert folders.all_inner_texts() == ["src/", "app/", "views/", "docs/en/"]
    assert page.locator(".entry .file").all_text_contents() == [
        "main.py", "list.py", "lib.py", "a.md", "top.md",
    ]  # fmt: skip
    folders.nth(1).click()
    assert page.locator(".entry:visible .file").all_text_contents() == ["lib.py", "a.md", "top.md"]
    folders.nth(1).click()
    page.locator("#search").fill("app/ list")
    assert folders.all_inner_texts() == ["src/", "app/", "views/"]
    assert page.locator(".entry:visible .file").all_text_contents() == ["list.py"]
    page.locator(".entry:visible a").click()
    assert page.evaluate("() => document.activeElement.id") == "op-1"


@slow
def test_one_tab_shows_each_answer_that_is_saved(review: Start, tab: Tab) -> None:
    """`clada watch --review`: the next answer is shown when the first is done, and offered before that."""

    def answer(name: str) -> str:
        return f'<---WRITE file="{name}.txt"--->\n{name}\n<---END--->\n'

    watch = review("", command=("watch", "--review", "--settle=100ms"))
    saved_answer = watch.top / "answer.md"
    page = tab.open(watch.address)
    assert page.inner_text(".empty h2") == "Paste an answer to begin"
    for name in ("first", "second"):
        saved_answer.write_text(answer(name))
        page.wait_for_selector(f".card h2:has-text('{name}.txt')")
        page.get_by_role("button", name="Apply 1 of 1").click()
        page.wait_for_selector("#report-title:has-text('Done')")
        assert watch.read(f"{name}.txt") == f"{name}\n"
        report = watch.top / "answer.report.md"
        assert eventually(report.exists)
        assert report.read_text() == "The operation was carried out.\n"
        report.unlink()
    saved_answer.write_text(answer("third"))
    page.wait_for_selector(".card h2:has-text('third.txt')")
    saved_answer.write_text(answer("fourth"))
    page.wait_for_selector("#arrived:has-text('An answer has arrived: ')")
    assert page.inner_text(".card h2") == "third.txt"  # what is being looked at stays
    assert page.title().startswith("● 1 new")
    page.get_by_role("button", name="Show it").click()
    page.wait_for_selector(".card h2:has-text('fourth.txt')")
    page.close()
    watch.process.send_signal(signal.SIGINT)
    code, _out, err = watch.end()
    assert code == 130
    assert "answer.md was saved" in err
    assert not (watch.workspace / "third.txt").exists()


@slow
def test_more_of_a_file_is_shown_and_white_space_hidden(review: Start, tab: Tab) -> None:
    changed = TEXT.replace("line 20\n", "line  20\n").replace("line 30\n", "line thirty\n")
    page = tab.open(review(f'<---WRITE file="a.txt"--->\n{changed}<---END--->\n', {"a.txt": TEXT}).address)
    page.get_by_role("button", name="16 lines above").click()
    page.wait_for_selector("td.code:text-is('line 1')")
    assert page.locator("tr.added:visible").count() == 2
    page.get_by_role("button", name="Hide whitespace").click()
    assert page.locator("tr.removed:visible").count() == 1
    page.keyboard.press("s")
    page.wait_for_selector("table.pairs")
    page.keyboard.press("s")
    page.wait_for_selector("table.pairs", state="detached")


@slow
def test_the_report_on_an_answer_that_was_cut_off_is_copied(review: Start, browser: Any) -> None:
    tab = Tab(browser.new_context(permissions=["clipboard-read", "clipboard-write"]))
    page = tab.open(review('<---WRITE file="a.txt"--->\nhi\n', {}).address)
    page.get_by_role("button", name="Copy for the chat").first.click()
    page.wait_for_selector("#status:has-text('on the clipboard')")
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert copied.startswith("[task-1] FATAL: PARSE - ")
    assert copied.endswith("Correct the document, and send all of it again.\n")
    tab.context.close()


@slow
def test_the_next_answer_is_pasted(review: Start, tab: Tab) -> None:
    running = review("", {})
    page = tab.open(running.address)
    assert page.inner_text(".empty h2") == "Paste an answer to begin"
    page.keyboard.press("p")
    page.locator("#answer").fill('<---WRITE file="c.txt"--->\nthird\n<---END--->\n')
    page.get_by_role("button", name="Look at it").click()
    page.wait_for_selector(".card h2:has-text('c.txt')")
    page.get_by_role("button", name="Apply 1 of 1").click()
    page.wait_for_selector("#report-title:has-text('Done')")
    assert running.read("c.txt") == "third\n"
    page.get_by_role("button", name="Close").click()
    code, out, _err = running.end()
    assert (code, out) == (0, "[task-1] SUCCESS: WRITE - c.txt (created, 6 bytes)\n")


@slow
def test_the_report_is_copied_as_a_model_needs_it(review: Start, browser: Any) -> None:
    tab = Tab(browser.new_context(permissions=["clipboard-read", "clipboard-write"]))
    page = tab.open(review(WHOLE_WAY, {"a.txt": TEXT}).address)
    page.get_by_label("note on task 1", exact=True).click()
    page.keyboard.type("well done")
    page.get_by_role("button", name="Apply").click()
    page.wait_for_selector("#report-title:has-text('Done')")
    page.keyboard.press("c")
    page.wait_for_selector("#status:has-text('on the clipboard')")
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert copied == (
        "All 2 operations were carried out.\n\nThe user says:\n- on task 1 (write a.txt): well done\n"
    )
    tab.context.close()


@slow
def test_the_keyboard_is_enough(review: Start, tab: Tab) -> None:
    running = review(WHOLE_WAY, {"a.txt": TEXT})
    page = tab.open(running.address)
    for key in ("j", "j", "x", "v", "n"):  # leaves out the second, and says why
        page.keyboard.press(key)
    page.keyboard.type("not ax")  # keys of a text are no shortcuts
    assert page.get_by_label("note on task 2, for the model").input_value() == "not ax"
    page.get_by_role("heading", name="workspace").click()
    page.keyboard.press("?")
    page.wait_for_selector("#keys[open]")
    page.get_by_label("Use these keys").uncheck()
    page.keyboard.press("Escape")
    page.wait_for_selector("#keys:not([open])", state="attached")
    page.keyboard.press("a")
    assert page.locator("#report").is_hidden()
    page.get_by_role("button", name="Keys").click()
    page.get_by_label("Use these keys").check()
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    page.wait_for_selector("#report-title:has-text('Done')")
    assert running.read("a.txt") == NEW
    assert not (running.workspace / "b.txt").exists()
    page.keyboard.press("u")
    page.wait_for_selector(".message:has-text('Undone')")
    assert running.read("a.txt") == TEXT


@slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(review: Start, browser: Any, scheme: str) -> None:
    """Before and after a run, with a dialog, with failures, commands, deletions and an empty page."""
    axe = PACKAGES / "axe-core" / "axe.min.js"
    if not axe.exists():
        pytest.skip("axe-core is not in build/npm: .ci/run installs requirements/npm.txt there")
    tab = Tab(
        browser.new_context(color_scheme=scheme, bypass_csp=True, viewport={"width": 1300, "height": 900})
    )
    remove = "<---RUN--->\nrm old.py\n<---END--->\n<---RUN--->\nmv b.py c.py\n<---END--->\n"
    files = {"a.txt": TEXT, "a.py": AREA, "old.py": AREA, "b.py": "b\n"}
    page = tab.open(review(f"# Title\n\n- list\n\n{WHOLE_WAY}{COMMANDS}{NEARLY}{remove}", files).address)
    page.add_script_tag(path=str(axe))

    def findings() -> list[str]:
        result = page.evaluate("() => axe.run()")
        return [f"{each['id']}: {node['html']}" for each in result["violations"] for node in each["nodes"]]

    page.add_style_tag(content=".chunk, .card, .rows { content-visibility: visible !important; }")
    assert findings() == []
    page.get_by_label("take write b.txt").uncheck()
    page.get_by_label("note on task 2", exact=True).click()
    page.get_by_role("button", name="Side by side").click()
    assert findings() == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Apply").click()
    page.wait_for_selector("#confirm[open]")
    assert findings() == []
    page.get_by_role("button", name="Apply and run them").click()
    page.wait_for_selector("#report:not([hidden])")
    assert findings() == []
    page.get_by_role("button", name="Paste an answer").click()
    page.locator("#answer").fill("Just prose.")
    page.get_by_role("button", name="Look at it").click()
    page.wait_for_selector("body[data-version='2']")
    page.add_script_tag(path=str(axe))
    assert findings() == []
    tab.context.close()


@slow
@pytest.mark.parametrize("width", [400, 800, 3840])
def test_it_fits_from_a_phone_to_4k(review: Start, browser: Any, width: int) -> None:
    """Nothing is wider than the page; two columns are offered where there is room for them."""
    tab = Tab(browser.new_context(viewport={"width": width, "height": 800}))
    long = f'<---WRITE file="{"long/" * 30}name.txt"--->\n{"word" * 200}\n<---END--->\n'
    page = tab.open(review(WHOLE_WAY + COMMANDS + NEARLY + long, {"a.txt": TEXT, "a.py": AREA}).address)
    page.wait_for_selector(".hunk")
    assert page.evaluate("() => document.documentElement.scrollWidth") == width
    assert page.locator("#split").is_visible() == (width > 700)
    assert page.locator("#tree").is_visible() == (width > 900)
    if width <= 900:
        page.get_by_role("button", name="Files").click()
        page.wait_for_selector("#tree", state="visible")
    tab.context.close()


MARKUP = "</pre></script><script>alert(1)</script><img src=x onerror=alert(2)>'\"&lt;{{data}}"
INVISIBLE = "a\u202etxt.exe\u200b\u00a0"


@slow
def test_a_hostile_answer_stays_text(review: Start, tab: Tab) -> None:
    """Markup in prose, paths, contents, commands, messages and output is shown, and none of it acts."""
    tasks = [
        {"action": "write", "path": MARKUP.replace("/", "_"), "content": f"{MARKUP}\n{INVISIBLE}"},
        {"action": "edit", "path": "a.html", "search": MARKUP, "replace": f"{MARKUP}!"},
        {"action": "edit", "path": "a.html", "search": f"{MARKUP}nowhere", "replace": MARKUP},
        {"action": "run", "command": f"echo '{MARKUP.replace(chr(39), '')}{INVISIBLE}'"},
        {"action": "run", "command": f"python3 '{MARKUP.replace(chr(39), '')}' \u0430"},
        {"action": "remove", "path": f"../{MARKUP}"},
    ]
    answer = f"{MARKUP}\n```json\n" + "\n```\nthen\n```json\n".join(
        json.dumps({"tasks": [task]}, ensure_ascii=False) for task in tasks
    )
    running = review(f"{answer}\n```\n{MARKUP}\n", {"a.html": f"{MARKUP}\n{MARKUP[:-1]}\n"})
    page = tab.open(running.address)
    page.wait_for_selector(".hunk")
    assert page.locator(".op").count() == len(tasks)
    assert MARKUP in page.inner_text(".prose >> nth=0")
    assert MARKUP in page.inner_text(".prose >> nth=-1")
    assert page.inner_text("#op-4 .command-text pre").startswith("python3 '</pre></script>")
    assert "U+0430" in page.inner_text("#op-4 .command-text")
    shown = page.inner_text("body")
    assert "\u202e" not in shown
    assert "⟨U+202E⟩txt.exe⟨U+200B⟩⟨U+00A0⟩" in shown.replace("\n", "") or "⟨U+202E⟩" in shown
    page.get_by_role("button", name="Apply").click()
    page.wait_for_selector("#report:not([hidden])")
    assert MARKUP.replace("'", "") in page.inner_text("#op-3 .output")
    # Nothing was made of it: no element that the page does not make itself, and nothing was loaded.
    assert page.evaluate("() => document.querySelectorAll('img, iframe, object, embed, form').length") == 0
    assert page.evaluate("() => [...document.links].every(link => link.getAttribute('href')[0] === '#')")
    assert page.evaluate("() => document.scripts.length") == 1
    assert all(url.startswith((running.address, "data:,")) for url in tab.requests)


FIRST_CARDS = """
window.firstCards = 0;
new MutationObserver((_, observer) => {
  if (!document.querySelector('.card')) return;
  window.firstCards = document.querySelectorAll('.card').length;
  observer.disconnect();
}).observe(document, {childList: true, subtree: true});
"""


@slow
def test_two_thousand_operations_are_shown_as_they_come(review: Start, tab: Tab) -> None:
    """The first cards are shown while the others are still being sent, and all are there in the end."""
    running = review(_many_writes(), flags=("--no-git",))
    page = tab.page
    page.add_init_script(FIRST_CARDS)
    _scroll_and_search(tab, running.address)
    assert 0 < page.evaluate("() => window.firstCards") < 1000
    assert page.evaluate("() => document.body.textContent.includes('Number 1999.')")
    page.locator(".entry:visible a").click()
    page.get_by_label("take write f1999.py").uncheck()
    page.get_by_role("button", name="Apply 1999 of 2000").click()
    page.wait_for_selector("#report-title:has-text('Done')")
    assert len(list(running.workspace.glob("f*.py"))) == 1999


@slow
def test_two_thousand_operations_have_no_long_task(
    review: Start, browser: Any, tab: Tab, tmp_path: Path
) -> None:
    """Nothing that a person does on the page takes 200 ms of the processor at once."""
    running = review(_many_writes(), flags=("--no-git",))
    page = tab.page
    browser.start_tracing(page=page, path=tmp_path / "trace.json", categories=["toplevel"])
    _scroll_and_search(tab, running.address)
    for button in ("none", "all", "split", "blanks"):
        page.evaluate("id => document.getElementById(id).click()", button)
        page.evaluate("() => new Promise(requestAnimationFrame)")
    page.keyboard.press("Tab")  # out of the search
    for key in "jjxvno":
        page.keyboard.press(key)
    page.evaluate("() => new Promise(requestAnimationFrame)")
    browser.stop_tracing()
    events = json.loads((tmp_path / "trace.json").read_bytes())["traceEvents"]
    tasks = [each["tdur"] for each in events if each["name"].endswith("RunTask") and "tdur" in each]
    assert len(tasks) > 1000
    assert max(tasks) <= 200_000  # microseconds


def _many_writes() -> str:
    lines = "\n".join(f"    value_{number} = compute({number}, 'text')" for number in range(8))
    return "".join(
        f'Number {number}.\n<---WRITE file="f{number}.py"--->\n{lines}\n<---END--->\n'
        for number in range(2000)
    )


def _scroll_and_search(tab: Tab, address: str) -> None:
    """Do so without selectors of Playwright, which walk over all elements."""
    tab.page.goto(address)
    tab.page.wait_for_function("() => document.getElementById('apply').textContent === 'Apply 2000 of 2000'")
    tab.page.mouse.move(800, 400)
    for _ in range(30):
        tab.page.mouse.wheel(0, 3000)
        tab.page.evaluate("() => new Promise(requestAnimationFrame)")
    tab.page.evaluate("() => document.getElementById('search').focus()")
    tab.page.keyboard.insert_text("f1999")


def test_a_plan_is_one_file_that_loads_nothing(tmp_path: Path, tab: Tab) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "answer.md").write_text(WHOLE_WAY + COMMANDS + MARKUP)
    flags = ("plan", "--no-git", "--html", "plan.html", "answer.md")
    done = subprocess.run([*CLADA, *flags], cwd=tmp_path, capture_output=True, check=False, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "plan.html: 5 operations\n", "")
    page = tab.open((tmp_path / "plan.html").as_uri())
    assert page.title().startswith(f"{tmp_path.name} · clada plan of 20")
    assert "thirty" in page.inner_text(".card >> nth=0")
    assert page.locator(".take:visible, footer:visible, #next:visible, .edit:visible").count() == 0
    page.keyboard.press("a")
    page.keyboard.press("j")
    assert page.evaluate("() => document.activeElement.id") == "op-0"
    page.get_by_role("button", name="Side by side").click()
    assert eventually(lambda: page.locator("table.pairs").count() == 3)
    assert [url for url in tab.requests if not url.startswith(("file:", "data:,"))] == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "answer.md", "plan.html"]


def test_a_plan_is_printed_whole_and_in_colour(tmp_path: Path, tab: Tab) -> None:
    """Cards that are far from the window are on paper, too; what only a screen needs is not."""
    pieces = [f'<---WRITE file="f{number}.py"--->\nmark = {number}\n<---END--->\n' for number in range(60)]
    (tmp_path / "f0.py").write_text("mark = 'old'\n")
    (tmp_path / "answer.md").write_text("".join(pieces))
    flags = ("plan", "--no-git", "--html", "plan.html", "answer.md")
    subprocess.run([*CLADA, *flags], cwd=tmp_path, capture_output=True, check=True)
    page = tab.open((tmp_path / "plan.html").as_uri())
    page.emulate_media(media="print")
    for selector in ("#tree", "#tools", "footer", ".fold"):
        assert page.locator(f"{selector}:visible").count() == 0, selector
    page.pdf(path=tmp_path / "plan.pdf", print_background=False)  # the default of people's browsers
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", (tmp_path / "plan.pdf").read_bytes(), re.DOTALL)
    drawn = b"".join(zlib.decompress(each) for each in streams if each.startswith(b"x"))
    added, removed = b" .898 .9647 .9137 rg", b" .9922 .9255 .9255 rg"  # the colours of review.css
    assert drawn.count(added) >= len(pieces)
    assert removed in drawn
