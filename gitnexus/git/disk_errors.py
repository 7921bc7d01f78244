"""Finds out which error of the system made git fail: from all that git printed, or by writing a small file."""

import contextlib
import errno
import os
from pathlib import Path

from gitnexus.base.randomness import random_hex

_ERRORS = tuple(os.strerror(number) for number in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EFBIG))
# With these git tells that it could not write, and not why.
_NO_REASON = (b"couldn't write", b"couldn't set", b"unable to write", b"cannot update", b"unpack", b"migrate objects")


def named_disk_error(stderr: bytes) -> str:
    """Return the error of the disk that some line of git's error output names, "" if none does."""
    text = stderr.decode("utf-8", "replace")
    return next((words for words in _ERRORS if words in text), "")


def disk_error(stderr: bytes, folder: Path) -> str:
    """Return the error of the disk that made git fail; where git does not name it, that of writing into `folder`."""
    named = named_disk_error(stderr)
    if named or not any(words in stderr for words in _NO_REASON):
        return named
    probe = folder / f".nexus-probe-{random_hex(8)}"
    try:
        try:
            probe.write_bytes(b"\0" * 4096)
        finally:
            with contextlib.suppress(OSError):
                probe.unlink(missing_ok=True)
    except OSError as exc:
        return exc.strerror or ""
    return ""


def with_disk_error(words: str, stderr: bytes, folder: Path) -> str:
    """Return an error message with the error of the disk behind it, if that is known and not in it."""
    reason = disk_error(stderr, folder)
    return f"{words}: {reason}" if reason and reason not in words else words
