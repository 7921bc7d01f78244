"""The four levels of permission, each of which implies those below it."""

from enum import Enum


class Level(Enum):
    """The permission of one project on another."""

    NONE = "none"
    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"

    def covers(self, needed: "Level") -> bool:
        """Return True if this level includes `needed`."""
        return _ORDER[self] >= _ORDER[needed]


_ORDER = {level: number for number, level in enumerate(Level)}


def lower_level(one: Level, other: Level) -> Level:
    """Return the lower of two levels."""
    return other if one.covers(other) else one
