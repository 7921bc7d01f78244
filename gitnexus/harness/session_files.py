"""What one harness keeps in one worktree, `.nexus/state/<harness>/`: the only folder of that kind that it touches.

The same files, the same lock and the same care as `state.local`, for hooks that cannot pay for opening the state.
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gitnexus.base.errors import Busy, Invalid
from gitnexus.harness.place import Place, place_of
from gitnexus.state import disk
from gitnexus.state.lock import StateLock

if TYPE_CHECKING:
    from gitnexus.harness.model import Happening

_LARGEST = 8 * 1024 * 1024
_STATE = "state"
_IGNORE_FILE, _IGNORE_TEXT = ".gitignore", b"state/\n"


class Shelf:
    """The folder, with the plan and the tasks of the session beside it."""

    def __init__(self, place: Place, harness: str) -> None:
        self.place = place
        self.harness = harness
        self.root = os.path.join(place.worktree, ".nexus")

    @contextmanager
    def exclusive(self, what: str = "session") -> Iterator[None]:
        """Hold this worktree's session for one change. Raises: Busy."""
        lock = StateLock(os.path.join(self.place.git_dir, "nexus", f"{what}.lock"))
        try:
            with lock:
                if not lock.held:
                    raise Busy("another process holds this session")
                yield
        finally:
            lock.close()

    def load(self, name: str) -> bytes | None:
        """Return a file of this harness, None if there is none. Raises: Obstructed."""
        return self._load([_STATE, self.harness], name)

    def value(self, name: str) -> Any:
        """Return the JSON in a file of this harness, None if there is none. Raises: Invalid, and leaves it as it is."""
        return self._value([_STATE, self.harness], name)

    def session_value(self, name: str) -> Any:
        """Return the JSON in `plan.json` or `tasks.json`, None if there is none. Raises: Invalid."""
        return self._value([_STATE], name)

    def has(self, name: str) -> bool:
        """True if something has that name."""
        return os.path.lexists(os.path.join(self.root, _STATE, self.harness, name))

    def store(self, name: str, value: Any) -> None:
        """Write a file of this harness at once. Raises: Obstructed, OSError."""
        self.store_lines(name, [value])

    def store_lines(self, name: str, values: Sequence[Any]) -> None:
        """Write a file of this harness that holds a value a line. Raises: Obstructed, OSError."""
        self.put(name, b"".join(_line(value) for value in values))

    def put(self, name: str, data: bytes) -> None:
        """Write a file of this harness as it is given. Raises: Obstructed, OSError."""
        with self._folder() as fd:
            disk.store(fd, name, data, disk.look(fd, name))

    def append(self, name: str, line: bytes) -> int:
        """Add one line to a file of this harness, in one write; return its size then. Raises: OSError."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with self._folder() as fd:
            file = os.open(name, flags, 0o644, dir_fd=fd)
        try:
            os.write(file, line)
            return os.fstat(file).st_size
        finally:
            os.close(file)

    def rename(self, name: str, other: str) -> None:
        """Give a file another name, over what had it. Raises: OSError."""
        with self._folder() as fd:
            os.rename(name, other, src_dir_fd=fd, dst_dir_fd=fd)

    def drop(self, name: str) -> None:
        """Delete a file of this harness, if it is there. Raises: OSError."""
        try:
            with disk.folder(self.root, [_STATE, self.harness]) as fd:
                os.unlink(name, dir_fd=fd)
        except FileNotFoundError:
            return

    @contextmanager
    def _folder(self) -> Iterator[int]:
        try:
            with disk.folder(self.root, [_STATE, self.harness]) as fd:
                yield fd
            return
        except FileNotFoundError:
            if os.path.isdir(os.path.join(self.root, _STATE, self.harness)):
                raise
        with disk.folder(self.root, [], make=True) as fd:
            if disk.look(fd, _IGNORE_FILE) is None:
                disk.store(fd, _IGNORE_FILE, _IGNORE_TEXT)
        with disk.folder(self.root, [_STATE, self.harness], make=True) as fd:
            yield fd

    def _load(self, parts: list[str], name: str) -> bytes | None:
        try:
            with disk.folder(self.root, parts) as fd:
                held = disk.load(fd, name, _LARGEST)
        except FileNotFoundError:
            return None
        return None if held is None else held[0]

    def _value(self, parts: list[str], name: str) -> Any:
        raw = self._load(parts, name)
        if raw is None:
            return None
        try:
            return json.loads(raw)
        except (ValueError, RecursionError) as exc:
            where = "/".join([".nexus", *parts, name])
            raise Invalid(f"{where} is not valid JSON", hint="it is left as it is; repair it by hand") from exc


def _line(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def shelf_of(told: "Happening") -> Shelf | None:
    """Return the shelf of the program that speaks, in the project where it works; None outside of every project."""
    # An agent may have changed to a folder outside; Claude Code then still says where the session began.
    place = place_of(told.cwd or os.getcwd(), os.environ.get("CLAUDE_PROJECT_DIR", ""))
    return None if place is None else Shelf(place, told.harness)
