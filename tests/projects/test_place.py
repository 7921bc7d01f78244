"""What a project is on disk, and which one is the current."""

import contextlib
from pathlib import Path

import pytest

from gitnexus.base.errors import NotFound, ProjectNotFound
from gitnexus.projects.open_backlog import open_backlog
from gitnexus.projects.open_registry import choose_project, open_standpoint
from gitnexus.projects.place import nearest_project, project_at, project_health
from gitnexus.ui.standpoint import named_project
from tests.conftest import run_git
from tests.projects.conftest import World


def test_the_current_project_is_the_nearest_ancestor_that_is_one(world: World) -> None:
    outer = world.git_project("outer")
    inner = world.cleo_project("outer/deep/inner")
    plain = outer / "vendor" / "lib"  # a repository, but no project
    run_git(outer, "init", "-q", "vendor/lib")
    (plain / "src").mkdir()

    assert nearest_project(plain / "src") == project_at(outer)
    assert nearest_project(inner / ".cleo") == project_at(inner)
    assert nearest_project(world.root) is None


def test_every_worktree_and_the_git_folder_are_the_same_project(world: World) -> None:
    place = world.git_project("api")
    run_git(place, "commit", "-q", "--allow-empty", "-m", "first")
    run_git(place, "worktree", "add", "-q", "-b", "side", "../linked")

    found = {nearest_project(start).path for start in (place, place / ".git" / "refs", world.root / "linked")}  # type: ignore[union-attr]

    assert found == {str(place)}


def test_a_bare_repository_with_a_state_ref_is_a_project(world: World) -> None:
    run_git(world.root, "clone", "-q", "--mirror", str(world.git_project("api")), "bare.git")

    found = project_at(world.root / "bare.git")

    assert found is not None
    assert (found.path, found.kind) == (str(world.root / "bare.git"), "git")


def test_a_repository_with_a_todo_file_but_no_state_ref_is_a_cleo_project(world: World) -> None:
    place = world.cleo_project("both")
    run_git(place, "init", "-q")

    assert project_at(place).kind == "cleo"  # type: ignore[union-attr]


def test_an_empty_git_folder_is_not_the_project_above(world: World) -> None:
    outer = world.git_project("outer")
    (outer / "sub" / ".git").mkdir(parents=True)

    assert project_at(outer / "sub") is None
    assert nearest_project(outer / "sub") == project_at(outer)


def test_a_link_in_the_place_of_the_todo_file_is_not_followed(world: World) -> None:
    place = world.cleo_project("real")
    (world.root / "fake" / ".cleo").mkdir(parents=True)
    (world.root / "fake" / ".cleo" / "todo.json").symlink_to(place / ".cleo" / "todo.json")

    assert project_at(world.root / "fake") is None


def test_health_says_what_became_of_a_project(world: World) -> None:
    fine, gone, emptied = world.registered("fine"), world.registered("gone"), world.registered("emptied")
    Path(gone.path).rename(world.root / "away")
    run_git(Path(emptied.path), "update-ref", "-d", "refs/nexus/state")

    assert [project_health(one)[0] for one in (fine, gone, emptied)] == ["ok", "missing", "not a project"]


def test_another_project_can_be_named_as_the_current_one(world: World) -> None:
    api = world.registered("api", "backend")
    (Path(api.path) / "sub").mkdir()

    for word in ("api", "backend", api.hash[:6], api.path, "api/sub"):
        assert (word, open_standpoint(world.root, word).current) == (word, api)


def test_a_project_that_was_named_and_is_not_there_is_an_error(world: World) -> None:
    gone = world.registered("gone")
    Path(gone.path).rename(world.root / "away")
    (world.root / "plain").mkdir()

    with pytest.raises(ProjectNotFound):
        choose_project(world.root, "nobody")
    with pytest.raises(NotFound, match="gone is registered at"):
        choose_project(world.root, "gone")
    with pytest.raises(NotFound, match="is not in a project"):
        choose_project(world.root, "plain")


def test_git_may_say_which_repository_is_meant(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    api = world.registered("api")
    monkeypatch.setenv("GIT_DIR", f"{api.path}/.git")
    monkeypatch.setenv("GIT_WORK_TREE", api.path)

    assert open_standpoint(world.root).current == api


def test_git_says_so_for_the_own_project_and_for_no_other(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    api, lib = world.registered("api", T1="Ours"), world.registered("lib", T1="Theirs")
    monkeypatch.setenv("GIT_DIR", f"{api.path}/.git")
    monkeypatch.setenv("GIT_WORK_TREE", api.path)

    with contextlib.closing(open_backlog(world.root)) as opened:
        there, task = opened.reach_task("lib:T1", "show")
        assert there.backlog.tasks().task(task).title == "Theirs"
        assert opened.backlog.tasks().task("T1").title == "Ours"

    assert named_project("lib") == "lib"
    with contextlib.closing(open_backlog(Path(lib.path))) as opened:
        assert opened.backlog.tasks().task("T1").title == "Theirs"
        assert opened.project["name"] == "lib"
