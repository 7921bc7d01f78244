"""The append-only log of one run: durable before `append` returns, safe for many processes, torn tails set aside."""

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from gitnexus.base.chance import fraction
from gitnexus.base.clock import now, precise
from gitnexus.base.errors import Busy, Failed, Invalid, NotFound, VerificationFailed
from gitnexus.base.files import make_private_folder
from gitnexus.events.anchor import HeadFile, check_end, sync_folder, write_head
from gitnexus.events.chain import FIRST, Head, walk
from gitnexus.events.kinds import checked, redacted_body
from gitnexus.events.model import LONGEST_LINE, Event, checked_actor, checked_run, digest, from_line, genesis

FILE = "events.jsonl"
# Long enough for a queue on a slow disk. Unlike the lock of the state this one is never gone without.
_PATIENCE = 60.0
# Enough for the last whole line and half a line after it.
_WINDOW = 2 * LONGEST_LINE


class Draft(NamedTuple):
    """An event to be: the log gives it its number, time and link."""

    kind: str
    actor: str
    body: Mapping[str, Any]


class _Tail(NamedTuple):
    """The last whole line: which event, where it begins and ends in the file."""

    head: Head | None
    start: int
    end: int


class RunLog:
    """`<git-common-dir>/nexus/runs/<run>/events.jsonl`; the folder's name is the run. `head` is a file far from it."""

    def __init__(self, folder: Path, *, head: Path | None = None, clock: Callable[[], datetime] = now) -> None:
        self.run = checked_run(folder.name)
        self.folder = folder
        self.path = folder / FILE
        self._head = HeadFile(head) if head else None
        self._clock = clock
        self._tail = _Tail(None, 0, 0)

    def append(self, kind: str, actor: str, body: Mapping[str, Any]) -> Event:
        """Write one event and return it once it is on the disk. Raises: Invalid, Busy, Failed, VerificationFailed."""
        return self.append_many([Draft(kind, actor, body)])[0]

    def append_many(self, drafts: Sequence[Draft]) -> list[Event]:
        """Write several events with one wait for the disk. A kill may leave the first of them, in their order."""
        drafts = [Draft(kind, actor, redacted_body(kind, body)) for kind, actor, body in drafts]
        for kind, actor, body in drafts:
            checked(kind, body)
            checked_actor(actor)
        if not drafts:
            return []
        with self._exclusive() as fd, self._head_opened() as head_fd:
            tail, torn = self._found(fd)
            wanted = [*drafts]
            if torn:
                # The first event of a log has its place; what was left by a writer that never began comes after it.
                wanted.insert(0 if tail.head else 1, self._set_aside(torn))
            events = self._write(fd, tail, torn, wanted)
            if self._tail.head and head_fd >= 0:
                write_head(head_fd, self._tail.head)
        return [event for event in events if not torn or event.kind != "log.recovered"]

    def recover(self) -> Event | None:
        """Set half a line at the end aside and mark it, if there is one. Nothing else does that but `append`."""
        if not self.path.exists():
            return None
        with self._exclusive() as fd, self._head_opened() as head_fd:
            tail, torn = self._found(fd)
            if not torn or not tail.head:
                return None
            event = self._write(fd, tail, torn, [self._set_aside(torn)])[0]
            if self._tail.head and head_fd >= 0:
                write_head(head_fd, self._tail.head)
        return event

    def raw(self) -> bytes:
        """Return the bytes of the log as they are between two writes. Raises: NotFound, Busy."""
        with self._said_why():
            try:
                fd = _plain_file(self.path, os.O_RDONLY)
            except FileNotFoundError as exc:
                raise NotFound(f"no log of a run {self.run} here") from exc
            with os.fdopen(fd, "rb", buffering=0) as handle:
                _lock(fd, fcntl.LOCK_SH, self.run)
                return handle.readall()

    def read(self) -> Iterator[Event]:
        """Return the events, each link checked; half a line at the end is left out. Raises: VerificationFailed."""
        return (link.event for link in walk(self.raw(), self.run))

    def last(self) -> Head | None:
        """Return the head of the log, None before the first event. Raises: VerificationFailed, Busy."""
        if not self.path.exists():
            return None
        with self._exclusive() as fd:
            return self._found(fd)[0].head

    @contextlib.contextmanager
    def _exclusive(self) -> Iterator[int]:
        """Hold the file. It is opened each time: a lock belongs to what was opened, also after a fork."""
        with self._said_why():
            held = False
            while not held:
                fd = self._opened()
                try:
                    _lock(fd, fcntl.LOCK_EX, self.run)
                    held = os.fstat(fd).st_nlink > 0  # else the folder was cleaned away while we waited
                    if held:
                        yield fd
                finally:
                    os.close(fd)

    @contextlib.contextmanager
    def _said_why(self) -> Iterator[None]:
        try:
            yield
        except OSError as exc:
            raise Failed(
                f"the log of {self.run} cannot be used: {exc.strerror}",
                hint=f"nothing was added; look at {self.folder}, and at the room on its disk",
            ) from exc

    def _opened(self) -> int:
        try:
            return _plain_file(self.path, os.O_RDWR)
        except FileNotFoundError:
            if self._tail.head:
                raise NotFound(
                    f"the log of {self.run} is gone", hint="the run's ref holds the last checkpoint"
                ) from None
        make_private_folder(self.folder)
        fd = _plain_file(self.path, os.O_RDWR | os.O_CREAT)
        for folder in (self.folder, *self.folder.parents[:2]):  # those that may be new, and where they are named
            sync_folder(folder)
        return fd

    @contextlib.contextmanager
    def _head_opened(self) -> Iterator[int]:
        """Open the head file before anything is written: where that fails, nothing has happened."""
        if self._head is None:
            yield -1
            return
        fd = self._head.open()
        try:
            yield fd
        finally:
            os.close(fd)

    def _found(self, fd: int) -> tuple[_Tail, bytes]:
        """Return the last whole line and what follows it, looking only at what is new. Raises: VerificationFailed."""
        size = os.fstat(fd).st_size
        known = self._tail
        if known.head and (
            size < known.end or digest(os.pread(fd, known.end - 1 - known.start, known.start)) != known.head.digest
        ):
            raise VerificationFailed(
                f"the log of {self.run} changed where it was written already: event {known.head.seq} is gone",
                hint="the run's ref holds the last checkpoint",
                context={"run": self.run, "line": known.head.seq},
            )
        if known.head is None and size > _WINDOW:
            known = self._near_the_end(fd, size) or known
        raw = _pread(fd, size - known.end, known.end)
        start, end, head = known.start, known.end, known.head
        for link in walk(raw, self.run, head):
            start, end, head = end, known.end + link.end, Head(link.event.seq, link.digest)
        anchor = self._head.read() if self._head else None
        check_end(self.run, head, [anchor] if anchor else [])
        return _Tail(head, start, end), raw[end - known.end :]

    def _near_the_end(self, fd: int, size: int) -> _Tail | None:
        """Return a whole line near the end of a long log, so that writing does not read it all; `verify` does."""
        raw = _pread(fd, _WINDOW, size - _WINDOW)
        first = raw.find(b"\n") + 1
        after = raw.find(b"\n", first)
        if not 0 < first <= after:
            return None
        try:
            event = from_line(raw[first:after])
        except Invalid:
            return None
        begin = size - _WINDOW
        return _Tail(Head(event.seq, digest(raw[first:after])), begin + first, begin + after + 1)

    def _write(self, fd: int, tail: _Tail, torn: bytes, drafts: Sequence[Draft]) -> list[Event]:
        lines, events = [], []
        head, start, end = tail.head, tail.start, tail.end
        for draft in drafts:
            event = self._numbered(head, draft)
            line = event.line()
            head, start, end = Head(event.seq, digest(line)), end, end + len(line) + 1
            lines.append(line + b"\n")
            events.append(event)
        _put(fd, b"".join(lines), torn, tail.end)
        self._tail = _Tail(head, start, end)
        return events

    def _numbered(self, before: Head | None, draft: Draft) -> Event:
        kind, actor, body = draft
        if (before is None) != (kind == FIRST):
            raise Invalid(f"a log begins with {FIRST}, and only begins with it")
        if before is None and body["run"] != self.run:
            raise Invalid(f"this is the log of {self.run}, not of {body['run']}")
        prev = before.digest if before else genesis(self.run, body["definition"])
        seq = before.seq + 1 if before else 1
        return Event(seq, precise(self._clock()), actor, kind, body, prev)

    def _set_aside(self, torn: bytes) -> Draft:
        """Keep half a line in a file of its own and return the event that tells of it."""
        number = 1
        while True:
            aside = self.folder / f"events.torn-{number}"
            try:
                if aside.read_bytes() == torn:  # set aside by one who was killed before the mark was written
                    break
            except FileNotFoundError:
                with aside.open("xb") as handle:
                    handle.write(torn)
                    handle.flush()
                    os.fsync(handle.fileno())
                sync_folder(self.folder)
                break
            number += 1
        return Draft("log.recovered", "nexus", {"file": aside.name, "bytes": len(torn), "digest": digest(torn)})


