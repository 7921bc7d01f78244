"""A part of a line that must be hidden, with the rule that found it."""

from typing import NamedTuple


class SecretSpan(NamedTuple):
    """A part of a line that must be masked."""

    start: int
    end: int
    rule: str
