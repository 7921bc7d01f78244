"""Turns a sandbox spec into the steps that the launcher takes. Every decision is made here, none after the fork."""

import os
import sys
from typing import Any

from gitnexus.sandbox import access_lists
from gitnexus.sandbox.inner.kernel import landlock_abi
from gitnexus.sandbox.seccomp import build_filter
from gitnexus.sandbox.spec import SandboxLimits, SandboxSpec

WRAPPER = ("/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap")
GRACE = 2.0  # seconds between the request to end and the end

_FILTER_NUMBER = 100  # far from those in use
_FILES = 4096
# What root keeps: at L0 all that concerns files, from L1 only to read and write in a worktree that is not root's.
_CAPABILITIES = {"L0": 0b11111, "L1": 0b10, "L2": 0, "L3": None}


def build_plan(spec: SandboxSpec, scratch: str) -> dict[str, Any]:
    """Return the plan for the launcher."""
    linux = sys.platform == "linux"
    abi = landlock_abi() if linux else 0
    confined = spec.level in ("L1", "L2")
    filter_ = build_filter(spec.level, spec.network, abi).hex() if spec.level != "L0" else ""
    wrapped = spec.level == "L3"
    return {
        "linux": linux,
        "program": bubblewrap_path() if wrapped else spec.program,
        "argv": access_lists.bubblewrap_argv(spec, scratch, bubblewrap_path() or "", _FILTER_NUMBER)
        if wrapped
        else list(spec.argv),
        "env": {**spec.env, **private_variables(scratch, spec.home)},
        "cwd": spec.cwd,
        "limits": _resource_limits(spec.limits, linux=linux),
        # and the launcher, its double at L2, and the two of bubblewrap
        "processes": spec.limits.processes + 4,
        "capabilities": _CAPABILITIES[spec.level],
        "landlock": access_lists.landlock_rules(spec, scratch) if confined else None,
        "seccomp": filter_ if confined else "",
        "wrapper_filter": filter_ if wrapped else "",
        "filter_number": _FILTER_NUMBER,
        "view": access_lists.mount_view(spec, scratch) if spec.level == "L2" else None,
        "wrappers": 2 if wrapped else 0,
        "grace": GRACE,
    }


def bubblewrap_path() -> str | None:
    """Return the path of bubblewrap if it is installed system-wide."""
    return next((path for path in WRAPPER if os.access(path, os.X_OK)), None)


def private_variables(scratch: str, own: str = "") -> dict[str, str]:
    """Return the variables that point into the folder of this run, which is removed after it.

    `own` is a home that outlives the run, for a program that continues its session.
    """
    home, tmp = own or f"{scratch}/home", f"{scratch}/tmp"  # noqa: S108 - in a folder that is ours alone
    return {
        **dict.fromkeys(("TMPDIR", "TMP", "TEMP"), tmp),
        "HOME": home,
        "XDG_CONFIG_HOME": f"{home}/.config",
        "XDG_CACHE_HOME": f"{home}/.cache",
        "XDG_DATA_HOME": f"{home}/.local/share",
        "XDG_STATE_HOME": f"{home}/.local/state",
    }


def _resource_limits(limits: SandboxLimits, *, linux: bool) -> list[tuple[str, int, int]]:
    rows = [
        ("RLIMIT_CORE", 0, 0),
        ("RLIMIT_CPU", limits.cpu_seconds, limits.cpu_seconds + 2),
        ("RLIMIT_FSIZE", limits.file_size, limits.file_size),
        ("RLIMIT_NOFILE", _FILES, _FILES),
    ]
    if linux:
        # Data, not address space: runtimes reserve far more addresses than they ever fill.
        rows.append(("RLIMIT_DATA", limits.memory, limits.memory))
        # Counts all that the user runs, so what there is already is added; watch.py counts the family alone.
        most = limits.processes + _count_threads()
        rows.append(("RLIMIT_NPROC", most, most))
    return rows


def _count_threads() -> int:
    try:
        with open("/proc/loadavg") as file:
            return int(file.read().split()[3].partition("/")[2])
    except OSError:
        return 4096
