"""`.nexus/` as a checkout: hand edits are taken in, and nothing anybody wrote is dropped."""

import os
import shutil
from pathlib import Path

import pytest

from gitnexus.base.clock import utc_now
from gitnexus.state import State
from gitnexus.state.format import new_state_files
from gitnexus.state.intake import SettleResult, settle_hand_edits
from tests.conftest import run_git


@pytest.fixture(params=["short", "long"])
def state(request: pytest.FixtureRequest, repository: Path) -> State:
    found = State.open(repository, request.param)
    found.write({**new_state_files("project", utc_now()), "memory/a.md": b"one\ntwo\nthree\n"}, why="init: begin")
    settle_hand_edits(found)
    return found


@pytest.fixture
def folder(state: State, repository: Path) -> Path:
    return repository / ".nexus"


def elsewhere(state: State) -> State:
    """Another process that does not see this worktree's files."""
    return State(state.repo, state.objects)


def reasons(state: State) -> list[str]:
    return run_git(state.repo.folder, "log", "--format=%s", "refs/nexus/state").splitlines()


def test_the_folder_shows_the_files_of_the_ref(folder: Path) -> None:
    assert (folder / "memory" / "a.md").read_bytes() == b"one\ntwo\nthree\n"
    assert (folder / ".gitignore").read_text() == "state/\n"


def test_a_write_refreshes_adds_and_removes_files(state: State, folder: Path) -> None:
    state.write({"memory/a.md": None, "rules/r.md": b"R", "backlog/T1.json": b"{}"}, why="change")

    assert not (folder / "memory").exists()
    assert (folder / "rules" / "r.md").read_bytes() == b"R"
    assert (folder / "backlog" / "T1.json").read_bytes() == b"{}"


def test_a_note_written_where_the_folder_was_cleaned_away_is_added_to_what_it_held(
    state: State, folder: Path, repository: Path
) -> None:
    run_git(repository, "clean", "-fdxq")
    (folder / "memory").mkdir(parents=True)
    (folder / "memory" / "a.md").write_bytes(b"## four\n\nseen by hand\n")

    settled = settle_hand_edits(state)

    assert settled.taken == ["memory/a.md"]
    assert state.read("memory/a.md") == b"one\ntwo\nthree\n## four\n\nseen by hand\n"
    assert (folder / "memory" / "a.md").read_bytes() == state.read("memory/a.md")
    assert (folder / ".gitignore").read_text() == "state/\n"


