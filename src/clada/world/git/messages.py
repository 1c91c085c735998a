"""The words of a commit: a subject, the operations one a line, and trailers that git reads."""

from __future__ import annotations

from clada.text.escape import escape_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MAX_LINES = 100
MAX_LINE = 200  # characters
MAX_NAMED = 10  # files that a note names


def commit_message(
    kind: str, time: str, subject: str | None, body: Sequence[str], numbers: Mapping[str, int | None]
) -> str:
    """Return the message, with numbers of runs as trailers; {run} and {time} in a given subject are those."""
    run = numbers.get("Clada-Run")
    given = [escape_controls(line.rstrip()) for line in (subject or "").strip().splitlines()]
    first = "\n".join(given).replace("{run}", str(run or "")).replace("{time}", time)
    lines = [f"- {_bounded(line)}" for line in body[:MAX_LINES]]
    if len(body) > MAX_LINES:
        lines.append(f"and {len(body) - MAX_LINES} more")
    trailers = [f"{name}: {number}" for name, number in numbers.items() if number]
    return "\n\n".join(
        "\n".join(part) for part in ([first or f"[clada:{kind}] {time}"], lines, trailers) if part
    )


def _bounded(line: str) -> str:
    shown = escape_controls(line)
    return shown if len(shown) <= MAX_LINE else f"{shown[: MAX_LINE - 1]}…"


def listed(paths: Sequence[str]) -> str:
    """Return some of the paths, and how many more there are."""
    names = ", ".join(escape_controls(path) for path in paths[:MAX_NAMED])
    return f"{names} and {len(paths) - MAX_NAMED} more" if len(paths) > MAX_NAMED else names
