"""A hatch in a sandbox: a command inside talks to one program outside, at every level, and to nothing else."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitnexus.sandbox.spec import Level
from gitnexus.sandbox.tool_relay import MOST_CALLERS, REQUEST_PIPE, interpreter_libraries, open_tool_relay
from tests.sandbox.conftest import Box

# Says what it was told, and one thing that nobody inside could know.
OUTSIDE = """
import sys
print(open(sys.argv[1]).read().strip(), flush=True)
for line in sys.stdin:
    print("heard", line.strip(), flush=True)
"""
UNTIL_THE_END = "import sys; print('hello', flush=True); sys.stdin.read(); open(sys.argv[1], 'w')"
LEVELS: tuple[Level, ...] = ("L0", "L1", "L2", "L3")


@pytest.fixture
def private(tmp_path: Path) -> Path:
    place = Path(os.path.realpath(tmp_path)) / "private"
    place.mkdir(mode=0o700)
    return place


@pytest.fixture
def server(private: Path, outside: Path) -> Iterator[tuple[str, ...]]:
    argv = (sys.executable, "-c", OUTSIDE, str(outside / "credentials"))
    with open_tool_relay(private, argv, private.parent / "said") as relay:
        yield relay


@pytest.mark.parametrize("level", LEVELS)
def test_a_command_inside_reaches_the_program_and_hears_it(
    box: Box, private: Path, server: tuple[str, ...], level: Level
) -> None:
    done = box(
        level, *server, stdin=b"one\ntwo\n", writable=(str(private),), readable=(*interpreter_libraries(), server[0])
    )  # fmt: skip

    assert (done.status, done.stderr.data) == (0, b"")
    assert done.stdout.data == b"the secret\nheard one\nheard two\n"


def test_callers_have_a_process_each_and_one_too_many_is_sent_away(server: tuple[str, ...]) -> None:
    inside = [
        subprocess.Popen(server, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(MOST_CALLERS)
    ]
    assert [one.stdout.readline() for one in inside if one.stdout] == ["the secret\n"] * MOST_CALLERS
    late = subprocess.run(server, input="one\n", capture_output=True, text=True, timeout=60, check=False)
    told = [one.communicate(f"{at}\n", timeout=60)[0] for at, one in enumerate(inside)]

    assert (late.returncode, late.stdout) == (0, "")
    assert told == [f"heard {at}\n" for at in range(MOST_CALLERS)]


def test_when_the_program_is_killed_the_caller_ends(private: Path) -> None:
    argv = (sys.executable, "-c", "import os; os.kill(os.getpid(), 9)")
    with open_tool_relay(private, argv, private.parent / "said") as server:
        caller = subprocess.Popen(server, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert caller.stdout is not None

        assert caller.stdout.read() == b""
        assert caller.wait(60) == 0
        caller.communicate()


def test_when_the_caller_is_killed_the_program_sees_the_end_of_its_input(private: Path) -> None:
    ended = private.parent / "ended"
    argv = (sys.executable, "-c", UNTIL_THE_END, str(ended))
    with open_tool_relay(private, argv, private.parent / "said") as server:
        caller = subprocess.Popen(server, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert caller.stdout is not None and caller.stdout.readline() == b"hello\n"
        caller.kill()
        caller.communicate()

    assert ended.exists()


def test_what_is_no_call_is_passed_over(private: Path, outside: Path) -> None:
    argv = (sys.executable, "-c", OUTSIDE, str(outside / "credentials"))
    with open_tool_relay(private, argv, private.parent / "said") as server:
        folder = Path(server[-1])
        (folder / "0123456789abcdef.up").symlink_to(outside / "credentials")
        (folder / "0123456789abcdee.up").write_text("a file")
        os.mkfifo(folder / "0123456789abcded.up")  # whose other side nobody opens
        os.mkfifo(folder / "0123456789abcded.down")
        with (folder / REQUEST_PIPE).open("wb", buffering=0) as pipe:
            for words in (b"../../etc/passwd\n", b"\xff\0\n", b"x" * 4096, b"\n0123456789abcdef\n",
                          b"0123456789abcdee\n0123456789abcded\n"):  # fmt: skip
                pipe.write(words)
        done = subprocess.run(server, input=b"still\n", capture_output=True, timeout=60, check=False)

    assert done.stdout == b"the secret\nheard still\n"
    assert (outside / "credentials").read_text() == "the secret\n"
    assert not folder.exists()


@pytest.mark.parametrize("level", ["L1", "L2", "L3"])
def test_a_worktree_may_be_for_reading_only(box: Box, worktree: Path, level: Level) -> None:
    (worktree / "here").write_text("here\n")

    done = box(level, "sh", "-c", "cat here; echo more > here || echo no; echo new > new || echo no",
               root_writable=False)  # fmt: skip

    assert done.stdout.data == b"here\nno\nno\n"
    assert ((worktree / "here").read_text(), os.listdir(worktree)) == ("here\n", ["here"])
