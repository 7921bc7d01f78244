"""Wait for a condition instead of for a time: as short as it can be, and never for ever."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(what: str, is_there: Callable[[], T], seconds: float = 60.0) -> T:
    """Return what `is_there` returns as soon as that is true. Raises: AssertionError that says what was waited for."""
    deadline = time.monotonic() + seconds
    while not (value := is_there()):
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s for {what}, in vain"
        time.sleep(0.02)
    return value
