"""Talking to a command while it runs."""

import os
from pathlib import Path

import pytest

from gitnexus.sandbox.run import run_in_sandbox
from gitnexus.sandbox.spec import Level
from gitnexus.sandbox.stdin_pipe import StdinPipe
from tests.sandbox.conftest import need, spec_of


@pytest.mark.parametrize("level", ["L0", "L3"])
def test_a_command_hears_what_is_said_to_it_and_then_the_end(worktree: Path, level: Level) -> None:
    need(level)
    voice, heard, complained = StdinPipe(), b"", b""

    def hear(piece: bytes) -> None:
        nonlocal heard
        heard += piece
        if heard.endswith(b"name?\n"):
            voice.say(b"Ada\n")
            voice.close()

    def complain(piece: bytes) -> None:
        nonlocal complained
        complained += piece

    text = "echo 'name?'; read n; echo hello $n; echo bad >&2; cat; echo end"
    done = run_in_sandbox(spec_of(worktree, level, ("sh", "-c", text)), hear, complain, voice)

    assert (done.status, heard, complained) == (0, b"name?\nhello Ada\nend\n", b"bad\n")


def test_who_does_not_listen_is_talked_to_no_longer() -> None:
    voice = StdinPipe(patience=0.05)

    assert voice.say(b"x" * 1000) is True
    assert voice.say(b"x" * 1_000_000) is False
    assert voice.say(b"more") is False


def test_who_is_gone_is_not_talked_to() -> None:
    voice = StdinPipe()
    os.close(voice.theirs)
    voice.theirs = -1

    assert voice.say(b"anybody?") is False
    voice.close()


def test_who_will_not_leave_after_the_last_word_is_dismissed(worktree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gitnexus.sandbox.stdin_pipe.FAREWELL", 0.1)
    voice = StdinPipe()

    done = run_in_sandbox(
        spec_of(worktree, "L0", ("sh", "-c", "echo over; exec sleep 600")), lambda _: voice.end_input(), None, voice
    )

    assert (done.dismissed, done.ended_by, done.seconds < 60) == (True, None, True)
