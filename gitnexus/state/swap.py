"""Puts a new file under a name in one atomic step, and never loses the file that had that name before.

Exchanging the two names is as atomic as a rename, keeps the old file available for inspection, and does not make ext4
flush to disk, which would cost a long-lived process more than the rest of the refresh.
"""

import os
from collections.abc import Callable
from functools import lru_cache

_EXCHANGE = 2


def put_in_place(fd: int, temporary: str, name: str, *, over: bool) -> bool:
    """Rename `temporary` in the open folder `fd` to `name`; `over` says that `name` probably exists.

    Returns True if another file had that name: it is called `temporary` now. Raises: OSError.
    """
    if over and _exchange_names(fd, temporary, name):
        return True
    try:
        os.link(temporary, name, src_dir_fd=fd, dst_dir_fd=fd, follow_symlinks=False)
    except FileExistsError:
        if _exchange_names(fd, temporary, name):
            return True
        os.rename(temporary, name, src_dir_fd=fd, dst_dir_fd=fd)
    except OSError:  # a file system without links
        os.rename(temporary, name, src_dir_fd=fd, dst_dir_fd=fd)
    else:
        os.unlink(temporary, dir_fd=fd)
    return False


def _exchange_names(fd: int, temporary: str, name: str) -> bool:
    exchange = _load_renameat2()
    return exchange is not None and exchange(fd, os.fsencode(temporary), fd, os.fsencode(name), _EXCHANGE) == 0


@lru_cache(maxsize=1)
def _load_renameat2() -> Callable[[int, bytes, int, bytes, int], int] | None:
    import ctypes  # 6 ms, once, for who replaces a file

    try:
        found: Callable[[int, bytes, int, bytes, int], int] = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None  # not Linux, or a libc that does not know it
    return found
