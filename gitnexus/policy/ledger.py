"""The ledger of spent tokens: hash-chained, anchored in the user's home; a token is recorded before anything runs.

The ledger is in the git common dir; the anchor in the user's home holds its last line. A ledger that ends before its
anchor was truncated: then every token issued until now is void.
"""

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from gitnexus.base.canonical import canonical_json, json_document, parse_json
from gitnexus.base.clock import unix_milliseconds, utc_now
from gitnexus.base.errors import Busy, Failed, Invalid, VerificationFailed
from gitnexus.base.files import make_private_folder
from gitnexus.base.randomness import random_hex
from gitnexus.base.record import Record
from gitnexus.policy.repo_key import repository_key
from gitnexus.state.home import home_folder
from gitnexus.state.lock import StateLock

if TYPE_CHECKING:
    from gitnexus.policy.tokens import TokenClaims  # `git nexus doctor` checks ledgers without tokens

FILE = "spent.jsonl"
# A clock may be set back: expired lines are kept this long before they are dropped.
REMEMBERED = timedelta(days=7)
_FOLD_AT = 1000
_LARGEST = 64 * 2**20


class LedgerLine(Record):
    """One line.

    `begin` opens or restarts a ledger (tokens issued before `at` are void), `spend` spends a token, `void` revokes a
    standing approval.
    """

    act: str
    at: int
    prev: str
    nonce: str = ""
    expires: int = 0

    def bytes(self) -> bytes:
        return json_document(self.plain())

    def digest(self) -> str:
        return hashlib.sha256(self.bytes()).hexdigest()


class LedgerAnchor(Record):
    """The complete last line, kept in the home, from which a crash or a truncation by one line is repaired.

    `before` is the head that the file may still have while it is appended to or compacted.
    """

    id: str
    line: LedgerLine
    before: str
    since: int


@dataclass
class _LedgerContent:
    """A ledger that verified."""

    id: str
    since: int
    head: str
    lines: list[LedgerLine]
    gone: dict[str, str] = field(default_factory=dict)


