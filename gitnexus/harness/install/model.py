"""The records of an installation: what it wants in files, and what it has written to them."""

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
    """A file that is completely ours; `text` carries the signature by which it is recognised."""

    text: str


@dataclass(frozen=True, slots=True)
class Put:
    """A member of a JSON object below these keys. `ours` are servers; a plain setting is only put into a new file."""

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
    """Lines between our marks at the end of a Markdown, TOML or ignore file. `table` is the TOML table it adds."""

    body: str
    table: Keys = ()


Piece = Whole | Put | Append | Block


@dataclass(frozen=True, slots=True)
class WantedFile:
    """One file and its wanted content. `strict` if the program ignores the whole file when it has a comment."""

    path: Path
    kind: Kind
    pieces: tuple[Piece, ...]
    strict: bool = False


class HeldFile(StoredRecord):
    """What we put into one file. `inserted` are offsets and texts in order of insertion.

    `before` is the digest of the file before the insertions, empty if it did not exist.
    """

    path: str
    kind: Kind
    owners: tuple[str, ...]
    after: str
    before: str | None = None
    inserted: tuple[tuple[Any, ...], ...] = ()
    puts: tuple[tuple[str, ...], ...] = ()
    appends: tuple[tuple[str, ...], ...] = ()
    made: tuple[tuple[str, ...], ...] = ()


class ProgramRecord(StoredRecord):
    """One installed program: our version, the plan, and whether the installation was completed."""

    version: str
    plan: str
    whole: bool = True


class InstallRecord(StoredRecord):
    """Everything installed in one scope of one folder."""

    harnesses: dict[str, ProgramRecord]
    files: tuple[HeldFile, ...] = ()
    folders: tuple[str, ...] = ()

    def held(self, path: str) -> HeldFile | None:
        """Return what we put into a file."""
        return next((held for held in self.files if held.path == path), None)
