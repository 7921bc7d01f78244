"""Reads and writes what one harness stores in one worktree, `.nexus/state/<harness>/`, and touches no other folder.

The files, lock and checks are those of `state.local`, for hooks that cannot afford to open the state.
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gitnexus.base.errors import Busy, Invalid
from gitnexus.harness.model import session_start_folder
from gitnexus.state import disk
from gitnexus.state.locate import ProjectLocation, locate_first_project
from gitnexus.state.lock import StateLock

if TYPE_CHECKING:
    from gitnexus.harness.model import HarnessEvent

_LARGEST = 8 * 1024 * 1024
_STATE = "state"
_IGNORE_FILE, _IGNORE_TEXT = ".gitignore", b"state/\n"


class SessionFiles:
    """The folder of one harness, with access to the plan and the tasks of the session."""

    def __init__(self, place: ProjectLocation, harness: str) -> None:
        self.location = place
        self.harness = harness
        self.root = os.path.join(place.top, ".nexus")
        self._parts = [_STATE, harness] if harness else [_STATE]

    @contextmanager
    def exclusive(self, what: str = "session") -> Iterator[None]:
        """Lock this worktree's session for one change. Raises: Busy."""
        lock = StateLock(os.path.join(self.location.git_dir, "nexus", f"{what}.lock"))
        try:
            with lock:
                if not lock.held:
                    raise Busy("another process holds this session")
                yield
        finally:
            lock.close()

    @property
    def shared(self) -> "SessionFiles":
        """The parent folder, `.nexus/state/`, which all programs share."""
        return SessionFiles(self.location, "")

    def load(self, name: str) -> bytes | None:
        """Return the bytes of a file of this harness, None if it does not exist. Raises: Obstructed."""
        return self._load_file(self._parts, name)

    def value(self, name: str) -> Any:
        """Return the JSON value of a file, None if it does not exist. Raises: Invalid; the file stays unchanged."""
        return self._load_json(self._parts, name)

    def load_session_json(self, name: str) -> Any:
        """Return the JSON value of `plan.json` or `tasks.json`, None if it does not exist. Raises: Invalid."""
        return self._load_json([_STATE], name)

    def written_at(self, name: str) -> int | None:
        """Return when a file was last written, in nanoseconds; None if it does not exist."""
        try:
            return os.lstat(os.path.join(self.root, *self._parts, name)).st_mtime_ns
        except OSError:
            return None

    def has(self, name: str) -> bool:
        """Return True if the name exists."""
        return os.path.lexists(os.path.join(self.root, _STATE, self.harness, name))

    def store(self, name: str, value: Any) -> None:
        """Write a value as a file of this harness atomically. Raises: Obstructed, OSError."""
        self.store_lines(name, [value])

    def store_lines(self, name: str, values: Sequence[Any]) -> None:
        """Write a file of this harness with one value a line. Raises: Obstructed, OSError."""
        self.put(name, b"".join(_json_line(value) for value in values))

    def put(self, name: str, data: bytes) -> None:
        """Write bytes as a file of this harness. Raises: Obstructed, OSError."""
        with self._open_folder() as fd:
            disk.store_file(fd, name, data, disk.stat_plain_file(fd, name))

    def append(self, name: str, line: bytes) -> int:
        """Append one line to a file of this harness in one write; return the new size. Raises: OSError."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with self._open_folder() as fd:
            file = os.open(name, flags, 0o644, dir_fd=fd)
        try:
            os.write(file, line)
            return os.fstat(file).st_size
        finally:
            os.close(file)

    def rename(self, name: str, other: str) -> None:
        """Rename a file, replacing an existing one. Raises: OSError."""
        with self._open_folder() as fd:
            os.rename(name, other, src_dir_fd=fd, dst_dir_fd=fd)

    def drop(self, name: str) -> None:
        """Delete a file of this harness, if it exists. Raises: OSError."""
        try:
            with disk.open_folder(self.root, self._parts) as fd:
                os.unlink(name, dir_fd=fd)
        except FileNotFoundError:
            return

    @contextmanager
    def _open_folder(self) -> Iterator[int]:
        try:
            with disk.open_folder(self.root, self._parts) as fd:
                yield fd
            return
        except FileNotFoundError:
            if os.path.isdir(os.path.join(self.root, _STATE, self.harness)):
                raise
        with disk.open_folder(self.root, [], make=True) as fd:
            if disk.stat_plain_file(fd, _IGNORE_FILE) is None:
                disk.store_file(fd, _IGNORE_FILE, _IGNORE_TEXT)
        with disk.open_folder(self.root, self._parts, make=True) as fd:
            yield fd

    def _load_file(self, parts: list[str], name: str) -> bytes | None:
        try:
            with disk.open_folder(self.root, parts) as fd:
                held = disk.load_file(fd, name, _LARGEST)
        except FileNotFoundError:
            return None
        return None if held is None else held[0]

    def _load_json(self, parts: list[str], name: str) -> Any:
        raw = self._load_file(parts, name)
        if raw is None:
            return None
        try:
            return json.loads(raw)
        except (ValueError, RecursionError) as exc:
            where = "/".join([".nexus", *parts, name])
            raise Invalid(f"{where} is not valid JSON", hint="it is left as it is; repair it by hand") from exc


def _json_line(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def find_session_files(event: "HarnessEvent") -> SessionFiles | None:
    """Return the session files of the program that sent the event, in its project; None outside of every project."""
    place = locate_first_project(event.cwd or os.getcwd(), session_start_folder())
    return None if place is None else SessionFiles(place, event.harness)
