"""Formats the current time like `base.clock`, without importing `datetime`, which is too slow for a 30 ms hook."""

import re
import time

_STAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)")


def format_timestamp(nanoseconds: int | None = None) -> str:
    """Return a time, by default now, as 2026-02-01T12:00:00.000000Z."""
    at = time.time_ns() if nanoseconds is None else nanoseconds
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(at // 10**9))}.{at // 1000 % 10**6:06d}Z"


def seconds_since(text: object) -> float:
    """Return the age of a timestamp in seconds; infinity if it does not parse."""
    found = _STAMP.match(text) if isinstance(text, str) else None
    if found is None:
        return float("inf")
    year, month, day, hours, minutes, seconds = map(int, found.groups())
    then = _days_since_epoch(year, month, day) * 86_400 + hours * 3600 + minutes * 60 + seconds
    return max(0.0, time.time() - then)


def _days_since_epoch(year: int, month: int, day: int) -> int:
    """Return the days since 1970-01-01. Years start in March here, so that a leap day comes last."""
    year -= month < 3
    in_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return year * 365 + year // 4 - year // 100 + year // 400 + in_year - 719_468
