"""Merging: edits that fit a version that the model saw, and not the file as it is now."""

# ruff: noqa: D103 (the name of a test says what holds)

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from applybench.fetch import fetch
from applybench.hunks import Changes, apply_hunks, join, split
from applybench.tasks import read_release

import clada
from clada.world.merge import merge
from clada.world.record.seen import remember
from clada.world.record.store import find_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clada.report import Report

ROOT = Path(__file__).parents[2]
LINES = [f"line {number}" for number in range(1, 31)]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a directory with a file of 30 lines, which a model was shown."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    inside = tmp_path / "in"
    inside.mkdir()
    write(inside, LINES)
    clada.pack(["a.txt"], workspace=inside)
    return inside


def write(workspace: Path, lines: Sequence[str]) -> None:
    (workspace / "a.txt").write_text("".join(f"{line}\n" for line in lines))


def changed(**lines: str) -> list[str]:
    """Return the lines, some of them with another text: n12="x"."""
    return [lines.get(f"n{number}", line) for number, line in enumerate(LINES, 1)]


def search(old: Sequence[str], new: Sequence[str]) -> str:
    texts = ("\n".join(text) for text in (old, new))
    return '<---SEARCH file="a.txt"--->\n{}\n<---REPLACE--->\n{}\n<---END--->\n'.format(*texts)


def run(workspace: Path, document: str, **options: Any) -> Report:
    return clada.execute(document, workspace=str(workspace), record="snapshots", **options)


EDIT = search(LINES[9:12], ["LINE 10", *LINES[10:12]])  # lines 10 to 12


def test_it_is_off_and_the_failure_says_what_a_merge_would_do(workspace: Path) -> None:
    write(workspace, now := changed(n12="twelve"))
    report = run(workspace, EDIT)
    assert "clada resume --merge would apply it cleanly" in report.text()
    assert "--merge" not in report.text(for_llm=True)
    write(workspace, other := changed(n10="ten"))
    assert "clada resume --merge would conflict" in run(workspace, EDIT, again=True).text()
    assert (workspace / "a.txt").read_text().splitlines() == other
    assert now != other


def test_where_it_is_off_few_unknown_edits_are_looked_up(workspace: Path) -> None:
    """An answer with many of them was not written for a known version, and fails at once."""
    write(workspace, changed(n12="twelve"))
    document = "".join(search([f"nowhere {number}"], ["x"]) for number in range(10)) + EDIT
    assert "would apply it cleanly" not in run(workspace, document).text()
    assert run(workspace, document, merge="seen", again=True).tasks[-1].is_merged


def test_seen_merges_with_what_was_packed(workspace: Path) -> None:
    write(workspace, changed(n12="twelve", n25="new"))
    report = run(workspace, EDIT, merge="seen")
    assert "SUCCESS: SEARCH - a.txt (merged: written for a.txt of " in report.text()
    assert ", 2 lines changed since)" in report.text()
    assert (workspace / "a.txt").read_text().splitlines() == changed(n10="LINE 10", n12="twelve", n25="new")


def test_a_dry_run_shows_the_merge_and_writes_nothing(workspace: Path) -> None:
    write(workspace, now := changed(n12="twelve"))
    report = run(workspace, EDIT, merge="seen", dry_run=True)
    assert report.ok
    assert "PLAN: SEARCH - a.txt (would be merged: written for" in report.text()
    assert "+LINE 10" in report.text()
    assert (workspace / "a.txt").read_text().splitlines() == now


def test_a_conflict_is_shown_and_nothing_is_written(workspace: Path) -> None:
    write(workspace, now := changed(n10="ten"))
    report = run(workspace, EDIT, merge="history")
    assert not report.ok
    assert "conflicts with changes since, first at line 10" in report.text()
    assert "<<<<<<< the file now\n    ten\n    =======\n    LINE 10\n    >>>>>>> the answer" in report.text(
        for_llm=True
    )
    assert (workspace / "a.txt").read_text().splitlines() == now


def test_all_edits_of_a_file_are_made_on_the_same_version(workspace: Path) -> None:
    write(workspace, changed(n12="twelve"))
    first, third = (search([LINES[at]], [LINES[at].upper()]) for at in (28, 19))
    report = run(workspace, first + EDIT + third, merge="seen")
    assert report.ok
    expected = changed(n10="LINE 10", n12="twelve", n20="LINE 20", n29="LINE 29")
    assert (workspace / "a.txt").read_text().splitlines() == expected
    # An edit that fits only the file as it is now was not written for that version.
    write(workspace, changed(n12="twelve"))
    report = run(workspace, EDIT + search(["twelve"], ["12"]), merge="seen", again=True)
    assert [task.status for task in report.tasks] == ["success", "error"]


