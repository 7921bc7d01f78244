"""Put a new file in the place of an old one, in one step.

ext4 starts writing to the disk whenever a file is renamed over another, which costs a living process more than the
whole rest of a refresh. Exchanging the two names is just as atomic and waits for nothing.
"""

import os
import sys
from collections.abc import Callable
from functools import lru_cache

_EXCHANGE = 2


def put_in_place(fd: int, temporary: str, name: str) -> None:
    """Give the file `temporary` in the open folder `fd` the name `name`; what had that name is gone."""
    exchange = _renameat2() if "pygit2" in sys.modules else None  # ctypes costs a short command 6 ms
    if exchange is not None and exchange(fd, os.fsencode(temporary), fd, os.fsencode(name), _EXCHANGE) == 0:
        os.unlink(temporary, dir_fd=fd)
    else:
        os.rename(temporary, name, src_dir_fd=fd, dst_dir_fd=fd)


@lru_cache(maxsize=1)
def _renameat2() -> Callable[[int, bytes, int, bytes, int], int] | None:
    import ctypes

    try:
        found: Callable[[int, bytes, int, bytes, int], int] = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None  # not Linux, or a libc that does not know it
    return found
