"""Dates as touch takes them, in nanoseconds since 1970; without a zone they are local."""

from __future__ import annotations

import time
from datetime import datetime

SECOND = 10**9
MAX_DIGITS = 17  # of seconds that every system can count
DIGITS = frozenset("0123456789")
# How many digits -t takes for month, day, hour and minute, with a year of two and of four.
BARE, WITH_YEAR, WITH_CENTURY = 8, 10, 12
CENTURY_TURN = 69  # two-digit years from here on are of the twentieth century


def read_date(text: str) -> int | None:
    """Return the time of touch -d: an ISO date, with or without a time and a zone, `@SECONDS`, or `now`."""
    text = text.strip()
    if text == "now":
        return time.time_ns()
    if text.startswith("@"):
        return _seconds(text[1:])
    if text[4:5] != "-" or text[7:8] != "-" or text[10:11] not in ("", " ", "T", "t"):
        return None
    moment = text.removesuffix(" UTC") + ("Z" if text.endswith(" UTC") else "")
    try:
        return _nanoseconds(datetime.fromisoformat(moment.replace(" +", "+").replace(" -", "-")))
    except (ValueError, OverflowError, OSError):
        return None


def read_stamp(text: str) -> int | None:
    """Return the time of touch -t: [[CC]YY]MMDDhhmm[.ss]."""
    digits, dot, seconds = text.partition(".")
    year = _year(digits)
    if year is None or not DIGITS.issuperset(digits + seconds) or len(seconds) != (2 if dot else 0):
        return None
    rest = digits[-BARE:]
    month, day, hour, minute = (int(rest[at : at + 2]) for at in range(0, BARE, 2))
    try:
        moment = datetime(year, month, day, hour, minute, int(seconds or 0))  # noqa: DTZ001 (local time is meant)
        return _nanoseconds(moment)
    except (ValueError, OverflowError, OSError):
        return None


def _year(digits: str) -> int | None:
    if not DIGITS.issuperset(digits):
        return None
    if len(digits) == BARE:
        return time.localtime().tm_year
    if len(digits) == WITH_CENTURY:
        return int(digits[:4])
    if len(digits) == WITH_YEAR:
        year = int(digits[:2])
        return year + (1900 if year >= CENTURY_TURN else 2000)
    return None


def _seconds(text: str) -> int | None:
    whole, dot, fraction = text.removeprefix("-").partition(".")
    if (
        not whole
        or not DIGITS.issuperset(whole + fraction)
        or len(whole) > MAX_DIGITS
        or (dot and not fraction)
    ):
        return None
    nanoseconds = int(whole) * SECOND + int(fraction[:9].ljust(9, "0"))
    return -nanoseconds if text.startswith("-") else nanoseconds


def _nanoseconds(moment: datetime) -> int:
    """Return a time in nanoseconds since 1970, exactly: a float could not hold them."""
    return int(moment.replace(microsecond=0).timestamp()) * SECOND + moment.microsecond * 1000
