"""The last steps before exec: drops, in a fixed order, every right that the command may not have, then runs it."""

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


class StepFailed(Exception):
    """A step did not work; nothing was run."""


def become_command(plan: "Plan", stdio: Stdio) -> None:
    """Turn this process into the command. Does not return. Raises: StepFailed, naming the step."""
    for name, step in _STEPS.items():
        try:
            step(plan, stdio)
        except OSError as exc:
            raise StepFailed(f"{name}: {exc.strerror}") from exc


def _start_session(_: "Plan", stdio: Stdio) -> None:
    os.setsid()
    # Standard descriptors of the launcher are on /dev/null, so none of ours is below 3 and none is overwritten.
    for number, given in enumerate(stdio):
        os.dup2(given, number)
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGCHLD):  # those Python or we have set
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.umask(0o022)


def _set_limits(plan: "Plan", _: Stdio) -> None:
    for name, soft, hard in plan["limits"]:
        which = getattr(resource, name)
        most = resource.getrlimit(which)[1]
        if most != resource.RLIM_INFINITY:
            soft, hard = min(soft, most), min(hard, most)  # noqa: PLW2901 - never above what we have
        resource.setrlimit(which, (soft, hard))


def _enter_folder(plan: "Plan", _: Stdio) -> None:
    os.chdir(plan["cwd"])
    if os.getcwd() != plan["cwd"]:  # a folder on the way was swapped for a link after it was looked at
        raise OSError(0, "the working folder is not where it was")


def _drop_privileges(plan: "Plan", _: Stdio) -> None:
    if not plan["linux"]:
        return
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if plan["capabilities"] is not None:
        kernel.set_capabilities(plan["capabilities"] & plan["permitted"])
    # From here on no exec gains what was given up, not as root and not by a set-id file.
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)


def _restrict_files(plan: "Plan", _: Stdio) -> None:
    wanted = plan["landlock"]
    if wanted is not None:
        ready = plan["ruleset"]
        rules = folders.create_ruleset(network=wanted["network"]) if ready is None or wanted["network"] else ready
        folders.allow_reading(rules, wanted["readable"])
        folders.allow_writing(rules, wanted["writable"])
        folders.restrict_process(rules)


def _filter_system_calls(plan: "Plan", _: Stdio) -> None:
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


def _execute_program(plan: "Plan", _: Stdio) -> None:
    os.execve(plan["program"], plan["argv"], plan["env"])  # noqa: S606 - that there is no shell is the point


# In this order, by the name under which a failure is reported.
_STEPS = {
    "own_session": _start_session,
    "limits": _set_limits,
    "folder": _enter_folder,
    "privileges": _drop_privileges,
    "landlock": _restrict_files,
    "seccomp": _filter_system_calls,
    "program": _execute_program,
}