def test_a_resumed_run_merges_what_failed_with_what_was_done(workspace: Path) -> None:
    write(workspace, changed(n12="twelve"))
    depends = search(["LINE 1", *LINES[1:12]], ["LINE ONE", *LINES[1:12]])  # on the edit before it
    report = run(workspace, search(["line 1", "line 2"], ["LINE 1", "line 2"]) + depends)
    assert [task.status for task in report.tasks] == ["success", "error"]
    assert clada.resume(str(workspace), merge="history").ok
    assert (workspace / "a.txt").read_text().splitlines() == changed(n1="LINE ONE", n12="twelve")


def test_a_person_is_asked_where_it_is_off(workspace: Path) -> None:
    write(workspace, changed(n12="twelve"))
    assert not run(workspace, EDIT, consent=lambda _question: False).ok
    assert run(workspace, EDIT, again=True, consent=lambda question: "Merge it?" in question).ok


def test_dialects_merge_with_what_was_seen_and_native_notations_do_not(workspace: Path) -> None:
    block = "a.txt\n<<<<<<< SEARCH\n{}\n=======\n{}\n>>>>>>> REPLACE\n"
    answer = block.format("\n".join(LINES[9:12]), "\n".join(["LINE 10", *LINES[10:12]]))
    write(workspace, changed(n12="twelve"))
    assert not run(workspace, answer, merge="off").ok
    assert run(workspace, answer, again=True).ok
    assert (workspace / "a.txt").read_text().splitlines() == changed(n10="LINE 10", n12="twelve")


def test_a_whole_file_is_merged_with_changes_that_the_model_has_not_seen(workspace: Path) -> None:
    whole = "a.txt\n```\n{}\n```\n".format("\n".join(changed(n20="LINE 20")))
    write(workspace, changed(n3="three"))
    assert run(workspace, whole).ok
    assert (workspace / "a.txt").read_text().splitlines() == changed(n3="three", n20="LINE 20")
    write(workspace, now := changed(n20="twenty"))
    assert not run(workspace, whole, again=True).ok
    assert (workspace / "a.txt").read_text().splitlines() == now


def test_a_whole_file_replaces_what_the_model_knows_of(workspace: Path) -> None:
    """After an edit of its own, a model writes the same lines again: that is not a conflict."""
    assert run(workspace, EDIT).ok
    whole = "a.txt\n```\n{}\n```\n".format("\n".join(changed(n10="line ten")))
    assert run(workspace, whole).ok
    assert (workspace / "a.txt").read_text().splitlines() == changed(n10="line ten")


def test_a_version_that_was_left_by_a_run_or_is_in_a_commit_is_history(workspace: Path) -> None:
    shutil.rmtree(workspace.parent / "state")  # nothing was seen
    run(workspace, search(["line 30"], ["line thirty"]))
    write(workspace, changed(n29="new", n30="new"))
    edit = search(["line 29", "line thirty"], ["line 29", "line 30"])
    assert not run(workspace, edit, merge="seen").ok
    assert "conflict" in run(workspace, edit, merge="history", again=True).text()
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(workspace)]
    shutil.rmtree(workspace.parent / "state")
    write(workspace, LINES)
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *command], check=True)
    write(workspace, changed(n12="twelve"))
    report = run(workspace, EDIT, merge="history")
    assert report.ok
    assert "written for a.txt of commit " in report.text()


def test_a_version_that_was_pruned_is_the_plain_failure_with_a_note(workspace: Path) -> None:
    folder = os.path.join(find_store(str(workspace)).path, "seen")
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))
    write(workspace, changed(n12="twelve"))
    report = run(workspace, EDIT, merge="seen")
    assert not report.ok
    assert any("no longer in the record" in note for note in report.notes)
    assert "found 0 matches, expected 1" in report.text()


