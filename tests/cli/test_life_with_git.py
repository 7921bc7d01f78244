"""Everything people do with git, around a project."""

import shutil
from pathlib import Path

import pytest

from gitnexus.state import STATE_REF, State
from tests.conftest import Nexus, run_git


@pytest.fixture
def noted(project: Path, nexus: Nexus) -> Path:
    """A project with a note in its state."""
    (project / ".nexus" / "memory").mkdir()
    (project / ".nexus" / "memory" / "a.md").write_text("note\n")
    nexus.ok("status")
    return project


def note(place: Path) -> str:
    return run_git(place, "show", f"{STATE_REF}:memory/a.md")


def test_gc_keeps_the_state(noted: Path, nexus: Nexus) -> None:
    run_git(noted, "reflog", "expire", "--expire=now", "--all")
    run_git(noted, "gc", "-q", "--prune=now")

    assert note(noted) == "note\n"
    assert "1 memory" in nexus.ok("status")
    assert run_git(noted, "fsck", "--strict") == ""


def test_clean_takes_the_folder_and_the_next_command_brings_it_back(noted: Path, nexus: Nexus) -> None:
    run_git(noted, "clean", "-fdxq")
    assert not (noted / ".nexus").exists()

    done = nexus("status")

    assert "1 memory" in done.stdout
    assert done.stderr == "restored 22 missing files in .nexus/\n"
    assert (noted / ".nexus" / "memory" / "a.md").read_text() == "note\n"


def test_a_checkout_brings_the_folder_back_too(noted: Path) -> None:
    run_git(noted, "clean", "-fdxq")
    run_git(noted, "switch", "-q", "-c", "other")

    assert (noted / ".nexus" / "memory" / "a.md").read_text() == "note\n"


def test_stash_does_not_see_the_folder(noted: Path) -> None:
    (noted / "readme.txt").write_text("changed\n")
    run_git(noted, "stash", "push", "-q", "--include-untracked")

    assert (noted / ".nexus" / "memory" / "a.md").read_text() == "note\n"
    run_git(noted, "stash", "pop", "-q")
    assert run_git(noted, "status", "--porcelain") == " M readme.txt\n"


def test_a_plain_clone_carries_no_state_and_is_not_bothered(noted: Path, tmp_path: Path) -> None:
    run_git(tmp_path, "clone", "-q", str(noted), "clone")

    assert run_git(tmp_path / "clone", "for-each-ref", "refs/nexus") == ""
    assert run_git(tmp_path / "clone", "status", "--porcelain") == ""


def test_a_mirror_carries_the_state_and_can_be_asked(noted: Path, tmp_path: Path) -> None:
    run_git(tmp_path, "clone", "-q", "--mirror", str(noted), "mirror.git")

    assert note(tmp_path / "mirror.git") == "note\n"
    assert "1 memory" in Nexus(tmp_path / "mirror.git").ok("status")


def test_state_that_came_with_a_mirror_is_ignored_by_git_where_it_is_filled(noted: Path, tmp_path: Path) -> None:
    run_git(tmp_path, "clone", "-q", "--mirror", str(noted), "mirror.git")
    run_git(tmp_path / "mirror.git", "worktree", "add", "-q", "-b", "w", str(tmp_path / "w"))

    assert "1 memory" in Nexus(tmp_path / "w").ok("status")
    assert (tmp_path / "w" / ".nexus" / "memory" / "a.md").read_text() == "note\n"
    assert run_git(tmp_path / "w", "status", "--porcelain") == ""


@pytest.mark.parametrize("mirror", [False, True])
def test_fetch_with_prune_never_changes_our_refs(noted: Path, nexus: Nexus, tmp_path: Path, mirror: bool) -> None:
    run_git(tmp_path, "init", "-q", "--bare", "server.git")
    run_git(noted, "push", "-q", str(tmp_path / "server.git"), "main")
    run_git(noted, "remote", "add", *(["--mirror=fetch"] if mirror else []), "origin", str(tmp_path / "server.git"))
    nexus.ok("init")
    before = run_git(noted, "for-each-ref", "refs/nexus")

    # On a branch that the server lacks: a mirror fetch refuses to touch the one that is checked out.
    run_git(noted, "switch", "-q", "--detach")
    run_git(noted, "fetch", "-q", "--prune", "origin")

    assert run_git(noted, "for-each-ref", "refs/nexus") == before


