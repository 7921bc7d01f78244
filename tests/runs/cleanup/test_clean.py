"""Clean-up: what is nowhere else is held, wherever it is cut off; and nobody is disturbed."""

import errno
import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gitnexus.base.clock import format_timestamp, utc_now
from gitnexus.runs.cleanup.trash import Trash, TrashEntry
from tests.conftest import Nexus, run_git
from tests.runs.live import approved
from tests.runs.scene import RUN, RunScene, commit_file, prepared, tree_of

RESCUE = f"refs/nexus/rescue/{RUN}"
BRANCH = f"refs/heads/nexus/{RUN}"


@pytest.fixture
def run(project: Path, nexus: Nexus) -> RunScene:
    def make(project: Path) -> RunScene:
        commit_file(project, ".gitignore", "*.log\n")
        made = RunScene(project)
        made.commit({"a.txt": "a\n"})
        return made.end()

    return prepared(nexus, "a run of one approved commit, ended", make)


def cleaned(nexus: Nexus, *argv: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(nexus.ok("clean", "--json", *argv))
    return found["runs"][0] if found["runs"] else {}


def refs(project: Path) -> dict[str, str]:
    rows = (
        line.split(" ") for line in run_git(project, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    )
    return {name: oid for name, oid in rows if not name.startswith("refs/nexus/state")}


def shown(project: Path, rev: str, path: str) -> str:
    return run_git(project, "show", f"{rev}:{path}")


def test_what_is_dirty_untracked_and_unpushed_is_held_and_comes_back(run: RunScene, nexus: Nexus) -> None:
    run.edit({"a.txt": "changed\n", "new.txt": "untracked\n", "readme.txt": None, "big.log": "ignored\n"})
    tip = run.tip

    done = cleaned(nexus, RUN)

    assert (done["rescue"], done["left"], done["integrated"]) == (RESCUE, 3, "")
    assert shown(run.project, RESCUE, "a.txt") == "changed\n"
    assert shown(run.project, RESCUE, "new.txt") == "untracked\n"
    assert run_git(run.project, "rev-parse", f"{RESCUE}^1").strip() == tip
    assert "readme.txt" not in run_git(run.project, "ls-tree", "--name-only", RESCUE)
    assert not run.worktree.exists()
    assert (Path(done["trash"]) / "big.log").read_text() == "ignored\n"
    assert BRANCH not in refs(run.project)
    assert str(run.worktree) not in run_git(run.project, "worktree", "list")
    run_git(run.project, "fsck", "--strict")


def test_a_tip_that_is_nowhere_else_is_held(run: RunScene, nexus: Nexus) -> None:
    tip = run.tip

    text = nexus.ok("clean", RUN)

    assert refs(run.project)[RESCUE] == tip
    assert f"git branch rescued-{RUN} {RESCUE}" in text


@pytest.mark.parametrize(
    "way", ["--squash", *(pytest.param(way, marks=pytest.mark.slow) for way in ("--merge", "--rebase"))]
)
def test_what_landed_needs_no_ref(run: RunScene, nexus: Nexus, way: str) -> None:
    run.commit({"b.txt": "b\n"})
    run.end()
    commit_file(run.project, "other.txt", "x\n")
    nexus.ok("land", RUN, way)
    commit_file(run.project, "later.txt", "x\n")

    done = cleaned(nexus)

    assert done["integrated"]
    assert done["rescue"] == ""
    assert {name for name in refs(run.project) if "nexus" in name} == set()
    assert not run.worktree.exists()


def test_work_that_was_changed_after_it_was_merged_is_not_taken_for_merged(run: RunScene, nexus: Nexus) -> None:
    run_git(run.project, "merge", "-q", "--squash", run.tip)
    (run.project / "a.txt").write_text("other\n")
    run_git(run.project, "add", "-A")
    run_git(run.project, "commit", "-qm", "by hand")

    assert cleaned(nexus, RUN)["rescue"] == RESCUE


def test_completed_runs_wait_until_they_are_landed_or_named(run: RunScene, nexus: Nexus) -> None:
    before = refs(run.project)

    text = nexus.ok("clean")

    assert "not landed yet" in text
    assert (refs(run.project), run.worktree.exists()) == (before, True)


@pytest.mark.parametrize("status", ["running", "waiting"])
def test_a_run_that_has_not_ended_is_left_unless_forced(run: RunScene, nexus: Nexus, status: str) -> None:
    run.end(status)

    refused = nexus("clean", RUN)
    there = run.worktree.exists()
    forced = cleaned(nexus, RUN, "--force")

    assert (refused.returncode, there) == (1, True)
    assert forced["rescue"] == RESCUE


def test_a_dry_run_tells_and_does_nothing(run: RunScene, nexus: Nexus) -> None:
    run.edit({"new.txt": "x\n"})
    before, objects = refs(run.project), run_git(run.project, "count-objects")

    done = cleaned(nexus, RUN, "--dry-run")

    assert (done["rescue"], done["left"]) == (RESCUE, 1)
    assert (refs(run.project), run.worktree.exists()) == (before, True)
    assert run_git(run.project, "count-objects") == objects


def test_nothing_moves_while_a_process_lives_in_it(run: RunScene, nexus: Nexus) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], cwd=run.worktree, stdin=subprocess.PIPE) as child:
        busy = nexus("clean", RUN)
        there = run.worktree.exists()
        child.communicate(b"\n")

    assert (busy.returncode, there) == (7, True)
    assert str(child.pid) in busy.stderr
    cleaned(nexus, RUN)
    assert not run.worktree.exists()


