"""A summary of results: rates by status, notation, dialect and error; the commonest failures; a chart."""

from __future__ import annotations

import html
import json
import re
from collections import Counter

from clada.batch.results import read_results
from clada.batch.run_job import APPLIED, PLANNED, STATUSES
from clada.text.escape import escape_controls
from clada.values import Value, fields_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

SCHEMA = "clada.batch.summary/1"
NOTHING = "(none)"  # in place of a field that a result does not have
MOST_FAILURES = 10
MOST_KINDS = 10_000  # failures of different kinds that are told apart
MOST_GROUPS = 1000
LONGEST_MESSAGE = 100  # characters, in a table
# What differs from one failure of a kind to the next: quoted texts, paths with a slash or a dot, numbers.
VARIABLE = re.compile(r"\"[^\"]*\"|'[^']*'|\S*[/.]\w\S*|\d+")

# The chart.
COLOURS = dict(zip(STATUSES, ("#4c9f70", "#c8553d", "#e0a458", "#6d7b8d", "#3b3b3b", "#5b8bd0"), strict=True))
MOST_BARS = 40
LEFT, WIDTH, ROW, TOP = 220, 560, 26, 70  # pixels of the bars
LONGEST_NAME = 32  # characters


class Group(Value):
    """Results with the same value of a field, counted by status."""

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
    """A kind of failure: its type, its count, and an example."""

    type: str
    count: int
    id: str
    message: str


class Summary(Value):
    """The summary of a batch."""

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
        message = _shorten(failure.message, LONGEST_MESSAGE)
        line = f"{failure.count:>6,}  {failure.type}: {message} (job {failure.id})"
        lines.append(escape_controls(line) + "\n")
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
    """Return it as a chart: a bar for each value of the field, or for each dialect, in parts by status."""
    field = summary.by or "dialect"
    groups = [summary.total, *summary.groups[field]][:MOST_BARS]
    height, width = TOP + ROW * len(groups) + 20, LEFT + WIDTH + 120
    title = _escape(f"Jobs by {field}")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img"',
        f' viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        f"<title>{title}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="12" y="24" font-size="16">{title}</text>',
        *_legend(groups),
    ]
    for number, group in enumerate(groups):
        parts += _bar(TOP + ROW * number, group)
    return "\n".join([*parts, "</svg>\n"])


def _legend(groups: Sequence[Group]) -> Iterator[str]:
    """Yield what each colour means; that of dry runs only where there are any, because they are rare."""
    has_plans = any(group.counts.get(PLANNED) for group in groups)
    named = [status for status in STATUSES if status != PLANNED or has_plans]
    for number, status in enumerate(named):
        colour = COLOURS[status]
        left = LEFT + 100 * number
        yield f'<rect x="{left}" y="40" width="12" height="12" fill="{colour}"/>'
        yield f'<text x="{left + 17}" y="50">{status}</text>'


def _bar(top: int, group: Group) -> Iterator[str]:
    name, counts, total = group.name, group.counts, group.total or 1
    short = _escape(_shorten(name, LONGEST_NAME))
    yield f'<text x="{LEFT - 8}" y="{top + 14}" text-anchor="end">{short}</text>'
    left = float(LEFT)
    for status, colour in COLOURS.items():
        width = WIDTH * counts.get(status, 0) / total
        if width:
            told = _escape(f"{name}: {counts[status]} {status}")
            yield (
                f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="18" fill="{colour}">'
                f"<title>{told}</title></rect>"
            )
        left += width
    yield f'<text x="{LEFT + WIDTH + 8}" y="{top + 14}">{group.rate:.1%} of {total:,}</text>'


def _shorten(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _escape(text: str) -> str:
    return html.escape(escape_controls(text))


FORMS: dict[str, Callable[[Summary], str]] = {"table": as_table, "json": as_json, "svg": as_svg}
