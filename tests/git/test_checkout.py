"""The worktree of a run: made, taken up after a kill at any step of its making, and emptied without a loss."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gitnexus.base.errors import Conflict
from gitnexus.git import discover
from gitnexus.git.checkout import add_worktree, empty_worktree, fill_worktree, is_worktree_filled
from tests.conftest import run_git

BRANCH = "refs/heads/nexus/r1"


def base_of(repository: Path) -> str:
    return run_git(repository, "rev-parse", "HEAD").strip()


def made(repository: Path, place: Path) -> None:
    add_worktree(discover(repository), place, BRANCH, base_of(repository), "r1")


def half_administered(admin: Path, place: Path) -> None:
    shutil.rmtree(place)
    for path in admin.iterdir():
        if path.name != "locked":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def without_head(admin: Path, place: Path) -> None:
    for name in ("HEAD", "index"):
        (admin / name).unlink()
    (place / "readme.txt").unlink()


def without_common_dir(admin: Path, place: Path) -> None:
    without_head(admin, place)
    (admin / "HEAD").write_text(f"{'0' * 40}\n")
    (admin / "commondir").write_text("")


def on_no_branch_yet(admin: Path, place: Path) -> None:
    not_filled(admin, place)
    (admin / "HEAD").write_text(f"{'0' * 40}\n")
    (admin / "HEAD.lock").write_text("")


def not_filled(admin: Path, place: Path) -> None:
    (admin / "index").unlink()
    (place / "readme.txt").unlink()


def half_filled(admin: Path, place: Path) -> None:
    (admin / "index").unlink()
    (place / "readme.txt").write_text("he")


def folder_removed(admin: Path, place: Path) -> None:
    shutil.rmtree(place)


def only_the_branch(admin: Path, place: Path) -> None:
    shutil.rmtree(place)
    shutil.rmtree(admin)


@pytest.mark.parametrize(
    "kill",
    [
        half_administered,
        without_head,
        without_common_dir,
        on_no_branch_yet,
        not_filled,
        half_filled,
        folder_removed,
        only_the_branch,
    ],
)
def test_what_a_kill_left_of_a_worktree_is_made_whole(
    repository: Path, tmp_path: Path, kill: Callable[[Path, Path], None]
) -> None:
    place = tmp_path / "r1"
    made(repository, place)
    kill(repository / ".git" / "worktrees" / "r1", place)

    made(repository, place)

    assert (place / "readme.txt").read_text() == "hello\n"
    assert run_git(place, "status", "--porcelain", "--branch") == "## nexus/r1\n"
    assert [path.name for path in (repository / ".git" / "worktrees").iterdir()] == ["r1"]
    assert is_worktree_filled(discover(place))
    assert run_git(repository, "fsck", "--strict") == ""
    run_git(place, "commit", "-q", "--allow-empty", "-m", "more")


def test_no_moment_of_adding_a_worktree_leaves_a_head_that_git_cannot_read(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heads: list[str] = []
    rename = Path.rename

    def look(path: Path, target: Path) -> Path:
        heads.extend(one.read_text() for one in (repository / ".git" / "worktrees").glob("*/HEAD"))
        moved = rename(path, target)
        heads.extend(one.read_text() for one in (repository / ".git" / "worktrees").glob("*/HEAD"))
        return moved

    monkeypatch.setattr(Path, "rename", look)

    made(repository, tmp_path / "r1")

    assert heads == [f"ref: {BRANCH}\n"]
    listed = run_git(repository, "worktree", "list", "--porcelain")
    assert f"worktree {tmp_path / 'r1'}\nHEAD {base_of(repository)}\nbranch {BRANCH}\nlocked" in listed


def test_a_repository_with_settings_by_worktree_is_left_to_git(repository: Path, tmp_path: Path) -> None:
    run_git(repository, "config", "extensions.worktreeConfig", "true")
    run_git(repository, "config", "--worktree", "core.abbrev", "9")

    made(repository, tmp_path / "r1")

    assert run_git(tmp_path / "r1", "config", "core.abbrev") == "9\n"
    assert run_git(tmp_path / "r1", "status", "--porcelain", "--branch") == "## nexus/r1\n"


def test_a_link_that_is_gone_is_written_anew_and_the_work_beside_it_stays(repository: Path, tmp_path: Path) -> None:
    place = tmp_path / "r1"
    made(repository, place)
    (place / "work").write_text("mine\n")
    (place / ".git").unlink()

    made(repository, place)

    assert run_git(place, "status", "--porcelain") == "?? work\n"


def test_a_folder_with_something_in_it_is_left_alone(repository: Path, tmp_path: Path) -> None:
    place = tmp_path / "r1"
    place.mkdir()
    (place / "work").write_text("mine\n")

    with pytest.raises(Conflict):
        made(repository, place)

    assert [path.name for path in place.iterdir()] == ["work"]


def test_an_emptied_worktree_has_all_of_it_elsewhere(repository: Path, tmp_path: Path) -> None:
    place, aside = tmp_path / "r1", tmp_path / "aside"
    made(repository, place)
    (place / "new").mkdir()
    (place / "new" / "a b").write_text("x")
    (place / "link").symlink_to("/nowhere")
    repo = discover(place)

    empty_worktree(repo, aside)
    fill_worktree(repo, base_of(repository))

    assert sorted(path.name for path in place.iterdir()) == [".git", "readme.txt"]
    assert sorted(path.name for path in aside.iterdir()) == ["link", "new", "readme.txt"]
    assert (aside / "new" / "a b").read_text() == "x"
    assert (aside / "link").readlink() == Path("/nowhere")
    assert run_git(place, "status", "--porcelain") == ""
