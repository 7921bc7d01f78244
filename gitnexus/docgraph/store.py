"""Reads the documents of the graph from a worktree, a commit or the state. The only module here that knows paths.

AGENDA.md and `docs/phases/` belong to the code: they are files of the repository, read from the checkout or from any
commit. Plans and research belong to the state: `.nexus/plans/x.json` is `plans/x.json` on the state ref, even if no
`.nexus/` has been written.
"""

import os
import stat
from pathlib import Path
from typing import NamedTuple, Protocol

from gitnexus.base.errors import Conflict, Failed
from gitnexus.base.files import replace_file
from gitnexus.docgraph.parse import LARGEST
from gitnexus.git import Objects, Repo, blob_id
from gitnexus.state import Snapshot

AGENDA = "AGENDA.md"
PHASES = "docs/phases"
NEXUS = ".nexus/"
PLANS, RESEARCH = ".nexus/plans", ".nexus/research"


class Blob(NamedTuple):
    """The content of a file, and its git blob id."""

    data: bytes
    oid: str


class RepositoryFiles(Protocol):
    """The files of a repository, from any source."""

    def read(self, path: str) -> Blob | None:
        """Return a plain file below the top, None for anything else."""

    def has(self, path: str) -> bool:
        """Return True if a file or folder exists."""

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in a folder, sorted."""


class WorktreeFiles:
    """The current files of a worktree, including edits. Links out of it are not followed."""

    def __init__(self, repo: Repo) -> None:
        if repo.worktree is None:
            raise Failed("a bare repository has no AGENDA.md to look at", hint="work in a clone or a worktree")
        self.worktree = repo.worktree
        self._format = repo.object_format

    def read(self, path: str) -> Blob | None:
        at = self._path_inside(path)
        if at is None:
            return None
        try:
            fd = os.open(at, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return None
        with os.fdopen(fd, "rb") as handle:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return None
            # One byte more than may be: then it is too large, and nobody reads the rest.
            data = handle.read(LARGEST + 1)
        return Blob(data, blob_id(data, self._format))

    def has(self, path: str) -> bool:
        at = self._path_inside(path)
        return at is not None and at.exists()

    def names(self, folder: str) -> list[str]:
        at = self._path_inside(folder)
        try:
            return sorted(one.name for one in os.scandir(at) if one.is_file(follow_symlinks=False)) if at else []
        except OSError:
            return []

    def write(self, path: str, before: bytes | None, after: bytes) -> None:
        """Replace the content `before` by `after` in one step. Raises: Conflict if the file has changed meanwhile."""
        at = self._path_inside(path)
        held = self.read(path)
        if at is None or (held.data if held is not None else None) != before or (held is None and os.path.lexists(at)):
            raise Conflict(f"{path} changed meanwhile; it is left as it is", hint="run the command again")
        try:
            replace_file(at, after)
        except OSError as exc:
            raise Failed(f"{path} could not be written: {exc.strerror}") from exc

    def _path_inside(self, path: str) -> Path | None:
        if "\0" in path:
            return None
        at = self.worktree / path
        try:
            return at if at.parent.resolve().is_relative_to(self.worktree.resolve()) else None
        except (OSError, RuntimeError, ValueError):
            return None


class CommitFiles:
    """The files of one commit."""

    def __init__(self, objects: Objects, commit: str) -> None:
        self._objects = objects
        self._tree = objects.tree_of(commit)

    def read(self, path: str) -> Blob | None:
        entry = self._objects.find(self._tree, path) if path else None
        return Blob(self._objects.blob(entry.oid), entry.oid) if entry is not None and entry.is_file else None

    def has(self, path: str) -> bool:
        return path in ("", ".") or self._objects.find(self._tree, path) is not None

    def names(self, folder: str) -> list[str]:
        entry = self._objects.find(self._tree, folder)
        rows = self._objects.entries(entry.oid) if entry is not None and entry.is_folder else {}
        return sorted(name for name, row in rows.items() if row.is_file)


class DocumentFiles:
    """All documents: those of the code from a tree, those of the state from a snapshot."""

    def __init__(self, tree: RepositoryFiles, state: Snapshot) -> None:
        self.tree = tree
        self.state = state

    def read(self, path: str) -> Blob | None:
        """Return a file by its path from the top of the repository, None if there is none."""
        if not path.startswith(NEXUS):
            return self.tree.read(path)
        oid = self.state.oid(path.removeprefix(NEXUS))
        return Blob(self.state.blob(oid), oid) if oid is not None else None

    def has(self, path: str) -> bool:
        """Return True if a file or folder exists."""
        return self.state.has(path.removeprefix(NEXUS)) if path.startswith(NEXUS) else self.tree.has(path)

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in a folder, sorted."""
        below = folder.removeprefix(NEXUS)
        return self.state.names(below) if folder.startswith(NEXUS) else self.tree.names(folder)
