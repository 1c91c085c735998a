"""The whole path with random documents in random trees, against a plain model of what should come of them."""

from __future__ import annotations

import json
import os
import random
from functools import cache
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from tests.attacks.model import Link, Tree, perform
from tests.attacks.place import ROOT, Place, changed, ordinary
from tests.attacks.rows import Row

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.attacks.place import Result

NAMES = (
    "a",
    "b",
    "d",
    "d/a",
    "d/b",
    "d/e",
    "d/e/a",
    "in",
    "out",
    "out/a",
    "in/a",
    "../outside/secret",
    ".git/x",
    "/etc/x",
)
BESIDE = {"workspace", "outside", "home", "workspace-sibling"}
FLAGS = ("--no-git", "--summary=json", "--output-mode=silent")
EXAMPLES = 300

GOOD = ("a", "b", "d/a", "d/b", "d/e/a")
paths = st.sampled_from((*GOOD, *GOOD, *GOOD, *NAMES))
texts = st.text(alphabet="xy\n", max_size=6)
operations = st.one_of(
    st.fixed_dictionaries(
        {"action": st.just("write"), "path": paths, "content": texts, "append": st.booleans()}
    ),
    st.fixed_dictionaries(
        {
            "action": st.just("edit"),
            "path": paths,
            "search": st.sampled_from(["x", "y", "xy", "\n"]),
            "replace": texts,
            "count": st.sampled_from([1, 1, 2, "all"]),
        }
    ),
    st.fixed_dictionaries({"action": st.just("remove"), "path": paths}),
    st.fixed_dictionaries({"action": st.just("move"), "from": paths, "to": paths}),
    st.fixed_dictionaries({"action": st.just("run"), "command": paths.map(lambda path: f"mkdir -p {path}")}),
)
documents = st.lists(st.lists(operations, min_size=1, max_size=3), min_size=1, max_size=5)
trees = st.fixed_dictionaries({"a": texts, "d/a": texts}, optional={"b": texts, "d/b": texts, "d/e/a": texts})
links = st.fixed_dictionaries({}, optional={"in": st.just("d"), "out": st.just("../outside")})


def rows() -> list[Row]:
    """Return what random documents showed."""
    return [
        _row("random documents in random trees, each twice", "what a plain model predicts", _modelled),
        _row("real answers and corpus, cut and spliced at random", HARMLESS, _spliced),
    ]


SHOWN = "shown, not written"
HARMLESS = "nothing outside changes, every operation is accounted for, the exit code agrees"


def _row(case: str, required: str, check: Callable[[int], Any]) -> Row:
    """Return what a property showed."""
    try:
        observed = str(check(EXAMPLES))
    except AssertionError as error:
        return Row(case, required, " ".join(str(error).split()), False)
    return Row(case, required, observed, True)


def _modelled(examples: int) -> str:
    counts = {"operations": 0, "failed": 0}

    @seed(8)
    @settings(
        max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )  # fmt: skip
    @given(trees, links, documents)
    def check(files: dict[str, str], linked: dict[str, str], blocks: list[list[dict[str, Any]]]) -> None:
        with Place(ordinary()) as place:
            tree = _plant(place, files, linked)
            for _ in range(2):
                predicted = perform(tree, blocks)
                outside = place.picture()
                result = place.clada(json.dumps([{"tasks": block} for block in blocks]), *FLAGS)
                _compare(place, result, predicted, tree)
                _accounted(result, len(predicted))
                _expect(not changed(outside, place.picture(), "outside"), f"changed outside by {blocks}")
                counts["operations"] += len(predicted)
                counts["failed"] += sum(outcome != "success" for outcome in predicted)

    check()
    said = f"{counts['operations']:,} operations of which {counts['failed']:,} failed"
    return f"{examples:,} documents, {said}: all as predicted"


def _expect(condition: object, otherwise: str) -> None:
    if not condition:
        raise AssertionError(otherwise)


def _plant(place: Place, files: dict[str, str], linked: dict[str, str]) -> Tree:
    """Make the tree, and return the model's picture of it."""
    for path, content in files.items():
        place.put(path, content)
    for name, target in linked.items():
        (place.inside / name).symlink_to(target)
    place.give()
    return _picture(place)


