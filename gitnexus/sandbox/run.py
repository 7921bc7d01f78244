"""Runs a command in the sandbox until it ends or exceeds a limit, and returns its outcome."""

import contextlib
import json
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Iterator
from typing import Any

from gitnexus.base.errors import DeniedByPolicy, Failed
from gitnexus.base.text import one_line
from gitnexus.sandbox import access_lists
from gitnexus.sandbox.inner import kernel
from gitnexus.sandbox.launcher import HandedCommand, give_back_launcher, hand_over_plan, open_unnamed_file
from gitnexus.sandbox.output import OutputKeeper, OutputPasser, Sink
from gitnexus.sandbox.plan import GRACE, build_plan
from gitnexus.sandbox.scratch import scratch_folder
from gitnexus.sandbox.spec import EndedBy, SandboxOutcome, SandboxSpec, check_spec
from gitnexus.sandbox.stdin_pipe import StdinPipe
from gitnexus.sandbox.watch import exceeded_limit, free_space, kill_session, measure_usage

_LOOK_EVERY = 0.1  # seconds between two looks at the family
_GIVE_UP = GRACE + 10.0  # for processes that not even the kernel can end, as on a dead network disk
_BY_SIGNAL: dict[int, EndedBy] = {signal.SIGXCPU: "cpu", signal.SIGXFSZ: "file_size"}


def run_in_sandbox(
    spec: SandboxSpec, sink: Sink | None = None, errors: Sink | None = None, stdin_pipe: StdinPipe | None = None
) -> SandboxOutcome:
    """Run one command. With `sink`, its output goes there as it arrives; without, both streams are kept, within limits.

    Standard error goes to `errors`, if given. With `voice`, the command's standard input is a conversation, and the
    time that a sink takes to return does not count as the command's.

    The level is that of the spec, see levels.py. Whatever happens, such as an interrupt or a failing sink, the command
    and all its descendants are ended and the scratch folder is removed. Raises: Invalid, DeniedByPolicy if the level
    cannot do what the spec requires, Failed if the command could not be started.
    """
    check_spec(spec)
    refuse_unenforceable(spec)
    if sys.platform == "linux":
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)  # keys are in our memory; a command at L0 could look into it
    with (
        scratch_folder() as scratch,
        _started_command(spec, build_plan(spec, scratch), (sink, errors), stdin_pipe) as running,
    ):
        return running.outcome()


def refuse_unenforceable(spec: SandboxSpec) -> None:
    """Refuse what the level cannot enforce, instead of leaving it out. Raises: DeniedByPolicy."""
    if spec.level == "L1" and spec.network == "loopback":
        raise DeniedByPolicy(
            "L1 cannot separate the network: it is full access or none",
            hint="loopback needs L2 or L3; git nexus doctor shows what this machine has",
        )
    inside = next(access_lists.paths_to_hide(spec), None)
    if spec.level == "L1" and inside:
        raise DeniedByPolicy(
            f"at L1 {one_line(inside)} cannot be hidden, since the folder around it is within reach",
            hint="use a linked worktree (git worktree add), or L2 or L3",
        )


@contextlib.contextmanager
def _started_command(
    spec: SandboxSpec, plan: dict[str, Any], sinks: tuple[Sink | None, Sink | None], stdin_pipe: StdinPipe | None
) -> Iterator["_RunningCommand"]:
    out, their_out = os.pipe()
    err, their_err = os.pipe()
    handed: HandedCommand | None = None
    running: _RunningCommand | None = None
    try:
        try:
            with open_unnamed_file(spec.stdin) if spec.stdin else open(os.devnull, "rb") as stdin:
                handed = hand_over_plan(plan, stdin_pipe.theirs if stdin_pipe else stdin.fileno(), their_out, their_err)
        finally:
            os.close(their_out)
            os.close(their_err)
            if stdin_pipe:
                stdin_pipe.close_command_end()
        running = _RunningCommand(spec, (out, err), handed.control, sinks, stdin_pipe)
        yield running
    finally:
        os.close(out)
        os.close(err)
        if handed:
            give_back_launcher(
                handed, through=(running is not None and running.is_launcher_ready()) or _end_and_wait(handed.control)
            )


def _end_and_wait(control: socket.socket) -> bool:
    """End the command by closing our half; True when the launcher has closed its own, having ended all."""
    try:
        control.shutdown(socket.SHUT_WR)
        control.settimeout(_GIVE_UP)
        while control.recv(4096):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True  # closed from the other side already
    return True


