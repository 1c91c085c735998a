"""A review in a real browser: looking, choosing, approving, carrying out, undoing."""

# ruff: noqa: D103 (the name of a test says what holds)
from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from tests.review.conftest import CLADA, Tab

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


def test_the_whole_way(review: Start, tab: Tab) -> None:
    """Looking touches nothing; what is chosen is done, live; it is undone; closing the tab ends it."""
    running = review(WHOLE_WAY, {"a.txt": TEXT})
    page = tab.open(running.address)
    assert [card.inner_text() for card in page.query_selector_all(".target")] == ["a.txt", "b.txt"]
    assert "First the file." in page.inner_text(".card:first-child .prose")
    assert "line thirty" in page.inner_text(".card:first-child tr.added >> nth=1")
    assert running.read("a.txt") == TEXT
    page.get_by_label("take write b.txt").uncheck()
    page.get_by_role("button", name="Apply 1 of 2").click()
    page.wait_for_selector("#report:not([hidden])")
    assert page.inner_text("#report-title") == "Done, 1 not chosen"
    assert "[task-2] SKIP: WRITE - not chosen" in page.inner_text("#report-text")
    assert running.read("a.txt") == NEW
    assert not (running.workspace / "b.txt").exists()
    page.get_by_role("button", name="Undo").click()
    page.wait_for_selector("#report-title:has-text('Undone')")
    assert page.inner_text("#status") == "Undone: 1 restored, 0 removed."
    assert running.read("a.txt") == TEXT
    page.close()
    code, out, err = running.end()
    assert (code, err) == (0, "")
    assert out == ""


def test_hunks_are_chosen_one_by_one(review: Start, tab: Tab) -> None:
    running = review(WHOLE_WAY, {"a.txt": TEXT})
    page = tab.open(running.address)
    page.get_by_label("hunk 1 of 2 of a.txt").uncheck()
    assert page.get_by_label("take write a.txt").evaluate("box => box.indeterminate")
    page.get_by_role("button", name="Apply 2 of 2").click()
    page.wait_for_selector("#report-title:has-text('Done')")
    assert running.read("a.txt") == TEXT.replace("line 30\n", "line thirty\n")
    assert "hunk 2 of 2" in page.inner_text("#report-text")
    page.reload()
    page.wait_for_selector("#report-title:has-text('Done')")
    page.wait_for_selector(".hunk")
    assert [page.get_by_label(f"hunk {number} of 2 of a.txt").is_checked() for number in (1, 2)] == [
        False,
        True,
    ]


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


def test_each_command_is_approved_by_itself_and_its_output_is_seen_as_it_comes(
    review: Start, tab: Tab
) -> None:
    running = review(COMMANDS, {"slow.py": SLOW})
    page = tab.open(running.address)
    cards = page.locator(".card")
    assert [cards.nth(number).locator(".take").is_checked() for number in range(3)] == [True, True, True]
    assert [cards.nth(number).locator("fieldset").count() for number in range(3)] == [0, 1, 1]
    assert cards.nth(1).locator(".outcome").inner_text() == "needs your approval"
    assert page.inner_text("#where").endswith("3 operations · 2 commands to approve")
    cards.nth(1).get_by_label("Once").check()
    assert cards.nth(1).locator(".take").is_checked()
    assert cards.nth(1).locator(".outcome").inner_text() == "approved once"
    cards.nth(1).get_by_label("with the network").check()
    assert cards.nth(1).locator(".outcome").inner_text() == "approved once, with the network"
    assert page.inner_text("#where").endswith("3 operations · 1 command to approve")
    page.get_by_role("button", name="Apply 2 of 3").click()
    page.wait_for_selector(".output:has-text('first')")
    assert "running" in cards.nth(1).locator(".outcome").inner_text()
    assert "running run python3 -u slow.py" in page.inner_text("#status")
    running.write("go", "")
    page.wait_for_selector("#report-title:has-text('1 of 3 failed')")
    assert cards.nth(1).locator(".output").inner_text() == "first\nlast"
    assert "exit 0" in cards.nth(1).locator(".outcome").inner_text()
    assert "failed: `python3` is not among the commands" in cards.nth(2).locator(".outcome").inner_text()
    page.reload()
    page.wait_for_selector("#report-title:has-text('1 of 3 failed')")
    assert page.title() == "1 of 3 failed · clada review"
    assert [cards.nth(number).locator(".take").is_checked() for number in range(3)] == [True, True, True]
    assert cards.nth(1).get_by_label("Once").is_checked()
    assert cards.nth(1).get_by_label("with the network").is_checked()
    assert cards.nth(2).get_by_label("Not yet").is_checked()
    assert not (running.workspace / "never").exists()


