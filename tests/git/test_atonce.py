"""Rows of a tree, asked of git alone."""

from pathlib import Path

from gitnexus.git.ls_tree_fast import list_tree_rows
from tests.conftest import run_git


def test_rows_are_those_of_the_commit_and_nothing_comes_of_what_is_not_there(repository: Path) -> None:
    head = run_git(repository, "rev-parse", "HEAD").strip()
    blob = run_git(repository, "rev-parse", "HEAD:readme.txt").strip()
    folder = str(repository / ".git")

    assert list_tree_rows(folder, head, ("readme.txt", "none")) == f"100644 blob {blob}\treadme.txt\0"
    assert list_tree_rows(folder, "0" * 40, ("readme.txt",)) == ""
    assert list_tree_rows(str(repository / "nowhere"), head, ("readme.txt",)) == ""
