"""Spent tokens: burned before anything runs, chained, and anchored where no agent reaches.

The ledger lies in the git common dir, beside what it guards; the anchor in the user's home holds its last line. A
ledger that ends before its anchor was cut: then every token that was issued until now is void.
"""

import contextlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from gitnexus.base.canonical import canonical, document, parse
from gitnexus.base.chance import token
from gitnexus.base.clock import milliseconds
from gitnexus.base.errors import Busy, Failed, Invalid, VerificationFailed
from gitnexus.base.files import make_private_folder
from gitnexus.base.record import Record
from gitnexus.policy.place import mark
from gitnexus.state.home import home_folder
from gitnexus.state.lock import StateLock

if TYPE_CHECKING:
    from gitnexus.policy.tokens import Claims  # the doctor looks at ledgers without knowing tokens

FILE = "spent.jsonl"
# A clock may be set back: what is expired is remembered for so long before it is folded away.
REMEMBERED = timedelta(days=7)
_FOLD_AT = 1000
_LARGEST = 64 * 2**20


class Line(Record):
    """One row. `begin` opens a ledger or starts it again (what was issued before `at` is void), `spend` burns a token,
    `void` takes a standing approval back."""

    act: str
    at: int
    prev: str
    nonce: str = ""
    expires: int = 0

    def bytes(self) -> bytes:
        return document(self.plain())

    def digest(self) -> str:
        import hashlib  # 6 ms, and most commands spend nothing

        return hashlib.sha256(self.bytes()).hexdigest()


class Anchor(Record):
    """What the home knows: the last line, whole, so that a crash or a cut of one line is mended from it.

    `before` is the head that the file may still have: it was to be appended to, or to be folded.
    """

    id: str
    line: Line
    before: str
    since: int


@dataclass
class _Read:
    """A ledger that was found whole."""

    id: str
    since: int
    head: str
    lines: list[Line]
    gone: dict[str, str] = field(default_factory=dict)


class Ledger:
    """The ledger of one repository: all its worktrees share it, no clone does."""

    def __init__(self, common_dir: Path) -> None:
        self._folder = common_dir / "nexus"
        self._file = self._folder / FILE
        self._anchor = home_folder() / "ledgers" / f"{mark(common_dir)}.json"
        self._lock = self._anchor.with_suffix(".lock")

    def begin(self, now: datetime) -> str:
        """Return the ledger's id, opening it where there is none. Raises: Busy, Failed."""
        with self._held():
            return self._whole(now).id

    def refuse_spent(self, claims: "Claims") -> None:
        """Refuse what is spent, taken back, void, or of another ledger. Raises: VerificationFailed, Busy."""
        from gitnexus.base.clock import now

        with self._held():
            _refuse(self._whole(now()), claims)

    def spend(self, claims: "Claims", now: datetime) -> None:
        """Burn a token for good; on the disk before this returns. Raises: VerificationFailed, Busy, Failed."""
        self._close(claims, "spend", now)

    def void(self, claims: "Claims", now: datetime) -> None:
        """Take an approval back. Raises: VerificationFailed if it does not hold any more, Busy, Failed."""
        self._close(claims, "void", now)

    def trouble(self) -> str | None:
        """Return what is wrong with the ledger, None if nothing is; starts no new one. Raises: Busy."""
        if not self._anchor.exists() and not self._file.exists():
            return "there is none yet"
        with self._held():
            try:
                found = self._read()
            except _Cut as exc:
                return str(exc)
        return None if found is not None else "there is none yet"

    def forget(self) -> None:
        """Remove ledger and anchor: the next one that is begun voids all that was issued before."""
        for path in (self._file, self._anchor, self._lock):
            path.unlink(missing_ok=True)

    def _close(self, claims: "Claims", act: str, now: datetime) -> None:
        with self._held():
            found = self._whole(now)
            _refuse(found, claims)
            line = Line(act=act, at=milliseconds(now), prev=found.head, nonce=claims.nonce, expires=claims.expires)
            self._append(found, line)
            if len(found.lines) >= _FOLD_AT:
                self._fold(found, now)

    @contextlib.contextmanager
    def _held(self) -> Iterator[None]:
        """Hold the ledger. Unlike the state's lock this one is the truth: without it nothing is spent."""
        lock = StateLock(self._lock)
        try:
            try:
                make_private_folder(self._lock.parent)
                lock.__enter__()
            except OSError as exc:
                raise Failed(
                    f"the ledger of spent tokens cannot be held: {exc.strerror}", hint=str(self._lock)
                ) from exc
            if not lock.held:
                raise Busy("another process holds the ledger of spent tokens", hint="run the command again")
            yield
        finally:
            lock.__exit__(None, None, None)
            lock.close()

    def _whole(self, now: datetime) -> _Read:
        """Return the ledger, a new one where there is none or where it was cut."""
        try:
            found = self._read()
        except _Cut:
            # One more than now: also what was issued in this very millisecond is void.
            return self._started(milliseconds(now) + 1)
        return found or self._started(milliseconds(now))

    def _started(self, since: int) -> _Read:
        line = Line(act="begin", at=since, prev="")
        anchor = Anchor(id=token(32), line=line, before="", since=since)
        _write(self._anchor, document(anchor.plain()))
        self._replace([line])
        return _Read(anchor.id, since, line.digest(), [line])

    def _read(self) -> _Read | None:
        """Return the ledger if it is whole, None if there never was one. Raises: _Cut."""
        anchor = self._anchored()
        raw = _bytes(self._file)
        if anchor is None and raw is None:
            return None
        if anchor is None:
            raise _Cut("the anchor of the ledger is gone from your home")
        lines = _lines(raw or b"")
        if not lines:
            raise _Cut("the ledger is gone")  # also one in which nothing was spent: this may be another clone
        head = lines[-1].digest()
        if head != anchor.line.digest():
            if head != anchor.before:
                raise _Cut("the ledger does not end where it should: lines were cut off or changed")
            if anchor.line.prev == head:  # the process that spent this died, or somebody cut one line: mend it
                lines.append(anchor.line)
                head = anchor.line.digest()
        if raw != b"".join(line.bytes() for line in lines):
            self._replace(lines)
        gone = {line.nonce: line.act for line in lines if line.nonce}
        return _Read(anchor.id, anchor.since, head, lines, gone)

    def _anchored(self) -> Anchor | None:
        raw = _bytes(self._anchor)
        if raw is None:
            return None
        try:
            return Anchor.from_value(parse(raw), "anchor")
        except Invalid as exc:
            raise _Cut("the anchor of the ledger is damaged") from exc

    def _append(self, found: _Read, line: Line) -> None:
        # The anchor first: from here on the token is spent, whatever happens to this process.
        anchor = Anchor(id=found.id, line=line, before=found.head, since=found.since)
        _write(self._anchor, document(anchor.plain()))
        try:
            fd = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                os.write(fd, line.bytes())
                os.fsync(fd)
            finally:
                os.close(fd)
        except OSError as exc:  # the anchor has the line: it is put in place by who comes next
            raise Failed(f"{self._file} cannot be written: {exc.strerror}", hint="that token is spent") from exc
        found.lines.append(line)
        found.head = line.digest()

    def _fold(self, found: _Read, now: datetime) -> None:
        """Write the ledger again without what is long expired; after a crash the old one still counts."""
        oldest = milliseconds(now - REMEMBERED)
        kept = [line for line in found.lines if line.nonce and line.expires > oldest]
        if len(kept) > len(found.lines) // 2:
            return
        chain = [Line(act="begin", at=found.since, prev=found.head)]
        for line in kept:
            chain.append(line.changed(prev=chain[-1].digest()))
        anchor = Anchor(id=found.id, line=chain[-1], before=found.head, since=found.since)
        _write(self._anchor, document(anchor.plain()))
        self._replace(chain)

    def _replace(self, lines: list[Line]) -> None:
        make_private_folder(self._folder)
        _write(self._file, b"".join(line.bytes() for line in lines))


