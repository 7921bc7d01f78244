"""Once from end to end in a terminal that is one: tmux, the embedded default, keys in and a screen out."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import run_git

CHECKLIST = """\
# To do

- [ ] greet the reader in readme.txt

  ```diff
  --- a/readme.txt
  +++ b/readme.txt
  @@ -1 +1,2 @@
   hello
  +dear reader
  ```
"""


class Terminal:
    """One window of 80 columns and 24 lines on a server of its own."""

    def __init__(self, name: str, place: Path) -> None:
        self._base = ["tmux", "-L", name, "-f", "/dev/null"]
        self._do("new-session", "-d", "-x", "80", "-y", "24", "-c", str(place), "git nexus chat")

    def types(self, text: str) -> None:
        """Type a text, and Enter after a moment: who is quicker than that pastes."""
        self._do("send-keys", "-l", text)
        self.presses("Enter")

    def presses(self, key: str) -> None:
        """Press a key, having looked at the screen."""
        time.sleep(0.6)
        self._do("send-keys", key)

    def screen(self) -> str:
        """Return what stands on the screen."""
        return self._do("capture-pane", "-p")

    def shows(self, words: str) -> str:
        """Wait until something stands on the screen."""
        deadline = time.monotonic() + 60
        while words not in (shown := self.screen()):
            assert time.monotonic() < deadline, f"never saw {words!r} on:\n{shown}"
            time.sleep(0.1)
        return shown

    def close(self) -> None:
        """End the server, and with it the terminal."""
        subprocess.run([*self._base, "kill-server"], check=False, capture_output=True)

    def _do(self, *argv: str) -> str:
        return subprocess.run([*self._base, *argv], check=True, capture_output=True, text=True).stdout


@pytest.fixture
def window(project: Path) -> Iterator[Terminal]:
    if shutil.which("tmux") is None:
        pytest.skip("no tmux here")
    (project / "TODO.md").write_text(CHECKLIST)
    run_git(project, "add", ".")
    run_git(project, "commit", "-qm", "what is to be done")
    terminal = Terminal(f"nexus-{os.getpid()}", project)
    yield terminal
    terminal.close()


@pytest.mark.slow
def test_a_request_becomes_a_workflow_a_card_and_a_commit_in_a_real_terminal(window: Terminal, project: Path) -> None:
    window.shows("ask for something")
    window.types("/plan-exec carry out the checklist in @TODO.md")
    window.shows("[y] start it")
    window.presses("Tab")
    window.presses("y")
    card = window.shows("[y] yes, this once")
    window.presses("Tab")
    window.presses("Enter")
    window.shows("Enter answers nothing")
    window.presses("y")
    done = window.shows("is completed, 1 commit")

    (branch,) = run_git(project, "for-each-ref", "--format=%(refname:short)", "refs/heads/nexus").split()
    assert "+dear reader" in card
    assert max(map(len, done.split("\n"))) <= 80
    assert run_git(project, "show", f"{branch}:readme.txt") == "hello\ndear reader\n"
