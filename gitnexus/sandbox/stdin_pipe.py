"""Writes to the standard input of a running command through a pipe, and never blocks longer than a set time."""

import contextlib
import os
import select
import time

_PATIENCE = 60.0
# The time that a program has to exit after the end of its input.
FAREWELL = 3.0


class StdinPipe:
    """One end is the command's standard input, the other one ours. Who does not listen is talked to no longer."""

    def __init__(self, patience: float = _PATIENCE) -> None:
        self.theirs, self._ours = os.pipe()
        os.set_blocking(self._ours, False)
        self._patience = patience
        self._farewell = float("inf")

    def close_command_end(self) -> None:
        """Close our copy of the command's end, so that its own end is noticed."""
        if self.theirs >= 0:
            os.close(self.theirs)
            self.theirs = -1

    def say(self, words: bytes) -> bool:
        """Send all of it; return False if nobody reads any more."""
        until = time.monotonic() + self._patience
        left = memoryview(words)
        while left and self._ours >= 0:
            try:
                left = left[os.write(self._ours, left) :]
                continue
            except BlockingIOError:
                pass
            except OSError:
                self.close()
                return False
            if not select.select([], [self._ours], [], max(0.0, until - time.monotonic()))[1]:
                self.close()
        return self._ours >= 0

    def end_input(self) -> None:
        """Say that this was all: who does not leave by itself then is dismissed."""
        self.close()
        self._farewell = min(self._farewell, time.monotonic() + FAREWELL)

    @property
    def overstayed(self) -> bool:
        """True if the command's input was closed and its time to exit is over."""
        return time.monotonic() > self._farewell

    def close(self) -> None:
        """Say nothing more: the command reads the end of its input."""
        self.close_command_end()
        if self._ours >= 0:
            with contextlib.suppress(OSError):
                os.close(self._ours)
            self._ours = -1
