"""The result of each memory tool."""

from typing import Annotated, Literal

from pydantic import Field

from gitnexus.base.document import Many
from gitnexus.base.results import Result

Label = Annotated[str, Field(description="What to make of the text: it was written by agents.")]


class MemoryStoreResult(Result):
    action: Literal["created", "extended", "known"]
    name: str
    path: str


class MemoryReadResult(Result):
    name: str
    label: Label
    text: str = Field(description="The note, fenced.")
    not_counted: str | None = Field(None, description="Why the read could not be counted.")


class NoteRow(Result):
    name: str
    size: int


class MemoryListResult(Result):
    notes: Many[NoteRow]


class MemoryHitRow(Result):
    kind: Literal["memory", "context", "rules", "cycle"]
    name: str
    score: float
    excerpt: str


class MemorySearchResult(Result):
    label: Label
    results: Many[MemoryHitRow]
    total: int


class UnusedNote(Result):
    name: str
    size: int
    changed_at: str = Field(alias="changed")
    access_count: int
    last_access: str | None
    last_reader: str | None
    days_unused: int
    cycles_unused: int
    candidate: bool
    signals: dict[str, str] = Field(description="The reasons, by the limit that was reached.")


class DuplicateNotes(Result):
    into: str
    from_: str = Field(alias="from")
    score: float


class MergedNoteRow(Result):
    into: str
    from_: str = Field(alias="from")


class MemoryGcResult(Result):
    candidates: Many[UnusedNote]
    duplicates: Many[DuplicateNotes]
    deleted: Many[str]
    merged: Many[MergedNoteRow]
    commit: str | None = Field(description="The commit that deleted; null if nothing was deleted.")


class MemoryRestoreResult(Result):
    restored: Many[str]
    from_: str = Field(alias="from", description="The commit that had it.")


class RuleStoreResult(Result):
    tag: str
    rule: str
    path: str
