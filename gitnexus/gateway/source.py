"""Where the reading tools read: the worktree as it lies on disk, or the tree of a commit; never what is denied."""

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.base.text import one_line
from gitnexus.gateway.bench import Bench
from gitnexus.gateway.reach import Reached, reached
from gitnexus.git.commits import tree_of
from gitnexus.git.objects import blob_id
from gitnexus.git.ondisk import Unfit, content
from gitnexus.git.private import PrivateGit, private
from gitnexus.git.revisions import commit_of, head_of
from gitnexus.git.rows import GITLINK, LINK, TreeEntry, blob, blobs, files, sizes
from gitnexus.git.walk import Base, Found, walked

LARGEST_READ = 16 * 2**20
_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class Item:
    """Something that can be listed; `kind` is file, link, submodule, or the reason why it is not entered."""

    path: str
    kind: str
    size: int


@dataclass(slots=True)
class Hidden:
    """How much was left out because it is denied. Its names are not told."""

    count: int = field(default=0)


class Source(Protocol):
    """What can be listed and read."""

    hidden: Hidden

    def items(self, below: str) -> Iterator[Item]:
        """Yield what lies at or below a path, '' for everything, by name."""

    def texts(self, below: str, largest: int) -> Iterator[tuple[str, bytes]]:
        """Yield the files at or below a path that are not larger than `largest`, with their bytes."""

    def read(self, path: str) -> bytes:
        """Return one file. Raises: NotFound, Invalid, DeniedByPolicy."""


@contextmanager
def opened(bench: Bench, revision: str) -> Iterator[Source]:
    """Open the commit that `revision` names, or the worktree if it names none. Raises: Invalid, NotFound."""
    with private(bench.repo) as git:
        if revision:
            yield CommitSource(bench, git, tree_of(git, commit_of(bench.repo, git, revision)))
        else:
            yield WorktreeSource(bench, git)


class CommitSource:
    """The files of a commit. Nothing of the worktree is looked at."""

    def __init__(self, bench: Bench, git: PrivateGit, tree: str) -> None:
        self._bench = bench
        self._git = git
        self._tree = tree
        self.hidden = Hidden()

    def items(self, below: str) -> Iterator[Item]:
        entries = list(self._entries(below))
        lengths = sizes(self._git, [entry.oid for entry in entries])
        kinds = {LINK: "link", GITLINK: "submodule"}
        for entry, size in zip(entries, lengths, strict=True):
            yield Item(entry.path, kinds.get(entry.mode, "file"), max(size, 0))

    def texts(self, below: str, largest: int) -> Iterator[tuple[str, bytes]]:
        entries = [entry for entry in self._entries(below) if entry.mode not in (LINK, GITLINK)]
        lengths = sizes(self._git, [entry.oid for entry in entries])
        wanted = [entry for entry, size in zip(entries, lengths, strict=True) if 0 <= size <= largest]
        for at in range(0, len(wanted), _AT_ONCE):
            some = wanted[at : at + _AT_ONCE]
            yield from zip((one.path for one in some), blobs(self._git, [one.oid for one in some]), strict=True)

    def read(self, path: str) -> bytes:
        found = next((entry for entry in self._entries(self._bench.readable(path)) if entry.path == path), None)
        if found is None or found.mode == GITLINK:
            raise NotFound(f"there is no file {one_line(path, 80)} in that commit")
        if sizes(self._git, [found.oid])[0] > LARGEST_READ:
            raise Invalid(f"{one_line(path, 80)} is larger than {LARGEST_READ // 2**20} MiB")
        # A link in a commit is read as what it says: it is not followed, so it leads nowhere.
        return blob(self._git, found.oid)

    def _entries(self, below: str) -> Iterator[TreeEntry]:
        for entry in files(self._git, self._tree):
            if _is_below(entry.path, below):
                if self._bench.hides(entry.path):
                    self.hidden.count += 1
                else:
                    yield entry


class WorktreeSource:
    """The files on disk, but for what the commit's ignore rules leave out. A single one can be read all the same."""

    def __init__(self, bench: Bench, git: PrivateGit) -> None:
        self._bench = bench
        self._git = git
        self.hidden = Hidden()
        try:
            entries = files(git, tree_of(git, head_of(bench.repo, git)))
        except NotFound:
            entries = iter(())
        self._base = Base(git, entries)

    def items(self, below: str) -> Iterator[Item]:
        for found in self._found(below):
            is_link = stat.S_ISLNK(found.stat.st_mode)
            plain = "file" if stat.S_ISREG(found.stat.st_mode) else "link" if is_link else "neither file nor folder"
            yield Item(found.path, found.why or plain, found.stat.st_size)

    def texts(self, below: str, largest: int) -> Iterator[tuple[str, bytes]]:
        for found in self._found(below):
            if stat.S_ISREG(found.stat.st_mode) and found.stat.st_size <= largest:
                try:
                    data = content(found.fd, found.name, largest)
                except Unfit:
                    continue
                if found.stat.st_nlink == 1 or self._is_committed(found.path, data):
                    yield found.path, data

    def read(self, path: str) -> bytes:
        with reached(self._bench.worktree, path, self._bench.readable) as found:
            return self._content(found)

    def _content(self, found: Reached) -> bytes:
        shown = one_line(found.path, 80)
        if stat.S_ISDIR(found.stat.st_mode):
            raise Invalid(f"{shown} is a folder", hint="repo.list_tree shows what is in it")
        if not stat.S_ISREG(found.stat.st_mode):
            raise Invalid(f"{shown} is refused: it is no plain file")
        try:
            data = content(found.fd, found.name, LARGEST_READ)
        except Unfit as exc:
            raise Invalid(f"{shown} is refused: {exc}") from exc
        if found.stat.st_nlink > 1 and not self._is_committed(found.path, data):
            raise Invalid(f"{shown} is refused: it has another name elsewhere (a hard link), and is not committed so")
        return data

    def _is_committed(self, path: str, data: bytes) -> bool:
        entry = self._base.files.get(path)
        return entry is not None and entry.oid == blob_id(data, self._git.object_format)

    def _found(self, below: str) -> Iterator[Found]:
        for found in _at_or_below(self._base, self._bench, below):
            if self._bench.hides(found.path):
                self.hidden.count += 1
            else:
                yield found


def _at_or_below(base: Base, bench: Bench, below: str) -> Iterator[Found]:
    if not below:
        yield from walked(base, bench.worktree)
        return
    with reached(bench.worktree, below, bench.readable) as start:
        if not stat.S_ISDIR(start.stat.st_mode):
            yield Found(start.fd, start.name, start.path, start.stat)
            return
        place = start.path
    yield from walked(base, bench.worktree, place)


def _is_below(path: str, below: str) -> bool:
    return not below or path == below or path.startswith(f"{below}/")