class _RunningCommand:
    """A running command: its output, its reported progress, and its limits."""

    def __init__(
        self,
        spec: SandboxSpec,
        streams: tuple[int, int],
        control: socket.socket,
        sinks: tuple[Sink | None, Sink | None],
        stdin_pipe: StdinPipe | None,
    ) -> None:
        self._spec = spec
        self._stdin_pipe = stdin_pipe
        self._dismissed = False
        self._control = control
        limit = spec.limits.output
        chosen = zip(streams, (sinks[0], sinks[1] or sinks[0]), strict=True)
        self._streams = {number: OutputPasser(limit, sink) if sink else OutputKeeper(limit) for number, sink in chosen}
        self._names = streams
        self._talked = 0.0
        self._told: dict[str, Any] = {}
        self._heard = b""
        self._ended_by: EndedBy | None = None
        self._begin = time.monotonic()
        self._next_look = self._begin + _LOOK_EVERY
        self._give_up = 0.0
        self._given_up = False
        self._free = free_space(spec.root)

    def outcome(self) -> SandboxOutcome:
        """Read until the end and return it. Raises: Failed."""
        with selectors.DefaultSelector() as ready:
            for number in (*self._streams, self._control.fileno()):
                os.set_blocking(number, False)
                ready.register(number, selectors.EVENT_READ)
            while not self.over():
                for key, _ in ready.select(_LOOK_EVERY):
                    if not self._read_stream(key.fd):
                        ready.unregister(key.fd)
                self._check_limits()
        for number in self._streams:
            # What is still in the pipe. Nobody is left to wait for; where orphans are not found one may still write.
            while self._read_stream(number, once=False) and self._streams[number].total <= self._spec.limits.flood:
                pass
        return self._build_outcome()

    def over(self) -> bool:
        """True if the end has been reported."""
        return not self._told.keys().isdisjoint(("status", "failed", "lost"))

    def is_launcher_ready(self) -> bool:
        """True if the launcher said so itself, and is ready for another."""
        return self.over() and not self._given_up

    def _read_stream(self, number: int, *, once: bool = True) -> bool:
        """Read once; False at the end, or (not `once`) when nothing is there."""
        try:
            piece = os.read(number, 65536)
        except BlockingIOError:
            return once
        except ConnectionResetError:
            piece = b""
        if number in self._streams:
            if piece:
                begin = time.monotonic()
                self._streams[number].feed(piece)
                self._talked += time.monotonic() - begin
            return bool(piece)
        self._read_reports(piece)
        return bool(piece)

    def _read_reports(self, piece: bytes) -> None:
        *lines, self._heard = (self._heard + piece).split(b"\n")
        for line in lines:
            self._told.update(json.loads(line))
        if not piece and not self.over():
            self._told["lost"] = True
            self._given_up = True

    def _check_limits(self) -> None:
        """End the command if it is over a limit, asking first; the launcher insists after a grace."""
        now = time.monotonic()
        limits = self._spec.limits
        if self._ended_by or self._dismissed:
            if now > self._give_up:
                self._told["status"] = signal.SIGKILL
                self._given_up = True
            return
        if sum(stream.total for stream in self._streams.values()) > limits.flood:
            self._end_for_limit("output")
        elif self._stdin_pipe is not None and self._stdin_pipe.overstayed:
            self._dismissed = True
            self._ask_to_end()
        elif now - self._begin - self._talked > limits.seconds:
            self._end_for_limit("time")
        elif now >= self._next_look and "pid" in self._told and sys.platform == "linux":
            self._next_look = now + _LOOK_EVERY
            over = exceeded_limit(measure_usage(self._told["pid"]), self._free - free_space(self._spec.root), limits)
            if over:
                self._end_for_limit(over)

    def _end_for_limit(self, why: EndedBy) -> None:
        self._ended_by = why
        # Who asks for time may tidy up; who takes all there is gets no more.
        self._ask_to_end(at_once=why != "time")

    def _ask_to_end(self, *, at_once: bool = False) -> None:
        self._give_up = time.monotonic() + _GIVE_UP
        with contextlib.suppress(OSError):
            if at_once:
                self._control.shutdown(socket.SHUT_WR)
            else:
                self._control.send(b"T")

    def _end_orphans(self) -> None:
        """End what a killed launcher has left; from L2 on the kernel has done so, and its numbers are not ours."""
        if sys.platform == "linux" and self._spec.level in ("L0", "L1") and "command" in self._told:
            kill_session(self._told["command"])

    def _build_outcome(self) -> SandboxOutcome:
        told = self._told
        if "failed" in told:
            raise Failed(
                f"{one_line(self._spec.argv[0], 80)} was not run: {one_line(told['failed'])}",
                context={"level": self._spec.level},
            )
        if "lost" in told:
            self._end_orphans()
            raise Failed(
                f"{one_line(self._spec.argv[0], 80)} was interrupted: somebody ended its launcher",
                hint="it may have run in part; look at the worktree before you run it again",
                context={"level": self._spec.level},
            )
        raw = told["status"]
        number = os.WTERMSIG(raw) if os.WIFSIGNALED(raw) else None
        status = None if number else os.WEXITSTATUS(raw)
        # bubblewrap tells of a signal as a shell does
        like_signal = number or (status - 128 if self._spec.level == "L3" and status and status > 128 else 0)
        out, err = (self._streams[one].kept() for one in self._names)
        return SandboxOutcome(
            status=status,
            signal=number,
            seconds=time.monotonic() - self._begin,
            level=self._spec.level,
            stdout=out,
            stderr=err,
            ended_by=self._ended_by or _BY_SIGNAL.get(like_signal),
            dismissed=self._dismissed,
            left_behind=told.get("left", 0),
            cpu_seconds=told.get("cpu", 0.0),
            memory=told.get("rss", 0),
        )
