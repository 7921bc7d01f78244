"""The result of a redaction: the redacted text, and the positions of what was masked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import AnyStr, Generic, NamedTuple


@dataclass(frozen=True, slots=True)
class Hidden:
    """How many secrets one rule masked; never their values."""

    rule: str
    count: int


class SecretLocation(NamedTuple):
    """The location of a masked secret: its line in the redacted text, from 1, its length in bytes and its first byte.

    `start` counts the bytes of the original text from 0: a key of many lines is shown as one line.
    """

    rule: str
    line: int
    size: int
    start: int = 0

    def grown(self, by: int) -> "SecretLocation":
        """Return the location of a secret that is longer by some bytes."""
        return self._replace(size=self.size + by)


@dataclass(frozen=True, slots=True)
class Reveal:
    """A user's request to see a text unredacted. The caller that grants it records it with the reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class Redacted(Generic[AnyStr]):
    """A redacted text. `revealed` is set if nothing was masked because the user asked for that."""

    text: AnyStr
    hidden: tuple[Hidden, ...] = ()
    revealed: Reveal | None = None
    # The first 10,000 of them, in the order of the text.
    places: tuple[SecretLocation, ...] = field(default=(), compare=False)

    @property
    def count(self) -> int:
        return sum(each.count for each in self.hidden)

    def describe(self) -> str:
        """Return `3 secrets hidden (2 github-token, 1 private-key)`, or an empty text."""
        return describe_hidden(self.hidden)


def describe_hidden(hidden: tuple[Hidden, ...]) -> str:
    """Return how much is masked as a phrase; empty if nothing is."""
    total = sum(each.count for each in hidden)
    if not total:
        return ""
    rules = ", ".join(f"{each.count} {each.rule}" for each in hidden)
    return f"{total} secret{'s' if total > 1 else ''} hidden ({rules})"


def hidden_by_rule(counts: Mapping[str, int]) -> tuple[Hidden, ...]:
    """Return the counts by rule, the most frequent first."""
    return tuple(Hidden(rule, count) for rule, count in sorted(counts.items(), key=lambda row: (-row[1], row[0])))
