"""Lock files of git that cannot be made, that somebody holds, and that a killed process left."""

import os
import shutil
import time
from pathlib import Path
from typing import Literal

import pytest

from gitnexus.events.anchor import HeadFile, write_log_head
from gitnexus.events.chain import LogHead
from gitnexus.git import RefLocked, discover, open_objects
from gitnexus.git.locks import (
    _why_no_folder,
    break_locks_of_killed,
    look_at_lock,
    noted_ref_change,
    run_on_refs,
)
from gitnexus.state import STATE_REF, State
from tests.conftest import Nexus, run_git
from tests.runs.live import begun


def replace_git(folder: Path, monkeypatch: pytest.MonkeyPatch, word: str, complaint: str) -> None:
    """Put a git first on PATH that fails with `complaint` where it is given `word`, and else is the real one."""
    folder.mkdir()
    real = shutil.which("git")
    script = f'#!/bin/sh\ncase "$*" in *{word}*) echo "{complaint}" >&2; exit 128;; esac\nexec {real} "$@"\n'
    (folder / "git").write_text(script)
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@pytest.mark.parametrize("reason", ["No space left on device", "Permission denied", "Read-only file system"])
def test_a_ref_lock_that_cannot_be_created_is_told_at_once_by_its_reason(
    project: Path, nexus: Nexus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    complaint = f"fatal: cannot lock ref '{STATE_REF}': Unable to create '{project}/.git/{STATE_REF}.lock': {reason}"
    replace_git(tmp_path / "bin", monkeypatch, "update-ref", complaint)

    refused = nexus("memory", "add", "note-one", "something")

    assert refused.returncode == 1
    assert reason in refused.stderr
    assert "nothing was changed" in refused.stderr


@pytest.mark.parametrize("life", ["short", "long"])
def test_a_folder_of_refs_that_cannot_be_written_is_no_lock_of_somebody_else(project: Path, life: str) -> None:
    run_git(project, "pack-refs", "--all")
    shutil.rmtree(project / ".git" / "refs" / "nexus", ignore_errors=True)
    (project / ".git" / "refs" / "nexus").write_text("in the way")
    state = State.open(project, life)  # type: ignore[arg-type]

    with pytest.raises(Exception, match="could not move") as refused:
        state.write({"memory/a.md": b"A"}, why="memory: add a")

    assert getattr(refused.value, "code", None) == 1


def leave_lock(place: Path, name: str, seconds: int = 120) -> Path:
    """Make a lock file that nobody holds, as old as that."""
    file = place / ".git" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"")
    then = time.time() - seconds
    os.utime(file, (then, then))
    return file


@pytest.mark.parametrize("life", ["short", "long"])
@pytest.mark.parametrize("ref", ["refs/nexus/runs/x", "refs/nexus/rescue/x", "refs/heads/nexus/x"])
def test_a_lock_of_a_ref_of_ours_that_a_dead_process_left_is_broken(project: Path, life: str, ref: str) -> None:
    left = leave_lock(project, f"{ref}.lock", 5)
    tip = run_git(project, "rev-parse", "HEAD").strip()

    assert State.open(project, life).objects.swap(ref, None, tip, "test")  # type: ignore[arg-type]

    assert not left.exists()
    assert run_git(project, "rev-parse", ref).strip() == tip


def test_a_lock_that_a_living_process_holds_open_stays(project: Path) -> None:
    left = leave_lock(project, "refs/nexus/runs/x.lock")
    tip = run_git(project, "rev-parse", "HEAD").strip()

    with left.open("rb"), pytest.raises(RefLocked):
        State.open(project).objects.swap("refs/nexus/runs/x", None, tip, "test")

    assert left.exists()


