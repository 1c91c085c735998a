"""File modes of chmod and `mkdir -m`, such as `755` and `u+x,go-w`: parsed, and applied to bits."""

from __future__ import annotations

import re

from clada.values import Value

_SHIFTS = {"u": 6, "g": 3, "o": 0}
_BITS = {"r": 4, "w": 2, "x": 1, "X": 1}
_ALL = 0o777
_SPECIAL = 0o7000
_ANY_EXECUTE = 0o111
_OCTAL_DIGITS = frozenset("01234567")
_CLAUSE = re.compile(r"([ugoa]*)((?:[-+=](?:[ugo]|[rwxXst]*))+)")
_STEP = re.compile(r"[-+=][^-+=]*")


class ModeStep(Value):
    """One change of a symbolic mode, such as `go-w`."""

    who: str  # letters of u, g, o and a; empty for all, less the umask
    sign: str  # + - =
    what: str  # letters of r, w, x, X, s and t; or one of u, g, o, whose bits are copied

    def apply(self, mode: int, *, directory: bool, umask: int) -> int:
        """Return the permission bits after this step."""
        if self.what in _SHIFTS:
            bits = (mode >> _SHIFTS[self.what]) & 7
        else:
            # X is x, but only for directories and files that are executable already.
            ignored = "" if directory or mode & _ANY_EXECUTE else "X"
            bits = sum({_BITS.get(letter, 0) for letter in self.what if letter != ignored})
        who = set("ugo" if not self.who or "a" in self.who else self.who)
        reach = sum(7 << _SHIFTS[name] for name in who)
        change = sum(bits << _SHIFTS[name] for name in who)
        if not self.who:
            change &= ~umask
        if self.sign == "=":
            return (mode & ~reach) | change
        return mode | change if self.sign == "+" else mode & ~change


class Mode(Value):
    """A parsed mode: a number, or steps from an old mode to the new one."""

    number: int | None
    steps: tuple[ModeStep, ...] = ()

    @property
    def special(self) -> bool:
        """Whether it touches setuid, setgid or sticky."""
        number = self.number or 0
        return number > _ALL or any("s" in step.what or "t" in step.what for step in self.steps)

    def apply(self, old: int, *, directory: bool, umask: int) -> int:
        """Return the permission bits of a file that had the old ones."""
        if self.number is not None:
            return self.number
        mode = old & _ALL
        for step in self.steps:
            mode = step.apply(mode, directory=directory, umask=umask)
        return mode


def read_mode(text: str) -> Mode | None:
    """Return the mode of a text, or None if it is not a mode."""
    if text and _OCTAL_DIGITS.issuperset(text):
        number = int(text, 8)
        return Mode(number) if number <= _ALL | _SPECIAL else None
    steps: list[ModeStep] = []
    for clause in text.split(","):
        found = _read_steps(clause)
        if not found:
            return None
        steps.extend(found)
    return Mode(None, tuple(steps))


def parse_checked_mode(text: str) -> Mode:
    """Return the mode of a text that the policy has already checked."""
    mode = read_mode(text)
    if mode is None:
        raise ValueError(text)
    return mode


def _read_steps(clause: str) -> list[ModeStep]:
    """Return the steps of one clause (`u+r-w` has two); none if it is not valid."""
    found = _CLAUSE.fullmatch(clause)
    return [ModeStep(found[1], step[0], step[1:]) for step in _STEP.findall(found[2])] if found else []
