"""Lock files that stay although git ended: one that could not be removed, and those of a git that was killed."""

import os
import shutil
from pathlib import Path

import pytest

from gitnexus.git import RefLocked, discover, locks
from gitnexus.git.config_edit import set_config_value
from gitnexus.git.lock_notes import noted_ref_change
from gitnexus.git.locks import change_refs
from tests.cli.test_locks import leave_lock, leave_note_of_killed
from tests.conftest import Nexus, run_git
from tests.runs.live import begun


def leave_lock_after(folder: Path, monkeypatch: pytest.MonkeyPatch, word: str, lock: Path, how: str) -> None:
    """Put a git first on PATH that once, after what it does for `word`, cannot remove a lock, and says so."""
    folder.mkdir()
    real, told = shutil.which("git"), f"warning: unable to unlink '{lock}': Input/output error"
    script = f"""#!/bin/sh
case "$*" in *{word}*) ;; *) exec {real} "$@";; esac
[ -e "{folder}/done" ] && exec {real} "$@"
{real} "$@"
status=$?
mkdir "{folder}/done"
{how} "{lock}"
echo "{told}" >&2
exit $status
"""
    (folder / "git").write_text(script)
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def landed(nexus: Nexus) -> str:
    run = begun(nexus)
    nexus.ok("approve", "--unseen", run)
    nexus.ok("land", run)
    return run


@pytest.mark.parametrize("name", ["packed-refs.lock", "refs/heads/nexus/gone.lock"])
def test_a_lock_that_git_could_not_remove_goes_before_the_command_ends(
    project: Path, nexus: Nexus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    landed(nexus)
    left = project / ".git" / name
    leave_lock_after(tmp_path / "bin", monkeypatch, "update-ref", left, "touch")

    nexus.ok("clean")

    assert (tmp_path / "bin" / "done").exists()
    assert not left.exists()


@pytest.mark.parametrize("name", ["index.lock", "HEAD.lock"])
def test_a_lock_that_the_users_git_could_not_remove_does_not_stop_them_after_a_landing(
    project: Path, nexus: Nexus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    run = begun(nexus)
    nexus.ok("approve", "--unseen", run)
    left = project / ".git" / name
    leave_lock_after(tmp_path / "bin", monkeypatch, "'merge --no-ff'", left, "touch")

    nexus.ok("land", run)

    assert (tmp_path / "bin" / "done").exists()
    assert not left.exists()


def test_a_lock_that_can_still_not_be_removed_is_known_and_goes_with_a_later_command(
    project: Path, nexus: Nexus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = project / ".git" / "packed-refs.lock"
    leave_lock_after(tmp_path / "bin", monkeypatch, "update-ref", left, "mkdir")  # a folder is not unlinked

    change_refs("update-ref", "refs/nexus/runs/x", "HEAD", git_dir=project / ".git")

    assert left.exists()
    assert "packed-refs.lock has existed for" in nexus("doctor").stdout
    nexus.ok("status")
    assert not left.exists()
    assert [*(project / ".git" / "nexus" / "ref-changes").iterdir()] == []


def test_a_lock_that_only_a_server_or_a_hook_names_is_left_alone(
    project: Path, nexus: Nexus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_git(tmp_path, "init", "-q", "--bare", "server.git")
    run_git(project, "remote", "add", "origin", str(tmp_path / "server.git"))
    elsewhere, old = tmp_path / "other.lock", leave_lock(project, "index.lock", 9000)
    elsewhere.write_text("")
    leave_lock_after(tmp_path / "bin", monkeypatch, "push", elsewhere, "touch")
    leave_lock_after(tmp_path / "bin2", monkeypatch, "ls-remote", old, "touch -c -d 2000-01-01")

    nexus.ok("sync")

    assert (tmp_path / "bin2" / "done").exists()
    assert elsewhere.exists()
    assert old.exists()


def test_the_doctor_tells_who_left_a_lock(project: Path, nexus: Nexus) -> None:
    left = leave_lock(project, "packed-refs.lock")
    leave_note_of_killed(project).write_text("git nexus clean, process 4711\n")
    os.utime(project / ".git" / "nexus" / "ref-changes" / "0123abcd", (left.stat().st_mtime,) * 2)

    told = nexus("doctor")

    assert "packed-refs.lock has existed for 12" in told.stdout
    assert "left by git nexus clean, process 4711, which has ended" in told.stdout


def test_a_new_packed_refs_that_a_killed_git_left_is_broken(project: Path, nexus: Nexus) -> None:
    run = begun(nexus)
    nexus.ok("approve", "--unseen", run)
    nexus.ok("land", run)
    run_git(project, "pack-refs", "--all")
    leave_note_of_killed(project)
    left = [leave_lock(project, name) for name in ("packed-refs.lock", "packed-refs.new")]

    nexus.ok("clean")

    assert [path for path in left if path.exists()] == []
    assert f"nexus/{run}" not in run_git(project, "for-each-ref")


def test_a_new_packed_refs_is_left_alone_while_somebody_else_has_the_lock(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "_PATIENCE", 0.1)
    tip = run_git(project, "rev-parse", "HEAD").strip()
    run_git(project, "update-ref", "refs/nexus/runs/x", tip)
    run_git(project, "pack-refs", "--all")
    left = [leave_lock(project, name) for name in ("packed-refs.lock", "packed-refs.new")]

    with pytest.raises(RefLocked) as refused:
        change_refs("update-ref", "-d", "refs/nexus/runs/x", git_dir=project / ".git")

    assert refused.value.message.startswith("packed-refs.lock has existed for 12")
    assert [path for path in left if not path.exists()] == []


def test_the_lock_of_the_config_that_a_killed_command_left_is_broken(project: Path) -> None:
    left = leave_lock(project, "config.lock")
    leave_note_of_killed(project)

    set_config_value(discover(project), "nexus.test", "yes")

    assert not left.exists()
    assert run_git(project, "config", "nexus.test").strip() == "yes"


def test_the_lock_of_the_config_of_somebody_else_is_named_with_what_to_do(project: Path, nexus: Nexus) -> None:
    left = leave_lock(project, "config.lock")

    refused = nexus("uninstall")

    assert refused.returncode != 0
    assert f"rm '{left}'" in refused.stderr
    assert left.exists()


def test_the_locks_of_a_git_that_was_killed_alone_go_together(project: Path, nexus: Nexus) -> None:
    common_dir = project / ".git"
    run_git(project, "update-ref", "refs/nexus/runs/y", "HEAD")
    run_git(project, "pack-refs", "--all")
    leave_note_of_killed(project)
    left = [leave_lock(project, name) for name in ("packed-refs.lock", "refs/nexus/runs/x.lock")]

    change_refs("update-ref", "-d", "refs/nexus/runs/y", git_dir=common_dir)
    nexus.ok("status")

    assert [path for path in left if path.exists()] == []


def test_a_note_names_only_locks_that_are_there(project: Path) -> None:
    common_dir = project / ".git"
    left = leave_lock(project, "packed-refs.lock", 0)

    with noted_ref_change(common_dir) as note:
        note.note_locks([left, common_dir / "refs" / "nexus" / "runs" / "x.lock"])

    (file,) = (common_dir / "nexus" / "ref-changes").iterdir()
    assert file.read_text().splitlines()[1:] == ["packed-refs.lock"]
