"""A short-lived lock that avoids useless retries. Correctness depends on the compare-and-swap of the ref alone."""

import fcntl
import os
import time
from typing import TYPE_CHECKING, Self

from gitnexus.base.randomness import random_fraction

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

PATIENCE = 10.0
_HELD = b"+"
_FREE = b"-"


class StateLock:
    """An flock in the git common dir; after `patience` seconds of waiting the caller continues without it."""

    def __init__(self, path: "Path | str", patience: float = PATIENCE) -> None:
        self._path = path
        self._patience = patience
        self._fd = -1
        self.held = False
        self.previous_died = False

    def __enter__(self) -> Self:
        if self._fd < 0:
            self._fd = self._open_file()
        self.held = self._acquire_lock()
        found = os.fstat(self._fd)
        if self.held and found.st_nlink == 0:  # removed meanwhile, by `git nexus uninstall`
            self.close()
            return self.__enter__()
        if self.held:
            # A holder marks the file and wipes the mark when done: one that is still there is from who was killed.
            # Overwriting a byte is cheaper than making the file shorter.
            self.previous_died = found.st_size > 0 and os.pread(self._fd, 1, 0) != _FREE
            self._write_mark(_HELD)
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: "TracebackType | None") -> None:
        if self.held:
            self._write_mark(_FREE)
            fcntl.flock(self._fd, fcntl.LOCK_UN)
        self.held = False

    def close(self) -> None:
        """Close the lock file; the next use opens it again."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd, self.held = -1, False

    def __del__(self) -> None:
        self.close()

    def _write_mark(self, mark: bytes) -> None:
        try:
            os.pwrite(self._fd, mark, 0)
        except OSError:
            return  # a full disk must not stop a reader

    def _open_file(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        try:
            return os.open(self._path, flags, 0o644)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)  # noqa: PTH103, PTH120 - hooks bring a plain text
            return os.open(self._path, flags, 0o644)

    def _acquire_lock(self) -> bool:
        deadline, pause = 0.0, 0.0005
        while True:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                deadline = deadline or time.monotonic() + self._patience
                if time.monotonic() >= deadline:
                    return False
            except OSError:
                return False  # a file system without flock
            time.sleep(pause * (0.5 + random_fraction()))
            pause = min(pause * 1.5, 0.01)
