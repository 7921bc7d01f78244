"""Lets a run go on in a process of its own, and follows a run that does by what that process prints."""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from gitnexus.base.files import replace_file
from gitnexus.runs.locks import process_identity
from gitnexus.runs.open_run import OpenRun

DRIVER_LOG = "driver.log"
# Names the process that was started to drive the run, and how long its log was before.
_STARTED = "background"
_LOOK = 0.05
_PIECE = 64 * 1024


def start_background_driver(run: OpenRun, network: str | None = None) -> None:
    """Start a process that drives a run until a person has to answer or it is over; it survives its caller."""
    argv = [sys.executable, "-m", "gitnexus", "-C", str(run.repo.folder), "resume", run.record.id, "--unattended"]
    argv += ["--network", network] if network else []
    with (run.folder / DRIVER_LOG).open("ab") as log:
        before = log.tell()
        started = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, start_new_session=True, cwd="/"
        )
    replace_file(run.folder / _STARTED, f"{before} {process_identity(started.pid)}".encode(), 0o600)


def is_background_driver_alive(run: OpenRun) -> bool:
    """True if the process that was started to drive a run still exists, whether it holds the run already or not."""
    return _started_process(run) is not None


def follow_background_driver(run: OpenRun, show: Callable[[str], None]) -> bool:
    """Show what a run's own process prints until it ends; return False if there is none."""
    at = _started_process(run)
    if at is None:
        return False
    with (run.folder / DRIVER_LOG).open("rb") as log:
        log.seek(at)
        left = b""
        while True:
            is_alive = _started_process(run) is not None
            while piece := log.read(_PIECE):
                *lines, left = (left + piece).split(b"\n")
                for line in lines:
                    show(line.decode("utf-8", "replace"))
            if not is_alive:
                return True
            time.sleep(_LOOK)


def _started_process(run: OpenRun) -> int | None:
    """Return where the output of the run's own process begins; None if there is no such process, or it asks."""
    with contextlib.suppress(OSError, ValueError):
        before, _, identity = (run.folder / _STARTED).read_text(encoding="ascii").partition(" ")
        number = int(identity.split()[0])
        if number == os.getpid() or identity.endswith("?"):
            return None
        if process_identity(number) == identity and not _is_zombie(number):
            return int(before)
    return None


def _is_zombie(number: int) -> bool:
    """True for a process that ended and that nobody asked about."""
    with contextlib.suppress(OSError):
        stat = Path(f"/proc/{number}/stat").read_text(encoding="ascii", errors="replace")
        return stat.rpartition(")")[2].split()[0] == "Z"
    return False
