"""Runs git nexus commands for the chat, each in its own process that outlives the terminal.

So nothing slow stops the conversation, closing the terminal ends no run, and the chat does nothing that a user could
not type.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from gitnexus.base.text import visible_bytes

_MOST = 1024 * 1024
_INTERRUPTED = 130
# Processes that outlive the conversation: nobody waits for them any more, and nobody is to complain about that.
_LEFT: "list[subprocess.Popen[bytes]]" = []


@dataclass(frozen=True, slots=True)
class FinishedCommand:
    """The result of a command: its status, its output, and its JSON if requested."""

    argv: tuple[str, ...]
    status: int
    out: str
    err: str
    answer: dict[str, Any] = field(default_factory=dict)

    @property
    def failure(self) -> str:
        """Return the reason of a failure, empty on success."""
        error = self.answer.get("error")
        if isinstance(error, dict):
            hint = error.get("fix") or ""
            return f"{error.get('message', 'it failed')}{f' (try: {hint})' if hint else ''}"
        if self.status in (0, _INTERRUPTED) or self.answer:
            return ""
        if "--json" in self.argv:
            # What goes by on standard error is what agents say: none of that is ours to say.
            ours = [line for line in self.err.split("\n") if line.startswith("error: ")]
            return ours[-1].removeprefix("error: ") if ours else f"{self.argv[0]} ended with {self.status}"
        return (self.err or self.out or f"it ended with {self.status}").strip().removeprefix("error: ")


@dataclass(slots=True)
class CommandJob:
    """A running command."""

    argv: tuple[str, ...]
    then: Callable[[FinishedCommand], None]
    run: str
    process: "subprocess.Popen[bytes]"
    out: IO[bytes]
    err: IO[bytes]


class CommandRunner:
    """Starts git nexus commands in a folder, and reports their ends."""

    def __init__(self, place: Path) -> None:
        self._place = place
        # How wide what comes back may be.
        self.columns = 100
        self.jobs: list[CommandJob] = []

    def do(self, argv: Sequence[str], then: Callable[[FinishedCommand], None], run: str = "") -> None:
        """Start a command; `collect` calls `then` with its result."""
        out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115 - closed when it is collected
        process = self._start_process(argv, out, err)
        self.jobs.append(CommandJob(tuple(argv), then, run, process, out, err))

    def collect(self) -> None:
        """Report all commands that have ended."""
        for job in [job for job in self.jobs if job.process.poll() is not None]:
            self.jobs.remove(job)
            with job.out, job.err:
                job.then(_finished_command(job))

    def stop(self, run: str = "") -> bool:
        """End running commands, only those of a run if one is named; return True if there were any."""
        found = [job for job in self.jobs if not run or job.run == run]
        for job in found:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(job.process.pid, signal.SIGINT)
        return bool(found)

    def close(self) -> None:
        """Release the running commands: they continue."""
        for job in self.jobs:
            job.out.close()
            job.err.close()
            if job.process.poll() is None:
                _LEFT.append(job.process)
        self.jobs = []

    def _start_process(self, argv: Sequence[str], out: IO[bytes], err: IO[bytes]) -> "subprocess.Popen[bytes]":
        # No colours, no questions and no pager: what comes back is shown by us.
        env = {**os.environ, "NO_COLOR": "1", "COLUMNS": str(self.columns)}
        words = [sys.executable, "-m", "gitnexus", "-C", str(self._place), *argv]
        return subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True, cwd="/", env=env
        )


def _finished_command(job: CommandJob) -> FinishedCommand:
    texts = []
    for file in (job.out, job.err):
        file.seek(0)
        texts.append(file.read(_MOST))
    told: dict[str, Any] = {}
    if "--json" in job.argv:
        with contextlib.suppress(ValueError):
            found = json.loads(texts[0])
            told = found if isinstance(found, dict) else {}
    out, err = (visible_bytes(text).rstrip("\n") for text in texts)
    return FinishedCommand(job.argv, job.process.returncode, out, err, told)