def test_a_file_that_a_power_cut_emptied_is_written_again(state: State, folder: Path) -> None:
    note = folder / "memory" / "a.md"
    stat = note.stat()
    note.write_bytes(b"")
    os.utime(note, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    settled = settle_hand_edits(state)

    assert (settled.taken, settled.held, settled.restored) == ([], {}, 1)
    assert note.read_bytes() == b"one\ntwo\nthree\n"


def test_a_hand_edit_becomes_its_own_commit(state: State, folder: Path) -> None:
    (folder / "memory" / "a.md").write_bytes(b"edited\n")

    settled = settle_hand_edits(state)

    assert settled.taken == ["memory/a.md"]
    assert state.read("memory/a.md") == b"edited\n"
    assert reasons(state)[0] == "state: commit the edit of memory/a.md"


def test_an_edit_of_the_same_size_in_the_same_instant_is_noticed(state: State, folder: Path) -> None:
    path = folder / "memory" / "a.md"
    state.write({"memory/a.md": b"AAAA"}, why="four letters")
    with path.open("r+b") as handle:  # same inode, same size, within one tick of the clock
        handle.write(b"BBBB")

    state.write({"memory/a.md": b"CCCC"}, why="meanwhile")

    assert path.read_bytes() == b"BBBB"
    settle_hand_edits(state)
    assert [kept.read_bytes() for kept in (folder / "memory").glob("a.md.mine-*")] == [b"BBBB"]


def test_a_new_file_is_taken_in_and_an_editors_leftovers_are_not(state: State, folder: Path) -> None:
    (folder / "rules").mkdir()
    (folder / "rules" / "style.md").write_text("be plain\n")
    for name in (".style.md.swp", "style.md~", "style.md.bak", "4913.tmp"):
        (folder / "rules" / name).write_text("noise")

    assert settle_hand_edits(state).taken == ["rules/style.md"]


def test_what_is_not_ours_and_the_session_folder_stay_out(state: State, folder: Path) -> None:
    (folder / "state").mkdir()
    (folder / "state" / "plan.json").write_text("{}")
    (folder / "their-cache.bin").write_bytes(b"\0")

    assert settle_hand_edits(state) == SettleResult()


def test_a_deleted_file_is_deleted_by_a_commit(state: State, folder: Path) -> None:
    (folder / "memory" / "a.md").unlink()

    settle_hand_edits(state)

    assert state.read("memory/a.md") is None
    assert reasons(state)[0] == "state: commit the edit of memory/a.md (deleted)"
    assert run_git(state.repo.folder, "show", "refs/nexus/state~1:memory/a.md") == "one\ntwo\nthree\n"


@pytest.mark.parametrize("gone", [".", "memory", "format.json"])
def test_what_was_cleaned_away_comes_back(state: State, folder: Path, gone: str) -> None:
    target = folder / gone
    if target.is_dir():
        shutil.rmtree(target)
    else:
        target.unlink()

    settle_hand_edits(state)

    assert (folder / "memory" / "a.md").read_bytes() == b"one\ntwo\nthree\n"
    assert (folder / "format.json").exists()
    assert reasons(state) == ["init: begin"]


def test_edits_of_different_lines_merge(state: State, folder: Path) -> None:
    (folder / "memory" / "a.md").write_bytes(b"one\ntwo\nthree, mine\n")
    elsewhere(state).write({"memory/a.md": b"one, theirs\ntwo\nthree\n"}, why="theirs")

    settle_hand_edits(state)

    assert state.read("memory/a.md") == b"one, theirs\ntwo\nthree, mine\n"
    assert (folder / "memory" / "a.md").read_bytes() == b"one, theirs\ntwo\nthree, mine\n"


def test_json_merges_by_field(state: State, folder: Path) -> None:
    state.write({"settings.json": b'{"a":1,"b":{"x":1,"y":1}}'}, why="settings")
    (folder / "settings.json").write_bytes(b'{"a": 2, "b": {"x": 1, "y": 1}}')
    elsewhere(state).write({"settings.json": b'{"a":1,"b":{"x":1,"y":9},"c":3}'}, why="theirs")

    settle_hand_edits(state)

    assert state.read("settings.json") == b'{"a":2,"b":{"x":1,"y":9},"c":3}\n'


def test_what_cannot_merge_is_kept_beside_the_file(state: State, folder: Path) -> None:
    (folder / "memory" / "a.md").write_bytes(b"mine\n")
    elsewhere(state).write({"memory/a.md": b"theirs\n"}, why="theirs")

    settled = settle_hand_edits(state)

    assert (folder / "memory" / "a.md").read_bytes() == b"theirs\n"
    assert [(folder / kept).read_bytes() for kept in settled.kept] == [b"mine\n"]
    assert state.read("memory/a.md") == b"theirs\n"
    assert settle_hand_edits(state) == SettleResult()


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("backlog/T1.json", b'{"id": "T1', "not valid JSON"),
        ("history.json", b"<<<<<<< ours\n{}\n=======\n{}\n>>>>>>> theirs\n", "not valid JSON"),
        ("memory/a.md", b"<<<<<<< ours\nx\n=======\ny\n>>>>>>> theirs\n", "merge markers"),
        ("memory/a.md", b"", "it is empty"),
    ],
)
def test_what_does_not_parse_is_reported_and_left_exactly_as_it_is(
    state: State, folder: Path, name: str, data: bytes, why: str
) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)
    before = state.latest().commit

    settled = settle_hand_edits(state)
    elsewhere(state).write({name: b'{"newer": true}'}, why="meanwhile")
    settle_hand_edits(state)

    assert why in settled.held[name]
    assert (folder / name).read_bytes() == data
    assert settled.commit is None
    assert run_git(state.repo.folder, "rev-parse", "refs/nexus/state~1").strip() == before


def test_a_file_edited_here_and_deleted_elsewhere_is_kept(state: State, folder: Path) -> None:
    (folder / "memory" / "a.md").write_bytes(b"still needed\n")
    elsewhere(state).write({"memory/a.md": None}, why="theirs")

    settle_hand_edits(state)

    assert state.read("memory/a.md") == b"still needed\n"


def test_a_file_deleted_here_and_edited_elsewhere_comes_back(state: State, folder: Path) -> None:
    (folder / "memory" / "b.md").write_bytes(b"keeps the folder\n")
    settle_hand_edits(state)
    (folder / "memory" / "a.md").unlink()
    elsewhere(state).write({"memory/a.md": b"edited\n"}, why="theirs")

    settle_hand_edits(state)

    assert (folder / "memory" / "a.md").read_bytes() == b"edited\n"


