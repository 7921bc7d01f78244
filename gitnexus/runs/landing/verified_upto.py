"""How far commits were verified, remembered in the user's home: no agent reaches that, and it can go at any time."""

import contextlib
from pathlib import Path

from gitnexus.base.errors import Invalid
from gitnexus.base.files import make_private_folder, replace
from gitnexus.base.record import StoredRecord
from gitnexus.policy.place import mark
from gitnexus.state.home import home_folder

_MOST = 50


class Cursor(StoredRecord):
    """All that `tip` reaches and `start` does not was found good; `start` is empty for the whole history.

    `approvers` is the digest of who counted then, `strict` whether every commit had to be approved.
    """

    ref: str
    tip: str
    start: str
    approvers: str
    strict: bool


class Cursors(StoredRecord):
    """Those of one repository, the newest last."""

    cursors: tuple[Cursor, ...] = ()


def known(common_dir: Path, ref: str, approvers: str, *, strict: bool) -> Cursor | None:
    """Return the newest cursor of a ref that holds for these approvers."""
    for cursor in reversed(_read(common_dir)):
        if cursor.ref == ref and cursor.approvers == approvers and (cursor.strict or not strict):
            return cursor
    return None


def remember(common_dir: Path, cursor: Cursor) -> None:
    """Keep one cursor for a ref and a strictness. Two at once may lose one: then more is verified next time."""
    others = [one for one in _read(common_dir) if (one.ref, one.strict) != (cursor.ref, cursor.strict)]
    with contextlib.suppress(OSError):
        file = _file(common_dir)
        make_private_folder(file.parent)
        replace(file, Cursors(cursors=(*others[-_MOST:], cursor)).to_bytes(), 0o600)


def _read(common_dir: Path) -> tuple[Cursor, ...]:
    file = _file(common_dir)
    try:
        return Cursors.from_bytes(file.read_bytes(), str(file)).cursors
    except (OSError, Invalid):
        return ()


def _file(common_dir: Path) -> Path:
    return home_folder() / "cache" / "verify" / f"{mark(common_dir)}.json"
