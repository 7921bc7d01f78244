"""What is done to a task is seen by those who wait for it in other projects; what is done blocks nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from gitnexus.projects.graph_render import GraphNode, make_picture, render_dot, render_mermaid
from tests.conftest import Nexus
from tests.projects.conftest import World, keep, told


@pytest.fixture
def lib(world: World) -> Path:
    """`lib`, whose T1 and T2 wait for each other's end in `app`: app:T1 needs lib:T1, app:T2 needs both."""

    def build(world: World) -> Path:
        lib, app = world.registered("lib"), world.registered("app")
        keep(lib, T1={"uid": "u1"}, T2={"uid": "u2"})
        keep(app, T1={"depends": ["lib:T1"], "uid": "a1"}, T2={"depends": ["lib:T1", "lib:T2"], "uid": "a2"},
             T3={"depends": ["T1"], "uid": "a3", "status": "done"})  # fmt: skip
        return Path(lib.path)

    return world.begin_with("across closing", build)


def asked(nexus: Nexus, place: Path, *argv: str) -> Any:
    return told(nexus, *argv, place=place)


def test_closing_a_task_tells_of_those_who_wait_in_other_projects(lib: Path, nexus: Nexus) -> None:
    refused = asked(nexus, lib, "task", "delete", "T2")
    assert refused["error"]["context"] == {"dependents": ["app:T2"]}
    assert asked(nexus, lib, "task", "complete", "T1")["nowReady"] == ["app:T1"]
    assert asked(nexus, lib, "task", "cancel", "T2")["waiting"] == ["app:T2"]
    assert asked(nexus, lib, "task", "delete", "T2", "--force")["waiting"] == ["app:T2"]


def test_a_status_that_closes_a_task_tells_the_same(lib: Path, nexus: Nexus) -> None:
    done = nexus("task", "update", "T1", "--status", "done", place=lib)
    assert done.stdout.endswith("Now ready: app:T1\n")
    assert asked(nexus, lib, "task", "update", "T2", "--status", "cancelled")["waiting"] == ["app:T2"]
    assert "waiting" not in asked(nexus, lib, "task", "update", "T2", "--status", "pending")


def test_agents_are_told_of_those_who_wait_in_other_projects_too(lib: Path, nexus: Nexus) -> None:
    def call(tool: str, place: Path, **given: str) -> Any:
        return json.loads(nexus.ok("tool", tool, json.dumps(given), place=place))

    assert call("backlog_complete", lib, task="T1")["nowReady"] == ["app:T1"]
    assert call("backlog_update", lib, task="T2", status="cancelled")["waiting"] == ["app:T2"]
    assert call("backlog_update", lib, task="T2", status="pending").keys() == {"task"}
    assert call("backlog_update", lib, task="T2", status="done")["nowReady"] == ["app:T2"]
    assert call("backlog_list", lib, status="done")["total"] == 2


def test_blocking_and_the_critical_path_count_what_is_open_or_all(lib: Path, nexus: Nexus) -> None:
    def impact(*more: str) -> int:
        return int(asked(nexus, lib, "blocking", "T1", *more)["impact"])

    def length(*more: str) -> int:
        return int(asked(nexus, lib, "critical-path", *more)["length"])

    assert (impact(), impact("--all"), length(), length("--all")) == (2, 3, 2, 3)
    assert nexus("task", "complete", "T1", place=lib).returncode == 0
    assert (impact(), impact("--all"), length("T1"), length("T1", "--all")) == (0, 3, 0, 1)


def test_deps_and_dependents_take_global(lib: Path, nexus: Nexus) -> None:
    app = lib.parent / "app"

    assert [one["ref"] for one in asked(nexus, app, "deps", "T2", "--global")["dependencies"]] == ["lib:T1", "lib:T2"]
    assert [one["ref"] for one in asked(nexus, lib, "dependents", "T2", "--global")["dependents"]] == ["app:T2"]


def test_a_picture_of_several_projects_has_project_and_state_on_the_node_and_folds_titles() -> None:
    title = 'A title that is much too "long" for one line of a node'
    nodes = {
        "a:T1": GraphNode("a:T1", "app:T1", "app", title, "active"),
        "b:T1": GraphNode("b:T1", "lib:T1", "lib", "x", "done"),
    }
    drawn = make_picture("all", nodes, [("a:T1", "b:T1")])

    assert (
        r'"a:T1" [label="app:T1 - active\nA title that is much too \"long\"\nfor one line of a node" project="app"'
        ' status="active"];'
    ) in render_dot(drawn)
    assert (
        'n0["app:T1 - active<br/>A title that is much too #34;long#34;<br/>for one line of a node"]'
        in render_mermaid(drawn)
    )
