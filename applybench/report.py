"""The report: a table for each format, sorted by what matters most, and a chart."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from applybench.formats import FORMATS
from applybench.score import SCORES
from applybench.slips import SLIPS

COLOURS = {
    "right": "#2a7f4f",
    "refused": "#b8b8b8",
    "half": "#e0b040",
    "wrong": "#c0392b",
    "crashed": "#333333",
}
ROW, LEFT, WIDTH = 18, 240, 460  # pixels in the chart


Row = dict[str, Any]  # a line of results.jsonl, with the seconds it took


@dataclass
class Tally:
    """The scores of one applier in one format."""

    applier: str
    scores: Counter[str] = field(default_factory=Counter)
    by_slip: dict[str, Counter[str]] = field(default_factory=dict)
    should_apply: Counter[str] = field(default_factory=Counter)
    seconds: float = 0

    def add(self, row: Row) -> None:
        """Count one more result."""
        score = row["score"]
        self.scores[score] += 1
        self.by_slip.setdefault(row["slip"], Counter())[score] += 1
        if row["label"] == "apply":
            self.should_apply[score] += 1
        self.seconds += row["seconds"]

    @property
    def total(self) -> int:
        """How many answers it got."""
        return self.scores.total()

    def share(self, score: str) -> float:
        """Return the share of a score in percent."""
        return 100 * self.scores[score] / self.total


Tallies = dict[str, list[Tally]]


def read_rows(folders: Sequence[Path]) -> list[Row]:
    """Return the results of runs, each with its time."""
    rows = []
    for folder in folders:
        results, times = (
            Path(folder, name).read_text().splitlines() for name in ("results.jsonl", "times.txt")
        )
        rows += [
            {**json.loads(line), "seconds": float(time)} for line, time in zip(results, times, strict=True)
        ]
    return rows


def tally(rows: Sequence[Row]) -> Tallies:
    """Return the scores by format; appliers with the least share of wrong first, then by right."""
    table: dict[str, dict[str, Tally]] = {form: {} for form in FORMATS}
    for row in rows:
        table[row["format"]].setdefault(row["applier"], Tally(row["applier"])).add(row)
    return {
        form: sorted(tallies.values(), key=lambda tally: (tally.share("wrong"), -tally.share("right")))
        for form, tallies in table.items()
        if tallies
    }


HEAD = ("format", "applier", "answers", "wrong %", "right %", "refused %", "half %", "right of *apply*", "ms")


def overview(tallies: Tallies) -> list[str]:
    """Return the lines of the main table, as Markdown."""
    lines = [_row(HEAD), _row(["---"] * 2 + ["--:"] * (len(HEAD) - 2))]
    for form, rows in tallies.items():
        for row in rows:
            half = row.share("half") + row.share("crashed")
            shares = [row.share("wrong"), row.share("right"), row.share("refused"), half]
            applied = f"{row.should_apply['right']}/{row.should_apply.total()}"
            cells = [f"{row.total:,}", *(f"{share:.1f}" for share in shares), applied]
            lines.append(_row([form, row.applier, *cells, f"{1000 * row.seconds / row.total:.0f}"]))
    return lines


def slips_with(score: str, tallies: Tallies, applier: str | None = None) -> list[str]:
    """Return a table of the slips that had this score, of one applier or of all."""
    lines = [_row(["format", "applier", score]), _row(["---"] * 3)]
    for form, rows in tallies.items():
        for row in rows:
            counts = {slip: row.by_slip[slip] for slip in SLIPS if row.by_slip.get(slip, Counter())[score]}
            told = (f"{slip} {scores[score]}/{scores.total()}" for slip, scores in counts.items())
            if counts and applier in (None, row.applier):
                lines.append(_row([form, row.applier, ", ".join(told)]))
    return lines


def chart(tallies: Tallies) -> str:
    """Return the shares of all scores as bars, in SVG."""
    parts: list[str] = []
    y = 40
    for index, score in enumerate(SCORES):
        parts.append(f'<rect x="{LEFT + index * 90}" y="10" width="12" height="12" fill="{COLOURS[score]}"/>')
        parts.append(f'<text x="{LEFT + index * 90 + 17}" y="20">{score}</text>')
    for form, rows in tallies.items():
        parts.append(f'<text x="10" y="{y + 12}" font-weight="bold">{escape(form)}</text>')
        for row in rows:
            parts.append(f'<text x="{LEFT - 10}" y="{y + 12}" text-anchor="end">{escape(row.applier)}</text>')
            x = float(LEFT)
            for score in SCORES:
                width = row.share(score) * WIDTH / 100
                size = f'width="{width:.1f}" height="{ROW - 4}"'
                parts.append(f'<rect x="{x:.1f}" y="{y}" {size} fill="{COLOURS[score]}"/>')
                x += width
            parts.append(f'<text x="{x + 8:.0f}" y="{y + 12}">{row.share("wrong"):.1f} % wrong</text>')
            y += ROW
        y += ROW // 2
    size = f'width="{LEFT + WIDTH + 110}" height="{y}" viewBox="0 0 {LEFT + WIDTH + 110} {y}"'
    style = 'font-family="sans-serif" font-size="12" fill="#222"'
    title = "<title>Shares of right, refused, half, wrong and crashed answers by format and applier</title>"
    background = '<rect width="100%" height="100%" fill="#fff"/>'
    body = "\n".join(parts)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>\n{title}{background}\n{body}\n</svg>\n'


def _row(cells: Sequence[str]) -> str:
    return f"|{'|'.join(cells)}|"
