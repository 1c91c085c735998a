"""A chart of statuses: a bar for each group, in parts. SVG, without anything else."""

from __future__ import annotations

from clada.batch.run_job import PLANNED, STATUSES
from clada.text.escape import escape_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

COLOURS = dict(zip(STATUSES, ("#4c9f70", "#c8553d", "#e0a458", "#6d7b8d", "#3b3b3b", "#5b8bd0"), strict=True))
MOST = 40  # bars
LEFT, WIDTH, ROW, TOP = 220, 560, 26, 70
LONGEST = 32  # characters of a name


def chart(title: str, groups: Sequence[tuple[str, Mapping[str, int]]]) -> str:
    """Return a chart of how many of each group have which status, as shares."""
    shown = groups[:MOST]
    height = TOP + ROW * len(shown) + 20
    total = LEFT + WIDTH + 120
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{height}" role="img"',
        f' viewBox="0 0 {total} {height}" font-family="sans-serif" font-size="12">',
        f"<title>{_escaped(title)}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="12" y="24" font-size="16">{_escaped(title)}</text>',
        *_legend(shown),
    ]
    for number, (name, counts) in enumerate(shown):
        parts += _bar(TOP + ROW * number, name, counts)
    return "\n".join([*parts, "</svg>\n"])


def _legend(groups: Sequence[tuple[str, Mapping[str, int]]]) -> Iterator[str]:
    """Yield what each colour means; that of dry runs only where there are any, because they are rare."""
    has_plans = any(counts.get(PLANNED) for _name, counts in groups)
    named = [status for status in STATUSES if status != PLANNED or has_plans]
    for number, status in enumerate(named):
        colour = COLOURS[status]
        left = LEFT + 100 * number
        yield f'<rect x="{left}" y="40" width="12" height="12" fill="{colour}"/>'
        yield f'<text x="{left + 17}" y="50">{status}</text>'


def _bar(top: int, name: str, counts: Mapping[str, int]) -> Iterator[str]:
    total = sum(counts.values()) or 1
    short = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
    yield f'<text x="{LEFT - 8}" y="{top + 14}" text-anchor="end">{_escaped(short)}</text>'
    left = float(LEFT)
    for status, colour in COLOURS.items():
        width = WIDTH * counts.get(status, 0) / total
        if width:
            told = _escaped(f"{name}: {counts[status]} {status}")
            yield (
                f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="18" fill="{colour}">'
                f"<title>{told}</title></rect>"
            )
        left += width
    share = counts.get(STATUSES[0], 0) / total
    yield f'<text x="{LEFT + WIDTH + 8}" y="{top + 14}">{share:.1%} of {total:,}</text>'


def _escaped(text: str) -> str:
    shown = escape_controls(text)
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
