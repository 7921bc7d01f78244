"""The clones of a story and the commands in them: each is bounded in time, and written down as one could paste it."""

import os
import re
import shlex
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.conftest import run_git
from tests.forked import forker

STATE = "refs/nexus/state"
# No command takes this long, on however busy a machine: it hangs.
PATIENCE = 180.0
# What a command may answer; 99 is a bug of ours, and all else nobody documented.
ANSWERS = frozenset({0, 1, 3, 4, 6, 7, 20, 21, 22, 23})
SERVER = "hub.git"


class Violation(AssertionError):
    """Something that must not happen in any story."""


@dataclass(frozen=True)
class Ended:
    """How a command ended. `status` is None if it was killed; `before` and `after`: the state's commits around it."""

    clone: str
    argv: tuple[str, ...]
    status: int | None
    out: str
    err: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.clone}: git nexus {shlex.join(self.argv)} → {self.status}\n{self.out}{self.err}"


@dataclass
class Place:
    """A folder with a server and clones of it, and the lines that were typed there so far."""

    root: Path
    lines: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)  # of runs, whose ids are others when the story is repeated
    usual: dict[str, float] = field(default_factory=dict)  # seconds, by command

    def path(self, clone: str) -> Path:
        return self.root / clone

    def write_down(self, clone: str, line: str, remark: str = "") -> None:
        for run, name in self.names.items():
            line = line.replace(run, f"${name}")
        self.lines.append(f"(cd {clone} && {line})" + (f"  # {remark}" if remark else ""))

    def name_run(self, run: str) -> None:
        name = f"R{len(self.names) + 1}"
        self.names[run] = name
        self.lines.append(f"{name}=…  # the run that this began, here {run}")

    def tip(self, clone: str) -> str:
        return run_git(self.path(clone), "rev-parse", "--verify", "-q", STATE, check=False).strip()

    def shell(self, clone: str, line: str) -> str:
        """Run a line that is no command of ours; it has to succeed."""
        self.write_down(clone, line)
        ended = subprocess.run(
            ["sh", "-c", line], cwd=self.path(clone), capture_output=True, text=True, check=False, timeout=PATIENCE
        )
        if ended.returncode:
            raise Violation(f"{clone}: {line} → {ended.returncode}\n{ended.stdout}{ended.stderr}")
        return ended.stdout

    def nexus(self, clone: str, *argv: str) -> Ended:
        """Run a command to its end."""
        return self.at_once([(clone, argv)])[0]

    def at_once(self, commands: Sequence[tuple[str, tuple[str, ...]]]) -> list[Ended]:
        """Start commands side by side and wait for all of them."""
        typed = [f"(cd {clone} && git nexus {shlex.join(argv)})" for clone, argv in commands]
        for run, name in self.names.items():
            typed = [line.replace(run, f"${name}") for line in typed]
        self.lines.append(" & ".join(typed) + (" & wait" if len(typed) > 1 else ""))
        befores = [self.tip(clone) for clone, _ in commands]
        files = [[os.memfd_create(name) for name in ("stdin", "stdout", "stderr")] for _ in commands]
        since = time.monotonic()
        started = [
            forker().start(argv, self.path(clone), fds) for (clone, argv), fds in zip(commands, files, strict=True)
        ]
        statuses = []
        for (clone, argv), command in zip(commands, started, strict=True):
            try:
                statuses.append(command.wait(PATIENCE))
            except TimeoutError:
                command.kill()
                raise Violation(f"{clone}: git nexus {shlex.join(argv)} hangs") from None
            finally:
                command.__exit__()
        if len(commands) == 1:
            key, seconds = _key(commands[0][1]), time.monotonic() - since
            self.usual[key] = min(seconds, self.usual.get(key, 1.0))
        ended = []
        for (clone, argv), status, fds, before in zip(commands, statuses, files, befores, strict=True):
            out, err = (os.pread(fd, os.fstat(fd).st_size, 0).decode() for fd in fds[1:])
            for fd in fds:
                os.close(fd)
            ended.append(Ended(clone, argv, status, out, err, before, self.tip(clone)))
        for command_end in ended:
            check_answer(command_end)
        return ended

    def kill(self, clone: str, argv: tuple[str, ...], share: float, whole_group: bool) -> Ended:
        """Start a command as a user would, and kill it after a share of the time that it usually takes."""
        seconds = 0.1 + share * (0.25 + self.usual.get(_key(argv), 0.4))
        around = ["timeout", *([] if whole_group else ["--foreground"]), "-s", "KILL", f"{seconds:.3f}"]
        typed = [*around, "git", "nexus", *argv] if whole_group else [*around, "git-nexus", *argv]
        self.write_down(clone, shlex.join(typed))
        before = self.tip(clone)
        child = subprocess.run(
            typed, cwd=self.path(clone), capture_output=True, text=True, check=False, timeout=PATIENCE,
            start_new_session=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        status = None if child.returncode in (-9, 137, 124) else child.returncode
        self.lines[-1] += "  # killed" if status is None else f"  # came to its end: {status}"
        ended = Ended(clone, argv, status, child.stdout, child.stderr, before, self.tip(clone))
        if status is not None:
            check_answer(ended)
        return ended


def check_answer(ended: Ended) -> None:
    """Raise a Violation if a command ended in a way that no command may."""
    if ended.status not in ANSWERS or "Traceback" in ended.err or "E_BUG" in ended.err + ended.out:
        raise Violation(f"an answer that no command may give\n{ended}")


def _key(argv: Iterable[str]) -> str:
    return " ".join(word for word in [*argv][:2] if re.fullmatch("[a-z]+", word))
