"""The tools about the graph, as an agent calls them."""

from pathlib import Path
from typing import Any

import pytest

from gitnexus.app.tools import TOOLS, ToolSession, call_session_tool
from gitnexus.base.errors import BadReference, BadUsage, Invalid, NotFound, PermissionDenied, ProjectNotFound
from gitnexus.cycle import Session
from gitnexus.projects.granting import grant_permission
from gitnexus.projects.levels import Level
from gitnexus.projects.model import Project
from gitnexus.state import State
from gitnexus.state.intake import settle_hand_edits
from tests.conftest import Nexus
from tests.projects.conftest import World, keep, told


@pytest.fixture
def web(world: World) -> Project:
    return world.begin_with("web with labels", _web)


def _web(world: World) -> Project:
    project, lib = world.registered("web"), world.registered("lib")
    keep(project, T1={"title": "Login", "labels": ["auth"], "depends": ["lib:T1"]}, T2={"depends": ["T1"]})
    keep(lib, T1={"title": "Tokens", "labels": ["auth", "jwt"]})
    return project


@pytest.fixture
def desk(web: Project) -> ToolSession:
    return ToolSession(Session(State.open(Path(web.path), "long")))


def refs(found: dict[str, Any], key: str = "results") -> list[str]:
    return [row["ref"] for row in found[key]]


def test_a_tool_answers_as_its_command_does(desk: ToolSession, web: Project) -> None:
    nexus = Nexus(Path(web.path))
    envelope = ("$schema", "_meta", "success")

    def command(*argv: str) -> dict[str, Any]:
        return {key: value for key, value in told(nexus, *argv).items() if key not in envelope}

    assert call_session_tool(desk, "nx_deps", {"ref": "T1"}) == {**command("deps", "T1"), **command("dependents", "T1")}
    assert call_session_tool(desk, "nx_discover", {"ref": "T1", "threshold": 0.5}) == command(
        "discover", "T1", "--threshold", "0.5"
    )
    assert call_session_tool(desk, "nx_search", {"query": "tok*"}) == command("search", "tok*")


def test_a_threshold_may_be_a_number_or_text(desk: ToolSession) -> None:
    for threshold in (0.5, "0.5", " 0.50 ", 0, "0"):
        assert refs(call_session_tool(desk, "discover", {"ref": "T1", "threshold": threshold})) == ["lib:T1"]
    assert refs(call_session_tool(desk, "discover", {"ref": "T1", "threshold": 1})) == []


def test_a_threshold_that_is_none_is_refused(desk: ToolSession) -> None:
    for threshold in (2, -0.1, "x", "", "1e-1", True, float("nan"), float("inf"), [0.5]):
        print(repr(threshold))  # which one it was, if one is accepted
        with pytest.raises(Invalid, match="threshold should be"):
            call_session_tool(desk, "discover", {"ref": "T1", "threshold": threshold})


REFUSALS: list[tuple[str, dict[str, Any], type[Exception]]] = [
    ("deps", {"ref": "T9"}, NotFound),
    ("deps", {"ref": "t1"}, BadReference),
    ("deps", {"ref": "*:T1"}, Invalid),
    ("deps", {"ref": "nobody:T1"}, ProjectNotFound),
    ("deps", {}, Invalid),
    ("discover", {"ref": "T1", "method": "magic"}, Invalid),
    ("discover", {"ref": "T1", "limit": 0}, Invalid),
    ("discover", {"ref": "T1", "scope": "nobody"}, ProjectNotFound),
    ("search", {"query": ""}, BadUsage),
    ("search", {"query": "**"}, BadUsage),
    ("search", {"query": "x", "limit": 1001}, Invalid),
    ("search", {"query": "x", "status": "open"}, Invalid),
]


def test_what_makes_no_sense_is_refused(desk: ToolSession) -> None:
    for tool, params, refusal in REFUSALS:
        print(tool, params)  # which one it was, if one is accepted
        with pytest.raises(refusal):
            call_session_tool(desk, tool, params)


