"""Anchors: the head of a log, written down elsewhere, so that a log that was cut short is found out."""

import contextlib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, Protocol

from gitnexus.base.errors import NotFound, VerificationFailed
from gitnexus.base.files import make_private_folder
from gitnexus.events.chain import Head, walk

_LINE = re.compile(rb"([0-9]{16}) (sha256:[0-9a-f]{64})\n")


class Anchor(NamedTuple):
    """An event that a log must hold, and who says so."""

    seq: int
    digest: str
    where: str


class Verified(NamedTuple):
    """What was found: how many events, the last one, and how many bytes of half a line follow it."""

    events: int
    head: Head | None
    torn: int


class Written(Protocol):
    """A log, on the disk or on a ref."""

    @property
    def run(self) -> str:
        """The run's id."""

    def raw(self) -> bytes:
        """Return its bytes. Raises: NotFound."""


def verify(log: Written, anchors: Iterable[Anchor] = ()) -> Verified:
    """Check every link, and that the log holds every event that an anchor knows. Raises: VerificationFailed."""
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
    for event, digest, at in walk(raw, log.run):
        for anchor in wanted.pop(event.seq, ()):
            if anchor.digest != digest:
                raise _differs(log.run, anchor)
        head, end = Head(event.seq, digest), at
    check_end(log.run, head, [anchor for rest in wanted.values() for anchor in rest])
    return Verified(head.seq if head else 0, head, len(raw) - end)


def check_end(run: str, head: Head | None, anchors: Iterable[Anchor]) -> None:
    """Refuse a log that ends before an event that an anchor knows, or with another. Raises: VerificationFailed."""
    last = head.seq if head else 0
    for anchor in anchors:
        if anchor.seq > last:
            raise VerificationFailed(
                f"the log of {run} ends at event {last}, but {anchor.where} knows event {anchor.seq}: it was cut",
                hint="approvals of this run that are still open are void; the run's ref holds the last checkpoint",
                context={"run": run, "line": last + 1},
            )
        if head is not None and anchor.seq == last and anchor.digest != head.digest:
            raise _differs(run, anchor)


class HeadFile:
    """The head in a small file far from the log. It may lag behind by what a kill left unsaid, never be ahead.

    Written in place, 89 bytes: one sector, and no new file for each event.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Anchor | None:
        """Return the anchor, None if there is no file. Raises: VerificationFailed for a file that holds none."""
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
        """Return a descriptor to write with, the file and its folder made durable if they are new. Raises: OSError."""
        flags = os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            return os.open(self.path, flags)
        except FileNotFoundError:
            make_private_folder(self.path.parent)
        fd = os.open(self.path, flags | os.O_CREAT, 0o600)
        sync_folder(self.path.parent)
        return fd


def write_head(fd: int, head: Head) -> None:
    """Write the head through a descriptor of `HeadFile.open`."""
    # The event itself is durable by now: a head that lags is allowed, an error here would deny what happened.
    with contextlib.suppress(OSError):
        os.pwrite(fd, b"%016d %s\n" % (head.seq, head.digest.encode()), 0)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _differs(run: str, anchor: Anchor) -> VerificationFailed:
    return VerificationFailed(
        f"the log of {run} is not the one that {anchor.where} knows: event {anchor.seq} is another",
        hint="approvals of this run that are still open are void; the run's ref holds the last checkpoint",
        context={"run": run, "line": anchor.seq},
    )
