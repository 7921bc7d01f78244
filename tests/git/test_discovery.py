"""Repositories are found from wherever a person stands."""

from pathlib import Path

import pytest

from gitnexus.base.errors import Failed, NotFound
from gitnexus.git import discover
from gitnexus.git.child import clean_environment
from gitnexus.git.worktrees import list_worktrees
from tests.conftest import run_git


def test_a_sub_folder_and_the_git_folder_lead_to_the_worktree(repository: Path) -> None:
    below = repository / "a" / "b"
    below.mkdir(parents=True)

    assert discover(below) == discover(repository) == discover(repository / ".git")
    assert discover(below).worktree == repository


def test_a_linked_worktree_has_its_own_git_folder_and_shares_the_common_one(repository: Path, tmp_path: Path) -> None:
    run_git(repository, "worktree", "add", "-q", "-b", "second", str(tmp_path / "zweiter baum"))

    linked, main = discover(tmp_path / "zweiter baum"), discover(repository)

    assert linked.is_linked
    assert linked.common_dir == main.common_dir
    assert linked.main_folder == main.main_folder == repository
    assert [tree.path for tree in list_worktrees(linked)] == [tree.path for tree in list_worktrees(main)]


def test_a_bare_repository_has_no_worktree(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q", "--bare", "b.git")

    assert discover(tmp_path / "b.git").worktree is None
    assert discover(tmp_path / "b.git").folder == tmp_path / "b.git"


def test_a_worktree_of_a_bare_repository_is_found(repository: Path, tmp_path: Path) -> None:
    run_git(tmp_path, "clone", "-q", "--bare", str(repository), "b.git")
    run_git(tmp_path / "b.git", "worktree", "add", "-q", str(tmp_path / "w"))

    found = discover(tmp_path / "w")

    assert found.worktree == tmp_path / "w"
    assert found.main_folder == tmp_path / "b.git"
    assert [tree.path for tree in list_worktrees(found)] == [tmp_path / "w"]


def test_a_submodule_is_a_repository_of_its_own(repository: Path, tmp_path: Path) -> None:
    run_git(tmp_path, "clone", "-q", str(repository), "library")
    run_git(repository, "submodule", "--quiet", "add", str(tmp_path / "library"), "lib")

    found = discover(repository / "lib")

    assert found.worktree == repository / "lib"
    assert found.common_dir == repository / ".git" / "modules" / "lib"


def test_no_repository_is_said_in_a_sentence_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as refused:
        discover(tmp_path)

    assert refused.value.message == f"not in a git repository: {tmp_path}"
    assert refused.value.fix == "git init"


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as refused:
        discover(tmp_path / "nowhere")

    assert refused.value.message == f"there is no folder {tmp_path / 'nowhere'}"


def test_a_format_that_git_cannot_read_is_refused_in_a_sentence(repository: Path) -> None:
    run_git(repository, "config", "core.repositoryFormatVersion", "1")
    run_git(repository, "config", "extensions.futureThing", "yes")

    with pytest.raises(Failed) as refused:
        discover(repository)

    assert refused.value.message == "this repository uses a format that the installed git cannot read"


def test_variables_of_a_surrounding_git_are_not_inherited(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_git(tmp_path, "init", "-q", "other")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")

    assert discover(repository).worktree == repository
    assert discover(repository, inherit=True).git_dir == tmp_path / "other" / ".git"
    assert not [name for name in clean_environment() if name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_CONFIG_COUNT")]


def test_a_path_with_a_line_break_is_refused_and_not_misread(tmp_path: Path) -> None:
    odd = tmp_path / "two\nlines"
    odd.mkdir()
    run_git(odd, "init", "-q")

    with pytest.raises(Failed):
        discover(odd)
