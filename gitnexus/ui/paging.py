"""Shows a long text in the user's pager, and reports whether the pager read all of it."""

import contextlib
import fcntl
import os
import select
import shlex
import shutil
import stat
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path
from typing import IO

import click

from gitnexus.ui.commands import color_setting

_PAUSE = 0.02
# How long a reader may take for what was printed, before it counts as not taken.
_LONGEST_READ = 5.0
_BYTES = struct.Struct("i")


def show_in_pager(text: str) -> bool:
    """Show a text in the pager; return True if the pager read all of it and exited with 0.

    A pager that fails is ignored. Raises: OSError if the text could not be written.
    """
    argv = _find_pager()
    if argv is None:
        click.echo(text, color=color_setting())
        return True
    is_less = Path(argv[0]).name == "less"
    env = {"LESS": "-R", **os.environ} if is_less else dict(os.environ)
    styled = is_less and "r" in env["LESS"].lower() and color_setting() is not False
    sys.stdout.flush()
    try:
        child = subprocess.Popen(argv, stdin=subprocess.PIPE, env=env)
    except OSError:
        click.echo(text, color=color_setting())
        return True
    raw = (text if styled else click.unstyle(text)).encode("utf-8", "surrogateescape")
    took_all = child.stdin is not None and _feed_pager(child, child.stdin, raw + b"\n")
    if child.returncode == 0:
        return took_all
    click.echo(f"the pager {click.unstyle(argv[0])!r} ended with {child.returncode}; without it:", err=True)
    click.echo(text, color=color_setting())
    return True


def was_output_read() -> bool:
    """Wait until the reader of our standard output has read all of it; return False if it closed the pipe before.

    Data in a pipe may still be unread, so a successful write does not prove that anybody read it.
    """
    sys.stdout.flush()
    output = sys.stdout.fileno()
    if not stat.S_ISFIFO(os.fstat(output).st_mode):
        return True
    gone = select.poll()
    gone.register(output, 0)  # poll() always reports an error, such as a pipe without a reader
    deadline = time.monotonic() + _LONGEST_READ
    while _count_unread_bytes(output):
        if gone.poll(0) or time.monotonic() > deadline:
            return False
        time.sleep(_PAUSE / 4)
    return True


def _find_pager() -> list[str] | None:
    """Return the pager's command, None if there is none or nobody can turn pages."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM") in ("dumb", "emacs"):
        return None
    try:
        words = shlex.split(os.environ.get("PAGER", ""))
    except ValueError:
        words = []
    return words or next(([name] for name in ("less", "more") if shutil.which(name)), None)


def _feed_pager(child: "subprocess.Popen[bytes]", pipe: IO[bytes], raw: bytes) -> bool:
    """Write bytes to a program and wait for its end; return True if it read all of them."""
    written: list[bool] = []

    def write() -> None:
        with contextlib.suppress(OSError):
            pipe.write(raw)
            pipe.flush()
            written.append(True)

    # A thread: the person may stop the writing at any key, and Ctrl-C belongs to the pager.
    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    drained = False
    while child.poll() is None:
        with contextlib.suppress(KeyboardInterrupt):
            if not drained and written and _count_unread_bytes(pipe.fileno()) == 0:
                drained = True
                pipe.close()  # its end of the text
            time.sleep(_PAUSE)
    writer.join()
    drained = drained or (bool(written) and _count_unread_bytes(pipe.fileno()) == 0)
    with contextlib.suppress(OSError):
        pipe.close()
    return drained


def _count_unread_bytes(pipe: int) -> int:
    """Return the number of unread bytes in a pipe; 0 if the system does not report it."""
    try:
        found: int = _BYTES.unpack(fcntl.ioctl(pipe, termios.FIONREAD, _BYTES.pack(0)))[0]
    except OSError:
        return 0
    return found
