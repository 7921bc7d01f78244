"""Files with new content on top of a commit."""

from pathlib import Path

import pytest

from gitnexus.base.errors import Invalid
from gitnexus.git import discover
from gitnexus.git.edited_tree import tree_with_files
from gitnexus.git.private import private_git
from gitnexus.git.tree_diff import read_blob
from tests.conftest import run_git


def made(place: Path, contents: dict[str, bytes | None]) -> dict[str, tuple[str, bytes]]:
    repo = discover(place)
    with private_git(repo) as git:
        found = tree_with_files(git, run_git(place, "rev-parse", "HEAD").strip(), contents)
        return {one.path: (one.mode, read_blob(git, one.oid)) for one in found.present}


def test_files_are_made_changed_and_taken_away(repository: Path) -> None:
    (repository / "run.sh").write_text("old\n")
    (repository / "run.sh").chmod(0o755)
    run_git(repository, "add", ".")
    run_git(repository, "commit", "-qm", "more")

    found = made(repository, {"run.sh": b"new\n", "a/b.txt": b"x\r\n", "readme.txt": None, "gone": None})

    assert found == {"run.sh": ("100755", b"new\n"), "a/b.txt": ("100644", b"x\r\n")}


@pytest.mark.parametrize("path", [".git", "a/.GIT/config", "git~1", "../x", "/x", "a//b", "readme.txt/x/.git"])
def test_a_name_that_git_passes_over_is_refused(repository: Path, path: str) -> None:
    with pytest.raises(Invalid):
        made(repository, {path: b"x"})


def test_a_link_is_no_plain_file(repository: Path) -> None:
    (repository / "link").symlink_to("readme.txt")
    run_git(repository, "add", ".")
    run_git(repository, "commit", "-qm", "more")

    with pytest.raises(Invalid):
        made(repository, {"link": b"x"})
