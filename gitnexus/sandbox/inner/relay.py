"""Joins its standard input and output to a program outside of the sandbox. Stands alone: it is copied to where it runs.

As a program: python -I -S relay.py FOLDER. It makes two named pipes in the folder and tells their name at the door
there; whoever listens opens the other ends. Pipes, because no sandbox here lets a command make sockets of its own.
"""

import os
import sys
import threading

PIECE = 65536


def main(folder: str) -> None:
    """Carry bytes both ways until one side ends."""
    name = os.urandom(8).hex()
    up_path, down_path = os.path.join(folder, f"{name}.up"), os.path.join(folder, f"{name}.down")
    os.mkfifo(up_path, 0o600)
    os.mkfifo(down_path, 0o600)
    # For reading and writing, so that it does not wait for a reader; it ends with us all the same.
    up = os.open(up_path, os.O_RDWR)
    # Open before anybody is told, so that the other side need not wait for us.
    down = os.open(down_path, os.O_RDONLY | os.O_NONBLOCK)
    door = os.open(os.path.join(folder, "door"), os.O_WRONLY | os.O_NONBLOCK)
    os.write(door, f"{name}\n".encode("ascii"))
    os.close(door)
    threading.Thread(target=_outward, args=(up,), daemon=True).start()
    _inward(down)


def _outward(up: int) -> None:
    while piece := os.read(0, PIECE):
        _all(up, piece)
    os.close(up)


def _inward(down: int) -> None:
    import select

    # An end that nobody has opened yet reads as closed; the kernel tells the two apart only when it is asked to wait.
    waiting = select.poll()
    waiting.register(down, select.POLLIN)
    waiting.poll()
    os.set_blocking(down, True)
    while piece := os.read(down, PIECE):
        _all(1, piece)


def _all(number: int, piece: bytes) -> None:
    while piece:
        piece = piece[os.write(number, piece) :]


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except OSError as exc:
        sys.stderr.write(f"the tools of this run are not there: {exc.strerror}\n")
        os._exit(1)
    os._exit(0)  # the other thread may still wait for input that nobody needs any more
