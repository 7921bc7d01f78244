"""Lets a sandboxed command reach one program outside the sandbox over named pipes, and nothing else.

Each caller gets its own process, started when it calls. That process judges what arrives; this module reads nothing
but the names of pipes.
"""

import contextlib
import os
import re
import selectors
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from gitnexus.base.errors import Failed
from gitnexus.sandbox.callers import make_folder, remove_folder, remove_left_folders
from gitnexus.sandbox.inner import relay

MOST_CALLERS = 8
REQUEST_PIPE = "requests"
_NAME = re.compile(rb"[0-9a-f]{16}")
_GRACE = 10.0


@contextlib.contextmanager
def open_tool_relay(private: Path, argv: Sequence[str], said: Path) -> Iterator[tuple[str, ...]]:
    """Yield the command line that, inside, is `argv` outside; `private` is writable inside. Raises: Failed.

    What the processes say on standard error goes to the file `said`. At the end they are ended.
    """
    remove_left_folders(private)
    try:
        folder, place = make_folder(private)
        (folder / "relay.py").write_bytes(Path(relay.__file__).read_bytes())
        os.mkfifo(folder / REQUEST_PIPE, 0o600)
    except OSError as exc:
        raise Failed(f"the tools of a run cannot be offered: {exc.strerror}") from exc
    with said.open("ab") as log:
        listening = _RelayListener(place, tuple(argv), log)
        try:
            yield (python_interpreter(), "-I", "-S", str(folder / "relay.py"), str(folder))
        finally:
            listening.close()
            remove_folder(folder, place)


def python_interpreter() -> str:
    """Return the Python for the inner side: the one that any virtual environment is based on."""
    return os.path.realpath(sys.executable)


def interpreter_libraries() -> tuple[str, ...]:
    """Return the folders that the interpreter needs to be able to read."""
    return tuple(dict.fromkeys(os.path.realpath(path) for path in (sys.base_prefix, sys.base_exec_prefix)))


class _RelayListener:
    """A thread that waits for requests, and the processes of those who came."""

    def __init__(self, place: int, argv: tuple[str, ...], log: IO[bytes]) -> None:
        self._place, self._argv, self._log = place, argv, log
        self._callers: list[subprocess.Popen[bytes]] = []
        # For reading and writing: a pipe without a writer would read as closed.
        self._requests = os.open(REQUEST_PIPE, os.O_RDWR | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place)
        self._stopped, self._stop = os.pipe()
        self._thread = threading.Thread(target=self._accept_callers, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Accept no more callers, and end the current ones: their input ended with the caller."""
        os.close(self._stop)
        self._thread.join()
        for end in (None, subprocess.Popen.terminate, subprocess.Popen.kill):
            until = time.monotonic() + _GRACE
            for caller in self._callers:
                if end is not None and caller.poll() is None:
                    end(caller)
            for caller in self._callers:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    caller.wait(max(0.0, until - time.monotonic()))
        for number in (self._requests, self._stopped):
            os.close(number)

    def _accept_callers(self) -> None:
        heard = b""
        with selectors.DefaultSelector() as ready:
            ready.register(self._requests, selectors.EVENT_READ)
            ready.register(self._stopped, selectors.EVENT_READ)
            while not any(key.fd == self._stopped for key, _ in ready.select()):
                with contextlib.suppress(BlockingIOError):
                    heard += os.read(self._requests, 4096)
                *names, heard = heard.split(b"\n")
                heard = heard[-64:]  # a caller that sends no end of line calls nothing
                for name in names:
                    if _NAME.fullmatch(name):
                        with contextlib.suppress(OSError):  # pipes that are none, or gone already
                            self._start_caller(name.decode("ascii"))

    def _start_caller(self, name: str) -> None:
        self._callers = [caller for caller in self._callers if caller.poll() is None]
        with contextlib.ExitStack() as opened:
            up = self._open_pipe(f"{name}.up", os.O_RDONLY)
            opened.callback(os.close, up)
            down = self._open_pipe(f"{name}.down", os.O_WRONLY)
            opened.callback(os.close, down)
            if len(self._callers) < MOST_CALLERS:  # one too many finds its pipe closed
                os.write(down, relay.WELCOME)  # at once or not at all: a pipe that was filled before is no caller's
                os.set_blocking(up, True)
                os.set_blocking(down, True)
                self._callers.append(
                    subprocess.Popen(
                        self._argv, stdin=up, stdout=down, stderr=self._log, cwd="/", start_new_session=True
                    )
                )

    def _open_pipe(self, name: str, way: int) -> int:
        # The other end is open already, or this fails at once: nobody inside can make us wait.
        number = os.open(name, way | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._place)
        os.unlink(name, dir_fd=self._place)
        if not stat.S_ISFIFO(os.fstat(number).st_mode):
            os.close(number)
            raise OSError("not a pipe")
        return number