def _plain_file(path: Path, flags: int) -> int:
    """Open a file and nothing else: no link, and no pipe that would make us wait. Raises: OSError."""
    fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, f"{path.name} is not a plain file")
    return fd


def _put(fd: int, data: bytes, torn: bytes, at: int) -> None:
    """Write `data` over half a line (or nothing) at the end, durably, or leave all as it was. Raises: OSError."""
    # Zeros over what is longer than the new lines: stopped in between, the end is still half a line, and marked.
    padded = data.ljust(len(torn), b"\0")
    try:
        written = 0
        while written < len(padded):
            written += os.pwrite(fd, padded[written:], at + written)
        if len(padded) > len(data):
            os.ftruncate(fd, at + len(data))
        os.fsync(fd)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(fd, at)
            if torn:
                os.pwrite(fd, torn, at)
        raise


def _pread(fd: int, size: int, at: int) -> bytes:
    """Return `size` bytes, or as many as there are; one call reads at most 2 GiB."""
    parts = []
    while size > 0 and (part := os.pread(fd, size, at)):
        parts.append(part)
        size, at = size - len(part), at + len(part)
    return b"".join(parts)


def _lock(fd: int, how: int, run: str) -> None:
    deadline, pause = time.monotonic() + _PATIENCE, 0.0005
    while True:
        try:
            fcntl.flock(fd, how | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise Busy(f"another process holds the log of {run}", hint="run the command again") from None
        time.sleep(pause * (0.5 + fraction()))
        pause = min(pause * 1.5, 0.01)
