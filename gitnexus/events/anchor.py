"""Records the head of a log in a second place and verifies a log against it, so that a truncated log is detected."""

import contextlib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, Protocol

from gitnexus.base.errors import NotFound, VerificationFailed
from gitnexus.base.files import make_private_folder
from gitnexus.events.chain import LogHead, walk_chain

_LINE = re.compile(rb"([0-9]{16}) (sha256:[0-9a-f]{64})\n")


class Anchor(NamedTuple):
    """An event that a log must contain, and the source of that statement."""

    seq: int
    digest: str
    where: str


class Verified(NamedTuple):
    """The result of a verification: number of events, the last one, and the bytes of a partial line after it."""

    events: int
    head: LogHead | None
    torn: int


class LogSource(Protocol):
    """A log, on disk or on a ref."""

    @property
    def run(self) -> str:
        """The run's id."""

    def raw(self) -> bytes:
        """Return the bytes of the log. Raises: NotFound."""


def verify_log(log: LogSource, anchors: Iterable[Anchor] = ()) -> Verified:
    """Check every link of the chain, and that the log contains every anchored event. Raises: VerificationFailed."""
    wanted: dict[int, list[Anchor]] = {}
    for anchor in anchors:
        wanted.setdefault(anchor.seq, []).append(anchor)
    try:
        raw = log.raw()
    except NotFound:
        if not wanted:
            raise
        raw = b""
    head, end = None, 0
    for event, digest, at in walk_chain(raw, log.run):
        for anchor in wanted.pop(event.seq, ()):
            if anchor.digest != digest:
                raise _anchor_mismatch_error(log.run, anchor)
        head, end = LogHead(event.seq, digest), at
    check_log_end(log.run, head, [anchor for rest in wanted.values() for anchor in rest])
    return Verified(head.seq if head else 0, head, len(raw) - end)


def check_log_end(run: str, head: LogHead | None, anchors: Iterable[Anchor]) -> None:
    """Raise an error if a log ends before an anchored event or has another in its place. Raises: VerificationFailed."""
    last = head.seq if head else 0
    for anchor in anchors:
        if anchor.seq > last:
            raise VerificationFailed(
                f"the log of {run} ends at event {last}, but {anchor.where} knows event {anchor.seq}: it was cut",
                hint="approvals of this run that are still open are void; the run's ref holds the last checkpoint",
                context={"run": run, "line": last + 1},
            )
        if head is not None and anchor.seq == last and anchor.digest != head.digest:
            raise _anchor_mismatch_error(run, anchor)


class HeadFile:
    """The head of a log in a small file far from it. After a kill it may be behind the log, never ahead.

    Written in place, 89 bytes: one sector, and no new file for each event.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Anchor | None:
        """Return the anchor, None if there is no file. Raises: VerificationFailed for an invalid file."""
        try:
            raw = self.path.read_bytes()
        except FileNotFoundError:
            return None
        found = _LINE.fullmatch(raw)
        if raw and not found:
            raise VerificationFailed(
                f"{self.path} does not hold the head of a log", hint="move it away if you know why it is damaged"
            )
        return Anchor(int(found[1]), found[2].decode(), str(self.path)) if found else None

    def open(self) -> int:
        """Return a descriptor for writing; a new file and its folder are made durable first. Raises: OSError."""
        flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            return os.open(self.path, flags)
        except FileNotFoundError:
            make_private_folder(self.path.parent)
        fd = os.open(self.path, flags | os.O_CREAT, 0o600)
        sync_folder(self.path.parent)
        return fd


def write_log_head(fd: int, head: LogHead) -> None:
    """Write the head through a descriptor returned by `HeadFile.open`."""
    # The event itself is durable by now: a head that lags is allowed, an error here would deny what happened.
    with contextlib.suppress(OSError):
        line = b"%016d %s\n" % (head.seq, head.digest.encode())
        if os.pwrite(fd, line, 0) != len(line):
            os.ftruncate(fd, 0)  # a full disk took half of it: none is behind, half of one would deny the log


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable (fsync)."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _anchor_mismatch_error(run: str, anchor: Anchor) -> VerificationFailed:
    return VerificationFailed(
        f"the log of {run} is not the one that {anchor.where} knows: event {anchor.seq} is another",
        hint="approvals of this run that are still open are void; the run's ref holds the last checkpoint",
        context={"run": run, "line": anchor.seq},
    )
