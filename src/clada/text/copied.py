"""What copying puts into a search text: a code fence, the path, line numbers; dots for what is left out."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Block = Sequence[bytes]  # lines, without their breaks

FENCE, PATH, NUMBERS = "a code fence", "the path above it", "line numbers"
FENCES = (b"```", b"~~~")
SEPARATORS = (b"|", b":", "→".encode(), "│".encode(), b"\t")  # between a line number and its line
SPACED = (b"|", b":", "│".encode())  # those behind which a blank may follow that is not the line's
DOTS = (b"...", b"# ...", b"// ...", "…".encode())


def without_copied(old: Block, new: Block, path: bytes) -> Iterator[tuple[Block, Block, str]]:
    """Yield a search text and its replacement without what copying has put into them, and what that was."""
    if not old:
        return
    unfenced = _without_fence(old)
    if unfenced is not None:
        yield unfenced, _without_fence(new) or new, FENCE
        old, new = unfenced, _without_fence(new) or new
    if len(old) > 1 and _is_path(old[0], path):
        yield old[1:], new[1:] if new and _is_path(new[0], path) else new, PATH
    numbered = _without_numbers(old, rising=True)
    unnumbered = _without_numbers(new, rising=False) if numbered else None
    if numbered and unnumbered:
        yield numbered[0], unnumbered[0], NUMBERS
        if numbered[1] is not None:  # a blank after each sign may be of the copy, or of the lines
            yield numbered[1], unnumbered[1] or unnumbered[0], NUMBERS


def _without_fence(lines: Block) -> Block | None:
    fenced = len(lines) > 2 and lines[0].startswith(FENCES) and lines[-1].strip() in FENCES  # noqa: PLR2004 (fences)
    return lines[1:-1] if fenced else None


def _is_path(line: bytes, path: bytes) -> bool:
    return line.strip(b" \t`*#:") == path


def _without_numbers(lines: Block, *, rising: bool) -> tuple[Block, Block | None] | None:
    """Return the lines without the numbers in front of all of them; as they are, where none has any.

    And the same without one blank more, if all have one behind a sign that is written with blanks. None where
    only some lines have a number; with `rising`, where none has, or they do not rise by one.
    """
    split = [_number_and_rest(line) for line in lines]
    numbers = [number for number, _, _ in split if number is not None]
    if not numbers and not rising:
        return lines, None
    if len(numbers) < len(lines) or (rising and not _rise(numbers)):
        return None
    rest = [line for _, line, _ in split]
    spaced = all(sign in SPACED and line.startswith(b" ") for _, line, sign in split if line.strip())
    return rest, [line[1:] for line in rest] if spaced else None


def _rise(numbers: Sequence[int]) -> bool:
    return len(numbers) > 1 and list(numbers) == list(range(numbers[0], numbers[0] + len(numbers)))


def _number_and_rest(line: bytes) -> tuple[int | None, bytes, bytes]:
    """Return the number of a line, what is behind it and the sign between them; None where it has none."""
    bare = line.lstrip(b" ")
    rest = bare.lstrip(b"0123456789")
    digits = bare[: len(bare) - len(rest)]
    separated = rest.lstrip(b" ")
    sign = next((sign for sign in SEPARATORS if separated.startswith(sign)), b"")
    if not digits or not sign or len(digits) > 9:  # noqa: PLR2004 (digits: no file has more lines)
        return None, line, b""
    return int(digits), separated.removeprefix(sign), sign


def around_dots(old: Block, new: Block) -> list[tuple[Block, Block]] | None:
    """Return the pieces between lines of dots, if both texts have the same ones; else None.

    None, too, where a piece is empty in the search text only: nobody knows where the other goes.
    """
    wanted, dots = _pieces(old)
    pieces, same = _pieces(new)
    if not dots or dots != same:
        return None
    both = [(piece, other) for piece, other in zip(wanted, pieces, strict=True) if piece or other]
    return both if all(piece for piece, _ in both) else None


def _pieces(lines: Block) -> tuple[list[Block], list[bytes]]:
    pieces: list[list[bytes]] = [[]]
    dots = []
    for line in lines:
        if line.strip() in DOTS:
            dots.append(line.strip())
            pieces.append([])
        else:
            pieces[-1].append(line)
    return list(pieces), dots