class Ledger:
    """The ledger of one repository, shared by its worktrees but not by clones."""

    def __init__(self, common_dir: Path) -> None:
        self._folder = common_dir / "nexus"
        self._file = self._folder / FILE
        self._anchor = home_folder() / "ledgers" / f"{repository_key(common_dir)}.json"
        self._lock = self._anchor.with_suffix(".lock")

    def begin(self, now: datetime) -> str:
        """Return the ledger's id; opens a new one if there is none. Raises: Busy, Failed."""
        with self._hold_lock():
            return self._load_or_start(now).id

    def refuse_spent(self, claims: "TokenClaims") -> None:
        """Raise an error for a token that is spent, revoked, void or of another ledger.

        Raises: VerificationFailed, Busy.
        """
        with self._hold_lock():
            _refuse_spent_token(self._load_or_start(utc_now()), claims)

    def spend(self, claims: "TokenClaims", now: datetime) -> None:
        """Spend a token permanently; durable when this returns. Raises: VerificationFailed, Busy, Failed."""
        self._end_token(claims, "spend", now)

    def trouble(self) -> str | None:
        """Return the problem with the ledger, None if there is none; does not start a new one. Raises: Busy."""
        if not self._anchor.exists() and not self._file.exists():
            return "there is none yet"
        with self._hold_lock():
            try:
                found = self._read_ledger()
            except _Cut as exc:
                return str(exc)
        return None if found is not None else "there is none yet"

    def forget(self) -> None:
        """Delete ledger and anchor: the next ledger voids all tokens issued before."""
        for path in (self._file, self._anchor, self._lock):
            path.unlink(missing_ok=True)

    def _end_token(self, claims: "TokenClaims", act: str, now: datetime) -> None:
        with self._hold_lock():
            found = self._load_or_start(now)
            _refuse_spent_token(found, claims)
            line = LedgerLine(
                act=act, at=unix_milliseconds(now), prev=found.head, nonce=claims.nonce, expires=claims.expires
            )
            self._append_line(found, line)
            if len(found.lines) >= _FOLD_AT:
                self._compact_lines(found, now)

    @contextlib.contextmanager
    def _hold_lock(self) -> Iterator[None]:
        """Hold the ledger's lock. Unlike the state's lock it is mandatory: nothing is spent without it."""
        lock = StateLock(self._lock)
        try:
            try:
                make_private_folder(self._lock.parent)
                lock.__enter__()
            except OSError as exc:
                raise Failed(
                    f"the ledger of spent tokens cannot be locked: {exc.strerror}", hint=str(self._lock)
                ) from exc
            if not lock.held:
                raise Busy("another process has locked the ledger of spent tokens", hint="run the command again")
            yield
        finally:
            lock.__exit__(None, None, None)
            lock.close()

    def _load_or_start(self, now: datetime) -> _LedgerContent:
        """Return the ledger; starts a new one if there is none or it was truncated."""
        try:
            found = self._read_ledger()
        except _Cut:
            # One more than now, so that tokens issued in this millisecond are void too.
            return self._start_ledger(unix_milliseconds(now) + 1)
        return found or self._start_ledger(unix_milliseconds(now))

    def _start_ledger(self, since: int) -> _LedgerContent:
        line = LedgerLine(act="begin", at=since, prev="")
        anchor = LedgerAnchor(id=random_hex(32), line=line, before="", since=since)
        _write_durably(self._anchor, json_document(anchor.plain()))
        self._replace([line])
        return _LedgerContent(anchor.id, since, line.digest(), [line])

    def _read_ledger(self) -> _LedgerContent | None:
        """Return the ledger if it verifies, None if there never was one. Raises: _Cut."""
        anchor = self._read_anchor()
        raw = _read_plain_file(self._file)
        if anchor is None and raw is None:
            return None
        if anchor is None:
            raise _Cut("the anchor of the ledger is gone from your home")
        lines = _parse_lines(raw or b"")
        if not lines:
            raise _Cut("the ledger is gone")  # even if nothing was spent: this may be another clone
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
        return _LedgerContent(anchor.id, anchor.since, head, lines, gone)

    def _read_anchor(self) -> LedgerAnchor | None:
        raw = _read_plain_file(self._anchor)
        if raw is None:
            return None
        try:
            return LedgerAnchor.from_value(parse_json(raw), "anchor")
        except Invalid as exc:
            raise _Cut("the anchor of the ledger is damaged") from exc

    def _append_line(self, found: _LedgerContent, line: LedgerLine) -> None:
        # Write the anchor first: from here on the token is spent, whatever happens to this process.
        anchor = LedgerAnchor(id=found.id, line=line, before=found.head, since=found.since)
        _write_durably(self._anchor, json_document(anchor.plain()))
        try:
            fd = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                os.write(fd, line.bytes())
                os.fsync(fd)
            finally:
                os.close(fd)
        except OSError as exc:  # the anchor has the line: the next process restores it
            raise Failed(f"{self._file} cannot be written: {exc.strerror}", hint="that token is spent") from exc
        found.lines.append(line)
        found.head = line.digest()

    def _compact_lines(self, found: _LedgerContent, now: datetime) -> None:
        """Rewrite the ledger without long expired lines; after a crash the old one still counts."""
        oldest = unix_milliseconds(now - REMEMBERED)
        kept = [line for line in found.lines if line.nonce and line.expires > oldest]
        if len(kept) > len(found.lines) // 2:
            return
        chain = [LedgerLine(act="begin", at=found.since, prev=found.head)]
        for line in kept:
            chain.append(line.changed(prev=chain[-1].digest()))
        anchor = LedgerAnchor(id=found.id, line=chain[-1], before=found.head, since=found.since)
        _write_durably(self._anchor, json_document(anchor.plain()))
        self._replace(chain)

    def _replace(self, lines: list[LedgerLine]) -> None:
        make_private_folder(self._folder)
        _write_durably(self._file, b"".join(line.bytes() for line in lines))


class _Cut(Exception):
    """Raised if the ledger is not what was last written."""


def _refuse_spent_token(found: _LedgerContent, claims: "TokenClaims") -> None:
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


def _parse_lines(raw: bytes) -> list[LedgerLine]:
    """Return the lines after verifying the chain. Raises: _Cut."""
    lines: list[LedgerLine] = []
    if raw and not raw.endswith(b"\n"):
        raw = raw[: raw.rfind(b"\n") + 1]  # an incomplete write: the anchor has that line
    for text in raw.split(b"\n")[:-1]:
        try:
            line = LedgerLine.from_value(parse_json(text), "line")
        except Invalid as exc:
            raise _Cut("a line of the ledger is damaged") from exc
        if canonical_json(line.plain()) != text or (lines and line.prev != lines[-1].digest()):
            raise _Cut("a line of the ledger was changed")
        lines.append(line)
    return lines


def _read_plain_file(path: Path) -> bytes | None:
    """Return a regular file's bytes, None if it does not exist. Raises: _Cut for any other kind of file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise _Cut(f"{path.name} cannot be read: {exc.strerror}") from exc
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            raise _Cut(f"{path.name} is not a file of git nexus")
        with os.fdopen(os.dup(fd), "rb") as handle:
            return handle.read()
    finally:
        os.close(fd)


def _write_durably(path: Path, data: bytes) -> None:
    """Replace a file atomically and durably. Raises: Failed."""
    temporary = path.with_name(f".{path.name}.{random_hex(8)}.tmp")
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
