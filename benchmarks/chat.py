"""The chat: its first paint beside importing Textual, the longest frame of 10,000 lines, and its cost when idle."""

import asyncio
import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from commands import child, repository, sealed
from measure import Ratio, compare

LINES = 10_000
FRAME = 0.1
# A fiftieth of one core is near enough to nothing.
IDLE = 0.02
_SECONDS = 5.0


def ratios() -> Iterator[Ratio]:
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        sealed(scratch)
        project = repository(scratch / "project")
        subprocess.run(["git", "nexus", "init", "--name", "bench"], cwd=project, check=True, stdout=subprocess.DEVNULL)
        textual = child(project, sys.executable, "-c", "import textual")
        yield compare("first paint of git nexus chat", painter(project), "import textual", textual, 3.0, rounds=7)
        grown, scrolled = asyncio.run(frames(project))
        yield Ratio(f"the longest frame while {LINES} lines come in", "a frame of 100 ms", grown, FRAME, 1.0)
        yield Ratio(f"the longest frame of a scroll through {LINES} lines", "a frame of 100 ms", scrolled, FRAME, 1.0)
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
    drawn = b""
    deadline = time.monotonic() + 30
    while "╭".encode() not in drawn and time.monotonic() < deadline:
        if select.select([fd], [], [], 0.1)[0]:
            drawn += os.read(fd, 65536)


def ended(pid: int, fd: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(fd)


async def frames(place: Path) -> tuple[float, float]:
    """Return the longest frame while lines come in, and while somebody scrolls through them.

    Counted is what the thread of the screen works for a frame: where nothing else runs, that is how long it takes.
    """
    from gitnexus.app import open_nexus
    from gitnexus.tui.chat import Chat
    from gitnexus.tui.model import Entry
    from gitnexus.tui.screen import ChatApp

    app = ChatApp(lambda: Chat(open_nexus(place), place))
    grown, scrolled = [], []
    async with app.run_test(size=(120, 40)) as pilot:
        while not app.ready:
            await pilot.pause(0.05)
        await pilot.pause()
        for at in range(0, LINES, 100):
            begin = time.thread_time()
            app.stream.add([Entry("agent", f"{n}: " + "what an agent says " * 4, "r") for n in range(at, at + 100)])
            app.stream.refresh()
            app.screen._compositor.render_update(full=True)
            grown.append(time.thread_time() - begin)
            await pilot.pause()
        for y in range(0, int(app.stream.max_scroll_y), 137):
            begin = time.thread_time()
            app.stream.scroll_to(y=y, animate=False, immediate=True)
            app.screen._compositor.render_update(full=True)
            scrolled.append(time.thread_time() - begin)
            await pilot.pause()
    return max(grown), max(scrolled)


def idle(place: Path) -> float:
    """Return the seconds of CPU that a chat takes while nothing happens, all it started counted."""
    pid, fd = started(place)
    painted(fd)
    until = time.monotonic() + 4  # what the beginning costs is over by then
    while time.monotonic() < until:
        if select.select([fd], [], [], 0.1)[0]:
            os.read(fd, 65536)
    before = spent(pid)
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until:
        if select.select([fd], [], [], 0.1)[0]:
            os.read(fd, 65536)
    after = spent(pid)
    ended(pid, fd)
    return after - before


def spent(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
