"""What an installation wants in files, and what is remembered of what it put there."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gitnexus.base.record import StoredRecord

Kind = Literal["whole", "json", "toml", "markdown", "ignore"]
Scope = Literal["user", "project"]
SCOPES: tuple[Scope, ...] = ("project", "user")
Keys = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Whole:
    """A file that is ours from the first byte to the last; `text` carries the mark by which we know it again."""

    text: str


@dataclass(frozen=True, slots=True)
class Put:
    """A member of a JSON object, below these keys. `ours` are servers; a plain setting is only put into a new file."""

    keys: Keys
    value: Any
    only_new: bool = False


@dataclass(frozen=True, slots=True)
class Append:
    """An item of a JSON list, below these keys."""

    keys: Keys
    value: Any


@dataclass(frozen=True, slots=True)
class Block:
    """Lines between our marks, at the end of a Markdown, TOML or ignore file. `table` is what it adds to TOML."""

    body: str
    table: Keys = ()


Piece = Whole | Put | Append | Block


@dataclass(frozen=True, slots=True)
class Want:
    """One file and what should be in it. `strict` if the program passes over the whole file for one comment in it."""

    path: Path
    kind: Kind
    pieces: tuple[Piece, ...]
    strict: bool = False


class Held(StoredRecord):
    """What we put into one file. `inserted` are places and texts in the order in which they came in; `before` is the
    digest of the file as it was then, none if it was not there."""

    path: str
    kind: Kind
    owners: tuple[str, ...]
    after: str
    before: str | None = None
    inserted: tuple[tuple[Any, ...], ...] = ()
    puts: tuple[tuple[str, ...], ...] = ()
    appends: tuple[tuple[str, ...], ...] = ()
    made: tuple[tuple[str, ...], ...] = ()


class Program(StoredRecord):
    """One program that was installed for: by which version of ours, by which plan, and whether to the end."""

    version: str
    plan: str
    whole: bool = True


class Installed(StoredRecord):
    """All that is installed at one scope of one place."""

    harnesses: dict[str, Program]
    files: tuple[Held, ...] = ()
    folders: tuple[str, ...] = ()

    def held(self, path: str) -> Held | None:
        """Return what we have in a file."""
        return next((held for held in self.files if held.path == path), None)
