"""The four levels of permission, each of which implies those below it."""

from enum import Enum


class Level(Enum):
    """What one project may do to another."""

    NONE = "none"
    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"

    def covers(self, needed: "Level") -> bool:
        """True if who holds this may do what needs `needed`."""
        return _ORDER[self] >= _ORDER[needed]


_ORDER = {level: number for number, level in enumerate(Level)}


def lower_level(one: Level, other: Level) -> Level:
    """Return the lower of two levels."""
    return other if one.covers(other) else one
