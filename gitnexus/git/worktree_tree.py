"""Writes the files of a worktree as a tree, byte for byte: no filter runs, no link is followed, no config is read."""

import os
import stat
import zlib
from dataclasses import dataclass
from pathlib import Path

from gitnexus.base.errors import Invalid
from gitnexus.git.commits import tree_of_commit
from gitnexus.git.file_stamps import Stamps, entry_if_unchanged
from gitnexus.git.objects import blob_id
from gitnexus.git.private import PrivateGit
from gitnexus.git.tree_diff import GITLINK, LINK, TreeChange, TreeEntry, diff_trees, list_index_files, list_tree_files
from gitnexus.git.walk import CommitTree, WalkedItem, walk_worktree

LARGEST_FILE = 64 * 2**20
MOST_NEW_FILES = 100_000
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class OddFile:
    """A file that cannot be in a tree, and why; the caller decides whether that matters."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class WorktreeContent:
    """The tree of a worktree, and its difference from the base."""

    base: str
    base_tree: str
    result_tree: str
    changes: tuple[TreeChange, ...]
    odd: tuple[OddFile, ...]


class TooManyFiles(Invalid):
    """A worktree has more new files than can be examined for one change."""


class UnfitForTree(Exception):
    """A file that cannot be in a tree; the message says why."""


def write_worktree_tree(
    git: PrivateGit, worktree: Path, base_commit: str, known: Stamps | None = None
) -> WorktreeContent:
    """Write the tree of `worktree` as it is on disk; new objects are in `git`.

    Files that are `known` and unchanged since are not read again. Raises: OSError, GitFailed, TooManyFiles.
    """
    base_tree = tree_of_commit(git, base_commit)
    base = CommitTree(git, list_tree_files(git, base_tree))
    taken: list[TreeEntry] = []
    odd: list[OddFile] = []
    new = 0
    for found in walk_worktree(base, worktree):
        before = base.files.get(found.path)
        new += before is None
        if new > MOST_NEW_FILES:
            raise TooManyFiles(
                f"there are more than {MOST_NEW_FILES:,} new files in {worktree}",
                hint="commit a .gitignore that names them, or have them written elsewhere",
            )
        if before is not None and before.mode == GITLINK and stat.S_ISDIR(found.stat.st_mode):
            # Which commit it is at is only told by files that an agent can write: it counts as unchanged.
            taken.append(before)
            continue
        try:
            taken.append(entry_if_unchanged(known or {}, found.path, found.stat) or _store_entry(git, found, before))
        except UnfitForTree as exc:
            odd.append(OddFile(found.path, str(exc)))
    if len(taken) == len(base.files) and all(base.files.get(entry.path) == entry for entry in taken):
        return WorktreeContent(base_commit, base_tree, base_tree, (), tuple(odd))
    tree = _write_tree(git, taken)
    # Git passes over a name that some system takes for .git and says so only to a person.
    held = {entry.path for entry in list_index_files(git)}
    odd += [OddFile(entry.path, "git refuses its name") for entry in taken if entry.path not in held]
    return WorktreeContent(base_commit, base_tree, tree, diff_trees(git, base_tree, tree), tuple(odd))


def read_plain_file(fd: int, name: str, largest: int = LARGEST_FILE) -> bytes:
    """Return the bytes of the plain file `name` in an open folder. Raises: UnfitForTree."""
    try:
        file = os.open(name, _FILE, dir_fd=fd)
    except OSError as exc:
        raise UnfitForTree(f"it cannot be read: {exc.strerror}") from exc
    with os.fdopen(file, "rb") as handle:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise UnfitForTree("it is not a plain file")
        data = handle.read(largest + 1)
    if len(data) > largest:
        raise UnfitForTree(f"it is larger than {largest // 2**20} MiB")
    return data


def _store_entry(git: PrivateGit, found: WalkedItem, known: TreeEntry | None) -> TreeEntry:
    if found.why:
        raise UnfitForTree(found.why)
    if stat.S_ISLNK(found.stat.st_mode):
        data, mode = os.fsencode(os.readlink(found.name, dir_fd=found.fd)), LINK
    elif stat.S_ISREG(found.stat.st_mode):
        data, mode = read_plain_file(found.fd, found.name), "100755" if found.stat.st_mode & 0o100 else "100644"
    else:
        raise UnfitForTree("it is neither a file, a link nor a folder")
    oid = blob_id(data, git.object_format)
    if known is None or known.oid != oid:
        if found.stat.st_nlink > 1 and mode != LINK:
            raise UnfitForTree("it has another name elsewhere (a hard link)")
        _write_blob(git, oid, data)
    return TreeEntry(found.path, mode, oid)


def _write_blob(git: PrivateGit, oid: str, data: bytes) -> None:
    """Write a loose object directly: git would read it by path, and the file at a path can be exchanged meanwhile."""
    place = git.folder / "objects" / oid[:2] / oid[2:]
    place.parent.mkdir(exist_ok=True)
    if not place.exists():
        place.write_bytes(zlib.compress(b"blob %d\0%b" % (len(data), data), 1))


def _write_tree(git: PrivateGit, entries: list[TreeEntry]) -> str:
    rows = ((entry.mode.encode(), entry.oid.encode(), os.fsencode(entry.path)) for entry in entries)
    git.clear_index()
    git.must("update-index", "-z", "--index-info", stdin=b"".join(b"%s %s\t%s\0" % row for row in rows))
    return git.must("write-tree").decode("ascii").strip()
