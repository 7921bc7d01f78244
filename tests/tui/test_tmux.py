"""Once from end to end in a terminal that is one: tmux, the embedded default, keys in and a screen out."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import run_git
from tests.tui.window import Terminal

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


@pytest.fixture
def window(project: Path) -> Iterator[Terminal]:
    if shutil.which("tmux") is None:
        pytest.skip("there is no tmux on PATH: install it, apt install tmux")
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
