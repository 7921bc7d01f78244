"""Rows of a tree, asked of git alone."""

from pathlib import Path

from gitnexus.git.atonce import rows_at
from tests.conftest import run_git


def test_rows_are_those_of_the_commit_and_nothing_comes_of_what_is_not_there(repository: Path) -> None:
    head = run_git(repository, "rev-parse", "HEAD").strip()
    blob = run_git(repository, "rev-parse", "HEAD:readme.txt").strip()
    folder = str(repository / ".git")

    assert rows_at(folder, head, ("readme.txt", "none")) == f"100644 blob {blob}\treadme.txt\0"
    assert rows_at(folder, "0" * 40, ("readme.txt",)) == ""
    assert rows_at(str(repository / "nowhere"), head, ("readme.txt",)) == ""
