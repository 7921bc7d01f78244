"""The tree of what lies in a worktree, bytes as they are: no filter, no link followed, nothing configured is run."""

import os
import stat
import zlib
from dataclasses import dataclass
from pathlib import Path

from gitnexus.base.errors import Invalid
from gitnexus.git.commits import tree_of
from gitnexus.git.objects import blob_id
from gitnexus.git.private import PrivateGit
from gitnexus.git.rows import GITLINK, LINK, TreeChange, TreeEntry, difference, files, indexed
from gitnexus.git.stamps import Stamps, stamped
from gitnexus.git.walk import Base, Found, walked

LARGEST_FILE = 64 * 2**20
MOST_NEW_FILES = 100_000
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Odd:
    """Something that fits into no tree, and why; whoever takes the tree decides if that matters."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class OnDisk:
    """What a worktree holds, and how that differs from its base."""

    base: str
    base_tree: str
    result_tree: str
    changes: tuple[TreeChange, ...]
    odd: tuple[Odd, ...]


class TooManyFiles(Invalid):
    """A worktree with more new files than one change can be looked through for."""


class Unfit(Exception):
    """A file that no tree takes in; the words say why."""


def worktree_tree(git: PrivateGit, worktree: Path, base_commit: str, known: Stamps | None = None) -> OnDisk:
    """Return the tree of `worktree` as it is on disk; new objects are in `git`.

    Raises: OSError, GitFailed, TooManyFiles. What is `known` since it was put down, and untouched, is not read again.
    """
    base_tree = tree_of(git, base_commit)
    base = Base(git, files(git, base_tree))
    taken: list[TreeEntry] = []
    odd: list[Odd] = []
    new = 0
    for found in walked(base, worktree):
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
            taken.append(stamped(known or {}, found.path, found.stat) or _taken(git, found, before))
        except Unfit as exc:
            odd.append(Odd(found.path, str(exc)))
    if len(taken) == len(base.files) and all(base.files.get(entry.path) == entry for entry in taken):
        return OnDisk(base_commit, base_tree, base_tree, (), tuple(odd))
    tree = _written(git, taken)
    # Git passes over a name that some system takes for .git and says so only to a person.
    held = {entry.path for entry in indexed(git)}
    odd += [Odd(entry.path, "git refuses its name") for entry in taken if entry.path not in held]
    return OnDisk(base_commit, base_tree, tree, difference(git, base_tree, tree), tuple(odd))


def content(fd: int, name: str, largest: int = LARGEST_FILE) -> bytes:
    """Return the bytes of the plain file `name` in an open folder. Raises: Unfit."""
    try:
        file = os.open(name, _FILE, dir_fd=fd)
    except OSError as exc:
        raise Unfit(f"it cannot be read: {exc.strerror}") from exc
    with os.fdopen(file, "rb") as handle:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise Unfit("it is no plain file")
        data = handle.read(largest + 1)
    if len(data) > largest:
        raise Unfit(f"it is larger than {largest // 2**20} MiB")
    return data


def _taken(git: PrivateGit, found: Found, known: TreeEntry | None) -> TreeEntry:
    if found.why:
        raise Unfit(found.why)
    if stat.S_ISLNK(found.stat.st_mode):
        data, mode = os.fsencode(os.readlink(found.name, dir_fd=found.fd)), LINK
    elif stat.S_ISREG(found.stat.st_mode):
        data, mode = content(found.fd, found.name), "100755" if found.stat.st_mode & 0o100 else "100644"
    else:
        raise Unfit("it is neither a file, a link nor a folder")
    oid = blob_id(data, git.object_format)
    if known is None or known.oid != oid:
        if found.stat.st_nlink > 1 and mode != LINK:
            raise Unfit("it has another name elsewhere (a hard link)")
        _write_blob(git, oid, data)
    return TreeEntry(found.path, mode, oid)


def _write_blob(git: PrivateGit, oid: str, data: bytes) -> None:
    """Write a loose object: through git it would be named by a path, and a path can be exchanged meanwhile."""
    place = git.folder / "objects" / oid[:2] / oid[2:]
    place.parent.mkdir(exist_ok=True)
    if not place.exists():
        place.write_bytes(zlib.compress(b"blob %d\0%b" % (len(data), data), 1))


def _written(git: PrivateGit, entries: list[TreeEntry]) -> str:
    rows = ((entry.mode.encode(), entry.oid.encode(), os.fsencode(entry.path)) for entry in entries)
    git.must("read-tree", "--empty")
    git.must("update-index", "-z", "--index-info", stdin=b"".join(b"%s %s\t%s\0" % row for row in rows))
    return git.must("write-tree").decode("ascii").strip()
