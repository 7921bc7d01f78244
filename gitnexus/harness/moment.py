"""The time as `base.clock.precise` writes it, without `datetime`: a hook that lives 30 ms does not import it."""

import re
import time

_STAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)")


def stamp(nanoseconds: int | None = None) -> str:
    """Return a time as 2026-02-01T12:00:00.000000Z, now if none is given."""
    at = time.time_ns() if nanoseconds is None else nanoseconds
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(at // 10**9))}.{at // 1000 % 10**6:06d}Z"


def seconds_since(text: object) -> float:
    """Return how long ago a stamp was; for what is none, longer than anything lasts."""
    found = _STAMP.match(text) if isinstance(text, str) else None
    if found is None:
        return float("inf")
    year, month, day, hours, minutes, seconds = map(int, found.groups())
    then = _days(year, month, day) * 86_400 + hours * 3600 + minutes * 60 + seconds
    return max(0.0, time.time() - then)


def _days(year: int, month: int, day: int) -> int:
    """Return the days since 1970: years begin in March here, so that the day that is not always there comes last."""
    year -= month < 3
    in_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return year * 365 + year // 4 - year // 100 + year // 400 + in_year - 719_468