def test_a_planted_link_is_never_followed(state: State, folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    shutil.rmtree(folder / "memory")
    (folder / "memory").symlink_to(outside)
    (folder / "rules").mkdir()
    (folder / "rules" / "r.md").symlink_to("/etc/passwd")

    state.write({"memory/a.md": b"secret\n"}, why="write")
    settled = settle_hand_edits(state)

    assert list(outside.iterdir()) == []
    assert "rules/r.md" in settled.held
    assert state.read("rules/r.md") is None
    assert state.read("memory/a.md") == b"secret\n"


def test_a_folder_replaced_by_a_link_deletes_nothing(state: State, folder: Path, tmp_path: Path) -> None:
    shutil.rmtree(folder / "memory")
    (folder / "memory").symlink_to(tmp_path)

    settle_hand_edits(state)

    assert state.latest().read("memory/a.md") == b"one\ntwo\nthree\n"
    assert reasons(state) == ["init: begin"]


def test_the_format_file_is_not_written_by_hand(state: State, folder: Path) -> None:
    before = (folder / "format.json").read_bytes()
    (folder / "format.json").write_text("{}")

    assert list(settle_hand_edits(state).held) == ["format.json"]
    (folder / "format.json").unlink()
    assert settle_hand_edits(state).held == {}
    assert (folder / "format.json").read_bytes() == before


def test_a_fifo_does_not_hang_anybody(state: State, folder: Path) -> None:
    os.mkfifo(folder / "memory" / "pipe.md")

    assert settle_hand_edits(state).held == {"memory/pipe.md": "it is not a plain file"}


def test_linked_worktrees_see_each_others_changes(state: State, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    run_git(state.repo.folder, "worktree", "add", "-q", str(other))
    settle_hand_edits(State.open(other))
    (other / ".nexus" / "memory" / "from-other.md").write_bytes(b"O\n")
    settle_hand_edits(State.open(other))

    fresh = State.open(state.repo.folder)
    fresh.write({"memory/from-main.md": b"M\n"}, why="main")

    assert (folder / "memory" / "from-other.md").read_bytes() == b"O\n"
    assert (other / ".nexus" / "memory" / "from-main.md").read_bytes() == b"M\n"


def test_nothing_is_taken_in_from_the_worktree_of_a_run(state: State, tmp_path: Path) -> None:
    place = tmp_path / "run"
    run_git(state.repo.folder, "worktree", "add", "-q", "-b", "nexus/r1", str(place))
    settle_hand_edits(State.open(place))
    run_git(place, "switch", "-q", "-c", "elsewhere")  # an agent may leave its branch
    (place / ".nexus" / "memory" / "a.md").write_bytes(b"obey me\n")
    (place / ".nexus" / "memory" / "b.md").write_bytes(b"and me\n")

    assert settle_hand_edits(State.open(place)).taken == []
    assert State.open(place).read("memory/a.md") == b"one\ntwo\nthree\n"
    assert State.open(place).read("memory/b.md") is None


def test_a_branch_that_tracks_the_folder_is_left_alone_and_coming_back_deletes_nothing(
    state: State, folder: Path
) -> None:
    place = state.repo.folder
    run_git(place, "switch", "-q", "-c", "tracks")
    (folder / "memory" / "a.md").write_bytes(b"the branch's\n")
    run_git(place, "add", "-f", ".nexus/memory/a.md")
    run_git(place, "commit", "-qm", "tracks .nexus")
    before = state.latest().commit

    assert settle_hand_edits(state).tracked
    run_git(place, "switch", "-q", "main")
    settle_hand_edits(state)

    assert state.latest().commit == before
    assert (folder / "memory" / "a.md").read_bytes() == b"one\ntwo\nthree\n"


def test_an_edit_is_kept_when_the_journal_lost_what_it_was_based_on(state: State, folder: Path) -> None:
    journal = state.repo.git_dir / "nexus" / "projection"
    torn = journal.read_bytes()
    journal.write_bytes(torn[: torn.rindex(b"memory/a.md") - 5])
    (folder / "memory" / "a.md").write_bytes(b"edited\n")

    settled = settle_hand_edits(State.open(state.repo.folder))

    assert [(folder / kept).read_bytes() for kept in settled.kept] == [b"edited\n"]
    assert (folder / "memory" / "a.md").read_bytes() == b"one\ntwo\nthree\n"


def test_files_that_only_fell_behind_are_not_taken_for_edits_when_the_journal_is_gone(
    state: State, folder: Path
) -> None:
    (state.repo.git_dir / "nexus" / "projection").unlink()
    elsewhere(state).write({"memory/a.md": b"from the ref\n"}, why="meanwhile")

    settled = settle_hand_edits(State.open(state.repo.folder))

    assert settled == SettleResult()
    assert (folder / "memory" / "a.md").read_bytes() == b"from the ref\n"


def test_a_full_disk_leaves_the_folder_behind_and_the_next_command_catches_up(
    state: State, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(fd: int, name: str, data: bytes, over: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("gitnexus.state.disk.store_file", full)
        state.write({"memory/a.md": b"new\n"}, why="while full")
    assert (folder / "memory" / "a.md").read_bytes() == b"one\ntwo\nthree\n"

    settle_hand_edits(state)

    assert (folder / "memory" / "a.md").read_bytes() == b"new\n"


def test_git_sees_nothing_of_it(project: Path) -> None:
    (project / ".nexus" / "memory").mkdir()
    (project / ".nexus" / "memory" / "x.md").write_text("x")

    assert run_git(project, "status", "--porcelain", "--untracked-files=all") == ""
    run_git(project, "add", "-A")
    assert run_git(project, "diff", "--cached", "--name-only") == ""
