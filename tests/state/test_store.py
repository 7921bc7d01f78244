"""The transaction: before or after, never between, and nobody's write is lost."""

import subprocess
import sys
from pathlib import Path

import pytest

from gitnexus.base.clock import utc_now
from gitnexus.base.errors import Busy, Conflict, Failed, Invalid, NotFound
from gitnexus.git import discover
from gitnexus.state import STATE_REF, Change, Snapshot, State
from gitnexus.state.format import format_major_of, new_state_files
from gitnexus.state.home import home_repository, make_home, open_home
from gitnexus.state.lock import StateLock
from gitnexus.state.migrations import pending_step
from tests.conftest import run_git
from tests.waiting import age_lock


@pytest.fixture(params=["short", "long"])
def state(request: pytest.FixtureRequest, repository: Path) -> State:
    found = State.open(repository, request.param)
    found.write(new_state_files("project", utc_now()), why="init: begin")
    return found


def tip(place: Path) -> str:
    return run_git(place, "rev-parse", STATE_REF).strip()


def test_a_write_is_one_commit_with_one_reason(state: State, repository: Path) -> None:
    state.write({"memory/a.md": b"A\n", "backlog/T1.json": b"{}\n"}, why="backlog: add T1\n\nand a note")

    assert run_git(repository, "log", "-1", "--format=%B", STATE_REF).strip() == "backlog: add T1\n\nand a note"
    assert run_git(repository, "show", f"{STATE_REF}:memory/a.md") == "A\n"
    assert run_git(repository, "log", "-1", "--format=%an <%ae>", STATE_REF).strip() == "Test Person <test@example.com>"


def test_the_second_of_two_writers_is_refused_and_loses_nothing(state: State, repository: Path) -> None:
    state.write({"memory/a.md": b"1"}, why="first")
    mine, theirs = State.open(repository), State.open(repository)
    theirs.write({"memory/a.md": b"2"}, why="theirs")

    with pytest.raises(Conflict) as refused:
        mine.write({"memory/a.md": b"3"}, why="mine")

    assert refused.value.hint == "run the command again"
    assert State.open(repository).read("memory/a.md") == b"2"


def test_a_decision_is_asked_again_with_what_the_other_wrote(state: State, repository: Path) -> None:
    asked: list[bytes | None] = []

    def decide(snapshot: Snapshot) -> Change[None]:
        asked.append(snapshot.read("n"))
        if len(asked) == 1:  # somebody is faster, without our lock
            other = State.open(repository)
            commit, _ = other.objects.write_commit(
                parents=[tip(repository)], changes={"n": b"1"}, message="x\n", author=state._author
            )  # type: ignore[arg-type]
            assert other.objects.swap(STATE_REF, tip(repository), commit, "x")
        return Change({"n": b"%d" % (int(asked[-1] or b"0") + 1)}, "count", None)

    state.transact(decide)

    assert asked == [None, b"1"]
    assert State.open(repository).read("n") == b"2"


def test_a_decision_that_refuses_writes_nothing(state: State, repository: Path) -> None:
    before = tip(repository)

    def refuse(snapshot: Snapshot) -> Change[None]:
        raise Invalid("no")

    with pytest.raises(Invalid):
        state.transact(refuse)

    assert tip(repository) == before


def test_writing_what_is_there_already_makes_no_commit(state: State, repository: Path) -> None:
    state.write({"memory/a.md": b"A"}, why="first")
    before = tip(repository)

    state.write({"memory/a.md": b"A", "memory/none.md": None}, why="again")

    assert tip(repository) == before


@pytest.mark.parametrize(
    "path",
    ["../x", "/x", "a//b", ".git/config", "a/.GIT/x", "a/.git. /x", "a\nb", "a:b", "a\\b", "", "x" * 300, "\u202ex"],
)
def test_a_path_that_leads_elsewhere_is_refused(state: State, repository: Path, path: str) -> None:
    before = tip(repository)

    with pytest.raises(Invalid):
        state.write({path: b"x"}, why="evil")

    assert tip(repository) == before


def test_a_newer_format_is_refused_and_left_alone(state: State, repository: Path) -> None:
    state.write({"format.json": b'{"format":"2.0"}\n'}, why="from the future")
    before = tip(repository)

    with pytest.raises(Failed) as refused:
        State.open(repository)

    assert refused.value.message == "this project's state has format 2, this git nexus knows 1"
    assert tip(repository) == before


