"""Fetch every peer of the slow tests into .venv/peers, a few at a time: `python -m tests.slow.fetch`, or `make peers`.

What cannot be had is named, and is no failure: its tests are skipped with the same words.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from tests.slow.peers import PEERS, CannotBeHad, forget_failures
from tests.slow.test_adapters_real import REAL

_AT_ONCE = 3


def fetch(name: str, get: Callable[[], object]) -> str:
    """Get one peer, and return a line about it."""
    since = time.monotonic()
    try:
        get()
    except CannotBeHad as exc:
        return f"cannot be had here: {name}: {exc}"
    return f"{time.monotonic() - since:6.1f} s  {name}"


def main() -> None:
    forget_failures()
    getters = {**{name: real.get for name, real in REAL.items()}, **PEERS}
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for line in pool.map(lambda item: fetch(*item), getters.items()):
            print(line, flush=True)


if __name__ == "__main__":
    main()