def test_a_sync_breaks_the_locks_that_a_killed_one_left(project: Path, nexus: Nexus, tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q", "--bare", "server.git")
    run_git(project, "remote", "add", "origin", str(tmp_path / "server.git"))
    nexus.ok("sync")
    refs = run_git(project, "for-each-ref", "--format=%(refname)", "refs/nexus-sync").split()
    left = [leave_lock(project, f"{ref}.lock") for ref in refs]
    nexus.ok("memory", "add", "note-one", "something")

    nexus.ok("sync")
    nexus.ok("sync")

    assert refs
    assert [file for file in left if file.exists()] == []


def test_the_doctor_sees_every_lock_and_puts_aside_what_nobody_holds(project: Path, nexus: Nexus) -> None:
    names = ("packed-refs.lock", "index.lock", "HEAD.lock", "refs/heads/nexus/x.lock", "refs/nexus/runs/x.lock")
    left = [leave_lock(project, name) for name in names]
    young = leave_lock(project, "refs/heads/main.lock", 5)

    told = nexus("doctor")
    nexus.ok("doctor", "--fix")

    assert told.returncode == 1
    assert [name for name in names if f"{name} has existed for" not in told.stdout] == []
    assert [file for file in left if file.exists()] == []
    assert young.exists()


@pytest.mark.parametrize("seconds", [120, 0])
def test_a_lock_that_was_left_on_the_server_is_broken_where_that_is_on_this_machine(
    project: Path, nexus: Nexus, tmp_path: Path, seconds: int
) -> None:
    run_git(tmp_path, "init", "-q", "--bare", "server.git")
    run_git(project, "remote", "add", "origin", str(tmp_path / "server.git"))
    nexus.ok("sync")
    left = tmp_path / "server.git" / f"{STATE_REF}.lock"
    left.write_bytes(b"")
    os.utime(left, (time.time() - seconds, time.time() - seconds))
    nexus.ok("memory", "add", "note-one", "something")

    if seconds:
        nexus.ok("sync")
    else:
        os.utime(left, (time.time() + 600, time.time() + 600))  # still young, however long this takes
        refused = nexus("sync")
        assert refused.returncode == 7
        assert f"{left} exists on the server" in refused.stderr

    assert left.exists() is not bool(seconds)


@pytest.mark.parametrize("life", ["short", "long"])
def test_a_lock_of_somebody_else_is_named_with_what_to_do(project: Path, life: Literal["short", "long"]) -> None:
    tip = run_git(project, "rev-parse", "HEAD").strip()
    run_git(project, "update-ref", "refs/nexus/runs/x", tip)
    run_git(project, "pack-refs", "--all")
    left = leave_lock(project, "packed-refs.lock")

    with pytest.raises(RefLocked) as refused:
        open_objects(discover(project), life).swap("refs/nexus/runs/x", tip, None, "test")

    assert left.exists()
    assert refused.value.hint is not None
    assert refused.value.hint.startswith("packed-refs.lock has existed for 12")
    assert refused.value.hint.endswith(f"rm '{left}'")


@pytest.mark.parametrize("life", ["short", "long"])
def test_a_lock_of_all_refs_that_our_own_killed_process_left_is_broken(
    project: Path, life: Literal["short", "long"]
) -> None:
    tip = run_git(project, "rev-parse", "HEAD").strip()
    run_git(project, "update-ref", "refs/nexus/runs/x", tip)
    run_git(project, "pack-refs", "--all")
    left = leave_lock(project, "packed-refs.lock", 5)
    note = leave_lock(project, "nexus/ref-changes/killed", 6)

    assert open_objects(discover(project), life).swap("refs/nexus/runs/x", tip, None, "test")

    assert not left.exists()
    break_locks_of_killed(project / ".git")  # as the next command does: the note tells of other locks, too
    assert not note.exists()
    assert run_git(project, "for-each-ref", "refs/nexus/runs/x") == ""


def test_a_note_of_a_process_at_work_or_of_another_day_does_not_make_a_lock_ours(project: Path) -> None:
    common_dir = project / ".git"
    left = leave_lock(project, "packed-refs.lock", 5)
    leave_lock(project, "nexus/ref-changes/old", 86400)

    with noted_ref_change(common_dir):
        lock = look_at_lock(common_dir, left)

    assert lock is not None
    assert not lock.ours


@pytest.mark.parametrize("name", ["index.lock", "HEAD.lock"])
def test_a_lock_in_the_worktree_of_a_run_is_broken_by_the_next_command_about_it(
    nexus: Nexus, project: Path, name: str
) -> None:
    run = begun(nexus)
    left = leave_lock(project, f"worktrees/{run}/{name}")

    nexus("review", run)

    assert not left.exists()


@pytest.mark.parametrize("command", ["queue", "bundle"])
def test_a_command_that_cannot_forget_its_copies_says_which_lock_is_in_the_way(
    nexus: Nexus, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    run_git(tmp_path, "init", "-q", "--bare", "server.git")
    run_git(project, "remote", "add", "origin", str(tmp_path / "server.git"))
    nexus.ok("sync")
    nexus.ok("bundle", "create", str(tmp_path / "all.bundle"))
    run_git(project, "update-ref", "refs/nexus-sync/origin/queue/x", "HEAD")
    complaint = f"fatal: Unable to create '{project}/.git/packed-refs.lock': Read-only file system"
    replace_git(tmp_path / "bin", monkeypatch, "'--no-deref --stdin'", complaint)

    refused = nexus("queue") if command == "queue" else nexus("bundle", "apply", str(tmp_path / "all.bundle"))

    assert refused.returncode == 1
    assert "packed-refs.lock': Read-only file system" in refused.stderr


def leave_note_of_killed(place: Path) -> Path:
    """Leave what a process leaves that was killed two minutes ago while it changed refs."""
    return leave_lock(place, "nexus/ref-changes/0123abcd")


def test_the_lock_of_a_killed_approval_does_not_stop_the_next(project: Path, nexus: Nexus) -> None:
    run = begun(nexus)
    left = leave_lock(project, f"refs/heads/nexus/{run}.lock")

    nexus.ok("approve", "--unseen", run)

    assert not left.exists()
    assert "completed" in nexus.ok("runs", "--all")


def test_the_locks_of_a_killed_clean_do_not_stop_the_next(project: Path, nexus: Nexus) -> None:
    run = begun(nexus)
    nexus.ok("approve", "--unseen", run)
    nexus.ok("land", run)
    month = f"20{run[:2]}-{run[2:4]}"
    leave_note_of_killed(project)
    names = (f"refs/nexus/archive/{month}.lock", f"refs/nexus/runs/{run}.lock", "packed-refs.lock")
    left = [leave_lock(project, name) for name in names]

    nexus.ok("clean")

    assert [path for path in left if path.exists()] == []
    refs = run_git(project, "for-each-ref", "--format=%(refname)").split()
    assert refs == ["refs/heads/main", f"refs/nexus/archive/{month}", "refs/nexus/state"]


def test_locks_of_a_killed_change_go_with_the_next_command_whatever_it_is(project: Path, nexus: Nexus) -> None:
    note = leave_note_of_killed(project)
    ours = [
        leave_lock(project, f"refs/{name}/x.lock") for name in ("nexus/runs", "heads/nexus", "remotes/origin/nexus")
    ]
    others = [leave_lock(project, "refs/heads/topic.lock"), leave_lock(project, "refs/nexus/runs/y.lock", 9000)]

    nexus.ok("status")

    assert [path for path in (note, *ours) if path.exists()] == []
    assert [path for path in others if not path.exists()] == []


def test_a_git_that_was_killed_alone_leaves_a_note_of_its_locks(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text("#!/bin/sh\nkill -9 $$\n")
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")

    done = run_on_refs("update-ref", "refs/nexus/runs/x", "HEAD", git_dir=project / ".git")

    assert done.returncode == -9
    assert len([*(project / ".git" / "nexus" / "ref-changes").iterdir()]) == 1
    break_locks_of_killed(project / ".git")
    assert [*(project / ".git" / "nexus" / "ref-changes").iterdir()] == []


def test_a_folder_that_git_cannot_make_for_a_ref_is_told_by_the_reason(project: Path) -> None:
    (project / ".git" / "refs" / "heads" / "nexus").write_text("in the way")
    stderr = f"unable to create directory for {project}/.git/refs/heads/nexus/x/y".encode()

    assert _why_no_folder(stderr) == ": Not a directory"


def test_half_a_head_of_a_log_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fd = HeadFile(tmp_path / "head").open()
    write_log_head(fd, LogHead(1, f"sha256:{'a' * 64}"))
    write = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: write(fd, data[:40], at))

    write_log_head(fd, LogHead(2, f"sha256:{'b' * 64}"))

    os.close(fd)
    assert HeadFile(tmp_path / "head").read() is None
