"""The launcher: a small single-threaded process that starts one command after the other and supervises it."""

import gc
import marshal
import os
import signal
import socket

from gitnexus.sandbox.inner import folders, groups, kernel
from gitnexus.sandbox.inner.supervise import LINUX, supervise_command

DESCRIPTORS = 5  # the plan, standard input, output and error, and the control


def serve(number: int) -> None:
    """Run the commands that come by the socket `number` until its other end is closed."""
    requests = socket.socket(fileno=number)
    os.set_inheritable(number, False)
    woken = _open_wakeup_pipe()
    group = None
    if LINUX:
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)  # no command may look into us, even one without Landlock
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)  # what a command leaves behind comes to us
        group = groups.join_cgroup()
    gc.disable()
    gc.freeze()
    while _run_next_command(requests, woken, group):
        pass
    if group:
        groups.leave_cgroup(group)


def _open_wakeup_pipe() -> int:
    """Return a descriptor that can be read when a child has ended."""
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return woken


def _run_next_command(requests: socket.socket, woken: int, group: str | None) -> bool:
    """Wait for one command and run it; return False if there will be no more."""
    # Made while nobody waits: most of what a command may read is the same for all.
    permitted = kernel.permitted_capabilities() if LINUX else 0
    rules = folders.create_ruleset(network=False) if kernel.landlock_abi() else None
    word, given, _, _ = socket.recv_fds(requests, 1, DESCRIPTORS, getattr(socket, "MSG_CMSG_CLOEXEC", 0))
    if not word:
        return False
    for each in given:
        os.set_inheritable(each, False)
    plan_file, *stdio, control = given
    with os.fdopen(plan_file, "rb") as file:
        plan = marshal.loads(file.read())  # noqa: S302 - our own process wrote it, and json would be half of our start
    if group:
        groups.limit_processes(group, plan["processes"])
    known = {"ruleset": rules, "permitted": permitted}
    supervise_command({**plan, **known}, woken, (stdio[0], stdio[1], stdio[2]), control)
    if rules is not None:
        os.close(rules)
    return True
