"""A real terminal in which somebody types: tmux, keys in and a screen out."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path


def until(holds: Callable[[], bool], what: str, shown: Callable[[], str] = str) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, f"never saw {what!r} on:\n{shown()}"
        time.sleep(0.1)


class Terminal:
    """One window of 80 columns and 24 lines on a server of its own."""

    def __init__(self, name: str, place: Path, command: str = "git nexus chat") -> None:
        self._base = ["tmux", "-L", name, "-f", "/dev/null"]
        self._do("new-session", "-d", "-x", "80", "-y", "24", "-c", str(place), command)

    def types(self, text: str) -> None:
        """Type a text, and Enter after a moment: who is quicker than that pastes."""
        self._do("send-keys", "-l", text)
        self.presses("Enter")

    def writes(self, text: str) -> None:
        """Type a text, and nothing after it."""
        self._do("send-keys", "-l", text)

    def rests(self) -> None:
        """Do nothing for as long as it takes until what was typed is kept."""
        time.sleep(1.2)

    def presses(self, key: str) -> None:
        """Press a key, having looked at the screen."""
        time.sleep(0.6)
        self._do("send-keys", key)

    def screen(self) -> str:
        """Return what stands on the screen."""
        return self._do("capture-pane", "-p")

    def shows(self, words: str) -> str:
        """Wait until something stands on the screen."""
        until(lambda: words in self.screen(), words, self.screen)
        return self.screen()

    def resized(self, columns: int, rows: int) -> None:
        """Make the window another size."""
        self._do("resize-window", "-x", str(columns), "-y", str(rows))

    def close(self) -> None:
        """End the server, and with it the terminal."""
        subprocess.run([*self._base, "kill-server"], check=False, capture_output=True)

    def _do(self, *argv: str) -> str:
        return subprocess.run([*self._base, *argv], check=True, capture_output=True, text=True).stdout