def test_a_run_is_stopped(review: Start, tab: Tab) -> None:
    running = review("<---RUN--->\nsleep 600\n<---END--->\n" + WHOLE_WAY, {"a.txt": TEXT})
    page = tab.open(running.address)
    page.get_by_label("Once").check()
    page.keyboard.press("a")
    page.wait_for_selector(".running")
    page.get_by_role("button", name="Stop").click()
    page.wait_for_selector("#report:not([hidden])")
    assert "interrupted" in page.inner_text("#report-text")
    assert running.read("a.txt") == TEXT


def test_a_failure_shows_the_nearest_place(review: Start, tab: Tab) -> None:
    answer = '<---SEARCH file="a.py"--->\ndef area(w, h):\n    return w+h\n<---REPLACE--->\nx\n<---END--->\n'
    page = tab.open(review(answer, {"a.py": "# shapes\ndef area(w, h):\n    return w * h\n"}).address)
    assert page.get_by_label("take edit a.py").is_checked()
    shown = page.inner_text(".trouble p.bad")
    assert shown == "found 0 matches, expected 1; closest is lines 2-3: line 3 reads `return w * h`"
    assert "line 3 text" not in page.inner_text(".card")
    assert "return w * h" in page.inner_text(".trouble .removed")
    assert "return w+h" in page.inner_text(".trouble .added")
    page.get_by_role("button", name="Get the report").click()
    page.wait_for_selector("#report-title.bad:has-text('1 of 1 failed')")
    assert page.title() == "1 of 1 failed · clada review"
    assert "ERROR: SEARCH - a.py: match_count_mismatch" in page.inner_text("#report-text")


def test_the_report_on_an_answer_that_was_cut_off_is_copied(review: Start, browser: Any) -> None:
    tab = Tab(browser.new_context(permissions=["clipboard-read", "clipboard-write"]))
    page = tab.open(review('<---WRITE file="a.txt"--->\nhi\n', {}).address)
    page.get_by_role("button", name="Copy for the chat").click()
    page.wait_for_selector("#status:has-text('on the clipboard')")
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert copied.startswith("[task-1] FATAL: PARSE - ")
    assert copied.endswith("Correct the document, and send all of it again.\n")
    tab.context.close()


def test_the_words_before_a_run_are_those_of_a_plan(review: Start, tab: Tab) -> None:
    answer = WHOLE_WAY + "<---RUN--->\nmv a.txt c.txt\n<---END--->\n"
    page = tab.open(review(answer, {"a.txt": TEXT}).address)
    shown = [outcome.inner_text() for outcome in page.locator(".outcome").all()]
    assert [text.partition(",")[0] for text in shown] == ["would overwrite", "would create", "would run"]


def test_the_next_answer_is_pasted(review: Start, tab: Tab) -> None:
    running = review(WHOLE_WAY, {"a.txt": TEXT})
    page = tab.open(running.address)
    page.get_by_role("button", name="Apply 2 of 2").click()
    page.wait_for_selector("#report-title:has-text('Done')")
    page.get_by_role("button", name="Paste the next answer").click()
    page.get_by_role("textbox").fill('<---WRITE file="c.txt"--->\nthird\n<---END--->\n')
    page.get_by_role("button", name="Look at it").click()
    page.wait_for_selector(".target:has-text('c.txt')")
    page.get_by_role("button", name="Apply 1 of 1").click()
    page.wait_for_selector("#report-title:has-text('Done')")
    assert running.read("c.txt") == "third\n"
    page.get_by_role("button", name="Close").click()
    code, out, _err = running.end()
    assert (code, out) == (0, "[task-1] SUCCESS: WRITE - c.txt (created, 6 bytes)\n")


def test_the_report_is_copied_as_a_model_needs_it(review: Start, browser: Any) -> None:
    tab = Tab(browser.new_context(permissions=["clipboard-read", "clipboard-write"]))
    page = tab.open(review(WHOLE_WAY, {"a.txt": TEXT}).address)
    page.get_by_role("button", name="Apply").click()
    page.wait_for_selector("#report-title:has-text('Done')")
    page.get_by_role("button", name="Copy for the chat").click()
    page.wait_for_selector("#status:has-text('on the clipboard')")
    assert page.evaluate("() => navigator.clipboard.readText()") == "All 2 operations were carried out.\n"
    tab.context.close()