def _picture(place: Place) -> Tree:
    tree: Tree = {}
    for path, (kind, _mode, content) in place.picture().items():
        if path.startswith("workspace/"):
            name = path.removeprefix("workspace/")
            tree[name] = Link(str(content)) if kind == "l" else None if kind == "d" else bytes(content)  # type: ignore[call-overload]
    return tree


def _compare(place: Place, result: Result, predicted: list[str], tree: Tree) -> None:
    seen = [(task.get("error") or {}).get("type") or task["status"] for task in result.tasks]
    _expect(len(seen) == len(predicted), f"{len(seen)} tasks for {len(predicted)}: {result.out}{result.err}")
    agree = [want in (got, "any") for want, got in zip(predicted, seen, strict=True)]
    _expect(all(agree), f"predicted {predicted}, observed {seen}")
    actual = _picture(place)
    if "any" in predicted:  # the model does not say whether a move onto itself is a failure
        tree.clear()
        tree.update(actual)
    _expect(actual == tree, f"predicted {tree}, observed {actual}")


def _accounted(result: Result, count: int) -> None:
    """Check that the report counts all tasks, and that the exit code agrees with it."""
    report, tasks = result.report, result.tasks
    _expect(len(tasks) == count == report["tasks"], f"{len(tasks)} tasks for {count} operations")
    kinds = [sum(task["status"] == status for task in tasks) for status in ("success", "error", "skipped")]
    _expect(kinds == [report["succeeded"], report["failed"], report["skipped"]], f"{kinds}, {result.out}")
    _expect(result.code == (0 if kinds[0] == count else 1), f"exit {result.code} with {kinds}")


@cache
def _texts() -> tuple[bytes, ...]:
    """Return documents to cut and splice."""
    answers = (ROOT / "tests" / "answers").glob("*/answer.md")
    corpus = (ROOT / "tests" / "corpus").rglob("*.in")
    found = [path.read_bytes() for path in sorted((*answers, *corpus))]
    return tuple(text for text in found if len(text) < 20_000)


def _spliced(examples: int) -> str:
    chance = random.Random(8)
    operations = 0
    with Place(ordinary()) as place:
        place.put("app.py", "print('old')\n")
        place.put("a.txt", "old\n")
        (place.inside / "out").symlink_to("../outside")
        place.give()
        outside = {path: seen for path, seen in place.picture().items() if path.startswith("outside")}
        for number in range(examples):
            data = _cut(chance)
            result = place.clada(data, *FLAGS, *(["--dry-run"] if number % 3 == 0 else []))
            _harmless(data, result, dry=number % 3 == 0)
            operations += len(result.tasks)
            now = {path: seen for path, seen in place.picture().items() if path.startswith("outside")}
            _expect(now == outside, f"changed outside by {data!r}")
            _expect(set(os.listdir(place.top)) == BESIDE, f"{data!r}")
    return f"{examples:,} documents, {operations:,} operations, all accounted for"


def _cut(chance: random.Random) -> bytes:
    """Return pieces of two documents, one after the other, perhaps with a byte changed."""
    first, second = chance.choice(_texts()), chance.choice(_texts())
    end = chance.choice((len(first), len(first), chance.randint(0, len(first))))
    start = chance.choice((len(second), 0, chance.randint(0, len(second))))
    data = bytearray(first[:end] + b"\n" + second[start:])
    if data and not chance.randrange(4):
        data[chance.randrange(len(data))] = chance.choice(b'<>-"\n\\{}[]\0 \xff')
    return bytes(data)


def _harmless(data: bytes, result: Result, *, dry: bool) -> None:
    _expect(result.code in (0, 1, 3), f"exit {result.code} from {data!r}: {result.err}")
    _expect("Traceback" not in result.err + result.out, f"traceback from {data!r}")
    _expect("internal error" not in result.err + result.out, f"internal error from {data!r}: {result.out}")
    report = result.report
    _expect(report, f"no report from {data!r}: {result.out}{result.err}")
    failed = report["fatal"] is not None or any(task["status"] == "error" for task in result.tasks)
    skipped = [task["reason"] for task in result.tasks if task["status"] == "skipped"]
    codes = {0} if result.tasks else {3}
    if failed or report["not_applied"]:
        codes = {1}
    elif skipped:  # commands that a dry run does not run, and files that are only shown, are not failures
        codes = {0, 1} if dry or all(SHOWN in reason for reason in skipped) else {1}
    _expect(result.code in codes, f"exit {result.code} from {data!r}: {result.out}")
