"""The way to the launcher: one for each of our processes, started when first needed, started again if it is gone.

Why not fork here: this process has threads and is large, and Python code between fork and exec would have to be sure
that no thread holds a lock. Why not start an interpreter for each command: it takes 20 times as long as the command.
"""

import atexit
import contextlib
import json
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

_START = (
    "import sys; sys.path.append(sys.argv[1]); from gitnexus.sandbox.inner.serve import serve; serve(int(sys.argv[2]))"
)


class _Launcher(NamedTuple):
    owner: int
    door: socket.socket
    process: "subprocess.Popen[bytes]"


_lock = threading.Lock()
_running: list[_Launcher] = []


def hand_over(plan: Mapping[str, Any], stdin: int, stdout: int, stderr: int) -> socket.socket:
    """Have a plan carried out; return the socket on which is told what becomes of it. Closing it ends the command.

    Raises: Failed.
    """
    ours, theirs = socket.socketpair()
    with theirs, holding(json.dumps(plan).encode()) as file:
        given = [file.fileno(), stdin, stdout, stderr, theirs.fileno()]
        with _lock:
            for _ in range(2):
                door = _door()
                try:
                    socket.send_fds(door, [b"1"], given)
                except OSError:
                    _stop()  # somebody killed it
                else:
                    return ours
    ours.close()
    raise Failed(
        "the sandbox's launcher cannot be started", hint="is the Python that runs git nexus still where it was?"
    )


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


def _door() -> socket.socket:
    if _running and _running[0].owner != os.getpid():
        _running.clear()  # a fork of ours: the launcher belongs to the other one
    if _running and _running[0].process.poll() is not None:
        _stop()
    if not _running:
        ours, theirs = socket.socketpair()
        with theirs:
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-I",
                    "-S",
                    "-c",
                    _START,
                    str(Path(gitnexus.__file__).parents[1]),
                    str(theirs.fileno()),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                cwd="/",
                env={},
                start_new_session=True,  # Ctrl-C is for us; we end what is to be ended
            )
        _running.append(_Launcher(os.getpid(), ours, process))
    return _running[0].door


@atexit.register
def _stop() -> None:
    while _running:
        last = _running.pop()
        last.door.close()
        if last.owner == os.getpid():
            with contextlib.suppress(subprocess.TimeoutExpired):
                last.process.wait(timeout=2)
