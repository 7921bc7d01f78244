"""What is told of a command that did not end well: our words, never those of an agent that went by."""

import pytest

from gitnexus.tui.subprocesses import FinishedCommand

RESUME = ("resume", "r1", "--json")


@pytest.mark.parametrize(
    ("done", "told"),
    [
        (FinishedCommand(RESUME, 0, "", "│ an agent says: error: all is lost"), ""),
        (FinishedCommand(RESUME, 130, "", "│ ┌ patch a9 of you\nerror: interrupted"), ""),
        (FinishedCommand(RESUME, 1, "", "│ ┌ patch a9 of you\n│ error: all is lost"), "resume ended with 1"),
        (FinishedCommand(RESUME, 99, "", "│ said\nerror: the disk is full"), "the disk is full"),
        (
            FinishedCommand(RESUME, 7, "{}", "", {"error": {"message": "busy", "fix": "git nexus runs"}}),
            "busy (try: git nexus runs)",
        ),
        (FinishedCommand(("diff", "r1"), 4, "", "error: there is no run r1"), "there is no run r1"),
        (FinishedCommand(("diff", "r1"), 4, "", ""), "it ended with 4"),
    ],
)
def test_a_failure_is_told_in_our_own_words(done: FinishedCommand, told: str) -> None:
    assert done.failure == told
