"""Upstream's 46 tests, where they are at hand: a process each, so all are among the slow tests."""

import json

import pytest

from gitnexus.conformance.coverage import read_schemas
from gitnexus.conformance.load import LoadedFixture
from gitnexus.conformance.mcpserver import McpTransport
from tests.conformance.forkedtool import ForkedTool
from tests.conformance.places import UPSTREAM, WHY_ABSENT, needs_upstream, ran, upstream
from tests.conformance.watch import Watching, complaints
from tests.conftest import Nexus

pytestmark = pytest.mark.slow
FIXTURES = upstream()
FORKED = ForkedTool()
each = pytest.mark.parametrize("one", [pytest.param(one, id=one.test_id) for one in FIXTURES])


@needs_upstream
def test_there_are_46_of_them() -> None:
    assert len(FIXTURES) == 46


@pytest.mark.skipif(not FIXTURES, reason=WHY_ABSENT)
@each
def test_it_holds_over_git_nexus_tool_and_what_it_wrote_fits_upstreams_schemas(one: LoadedFixture) -> None:
    transport = Watching(FORKED)

    result = ran(one, transport)

    assert result.why == ""
    assert complaints(transport.written, read_schemas(UPSTREAM / "state-schemas")) == []


@needs_upstream
@pytest.mark.parametrize("name", ["full_plan_cycle", "agent_complete"])
def test_a_story_and_an_event_hold_over_mcp(name: str) -> None:
    assert ran(next(one for one in FIXTURES if one.test_id == name), McpTransport()).why == ""


@needs_upstream
def test_all_46_pass_over_mcp_as_the_command_runs_them(nexus: Nexus) -> None:
    done = nexus("conformance", str(UPSTREAM), "--json")

    told = json.loads(done.stdout)

    assert [(test["id"], test["why"]) for test in told["tests"] if test["status"] != "passed"] == []
    assert (done.returncode, told["passed"], told["failed"], told["skipped"]) == (0, 46, 0, 0)
