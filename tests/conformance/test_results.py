"""What the tools really answer to the calls of our fixtures fits their result classes, and made wrong it does not."""

from typing import Any

import pytest

from gitnexus.app.tools import TOOLS, ToolSession, call_session_tool
from gitnexus.base.errors import NexusError
from gitnexus.conformance.fixture import Fixture, resolve_state_path
from gitnexus.conformance.load import load_fixtures
from gitnexus.conformance.run import HARNESS
from gitnexus.conformance.sandbox import opened_sandbox
from gitnexus.projects.open_session import open_session
from tests.conformance.places import OURS
from tests.wrong_answers import require_right_and_refuse_wrong

FIXTURES = [one.fixture for one in load_fixtures(OURS) if one.fixture is not None]


def answers(fixture: Fixture) -> list[tuple[str, dict[str, Any]]]:
    """Return the answers to the calls of a fixture that succeed, by tool."""
    harness = fixture.harness or HARNESS
    found = []
    with opened_sandbox(harness) as place:
        for path, content in fixture.seeds.items():
            place.write_seed(resolve_state_path(path, harness), content)
        session = open_session(place.repository, harness)
        try:
            for step in fixture.steps:
                try:
                    answer = call_session_tool(ToolSession(session), step.call.tool, step.call.params)
                except NexusError:
                    continue
                found.append((step.call.tool, answer))
        finally:
            session.state.close()
    return found


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.test_id)
def test_each_answer_fits_and_none_fits_that_is_wrong(fixture: Fixture) -> None:
    for tool, answer in answers(fixture):
        assert require_right_and_refuse_wrong(TOOLS[tool], answer) > len(answer)


def test_the_fixtures_call_every_tool() -> None:
    assert {step.call.tool for fixture in FIXTURES for step in fixture.steps} == set(TOOLS)