def test_a_history_that_is_rewritten_meanwhile_changes_nothing(workspace: Path) -> None:
    """What was packed is in the record; the commits of it may be gone."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(workspace)]
    rewritten = (
        ["checkout", "-q", "--orphan", "other"], ["commit", "-qam", "two"], ["branch", "-D", "main"],
        ["reflog", "expire", "--expire=now", "--all"], ["gc", "-q", "--prune=now"],
    )  # fmt: skip
    for command in (["init", "-qb", "main"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *command], check=True)
    clada.pack(["a.txt"], workspace=workspace)
    write(workspace, changed(n12="twelve"))
    for command in rewritten:
        subprocess.run([*git, *command], check=True, capture_output=True)
    assert run(workspace, EDIT, merge="seen").ok
    assert (workspace / "a.txt").read_text().splitlines() == changed(n10="LINE 10", n12="twelve")
    shutil.rmtree(find_store(str(workspace)).path)  # nor is the record there: the plain failure
    write(workspace, now := changed(n12="twelve"))
    report = run(workspace, EDIT, merge="history")
    assert "found 0 matches, expected 1" in report.text()
    assert (workspace / "a.txt").read_text().splitlines() == now


def test_versions_that_merge_differently_are_not_chosen_from(workspace: Path) -> None:
    twice = changed(n5="start", n25="start")
    for first, second in (("start", "other"), ("other", "start")):
        version = "".join(f"{line}\n" for line in changed(n5=first, n25=second))
        remember(str(workspace), [("a.txt", version.encode())])
    write(workspace, twice)
    report = run(workspace, search(["start"], ["begin"]), merge="seen")
    error = report.tasks[0].error
    assert error
    assert "fits several earlier versions" in (error.hint or "")
    assert (workspace / "a.txt").read_text().splitlines() == twice


def test_versions_that_merge_alike_are_used(workspace: Path) -> None:
    remember(str(workspace), [("a.txt", "".join(f"{line}\n" for line in changed(n30="x")).encode())])
    now = [*changed(n12="twelve")[:28], "line 29", "y"]
    write(workspace, now)
    edit = search(LINES[9:12], ["LINE 10", *LINES[10:12]])
    report = run(workspace, edit, merge="seen")
    assert report.ok  # both versions give the same
    assert (workspace / "a.txt").read_text().splitlines() == ["LINE 10" if x == "line 10" else x for x in now]


def test_a_file_that_the_document_wrote_is_not_merged(workspace: Path) -> None:
    document = '<---WRITE file="a.txt"--->\nnew\n<---END--->\n'
    assert [task.status for task in run(workspace, document + EDIT, merge="history").tasks] == [
        "success",
        "error",
    ]
    assert (workspace / "a.txt").read_text() == "new\n"


def test_without_git_the_package_merges(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    base, now, answer = (
        "".join(f"{line}\n" for line in lines).encode()
        for lines in (LINES, changed(n1="x"), changed(n20="y"))
    )
    monkeypatch.setitem(sys.modules, "merge3", None)
    assert merge(base, now, answer, str(tmp_path)) is None
    monkeypatch.delitem(sys.modules, "merge3")
    pytest.importorskip("merge3")
    merged = merge(base, now, answer, str(tmp_path))
    assert merged
    assert merged.content.decode().splitlines() == changed(n1="x", n20="y")
    conflict = merge(base, now, base.replace(b"line 1\n", b"z\n"), str(tmp_path))
    assert conflict
    assert conflict.conflicts == 1


@pytest.mark.parametrize("seed", range(20))
def test_generated_histories_give_what_git_merge_file_gives(workspace: Path, seed: int) -> None:
    """Edits for version N on version N+1: git's result, or nothing is written."""
    chance = random.Random(seed)
    old, now = list(LINES), list(LINES)
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(now))
        now[at : at + chance.randrange(3)] = [f"changed {chance.random()}"] * chance.randrange(3)
    at = chance.randrange(3, 26)
    new = [*old[:at], f"edited {seed}", *old[at + 1 :]]
    write(workspace, now)
    before = (workspace / "a.txt").read_bytes()
    report = run(workspace, search(old[at - 2 : at + 3], new[at - 2 : at + 3]), merge="seen")
    after = (workspace / "a.txt").read_bytes()
    code, merged = merge_file(workspace.parent, join(old), join(now), join(new))
    fits = "\n".join(old[at - 2 : at + 3]) in "\n".join(now)
    assert report.ok == (fits or code == 0)
    assert after == (merged if report.ok else before)


def merge_file(folder: Path, base: str, now: str, new: str) -> tuple[int, bytes]:
    """Return what git says of a merge."""
    for name, text in (("base", base), ("now", now), ("new", new)):
        (folder / name).write_text(text)
    command = ["git", "merge-file", "-p", "-q", "now", "base", "new"]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, check=False)
    return done.returncode, done.stdout


