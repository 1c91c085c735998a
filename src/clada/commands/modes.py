"""File modes as chmod and `mkdir -m` write them: read, judged and applied, without touching a file."""

from __future__ import annotations

from clada.values import Value

_SHIFTS = {"u": 6, "g": 3, "o": 0}
_BITS = {"r": 4, "w": 2, "x": 1, "X": 1}
_ALL = 0o777
_SPECIAL = 0o7000
_ANY_EXECUTE = 0o111
_OCTAL_DIGITS = frozenset("01234567")


class Step(Value):
    """One change of a symbolic mode, such as `go-w`: whose bits, `+ - =`, which bits or whose to copy."""

    who: str
    sign: str
    what: str


class Mode(Value):
    """A mode that was read: a number, or steps to take from an old mode to the new one."""

    number: int | None
    steps: tuple[Step, ...] = ()

    @property
    def special(self) -> bool:
        """Whether it touches setuid, setgid or sticky."""
        number = self.number or 0
        return number > _ALL or any("s" in step.what or "t" in step.what for step in self.steps)

    def applied(self, old: int, *, directory: bool, umask: int) -> int:
        """Return the permission bits that a file with the old ones has afterwards."""
        if self.number is not None:
            return self.number
        mode = old & _ALL
        for step in self.steps:
            mode = _applied(step, mode, directory=directory, umask=umask)
        return mode


def read_mode(text: str) -> Mode | None:
    """Return the mode that a text stands for, or None if it stands for none."""
    if text and _OCTAL_DIGITS.issuperset(text):
        number = int(text, 8)
        return Mode(number) if number <= _ALL | _SPECIAL else None
    steps: list[Step] = []
    for clause in text.split(","):
        found = _steps(clause)
        if not found:
            return None
        steps.extend(found)
    return Mode(None, tuple(steps))


def judged_mode(text: str) -> Mode:
    """Return the mode that a text stands for: the policy has found one in it, and no special bits."""
    mode = read_mode(text)
    if mode is None:
        raise ValueError(text)
    return mode


def _steps(clause: str) -> list[Step]:
    """Return the steps of one clause (`u+r-w` has two); none if it is not one."""
    rest = clause.lstrip("ugoa")
    who = clause[: len(clause) - len(rest)]
    steps: list[Step] = []
    while rest:
        sign, rest = rest[0], rest[1:]
        after = rest.lstrip("rwxXstugo")
        what = rest[: len(rest) - len(after)]
        if sign not in "+-=" or not _sensible(what):
            return []
        steps.append(Step(who, sign, what))
        rest = after
    return steps


def _sensible(what: str) -> bool:
    """Whether these are bits, or one class whose bits are copied; not both."""
    return what in _SHIFTS or not set(what) & set(_SHIFTS)


def _applied(step: Step, mode: int, *, directory: bool, umask: int) -> int:
    classes = "ugo" if not step.who or "a" in step.who else step.who
    bits = _bits(step.what, mode, directory=directory)
    reach = sum(7 << _SHIFTS[name] for name in set(classes))
    change = sum(bits << _SHIFTS[name] for name in set(classes))
    if not step.who:
        change &= ~umask
    if step.sign == "=":
        return (mode & ~reach) | change
    return mode | change if step.sign == "+" else mode & ~change


def _bits(what: str, mode: int, *, directory: bool) -> int:
    if what in _SHIFTS:
        return (mode >> _SHIFTS[what]) & 7
    bits = 0
    for letter in what:
        if letter != "X" or directory or mode & _ANY_EXECUTE:
            bits |= _BITS.get(letter, 0)
    return bits
