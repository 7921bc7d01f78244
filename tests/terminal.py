"""A command on a terminal, somebody who types, and commands that are at work while a test goes on.

`git nexus` and `git-nexus` are forked (see tests/forked.py), any other program is started.
"""

import contextlib
import os
import pty
import select
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from tests.forked import StartedCommand, forker

_LONGEST = 60.0
_QUESTIONS = ("] ", "? ", ": ")


class Terminal:
    """A command on a terminal of its own; `drawn` is what it drew until now."""

    def __init__(self, place: Path, *argv: str, env: dict[str, str] | None = None) -> None:
        self.argv, self.drawn = argv, ""
        self._command: StartedCommand | None = None
        self._pid = 0
        ours = _nexus_arguments(argv)
        if ours is None:
            self._pid, self.fd = pty.fork()
            if self._pid == 0:
                os.chdir(place)
                os.environ.update(env or {})
                os.execvp(argv[0], list(argv))
        else:
            self.fd, theirs = pty.openpty()
            try:
                self._command = forker().start(ours, place, [theirs] * 3, env, session=True)
            finally:
                os.close(theirs)

    def read(self, until: float) -> bool:
        """Take what it draws next; False when it has ended. Fails when nothing comes until then."""
        ready, _, _ = select.select([self.fd], [], [], max(0.0, until - time.monotonic()))
        assert ready, f"{' '.join(self.argv)} drew nothing more within {_LONGEST:.0f} s; until then:\n{self.drawn}"
        try:
            piece = os.read(self.fd, 65536)
        except OSError:
            return False
        self.drawn += piece.decode("utf-8", "replace")
        return bool(piece)

    def write(self, text: str) -> None:
        """Type."""
        os.write(self.fd, text.encode())

    def wait(self) -> int:
        """Return how it ended."""
        try:
            if self._command is None:
                return os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
            with self._command as command:
                return command.wait(_LONGEST)
        finally:
            os.close(self.fd)

    def kill(self) -> None:
        """Kill it and wait until it is gone."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._command.pid if self._command else self._pid, 9)
        self.wait()


def _nexus_arguments(argv: tuple[str, ...]) -> tuple[str, ...] | None:
    if argv[0] == "git-nexus":
        return argv[1:]
    return argv[2:] if argv[:2] == ("git", "nexus") else None


def answered(place: Path, *argv: str, typed: tuple[str, ...], env: dict[str, str] | None = None) -> tuple[int, str]:
    """Run a command on a terminal, type a line whenever it asks, and return its status and what it drew."""
    terminal = Terminal(place, *argv, env={"NO_COLOR": "1"} if env is None else env)
    left, deadline = list(typed), time.monotonic() + _LONGEST
    while terminal.read(deadline):
        if left and terminal.drawn.endswith(_QUESTIONS):
            terminal.write(left.pop(0) + "\n")
    return terminal.wait(), terminal.drawn


def shown(place: Path, *argv: str, env: dict[str, str] | None = None) -> str:
    """Run a command on a terminal and return what it drew."""
    return answered(place, *argv, typed=(), env={"TERM": "xterm-256color", **(env or {})})[1]


def killed_at(place: Path, *argv: str, seen: str) -> str:
    """Run a command on a terminal, kill it once it shows `seen`, and return what it drew."""
    terminal, deadline = Terminal(place, *argv), time.monotonic() + _LONGEST
    while seen not in terminal.drawn and terminal.read(deadline):
        pass
    terminal.kill()
    assert seen in terminal.drawn, f"{' '.join(argv)} ended without {seen!r}:\n{terminal.drawn}"
    return terminal.drawn


@contextlib.contextmanager
def at_work(place: Path, *argv: str) -> Iterator[tuple[StartedCommand, IO[str]]]:
    """Start `git nexus` without a terminal; yield it and its standard error. It is killed at the end."""
    reading, writing = os.pipe()
    with open(os.devnull, "r+b") as nothing:
        command = forker().start(argv, place, [nothing.fileno(), nothing.fileno(), writing], session=True)
    os.close(writing)
    with command, open(reading, encoding="utf-8", errors="replace") as said:
        try:
            yield command, said
        finally:
            command.kill()


def read_until(said: IO[str], words: str) -> None:
    """Read lines until one has these words; fails when there are no more."""
    lines = []
    for line in said:
        lines.append(line)
        if words in line:
            return
    raise AssertionError(f"it ended without saying {words!r}:\n{''.join(lines)}")
