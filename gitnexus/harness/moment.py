"""The time as `base.clock.precise` writes it, without `datetime`: a hook that lives 30 ms does not import it."""

import calendar
import time


def stamp(nanoseconds: int | None = None) -> str:
    """Return a time as 2026-02-01T12:00:00.000000Z, now if none is given."""
    at = time.time_ns() if nanoseconds is None else nanoseconds
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(at // 10**9))}.{at // 1000 % 10**6:06d}Z"


def seconds_since(text: object) -> float:
    """Return how long ago a stamp was; for what is none, longer than anything lasts."""
    try:
        then = calendar.timegm(time.strptime(str(text)[:19], "%Y-%m-%dT%H:%M:%S"))
    except (ValueError, OverflowError):
        return float("inf")
    return max(0.0, time.time() - then)
