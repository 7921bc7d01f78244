"""The graph of all projects; §8.1.2 and §8.2 of the specification, row by row."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gitnexus.backlog.graph import reversed_edges
from gitnexus.projects.granting import grant_permission
from gitnexus.projects.graph_refresh import reindex_projects, with_network
from gitnexus.projects.levels import Level
from gitnexus.projects.model import Project
from gitnexus.projects.network import TaskNetwork
from tests.conftest import Nexus
from tests.projects.conftest import World, keep, told
from tests.terminal import shown as terminal


def look(world: World, place: Path, use: Callable[[TaskNetwork], Any]) -> Any:
    standpoint = world.standpoint(place)
    try:
        return with_network(standpoint, use)
    finally:
        standpoint.close()


def forward_and_reverse(network: TaskNetwork) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    reverse = {key: sources for key, sources in reversed_edges(network.edges).items() if sources}
    return network.edges, reverse


def rebuilt(world: World, place: Path) -> Any:
    standpoint = world.standpoint(place)
    try:
        return reindex_projects(standpoint, None, whole=False)["rebuilt"]
    finally:
        standpoint.close()


def test_build_empty_graph(world: World) -> None:
    web = Path(world.registered("web").path)

    assert look(world, web, forward_and_reverse) == ({}, {})
    shown = told(Nexus(web), "graph", "--format", "json")
    assert {name: shown[name] for name in ("nodes", "edges", "external", "cycles")} == {
        "nodes": [], "edges": [], "external": [], "cycles": []}  # fmt: skip


def test_build_single_project(world: World) -> None:
    web = world.registered("web")
    keep(web, T1={"depends": ["T2"]}, T2={"depends": [".:T3"]}, T3={}, T4={})
    key = web.hash

    forward, reverse = look(world, Path(web.path), forward_and_reverse)

    assert forward == {f"{key}:T1": [f"{key}:T2"], f"{key}:T2": [f"{key}:T3"]}
    assert reverse == {f"{key}:T2": [f"{key}:T1"], f"{key}:T3": [f"{key}:T2"]}


def test_build_multi_project(world: World) -> None:
    web, lib = world.registered("web"), world.registered("lib", "auth")
    keep(web, T1={"depends": ["lib:T1", "T2"]}, T2={"depends": ["auth:T1"]})
    keep(lib, T1={"depends": ["T2"]}, T2={})
    w, b = web.hash, lib.hash

    forward, reverse = look(world, Path(web.path), forward_and_reverse)

    assert forward == {
        f"{w}:T1": [f"{b}:T1", f"{w}:T2"],
        f"{w}:T2": [f"{b}:T1"],
        f"{b}:T1": [f"{b}:T2"],
    }
    assert {key: sorted(sources) for key, sources in reverse.items()} == {
        f"{b}:T1": sorted([f"{w}:T1", f"{w}:T2"]),
        f"{w}:T2": [f"{w}:T1"],
        f"{b}:T2": [f"{b}:T1"],
    }


def test_invalidate_on_change(world: World) -> None:
    web, lib = world.registered("web", T1="one"), world.registered("lib", T1="other")
    here = Path(web.path)
    assert sorted(rebuilt(world, here)) == ["lib", "web"]
    assert rebuilt(world, here) == []

    keep(lib, T2={"depends": ["web:T1"]})

    assert rebuilt(world, here) == ["lib"]
    assert look(world, here, lambda network: network.edges) == {f"{lib.hash}:T2": [f"{web.hash}:T1"]}


def test_permission_filtering(world: World) -> None:
    web, lib, secret = (world.registered(name) for name in ("web", "lib", "secret"))
    keep(web, T1={"labels": ["auth"]})
    keep(lib, T1={"labels": ["auth"]})
    keep(secret, T1={"labels": ["auth"], "depends": ["web:T1"]})
    grant_permission(world.home, web, secret, Level.NONE, "")
    here = Nexus(Path(web.path))

    assert [row["ref"] for row in told(here, "discover", "T1")["results"]] == ["lib:T1"]
    assert [row["ref"] for row in told(here, "search", "--label", "auth")["results"]] == ["lib:T1", "web:T1"]
    assert told(here, "dependents", "T1")["dependents"] == []
    assert "secret" not in here.ok("graph", "--format", "dot")


@pytest.fixture
def three(world: World) -> Nexus:
    """project-a, -b and -c as in §8.2.1; we stand in the first."""
    return Nexus(Path(world.begin_with("three", _three).path))


def _three(world: World) -> Project:
    a, b, c = (world.registered(f"project-{name}") for name in "abc")
    keep(
        a,
        T000={"title": "Accounts", "type": "epic"},
        T001={"title": "Login", "labels": ["auth"], "parentId": "T000", "description": "JWT validation of tokens"},
    )
    keep(
        b,
        T000={"title": "Reports", "type": "epic"},
        T001={"title": "Table of sales", "parentId": "T000"},
        T005={"title": "Sign in", "labels": ["auth"], "parentId": "T000", "description": "authentication"},
        T006={"title": "Login", "description": "the JWT validation of tokens"},
    )
    keep(c, T001={"title": "Vault", "labels": ["auth"]})
    return a


def test_discover_cross_project_by_labels(three: Nexus) -> None:
    found = told(three, "discover", "T001", "--method", "labels")

    assert (found["ref"], found["method"]) == ("project-a:T001", "labels")
    assert [(row["ref"], row["score"], row["reason"]) for row in found["results"]] == [
        ("project-b:T005", 1.0, "Shared labels: auth"),
        ("project-c:T001", 1.0, "Shared labels: auth"),
    ]


def test_discover_cross_project_by_description(three: Nexus) -> None:
    (found,) = told(three, "discover", "T001", "--method", "description")["results"]

    assert (found["ref"], found["score"], found["method"]) == ("project-b:T006", 1.0, "description")
    assert found["reason"] == "Shared words: jwt, login, tokens, validation"


def test_no_hierarchy_boost_cross_project(three: Nexus) -> None:
    found = told(three, "discover", "T001")["results"]
    other = next(row for row in found if row["ref"] == "project-b:T005")

    assert other["scores"]["hierarchyBoost"] == 0.0
    assert told(three, "discover", "T001", "--method", "hierarchy")["results"] == []


def test_permission_blocks_discovery(three: Nexus) -> None:
    asked = ("discover", "T001", "--method", "labels")
    assert [row["project"] for row in told(three, *asked)["results"]] == ["project-b", "project-c"]

    three.ok("grant", "project-a", "project-c", "--permission", "none")

    assert [row["project"] for row in told(three, *asked)["results"]] == ["project-b"]
    assert told(three, *asked, "--scope", "project-c")["error"]["code"] == 71


def test_wildcard_search_all_projects(three: Nexus) -> None:
    found = told(three, "search", "--id", "*:T001")

    assert [(row["ref"], row["title"]) for row in found["results"]] == [
        ("project-a:T001", "Login"),
        ("project-b:T001", "Table of sales"),
        ("project-c:T001", "Vault"),
    ]
    assert found["total"] == 3


def test_create_cross_project_dependency(world: World) -> None:
    a = world.registered("project-a")
    world.registered("auth-lib", T456="JWT validation")
    here = Nexus(Path(a.path))
    here.ok("grant", "project-a", "auth-lib", "--permission", "write")

    added = told(here, "task", "add", "Implement login endpoint", "--depends", "auth-lib:T456")["task"]
    found = told(here, "deps", added["id"])

    assert added["depends"] == ["auth-lib:T456"]
    (one,) = found["dependencies"]
    assert (one["project"], one["ref"], one["location"]) == ("auth-lib", "auth-lib:T456", "external")
    assert (found["blocked"], found["blockedBy"]) == (True, ["auth-lib:T456 (pending)"])
    (back,) = told(here, "dependents", "auth-lib:T456")["dependents"]
    assert (back["ref"], back["location"]) == (f"project-a:{added['id']}", "external")


def test_global_search_and_show_workflow(three: Nexus) -> None:
    lines = three.ok("search", "authentication", "--scope", "all").splitlines()
    assert [line.split()[0] for line in lines] == ["project-b:T005"]
    assert {row["ref"] for row in told(three, "search", "validation")["results"]} == {
        "project-a:T001", "project-b:T006"}  # fmt: skip

    shown = told(three, "show", "project-b:T005")

    assert (shown["id"], shown["ref"], shown["project"]) == ("T005", "project-b:T005", "project-b")
    assert shown["_meta"]["project"]["name"] == "project-b"


def test_a_cleo_folder_is_read_anew_for_other_bytes_not_for_another_time(world: World) -> None:
    place = world.cleo_project("old", T7="Ancient")
    world.register(place)
    file = place / ".cleo" / "todo.json"

    assert rebuilt(world, place) == ["old"]
    os.utime(file, (1, 1))
    assert rebuilt(world, place) == []
    file.write_text(file.read_text().replace("Ancient", "Renewed"))
    assert rebuilt(world, place) == ["old"]


def test_what_lies_in_a_project_that_is_away_is_said_to_be_away(world: World) -> None:
    web, lib = world.registered("web"), world.registered("lib", T1="Tokens")
    keep(web, T1={"depends": ["lib:T1", "lib:T9"]})
    place, away = Path(web.path), "its project cannot be read where it is registered"

    def reasons(network: TaskNetwork) -> tuple[list[str | None], list[str]]:
        row = network.index.task(web.hash, "T1")
        assert row is not None
        known = [one.get("reason") for one in network.dependencies(row)]
        return known, [one["reason"] for one in network.orphans]

    assert look(world, place, reasons) == ([None, "does not exist"], ["the task does not exist"])
    Path(lib.path).rename(world.root / "elsewhere")
    assert look(world, place, reasons) == ([away, away], [away, away])
    (world.root / "elsewhere").rename(lib.path)
    assert look(world, place, reasons) == ([None, "does not exist"], ["the task does not exist"])


def test_indexing_many_projects_shows_how_far_it_is_on_a_terminal_only(world: World) -> None:
    place, *_ = [Path(world.registered(f"p{number}").path) for number in range(5)]

    assert "indexing 5 of 5: p4" in terminal(place, "git", "nexus", "index")
    done = Nexus(place)("index", "--rebuild")
    assert (done.stdout, done.stderr) == ("5 projects, 0 tasks, 0 dependencies; 5 projects read again\n", "")
