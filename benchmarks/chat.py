"""The chat: its first paint beside importing Textual, the longest frame of 10,000 lines, and its cost when idle.

All of it is seen from the other end of a terminal, by the clock on the wall.
"""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from commands import child, repository, sealed
from measure import QUICK, Ratio, compare

LINES = 10_000
FRAME = 0.1
# A fiftieth of one core is near enough to nothing.
IDLE = 0.02
_SECONDS = 5.0
_ROUNDS = 3
_PAGES = 150
# For so long nothing is drawn any more: the frame is whole.
_QUIET = 0.012


def ratios() -> Iterator[Ratio]:
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        sealed(scratch)
        project = repository(scratch / "project")
        subprocess.run(["git", "nexus", "init", "--name", "bench"], cwd=project, check=True, stdout=subprocess.DEVNULL)
        textual = child(project, sys.executable, "-c", "import textual")
        yield compare("first paint of git nexus chat", painter(project), "import textual", textual, 3.0, rounds=7)
        rounds = 1 if os.environ.get(QUICK) else _ROUNDS
        # What else runs on this machine is not ours: the quietest of a few rounds counts, with its longest frame.
        grown, scrolled = (min(found) for found in zip(*(frames(project, n) for n in range(rounds)), strict=True))
        yield Ratio(f"the longest from a key to its paint while {LINES} lines come in", "100 ms", grown, FRAME, 1.0)
        yield Ratio(f"the longest from a key to a page of {LINES} lines", "100 ms", scrolled, FRAME, 1.0)
        yield Ratio("CPU of an idle chat in 5 s", "2% of a core", idle(project), IDLE * _SECONDS, 1.0)


def painter(place: Path) -> Callable[[], object]:
    """Return what starts the chat on a terminal and ends it at its first paint."""

    def run() -> None:
        pid, fd = started(place)
        painted(fd)
        ended(pid, fd)

    return run


def started(place: Path) -> tuple[int, int]:
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(place)
        os.environ |= {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
        os.execvp("git-nexus", ["git-nexus", "chat"])
    return pid, fd


def painted(fd: int) -> None:
    """Wait until the frame of the input is drawn."""
    until(fd, "╭".encode(), 30)


def ended(pid: int, fd: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(fd)


def frames(place: Path, number: int) -> tuple[float, float]:
    """Return the longest time from a key to its paint while an agent says 10,000 lines, and while they are scrolled."""
    pid, fd = started(place)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    try:
        until(fd, b"ask for something", 30)
        until(fd, None, 1)
        agent = threading.Thread(target=said, args=(place, f"261117-000{number}-talk"))
        agent.start()
        grown = []
        while agent.is_alive():
            # No agent says this: where it is drawn, the key has come through.
            grown.append(keyed(fd, "§"))
            keyed_off(fd)
        agent.join()
        until(fd, None, 2)
        os.write(fd, b"\t")
        until(fd, None, 0.5)
        scrolled = [paged(fd, b"\x1b[5~") for _ in range(_PAGES)] + [paged(fd, b"\x1b[6~") for _ in range(_PAGES)]
    finally:
        ended(pid, fd)
    return max(grown), max(scrolled)


def said(place: Path, run: str) -> None:
    """Let an agent say its lines: a log that grows, as any run's."""
    from gitnexus.events.log import EventDraft, RunLog

    log = RunLog(place / ".git" / "nexus" / "runs" / run)
    begun = {"run": run, "definition": "sha256:" + "0" * 64, "task": "talk", "agent": "codex"}
    log.append("workflow.started", "user", begun)
    for at in range(0, LINES, 100):
        lines = [f"{n}: " + "what an agent says " * 4 for n in range(at, at + 100)]
        log.append_many([EventDraft("agent.progress", "codex", {"text": line}) for line in lines])
        time.sleep(0.02)


def keyed(fd: int, letter: str) -> float:
    begin = time.perf_counter()
    os.write(fd, letter.encode())
    until(fd, letter.encode(), 10)
    return time.perf_counter() - begin


def keyed_off(fd: int) -> None:
    os.write(fd, b"\x7f")
    until(fd, None, 0.05)


def paged(fd: int, key: bytes) -> float:
    """Return the time from a key to the last that is drawn for it."""
    begin = last = time.perf_counter()
    os.write(fd, key)
    while select.select([fd], [], [], _QUIET if last > begin else 1.0)[0]:
        os.read(fd, 65536)
        last = time.perf_counter()
    assert last > begin, "nothing was drawn"
    return last - begin


def until(fd: int, words: bytes | None, seconds: float) -> None:
    """Read what is drawn until some words are there, or for some time."""
    drawn, deadline = b"", time.monotonic() + seconds
    while time.monotonic() < deadline:
        if select.select([fd], [], [], max(0.0, deadline - time.monotonic()))[0]:
            drawn = drawn[-200:] + os.read(fd, 65536)
            if words is not None and words in drawn:
                return
    assert words is None, f"never drawn: {words!r}"


def idle(place: Path) -> float:
    """Return the seconds of CPU that a chat takes while nothing happens, all it started counted."""
    pid, fd = started(place)
    painted(fd)
    until(fd, None, 4)  # what the beginning costs is over by then
    before = spent(pid)
    until(fd, None, _SECONDS)
    after = spent(pid)
    ended(pid, fd)
    return after - before


def spent(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