def test_commits_off_the_branch_and_what_is_staged_are_held_too(run: RunScene, nexus: Nexus) -> None:
    quiet = ["-c", "core.hooksPath=/dev/null"]
    run_git(run.worktree, *quiet, "checkout", "-q", "--detach")
    run.edit({"lost.txt": "lost\n"})
    run_git(run.worktree, "add", "-A")
    run_git(run.worktree, *quiet, "commit", "-qm", "off the branch")
    lost = run_git(run.worktree, "rev-parse", "HEAD").strip()
    run_git(run.worktree, "reset", "-q", "--hard", run.tip)
    run.edit({"a.txt": "staged\n"})
    run_git(run.worktree, "add", "-A")
    run.edit({"a.txt": "on disk\n"})

    cleaned(nexus, RUN)

    held = run_git(run.project, "rev-list", RESCUE).split()
    assert lost in held
    assert shown(run.project, RESCUE, "a.txt") == "on disk\n"
    assert "staged\n" in [shown(run.project, oid, "a.txt") for oid in held if oid != run.base and has(run, oid)]


def has(run: RunScene, oid: str) -> bool:
    return "a.txt" in run_git(run.project, "ls-tree", "--name-only", oid)


def test_a_folder_that_somebody_deleted_leaves_nothing_locked(run: RunScene, nexus: Nexus) -> None:
    run_git(run.project, "worktree", "unlock", str(run.worktree))
    subprocess.run(["rm", "-r", str(run.worktree)], check=True)

    done = cleaned(nexus, RUN)

    assert done["rescue"] == RESCUE
    assert not (run.project / ".git" / "worktrees").exists()
    assert cleaned(nexus, RUN)["rescue"] == ""


def test_what_is_parked_is_never_let_go_for_something_else(run: RunScene, nexus: Nexus) -> None:
    run_git(run.project, "update-ref", RESCUE, run.base)
    first = commit_file(run.project, "precious.txt", "x\n")
    run_git(run.project, "update-ref", RESCUE, first)

    done = cleaned(nexus, RUN)

    assert done["rescue"] == f"{RESCUE}.2"
    assert refs(run.project)[RESCUE] == first


def test_a_branch_that_the_user_has_checked_out_stays(run: RunScene, nexus: Nexus) -> None:
    run_git(run.project, "-c", "core.hooksPath=/dev/null", "checkout", "-q", "--ignore-other-worktrees", f"nexus/{RUN}")

    done = cleaned(nexus, RUN)

    assert "checked out" in done["skipped"]
    assert BRANCH in refs(run.project)


def test_what_fits_into_no_commit_keeps_the_folder_for_good(run: RunScene, nexus: Nexus) -> None:
    run_git(run.worktree, "init", "-q", "inner")

    done = cleaned(nexus, RUN)

    assert done["odd"] == ["inner"]
    later = utc_now() + timedelta(days=400)
    assert [row.run for row in Trash(run.project / ".git").list_expired(later)] == [f"{RUN}-admin"]


def test_the_trash_is_deleted_after_a_week_and_nothing_else_is(run: RunScene, nexus: Nexus, tmp_path: Path) -> None:
    done = cleaned(nexus, RUN)
    trash = Trash(run.project / ".git")
    precious = tmp_path / "precious"
    precious.mkdir()
    (Path(done["trash"]) / "link").symlink_to(precious)
    old = datetime(2020, 1, 1, tzinfo=UTC)
    forged = TrashEntry(name="forged", run=RUN, at=format_timestamp(old), place=str(precious))
    (trash.folder / "forged.json").write_bytes(forged.to_bytes())
    assert trash.list_expired(utc_now()) == []
    for row in trash.list_entries():
        (trash.folder / f"{row.name}.json").write_bytes(row.changed(at=format_timestamp(old)).to_bytes())

    nexus.ok("clean")

    assert not Path(done["trash"]).exists()
    assert precious.is_dir()
    assert trash.list_entries() == []


