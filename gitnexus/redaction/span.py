"""A part of a line that must be hidden, with the rule that found it."""

from typing import NamedTuple


class SecretSpan(NamedTuple):
    """A piece of a line that is to be hidden."""

    start: int
    end: int
    rule: str
