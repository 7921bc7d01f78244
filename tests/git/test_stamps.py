"""What we put down and nobody touched is known without reading it; whatever was touched is read."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gitnexus.git import Repo, discover
from gitnexus.git.checkout import fill_worktree
from gitnexus.git.file_stamps import Stamps, entry_if_unchanged, parse_index_stamps
from gitnexus.git.private import private_git
from gitnexus.git.tree_diff import list_tree_files
from gitnexus.git.worktree_tree import write_worktree_tree
from tests.conftest import run_git

NAMES = ("a", "d/a", "d/b", "e/a", "ä b", "n" * 200)
LATER = time.time_ns() + 10**15


def project(top: Path, object_format: str = "sha1") -> Repo:
    top.mkdir()
    run_git(top, "init", "-q", f"--object-format={object_format}")
    for name in NAMES:
        (top / name).parent.mkdir(exist_ok=True)
        (top / name).write_text(f"text {name[-1]}\n")
    (top / "link").symlink_to("a")
    (top / "a").chmod(0o755)
    run_git(top, "add", ".")
    run_git(top, "commit", "-qm", "first")
    return discover(top)


def head_of(repo: Repo) -> str:
    return run_git(repo.folder, "rev-parse", "HEAD").strip()


def put_down(repo: Repo) -> Stamps:
    fill_worktree(repo, head_of(repo))
    return parse_index_stamps((repo.git_dir / "index").read_bytes(), len(head_of(repo)) // 2, LATER)


def untouched(repo: Repo, known: Stamps) -> set[str]:
    return {path for path in known if entry_if_unchanged(known, path, (repo.folder / path).lstat()) is not None}


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_all_that_was_put_down_is_known_by_its_object(tmp_path: Path, object_format: str) -> None:
    repo = project(tmp_path / "x", object_format)

    known = put_down(repo)

    with private_git(repo) as git:
        wanted = {
            entry.path: entry
            for entry in list_tree_files(git, run_git(repo.folder, "rev-parse", "HEAD^{tree}").strip())
        }
    assert {path: entry_if_unchanged(known, path, (repo.folder / path).lstat()) for path in known} == wanted


def same_size_and_time(place: Path) -> None:
    before = (place / "d/a").stat()
    (place / "d/a").write_text("text z\n")
    os.utime(place / "d/a", ns=(before.st_atime_ns, before.st_mtime_ns))


def folders_exchanged(place: Path) -> None:
    (place / "d").rename(place / "x")
    (place / "e").rename(place / "d")
    (place / "x").rename(place / "e")


def executable(place: Path) -> None:
    (place / "d/a").chmod(0o755)


def with_another_name(place: Path) -> None:
    os.link(place / "d/a", place.parent / "elsewhere")


def gone_and_new(place: Path) -> None:
    (place / "d/a").unlink()
    (place / "d/a").write_text("text z\n")
    (place / "new").write_text("new\n")


def a_link_instead(place: Path) -> None:
    (place / "d/a").unlink()
    (place / "d/a").symlink_to("b")


def nothing(place: Path) -> None:
    """What a program may do with files that it only reads."""
    (place / "d/a").read_bytes()


CHANGES: dict[Callable[[Path], None], set[str]] = {
    same_size_and_time: {"d/a"}, folders_exchanged: {"d/a", "e/a"}, executable: {"d/a"}, with_another_name: {"d/a"},
    gone_and_new: {"d/a"}, a_link_instead: {"d/a"}, nothing: set(),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_touched_is_read_again_and_the_tree_is_what_it_is_without(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    repo = project(tmp_path / "x")
    known = put_down(repo)

    change(repo.folder)

    there = {path: row for path, row in known.items() if (repo.folder / path).exists()}
    assert set(there) - untouched(repo, there) == CHANGES[change]
    with private_git(repo) as git:
        assert write_worktree_tree(git, repo.folder, head_of(repo), known) == write_worktree_tree(
            git, repo.folder, head_of(repo)
        )


def test_what_was_put_down_this_moment_is_not_known(tmp_path: Path) -> None:
    repo = project(tmp_path / "x")
    put_down(repo)
    written = max((repo.folder / name).stat().st_ctime_ns for name in NAMES)

    assert parse_index_stamps((repo.git_dir / "index").read_bytes(), 20, written) == {}


def test_a_disk_that_counts_whole_seconds_tells_nothing(tmp_path: Path) -> None:
    repo = project(tmp_path / "x")
    put_down(repo)
    index = bytearray((repo.git_dir / "index").read_bytes())
    index[16:20] = bytes(4)  # the fraction of the first file

    assert sorted(parse_index_stamps(bytes(index), 20, LATER)) == sorted({*NAMES, "link"} - {"a"})


def test_an_index_of_another_form_tells_nothing(tmp_path: Path) -> None:
    repo = project(tmp_path / "x")
    run_git(repo.folder, "update-index", "--index-version", "4")

    assert parse_index_stamps((repo.git_dir / "index").read_bytes(), 20, LATER) == {}
