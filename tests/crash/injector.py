"""Runs commands with the library of `faults.c` loaded, and counts or strikes their changes of the file system.

The library and this module share a file that is mapped into memory; `_LAYOUT` is the struct at its beginning.
"""

import contextlib
import mmap
import os
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from tests.forked import Forker
from tests.slow.peers import CannotBeHad
from tests.waiting import wait_until

_LONGEST = 2048
_LAYOUT = struct.Struct(f"=qqiiiiii32s{_LONGEST}s{_LONGEST}s{_LONGEST}s{_LONGEST}s")
# Much more than any command takes on a busy machine; what waits for ever is seen as that.
PATIENCE = 120.0


class Fault(IntEnum):
    """What happens at the n-th change."""

    NONE = 0
    KILL_ALL = 1  # every process of the command dies
    KILL_ONE = 2  # the process that makes the change dies
    NO_SPACE = 3  # this change fails, later ones do not
    FULL = 4  # half of it is written; from then on nothing that needs room can be
    IO_ERROR = 5
    POWER = 6  # all die, and what was not synced is gone


@dataclass(frozen=True)
class Outcome:
    """How a command ended, and where it was struck."""

    argv: tuple[str, ...]
    status: int | None  # None: it had to be ended
    out: str
    err: str
    changes: int
    struck: bool
    at: str
    in_child: bool  # it was not git nexus itself that was struck

    def __str__(self) -> str:
        said = "".join(f"\n    {line}" for line in (self.out + self.err).splitlines())
        return f"{' '.join(self.argv)} → {self.status}{said}"


def build_library(folder: Path) -> Path:
    """Compile the library into `folder`. Raises: CannotBeHad, if there is no C compiler."""
    if shutil.which("cc") is None:
        raise CannotBeHad("there is no cc on PATH")
    library = folder / "faults.so"
    source = Path(__file__).with_name("faults.c")
    argv = ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"cc left with {done.returncode}\n{done.stderr}")
    return library


class Injector:
    """The commands of one scratch folder; changes outside of `root` are neither counted nor struck."""

    def __init__(self, library: Path, root: Path, private: Path, env: Mapping[str, str]) -> None:
        self._root, self._private = root, private
        self.synced, self.log = private / "synced", private / "changes.log"
        self._control = private / "control"
        self._control.write_bytes(bytes(_LAYOUT.size))
        with self._control.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _LAYOUT.size)
        self.env = {**env, "LD_PRELOAD": str(library), "CRASH_CONTROL": str(self._control)}
        self._arm(Fault.NONE, 0, off=True)
        self._started: Forker | None = None

    @property
    def _forker(self) -> Forker:
        """What commands are forked from; a command that is given by its path needs none."""
        if self._started is None:
            self._started = Forker(f"faults-{os.urandom(4).hex()}", self.env)
        return self._started

    def close(self) -> None:
        """End the processes and give the memory back."""
        if self._started is not None:
            self._started.close()
        self._map.close()

    def run(
        self, argv: Sequence[str], cwd: Path, fault: Fault = Fault.NONE, number: int = 0, *, trace: bool = False
    ) -> Outcome:
        """Run `git nexus`, or another program if the first word is its path, struck at the change `number`."""
        self._arm(fault, number, trace=trace)
        files = [os.memfd_create(name) for name in ("stdin", "stdout", "stderr")]
        try:
            pid, status = self._wait(argv, cwd, files)
            self._end_others(at_once=fault in (Fault.KILL_ALL, Fault.POWER) or status is None)
            out, err = (os.pread(fd, os.fstat(fd).st_size, 0).decode(errors="replace") for fd in files[1:])
        finally:
            for fd in files:
                os.close(fd)
        changes, _, _, struck, _, _, _, victim, operation, path, _, _, _ = _LAYOUT.unpack(self._map[:])
        self._arm(Fault.NONE, 0, off=True)
        where = f"{_text(operation)} {_text(path).removeprefix(str(self._root))}"
        return Outcome(tuple(argv), status, out, err, changes, bool(struck), where if struck else "", victim != pid)

    def _wait(self, argv: Sequence[str], cwd: Path, files: Sequence[int]) -> tuple[int, int | None]:
        if argv[0].startswith("/"):
            child = subprocess.Popen(
                argv, cwd=cwd, env={**os.environ, **self.env}, stdin=files[0], stdout=files[1], stderr=files[2],
                start_new_session=True,
            )  # fmt: skip
            try:
                return child.pid, child.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
                return child.pid, None
        with self._forker.start(argv, cwd, files, self.env, session=True) as command:
            try:
                return command.pid, command.wait(PATIENCE)
            except TimeoutError:
                os.killpg(command.pid, signal.SIGKILL)
                command.wait(None)
                return command.pid, None

    def _arm(self, fault: Fault, number: int, *, trace: bool = False, off: bool = False) -> None:
        power = fault is Fault.POWER
        if power:
            shutil.rmtree(self.synced, ignore_errors=True)
            self.synced.mkdir()
        if trace:
            self.log.unlink(missing_ok=True)
        action = Fault.KILL_ALL if power else fault
        texts = [os.fsencode(path) for path in (self._root, self.synced, self.log)]
        self._map[:] = _LAYOUT.pack(0, number, action, 0, power, trace, off, 0, b"", b"", *texts)

    def _end_others(self, *, at_once: bool) -> None:
        """Kill what the command left running, or wait for its end: nothing of it may go on in the next trial."""
        if at_once:
            for pid in self._others():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        try:
            wait_until("what the command started", lambda: not self._others(), 3)
        except AssertionError:
            for pid in self._others():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)

    def _others(self) -> list[int]:
        mark = b"CRASH_CONTROL=" + os.fsencode(self._control) + b"\0"
        servers = [] if self._started is None else self._started.processes
        found = []
        for name in os.listdir("/proc"):
            if name.isdecimal() and int(name) not in servers:
                with contextlib.suppress(OSError):
                    if mark in Path("/proc", name, "environ").read_bytes():
                        found.append(int(name))
        return found


def _text(raw: bytes) -> str:
    return os.fsdecode(raw.split(b"\0", 1)[0])
