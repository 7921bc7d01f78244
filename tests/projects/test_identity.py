"""A reference to another project's task means that task, whatever number a sync gives it there."""

import json
from pathlib import Path
from typing import Any

import pytest

from gitnexus.projects.model import Project
from gitnexus.state import State
from tests.conftest import Nexus
from tests.projects.conftest import World, keep, told


class Two:
    """`app`, and `lib` on which it may do everything; T1 of `lib` is the one that is meant."""

    def __init__(self, world: World, nexus: Nexus) -> None:
        self.lib, self.app = world.registered("lib"), world.registered("app")
        self.nexus = nexus
        keep(self.lib, T1={"title": "meant", "uid": "uid-meant"})
        assert nexus("grant", "app", "lib", "--permission", "execute", place=self.place).returncode == 0

    @property
    def place(self) -> Path:
        return Path(self.app.path)

    def renumber(self) -> None:
        """Do to `lib` what a sync does: its T1 is T2 now, and T1 is somebody else's."""
        keep(
            self.lib,
            T1={"title": "another", "uid": "uid-another"},
            T2={"title": "meant", "uid": "uid-meant", "aliases": ["T1"]},
        )

    def run(self, *argv: str) -> None:
        done = self.nexus(*argv, place=self.place)
        assert done.returncode == 0, done.stderr

    def told(self, *argv: str) -> Any:
        return told(self.nexus, *argv, place=self.place)


@pytest.fixture
def two(world: World, nexus: Nexus) -> Two:
    return Two(world, nexus)


def stored(project: Project, number: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(State.open(Path(project.path)).read(f"backlog/T{number}.json") or b"{}")
    return found


def test_a_dependency_and_a_relation_follow_the_task_that_was_meant(two: Two) -> None:
    two.run("task", "add", "waits", "--depends", "lib:T1")
    two.run("task", "relate", "T1", "lib:T1")
    two.renumber()

    two.run("task", "complete", "lib:T1")  # somebody else's
    shown, deps = two.told("show", "T1"), two.told("deps", "T1")

    assert (shown["ready"], shown["depends"]) == (False, ["lib:T2"])
    assert [one["ref"] for one in shown["waitsFor"]] == ["lib:T2"]
    assert [one["taskId"] for one in shown["relates"]] == ["lib:T2"]
    assert "uids" not in shown
    assert [(one["ref"], one["title"]) for one in deps["dependencies"]] == [("lib:T2", "meant")]
    assert two.told("dependents", "lib:T1")["dependents"] == []
    assert [one["ref"] for one in two.told("dependents", "lib:T2")["dependents"]] == ["app:T1"]
    assert two.told("blocking", "lib:T2")["impact"] == 1

    two.run("task", "complete", "lib:T2")
    assert two.told("task", "list", "--ready")["tasks"][0]["id"] == "T1"


def test_both_tasks_that_had_a_number_can_be_depended_on_and_dropped_by_their_numbers_of_now(two: Two) -> None:
    two.run("task", "add", "waits", "--depends", "lib:T1")
    two.renumber()

    two.run("task", "update", "T1", "--depends", "lib:T1")
    assert stored(two.app, 1)["uids"] == {"lib:T1": "uid-another", "lib:T2": "uid-meant"}

    two.run("task", "update", "T1", "--remove-depends", "lib:T2")
    after = stored(two.app, 1)
    assert (after["depends"], after["uids"]) == (["lib:T1"], {"lib:T1": "uid-another"})


@pytest.mark.parametrize("look", ["show T7", "task list", "task next", "task update T7 --priority high"])
def test_a_dependency_from_before_is_resolved_once_and_kept(two: Two, look: str) -> None:
    keep(two.app, T7={"depends": ["lib:T1"], "uid": "seven"})

    two.run(*look.split())
    two.renumber()

    assert stored(two.app, 7)["uids"] == {"lib:T1": "uid-meant"}
    assert two.told("show", "T7")["depends"] == ["lib:T2"]


def test_one_from_before_whose_number_was_given_to_another_blocks_until_somebody_says_which(two: Two) -> None:
    keep(two.app, T7={"depends": ["lib:T1"], "uid": "seven"})
    two.renumber()
    two.run("task", "complete", "lib:T1")

    shown, deps = two.told("show", "T7"), two.told("deps", "T7")
    assert not shown["ready"]
    assert "may be lib:T1 or lib:T2" in shown["waitsFor"][0]["why"]
    assert deps["blocked"]
    assert "may be lib:T1 or lib:T2" in deps["dependencies"][0]["reason"]

    two.run("task", "update", "T7", "--remove-depends", "lib:T1", "--depends", "lib:T2")
    assert stored(two.app, 7)["uids"] == {"lib:T2": "uid-meant"}


def test_another_task_in_the_place_of_one_that_is_gone_satisfies_nothing(two: Two) -> None:
    two.run("task", "add", "waits", "--depends", "lib:T1")
    keep(two.lib, T1={"title": "another", "uid": "uid-another", "status": "done"})

    shown, orphans = two.told("show", "T1"), two.told("orphans")["orphans"]

    assert shown["waitsFor"][0]["why"] == "no longer exists, another task has its number"
    assert orphans[0]["reason"] == "no longer exists, another task has its number"


def test_a_dependency_follows_its_project_that_has_another_name_on_this_machine(two: Two) -> None:
    two.run("task", "add", "waits", "--depends", "lib:T1")
    two.run("task", "relate", "T1", "lib:T1")
    two.renumber()
    two.run("project", "unregister", "lib")
    two.run("register", two.lib.path, "--name", "core")
    two.run("grant", "app", "core", "--permission", "execute")

    shown, deps = two.told("show", "T1"), two.told("deps", "T1")

    assert (shown["ready"], shown["depends"]) == (False, ["core:T2"])
    assert [one["taskId"] for one in shown["relates"]] == ["core:T2"]
    assert [(one["ref"], one["title"]) for one in deps["dependencies"]] == [("core:T2", "meant")]
    assert [one["ref"] for one in two.told("dependents", "core:T2")["dependents"]] == ["app:T1"]
    assert two.told("dependents", "core:T1")["dependents"] == []
    assert two.told("orphans")["orphans"] == []
    two.run("task", "complete", "core:T2")
    assert two.told("task", "list", "--ready")["tasks"][0]["id"] == "T1"
    two.run("task", "update", "T1", "--priority", "high")
    assert (stored(two.app, 1)["depends"], stored(two.app, 1)["uids"]) == (["core:T2"], {"core:T2": "uid-meant"})


def test_another_project_that_took_the_name_is_not_meant(two: Two, world: World) -> None:
    two.run("task", "add", "waits", "--depends", "lib:T1")
    two.run("project", "unregister", "lib")
    two.run("register", two.lib.path, "--name", "core")
    two.run("grant", "app", "core", "--permission", "execute")
    other = world.registered("other")
    keep(other, T1={"title": "not meant", "uid": "uid-of-other", "status": "done"})
    two.run("project", "rename", "other", "lib")
    two.run("grant", "app", "lib", "--permission", "execute")

    assert two.told("show", "T1")["depends"] == ["core:T1"]
    assert [one["ref"] for one in two.told("deps", "T1")["dependencies"]] == ["core:T1"]
    assert not two.told("show", "T1")["ready"]