class _Cut(Exception):
    """The ledger is not what was last written."""


def _refuse(found: _Read, claims: "Claims") -> None:
    if claims.ledger != found.id:
        raise VerificationFailed(
            "the token was issued for another clone, or before the ledger of spent tokens was lost",
            hint="approve again",
        )
    if claims.issued < found.since:
        raise VerificationFailed("the token was issued before the ledger began", hint="approve again")
    act = found.gone.get(claims.nonce)
    if act is not None:
        words = "the token is spent" if act == "spend" else "the approval was taken back"
        raise VerificationFailed(words, hint="approve again")


def _lines(raw: bytes) -> list[Line]:
    """Return the rows, checked link by link. Raises: _Cut."""
    lines: list[Line] = []
    if raw and not raw.endswith(b"\n"):
        raw = raw[: raw.rfind(b"\n") + 1]  # a write that a crash cut short: the anchor has that line
    for text in raw.split(b"\n")[:-1]:
        try:
            line = Line.from_value(parse(text), "line")
        except Invalid as exc:
            raise _Cut("a line of the ledger is damaged") from exc
        if canonical(line.plain()) != text or (lines and line.prev != lines[-1].digest()):
            raise _Cut("a line of the ledger was changed")
        lines.append(line)
    return lines


def _bytes(path: Path) -> bytes | None:
    """Return a plain file's bytes, None if there is none. Raises: _Cut for what is no plain file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise _Cut(f"{path.name} cannot be read: {exc.strerror}") from exc
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            raise _Cut(f"{path.name} is no file of ours")
        with os.fdopen(os.dup(fd), "rb") as handle:
            return handle.read()
    finally:
        os.close(fd)


def _write(path: Path, data: bytes) -> None:
    """Replace a file so that it is on the disk, old or new, whatever happens. Raises: Failed."""
    temporary = path.with_name(f".{path.name}.{token(8)}.tmp")
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as handle:
            handle.write(data)
            handle.flush()
            os.fsync(fd)
        temporary.replace(path)
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as exc:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise Failed(f"the ledger of spent tokens cannot be written: {exc.strerror}", hint="nothing was spent") from exc
