"""The file of the index: whether it is whole, and how to be rid of it."""

import contextlib
import os
from pathlib import Path

_HEADER = b"SQLite format 3\0"


def is_whole(path: Path) -> bool:
    """False for a file that is cut off or is no index at all; SQLite would notice only where it happens to read."""
    try:
        with path.open("rb") as handle:
            head = handle.read(100)
            size = os.fstat(handle.fileno()).st_size
    except FileNotFoundError:
        return True
    except OSError:
        return False
    if size == 0:
        return True
    page = int.from_bytes(head[16:18]) or 1
    page = 65536 if page == 1 else page
    return head.startswith(_HEADER) and size >= page * int.from_bytes(head[28:32])


def remove(path: Path) -> None:
    """Delete the index, and what a killed process left beside it."""
    for name in (path, path.with_name(f"{path.name}-journal")):
        with contextlib.suppress(FileNotFoundError):
            name.unlink()
