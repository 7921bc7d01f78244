"""Defines the `Objects` protocol (read and write git objects and refs), its values, and the object id computations."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gitnexus.base.errors import NexusError
from gitnexus.git.child import GitFailed

__all__ = ["Author", "BlobId", "Content", "Entry", "GitFailed", "Objects", "RefLocked", "blob_id"]

# What to do where git could not write a ref.
UNMOVED = "nothing was changed; fix that (free space? permissions?), then run the command again"
# What to do where an object cannot be read.
UNREAD = "git nexus doctor --fix restores what it can; git fsck shows what the repository lacks"
FILE = 0o100644
FOLDER = 0o040000


class RefLocked(NexusError):
    """Another process holds the lock file of the ref, or left it behind when it died."""

    code = 7
    name = "E_BUSY"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a tree."""

    mode: int
    oid: str

    @property
    def is_folder(self) -> bool:
        return self.mode == FOLDER

    @property
    def is_file(self) -> bool:
        return self.mode in (FILE, 0o100755)


@dataclass(frozen=True, slots=True)
class Author:
    """The author of a commit, with the time."""

    name: str
    email: str
    seconds: int
    offset_minutes: int = 0

    @property
    def zone(self) -> str:
        """The time zone offset as git writes it: +0130."""
        sign = "-" if self.offset_minutes < 0 else "+"
        hours, minutes = divmod(abs(self.offset_minutes), 60)
        return f"{sign}{hours:02d}{minutes:02d}"

    @property
    def ident(self) -> str:
        """The identity line of a commit object."""
        return f"{self.name} <{self.email}> {self.seconds} {self.zone}"


class BlobId(str):
    """The id of a blob that already is in the repository: it is put into a tree without being read."""

    __slots__ = ()


# What a file of a new tree is to hold; None deletes it.
Content = bytes | BlobId | None


class Objects(Protocol):
    """Access to an object database and its refs."""

    def tip(self, ref: str) -> str | None:
        """Return the commit that `ref` points to, or None."""

    def tree_of(self, commit: str) -> str:
        """Return the id of the commit's tree."""

    def entries(self, tree: str) -> Mapping[str, Entry]:
        """Return the entries of a tree; a name that is not UTF-8 keeps its bytes as surrogates."""

    def find(self, tree: str, path: str) -> Entry | None:
        """Return the entry at `path` below `tree`, or None."""

    def blob(self, oid: str) -> bytes:
        """Return a blob's bytes."""

    def blobs(self, oids: Sequence[str]) -> Iterator[bytes]:
        """Yield the bytes of many blobs in order, pipelined; nothing else may be read until the last one is taken."""

    def write_commit(
        self, *, parents: Sequence[str], changes: Mapping[str, Content], message: str, author: Author
    ) -> tuple[str, str]:
        """Write the first parent's tree with `changes` (None deletes) as a commit; return its id and its tree's.

        No ref moves.
        """

    def holds(self, commit: str, files: Mapping[str, Content]) -> bool:
        """Return True if a commit that was just written, its trees and these files of it are all in the repository."""

    def swap(self, ref: str, old: str | None, new: str | None, why: str) -> bool:
        """Move `ref` from `old` to `new` (None: it does not exist); return False if it is not at `old`.

        Raises: RefLocked, GitFailed.
        """

    def close(self) -> None:
        """End child processes and close handles."""


def blob_id(data: bytes, object_format: str) -> str:
    """Return the id that git gives a blob of these bytes."""
    import hashlib  # 3 ms, and a plain command hashes nothing

    digest = hashlib.sha256 if object_format == "sha256" else hashlib.sha1
    return digest(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest()


def commit_object_bytes(tree: str, parents: Sequence[str], message: str, author: Author) -> bytes:
    """Return the bytes of a commit object."""
    above = "".join(f"parent {parent}\n" for parent in parents)
    who = author.ident
    return f"tree {tree}\n{above}author {who}\ncommitter {who}\n\n{message}".encode()


def changes_by_folder(changes: Mapping[str, Content]) -> dict[str, Any]:
    """Return the changes as nested dictionaries, one for each folder."""
    root: dict[str, Any] = {}
    # Deletions first: a file may make room for a folder of the same name.
    for path, data in sorted(changes.items(), key=lambda item: (item[1] is not None, item[0])):
        *folders, name = path.split("/")
        at = root
        for folder in folders:
            below = at.get(folder)
            if not isinstance(below, dict):
                below = at[folder] = {}
            at = below
        if not (data is None and isinstance(at.get(name), dict)):
            at[name] = data
    return root
