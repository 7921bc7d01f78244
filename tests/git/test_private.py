"""Git in a folder of our own: it sees objects and refs, obeys nothing, and leaves nothing behind."""

import os
from pathlib import Path

import pytest

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.git import discover
from gitnexus.git.child import GitFailed
from gitnexus.git.private import private_git
from gitnexus.git.revisions import resolve_commit, resolve_head
from gitnexus.git.tree_diff import diff_trees, list_tree_files, read_blob
from tests.conftest import run_git


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
@pytest.mark.parametrize("packed", [False, True])
def test_names_of_commits_are_looked_up_in_every_kind_of_worktree(
    tmp_path: Path, object_format: str, packed: bool
) -> None:
    place = tmp_path / "main"
    place.mkdir()
    run_git(place, "init", "-q", f"--object-format={object_format}")
    for text in ("1", "2", "3"):
        (place / "a").write_text(text)
        run_git(place, "add", ".")
        run_git(place, "commit", "-qm", text)
    run_git(place, "tag", "-a", "v1", "-m", "x", "HEAD~2")
    run_git(place, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"), "HEAD~1")
    run_git(place, "clone", "-q", "--bare", ".", str(tmp_path / "bare"))
    if packed:
        run_git(place, "gc", "-q")
    ids = run_git(place, "rev-list", "HEAD").split()

    for where, head in ((place, ids[0]), (tmp_path / "side", ids[1]), (tmp_path / "bare", ids[0])):
        repo = discover(where)
        with private_git(repo) as git:
            assert resolve_head(repo, git) == head
            assert resolve_commit(repo, git, "HEAD") == head
            assert resolve_commit(repo, git, "main~1") == ids[1]
            assert resolve_commit(repo, git, "v1") == ids[2]
            assert resolve_commit(repo, git, "refs/heads/main^^") == ids[2]
            assert resolve_commit(repo, git, ids[1][:12]) == ids[1]
            assert [read_blob(git, entry.oid) for entry in list_tree_files(git, "main")] == [b"3"]
            with pytest.raises(NotFound):
                resolve_commit(repo, git, "nowhere")
            with pytest.raises(Invalid):
                resolve_commit(repo, git, "main:a")


def test_the_folder_goes_and_the_repository_is_as_it_was(repository: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (repository / ".git").rglob("*")}
    with private_git(discover(repository)) as git:
        git.must("read-tree", "HEAD")
        oid = git.must("hash-object", "-w", "--stdin", stdin=b"new").decode().strip()
        assert git.fresh(oid)
        folder = git.folder

    assert not folder.exists()
    assert {path: path.stat().st_mtime_ns for path in (repository / ".git").rglob("*")} == before


def test_output_is_read_only_as_far_as_wanted(repository: Path) -> None:
    (repository / "large").write_bytes(b"x" * 5_000_000)
    run_git(repository, "add", ".")
    run_git(repository, "commit", "-qm", "large")
    with private_git(discover(repository)) as git:
        assert git.read_beginning("cat-file", "blob", "HEAD:large", most=1000) == (b"x" * 1000, True)
        assert git.read_beginning("cat-file", "blob", "HEAD:readme.txt", most=1000) == (b"hello\n", False)
        with pytest.raises(GitFailed):
            git.read_beginning("cat-file", "blob", "HEAD:nothing", most=1000)


def test_the_difference_of_two_trees_has_every_path_as_it_is(repository: Path) -> None:
    names = [
        "with\ttab",
        "with\nline",
        'with "quotes"',
        "bl ank",
        "ümlaut",
        os.fsdecode(b"latin\xf6"),
        "-dash",
        ":colon",
    ]
    for name in names:
        (repository / name).write_text("x\n")
    (repository / "binary\tone").write_bytes(b"\0" * 10)
    run_git(repository, "add", "-A")
    run_git(repository, "commit", "-qm", "names")
    with private_git(discover(repository)) as git:
        rows = diff_trees(git, "HEAD~1^{tree}", "HEAD^{tree}")

    assert [row.path for row in rows] == sorted([*names, "binary\tone"], key=os.fsencode)
    assert [row.path for row in rows if row.binary] == ["binary\tone"]
    assert all(row.old_mode == "" and row.new_mode == "100644" for row in rows)


def test_replaced_and_grafted_objects_are_not_believed(repository: Path) -> None:
    real = run_git(repository, "rev-parse", "HEAD:readme.txt").strip()
    fake = run_git(repository, "hash-object", "-w", "--stdin", stdin="fake\n").strip()
    run_git(repository, "replace", real, fake)
    assert run_git(repository, "cat-file", "blob", real) == "fake\n"

    with private_git(discover(repository)) as git:
        assert read_blob(git, real) == b"hello\n"
