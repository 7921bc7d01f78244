"""The launcher: a small process without threads that keeps a supervisor ready for the next command."""

import gc
import json
import os
import signal
import socket
import time
from contextlib import suppress

from gitnexus.sandbox.inner import groups, kernel
from gitnexus.sandbox.inner.supervise import LINUX, ready, supervise

DESCRIPTORS = 5  # the plan, standard input, output and error, and the control


def serve(number: int) -> None:
    """Have commands from the socket `number` run until its other end is closed."""
    door = socket.socket(fileno=number)
    os.set_inheritable(number, False)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # supervisors have told all there is to tell when they end
    if LINUX:
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)  # no command may look into us, even one without Landlock
    gc.disable()
    gc.freeze()
    left: list[str] = []
    over = False
    while not over:
        heard, taken = os.pipe()
        supervisor = os.fork()
        if supervisor == 0:
            os.close(heard)
            _wait_for_one(door, taken)
            os._exit(0)
        os.close(taken)
        # Until its command is on its way; then the next is made ready while the command runs.
        over = os.read(heard, 1) == b"0"
        os.close(heard)
        left = [group for group in (*left, groups.of(supervisor)) if not groups.abandon(group)]
    for _ in range(100):  # who has just ended is still counted for a moment
        left = [group for group in left if not groups.abandon(group)]
        if not left:
            return
        time.sleep(0.005)


def _wait_for_one(door: socket.socket, taken: int) -> None:
    prepared = ready()
    word, given, _, _ = socket.recv_fds(door, 1, DESCRIPTORS, getattr(socket, "MSG_CMSG_CLOEXEC", 0))
    if not word:
        os.write(taken, b"0")
        return
    door.close()
    for each in given:
        os.set_inheritable(each, False)
    plan_file, *stdio, control = given
    with os.fdopen(plan_file, "rb") as file:
        plan = json.loads(file.read())
    with suppress(BrokenPipeError):
        supervise(plan, prepared, (stdio[0], stdio[1], stdio[2]), control, taken)
