"""A landing that was killed inside the user's git is undone by the next one, and what the user did since stays."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gitnexus.git import discover
from gitnexus.runs.landing.unfinished import LandingNote, noted_landing
from tests.conftest import Nexus, run_git
from tests.rows import few_fast
from tests.runs.scene import RUN, RunScene, commit_file, tree_of
from tests.waiting import age_lock


@pytest.fixture
def run(project: Path) -> RunScene:
    commit_file(project, "long.txt", "one\ntwo\n")
    made = RunScene(project)
    made.commit({"long.txt": "one\ntwo\nthree\n", "new/made.txt": "made\n", "readme.txt": None})
    return made.end()


def leave_note(run: RunScene) -> None:
    """Leave the note that a landing keeps while git is at work."""
    repo = discover(run.project)
    head = run_git(run.project, "rev-parse", "HEAD").strip()
    note = LandingNote(run=RUN, head=head, target=run.tip, result=tree_of(run.project, run.tip))
    file = run.project / ".git" / "nexus" / "landing.json"
    with noted_landing(repo, run.project, note):
        kept = file.read_bytes()
    file.write_bytes(kept)


def landed_whole(run: RunScene, nexus: Nexus, *argv: str) -> bool:
    nexus.ok("land", RUN, *argv)
    clean = run_git(run.project, "status", "--porcelain") == ""
    files = sorted(path.name for path in run.project.iterdir() if path.name[0] != ".")
    return clean and files == ["long.txt", "new"] and (run.project / "new/made.txt").read_text() == "made\n"


def test_a_merge_of_ours_that_was_not_committed_is_begun_again(run: RunScene, nexus: Nexus) -> None:
    leave_note(run)
    run_git(run.project, "merge", "-q", "--no-ff", "--no-commit", run.tip)

    assert landed_whole(run, nexus)


@pytest.mark.parametrize("way", ["--merge", "--squash"])
def test_files_that_a_killed_git_wrote_are_no_uncommitted_work(run: RunScene, nexus: Nexus, way: str) -> None:
    leave_note(run)
    (run.project / "new").mkdir()
    (run.project / "new/made.txt").write_text("ma")  # as far as it came
    (run.project / "long.txt").write_text("one\ntwo\nthree\n")
    (run.project / "readme.txt").unlink()
    (run.project / ".git/index.lock").write_bytes(b"")
    age_lock(run.project / ".git/index.lock")

    assert landed_whole(run, nexus, way)


@pytest.mark.parametrize("committed", [True, False])
def test_files_and_notes_of_git_that_a_power_cut_emptied_are_written_again(
    run: RunScene, nexus: Nexus, committed: bool
) -> None:
    leave_note(run)
    run_git(run.project, "merge", "-q", "--no-ff", "-m", "land", *([] if committed else ["--no-commit"]), run.tip)
    for name in ("long.txt", "new/made.txt", *([] if committed else [".git/MERGE_HEAD", ".git/MERGE_MODE"])):
        (run.project / name).write_bytes(b"")

    assert landed_whole(run, nexus)


def test_a_file_that_the_user_rewrote_after_a_landing_that_was_cut_off_stays(run: RunScene, nexus: Nexus) -> None:
    leave_note(run)
    run_git(run.project, "merge", "-q", "--no-ff", "-m", "land", run.tip)
    (run.project / "long.txt").write_text("two\n")

    nexus.ok("land", RUN)

    assert (run.project / "long.txt").read_text() == "two\n"


def test_what_the_user_wrote_since_stays_and_is_named(run: RunScene, nexus: Nexus) -> None:
    leave_note(run)
    (run.project / "long.txt").write_text("mine\n")

    refused = nexus("land", RUN)

    assert (refused.returncode, (run.project / "long.txt").read_text()) == (23, "mine\n")
    assert "uncommitted work is in the way: long.txt" in refused.stderr


def test_a_merge_of_the_user_is_never_taken_back(run: RunScene, nexus: Nexus) -> None:
    run_git(run.project, "merge", "-q", "--no-ff", "--no-commit", run.tip)

    refused = nexus("land", RUN)

    assert "a merge is under way in this checkout" in refused.stderr
    assert (run.project / ".git/MERGE_HEAD").read_text().strip() == run.tip


def test_a_note_whose_landing_was_done_is_forgotten(run: RunScene, nexus: Nexus) -> None:
    leave_note(run)
    nexus.ok("land", RUN)
    (run.project / "long.txt").write_text("one\ntwo\nthree\n!\n")

    nexus.ok("land", RUN)

    assert (run.project / "long.txt").read_text() == "one\ntwo\nthree\n!\n"
    assert not (run.project / ".git/nexus/landing.json").exists()


def test_the_git_that_git_nexus_was_typed_to_is_not_taken_for_another_at_work(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from gitnexus.runs.landing.unfinished import _is_git_writing; "
        "from gitnexus.git import discover; "
        "sys.exit(_is_git_writing(Path.cwd(), discover(Path.cwd())))"
    )
    run_git(tmp_path, "init", "-q")
    script = tmp_path / "git-nexus"
    script.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{code}'\n")
    script.chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}

    typed = subprocess.run(["git", "nexus", "land", "x"], cwd=tmp_path, env=env, check=False)

    assert typed.returncode == 0


@pytest.mark.parametrize("way", few_fast(["--merge", "--rebase", "--squash"]))
def test_a_lock_of_a_git_that_was_killed_after_it_moved_the_branch_goes(
    run: RunScene, nexus: Nexus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    git = tmp_path / "bin" / "git"
    git.parent.mkdir()
    git.write_text(
        f'#!/bin/sh\nreal="{shutil.which("git")}"\n'
        'case "$1" in merge) "$real" "$@"; : > .git/HEAD.lock; kill -9 $$;; esac\nexec "$real" "$@"\n'
    )
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{git.parent}{os.pathsep}{os.environ['PATH']}")

    nexus.ok("land", RUN, way)

    assert not (run.project / ".git" / "HEAD.lock").exists()
    assert run_git(run.project, "status", "--porcelain") == ""
