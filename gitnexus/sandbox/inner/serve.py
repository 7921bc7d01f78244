"""The launcher: one small process without threads that forks a supervisor for each command it is handed."""

import gc
import json
import os
import signal
import socket
import sys
from contextlib import suppress

from gitnexus.sandbox.inner import kernel
from gitnexus.sandbox.inner.supervise import LINUX, supervise

DESCRIPTORS = 5  # the plan, standard input, output and error, and the control


def serve(number: int) -> None:
    """Take commands from the socket `number` until its other end is closed."""
    door = socket.socket(fileno=number)
    os.set_inheritable(number, False)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # supervisors have told all there is to tell when they end
    if LINUX:
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)  # no command may look into us, even one without Landlock
    gc.collect()
    gc.freeze()
    while True:
        word, given, _, _ = socket.recv_fds(door, 1, DESCRIPTORS, getattr(socket, "MSG_CMSG_CLOEXEC", 0))
        if not word:
            return
        if len(given) == DESCRIPTORS and os.fork() == 0:
            _one(door, given)
            os._exit(0)
        for each in given:
            os.close(each)


def _one(door: socket.socket, given: list[int]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    door.close()
    for each in given:
        os.set_inheritable(each, False)
    plan_file, *stdio, control = given
    with os.fdopen(plan_file, "rb") as file:
        plan = json.loads(file.read())
    with suppress(BrokenPipeError):
        supervise(plan, (stdio[0], stdio[1], stdio[2]), control)


if __name__ == "__main__":
    serve(int(sys.argv[1]))
