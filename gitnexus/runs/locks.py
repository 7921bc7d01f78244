"""The lock files of a run: one process drives it, answers for it or proposes to it at a time."""

import contextlib
import fcntl
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from gitnexus.base.errors import Busy
from gitnexus.base.files import make_private_folder
from gitnexus.events.log import RunLog
from gitnexus.runs.model import Run

_DRIVER = "driver.lock"
# A process that only checks whether a run is driven holds the lock for a moment: the driver must retry.
_A_LOOK = 0.5
_AN_ANSWER = 60.0
_LEFT_IN_ORDER = b"left in order"


class RunLocks:
    """Takes and checks the lock files in the folder of a run."""

    record: Run
    folder: Path
    log: RunLog

    @contextlib.contextmanager
    def driving(self) -> Iterator[None]:
        """Hold the driver lock. Raises: Busy if another process holds it, VerificationFailed.

        The file names the process; one that ends by itself writes `_LEFT_IN_ORDER` instead.
        """
        with self._driver_locked() as fd:
            _write_whole(fd, process_identity(os.getpid()).encode())
            self.log.last()  # detect a truncated log before anything is decided on it
            yield
            _write_whole(fd, _LEFT_IN_ORDER)

    @contextlib.contextmanager
    def undriven(self) -> Iterator[None]:
        """Hold the driver lock without driving, so that nobody else does. Raises: Busy, VerificationFailed."""
        with self._driver_locked():
            self.log.last()
            yield

    def _driver_locked(self) -> contextlib.AbstractContextManager[int]:
        return self._file_locked(_DRIVER, f"another process drives {self.record.id}", _A_LOOK)

    def left_in_order(self) -> bool:
        """True if the last process that drove the run here ended by itself: at a question, or at the end."""
        try:
            return (self.folder / _DRIVER).read_bytes() == _LEFT_IN_ORDER
        except OSError:
            return False

    @contextlib.contextmanager
    def deciding(self) -> Iterator[None]:
        """Hold the decision lock: of two people who approve at once, only one proceeds.

        Raises: Busy, VerificationFailed.
        """
        with self._file_locked("decision.lock", f"another process answers for {self.record.id} right now", _AN_ANSWER):
            self.log.last()
            yield

    @contextlib.contextmanager
    def proposing(self) -> Iterator[None]:
        """Hold the proposal lock while the next action gets its name. Raises: Busy."""
        with self._file_locked("proposal.lock", f"another process proposes for {self.record.id} right now", _AN_ANSWER):
            yield

    @contextlib.contextmanager
    def asking(self, action: str) -> Iterator[None]:
        """Mark that the program that asked still waits.

        An approval is handed to it instead of being executed elsewhere.

        Enter it while holding `proposing`, so that nobody can answer earlier. Raises: Busy.
        """
        name = f"asking-{action}.lock"
        with self._file_locked(name, f"{action} is asked about already", 0):
            try:
                yield
            finally:
                (self.folder / name).unlink(missing_ok=True)

    def is_asked_live(self, action: str) -> bool:
        """True if a live program waits for the answer to an action, or executes the approved action."""
        if not (self.folder / f"asking-{action}.lock").exists():
            return False
        try:
            with self._file_locked(f"asking-{action}.lock", "", 0):
                return False
        except Busy:
            return True

    def is_driven(self) -> bool:
        """True if a live process drives the run."""
        try:
            with self._file_locked(_DRIVER, "", 0):
                return False
        except Busy:
            return True

    def stop_driver(self) -> None:
        """Terminate the process that drives the run, if any; its agent ends with it."""
        with contextlib.suppress(OSError, ValueError):
            words = (self.folder / _DRIVER).read_text(encoding="ascii")
            number = int(words.split()[0]) if words else 0
            # Without /proc the number may belong to another process by now: leave it alone.
            if (
                number not in (0, os.getpid())
                and not words.endswith("?")
                and self.is_driven()
                and process_identity(number) == words
            ):
                os.kill(number, signal.SIGTERM)

    @contextlib.contextmanager
    def _file_locked(self, name: str, words: str, patience: float) -> Iterator[int]:
        make_private_folder(self.folder)
        fd = os.open(self.folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            deadline = time.monotonic() + patience
            while not _try_lock(fd):
                if time.monotonic() >= deadline:
                    raise Busy(words, hint="git nexus runs shows what it does")
                time.sleep(0.01)
            yield fd
        finally:
            os.close(fd)


def _write_whole(fd: int, data: bytes) -> None:
    os.ftruncate(fd, 0)
    os.pwrite(fd, data, 0)


def process_identity(number: int) -> str:
    """Return a process's number and start time, which together identify it uniquely."""
    try:
        rest = Path(f"/proc/{number}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return f"{number} ?"
    return f"{number} {rest[19]}"


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
