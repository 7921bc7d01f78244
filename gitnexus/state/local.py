"""Reads and writes the session files of one worktree, `.nexus/state/`: never on the ref, no link is followed."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from gitnexus.base.clock import utc_now
from gitnexus.base.errors import Busy, Failed, Invalid
from gitnexus.git import Repo, exclude
from gitnexus.state import disk
from gitnexus.state.layout import IGNORE_FILE, IGNORE_TEXT, SESSION_FOLDER
from gitnexus.state.lock import StateLock
from gitnexus.state.store import State

_LARGEST = 64 * 1024 * 1024


class SessionFolder:
    """The `.nexus/` of a worktree for rooms that store session files there, together with the state."""

    def __init__(self, state: State, clock: Callable[[], datetime] = utc_now, harness: str = "git-nexus") -> None:
        if state.repo.worktree is None:
            raise Failed("a bare repository has no session", hint="run this in one of its worktrees")
        self.state = state
        self.clock = clock
        self.harness = harness
        self.folder: Path = state.repo.worktree / ".nexus"

    @property
    def repo(self) -> Repo:
        """The repository as seen from this worktree."""
        return self.state.repo

    @contextmanager
    def exclusive(self, what: str = "session") -> Iterator[None]:
        """Lock this worktree's session for one call. Raises: Busy."""
        lock = StateLock(self.repo.git_dir / "nexus" / f"{what}.lock")
        try:
            with lock:
                if not lock.held:
                    raise Busy("another process holds this session", hint="run the command again")
                yield
        finally:
            lock.close()

    def put_bytes(self, parts: list[str], name: str, data: bytes) -> None:
        """Write a file below `.nexus/`, creating only the folders it needs. Raises: Obstructed, OSError."""
        if not os.path.lexists(self.folder):
            exclude.add_exclude_block(self.repo)
            self.folder.mkdir()
        with disk.open_folder(self.folder, []) as fd:
            if disk.stat_plain_file(fd, IGNORE_FILE) is None:
                disk.store_file(fd, IGNORE_FILE, IGNORE_TEXT)
        with disk.open_folder(self.folder, parts, make=True) as fd:
            disk.store_file(
                fd, name, data, disk.stat_plain_file(fd, name)
            )  # a link or a folder in its place is not replaced

    def load(self, path: str) -> bytes | None:
        """Return the bytes of a file below `.nexus/`, None if it does not exist. Raises: Invalid."""
        try:
            held = disk.load_path(self.folder, path, _LARGEST)
        except disk.Obstructed as exc:
            raise Invalid(f".nexus/{path}: {exc.message}") from exc
        return None if held is None else held[0]

    def delete(self, name: str, parts: Sequence[str] = ()) -> bool:
        """Delete a session file; return False if it did not exist."""
        try:
            with disk.open_folder(self.folder, [SESSION_FOLDER, *parts]) as fd:
                os.unlink(name, dir_fd=fd)
        except FileNotFoundError:
            return False
        return True
