"""Reads the current time in UTC, and formats and parses timestamps in the one form that git nexus stores."""

from datetime import UTC, datetime, timedelta

# By how much the clock of another machine may be ahead of this one.
ELSEWHERE = timedelta(minutes=10)


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def format_timestamp(moment: datetime) -> str:
    """Return `moment` as 2026-02-01T12:00:00Z."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def format_precise_timestamp(moment: datetime) -> str:
    """Return `moment` with microseconds, to tell apart things created in the same second."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def is_future(text: str, today: datetime) -> bool:
    """Return True if a stamp is later than `today` by more than clocks differ. Stamps are compared as text."""
    return text > format_precise_timestamp(today + ELSEWHERE)


def unix_milliseconds(moment: datetime) -> int:
    """Return `moment` as milliseconds since 1970, for comparisons."""
    return int(moment.timestamp() * 1000)


def time_from_seconds(seconds: int) -> datetime:
    """Return the time for seconds since 1970; the nearest possible one for a number out of range."""
    return datetime.fromtimestamp(min(max(seconds, 0), 253_402_300_799), UTC)


def parse_timestamp(text: str | None) -> datetime | None:
    """Return the time in a stamp, None if it is not one."""
    try:
        found = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def format_age(then: datetime, today: datetime) -> str:
    """Return how long ago `then` was, as in `3 hours ago`."""
    seconds = max(0, int((today - then).total_seconds()))
    for size, word in ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= size:
            count = seconds // size
            return f"{count} {word}{'' if count == 1 else 's'} ago"
    return "now"
