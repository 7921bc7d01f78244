"""A cgroup that counts processes, for root, whom RLIMIT_NPROC does not bind; others seldom may make one.

Joining one takes milliseconds, so the launcher does it before it has a command; the limit itself is one short write.
"""

import os
import time
from contextlib import suppress

_WHERE = "/sys/fs/cgroup"
_PREFIX = "nexus-run-"


def joined() -> str | None:
    """Make a group, go into it, and return its folder; None where we may not."""
    above = _own() if os.geteuid() == 0 else None
    if above is None:
        return None
    place = f"{above}/{_PREFIX}{os.getpid()}"
    with suppress(OSError):
        os.mkdir(place)
        if os.path.exists(f"{place}/pids.max"):
            _write(f"{place}/cgroup.procs", "0")
            return place
    left(place)
    return None


def limit(place: str, most: int) -> None:
    """Let at most so many processes be in the group. Raises: OSError."""
    _write(f"{place}/pids.max", str(most))


def left(place: str) -> None:
    """Go back to where we came from and remove the group."""
    with suppress(OSError):
        _write(f"{os.path.dirname(place)}/cgroup.procs", "0")
        os.rmdir(place)


def forget(launcher: int) -> None:
    """Remove the group of a launcher that could not do it itself any more."""
    above = _own() if os.geteuid() == 0 else None
    place = f"{above}/{_PREFIX}{launcher}"
    for _ in range(50 if above is not None and os.path.isdir(place) else 0):
        with suppress(OSError):
            os.rmdir(place)
            return
        time.sleep(0.002)  # what it ran is only just ending


def _own() -> str | None:
    """Return the folder of the group we are in, in the hierarchy that counts processes."""
    try:
        with open("/proc/self/cgroup") as file:
            rows = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return None
    for _, controllers, path in rows:
        if "pids" in controllers.split(","):
            return f"{_WHERE}/pids{path.rstrip('/')}"
    return next((f"{_WHERE}{path.rstrip('/')}" for _, controllers, path in rows if not controllers), None)


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
