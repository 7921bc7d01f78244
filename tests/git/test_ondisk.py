"""A worktree as a tree: the bytes on disk, and what fits into no tree is told."""

import os
from pathlib import Path

import pytest

from gitnexus.git import discover
from gitnexus.git.private import private_git
from gitnexus.git.worktree_tree import WorktreeContent, write_worktree_tree
from tests.conftest import run_git


def seen(place: Path) -> WorktreeContent:
    repo = discover(place)
    with private_git(repo) as git:
        return write_worktree_tree(git, place, run_git(place, "rev-parse", "HEAD").strip())


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_it_is_the_tree_that_git_would_write(tmp_path: Path, object_format: str) -> None:
    place = tmp_path / "x"
    place.mkdir()
    run_git(place, "init", "-q", f"--object-format={object_format}")
    (place / ".gitignore").write_text("*.log\n!keep.log\nbuild/\n/top\n")
    (place / "kept.txt").write_text("x\n")
    (place / "tracked.log").write_text("x\n")
    (place / "sub").mkdir()
    (place / "sub" / ".gitignore").write_text("!sub.log\nlocal\n")
    (place / "sub" / "a").write_text("x\n")
    run_git(place, "add", "-f", ".")
    run_git(place, "commit", "-qm", "first")
    for name in ("a.log", "keep.log", "top", "sub/top", "sub/sub.log", "sub/local", "sub/a", "new", "tracked.log"):
        (place / name).write_text("new\n")
    (place / "build").mkdir()
    (place / "build" / "x").write_text("x\n")
    (place / "empty").mkdir()
    (place / "kept.txt").chmod(0o755)
    (place / "link").symlink_to("/nowhere")

    found = seen(place)

    run_git(place, "add", "-A")
    assert found.result_tree == run_git(place, "write-tree").strip()
    assert found.odd == ()
    assert [row.link_target for row in found.changes if row.path == "link"] == ["/nowhere"]


def test_what_fits_into_no_tree_is_told_and_not_opened(repository: Path, tmp_path: Path) -> None:
    os.mkfifo(repository / "pipe")
    (repository / "nested").mkdir()
    run_git(repository / "nested", "init", "-q")
    (repository / "nested" / "x").write_text("x\n")
    (tmp_path / "outside").write_text("secret\n")
    os.link(tmp_path / "outside", repository / "hard")
    (repository / "folder").symlink_to(tmp_path)

    found = seen(repository)

    assert [odd.path for odd in found.odd] == ["hard", "nested", "pipe"]
    assert [row.path for row in found.changes] == ["folder"]


def test_a_submodule_counts_as_it_was(repository: Path, tmp_path: Path) -> None:
    run_git(tmp_path, "clone", "-q", str(repository), "other")
    run_git(repository, "submodule", "add", "-q", str(tmp_path / "other"), "sub")
    run_git(repository, "commit", "-qm", "sub")
    (repository / "sub" / "readme.txt").write_text("changed\n")

    assert seen(repository).changes == ()


def test_a_name_of_git_in_another_case_is_never_taken_in(repository: Path) -> None:
    (repository / "sub").mkdir()
    (repository / "sub" / ".GIT").write_text("gitdir: /elsewhere\n")

    assert seen(repository).changes == ()
    assert [odd.path for odd in seen(repository).odd] == ["sub"]


def test_names_that_git_refuses_do_not_stop_the_rest(repository: Path) -> None:
    (repository / "git~1").write_text("x\n")
    (repository / "fine").write_text("x\n")

    found = seen(repository)

    assert [row.path for row in found.changes] == ["fine"]
    assert [odd.path for odd in found.odd] == ["git~1"]
