"""The records of a parsed document: fields, sections, items and links, each with its line."""

from dataclasses import dataclass, field
from typing import Literal

from gitnexus.base.record import Record

STATUSES = ("planned", "active", "blocked", "done", "dropped")
Status = Literal["planned", "active", "blocked", "done", "dropped"]
# A problem makes `agenda check` fail; a hint is only printed.
Weight = Literal["problem", "hint"]


class DocFinding(Record):
    """A problem and its position: a word for programs, a sentence for people."""

    code: str
    path: str
    line: int
    message: str
    weight: Weight = "problem"


@dataclass(frozen=True, slots=True)
class FrontMatterField:
    """One field of the front matter. `start` and `end` are the position of its value, in characters."""

    name: str
    value: object
    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class DocSection:
    """A heading (`level` 1 to 6) or a label such as GOAL: (7), and the lines it covers, both ends included."""

    name: str
    id: str
    title: str
    level: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class ListItem:
    """A row of a list. `done` is None for a row without a box; `section` is the name of its section."""

    text: str
    id: str
    done: bool | None
    section: str
    depth: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class DocLink:
    """A link of a document: `kind` is that of a row in LINKS or DEPENDS, or empty for a link in the text."""

    kind: str
    target: str
    line: int
    section: str = ""


@dataclass(frozen=True, slots=True)
class Doc:
    """One Markdown document. `sound` is False if it could not be parsed completely: then it is never edited."""

    path: str
    raw: bytes
    text: str
    lines: tuple[str, ...]
    fields: dict[str, FrontMatterField] = field(default_factory=dict)
    # The first and last line of the front matter, fences included; 0 and 0 if there is none.
    front: tuple[int, int] = (0, 0)
    sections: tuple[DocSection, ...] = ()
    items: tuple[ListItem, ...] = ()
    links: tuple[DocLink, ...] = ()
    findings: tuple[DocFinding, ...] = ()
    sound: bool = True
    # The id that git gives `raw`, empty where nobody asked git.
    blob: str = ""

    @property
    def id(self) -> str:
        """The document's id, empty if it has none."""
        return self.word("ID")

    @property
    def status(self) -> str:
        """The status as written, empty if there is none."""
        return self.word("STATUS")

    @property
    def title(self) -> str:
        """The top heading, else the file name."""
        heading = next((one.title for one in self.sections if one.level == 1), "")
        return heading or self.word("TITLE") or self.id or self.path

    def word(self, name: str) -> str:
        """Return the text of a field, empty if it is missing or not text."""
        found = self.fields.get(name)
        return found.value if found is not None and isinstance(found.value, str) else ""

    def line_of(self, name: str) -> int:
        """Return the line of a field, 1 if it is missing."""
        found = self.fields.get(name)
        return found.line if found is not None else 1

    @property
    def steps(self) -> list[ListItem]:
        """The rows with a box."""
        return [one for one in self.items if one.done is not None]

    def cut(self, first: int, last: int) -> str:
        """Return lines, counted from 1, both ends included, with their own line ends."""
        return "".join(self.lines[max(first, 1) - 1 : last])
