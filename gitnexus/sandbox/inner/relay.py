"""Connects its standard input and output to a program outside the sandbox. Imports nothing of ours: it runs as a copy.

As a program: python -I -S relay.py FOLDER. It creates two named pipes in the folder and announces their name there; the
listener opens the other ends. It uses pipes because no sandbox here lets a command create sockets.
"""

import os
import select
import sys
import threading

PIECE = 65536
WELCOME = b"+"


def main(folder: str) -> None:
    """Carry bytes both ways until one side ends."""
    name = os.urandom(8).hex()
    up_path, down_path = os.path.join(folder, f"{name}.up"), os.path.join(folder, f"{name}.down")
    os.mkfifo(up_path, 0o600)
    os.mkfifo(down_path, 0o600)
    # For reading and writing, so that it does not wait for a reader; it ends with us all the same.
    up = os.open(up_path, os.O_RDWR)
    # Opened before the name is sent, so that the other side need not wait for us.
    down = os.open(down_path, os.O_RDONLY | os.O_NONBLOCK)
    pipe = os.open(os.path.join(folder, "requests"), os.O_WRONLY | os.O_NONBLOCK)
    os.write(pipe, f"{name}\n".encode("ascii"))
    os.close(pipe)
    if _is_let_in(down):
        threading.Thread(target=_copy_stream, args=(0, up), daemon=True).start()
        _copy_stream(down, 1)


def _is_let_in(down: int) -> bool:
    """Wait for the sign that both pipes are open outside: what is written to one before that could be lost."""
    waiting = select.poll()  # an end that nobody opened yet would read as closed; to wait for it tells the two apart
    waiting.register(down, select.POLLIN)
    waiting.poll()
    os.set_blocking(down, True)
    return os.read(down, 1) == WELCOME


def _copy_stream(source: int, target: int) -> None:
    while piece := os.read(source, PIECE):
        _write_all(target, piece)
    os.close(target)


def _write_all(number: int, piece: bytes) -> None:
    while piece:
        piece = piece[os.write(number, piece) :]


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except OSError as exc:
        sys.stderr.write(f"the tools of this run are not there: {exc.strerror}\n")
        os._exit(1)
    os._exit(0)  # the other thread may still wait for input that nobody needs any more
