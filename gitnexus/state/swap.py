"""Put a new file under a name, in one step, and never lose what had that name.

Exchanging the two names is atomic like a rename, leaves the old file at hand to be looked at, and does not make ext4
start writing to the disk, which costs a living process more than the whole rest of a refresh.
"""

import os
from collections.abc import Callable
from functools import lru_cache

_EXCHANGE = 2


def put_in_place(fd: int, temporary: str, name: str, *, over: bool) -> bool:
    """Give the file `temporary` in the open folder `fd` the name `name`; `over` says that one is likely there.

    True if another file had that name: it is called `temporary` now. Raises: OSError.
    """
    if over and _exchanged(fd, temporary, name):
        return True
    try:
        os.link(temporary, name, src_dir_fd=fd, dst_dir_fd=fd, follow_symlinks=False)
    except FileExistsError:
        if _exchanged(fd, temporary, name):
            return True
        os.rename(temporary, name, src_dir_fd=fd, dst_dir_fd=fd)
    except OSError:  # a file system without links
        os.rename(temporary, name, src_dir_fd=fd, dst_dir_fd=fd)
    else:
        os.unlink(temporary, dir_fd=fd)
    return False


def _exchanged(fd: int, temporary: str, name: str) -> bool:
    exchange = _renameat2()
    return exchange is not None and exchange(fd, os.fsencode(temporary), fd, os.fsencode(name), _EXCHANGE) == 0


@lru_cache(maxsize=1)
def _renameat2() -> Callable[[int, bytes, int, bytes, int], int] | None:
    import ctypes  # 6 ms, once, for who replaces a file

    try:
        found: Callable[[int, bytes, int, bytes, int], int] = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None  # not Linux, or a libc that does not know it
    return found
