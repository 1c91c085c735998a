"""The charts of the page of benchmarks: SVG that follows the light or dark of whoever looks at it."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from tools.benchmarks.measuring import COMPARED, Row, Times

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH = 900
NAMES = 420  # where names end, and bars begin a little later
MOST = 1.6  # times its goal that a bar is drawn to
STYLE = """
:root { --ink: #1f2328; --faint: #636c76; --paper: #fff; --ours: #1a7f5a; --over: #c8402a; --other: #a8b1ba }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --faint: #9198a1; --paper: #0d1117; --ours: #3fb37f; --over: #f0715d;
    --other: #59636e }
}
text { font: 13px sans-serif; fill: var(--ink) }
.title { font-weight: bold; font-size: 15px }
.faint { fill: var(--faint); font-size: 12px }
.end { text-anchor: end }
.missed { font-weight: bold; fill: var(--over) }
.paper { fill: var(--paper) }
.ours { fill: var(--ours) }
.over { fill: var(--over) }
.other { fill: var(--other) }
line { stroke: var(--faint); stroke-dasharray: 4 }
"""


def compared(times: Sequence[Times]) -> str:
    """Draw how long each program takes, a group for each work, each to the scale of its longest."""
    parts, top = [], 12
    for each in times:
        parts.append(_text(16, top + 16, each.work, "title"))
        top += 28
        longest = max(each.seconds.values(), default=1)
        for name, seconds in each.seconds.items():
            kind = "ours" if name == "clada" else "other"
            parts += [
                _text(180, top + 15, name, "end"),
                _bar(190, top, 540 * seconds / longest, kind),
                _text(198 + 540 * seconds / longest, top + 15, _seconds(seconds)),
            ]
            top += 26
        if not each.seconds:
            parts.append(_text(190, top, "not measured yet", "faint"))
            top += 16
        top += 14
    parts.append(_text(16, top + 8, "Less is better. Each group has a scale of its own.", "faint"))
    return _svg(top + 24, parts)


def ratios(rows: Sequence[Row]) -> str:
    """Draw each figure that has a goal as a share of it, cut where it is far over it."""
    bars = [row for row in rows if row.goal != COMPARED and not math.isnan(row.measured)]
    goal, top, bottom = NAMES + 170, 40, 40 + 38 * len(bars)
    parts = [
        f'<line x1="{goal}" y1="28" x2="{goal}" y2="{bottom}"/>',
        _text(goal, 20, "the most it may be", "faint", anchor="middle"),
    ]
    for row in bars:
        what, against = _halves(row.name)
        share, missed = row.measured / row.goal, row.measured > row.goal
        length = (goal - NAMES - 10) * min(max(share, 0), MOST)
        label = f"{row.measured:.2f}, at most {row.goal:g}"
        if missed:
            label = f"{'» ' if share > MOST else ''}{label}: missed"
        parts += [
            _text(NAMES, top + (12 if against else 19), what, "end"),
            _text(NAMES, top + 27, against, "faint end"),
            _bar(NAMES + 10, top + 4, length, "over" if missed else "ours"),
            _text(max(NAMES + 10 + length, goal) + 8, top + 19, label, "missed" if missed else ""),
        ]
        top += 38
    return _svg(bottom + 12, parts)


def _halves(name: str) -> tuple[str, str]:
    """Return what is measured, and against what."""
    what, slash, against = name.partition(" / ")
    return (what, f"/ {against}") if slash else (what.partition(": ")[0], what.partition(": ")[2])


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.3g} ms"


def _bar(left: float, top: float, width: float, kind: str) -> str:
    return f'<rect class="bar {kind}" x="{left}" y="{top}" width="{max(width, 1):.0f}" height="20" rx="2"/>'


def _text(left: float, base: float, text: str, kind: str = "", anchor: str = "") -> str:
    anchored = f' text-anchor="{anchor}"' if anchor else ""
    return f'<text class="{kind}" x="{left:.0f}" y="{base:.0f}"{anchored}>{escape(text)}</text>'


def _svg(height: int, parts: list[str]) -> str:
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    paper = '<rect class="paper" width="100%" height="100%"/>'
    return "\n".join(
        [head, f"<style>{STYLE}</style>", paper, *(part for part in parts if part), "</svg>", ""]
    )