def test_a_newer_minor_format_is_read(state: State, repository: Path) -> None:
    state.write({"format.json": b'{"format":"1.9","id":"x","new":true}\n'}, why="minor")

    assert format_major_of(State.open(repository).snapshot) == 1


def test_a_tree_that_no_git_nexus_wrote_is_migrated_as_its_own_commit(repository: Path) -> None:
    state = State.open(repository)
    state.write({"memory/old.md": b"kept\n"}, why="by hand")

    step = pending_step(state.snapshot)
    assert step is not None
    state.write(step[1](state.snapshot, utc_now()), why="state: migrate from format 0")

    assert pending_step(state.snapshot) is None
    assert state.read("memory/old.md") == b"kept\n"


def test_what_a_stranger_pushed_cannot_lead_outside(state: State, repository: Path) -> None:
    blob = run_git(repository, "hash-object", "-w", "--stdin", stdin="evil").strip()
    tree = run_git(repository, "mktree", stdin=f"120000 blob {blob}\tlink\n100644 blob {blob}\tfine\n").strip()
    run_git(repository, "update-ref", STATE_REF, run_git(repository, "commit-tree", tree, "-m", "x").strip())

    snapshot = State.open(repository).snapshot

    assert list(snapshot.ids()) == ["fine"]
    assert snapshot.unsafe() == ["link"]
    assert snapshot.read("link") is None


def test_a_repository_without_state_says_how_to_get_one(repository: Path) -> None:
    with pytest.raises(NotFound) as refused:
        State.open(repository).required()

    assert refused.value.fix == "git nexus init"


def test_a_held_lock_is_waited_for_and_then_passed(state: State, repository: Path) -> None:
    with StateLock(repository / ".git" / "nexus" / "lock") as mine:
        with StateLock(repository / ".git" / "nexus" / "lock", patience=0.05) as other:
            assert mine.held
            assert not other.held
        commit, _ = state.objects.write_commit(
            parents=[tip(repository)],
            changes={"n": b"1"},
            message="x\n",
            author=state._author,  # type: ignore[arg-type]
        )
        assert state.objects.swap(STATE_REF, tip(repository), commit, "the swap needs no lock")


def leave_lock(repository: Path) -> None:
    """Leave the lock of the state's ref as a git does that was killed a moment ago."""
    left = repository / ".git" / f"{STATE_REF}.lock"
    left.touch()
    age_lock(left)


def test_the_lock_file_of_a_killed_git_is_put_aside(state: State, repository: Path) -> None:
    (repository / ".git" / "nexus" / "lock").write_text("4242\n")  # its holder never wiped it
    leave_lock(repository)

    state.write({"memory/a.md": b"A"}, why="after the crash")

    assert State.open(repository).read("memory/a.md") == b"A"
    assert len(list((repository / ".git" / "nexus" / "trash").iterdir())) == 1


def test_a_lock_file_that_may_be_alive_is_not_touched(state: State, repository: Path) -> None:
    left = repository / ".git" / f"{STATE_REF}.lock"

    with left.open("w"), pytest.raises(Busy) as refused:
        state.write({"memory/a.md": b"A"}, why="now")

    assert left.exists()
    assert "doctor" in (refused.value.hint or "")


def test_the_lock_file_of_a_git_that_died_alone_is_put_aside(state: State, repository: Path) -> None:
    leave_lock(repository)  # its parent lived on, and wiped its own mark

    state.write({"memory/a.md": b"A"}, why="after the crash")

    assert State.open(repository).read("memory/a.md") == b"A"
    assert len(list((repository / ".git" / "nexus" / "trash").iterdir())) == 1


def test_the_home_repository_is_the_same_store(repository: Path) -> None:
    assert open_home() is None

    home = make_home()
    home.write({"registry.json": b"{}\n"}, why="projects: begin")

    again = open_home()
    assert again is not None
    assert again.read("registry.json") == b"{}\n"
    assert discover(home_repository()).worktree is None


def test_a_hook_of_the_user_does_not_see_our_writes(state: State, repository: Path, tmp_path: Path) -> None:
    hook = repository / ".git" / "hooks" / "reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch '{tmp_path / 'ran'}'\nexit 1\n")
    hook.chmod(0o755)

    state.write({"memory/a.md": b"A"}, why="quietly")

    assert not (tmp_path / "ran").exists()


def test_importing_the_store_imports_no_heavy_library() -> None:
    heavy = ("pygit2", "git", "pydantic", "click", "rich")
    code = f"import sys, gitnexus.state; print([m for m in {heavy} if m in sys.modules])"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