def test_a_mirror_remote_added_later_is_found_and_shielded(noted: Path, nexus: Nexus, tmp_path: Path) -> None:
    run_git(noted, "remote", "add", "--mirror=fetch", "backup", str(tmp_path))

    assert f"git fetch backup would overwrite {STATE_REF}" in nexus.ok("status")
    assert nexus("doctor").returncode == 1
    assert "fixed" in nexus.ok("doctor", "--fix")
    assert run_git(noted, "config", "--get-all", "remote.backup.fetch").splitlines() == [
        "+refs/*:refs/*",
        "^refs/nexus/*",
    ]


def test_a_state_ref_that_was_deleted_is_brought_back(noted: Path, nexus: Nexus) -> None:
    before = run_git(noted, "rev-parse", STATE_REF)
    run_git(noted, "update-ref", "-d", STATE_REF)

    lost = nexus("status")
    assert lost.returncode == 1
    assert lost.stderr.endswith("hint: git nexus doctor --fix brings it back\n")
    assert nexus("init").returncode == 1
    nexus.ok("doctor", "--fix")

    assert run_git(noted, "rev-parse", STATE_REF) == before
    assert (noted / ".nexus" / "memory" / "a.md").read_text() == "note\n"


def test_a_worktree_is_added_filled_moved_and_removed(noted: Path, nexus: Nexus, tmp_path: Path) -> None:
    run_git(noted, "worktree", "add", "-q", "-b", "w", str(tmp_path / "w"))
    assert (tmp_path / "w" / ".nexus" / "memory" / "a.md").read_text() == "note\n"

    run_git(noted, "worktree", "move", str(tmp_path / "w"), str(tmp_path / "w2"))
    (tmp_path / "w2" / ".nexus" / "memory" / "a.md").write_text("from w2\n")
    nexus.ok("status", place=tmp_path / "w2")
    assert (noted / ".nexus" / "memory" / "a.md").read_text() == "---\nrev: 1\n---\nfrom w2\n"

    run_git(noted, "worktree", "remove", str(tmp_path / "w2"))
    assert "1 memory" in nexus.ok("status")
    assert not (noted / ".git" / "worktrees").exists()


def test_a_worktree_deleted_by_hand_does_not_disturb(noted: Path, nexus: Nexus, tmp_path: Path) -> None:
    run_git(noted, "worktree", "add", "-q", "-b", "w", str(tmp_path / "w"))
    shutil.rmtree(tmp_path / "w")

    State.open(noted).write({"memory/b.md": b"B\n"}, why="memory: add b")

    assert "2 memory" in nexus.ok("status")


def test_rebase_merge_and_cherry_pick_work_with_our_hooks(noted: Path) -> None:
    run_git(noted, "switch", "-q", "-c", "topic")
    for name in ("one", "two"):
        (noted / name).write_text(name)
        run_git(noted, "add", name)
        run_git(noted, "commit", "-qm", name)
    run_git(noted, "switch", "-q", "main")
    (noted / "three").write_text("3")
    run_git(noted, "add", "three")
    run_git(noted, "commit", "-qm", "three")

    run_git(noted, "cherry-pick", "topic")
    run_git(noted, "rebase", "-q", "main", "topic")
    run_git(noted, "switch", "-q", "main")
    run_git(noted, "merge", "-q", "--no-ff", "-m", "merge", "topic")

    assert run_git(noted, "log", "--format=%s", "--first-parent").splitlines()[0] == "merge"


def test_a_shared_object_store_and_a_shallow_clone_work(noted: Path, tmp_path: Path) -> None:
    for name, how in (("shared", ["--shared"]), ("shallow", ["--depth=1"])):
        run_git(tmp_path, "clone", "-q", *how, f"file://{noted}" if name == "shallow" else str(noted), name)
        Nexus(tmp_path / name).ok("init")
        assert note(tmp_path / name) == "note\n"
