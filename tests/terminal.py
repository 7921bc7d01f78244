"""A command on a terminal, and somebody who types."""

import os
import pty
import select
import signal
import time
from pathlib import Path


def answered(place: Path, *argv: str, typed: tuple[str, ...]) -> tuple[int, str]:
    """Run a command on a terminal, type a line whenever it asks, and return its status and what it drew."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(place)
        os.environ["NO_COLOR"] = "1"
        os.execvp(argv[0], list(argv))
    drawn, left, deadline = "", list(typed), time.monotonic() + 60
    while time.monotonic() < deadline:
        ready, _, _ = select.select([fd], [], [], 0.2)
        if ready:
            try:
                drawn += os.read(fd, 65536).decode("utf-8", "replace")
            except OSError:
                break
        elif left and drawn.rstrip("\n").endswith(("] ", "? ", ": ")):
            os.write(fd, left.pop(0).encode() + b"\n")
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.close(fd)
    return status, drawn


def killed_at(place: Path, *argv: str, seen: str) -> str:
    """Run a command on a terminal, kill it once it shows `seen`, and return what it drew."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(place)
        os.execvp(argv[0], list(argv))
    drawn, deadline = "", time.monotonic() + 60
    while seen not in drawn and time.monotonic() < deadline:
        drawn += os.read(fd, 65536).decode("utf-8", "replace")
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(fd)
    assert seen in drawn
    return drawn
