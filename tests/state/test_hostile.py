"""What a hostile or unlucky person does around `.nexus/`: nothing anybody wrote may be lost."""

import os
import shutil
from pathlib import Path

import pytest

from gitnexus.base.clock import utc_now
from gitnexus.base.errors import NexusError
from gitnexus.git import discover
from gitnexus.git.worktrees import list_worktrees
from gitnexus.state import STATE_REF, State, disk
from gitnexus.state.format import new_state_files
from gitnexus.state.intake import settle_hand_edits
from tests.conftest import Nexus, run_git


@pytest.fixture
def state(repository: Path) -> State:
    found = State.open(repository)
    notes = {f"memory/{name}.md": f"{name}\n".encode() for name in ("one", "two", "three")}
    found.write({**new_state_files("project", utc_now()), **notes}, why="init: begin")
    settle_hand_edits(found)
    return found


def on_ref(place: Path) -> list[str]:
    return run_git(place, "ls-tree", "-r", "--name-only", STATE_REF, "memory/").split()


def test_many_files_that_vanish_at_once_were_cleaned_away(state: State, repository: Path) -> None:
    state.write({f"memory/n{number}.md": b"x" for number in range(50)}, why="many")
    for number in range(25):
        (repository / ".nexus" / "memory" / f"n{number}.md").unlink()

    assert settle_hand_edits(state).restored == 25
    assert len(on_ref(repository)) == 53


def test_what_vanishes_right_after_it_was_put_back_is_still_being_cleaned_away(state: State, repository: Path) -> None:
    shutil.rmtree(repository / ".nexus")
    settle_hand_edits(state)
    (repository / ".nexus" / "memory" / "one.md").unlink()

    settle_hand_edits(state)

    assert (repository / ".nexus" / "memory" / "one.md").read_text() == "one\n"
    assert len(on_ref(repository)) == 3


def test_a_copied_repository_leaves_the_originals_worktrees_alone(
    state: State, repository: Path, tmp_path: Path
) -> None:
    linked = tmp_path / "linked"
    run_git(repository, "worktree", "add", "-q", "-b", "w", str(linked))
    settle_hand_edits(State.open(linked))
    copy = tmp_path / "copy"
    shutil.copytree(repository, copy, symlinks=True)

    (copy / ".nexus" / "memory" / "one.md").unlink()
    settle_hand_edits(State.open(copy))
    settle_hand_edits(State.open(copy))

    assert [tree.path for tree in list_worktrees(discover(copy))] == [copy]
    assert (linked / ".nexus" / "memory" / "one.md").exists()
    assert len(on_ref(repository)) == 3


