"""One process over each command: it starts it, ends it when told, and leaves nothing of it behind."""

import contextlib
import json
import os
import resource
import select
import signal
import sys
import time
from typing import NamedTuple

from gitnexus.sandbox.inner import folders, groups, kernel, namespaces
from gitnexus.sandbox.inner.confine import Plan, Stdio, Stopped, become
from gitnexus.sandbox.inner.family import descendants

LINUX = sys.platform == "linux"


class Ready(NamedTuple):
    """What a supervisor has prepared before it knows its command."""

    woken: int
    ruleset: int | None
    permitted: int
    group: str | None


def ready() -> Ready:
    """Become a supervisor: of a session of its own, heir of orphans, woken when a child ends. Raises: OSError."""
    os.setsid()
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    if not LINUX:
        return Ready(woken, None, 0, None)
    _die_with_parent()
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    rules = folders.ruleset(network=False) if kernel.landlock_abi() else None
    return Ready(woken, rules, kernel.permitted(), groups.joined())


def supervise(plan: Plan, prepared: Ready, stdio: Stdio, control: int, taken: int) -> None:
    """Run one command to its end and tell of it on `control`; whoever holds its other end can end it.

    A byte on `taken` says that the command is on its way.
    """
    _tell(control, pid=os.getpid())
    try:
        if prepared.group:
            groups.limit(prepared.group, plan["processes"])
        if plan["view"] is not None:
            namespaces.leave(network=plan["view"]["network"] != "full")
            _die_with_parent()  # forgotten when the credentials change
    except OSError as exc:
        _tell(control, failed=f"namespaces: {exc.strerror}")
        return
    if plan["view"] is None:
        _attend(plan, prepared, stdio, control, taken)
        return
    if os.fork() == 0:
        _first_of_its_kind(plan, prepared, stdio, control, taken)
        os._exit(0)
    os.close(control)
    for number in stdio:
        os.close(number)
    os.wait()


def _first_of_its_kind(plan: Plan, prepared: Ready, stdio: Stdio, control: int, taken: int) -> None:
    """Be process 1 of the new namespace: when this one ends, the kernel ends all others."""
    try:
        _die_with_parent()
        namespaces.arrange(plan["view"])
        if plan["view"]["network"] == "loopback":
            namespaces.loopback_up()
    except OSError as exc:
        _tell(control, failed=f"namespaces: {exc.strerror}")
        return
    _attend(plan, prepared, stdio, control, taken)


def _attend(plan: Plan, prepared: Ready, stdio: Stdio, control: int, taken: int) -> None:
    command, refusal = _started({**plan, **prepared._asdict()}, stdio)
    if refusal:
        _tell(control, failed=refusal)
        return
    for number in stdio:
        os.close(number)  # or the reader would never see the end
    _tell(control, started=True)
    os.write(taken, b"1")
    status = _until_it_ends(command, control, prepared.woken, plan)
    left = _sweep(command)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    _tell(control, status=status, left=left, cpu=used.ru_utime + used.ru_stime, rss=used.ru_maxrss * 1024)


def _started(plan: Plan, stdio: Stdio) -> tuple[int, str]:
    """Return the process id of the command, and why it is none if it could not be started."""
    heard, said = os.pipe()
    command = os.fork()
    if command == 0:
        words = ""
        try:
            become(plan, stdio)
        except Stopped as exc:
            words = str(exc)
        os.write(said, words.encode())
        os._exit(127)
    os.close(said)
    words = os.read(heard, 4096).decode()  # empty when exec closed the other end
    os.close(heard)
    if words:
        os.waitpid(command, 0)
    return command, words


def _until_it_ends(command: int, control: int, woken: int, plan: Plan) -> int:
    """Return the status of the command; a byte on `control` asks it to end, a closed one gives no choice."""
    kill_at: float | None = None
    waiting = [control, woken]
    while True:
        status = _reaped(command)
        if status is not None:
            return status
        left = None if kill_at is None else max(0.0, kill_at - time.monotonic())
        ready, _, _ = select.select(waiting, [], [], left)
        if woken in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(woken, 4096)
        if control in ready:
            waiting.remove(control)
            asked = _heard(control)
            if asked:
                _signal_all(signal.SIGTERM, spared=plan["wrappers"])
            kill_at = time.monotonic() + (plan["grace"] if asked else 0)
        if kill_at is not None and time.monotonic() >= kill_at:
            _signal_all(signal.SIGKILL)
            kill_at = time.monotonic() + 0.05  # again, for what was born meanwhile


def _heard(control: int) -> bytes:
    try:
        return os.read(control, 1)
    except ConnectionResetError:
        return b""


def _reaped(command: int) -> int | None:
    """Bury every child that has ended; return the status of the command if it is among them."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if pid == command:
            return status
        if pid == 0:
            return None


def _signal_all(number: int, *, spared: int = 0) -> None:
    """Send a signal to all that came of the command, but for the first `spared` generations."""
    if os.getpid() == 1:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, number)
        return
    for pid, depth in descendants(os.getpid()):
        if depth >= spared:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)


def _sweep(command: int) -> int:
    """Kill what the command left running, in whatever session; return how many there were."""
    found = 0
    if not LINUX:  # nobody is handed the orphans there; the group is all that can be found
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(command, signal.SIGKILL)
    while True:
        _signal_all(signal.SIGKILL)
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
            while pid:
                found += os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
                pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        time.sleep(0.001)  # dying takes a moment; what was born meanwhile is in the next round


def _die_with_parent() -> None:
    if LINUX:
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)


def _tell(control: int, **words: object) -> None:
    with contextlib.suppress(OSError):  # nobody listens any more: then the end of `control` ends us
        os.write(control, json.dumps(words).encode() + b"\n")
