"""Limits the number of processes with a cgroup, for root, to whom RLIMIT_NPROC does not apply.

Users other than root may rarely create one. Joining a cgroup takes milliseconds, so the launcher does it before it has
a command; setting the limit is one short write.
"""

import os
import time
from contextlib import suppress

_WHERE = "/sys/fs/cgroup"
_PREFIX = "nexus-run-"


def join_cgroup() -> str | None:
    """Create a cgroup, join it, and return its folder; None without permission."""
    above = _own_cgroup() if os.geteuid() == 0 else None
    if above is None:
        return None
    place = f"{above}/{_PREFIX}{os.getpid()}"
    with suppress(OSError):
        os.mkdir(place)
        if os.path.exists(f"{place}/pids.max"):
            _write_text(f"{place}/cgroup.procs", "0")
            return place
    leave_cgroup(place)
    return None


def limit_processes(place: str, most: int) -> None:
    """Limit the number of processes in the cgroup. Raises: OSError."""
    _write_text(f"{place}/pids.max", str(most))


def leave_cgroup(place: str) -> None:
    """Return to the former cgroup and remove this one."""
    with suppress(OSError):
        _write_text(f"{os.path.dirname(place)}/cgroup.procs", "0")
        os.rmdir(place)


def remove_cgroup(launcher: int) -> None:
    """Remove the group of a launcher that could not do it itself any more."""
    above = _own_cgroup() if os.geteuid() == 0 else None
    place = f"{above}/{_PREFIX}{launcher}"
    for _ in range(50 if above is not None and os.path.isdir(place) else 0):
        with suppress(OSError):
            os.rmdir(place)
            return
        time.sleep(0.002)  # what it ran is only just ending


def _own_cgroup() -> str | None:
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


def _write_text(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
