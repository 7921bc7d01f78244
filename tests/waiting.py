"""Wait for a condition instead of for a time: as short as it can be, and never for ever."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def wait_until(what: str, is_there: Callable[[], T], seconds: float = 60.0) -> T:
    """Return what `is_there` returns as soon as that is true. Raises: AssertionError that says what was waited for."""
    deadline = time.monotonic() + seconds
    while not (value := is_there()):
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s for {what}, in vain"
        time.sleep(0.02)
    return value


def age_lock(lock: Path, seconds: float = 1.8) -> None:
    """Make a lock file older: by default one that was left just now is a little too young to be broken after it."""
    then = lock.lstat().st_mtime - seconds
    os.utime(lock, (then, then))
