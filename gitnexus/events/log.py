"""Appends to and reads the log of one run. An event is durable before `append` returns; torn tails are set aside."""

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

from gitnexus.base.clock import format_precise_timestamp, utc_now
from gitnexus.base.errors import Busy, Failed, Invalid, NotFound, VerificationFailed
from gitnexus.base.files import make_private_folder
from gitnexus.base.randomness import random_fraction
from gitnexus.events.anchor import HeadFile, check_log_end, sync_folder, write_log_head
from gitnexus.events.chain import FIRST, LogHead, walk_chain
from gitnexus.events.kinds import check_event_body, redact_event_body
from gitnexus.events.model import (
    LONGEST_LINE,
    Event,
    genesis_digest,
    parse_event_line,
    require_actor_name,
    require_run_id,
    sha256_digest,
)

FILE = "events.jsonl"
# Long enough for a queue on a slow disk. Unlike the lock of the state this one is never gone without.
_PATIENCE = 60.0
# Enough for the last whole line and half a line after it.
_WINDOW = 2 * LONGEST_LINE


class EventDraft(NamedTuple):
    """An event to append: the log adds its number, time and link."""

    kind: str
    actor: str
    body: Mapping[str, Any]


class _Tail(NamedTuple):
    """The last complete line: its event, and its start and end in the file."""

    head: LogHead | None
    start: int
    end: int


