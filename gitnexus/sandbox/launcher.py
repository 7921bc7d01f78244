"""Starts launcher processes on first use, gives each one command at a time, and keeps them for later commands.

A fork here is unsafe: this process has threads and is large, and Python code between fork and exec would have to be
sure that no thread holds a lock. A new interpreter for each command would take 20 times as long as the command.
"""

import atexit
import marshal
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import gitnexus
from gitnexus.base.errors import Failed
from gitnexus.sandbox.inner import groups

_START = (
    "import sys; sys.path.append(sys.argv[1]); from gitnexus.sandbox.inner.serve import serve; serve(int(sys.argv[2]))"
)


class Launcher(NamedTuple):
    """A process that starts commands, one at a time; `owner` is the process of ours that started it."""

    owner: int
    channel: socket.socket
    process: "subprocess.Popen[bytes]"


class HandedCommand(NamedTuple):
    """A running command: `control` reports its progress, and closing `control` ends the command."""

    control: socket.socket
    launcher: Launcher


_lock = threading.Lock()
_idle: list[Launcher] = []
_MOST_IDLE = 4


def hand_over_plan(plan: Mapping[str, Any], stdin: int, stdout: int, stderr: int) -> HandedCommand:
    """Have an idle launcher carry out a plan. Raises: Failed."""
    ours, theirs = socket.socketpair()
    with theirs, open_unnamed_file(marshal.dumps(dict(plan))) as file:
        given = [file.fileno(), stdin, stdout, stderr, theirs.fileno()]
        for _ in range(_MOST_IDLE + 1):  # somebody may have killed all that wait
            launcher = _take_idle_launcher() or _start_launcher()
            try:
                socket.send_fds(launcher.channel, [b"1"], given)
            except OSError:
                _stop_launcher(launcher)
            else:
                return HandedCommand(ours, launcher)
    ours.close()
    raise Failed(
        "the sandbox's launcher cannot be started", hint="is the Python that runs git nexus still where it was?"
    )


def give_back_launcher(handed: HandedCommand, *, through: bool) -> None:
    """Make the launcher available again if its command has ended; otherwise end it."""
    handed.control.close()
    with _lock:
        if through and len(_idle) < _MOST_IDLE:
            _idle.append(handed.launcher)
            return
    if not through:
        handed.launcher.process.kill()  # and the kernel kills the command
    _stop_launcher(handed.launcher)


def open_unnamed_file(content: bytes) -> IO[bytes]:
    """Return a file without a name that holds `content`, to be read from its beginning."""
    file: IO[bytes]
    if sys.platform == "linux":
        file = os.fdopen(os.memfd_create("nexus"), "w+b")
    else:
        file = tempfile.TemporaryFile()  # noqa: SIM115 - whoever asked closes it
    file.write(content)
    file.seek(0)
    return file


def _take_idle_launcher() -> Launcher | None:
    """Take a launcher that has nothing to do."""
    with _lock:
        while _idle:
            launcher = _idle.pop()
            # Not that of the process we were forked from, and not one that is gone.
            if launcher.owner == os.getpid() and launcher.process.poll() is None:
                return launcher
            _stop_launcher(launcher)
    return None


def _start_launcher() -> Launcher:
    ours, theirs = socket.socketpair()
    folder = str(Path(gitnexus.__file__).parents[1])
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _START, folder, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            cwd="/",
            env={},
            start_new_session=True,  # Ctrl-C is for us; we end what is to be ended
        )
    return Launcher(os.getpid(), ours, process)


def _stop_launcher(launcher: Launcher) -> None:
    launcher.channel.close()
    if launcher.owner == os.getpid():
        try:
            launcher.process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            launcher.process.kill()
            launcher.process.wait()
        if sys.platform == "linux":
            groups.remove_cgroup(launcher.process.pid)


@atexit.register
def _stop_idle_launchers() -> None:
    while _idle:
        _stop_launcher(_idle.pop())