def test_an_agent_sees_no_more_than_its_project_may(world: World, desk: ToolSession, web: Project) -> None:
    assert refs(call_session_tool(desk, "search", {"query": "", "label": "auth"})) == ["lib:T1", "web:T1"]
    lib = desk.standpoint.find("lib")

    grant_permission(world.home, web, lib, Level.NONE, "")

    assert refs(call_session_tool(desk, "search", {"query": "", "label": "auth"})) == ["web:T1"]
    assert call_session_tool(desk, "deps", {"ref": "T1"})["dependencies"][0]["reason"] == "may not be read"
    assert refs(call_session_tool(desk, "discover", {"ref": "T1", "threshold": 0})) == []
    for tool, params in (
        ("deps", {"ref": "lib:T1"}),
        ("discover", {"ref": "lib:T1"}),
        ("discover", {"ref": "T1", "scope": "lib"}),
        ("search", {"query": "x", "scope": "lib"}),
    ):
        with pytest.raises(PermissionDenied):
            call_session_tool(desk, tool, params)
    assert [line.result for line in desk.standpoint.read_audit_page(10).lines] == ["denied"] * 4


def test_these_tools_only_read() -> None:
    assert all(TOOLS[name].reads_only for name in ("deps", "discover", "search"))


def test_what_was_edited_by_hand_is_taken_in_before_the_graph_is_looked_at(world: World) -> None:
    place = world.git_project("web", T1="One", T2="Two")
    desk = ToolSession(Session(State.open(place, "long")))
    settle_hand_edits(desk.session.state)
    (place / ".nexus" / "backlog" / "T2.json").write_text(
        '{"id": "T2", "title": "Two", "status": "pending", "depends": ["T1"]}'
    )

    assert refs(call_session_tool(desk, "deps", {"ref": "T2"}), "dependencies") == ["web:T1"]


def test_a_search_by_id_needs_no_words_and_context_counts_parents(desk: ToolSession, web: Project) -> None:
    keep(web, T3={"title": "Tokens", "type": "epic"}, T4={"title": "rotate", "parentId": "T3"})
    asked = {"ref": "T4", "method": "description", "threshold": 0.2}

    assert refs(call_session_tool(desk, "search", {"id": "*:T1"})) == ["lib:T1", "web:T1"]
    assert refs(call_session_tool(desk, "discover", asked)) == []
    assert refs(call_session_tool(desk, "discover", {**asked, "context": True})) == ["lib:T1", "web:T3"]


def test_a_task_of_another_project_is_shown_and_changed_as_far_as_that_permits(
    world: World, desk: ToolSession, web: Project
) -> None:
    lib = desk.standpoint.find("lib")
    assert call_session_tool(desk, "backlog_show", {"task": "lib:T1"})["task"]["ref"] == "lib:T1"
    with pytest.raises(PermissionDenied):
        call_session_tool(desk, "backlog_update", {"task": "lib:T1", "labels": ["x"]})
    grant_permission(world.home, web, lib, Level.WRITE, "")
    grant_permission(world.home, lib, web, Level.WRITE, "")
    with pytest.raises(PermissionDenied):
        call_session_tool(desk, "backlog_update", {"task": "lib:T1", "status": "done"})
    with pytest.raises(PermissionDenied):
        call_session_tool(desk, "backlog_complete", {"task": "lib:T1"})

    changed = call_session_tool(desk, "backlog_update", {"task": "lib:T1", "labels": ["x"]})["task"]
    claimed = call_session_tool(desk, "backlog_claim", {"task": "lib:T1", "agent": "ann"})["task"]

    assert (changed["ref"], changed["project"], changed["labels"]) == ("lib:T1", "lib", ["auth", "jwt", "x"])
    assert claimed["claim"]["by"] == "ann"
    assert call_session_tool(desk, "backlog_show", {"task": "web:T1"})["task"]["title"] == "Login"
    assert [(line.operation, line.result) for line in desk.standpoint.read_audit_page(9).lines] == [
        ("git nexus task claim", "allowed"),
        ("git nexus task update", "allowed"),
        ("git nexus task complete", "denied"),
        ("git nexus task complete", "denied"),
        ("git nexus task update", "denied"),
    ]


def test_an_id_alone_means_ones_own_task_also_in_another_project(world: World, desk: ToolSession, web: Project) -> None:
    lib = desk.standpoint.find("lib")
    grant_permission(world.home, web, lib, Level.WRITE, "")
    keep(web, T3={"title": "First"})

    after = call_session_tool(desk, "backlog_update", {"task": "lib:T1", "depends": ["T3"]})["task"]

    assert after["depends"] == ["web:T3"]
