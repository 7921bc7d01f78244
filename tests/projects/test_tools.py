"""The tools about projects, as an agent calls them."""

import json
from pathlib import Path
from typing import Any

import pytest

from gitnexus.app.tools import TOOLS, ToolSession, call_session_tool
from gitnexus.base.errors import NexusError, PermissionDenied, ProjectNotFound
from gitnexus.cycle import Session
from gitnexus.projects.granting import grant_permission
from gitnexus.projects.levels import Level
from gitnexus.state import State
from tests.conftest import Nexus, run_git
from tests.projects.conftest import World


def desk(place: Path) -> ToolSession:
    return ToolSession(Session(State.open(place, "long")))


def names(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(row["name"], row["permission"]) for row in found["projects"]]


def test_an_agent_sees_what_its_project_may_read(world: World) -> None:
    web, api, secret = (world.registered(name) for name in ("web", "api", "secret"))
    grant_permission(world.home, web, secret, Level.NONE, "")
    grant_permission(world.home, web, api, Level.WRITE, "")
    here = desk(Path(web.path))

    found = call_session_tool(here, "nx_projects", {})

    assert (found["current"], names(found)) == ("web", [("api", "write"), ("web", "execute")])
    assert call_session_tool(here, "nx_project_show", {"name": "api"})["project"]["permission"] == "write"
    with pytest.raises(PermissionDenied):
        call_session_tool(here, "nx_project_show", {"name": "secret"})
    told = json.loads(Nexus(Path(web.path)).ok("permissions", "--audit", "--json"))
    assert [entry["result"] for entry in told["entries"]] == ["denied"]


def test_a_long_lived_server_sees_what_changes(world: World) -> None:
    web = world.registered("web")
    here = desk(Path(web.path))
    assert names(call_session_tool(here, "projects", {})) == [("web", "execute")]

    api = world.registered("api")
    assert names(call_session_tool(here, "projects", {})) == [("api", "read"), ("web", "execute")]

    grant_permission(world.home, web, api, Level.NONE, "")
    assert names(call_session_tool(here, "projects", {})) == [("web", "execute")]


def test_a_repository_that_becomes_a_project_is_one_from_then_on(world: World) -> None:
    run_git(world.root, "init", "-q", "new")
    here = desk(world.root / "new")
    assert call_session_tool(here, "projects", {}) == {"projects": []}

    call_session_tool(here, "plan_start", {"topic": "x", "issues": ["y"], "research_summary": ""})
    call_session_tool(here, "task_close", {})

    assert names(call_session_tool(here, "projects", {})) == [("new", "execute")]


def test_an_agent_has_no_tool_to_grant_itself_anything() -> None:
    assert [name for name in TOOLS if "grant" in name or "permission" in name or "regist" in name] == []
    assert all(TOOLS[name].reads_only for name in ("projects", "project_show"))


def test_what_is_not_there_is_an_error(world: World) -> None:
    here = desk(Path(world.registered("web").path))

    with pytest.raises(ProjectNotFound):
        call_session_tool(here, "project_show", {"name": "nobody"})
    with pytest.raises(NexusError):
        call_session_tool(here, "project_show", {})