class RunLog:
    """`<git-common-dir>/nexus/runs/<run>/events.jsonl`; the folder has the run's name. `head` is the anchor file."""

    def __init__(self, folder: Path, *, head: Path | None = None, clock: Callable[[], datetime] = utc_now) -> None:
        self.run = require_run_id(folder.name)
        self.folder = folder
        self.path = folder / FILE
        self._head = HeadFile(head) if head else None
        self._clock = clock
        self._tail = _Tail(None, 0, 0)

    def append(self, kind: str, actor: str, body: Mapping[str, Any]) -> Event:
        """Append one event and return it once it is on disk. Raises: Invalid, Busy, Failed, VerificationFailed."""
        return self.append_many([EventDraft(kind, actor, body)])[0]

    def append_many(self, drafts: Sequence[EventDraft]) -> list[Event]:
        """Append several events with one wait for the disk. A kill may leave only the first of them, in order."""
        drafts = [EventDraft(kind, actor, redact_event_body(kind, body)) for kind, actor, body in drafts]
        for kind, actor, body in drafts:
            check_event_body(kind, body)
            require_actor_name(actor)
        if not drafts:
            return []
        with self._locked_file() as fd, self._opened_head_file() as head_fd:
            tail, torn = self._find_tail(fd)
            wanted = [*drafts]
            if torn:
                # The first event of a log has its place; what was left by a writer that never began comes after it.
                wanted.insert(0 if tail.head else 1, self._set_torn_aside(torn))
            events = self._write_events(fd, tail, torn, wanted)
            if self._tail.head and head_fd >= 0:
                write_log_head(head_fd, self._tail.head)
        return [event for event in events if not torn or event.kind != "log.recovered"]

    def raw(self) -> bytes:
        """Return the bytes of the log, never in the middle of a write. Raises: NotFound, Busy."""
        with self._explained_errors():
            try:
                fd = _open_plain_file(self.path, os.O_RDONLY)
            except FileNotFoundError as exc:
                raise NotFound(f"no log of a run {self.run} here") from exc
            with os.fdopen(fd, "rb", buffering=0) as handle:
                _lock_file(fd, fcntl.LOCK_SH, self.run)
                return handle.readall()

    def read(self) -> Iterator[Event]:
        """Return the events after checking each link; a partial last line is left out. Raises: VerificationFailed."""
        return (link.event for link in walk_chain(self.raw(), self.run))

    def last(self) -> LogHead | None:
        """Return the head of the log, None before the first event. Raises: VerificationFailed, Busy."""
        if not self.path.exists():
            return None
        with self._locked_file() as fd:
            return self._find_tail(fd)[0].head

    @contextlib.contextmanager
    def _locked_file(self) -> Iterator[int]:
        """Open and lock the file. It is opened each time: a lock belongs to an open file, even after a fork."""
        with self._explained_errors():
            held = False
            while not held:
                fd = self._open_log_file()
                try:
                    _lock_file(fd, fcntl.LOCK_EX, self.run)
                    held = os.fstat(fd).st_nlink > 0  # else the folder was cleaned away while we waited
                    if held:
                        yield fd
                finally:
                    os.close(fd)

    @contextlib.contextmanager
    def _explained_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as exc:
            raise Failed(
                f"the log of {self.run} cannot be used: {exc.strerror}",
                hint=f"nothing was added; look at {self.folder}, and at the room on its disk",
            ) from exc

    def _open_log_file(self) -> int:
        try:
            return _open_plain_file(self.path, os.O_RDWR)
        except FileNotFoundError:
            if self._tail.head:
                raise NotFound(
                    f"the log of {self.run} is gone", hint="the run's ref holds the last checkpoint"
                ) from None
        make_private_folder(self.folder)
        fd = _open_plain_file(self.path, os.O_RDWR | os.O_CREAT)
        for folder in (self.folder, *self.folder.parents[:2]):  # those that may be new, and where they are named
            sync_folder(folder)
        return fd

    @contextlib.contextmanager
    def _opened_head_file(self) -> Iterator[int]:
        """Open the head file before anything is written, so that a failure leaves everything unchanged."""
        if self._head is None:
            yield -1
            return
        fd = self._head.open()
        try:
            yield fd
        finally:
            os.close(fd)

    def _find_tail(self, fd: int) -> tuple[_Tail, bytes]:
        """Return the last complete line and what follows it, reading only what is new. Raises: VerificationFailed."""
        size = os.fstat(fd).st_size
        known = self._tail
        if known.head and (
            size < known.end
            or sha256_digest(os.pread(fd, known.end - 1 - known.start, known.start)) != known.head.digest
        ):
            raise VerificationFailed(
                f"the log of {self.run} changed where it was written already: event {known.head.seq} is gone",
                hint="the run's ref holds the last checkpoint",
                context={"run": self.run, "line": known.head.seq},
            )
        if known.head is None and size > _WINDOW:
            known = self._find_line_near_end(fd, size) or known
        raw = _read_at_offset(fd, size - known.end, known.end)
        start, end, head = known.start, known.end, known.head
        for link in walk_chain(raw, self.run, head):
            start, end, head = end, known.end + link.end, LogHead(link.event.seq, link.digest)
        anchor = self._head.read() if self._head else None
        check_log_end(self.run, head, [anchor] if anchor else [])
        return _Tail(head, start, end), raw[end - known.end :]

    def _find_line_near_end(self, fd: int, size: int) -> _Tail | None:
        """Return a complete line near the end of a long log, so that a write need not read all of it."""
        raw = _read_at_offset(fd, _WINDOW, size - _WINDOW)
        first = raw.find(b"\n") + 1
        after = raw.find(b"\n", first)
        if not 0 < first <= after:
            return None
        try:
            event = parse_event_line(raw[first:after])
        except Invalid:
            return None
        begin = size - _WINDOW
        return _Tail(LogHead(event.seq, sha256_digest(raw[first:after])), begin + first, begin + after + 1)

    def _write_events(self, fd: int, tail: _Tail, torn: bytes, drafts: Sequence[EventDraft]) -> list[Event]:
        lines, events = [], []
        head, start, end = tail.head, tail.start, tail.end
        for draft in drafts:
            event = self._number_event(head, draft)
            line = event.line()
            head, start, end = LogHead(event.seq, sha256_digest(line)), end, end + len(line) + 1
            lines.append(line + b"\n")
            events.append(event)
        _write_durably(fd, b"".join(lines), torn, tail.end)
        self._tail = _Tail(head, start, end)
        return events

    def _number_event(self, before: LogHead | None, draft: EventDraft) -> Event:
        kind, actor, body = draft
        if (before is None) != (kind == FIRST):
            raise Invalid(f"a log begins with {FIRST}, and only begins with it")
        if before is None and body["run"] != self.run:
            raise Invalid(f"this is the log of {self.run}, not of {body['run']}")
        prev = before.digest if before else genesis_digest(self.run, body["definition"])
        seq = before.seq + 1 if before else 1
        return Event(seq, format_precise_timestamp(self._clock()), actor, kind, body, prev)

    def _set_torn_aside(self, torn: bytes) -> EventDraft:
        """Store a partial line in its own file and return the event that reports it."""
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
        return EventDraft(
            "log.recovered", "nexus", {"file": aside.name, "bytes": len(torn), "digest": sha256_digest(torn)}
        )


def _open_plain_file(path: Path, flags: int) -> int:
    """Open a regular file only: no link, and no pipe that would block. Raises: OSError."""
    fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, f"{path.name} is not a plain file")
    return fd


def _write_durably(fd: int, data: bytes, torn: bytes, at: int) -> None:
    """Write `data` over a partial line (or nothing) at the end, durably, or change nothing. Raises: OSError."""
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


def _read_at_offset(fd: int, size: int, at: int) -> bytes:
    """Return `size` bytes, or as many as there are; one system call reads at most 2 GiB."""
    parts = []
    while size > 0 and (part := os.pread(fd, size, at)):
        parts.append(part)
        size, at = size - len(part), at + len(part)
    return b"".join(parts)


def _lock_file(fd: int, how: int, run: str) -> None:
    deadline, pause = time.monotonic() + _PATIENCE, 0.0005
    while True:
        try:
            fcntl.flock(fd, how | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise Busy(f"another process holds the log of {run}", hint="run the command again") from None
        time.sleep(pause * (0.5 + random_fraction()))
        pause = min(pause * 1.5, 0.01)
