"""The supervisor process of one command: starts it, ends it on request, and kills every process it leaves behind."""

import contextlib
import os
import resource
import select
import signal
import sys
import time
from _json import encode_basestring_ascii

from gitnexus.sandbox.inner import kernel, namespaces
from gitnexus.sandbox.inner.confine import Stdio, StepFailed, become_command
from gitnexus.sandbox.inner.family import descendant_processes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gitnexus.sandbox.inner.confine import Plan

LINUX = sys.platform == "linux"
_RSS_UNIT = 1024 if LINUX else 1


def supervise_command(plan: "Plan", woken: int, stdio: Stdio, control: int) -> None:
    """Run one command to its end and report on `control`; closing the other end of `control` ends the command.

    `woken` becomes readable when a child has ended.
    """
    _send_status(control, pid=os.getpid())
    if plan["view"] is None:
        _run_and_report(plan, woken, stdio, control)
        return
    try:
        first = namespaces.fork_into_namespaces(network=plan["view"]["network"] != "full")
    except OSError as exc:
        _send_status(control, failed=f"namespaces: {exc.strerror}")
        first = -1
    if first == 0:
        _run_as_init(plan, woken, stdio, control)
        os._exit(0)
    for number in (*stdio, control):
        os.close(number)
    if first > 0:
        os.waitpid(first, 0)


def _run_as_init(plan: "Plan", woken: int, stdio: Stdio, control: int) -> None:
    """Run as process 1 of new namespaces: when this process ends, the kernel ends all others."""
    try:
        namespaces.map_own_user()
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        namespaces.arrange_mounts(plan["view"])
        if plan["view"]["network"] == "loopback":
            namespaces.bring_loopback_up()
    except OSError as exc:
        _send_status(control, failed=f"namespaces: {exc.strerror}")
        return
    _run_and_report(plan, woken, stdio, control)


def _run_and_report(plan: "Plan", woken: int, stdio: Stdio, control: int) -> None:
    command, refusal = _start_command(plan, stdio, control)
    for number in stdio:
        os.close(number)  # or the reader would never see the end
    if refusal:
        _send_status(control, failed=refusal)
    else:
        status, used = _wait_for_end(command, control, woken, plan)
        left = _kill_leftovers(command)
        cpu = used.ru_utime + used.ru_stime
        _send_status(control, status=status, left=left, cpu=cpu, rss=used.ru_maxrss * _RSS_UNIT)
    os.close(control)


def _start_command(plan: "Plan", stdio: Stdio, control: int) -> tuple[int, str]:
    """Return the command's process id, and the reason if it could not be started."""
    heard, said = os.pipe()
    waits, goes = os.pipe()
    command = os.fork()
    if command == 0:
        words = ""
        os.close(goes)
        os.read(waits, 1)  # it begins when its number was told: it may end us, and must be found without us
        os.close(waits)
        try:
            become_command(plan, stdio)
        except StepFailed as exc:
            words = str(exc)
        os.write(said, words.encode())
        os._exit(127)
    _send_status(control, command=command)
    for number in (said, waits, goes):
        os.close(number)
    words = os.read(heard, 4096).decode()  # empty when exec closed the other end
    os.close(heard)
    if words:
        os.waitpid(command, 0)
    return command, words


def _wait_for_end(command: int, control: int, woken: int, plan: "Plan") -> tuple[int, resource.struct_rusage]:
    """Return how the command ended; a byte on `control` asks it to end, a closed one gives no choice."""
    kill_at: float | None = None
    waiting = [control, woken]
    while True:
        ended = _reap_children(command)
        if ended is not None:
            return ended
        left = None if kill_at is None else max(0.0, kill_at - time.monotonic())
        ready, _, _ = select.select(waiting, [], [], left)
        if woken in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(woken, 4096)
        if control in ready:
            waiting.remove(control)
            asked = _read_control(control)
            if asked:
                _signal_all(signal.SIGTERM, spared=plan["wrappers"])
            kill_at = time.monotonic() + (plan["grace"] if asked else 0)
        if kill_at is not None and time.monotonic() >= kill_at:
            _signal_all(signal.SIGKILL)
            kill_at = time.monotonic() + 0.05  # again, for what was born meanwhile


def _read_control(control: int) -> bytes:
    try:
        return os.read(control, 1)
    except ConnectionResetError:
        return b""


def _reap_children(command: int) -> tuple[int, resource.struct_rusage] | None:
    """Bury every child that has ended; return status and usage of the command if it is among them."""
    while True:
        try:
            pid, status, used = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if pid == command:
            return status, used
        if pid == 0:
            return None


def _signal_all(number: int, *, spared: int = 0) -> None:
    """Send a signal to all descendants of the command, except the first `spared` generations."""
    if os.getpid() == 1:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, number)
        return
    for pid, depth in descendant_processes(os.getpid()):
        if depth >= spared:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)


def _kill_leftovers(command: int) -> int:
    """Kill what the command left running, in whatever session; return how many there were."""
    found = 0
    if not LINUX:  # nobody is handed the orphans there; the group is all that can be found
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(command, signal.SIGKILL)
    while True:
        try:  # first, since mostly nobody is left
            pid, status = os.waitpid(-1, os.WNOHANG)
            while pid:
                found += os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
                pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        _signal_all(signal.SIGKILL)
        time.sleep(0.001)  # dying takes a moment; what was born meanwhile is in the next round


def _send_status(control: int, **words: str | float) -> None:
    """Send a line of JSON; importing `json` would take a third of the launcher's start."""
    with contextlib.suppress(OSError):  # nobody listens any more: then the end of `control` ends us
        said = {name: encode_basestring_ascii(one) if isinstance(one, str) else one for name, one in words.items()}
        os.write(control, b"{%s}\n" % ", ".join(f'"{name}": {one}' for name, one in said.items()).encode())