def test_the_keyboard_is_enough(review: Start, tab: Tab) -> None:
    running = review(WHOLE_WAY, {"a.txt": TEXT})
    page = tab.open(running.address)
    for key in ("j", "j", "x"):  # leaves out the second
        page.keyboard.press(key)
    page.keyboard.press("s")
    page.wait_for_selector("table.pairs")
    page.keyboard.press("?")
    page.wait_for_selector("#keys[open]")
    page.keyboard.press("Escape")
    page.wait_for_selector("#keys:not([open])", state="attached")
    page.keyboard.press("a")
    page.wait_for_selector("#report-title:has-text('Done')")
    assert running.read("a.txt") == NEW
    assert not (running.workspace / "b.txt").exists()
    page.keyboard.press("u")
    page.wait_for_selector("#report-title:has-text('Undone')")
    assert running.read("a.txt") == TEXT


def test_a_key_right_after_a_dialog_was_closed_is_taken(review: Start, tab: Tab) -> None:
    """The browser leaves the focus in it until it draws again: a key that is quicker comes from there."""
    page = tab.open(review(WHOLE_WAY, {"a.txt": TEXT}).address)
    page.keyboard.press("?")
    page.wait_for_selector("#keys[open]")
    page.evaluate(
        """() => {
          const button = document.querySelector('#keys button');
          button.closest('dialog').close();
          button.dispatchEvent(new KeyboardEvent('keydown', {key: 's', bubbles: true}));
        }"""
    )
    page.wait_for_selector("table.pairs")


NAMELESS = """() => [...document.querySelectorAll('button, input, textarea, article, dialog, [role]')]
  .filter(node => !(node.getAttribute('aria-label') || node.getAttribute('aria-labelledby')
    || node.labels?.length || node.textContent.trim()) && !['presentation', 'status'].includes(node.role))
  .map(node => node.outerHTML)"""


def test_a_screen_reader_finds_names_and_places(review: Start, tab: Tab) -> None:
    page = tab.open(review(WHOLE_WAY + COMMANDS, {"a.txt": TEXT, "slow.py": SLOW}).address)
    page.wait_for_selector(".hunk")
    assert page.evaluate(NAMELESS) == []
    snapshot = page.locator("main").aria_snapshot()
    for line in (
        '- feed "Operations":',
        '- article "1 write a.txt":',
        '- checkbox "take write a.txt" [checked]',
        '- checkbox "hunk 1 of 2 of a.txt" [checked]',
        '- table "Diff of a.txt":',
        '- radio "Once"',
    ):
        assert line in snapshot
    first = page.locator("article").first
    assert (first.get_attribute("aria-posinset"), first.get_attribute("aria-setsize")) == ("1", "5")
    assert page.locator("#status").get_attribute("aria-live") == "polite"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_readable_light_and_dark_and_on_a_phone(review: Start, browser: Any, scheme: str) -> None:
    """Nothing is wider than 400 pixels, and all text stands out from what is behind it."""
    tab = Tab(browser.new_context(viewport={"width": 400, "height": 800}, color_scheme=scheme))
    long = f'<---WRITE file="{"long/" * 30}name.txt"--->\n{"word" * 200}\n<---END--->\n'
    page = tab.open(review(WHOLE_WAY + COMMANDS + long, {"a.txt": TEXT, "slow.py": SLOW}).address)
    page.wait_for_selector(".hunk")
    assert page.evaluate("() => document.documentElement.scrollWidth") == 400
    # There is no room for two columns: they are not offered, and come when there is.
    assert not page.locator("#split").is_visible()
    page.keyboard.press("s")
    page.set_viewport_size({"width": 900, "height": 800})
    assert page.locator("#split").get_attribute("aria-pressed") == "false"
    page.keyboard.press("s")
    page.wait_for_selector("table.pairs")
    page.set_viewport_size({"width": 400, "height": 800})
    page.wait_for_selector("table.pairs", state="detached")
    light, dark = page.evaluate(CONTRAST)
    assert (light < dark) == (scheme == "light")
    assert page.evaluate(FAINT) == []
    tab.context.close()


LUMINANCE = """
const luminance = colour => {
  const [r, g, b] = colour.match(/[\\d.]+/g).map(Number).map(value => value / 255)
    .map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};"""
CONTRAST = f"""() => {{ {LUMINANCE}
  const style = getComputedStyle(document.body);
  return [luminance(style.color), luminance(style.backgroundColor)]; }}"""
