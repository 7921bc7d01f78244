"""Writes the state ref into `.nexus/` of a worktree. Only changed files are replaced, each by an atomic rename."""

import os
from collections.abc import Mapping

from gitnexus.base.errors import NexusError
from gitnexus.git import Repo, blob_id
from gitnexus.git.objects import BlobId, Content
from gitnexus.git.worktrees import Worktree, list_worktrees
from gitnexus.state import disk
from gitnexus.state.journal import ProjectionJournal
from gitnexus.state.layout import LARGEST_FILE, belongs_to_state
from gitnexus.state.snapshot import Snapshot

FOLDER = ".nexus"
# A blob id and, where they are at hand, its bytes.
Wanted = tuple[str, bytes | None]
Seen = dict[str, tuple[str, disk.FileStat] | None]


class Projection:
    """The `.nexus/` of one worktree. Never overwrites a file whose content it did not write or read itself."""

    def __init__(self, worktree: Worktree, object_format: str) -> None:
        self.root = worktree.path / FOLDER
        self.worktree = worktree
        self.object_format = object_format
        self.journal = ProjectionJournal(worktree.git_dir / "nexus" / "projection", str(self.root))

    @property
    def takes_in(self) -> bool:
        """False in a run's worktree: files that an agent writes there are never committed to the state ref."""
        return not self.worktree.is_run

    def refresh(self, snapshot: Snapshot, before: str | None, touched: Mapping[str, Content] | None) -> None:
        """Update the files to `snapshot`, whose commit changed `touched` relative to `before`; None: unknown.

        A file that cannot be written now (edited meanwhile, obstructed, disk full) is left for the next
        `settle_hand_edits`.
        """
        self.journal.reload()
        if self.journal.commit is None:
            return  # never filled: settle does that
        if touched is not None and self.journal.commit == before:
            self.update(
                snapshot, {path: self._with_blob_id(data) for path, data in touched.items() if belongs_to_state(path)}
            )
        else:
            self.update(snapshot, self.stale(snapshot))

    def stale(self, snapshot: Snapshot) -> dict[str, Wanted | None]:
        """Return the files whose last written content is not the snapshot's, with the wanted content."""
        ids = {path: oid for path, oid in snapshot.ids().items() if belongs_to_state(path)}
        known = self.journal.files
        changed = {path: (oid, None) for path, oid in ids.items() if path not in known or known[path].oid != oid}
        return {**changed, **{path: None for path in known if path not in ids}}

    def update(self, snapshot: Snapshot, wanted: Mapping[str, Wanted | None]) -> list[str]:
        """Write files as they are in `snapshot`; return those that could not be written."""
        seen: Seen = {}
        left = []
        for path, want in wanted.items():
            try:
                self._update_file(snapshot, path, want, seen)
            except (NexusError, OSError):
                left.append(path)
            else:
                if path not in seen:
                    left.append(path)
        try:
            self.journal.record(None if left else snapshot.commit, seen)
        except OSError:  # a full disk: the files are compared by content next time
            self.journal.reload()
        return left

    def _with_blob_id(self, data: Content) -> Wanted | None:
        if isinstance(data, BlobId):
            return str(data), None
        return None if data is None else (blob_id(data, self.object_format), data)

    def _update_file(self, snapshot: Snapshot, path: str, want: Wanted | None, seen: Seen) -> None:
        known = self.journal.files.get(path)
        *parts, name = path.split("/")
        try:
            with disk.open_folder(self.root, parts, make=want is not None) as fd:
                found = disk.stat_plain_file(fd, name)
                if found is not None and not (known and known.matches_stat(found)):
                    # Ours, just written or only touched? Or somebody's edit? The content tells.
                    held = disk.load_file(fd, name, LARGEST_FILE)
                    oid = blob_id(held[0], self.object_format) if held else None
                    if held and want and oid == want[0]:
                        seen[path] = (want[0], held[1])
                        return
                    if held and not (known and oid == known.oid):
                        return
                if want is not None:
                    data = snapshot.blob(want[0]) if want[1] is None else want[1]
                    seen[path] = (want[0], disk.store_file(fd, name, data, found))
                    return
                if found is not None:
                    os.unlink(name, dir_fd=fd)
        except FileNotFoundError:
            if want is not None:
                raise
        seen[path] = None
        disk.prune_empty_folders(self.root, parts)


def list_projections(repo: Repo) -> list[Projection]:
    """Return the projections to keep current: this worktree's first, then all others that exist."""
    own: list[Projection] = []
    others: list[Projection] = []
    for worktree in list_worktrees(repo):
        projection = Projection(worktree, repo.object_format)
        if worktree.git_dir == repo.git_dir:
            own.append(projection)
        elif projection.journal.exists:
            others.append(projection)
    return own + others
