"""Our own fixtures hold over both transports, say what they cover, and every file that was written fits its schema."""

import json
from dataclasses import replace

import pytest

from gitnexus.conformance.coverage import asserted_answer_fields, asserted_state_fields, read_schemas
from gitnexus.conformance.load import LoadedFixture, load_fixtures
from gitnexus.conformance.mcpserver import McpTransport
from gitnexus.conformance.toolcommand import ToolTransport
from tests.conformance.forkedtool import ForkedTool
from tests.conformance.places import OURS, UPSTREAM, ran
from tests.conformance.watch import Watching, complaints
from tests.conftest import Nexus
from tests.rows import few_fast

FIXTURES = load_fixtures(OURS)
# It asks for the names of all tools once. The tests below start a command, or a server, as others would.
FORKED = ForkedTool()
each = pytest.mark.parametrize("one", [pytest.param(one, id=one.test_id) for one in FIXTURES])


@pytest.mark.slow
@each
def test_it_holds_over_git_nexus_tool_and_what_it_wrote_fits_the_schemas(one: LoadedFixture) -> None:
    transport = Watching(FORKED)

    result = ran(one, transport)

    assert result.why == ""
    assert complaints(transport.written, read_schemas(OURS / "schemas")) == []
    if not one.test_id.startswith("addition_"):  # upstream's schemas do not know our additions
        assert complaints(transport.written, read_schemas(UPSTREAM / "state-schemas")) == []


@pytest.mark.slow
def test_all_hold_over_mcp_and_leave_nothing_untouched(nexus: Nexus) -> None:
    done = nexus("conformance", "--coverage", "--json")

    told = json.loads(done.stdout)

    assert [(test["id"], test["why"]) for test in told["tests"] if test["status"] != "passed"] == []
    assert [name for share in told["coverage"] for name in share["untouched"]] == []
    assert (done.returncode, told["passed"]) == (0, len(FIXTURES))


@each
def test_it_covers_what_it_says_and_nothing_more(one: LoadedFixture) -> None:
    assert one.fixture is not None
    said = {
        kind: {(owner, field) for owner, fields in one.fixture.covers.get(kind, {}).items() for field in fields}
        for kind in ("state_schemas", "return_value")
    }

    assert said == {
        "state_schemas": set(asserted_state_fields([one.fixture])),
        "return_value": set(asserted_answer_fields([one.fixture])),
    }


@pytest.mark.parametrize("transport", few_fast([ToolTransport(), McpTransport()]), ids=["tool", "mcp"])
def test_a_fixture_that_expects_something_else_fails_against_the_real_tools(
    transport: ToolTransport | McpTransport,
) -> None:
    good = next(one.fixture for one in FIXTURES if one.test_id == "task_list_and_context_count")
    assert good is not None
    expects_more = replace(good, last=replace(good.last, fails=True, error_contains="nothing like this"))

    result = ran(LoadedFixture("wrong", expects_more), transport)

    assert result.why == "step 2, context: an error is expected, and the call succeeds"
