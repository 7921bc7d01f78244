"""Caches in the user's home how far commits were verified; agents cannot reach it, and deleting it is safe."""

import contextlib
from pathlib import Path

from gitnexus.base.errors import Invalid
from gitnexus.base.files import make_private_folder, replace_file
from gitnexus.base.record import StoredRecord
from gitnexus.policy.repo_key import repository_key
from gitnexus.state.home import home_folder

_MOST = 50


class Cursor(StoredRecord):
    """Everything that `tip` reaches and `start` does not was verified; `start` is "" for the whole history.

    `approvers` is the digest of the approvers used, `strict` whether every commit had to be approved.
    """

    ref: str
    tip: str
    start: str
    approvers: str
    strict: bool


class Cursors(StoredRecord):
    """The cursors of one repository, newest last."""

    cursors: tuple[Cursor, ...] = ()


def find_cursor(common_dir: Path, ref: str, approvers: str, *, strict: bool) -> Cursor | None:
    """Return the newest cursor of a ref for these approvers."""
    for cursor in reversed(_read_cursors(common_dir)):
        if cursor.ref == ref and cursor.approvers == approvers and (cursor.strict or not strict):
            return cursor
    return None


def save_cursor(common_dir: Path, cursor: Cursor) -> None:
    """Store the cursor of a ref and strictness. Of two concurrent writes one may be lost.

    Then more is verified next time.
    """
    others = [one for one in _read_cursors(common_dir) if (one.ref, one.strict) != (cursor.ref, cursor.strict)]
    with contextlib.suppress(OSError):
        file = _cursors_file(common_dir)
        make_private_folder(file.parent)
        replace_file(file, Cursors(cursors=(*others[-_MOST:], cursor)).to_bytes(), 0o600, durable=False)


def _read_cursors(common_dir: Path) -> tuple[Cursor, ...]:
    file = _cursors_file(common_dir)
    try:
        return Cursors.from_bytes(file.read_bytes(), str(file)).cursors
    except (OSError, Invalid):
        return ()


def _cursors_file(common_dir: Path) -> Path:
    return home_folder() / "cache" / "verify" / f"{repository_key(common_dir)}.json"
