"""The bench of appliers: twenty tasks of made-up releases, and an applier that is wrong on purpose."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from applybench.appliers import all_appliers
from applybench.appliers.base import Applier
from applybench.cases import Case, cases_of
from applybench.hunks import Changes, apply_hunks, join
from applybench.report import chart, overview, read_rows, slips_with, tally
from applybench.run import Result, run_cases
from applybench.score import Outcome, score
from applybench.slips import SLIPS, merge
from applybench.tasks import Task, find_tasks, sample

FILES = 10  # in each of three releases: two changes of each file, so twenty tasks
SEED = 1


def _source(number: int, release: int) -> str:
    """Return a module of a release: functions that resemble each other, and one that changes twice."""
    lines = [f'"""Module {number}."""', "", "import os", f'VERSION = "{release}.0"', ""]
    for function in range(6):
        changes = function == 2 + number % 3
        lines += ["", f"def step_{function}(value):", '    """Return a step."""', "    if value is None:"]
        lines += ["        return 0", f"    total = value + {function}"]
        lines += [f'    print("release {release}", total)'] if changes else []
        lines += [
            "    total += 1" if release > 1 and function == 5 else "    total += 0",
            "    return total",
            "",
        ]
    return join(lines)


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> list[Task]:
    """Twenty tasks of a made-up package with three releases."""
    package = tmp_path_factory.mktemp("releases") / "made-up"
    for release in range(3):
        for number in range(FILES):
            file = package / f"1.{release}" / "made_up" / f"part_{number}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(_source(number, release))
    return find_tasks([sorted(package.iterdir())])


@pytest.fixture(scope="module")
def cases(tasks: list[Task]) -> list[Case]:
    """Every slip of every task in every format."""
    return [case for task in tasks for case in cases_of(task, SEED)]


def _results(cases: list[Case], *names: str) -> list[Result]:
    appliers = [applier for applier in all_appliers(Path("nowhere")) if applier.name in names]
    assert len(appliers) == len(names)
    return list(run_cases(cases, appliers))


def _faults(results: list[Result], *scores: str) -> list[tuple[str, str, str, str]]:
    return sorted({(r.applier, r.score, r.case.format, r.case.slip) for r in results if r.score in scores})


def test_twenty_tasks_of_three_releases(tasks: list[Task]) -> None:
    """Each file that changed is a task; the second change has an older release."""
    assert len(tasks) == 2 * FILES
    assert sum(task.older is not None for task in tasks) == FILES


def test_every_slip_occurs(cases: list[Case]) -> None:
    """The made-up releases are rich enough for every slip and label."""
    assert {case.slip for case in cases} == set(SLIPS)
    assert {case.label for case in cases} == {"apply", "lenient", "refuse"}


def test_the_same_seed_gives_the_same_cases(tasks: list[Task], cases: list[Case]) -> None:
    """A rerun gives the same; another seed does not."""
    assert [case for task in tasks for case in cases_of(task, SEED)] == cases
    assert [case for task in tasks for case in cases_of(task, SEED + 1)] != cases
    assert sample(tasks, 5, SEED) == sample(list(reversed(tasks)), 5, SEED)


def test_hunks_give_the_release_after(tasks: list[Task]) -> None:
    """Hunks are right, and those for formats without numbers are found once."""
    for task in tasks:
        changes = Changes(task.before, task.after)
        for hunks in (changes.plain_hunks, changes.unique_hunks):
            assert join(apply_hunks(changes.before, hunks)) == task.after
        assert all(task.before.count("\n".join(hunk.old)) == 1 for hunk in changes.unique_hunks)


def test_a_merge_of_changes_in_the_same_line_has_no_result() -> None:
    """Labels of stale answers come from git."""
    assert merge("a\nb\nX\n", "a\nb\nc\n", "a\nb\nY\n") is None
    assert merge("X\nb\nc\nd\ne\n", "a\nb\nc\nd\ne\n", "a\nb\nc\nd\nY\n") == "X\nb\nc\nd\nY\n"


def test_clada_is_never_wrong_and_applies_what_should_be(cases: list[Case], *, is_whole: bool) -> None:
    """No answer changes files in another way than expected: of a quarter of the cases, or a sample of it."""
    results = _results(cases[:: 4 if is_whole else 12], "clada library")
    assert _faults(results, "wrong", "half", "crashed") == []
    assert [r for r in results if r.score == "refused" and r.case.label == "apply"] == []


@pytest.mark.slow
def test_other_programs_apply_diffs_without_slips(cases: list[Case]) -> None:
    """Adapters of programs work."""
    plain = [case for case in cases if case.slip == "none"]
    scores = Counter((r.applier, r.score) for r in _results(plain, "git apply", "clada"))
    assert scores == {("git apply", "right"): 2 * FILES, ("clada", "right"): len(plain) // 4}


class FirstSimilarPlace(Applier):
    """A wrong applier: replaces the first place that resembles the quoted lines, and reports success."""

    name = "planted"
    formats = frozenset({"Edit call"})

    def apply(self, root: Path, case: Case) -> Outcome:
        """Replace as many lines as are quoted, where most of them are equal."""
        try:
            calls = json.loads(case.answer)["content"]
        except ValueError:
            return Outcome(success=False)
        for call in calls:
            file = root / call["input"]["file_path"]
            lines = file.read_text().split("\n")
            old, new = (call["input"][key].split("\n") for key in ("old_string", "new_string"))

            def likeness(at: int, old: list[str] = old, lines: list[str] = lines) -> int:
                return sum(a == b for a, b in zip(old, lines[at:], strict=False))

            at = max(range(len(lines)), key=likeness)
            file.write_text("\n".join([*lines[:at], *new, *lines[at + len(old) :]]))
        return Outcome(success=True)


def test_an_applier_that_takes_the_first_similar_place_is_caught(cases: list[Case]) -> None:
    """The planted applier is right without slips, and wrong where it must refuse."""
    results = list(run_cases(cases, [FirstSimilarPlace(Path("nowhere"))]))
    right = {r.case.slip for r in results if r.score == "right"}
    wrong = {r.case.slip for r in results if r.score == "wrong"}
    assert {"none"} <= right
    assert {"ambiguous", "two files, one name", "elided replacement"} <= wrong - right


def test_the_report_counts_what_was_scored(cases: list[Case], tmp_path: Path) -> None:
    """The table sorts by wrong; its figures, and those of the chart, are those of the results."""
    some = [case for case in cases if case.format == "Edit call" and case.slip in ("none", "ambiguous")]
    planted: list[Applier] = [FirstSimilarPlace(tmp_path)]
    results = [*run_cases(some, planted), *_results(some, "clada library")]
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(r.to_dict()) + "\n" for r in results))
    (tmp_path / "times.txt").write_text("0.5\n" * len(results))
    tallies = tally(read_rows([tmp_path]))
    assert [row.applier for row in tallies["Edit call"]] == ["clada library", "planted"]
    good, bad = tallies["Edit call"]
    ambiguous = sum(case.slip == "ambiguous" for case in some)
    assert (good.scores["right"], bad.scores["wrong"]) == (len(some), ambiguous)
    assert overview(tallies)[2].startswith(f"|Edit call|clada library|{len(some)}|0.0|100.0|")
    assert f"{100 * ambiguous / len(some):.1f} % wrong" in chart(tallies)
    (told,) = slips_with("wrong", tallies)[2:]
    assert f"ambiguous {ambiguous}/{ambiguous}" in told
    assert [r.to_dict() for r in run_cases(some, planted)] == [r.to_dict() for r in results[: len(some)]]


def test_each_kind_of_result_gets_its_score() -> None:
    """The table of scores."""
    before, after, other = {"a": b"1\n"}, {"a": b"2\n"}, {"a": b"3\n"}
    apply = Case("task", "a", "CSL", "none", "apply", "", before, (after,))
    refuse = Case("task", "a", "CSL", "cut off", "refuse", "", before, ())
    table = [
        (apply, True, after, "right"),
        (apply, False, after, "right"),
        (apply, False, before, "refused"),
        (apply, True, before, "wrong"),
        (apply, True, other, "wrong"),
        (apply, False, other, "half"),
        (apply, None, before, "crashed"),
        (refuse, False, before, "right"),
        (refuse, True, before, "wrong"),
        (refuse, True, after, "wrong"),
        (refuse, False, after, "half"),
    ]
    for case, success, tree, expected in table:
        assert score(case, Outcome(success), tree) == expected


def test_only_the_adapter_imports_clada() -> None:
    """The bench stands by itself."""
    folder = Path(__file__).parents[1] / "applybench"
    importing = [file.name for file in folder.rglob("*.py") if "import clada" in file.read_text()]
    assert importing == ["clada.py"]
