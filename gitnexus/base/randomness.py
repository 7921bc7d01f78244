"""Chance, straight from the system: `secrets` and `random` cost a short command 10 ms and more to import."""

import os


def token(length: int = 12) -> str:
    """Return `length` hex digits that nobody can guess."""
    return os.urandom((length + 1) // 2).hex()[:length]


def fraction() -> float:
    """Return a number from 0 to 1, for waiting a little out of step with others."""
    return int.from_bytes(os.urandom(2)) / 0xFFFF