def test_hunks_of_a_diff_are_merged(workspace: Path) -> None:
    diff = "--- a/a.txt\n+++ b/a.txt\n@@ -9,4 +9,4 @@\n line 9\n-line 10\n+LINE 10\n line 11\n line 12"
    write(workspace, changed(n12="twelve"))
    assert run(workspace, f"```diff\n{diff}\n```\n").ok
    assert (workspace / "a.txt").read_text().splitlines() == changed(n10="LINE 10", n12="twelve")


def test_lines_that_were_inserted_since_are_not_inserted_again(workspace: Path) -> None:
    """The search text is found all the same, because the new lines follow it."""
    append = "a.txt\n<<<<<<< SEARCH\nline 30\n=======\nline 30\nline 31\n>>>>>>> REPLACE\n"
    write(workspace, now := [*changed(n3="three"), "line 31"])
    report = run(workspace, append)
    assert report.ok
    assert "merged: written for a.txt of " in report.text()
    assert (workspace / "a.txt").read_text().splitlines() == now
    clada.pack(["a.txt"], workspace=workspace)  # now the model knows of line 31
    assert run(workspace, append, again=True).ok
    assert (workspace / "a.txt").read_text().splitlines() == [*now[:-1], "line 31", "line 31"]


PACKAGES = ("attrs", "click", "flask", "httpx", "jinja2", "packaging", "requests", "rich")
SAMPLE = 30  # changes of one package that are replayed


@pytest.mark.slow
@pytest.mark.parametrize("package", [None, *PACKAGES])
def test_answers_for_a_real_version_on_later_ones_give_what_git_gives(
    package: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Changes from version N to any other, on N+1 to N+3: git's result, and no write in a conflict."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    versions = package_versions(package) if package else repository_versions()
    histories = [each for each in versions if len(set(each)) > 1 and not MARKER.search("".join(each))]
    chances, merged = random.Random(package), 0
    for number in range(SAMPLE):
        history = chances.choice(histories)
        base = chances.randrange(len(history) - 1)
        aim = chances.choice([text for text in history if text != history[base]])
        for now in history[base + 1 : base + 4]:
            folder = tmp_path / f"{number}"
            folder.mkdir(exist_ok=True)
            merged += replay(folder, history[base], aim, now)
    assert merged


MARKER = re.compile("^(?:<{7}|={7}|>{7})", re.MULTILINE)


def replay(folder: Path, base: str, aim: str, now: str) -> bool:
    """Apply what leads from `base` to `aim` on `now`; return whether something was merged."""
    (folder / "a.txt").write_text(base)
    clada.pack(["a.txt"], workspace=folder)
    (folder / "a.txt").write_text(now)
    hunks = Changes(base, aim).unique_hunks
    block = "a.txt\n<<<<<<< SEARCH\n{}=======\n{}>>>>>>> REPLACE\n\n"
    answer = "".join(block.format(join(hunk.old), join(hunk.new)) for hunk in hunks)
    report = clada.execute(answer, workspace=folder, record="none", format="sr", match="exact")
    done = [hunk for hunk, task in zip(hunks, report.tasks, strict=True) if task.status == "success"]
    code, expected = merge_file(folder.parent, base, now, join(apply_hunks(split(base), done)))
    is_merged = any(task.is_merged for task in report.tasks)
    assert code == 0 or not is_merged, report.text()
    # Blocks that fit the file as it is are applied; where lines beside them have changed, git conflicts.
    assert code or (folder / "a.txt").read_bytes() == expected, report.text()
    return is_merged


def package_versions(package: str) -> list[list[str]]:
    """Return the versions of each file of a package that is in all its releases, oldest first."""
    try:
        (folders,) = fetch(ROOT / "build" / "applybench" / "releases", package)
    except subprocess.CalledProcessError:
        pytest.skip(f"{package} cannot be downloaded")
    releases = [read_release(folder) for folder in folders]
    paths = set.intersection(*(set(release) for release in releases))
    return [[release[path] for release in releases] for path in sorted(paths)]


def repository_versions() -> list[list[str]]:
    """Return the versions of some files of this repository, oldest first."""
    git = ["git", "-C", str(ROOT)]
    histories = []
    for path in ("src/clada/run.py", "src/clada/cli/flags.py", "docs/operations.md", "Makefile"):
        log = subprocess.run([*git, "log", "--format=%H", "--", path], stdout=subprocess.PIPE, check=False)
        shown = [
            subprocess.run([*git, "show", f"{commit}:{path}"], stdout=subprocess.PIPE, check=False).stdout
            for commit in log.stdout.decode().split()[49::-1]
        ]
        histories.append([text.decode() for text in shown if text])
    if not any(histories):
        pytest.skip("this is not a clone with history")
    return histories
