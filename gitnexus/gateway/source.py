"""Lists and reads files for the reading tools, from the worktree or from a commit, without denied files."""

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.base.text import one_line
from gitnexus.gateway.reach import ReachedFile, reach_file
from gitnexus.gateway.tool_context import ToolContext
from gitnexus.git.commits import tree_of_commit
from gitnexus.git.objects import blob_id
from gitnexus.git.private import PrivateGit, private_git
from gitnexus.git.revisions import resolve_commit, resolve_head
from gitnexus.git.tree_diff import GITLINK, LINK, TreeEntry, list_tree_files, object_sizes, read_blob, read_blobs
from gitnexus.git.walk import CommitTree, WalkedItem, walk_worktree
from gitnexus.git.worktree_tree import UnfitForTree, read_plain_file

LARGEST_READ = 16 * 2**20
_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class SourceItem:
    """A listed entry; `kind` is file, link, submodule, or the reason why it is not entered."""

    path: str
    kind: str
    size: int


@dataclass(slots=True)
class HiddenCount:
    """The number of entries left out because they are denied. Their names are not shown."""

    count: int = field(default=0)


class FileSource(Protocol):
    """Lists and reads files."""

    hidden: HiddenCount

    def items(self, below: str) -> Iterator[SourceItem]:
        """Yield the entries at or below a path, '' for everything, sorted by name."""

    def texts(self, below: str, largest: int) -> Iterator[tuple[str, bytes]]:
        """Yield the files at or below a path up to `largest` bytes, with their content."""

    def read(self, path: str) -> bytes:
        """Return the content of a file. Raises: NotFound, Invalid, DeniedByPolicy."""


@contextmanager
def open_source(context: ToolContext, revision: str) -> Iterator[FileSource]:
    """Open the commit that `revision` names, by default the worktree. Raises: Invalid, NotFound."""
    with private_git(context.repo) as git:
        if revision:
            yield CommitSource(context, git, tree_of_commit(git, resolve_commit(context.repo, git, revision)))
        else:
            yield WorktreeSource(context, git)


class CommitSource:
    """The files of a commit, without looking at the worktree."""

    def __init__(self, context: ToolContext, git: PrivateGit, tree: str) -> None:
        self._context = context
        self._git = git
        self._tree = tree
        self.hidden = HiddenCount()

    def items(self, below: str) -> Iterator[SourceItem]:
        entries = list(self._visible_entries(below))
        lengths = object_sizes(self._git, [entry.oid for entry in entries])
        kinds = {LINK: "link", GITLINK: "submodule"}
        for entry, size in zip(entries, lengths, strict=True):
            yield SourceItem(entry.path, kinds.get(entry.mode, "file"), max(size, 0))

    def texts(self, below: str, largest: int) -> Iterator[tuple[str, bytes]]:
        entries = [entry for entry in self._visible_entries(below) if entry.mode not in (LINK, GITLINK)]
        lengths = object_sizes(self._git, [entry.oid for entry in entries])
        wanted = [entry for entry, size in zip(entries, lengths, strict=True) if 0 <= size <= largest]
        for at in range(0, len(wanted), _AT_ONCE):
            some = wanted[at : at + _AT_ONCE]
            yield from zip((one.path for one in some), read_blobs(self._git, [one.oid for one in some]), strict=True)

    def read(self, path: str) -> bytes:
        found = next(
            (entry for entry in self._visible_entries(self._context.readable(path)) if entry.path == path), None
        )
        if found is None or found.mode == GITLINK:
            raise NotFound(f"there is no file {one_line(path, 80)} in that commit")
        if object_sizes(self._git, [found.oid])[0] > LARGEST_READ:
            raise Invalid(f"{one_line(path, 80)} is larger than {LARGEST_READ // 2**20} MiB")
        # A link in a commit is read as text and not followed.
        return read_blob(self._git, found.oid)

    def _visible_entries(self, below: str) -> Iterator[TreeEntry]:
        for entry in list_tree_files(self._git, self._tree):
            if _is_below(entry.path, below):
                if self._context.hides_path(entry.path):
                    self.hidden.count += 1
                else:
                    yield entry


class WorktreeSource:
    """The files on disk without ignored ones; a single ignored file can still be read."""

    def __init__(self, context: ToolContext, git: PrivateGit) -> None:
        self._context = context
        self._git = git
        self.hidden = HiddenCount()
        try:
            entries = list_tree_files(git, tree_of_commit(git, resolve_head(context.repo, git)))
        except NotFound:
            entries = iter(())
        self._base = CommitTree(git, entries)

    def items(self, below: str) -> Iterator[SourceItem]:
        for found in self._visible_files(below):
            is_link = stat.S_ISLNK(found.stat.st_mode)
            plain = "file" if stat.S_ISREG(found.stat.st_mode) else "link" if is_link else "neither file nor folder"
            yield SourceItem(found.path, found.why or plain, found.stat.st_size)

    def texts(self, below: str, largest: int) -> Iterator[tuple[str, bytes]]:
        for found in self._visible_files(below):
            if stat.S_ISREG(found.stat.st_mode) and found.stat.st_size <= largest:
                try:
                    data = read_plain_file(found.fd, found.name, largest)
                except UnfitForTree:
                    continue
                if found.stat.st_nlink == 1 or self._is_committed(found.path, data):
                    yield found.path, data

    def read(self, path: str) -> bytes:
        with reach_file(self._context.worktree, path, self._context.readable) as found:
            return self._read_content(found)

    def _read_content(self, found: ReachedFile) -> bytes:
        shown = one_line(found.path, 80)
        if stat.S_ISDIR(found.stat.st_mode):
            raise Invalid(f"{shown} is a folder", hint="repo.list_tree shows what is in it")
        if not stat.S_ISREG(found.stat.st_mode):
            raise Invalid(f"{shown} is refused: it is not a plain file")
        try:
            data = read_plain_file(found.fd, found.name, LARGEST_READ)
        except UnfitForTree as exc:
            raise Invalid(f"{shown} is refused: {exc}") from exc
        if found.stat.st_nlink > 1 and not self._is_committed(found.path, data):
            raise Invalid(f"{shown} is refused: it has another name elsewhere (a hard link), and is not committed so")
        return data

    def _is_committed(self, path: str, data: bytes) -> bool:
        entry = self._base.files.get(path)
        return entry is not None and entry.oid == blob_id(data, self._git.object_format)

    def _visible_files(self, below: str) -> Iterator[WalkedItem]:
        for found in _at_or_below(self._base, self._context, below):
            if self._context.hides_path(found.path):
                self.hidden.count += 1
            else:
                yield found


def _at_or_below(base: CommitTree, context: ToolContext, below: str) -> Iterator[WalkedItem]:
    if not below:
        yield from walk_worktree(base, context.worktree)
        return
    with reach_file(context.worktree, below, context.readable) as start:
        if not stat.S_ISDIR(start.stat.st_mode):
            yield WalkedItem(start.fd, start.name, start.path, start.stat)
            return
        place = start.path
    yield from walk_worktree(base, context.worktree, place)


def _is_below(path: str, below: str) -> bool:
    return not below or path == below or path.startswith(f"{below}/")
