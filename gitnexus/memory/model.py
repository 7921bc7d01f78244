"""The records of notes and their use, and the `memory` section of the settings."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

from gitnexus.base.errors import Invalid
from gitnexus.base.record import Count, NotEmpty, Record, SchemaVersion, StoredRecord, Timestamp

CATEGORIES = {
    "empirical": "what this project found out by trying",
    "external": "limits and facts that come from outside and may change there",
    "pattern": "recipes for the daily work here",
}
SIGNALS = ("daysSinceAccess", "cyclesSinceAccess", "accessesAtMost", "bytesAtLeast")
_NEEDED = 3


@dataclass(frozen=True, slots=True)
class Note:
    """A Markdown file below `memory/`; the name is without `.md`, the text without the count."""

    name: str
    text: str
    rev: int = 0

    @property
    def path(self) -> str:
        return f"memory/{self.name}.md"

    @property
    def size(self) -> int:
        return len(self.text.encode("utf-8", "surrogateescape"))


class AccessLogRow(StoredRecord):
    """A line of `memory-access.jsonl`: how often a file was read, and who read it last."""

    _camel_case: ClassVar[bool] = False

    path: NotEmpty
    last_accessed_ts: Timestamp
    access_count: Count
    last_agent: NotEmpty
    schema_version: SchemaVersion | None = None


class GcThresholds(Record):
    """The limits from which a note counts as unused; None disables a limit."""

    days_since_access: int | None = None
    cycles_since_access: int | None = None
    accesses_at_most: int | None = None
    bytes_at_least: int | None = None


class GcSettings(GcThresholds):
    """How unused notes are deleted."""

    automatic: bool = False


class MemorySettings(Record):
    """The `memory` section of the settings."""

    categories: tuple[str, ...] = ()
    overlap: float = 0.5
    gc: GcSettings = GcSettings()

    @property
    def prefixes(self) -> tuple[str, ...]:
        """The category prefixes that a name may have."""
        return (*CATEGORIES, *self.categories)

    @property
    def looked_at(self) -> GcThresholds:
        """The thresholds for a report: those that are set, and our defaults for the usual three."""
        given = {name: value for name, value in vars(self.gc).items() if name != "automatic" and value is not None}
        return GcThresholds(**{**_USUAL, **given})


_USUAL = {"days_since_access": 90, "cycles_since_access": 10, "accesses_at_most": 2}


def parse_memory_settings(value: dict[str, Any]) -> MemorySettings:
    """Return the checked settings. Raises: Invalid, naming the error."""
    found = MemorySettings.from_value(value, "settings.json: memory")
    for name in found.categories:
        if not name.isascii() or not name.isalnum() or not name.islower():
            raise Invalid(f"settings.json: memory: the category {name[:40]!r} should be one word in lower-case letters")
    if not 0 < found.overlap <= 1:
        raise Invalid("settings.json: memory: overlap should be above 0 and at most 1")
    set_ones = [name for name, value in vars(found.gc).items() if name != "automatic" and value is not None]
    if any(value < 0 for name in set_ones if (value := getattr(found.gc, name)) is not None):
        raise Invalid("settings.json: memory: gc: a threshold cannot be negative")
    if found.gc.automatic and len(set_ones) < _NEEDED:
        raise Invalid(
            f"settings.json: memory: gc: automatic needs at least {_NEEDED} signals, {len(set_ones)} "
            f"{'is' if len(set_ones) == 1 else 'are'} set",
            hint=f"set three of {', '.join(SIGNALS)}, or automatic to false",
        )
    return found


@dataclass(frozen=True, slots=True)
class ClosedCycle:
    """When a cycle was closed, and its topic. The room `cycle` provides it."""

    at: datetime
    name: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class NoteUse:
    """The use of a note, over all harnesses and worktrees of this repository."""

    count: int = 0
    last: datetime | None = None
    reader: str | None = None


@dataclass(frozen=True, slots=True)
class NoteTimes:
    """When a note was created, and when it last changed."""

    made: datetime
    changed: datetime
