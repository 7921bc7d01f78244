"""The result of a redaction: the text that may be shown, and which parts of it are hidden."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import AnyStr, Generic, NamedTuple


@dataclass(frozen=True, slots=True)
class Hidden:
    """How many secrets one rule hid. Never which."""

    rule: str
    count: int


class SecretLocation(NamedTuple):
    """Where a secret was hidden: the line of the text that is shown, from 1, how many bytes it had, and its first one.

    `start` counts the bytes of the text as it was, from 0: a key of many lines is shown as one.
    """

    rule: str
    line: int
    size: int
    start: int = 0

    def grown(self, by: int) -> "SecretLocation":
        """Return the place of a secret that goes on for so many bytes more."""
        return self._replace(size=self.size + by)


@dataclass(frozen=True, slots=True)
class Reveal:
    """A person's wish to see a text as it is. Whoever grants it writes it down, with the reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class Redacted(Generic[AnyStr]):
    """A text to show. `revealed` is set if nothing was hidden because somebody asked for that."""

    text: AnyStr
    hidden: tuple[Hidden, ...] = ()
    revealed: Reveal | None = None
    # The first 10,000 of them, in the order of the text.
    places: tuple[SecretLocation, ...] = field(default=(), compare=False)

    @property
    def count(self) -> int:
        return sum(each.count for each in self.hidden)

    def describe(self) -> str:
        """Return `3 secrets hidden (2 github-token, 1 private-key)`, or nothing."""
        return describe_hidden(self.hidden)


def describe_hidden(hidden: tuple[Hidden, ...]) -> str:
    """Return how much is hidden, in words; nothing if nothing is."""
    total = sum(each.count for each in hidden)
    if not total:
        return ""
    rules = ", ".join(f"{each.count} {each.rule}" for each in hidden)
    return f"{total} secret{'s' if total > 1 else ''} hidden ({rules})"


def hidden_by_rule(counts: Mapping[str, int]) -> tuple[Hidden, ...]:
    """Return the counts, the most frequent rule first."""
    return tuple(Hidden(rule, count) for rule, count in sorted(counts.items(), key=lambda row: (-row[1], row[0])))
