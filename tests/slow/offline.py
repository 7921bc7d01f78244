"""Runs a program where there is no network but loopback, with one port on it that leads to the model of a test.

As a script it is what runs inside: `unshare -rn python offline.py PORT SOCKET PROGRAM …`. A socket file is seen from
both sides, whatever network they have.
"""

import fcntl
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1


def why_not() -> str:
    """Return why a network of one's own cannot be had here, empty if it can."""
    if shutil.which("unshare") is None:
        return "there is no unshare on PATH"
    probe = [*_ALONE, sys.executable, __file__, "0", "", "true"]
    done = subprocess.run(probe, capture_output=True, text=True, timeout=60, check=False)
    return "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1] if done.stderr else "unshare failed"


@contextmanager
def road_to(port: int) -> Iterator[Sequence[str]]:
    """Yield what stands before a command line so that it has no network but this port of ours."""
    folder = tempfile.mkdtemp(prefix="nexus-road-")  # the path of a socket must be short
    file = str(Path(folder, "s"))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(file)
    listener.listen(64)
    out = threading.Thread(target=_serve, args=(listener, lambda: socket.create_connection(("127.0.0.1", port))))
    out.start()
    try:
        yield [*_ALONE, sys.executable, __file__, str(port), file]
    finally:
        listener.shutdown(socket.SHUT_RDWR)  # to close it alone does not wake who waits
        out.join()
        listener.close()
        shutil.rmtree(folder, ignore_errors=True)


def run(
    argv: Sequence[str], place: Path, env: Mapping[str, str], seconds: int = 400
) -> subprocess.CompletedProcess[str]:
    """Run to the end with nothing on stdin; what takes too long goes with all that it started."""
    with subprocess.Popen(
        argv,
        cwd=place,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as child:
        try:
            out, err = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, err = child.communicate()
            err += f"\nended after {seconds} seconds"
    return subprocess.CompletedProcess(list(argv), child.returncode, out, err)


_ALONE = ("unshare", "-rn")


def _serve(listener: socket.socket, connect: Callable[[], socket.socket]) -> None:
    while True:
        try:
            near, _ = listener.accept()
        except OSError:
            return
        try:
            far = connect()
        except OSError:
            near.close()
            continue
        threading.Thread(target=_joined, args=(near, far), daemon=True).start()


def _joined(near: socket.socket, far: socket.socket) -> None:
    """Hand on what either side says, until both have ended or one is gone."""
    other = {near: far, far: near}
    with near, far, suppress(OSError):
        speaking = {near, far}
        while speaking:
            for one in select.select(speaking, [], [])[0]:
                data = one.recv(65536)
                if data:
                    other[one].sendall(data)
                else:
                    speaking.discard(one)
                    other[one].shutdown(socket.SHUT_WR)


def _loopback_up() -> None:
    with socket.socket() as any_socket:
        asked = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(any_socket, _GET_FLAGS, asked))[1]
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", b"lo", flags | _UP))


def _unix(file: str) -> socket.socket:
    far = socket.socket(socket.AF_UNIX)
    far.connect(file)
    return far


def _inside(port: int, file: str, argv: Sequence[str]) -> int:
    _loopback_up()
    if file:
        listener = socket.create_server(("127.0.0.1", port), backlog=64)
        threading.Thread(target=_serve, args=(listener, lambda: _unix(file)), daemon=True).start()
    return subprocess.run(argv, check=False).returncode


if __name__ == "__main__":
    sys.exit(_inside(int(sys.argv[1]), sys.argv[2], sys.argv[3:]))
