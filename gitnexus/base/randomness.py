"""Random values from `os.urandom`. Importing `secrets` or `random` would cost a short command 10 ms or more."""

import os


def random_hex(length: int = 12) -> str:
    """Return `length` unpredictable hex digits."""
    return os.urandom((length + 1) // 2).hex()[:length]


def random_fraction() -> float:
    """Return a random number from 0 to 1, for waits of different length."""
    return int.from_bytes(os.urandom(2)) / 0xFFFF