def test_a_worktree_on_another_disk_stays_on_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "far" / "run"
    folder.mkdir(parents=True)
    trash, real = Trash(tmp_path / "git"), Path.rename

    def rename(self: Path, target: Path) -> Path:
        if trash.folder in Path(target).parents:
            raise OSError(errno.EXDEV, "other disk")
        return real(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    place = trash.put(folder, RUN, datetime(2020, 1, 1, tzinfo=UTC))

    assert place.parent == tmp_path / "far"
    assert [Path(row.place) for row in trash.list_expired(utc_now())] == [place]
    assert trash.delete(trash.list_expired(utc_now())[0])
    assert not place.exists()


def test_the_log_of_a_run_is_folded_into_its_month(run: RunScene, nexus: Nexus) -> None:
    logs = {}
    for name in (RUN, "261101-0900-bbbb"):
        (run.project / "events.jsonl").write_text(f"{name}\n")
        blob = run_git(run.project, "hash-object", "-w", "events.jsonl").strip()
        tree = run_git(run.project, "mktree", stdin=f"100644 blob {blob}\tevents.jsonl\n").strip()
        logs[name] = run_git(run.project, "commit-tree", "-m", "checkpoint", tree).strip()
        run_git(run.project, "update-ref", f"refs/nexus/runs/{name}", logs[name])
    (run.project / "events.jsonl").unlink()
    other = RunScene(run.project, "261101-0900-bbbb")
    other.end("cancelled")

    cleaned(nexus, RUN)
    done = cleaned(nexus)

    archive = "refs/nexus/archive/2026-11"
    assert done["archive"] == archive
    assert {shown(run.project, archive, f"{name}/events.jsonl") for name in logs} == {f"{name}\n" for name in logs}
    assert set(logs.values()) <= set(run_git(run.project, "rev-list", archive).split())
    assert [name for name in refs(run.project) if name.startswith("refs/nexus/runs/")] == []


def test_many_runs_are_archived_in_one_change_and_each_is_there(nexus: Nexus, project: Path) -> None:
    runs = []
    for name in ("one", "two", "three"):
        run = json.loads(nexus("run", "--json", "--", "sh", "-c", f"echo x > {name}.txt").stdout)["run"]["id"]
        nexus.ok("approve", "--unseen", run)
        nexus.ok("land", run)
        runs.append(run)
    run_git(project, "checkout", "-q", "--ignore-other-worktrees", f"nexus/{runs[2]}")

    found = {row["run"]: row for row in json.loads(nexus.ok("clean", "--json"))["runs"]}

    assert [found[run]["branch"] for run in runs[:2]] == [f"refs/heads/nexus/{run}" for run in runs[:2]]
    assert "it is checked out elsewhere" in found[runs[2]]["skipped"]
    assert [one for one in runs if f"refs/heads/nexus/{one}" in refs(project)] == runs[2:]
    archives = {found[run]["archive"] for run in runs}
    assert len(archives) == 1
    names = run_git(project, "ls-tree", "--name-only", archives.pop()).split()
    assert sorted(names) == sorted(runs)
    for run in runs:
        nexus.ok("replay", run, "--verify")
    assert run_git(project, "fsck", "--strict", "--no-dangling") == ""


@pytest.mark.slow
@pytest.mark.parametrize("at", range(12))
def test_killed_at_any_point_and_cleaned_again_nothing_is_lost(run: RunScene, nexus: Nexus, at: int) -> None:
    run.edit({"a.txt": "changed\n", "new.txt": "untracked\n"})
    tip = run.tip
    killer = (
        "import os, sys, pathlib\n"
        "from pathlib import Path\n"
        "left = int(sys.argv[1])\n"
        "def dying(real):\n"
        "    def call(*args, **kw):\n"
        "        global left\n"
        "        left -= 1\n"
        "        if left < 0: os.kill(os.getpid(), 9)\n"
        "        return real(*args, **kw)\n"
        "    return call\n"
        "from gitnexus.git.plumbing import PlumbingObjects\n"
        "from gitnexus.runs import archive\nfrom gitnexus.runs.cleanup import rescue_ref\n"
        "PlumbingObjects.swap = dying(PlumbingObjects.swap)\n"
        "Path.rename = dying(Path.rename)\n"
        "Path.replace = dying(Path.replace)\n"
        "archive.run_git = dying(archive.run_git)\n"
        "rescue_ref.write_commit_object = dying(rescue_ref.write_commit_object)\n"
        "from gitnexus.app import open_nexus\n"
        "from gitnexus.runs.cleanup.clean_runs import clean_runs\n"
        "clean_runs(open_nexus(Path.cwd()).state, sys.argv[2])\n"
    )
    subprocess.run([sys.executable, "-c", killer, str(at), RUN], cwd=run.project, check=False, capture_output=True,
                   env={**os.environ})  # fmt: skip

    nexus("clean", RUN)

    assert tip in run_git(run.project, "rev-list", RESCUE).split()
    assert shown(run.project, RESCUE, "new.txt") == "untracked\n"
    assert f"{RESCUE}.2" not in refs(run.project)
    assert BRANCH not in refs(run.project)
    assert not run.worktree.exists()
    assert tree_of(run.project, "HEAD") == tree_of(run.project, run.base)
    run_git(run.project, "fsck", "--strict")


def test_one_child_tells_for_all_runs_what_the_users_branch_holds(
    nexus: Nexus, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = approved(nexus)
    nexus.ok("land", run)
    log, bin_ = tmp_path / "calls", tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "git").write_text(f'#!/bin/sh\necho "$*" >> "{log}"\nexec "{shutil.which("git")}" "$@"\n')
    (bin_ / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_}{os.pathsep}{os.environ['PATH']}")

    said = nexus.ok("clean", "--dry-run")

    assert "it is in refs/heads/main" in said
    assert [line for line in log.read_text().splitlines() if "--contains" in line] == []
