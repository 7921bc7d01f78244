"""The error of the disk behind a failed git: named by git in any line, or found by writing."""

import os
import shutil
from pathlib import Path

import pytest

from gitnexus.git import discover
from gitnexus.git.disk_errors import disk_error, with_disk_error
from gitnexus.git.exchange import RefUpdate, push_ref_updates
from gitnexus.git.locks import change_refs
from tests.cli.test_locks import replace_git
from tests.conftest import Nexus, run_git

FULL = "No space left on device"


def refuse_to_write(path: Path, data: bytes) -> int:
    """Stand for `Path.write_bytes` on a full disk."""
    raise OSError(28, FULL)


@pytest.mark.parametrize(("stderr", "reason"), [
    (f"fatal: it broke\nremote: fatal: unable to write loose object file: {FULL}\n", FULL),
    ("fatal: couldn't write 'x.lock': Input/output error", "Input/output error"),
    ("fatal: couldn't write 'x.lock'", ""),
    ("fatal: not a git repository", ""),
])  # fmt: skip
def test_the_error_of_the_disk_is_found_in_any_line(tmp_path: Path, stderr: str, reason: str) -> None:
    assert disk_error(stderr.encode(), tmp_path) == reason
    assert os.listdir(tmp_path) == []


def test_where_git_does_not_tell_why_it_could_not_write_the_system_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "write_bytes", refuse_to_write)

    assert with_disk_error("git failed", b"fatal: couldn't write 'x.lock'", tmp_path) == f"git failed: {FULL}"
    assert with_disk_error("git failed", b"fatal: bad object", tmp_path) == "git failed"


def test_a_change_of_refs_names_the_error_of_the_disk(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_git(tmp_path / "bin", monkeypatch, "update-ref", f"fatal: couldn't set 'x'\nerror: {FULL}")

    with pytest.raises(Exception, match=f"couldn't set 'x': {FULL}"):
        change_refs("update-ref", "refs/nexus/runs/x", "HEAD", git_dir=project / ".git")


def test_a_push_that_the_server_could_not_store_is_told_as_that(
    project: Path, nexus: Nexus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_git(tmp_path, "init", "-q", "--bare", "server.git")
    run_git(project, "remote", "add", "origin", str(tmp_path / "server.git"))
    hook = tmp_path / "server.git" / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\necho 'fatal: unable to write file: {FULL}' >&2\nexit 1\n")
    hook.chmod(0o755)

    tip = run_git(project, "rev-parse", "HEAD").strip()
    (outcome,) = push_ref_updates(discover(project), "origin", [RefUpdate("refs/nexus/runs/x", tip)]).values()
    refused = nexus("sync")

    assert (outcome.kind, outcome.disk) == ("refused", FULL)
    assert refused.returncode == 1
    assert f"origin could not store refs/nexus/state: {FULL}" in refused.stderr


def test_a_push_refused_without_a_reason_while_the_disk_here_is_full_names_that(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_git(tmp_path, "init", "-q", "--bare", "server.git")
    tip = run_git(project, "rev-parse", "HEAD").strip()
    git = tmp_path / "bin" / "git"
    git.parent.mkdir()
    git.write_text(
        f'#!/bin/sh\ncase " $* " in *" push "*)\n'
        f'  printf "!\\t{tip}:refs/nexus/runs/x\\t[remote rejected] (unpacker error)\\n"; exit 1;; esac\n'
        f'exec "{shutil.which("git")}" "$@"\n'
    )
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{git.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(Path, "write_bytes", refuse_to_write)

    server = str(tmp_path / "server.git")
    (outcome,) = push_ref_updates(discover(project), server, [RefUpdate("refs/nexus/runs/x", tip)]).values()

    assert (outcome.kind, outcome.disk) == ("refused", FULL)
