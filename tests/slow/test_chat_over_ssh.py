"""The chat over SSH, in tmux: ask, card, yes, commit; and a line that breaks loses nothing."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import run_git
from tests.slow.sshd import Sshd
from tests.tui.window import Terminal, until

pytestmark = pytest.mark.slow
Opens = Callable[[str], Terminal]


@pytest.fixture
def opens(sshd: Sshd, project: Path) -> Iterator[Opens]:
    """Open the chat of the project over SSH, in a window of 80 columns and 24 lines."""
    windows: list[Terminal] = []

    def opened(term: str) -> Terminal:
        name = f"nexus-ssh-{os.getpid()}-{len(windows)}"
        windows.append(Terminal(name, project, sshd.command(project, term)))
        windows[-1].shows(" · main · default · ")  # the greeting may have gone up the screen by then
        return windows[-1]

    yield opened
    for window in windows:
        window.close()


def branches(project: Path) -> list[str]:
    return run_git(project, "for-each-ref", "--format=%(refname:short)", "refs/heads/nexus").split()


@pytest.mark.parametrize("term", ["xterm-256color", "screen-256color"])
def test_a_request_becomes_a_card_and_a_commit_over_ssh(opens: Opens, project: Path, term: str) -> None:
    window = opens(term)
    window.types("/run -- sh -c 'echo more >> readme.txt'")
    card = window.shows("[y] yes, this once")
    window.presses("Tab")
    window.presses("Enter")
    window.shows("Enter answers nothing")
    window.presses("y")
    done = window.shows("is completed, 1 commit")

    (branch,) = branches(project)
    assert "+more" in card
    assert max(map(len, done.split("\n"))) <= 80
    assert run_git(project, "show", f"{branch}:readme.txt") == "hello\nmore\n"


def test_a_line_that_breaks_ends_no_run_and_the_card_is_there_again(opens: Opens, sshd: Sshd, project: Path) -> None:
    window = opens("xterm-256color")
    window.types("/run -- sh -c 'echo begun; sleep 3; echo late > late.txt'")
    window.shows("│ begun")
    window.writes("half a thought")
    window.shows("half a thought")
    window.rests()
    window.close()  # the terminal is gone, ssh with it, and the server hangs up
    until(lambda: not sshd.is_inside(), "the chat leaves")

    again = opens("screen-256color")
    again.shows("[y] yes, this once")
    again.shows("half a thought")
    again.presses("C-u")
    again.presses("Tab")
    again.presses("y")
    again.shows("is completed, 1 commit")

    (branch,) = branches(project)
    assert run_git(project, "show", f"{branch}:late.txt") == "late\n"
