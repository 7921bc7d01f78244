"""The last steps of a command before it is itself: everything it may not do is given up here, in this order."""

import ctypes
import os
import resource
import signal
import struct

from gitnexus.sandbox.inner import folders, kernel

TYPE_CHECKING = False  # nor is typing loaded for it: the launcher is started for every run
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Plan = Mapping[str, Any]
Stdio = tuple[int, int, int]


class Stopped(Exception):
    """A step did not work; nothing was run."""


def become(plan: "Plan", stdio: Stdio) -> None:
    """Turn this process into the command. Does not return. Raises: Stopped, naming the step."""
    steps = (_own_session, _limits, _folder, _privileges, _landlock, _seccomp, _program)
    for step in steps:
        try:
            step(plan, stdio)
        except OSError as exc:
            raise Stopped(f"{step.__name__[1:]}: {exc.strerror}") from exc


def _own_session(_: "Plan", stdio: Stdio) -> None:
    os.setsid()
    # Standard descriptors of the launcher are on /dev/null, so none of ours is below 3 and none is overwritten.
    for number, given in enumerate(stdio):
        os.dup2(given, number)
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGCHLD):  # those Python or we have set
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.umask(0o022)


def _limits(plan: "Plan", _: Stdio) -> None:
    for name, soft, hard in plan["limits"]:
        which = getattr(resource, name)
        most = resource.getrlimit(which)[1]
        if most != resource.RLIM_INFINITY:
            soft, hard = min(soft, most), min(hard, most)  # noqa: PLW2901 - never above what we have
        resource.setrlimit(which, (soft, hard))


def _folder(plan: "Plan", _: Stdio) -> None:
    os.chdir(plan["cwd"])
    if os.getcwd() != plan["cwd"]:  # a folder on the way was swapped for a link after it was looked at
        raise OSError(0, "the working folder is not where it was")


def _privileges(plan: "Plan", _: Stdio) -> None:
    if not plan["linux"]:
        return
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if plan["capabilities"] is not None:
        kernel.capset(plan["capabilities"] & plan["permitted"])
    # From here on no exec gains what was given up, not as root and not by a set-id file.
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)


def _landlock(plan: "Plan", _: Stdio) -> None:
    wanted = plan["landlock"]
    if wanted is not None:
        ready = plan["ruleset"]
        rules = folders.ruleset(network=wanted["network"]) if ready is None or wanted["network"] else ready
        folders.readable(rules, wanted["readable"])
        folders.writable(rules, wanted["writable"])
        folders.restrict(rules)


def _seccomp(plan: "Plan", _: Stdio) -> None:
    if plan["wrapper_filter"]:  # bubblewrap puts it on as its own last step
        number = os.memfd_create("filter")
        os.write(number, bytes.fromhex(plan["wrapper_filter"]))
        os.lseek(number, 0, os.SEEK_SET)
        os.dup2(number, plan["filter_number"])
    if plan["seccomp"]:
        program = bytes.fromhex(plan["seccomp"])
        code = ctypes.create_string_buffer(program, len(program))
        head = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(code))
        kernel.prctl(kernel.PR_SET_SECCOMP, kernel.SECCOMP_MODE_FILTER, ctypes.create_string_buffer(head, len(head)))


def _program(plan: "Plan", _: Stdio) -> None:
    os.execve(plan["program"], plan["argv"], plan["env"])  # noqa: S606 - that there is no shell is the point
