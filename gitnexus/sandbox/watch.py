"""Measures processes, memory, time and disk use of a whole process family, which per-process limits do not cover."""

import contextlib
import os
import signal
import time
from typing import NamedTuple

from gitnexus.sandbox.inner.family import descendant_processes
from gitnexus.sandbox.spec import EndedBy, SandboxLimits

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class ResourceUsage(NamedTuple):
    """What all processes of a command take together, at this moment."""

    processes: int
    memory: int
    cpu_seconds: float


def measure_usage(supervisor: int) -> ResourceUsage:
    """Return what the family below `supervisor` takes."""
    processes, pages, ticks = 0, 0, 0
    for pid, _ in descendant_processes(supervisor):
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue  # it ended while we looked
        processes += int(fields[17])
        pages += int(fields[21])
        ticks += int(fields[11]) + int(fields[12])
    return ResourceUsage(processes, pages * _PAGE, ticks / _TICKS)


def kill_session(session: int) -> None:
    """Kill what is in a session: the last resort if the launcher that watched over it is gone."""
    for _ in range(100):  # until nobody is left; dying takes a moment
        members = [int(name) for name in os.listdir("/proc") if name.isdecimal() and _is_in_session(name, session)]
        if not members:
            return
        for pid in members:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.002)


def _is_in_session(name: str, session: int) -> bool:
    try:
        with open(f"/proc/{name}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return False
    return int(fields[3]) == session and fields[0] != b"Z"


def free_space(folder: str) -> int:
    """Return how much can still be written where `folder` is."""
    about = os.statvfs(folder)
    return about.f_bavail * about.f_frsize


def exceeded_limit(used: ResourceUsage, shrunk: int, limits: SandboxLimits) -> EndedBy | None:
    """Return which limit a family is over, if any."""
    if used.processes > limits.processes:
        return "processes"
    if used.memory > limits.memory:
        return "memory"
    if used.cpu_seconds > limits.cpu_seconds:
        return "cpu"
    return "disk" if shrunk > limits.disk else None
