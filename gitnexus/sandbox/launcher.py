"""The way to the launchers: started when first needed, one for each command at a time, and kept for the next.

Why not fork here: this process has threads and is large, and Python code between fork and exec would have to be sure
that no thread holds a lock. Why not start an interpreter for each command: it takes 20 times as long as the command.
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
    door: socket.socket
    process: "subprocess.Popen[bytes]"


class Handed(NamedTuple):
    """A command that is being run: on `control` is told what becomes of it, and closing it ends the command."""

    control: socket.socket
    launcher: Launcher


_lock = threading.Lock()
_idle: list[Launcher] = []
_MOST_IDLE = 4


def hand_over(plan: Mapping[str, Any], stdin: int, stdout: int, stderr: int) -> Handed:
    """Have a plan carried out by a launcher that has nothing else to do. Raises: Failed."""
    ours, theirs = socket.socketpair()
    with theirs, holding(marshal.dumps(dict(plan))) as file:
        given = [file.fileno(), stdin, stdout, stderr, theirs.fileno()]
        for _ in range(_MOST_IDLE + 1):  # somebody may have killed all that wait
            launcher = _waiting() or _started()
            try:
                socket.send_fds(launcher.door, [b"1"], given)
            except OSError:
                _stopped(launcher)
            else:
                return Handed(ours, launcher)
    ours.close()
    raise Failed(
        "the sandbox's launcher cannot be started", hint="is the Python that runs git nexus still where it was?"
    )


def give_back(handed: Handed, *, through: bool) -> None:
    """Let the launcher take another command if it is through with this one; otherwise end it."""
    handed.control.close()
    with _lock:
        if through and len(_idle) < _MOST_IDLE:
            _idle.append(handed.launcher)
            return
    if not through:
        handed.launcher.process.kill()  # and the kernel kills the command
    _stopped(handed.launcher)


def holding(content: bytes) -> IO[bytes]:
    """Return a file without a name that holds `content`, to be read from its beginning."""
    file: IO[bytes]
    if sys.platform == "linux":
        file = os.fdopen(os.memfd_create("nexus"), "w+b")
    else:
        file = tempfile.TemporaryFile()  # noqa: SIM115 - whoever asked closes it
    file.write(content)
    file.seek(0)
    return file


def _waiting() -> Launcher | None:
    """Take a launcher that has nothing to do."""
    with _lock:
        while _idle:
            launcher = _idle.pop()
            # Not that of the process we were forked from, and not one that is gone.
            if launcher.owner == os.getpid() and launcher.process.poll() is None:
                return launcher
            _stopped(launcher)
    return None


def _started() -> Launcher:
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


def _stopped(launcher: Launcher) -> None:
    launcher.door.close()
    if launcher.owner == os.getpid():
        try:
            launcher.process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            launcher.process.kill()
            launcher.process.wait()
        if sys.platform == "linux":
            groups.forget(launcher.process.pid)


@atexit.register
def _stop_all() -> None:
    while _idle:
        _stopped(_idle.pop())