def test_a_stranger_in_a_worktrees_old_place_gets_nothing(state: State, repository: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    run_git(repository, "worktree", "add", "-q", "-b", "w", str(linked))
    settle_hand_edits(State.open(linked))
    shutil.rmtree(linked)
    run_git(tmp_path, "init", "-q", "linked")

    State.open(repository).write({"memory/four.md": b"4"}, why="four")

    assert not (linked / ".nexus").exists()


def test_two_work_trees_on_one_git_folder_do_not_delete_each_others_files(
    state: State, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with monkeypatch.context() as patched:
        patched.setenv("GIT_DIR", str(repository / ".git"))
        patched.setenv("GIT_WORK_TREE", str(other))
        elsewhere = State.open(discover(other, inherit=True))
        settle_hand_edits(elsewhere)
        (other / ".nexus" / "memory" / "four.md").write_text("4\n")
        settle_hand_edits(elsewhere)

    settle_hand_edits(State.open(repository))

    assert len(on_ref(repository)) == 4
    assert (repository / ".nexus" / "memory" / "four.md").read_text() == "4\n"


def test_a_file_never_takes_the_place_of_a_folder(state: State, repository: Path) -> None:
    shutil.rmtree(repository / ".nexus" / "memory")
    (repository / ".nexus" / "memory").write_text("a file")

    settled = settle_hand_edits(state)

    assert len(on_ref(repository)) == 3
    assert (repository / ".nexus" / "memory").read_text() == "a file"
    assert settled.restored == 0
    assert ".nexus/memory is not kept: it should be a folder that can be read" in Nexus(repository)("doctor").stdout


def test_a_file_where_the_ref_has_a_folder_is_held(state: State, repository: Path) -> None:
    state.write({"rules/x.md": b"x"}, why="x")
    State(state.repo, state.objects).write({"rules/x.md": None, "rules/x.md/y.md": b"y"}, why="a folder")
    (repository / ".nexus" / "rules" / "x.md").write_text("edited\n")

    held = settle_hand_edits(State.open(repository)).held

    assert "rules/x.md" in held
    assert (repository / ".nexus" / "rules" / "x.md").read_text() == "edited\n"
    assert run_git(repository, "show", f"{STATE_REF}:rules/x.md/y.md") == "y"


def test_a_person_may_turn_a_file_into_a_folder(state: State, repository: Path) -> None:
    state.write({"rules/x": b"x", "rules/other.md": b"o"}, why="x")
    (repository / ".nexus" / "rules" / "x").unlink()
    (repository / ".nexus" / "rules" / "x").mkdir()
    (repository / ".nexus" / "rules" / "x" / "y.md").write_text("y")

    settle_hand_edits(State.open(repository))

    assert run_git(repository, "show", f"{STATE_REF}:rules/x/y.md") == "y"


def test_a_file_saved_between_the_look_and_the_exchange_is_kept_beside(tmp_path: Path) -> None:
    with disk.open_folder(tmp_path, []) as fd:
        before = disk.store_file(fd, "a.md", b"old")
        (tmp_path / "new").write_bytes(b"saved by an editor")
        (tmp_path / "new").rename(tmp_path / "a.md")  # after we looked

        disk.store_file(fd, "a.md", b"from the ref", before)

    assert (tmp_path / "a.md").read_bytes() == b"from the ref"
    assert [path.read_bytes() for path in tmp_path.glob("a.md.mine-*")] == [b"saved by an editor"]


def test_a_file_that_appears_where_none_was_is_kept_beside(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"somebody was first")
    with disk.open_folder(tmp_path, []) as fd:
        disk.store_file(fd, "a.md", b"from the ref", None)

    assert [path.read_bytes() for path in tmp_path.glob("a.md.mine-*")] == [b"somebody was first"]


@pytest.mark.parametrize("life", ["short", "long"])
def test_a_symbolic_state_ref_never_leads_onto_a_branch(repository: Path, life: str) -> None:
    before = run_git(repository, "rev-parse", "main")
    run_git(repository, "symbolic-ref", STATE_REF, "refs/heads/main")

    with pytest.raises(NexusError):
        State.open(repository, life)  # type: ignore[arg-type]

    assert Nexus(repository)("init").returncode == 1
    assert run_git(repository, "rev-parse", "main") == before


@pytest.mark.parametrize("broken", ["empty", "tree", "missing"])
def test_the_doctor_brings_a_broken_ref_back_to_its_last_whole_commit(
    state: State, repository: Path, broken: str
) -> None:
    good = run_git(repository, "rev-parse", STATE_REF)
    ref = repository / ".git" / STATE_REF
    match broken:
        case "empty":
            ref.write_text("")
        case "tree":
            ref.write_text(run_git(repository, "rev-parse", f"{STATE_REF}^{{tree}}"))
        case _:
            ref.write_text("1" * 40 + "\n")
    nexus = Nexus(repository)

    assert nexus("doctor").returncode == 1
    nexus("doctor", "--fix")

    assert run_git(repository, "rev-parse", STATE_REF) == good
    assert "3 memory" in nexus.ok("status")


@pytest.mark.parametrize("life", ["short", "long"])
def test_objects_that_a_prune_took_before_the_ref_held_them_are_written_again(
    repository: Path, life: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = State.open(repository, life)  # type: ignore[arg-type]
    state.write(new_state_files("project", utc_now()), why="init: begin")
    swap = state.objects.swap

    pruned: list[bool] = []

    def swap_after_a_prune(*args: object) -> bool:
        if not pruned:
            pruned.append(True)
            (repository / ".git" / "gc.pid").write_text("4242 here\n")  # as git gc does
            run_git(repository, "prune", "--expire=now")
        return swap(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(state.objects, "swap", swap_after_a_prune)
    state.write({"memory/a.md": b"A"}, why="memory: add a")

    assert run_git(repository, "show", f"{STATE_REF}:memory/a.md") == "A"
    assert run_git(repository, "fsck", "--strict", "--no-dangling") == ""


def test_files_that_are_not_kept_are_told(state: State, repository: Path) -> None:
    for name in ("memory/10:30.md", "memory/.hidden.md", "todo.md", "memory/plain.mine-own.md"):
        (repository / ".nexus" / name).write_text("x")
    nexus = Nexus(repository)

    assert "3 files in .nexus/ not kept" in nexus.ok("status")
    told = nexus("doctor").stdout
    assert ".nexus/memory/10:30.md is not kept: its name cannot be stored: a part holds a backslash or a colon" in told
    assert ".nexus/todo.md is not kept" in told
    assert "memory/plain.mine-own.md" in on_ref(repository)


def test_a_folder_that_may_not_be_read_holds_nothing_else_up(state: State, repository: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read every file: run the tests as another user")
    (repository / ".nexus" / "rules").mkdir(mode=0)
    (repository / ".nexus" / "memory" / "four.md").write_text("4")

    assert settle_hand_edits(state).taken == ["memory/four.md"]


def test_without_a_journal_old_files_are_told_from_edits_by_one_question(state: State, repository: Path) -> None:
    for round_number in range(3):
        state.write(
            {f"memory/{n}.md": f"{round_number}\n".encode() for n in ("one", "two")}, why=f"round {round_number}"
        )
    (repository / ".git" / "nexus" / "projection").unlink()
    State(state.repo, state.objects).write({"memory/one.md": b"newest\n"}, why="newest")
    (repository / ".nexus" / "memory" / "two.md").write_text("mine\n")

    settled = settle_hand_edits(State.open(repository))

    assert (repository / ".nexus" / "memory" / "one.md").read_text() == "newest\n"
    assert [Path(kept).name[:6] for kept in settled.kept] == ["two.md"]


def test_a_diary_with_odd_commits_is_read(state: State, repository: Path) -> None:
    tree = run_git(repository, "rev-parse", f"{STATE_REF}^{{tree}}").strip()
    tip = run_git(repository, "rev-parse", STATE_REF).strip()
    people = "author A\x01B <a@b> 1 +0000\ncommitter C <c@d> 999999999999999 +0000"
    text = f"tree {tree}\nparent {tip}\n{people}\n\nodd \x01 one\n"
    odd = run_git(repository, "hash-object", "-t", "commit", "-w", "--stdin", "--literally", stdin=text).strip()
    run_git(repository, "update-ref", STATE_REF, odd)
    nexus = Nexus(repository)

    assert "odd \\x01 one" in nexus.ok("log")
    nexus.ok("status")
