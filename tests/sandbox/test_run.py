"""A command is run as it was asked for."""

import hashlib
import os
from pathlib import Path

import pytest

from gitnexus.base.errors import Invalid
from gitnexus.sandbox.environment import PATH, command_environment
from gitnexus.sandbox.program import resolve_program
from gitnexus.sandbox.run import run_in_sandbox
from gitnexus.sandbox.spec import KeptOutput, Level
from tests.sandbox.conftest import Box, spec_of

EVERY = pytest.mark.parametrize("level", ["L0", "L1", "L2", "L3"])


@EVERY
def test_status_and_both_streams_come_back(level: Level, box: Box) -> None:
    ended = box(level, "sh", "-c", "cat; echo oops >&2; exit 3", stdin=b"hello")

    assert (ended.status, ended.signal, ended.ended_by, ended.level) == (3, None, None, level)
    assert ended.stdout == KeptOutput(data=b"hello", total=5)
    assert ended.stderr == KeptOutput(data=b"oops\n", total=5)


@EVERY
def test_the_worktree_is_writable(level: Level, box: Box, worktree: Path) -> None:
    script = "mkdir -p a/b && echo x > a/f && mv a/f a/b/g && ln a/b/g h && ln -s h i && chmod +x h && rm -r a && cat i"

    ended = box(level, "sh", "-c", script)

    assert (ended.status, ended.stdout.data) == (0, b"x\n"), ended.stderr.data
    assert os.listdir(worktree) == ["h", "i"] or sorted(os.listdir(worktree)) == ["h", "i"]


@EVERY
def test_temporary_files_and_home_are_there(level: Level, box: Box) -> None:
    ended = box(level, "sh", "-c", 'echo a > "$TMPDIR/x" && mktemp && echo b > ~/y && cat "$TMPDIR/x" ~/y')

    assert ended.status == 0, ended.stderr.data


@EVERY
def test_a_signal_is_told(level: Level, box: Box) -> None:
    ended = box(level, "sh", "-c", "kill -9 $$")

    assert (ended.status, ended.signal) == ((137, None) if level == "L3" else (None, 9))


@EVERY
def test_a_sink_gets_what_is_written_and_nothing_is_kept(level: Level, box: Box) -> None:
    got: list[bytes] = []

    ended = box(level, "sh", "-c", "echo one; echo two", sink=got.append)

    assert b"".join(got) == b"one\ntwo\n"
    assert ended.stdout == KeptOutput(total=8)


@EVERY
def test_a_script_of_the_worktree_runs_by_its_path(level: Level, box: Box, worktree: Path) -> None:
    (worktree / "run").write_text('#!/bin/sh\necho "$0 $1"\n')
    (worktree / "run").chmod(0o755)

    ended = box(level, "./run", "x")

    assert ended.status == 0
    assert ended.stdout.data.endswith(b"/run x\n") or ended.stdout.data == b"./run x\n"


@pytest.mark.parametrize("level", ["L0", "L1", "L2"])
def test_a_program_is_called_what_it_was_called(level: Level, box: Box, worktree: Path) -> None:
    spec = spec_of(worktree, level, ("sh", "-c", "echo $0 | cat")).changed(
        argv=("another", "-c", "cat /proc/$$/cmdline")
    )

    assert run_in_sandbox(spec).stdout.data.startswith(b"another\0-c\0")


def test_a_program_with_many_names_is_reached_by_the_right_one_behind_bubblewrap(box: Box, worktree: Path) -> None:
    box("L3", "true")
    spec = spec_of(worktree, "L3", ("sh", "-c", "x")).changed(argv=("another", "-c", "cat /proc/$$/cmdline"))

    assert run_in_sandbox(spec).stdout.data.split(b"\0")[0].endswith(b"/another")


def test_a_working_folder_that_became_a_link_is_refused(worktree: Path, outside: Path) -> None:
    (worktree / "sub").symlink_to(outside)

    with pytest.raises(Invalid):
        run_in_sandbox(spec_of(worktree, "L0", ("true",), cwd=str(worktree / "sub")))
    with pytest.raises(Invalid):
        run_in_sandbox(spec_of(worktree, "L0", ("true",), cwd=str(outside)))
    with pytest.raises(Invalid):
        run_in_sandbox(spec_of(worktree, "L0", ("true",), cwd=str(worktree / "..")))


def test_a_program_is_told_by_its_real_path_and_its_content(worktree: Path) -> None:
    script = worktree / "run"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    (worktree / "link").symlink_to("run")

    first = resolve_program("./link", PATH, str(worktree), str(worktree))
    script.write_text("#!/bin/bash")  # as long as before

    assert first.path == str(script)
    assert first.digest == "sha256:" + hashlib.sha256(b"#!/bin/sh\n").hexdigest()
    assert resolve_program("run", str(worktree), "/", str(worktree), own=True).digest != first.digest


@pytest.mark.parametrize("name", ["/dev/null", "/", "/etc/passwd", "/nonexistent"])
def test_what_cannot_be_executed_is_no_program(name: str, worktree: Path) -> None:
    from gitnexus.base.errors import NexusError

    with pytest.raises(NexusError):
        resolve_program(name, PATH, str(worktree), str(worktree))


def test_the_language_is_inherited_and_the_rest_is_ours() -> None:
    made = command_environment(
        {"CI": "1"}, {"LANG": "de_DE.UTF-8", "LC_ALL": "x\ny", "HOME": "/home/x", "PATH": "/evil"}
    )

    assert made["LANG"] == "de_DE.UTF-8"
    assert made["CI"] == "1"
    assert made["PATH"] == PATH
    assert (made["GIT_PAGER"], made["GIT_EDITOR"], made["TERM"]) == ("cat", "false", "dumb")
    assert not {"LC_ALL", "HOME"} & set(made)


def test_folders_of_the_policy_come_first_on_the_path() -> None:
    assert command_environment({}, {}, folders=("/opt/tools/bin",))["PATH"] == f"/opt/tools/bin:{PATH}"
    with pytest.raises(Invalid):
        command_environment({}, {}, folders=("node_modules/.bin",))
