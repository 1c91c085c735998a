"""What came of a batch, summed up: rates by status, notation, dialect and error; the commonest failures."""

from __future__ import annotations

import json
import re
from collections import Counter

from clada.batch.chart import chart
from clada.batch.results import read_results
from clada.batch.run_job import APPLIED, STATUSES
from clada.text.escape import escape_controls
from clada.values import Value, fields_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

SCHEMA = "clada.batch.summary/1"
NOTHING = "(none)"  # in place of a field that a result does not have
MOST_FAILURES = 10
MOST_KINDS = 10_000  # failures of different kinds that are told apart
MOST_GROUPS = 1000
LONGEST = 100  # characters of a message in a table
# What differs from one failure of a kind to the next: quoted texts, paths with a slash or a dot, numbers.
VARIABLE = re.compile(r"\"[^\"]*\"|'[^']*'|\S*[/.]\w\S*|\d+")


class Group(Value):
    """Results that have something in common: how many, and how many of each status."""

    name: str
    counts: dict[str, int]

    @property
    def total(self) -> int:
        """How many there are."""
        return sum(self.counts.values())

    @property
    def rate(self) -> float:
        """The share that was applied."""
        return self.counts.get(APPLIED, 0) / self.total if self.total else 0.0


class Failure(Value):
    """A kind of failure: its type, how often it came, and an example of it."""

    type: str
    count: int
    id: str
    message: str


class Summary(Value):
    """What is known of the results of a batch."""

    total: Group
    groups: dict[str, list[Group]]  # by notation, by dialect, by the field that was asked for
    errors: list[tuple[str, int]]
    failures: list[Failure]
    seconds: float
    cpu_seconds: float
    by: str | None = None


def summarise(path: str, by: str | None = None) -> Summary:
    """Sum up a file of results, in one pass and in little memory."""
    fields = ["notation", "dialect", *([by] if by and by not in ("notation", "dialect") else [])]
    counts: dict[str, dict[str, Counter[str]]] = {field: {} for field in fields}
    statuses, errors, kinds = Counter[str](), Counter[str](), Counter[tuple[str, str]]()
    examples: dict[tuple[str, str], tuple[str, str]] = {}
    seconds = cpu = 0.0
    for result in read_results(path):
        status = result["status"]
        statuses[status] += 1
        for field in fields:
            name = NOTHING if result.get(field) is None else _text(result[field])
            groups = counts[field]
            if name not in groups and len(groups) >= MOST_GROUPS:
                name = "(others)"
            groups.setdefault(name, Counter())[status] += 1
        if result.get("error_type"):
            message = result.get("error") or ""
            kind = (result["error_type"], VARIABLE.sub("…", message))
            errors[kind[0]] += 1
            if kind in examples or len(examples) < MOST_KINDS:
                kinds[kind] += 1
                example = (result["id"], message)
                examples[kind] = min(examples.get(kind, example), example)
        seconds += result.get("seconds") or 0.0
        cpu += result.get("cpu_seconds") or 0.0
    failures = [Failure(kind[0], count, *examples[kind]) for kind, count in _ranked(kinds)[:MOST_FAILURES]]
    return Summary(
        Group("all", {status: statuses[status] for status in STATUSES if statuses[status]}),
        {field: _groups(groups) for field, groups in counts.items()},
        _ranked(errors),
        failures,
        seconds,
        cpu,
        by,
    )


def _ranked(counts: Counter[Any]) -> list[tuple[Any, int]]:
    """Return what is counted, the commonest first: in the same order, however the results came."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _groups(counts: dict[str, Counter[str]]) -> list[Group]:
    groups = [Group(name, dict(count)) for name, count in counts.items()]
    return sorted(groups, key=lambda group: (-group.total, group.name))


# Its forms.


def as_table(summary: Summary) -> str:
    """Return it for people."""
    total = summary.total.total
    parts = [_table(("status", "jobs", "share"), _shares(summary.total.counts, total))]
    shown = dict.fromkeys([*([summary.by] if summary.by else []), *summary.groups])
    others = [status for status in STATUSES[1:] if summary.total.counts.get(status)]
    for field in shown:
        rows = [
            (
                group.name,
                f"{group.total:,}",
                f"{group.rate:.1%}",
                *(f"{group.counts.get(status, 0):,}" for status in others),
            )
            for group in summary.groups[field]
        ]
        parts.append(_table((field, "jobs", "applied", *others), rows))
    if summary.errors:
        parts.append(_table(("error", "jobs", "share"), _shares(dict(summary.errors), total)))
        parts.append(_failures(summary.failures))
    parts.append(f"{summary.seconds:,.1f} s of work, {summary.cpu_seconds:,.1f} s of processor time\n")
    return "\n".join(parts)


def _shares(counts: dict[str, int], total: int) -> list[tuple[str, str, str]]:
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    return [(name, f"{count:,}", f"{count / total:.1%}") for name, count in ranked]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows in columns: the first to the left, numbers to the right."""
    lines = [tuple(map(escape_controls, row)) for row in (heads, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(
        f"{first.ljust(widths[0])}  {'  '.join(map(str.rjust, rest, widths[1:]))}".rstrip() + "\n"
        for first, *rest in lines
    )


def _failures(failures: Sequence[Failure]) -> str:
    lines = ["commonest failures, with an example each\n"]
    for failure in failures:
        message = failure.message if len(failure.message) <= LONGEST else f"{failure.message[:LONGEST]}…"
        lines.append(
            escape_controls(f"{failure.count:>6,}  {failure.type}: {message} (job {failure.id})") + "\n"
        )
    return "".join(lines)


def as_json(summary: Summary) -> str:
    """Return it for programs."""
    found: dict[str, Any] = {
        "schema": SCHEMA,
        "jobs": summary.total.total,
        "applied_share": round(summary.total.rate, 6),
        "by_status": {status: summary.total.counts.get(status, 0) for status in STATUSES},
        "by_error_type": dict(summary.errors),
        "failures": [fields_of(failure) for failure in summary.failures],
        "seconds": round(summary.seconds, 3),
        "cpu_seconds": round(summary.cpu_seconds, 3),
        **{
            f"by_{field}": {
                group.name: {
                    "jobs": group.total,
                    "applied_share": round(group.rate, 6),
                    **{status: group.counts.get(status, 0) for status in STATUSES},
                }
                for group in groups
            }
            for field, groups in summary.groups.items()
        },
    }
    return json.dumps(found, indent=2) + "\n"


def as_svg(summary: Summary) -> str:
    """Return it as one chart: a bar for each value of the field, or for each dialect."""
    field = summary.by or "dialect"
    groups = [summary.total, *summary.groups[field]]
    return chart(f"Jobs by {field}", [(group.name, group.counts) for group in groups])


FORMS: dict[str, Callable[[Summary], str]] = {"table": as_table, "json": as_json, "svg": as_svg}
