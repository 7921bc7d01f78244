"""The tree of what lies in a worktree, bytes as they are: no filter, no link followed, nothing configured is run.

What is ignored is told by the .gitignore files of the base commit alone: an agent may have written others since.
"""

import os
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gitnexus.git.discovery import Repo
from gitnexus.git.objects import blob_id
from gitnexus.git.patches import tree_of
from gitnexus.git.private import PrivateGit
from gitnexus.git.rows import GITLINK, LINK, TreeChange, TreeEntry, blob, difference, files

LARGEST_FILE = 64 * 2**20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OURS = frozenset({".git", ".nexus"})


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


@dataclass(slots=True)
class _Walk:
    git: PrivateGit
    base: dict[str, TreeEntry]
    folders: frozenset[str]
    rules: "_Rules"
    found: list[tuple[str, str, str]] = field(default_factory=list)
    odd: list[Odd] = field(default_factory=list)


def worktree_tree(repo: Repo, git: PrivateGit, worktree: Path, base_commit: str) -> OnDisk:
    """Return the tree of `worktree` as it is on disk; new objects are in `git`. Raises: OSError, GitFailed."""
    base_tree = tree_of(git, base_commit)
    base = {entry.path: entry for entry in files(git, base_tree)}
    folders = frozenset(path[:at] for path in base for at, ch in enumerate(path) if ch == "/")
    walk = _Walk(git, base, folders, _Rules(git, base))
    root = os.open(worktree, _FOLDER)
    try:
        _folder(walk, root, "")
    finally:
        os.close(root)
    git.run("read-tree", "--empty")
    rows = (b"%s %s\t%s\0" % (mode.encode(), oid.encode(), os.fsencode(path)) for mode, oid, path in walk.found)
    git.must("update-index", "-z", "--index-info", stdin=b"".join(rows))
    tree = git.must("write-tree").decode("ascii").strip()
    return OnDisk(base_commit, base_tree, tree, difference(git, base_tree, tree), tuple(walk.odd))


def _folder(walk: _Walk, fd: int, prefix: str) -> None:
    for name in sorted(os.listdir(fd)):
        if name.casefold() in _OURS and (not prefix or name.casefold() == ".git"):
            continue
        path = prefix + name
        try:
            found = os.stat(name, dir_fd=fd, follow_symlinks=False)
        except FileNotFoundError:
            continue  # it went away while we looked
        is_folder = stat.S_ISDIR(found.st_mode)
        tracked = path in walk.base or (is_folder and path in walk.folders)
        if not tracked and walk.rules.ignored(path, is_folder):
            continue
        if is_folder:
            _below(walk, fd, name, path)
        elif why := _entry(walk, fd, name, path, found):
            walk.odd.append(Odd(path, why))


def _below(walk: _Walk, fd: int, name: str, path: str) -> None:
    try:
        below = os.open(name, _FOLDER, dir_fd=fd)
    except OSError as exc:
        walk.odd.append(Odd(path, f"it cannot be opened: {exc.strerror}"))
        return
    try:
        known = walk.base.get(path)
        nested = any(entry.casefold() == ".git" for entry in os.listdir(below))
        if known is not None and known.mode == GITLINK:
            # Which commit it is at is only told by files that an agent can write: it counts as unchanged.
            walk.found.append((GITLINK, known.oid, path))
        elif nested:
            walk.odd.append(Odd(path, "it is a repository of its own"))
        else:
            _folder(walk, below, path + "/")
    finally:
        os.close(below)


def _entry(walk: _Walk, fd: int, name: str, path: str, found: os.stat_result) -> str | None:
    """Take in a file or a link; return why it cannot be."""
    if stat.S_ISLNK(found.st_mode):
        data, mode = os.fsencode(os.readlink(name, dir_fd=fd)), LINK
    elif not stat.S_ISREG(found.st_mode):
        return "it is neither a file, a link nor a folder"
    elif found.st_size > LARGEST_FILE:
        return f"it is larger than {LARGEST_FILE // 2**20} MiB"
    else:
        try:
            data, mode = _content(fd, name), "100755" if found.st_mode & 0o100 else "100644"
        except OSError as exc:
            return f"it cannot be read: {exc.strerror or exc}"
    oid = blob_id(data, walk.git.object_format)
    known = walk.base.get(path)
    if known is None or known.oid != oid:
        if found.st_nlink > 1 and mode != LINK:
            return "it has another name elsewhere (a hard link)"
        _write_blob(walk.git, oid, data)
    walk.found.append((mode, oid, path))
    return None


def _content(fd: int, name: str) -> bytes:
    file = os.open(name, _FILE, dir_fd=fd)
    with os.fdopen(file, "rb", buffering=0) as handle:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError("it is no plain file")
        data = handle.read(LARGEST_FILE + 1) or b""
        while (more := handle.read(LARGEST_FILE + 1 - len(data))) and len(data) <= LARGEST_FILE:
            data += more
    if len(data) > LARGEST_FILE:
        raise OSError("it grew while it was read")
    return data


def _write_blob(git: PrivateGit, oid: str, data: bytes) -> None:
    """Write a loose object: through git it would be named by a path, and a path can be exchanged meanwhile."""
    place = git.folder / "objects" / oid[:2] / oid[2:]
    place.parent.mkdir(exist_ok=True)
    if not place.exists():
        place.write_bytes(zlib.compress(b"blob %d\0%b" % (len(data), data), 1))


class _Rules:
    """The .gitignore files of a base commit; each folder's is read when the walk comes by."""

    def __init__(self, git: PrivateGit, base: dict[str, TreeEntry]) -> None:
        self._git = git
        self._base = base
        self._specs: dict[str, Any] = {}

    def ignored(self, path: str, is_folder: bool) -> bool:
        """True if the deepest rule that speaks of `path` says so."""
        for prefix in _prefixes(path):
            spec = self._spec(prefix)
            if spec is not None:
                said = spec.check_file(path[len(prefix) :] + ("/" if is_folder else "")).include
                if said is not None:
                    return bool(said)
        return False

    def _spec(self, prefix: str) -> Any:
        if prefix not in self._specs:
            entry = self._base.get(f"{prefix}.gitignore")
            self._specs[prefix] = None
            if entry is not None and entry.mode in ("100644", "100755"):
                import pathspec  # 40 ms: only a repository with a .gitignore pays

                text = blob(self._git, entry.oid).decode("utf-8", "surrogateescape")
                self._specs[prefix] = pathspec.GitIgnoreSpec.from_lines(text.splitlines())
        return self._specs[prefix]


def _prefixes(path: str) -> Iterator[str]:
    """Yield the folders that `path` lies in, the deepest first, the top as ''."""
    at = path.rfind("/")
    while at >= 0:
        yield path[: at + 1]
        at = path.rfind("/", 0, at)
    yield ""