# What a person can read has a contrast of 4.5 with what is behind it (WCAG 2.2, AA).
FAINT = f"""() => {{ {LUMINANCE}
  const behind = node => {{
    const colour = getComputedStyle(node).backgroundColor;
    return /, 0\\)$/.test(colour) && node.parentElement ? behind(node.parentElement) : colour;
  }};
  const faint = new Set();
  for (const node of document.querySelectorAll('body *:not(script):not(style)')) {{
    if (![...node.childNodes].some(child => child.nodeType === 3 && child.data.trim())) continue;
    if (!node.offsetParent || node.disabled || node.closest('.off')) continue;
    const [a, b] = [getComputedStyle(node).color, behind(node)].map(luminance).sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) faint.add(node.outerHTML);
  }}
  return [...faint]; }}"""

MARKUP = "</pre></script><script>alert(1)</script><img src=x onerror=alert(2)>'\"&lt;{{data}}"
INVISIBLE = "a\u202etxt.exe\u200b\u00a0"


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
    assert page.locator(".card").count() == len(tasks)
    assert MARKUP in page.inner_text(".card:first-child .prose")
    assert MARKUP in page.inner_text("#closing")
    assert page.inner_text(".card:nth-child(5) .command pre").startswith("python3 '</pre></script>")
    assert "U+0430" in page.inner_text(".card:nth-child(5) .command")
    shown = page.inner_text("body")
    assert "\u202e" not in shown
    assert "⟨U+202E⟩txt.exe⟨U+200B⟩⟨U+00A0⟩" in shown
    page.get_by_role("button", name="Apply").click()
    page.wait_for_selector("#report:not([hidden])")
    assert MARKUP.replace("'", "") in page.inner_text(".card:nth-child(4) .output")
    # Nothing was made of it: no element that the page does not make itself, and nothing was loaded.
    assert page.evaluate("() => document.querySelectorAll('img, iframe, object, embed, form, a').length") == 0
    assert page.evaluate("() => document.scripts.length") == 2
    assert all(url.startswith((running.address, "data:,")) for url in tab.requests)


LONG_TASKS = """
window.longest = 0;
new PerformanceObserver(list => {
  for (const entry of list.getEntries()) window.longest = Math.max(window.longest, entry.duration);
}).observe({type: 'longtask', buffered: true});
"""


def test_two_thousand_operations_are_scrolled(review: Start, tab: Tab) -> None:
    """What is near is rendered, the rest is not; no work takes long. A busy machine has three tries."""
    lines = "\n".join(f"    value_{number} = compute({number}, 'text')" for number in range(8))
    writes = [
        f'Number {number}.\n<---WRITE file="f{number}.py"--->\n{lines}\n<---END--->\n'
        for number in range(2000)
    ]
    running = review("".join(writes), flags=("--no-git",))
    tab.page.add_init_script(LONG_TASKS)
    page = tab.open(running.address)
    assert page.locator("#where").inner_text().endswith("2,000 operations")
    longest = []
    for _ in range(3):
        page.evaluate("() => { scrollTo(0, 0); window.longest = 0; }")
        page.mouse.move(600, 400)
        for _ in range(60):
            page.mouse.wheel(0, 3000)
            page.wait_for_timeout(16)
        longest.append(page.evaluate("() => window.longest"))
        if longest[-1] <= 200:
            break
    assert min(longest) <= 200, longest
    while not page.locator(".card[data-index='1999'] .hunk").count():
        page.keyboard.press("End")
        page.wait_for_timeout(200)
    assert page.locator(".card").count() <= 200
    page.locator(".card[data-index='1999'] .take").uncheck()
    page.get_by_role("button", name="Apply 1999 of 2000").click()
    page.wait_for_selector("#report-title:has-text('Done')")
    assert len(list(running.workspace.glob("f*.py"))) == 1999


def test_a_plan_is_one_file_that_loads_nothing(tmp_path: Path, tab: Tab) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "answer.md").write_text(WHOLE_WAY + COMMANDS + MARKUP)
    flags = ("plan", "--no-git", "--html", "plan.html", "answer.md")
    done = subprocess.run([*CLADA, *flags], cwd=tmp_path, capture_output=True, check=False, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "plan.html: 5 operations\n", "")
    page = tab.open((tmp_path / "plan.html").as_uri())
    page.wait_for_selector(".hunk")
    assert "line thirty" in page.inner_text(".card:first-child")
    assert page.locator(".take:visible, footer:visible, #next:visible").count() == 0
    page.get_by_role("button", name="Side by side").click()
    assert page.locator("table.pairs").count() == 3
    assert [url for url in tab.requests if not url.startswith(("file:", "data:,"))] == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "answer.md", "plan.html"]
