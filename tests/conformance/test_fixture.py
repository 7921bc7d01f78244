"""Reading fixtures: what the language does not know is refused, and never passed over."""

import json
from pathlib import Path
from typing import Any

import pytest

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.conformance.fixture import parse_fixture, resolve_state_path
from gitnexus.conformance.load import load_fixtures

GOOD: dict[str, Any] = {
    "test_id": "a_good_one",
    "description": "A fixture that can be used",
    "covers": {"return_value": {"plan_status": ["active"]}},
    "action": {"tool": "plan_status", "params": {}},
    "postcondition": {"return_value": {"$.active": False}},
}
STEP = {"action": {"tool": "plan_status", "params": {}}, "assert_return": {"$.active": False}}
WITHOUT = object()


def changed(**fields: Any) -> dict[str, Any]:
    return {key: value for key, value in {**GOOD, **fields}.items() if value is not WITHOUT}


def test_a_good_fixture_is_understood() -> None:
    fixture = parse_fixture(GOOD)

    assert (fixture.test_id, fixture.steps[0].call.tool, fixture.last.error) == ("a_good_one", "plan_status", False)


@pytest.mark.parametrize(
    "fixture",
    [
        changed(test_id="Not An Id"),
        changed(test_id=WITHOUT),
        changed(description="short"),
        changed(covers=WITHOUT),
        changed(covers={}),
        changed(covers={"return_values": {"plan_status": []}}),
        changed(covers={"return_value": {"plan_status": ["a b"]}}),
        changed(action=WITHOUT),
        changed(event={"type": "agent_spawn"}),
        changed(steps=[STEP]),
        changed(action=WITHOUT, steps=[]),
        changed(action=WITHOUT, steps=[{**STEP, "asserts": {}}]),
        changed(action=WITHOUT, steps=[{"assert_return": {"$.active": False}}]),
        changed(action=WITHOUT, steps=[{**STEP, "event": {"type": "agent_spawn"}}]),
        changed(action=WITHOUT, event={"type": "agent_vanish"}),
        changed(action=WITHOUT, event={"type": "agent_spawn", "parameters": {}}),
        changed(action={"tool": "plan_status"}),
        changed(action={"tool": "nx_plan_status", "params": {}}),
        changed(action={"tool": "plan_status", "params": []}),
        changed(postcondition=WITHOUT),
        changed(postcondition={}),
        changed(postcondition={"return": {"$.active": False}}),
        changed(postcondition={"return_value": {"active": False}}),
        changed(postcondition={"return_value": {"$.issues": []}}),
        changed(postcondition={"error": "yes"}),
        changed(postcondition={"error_contains": ""}),
        changed(postcondition={"error": False, "error_contains": "no"}),
        changed(postcondition={"error": False, "return_value": {"$.error": "no"}}),
        changed(postcondition={"state_files": {"{HOME}/plan.json": None}}),
        changed(postcondition={"state_files": {"../plan.json": None}}),
        changed(postcondition={"state_files": {"/plan.json": None}}),
        changed(postcondition={"state_files": {".nexus/history.json": ["a"]}}),
        changed(precondition={"state_files": {".nexus/history.json": "text"}}),
        changed(precondition={"files": {}}),
        changed(postconditions={}),
        changed(uncovered_params="topic"),
        [],
        "text",
    ],
)
def test_a_fixture_with_anything_that_is_not_known_is_refused(fixture: Any) -> None:
    with pytest.raises(Invalid):
        parse_fixture(fixture)


def test_an_assertion_on_the_error_expects_one() -> None:
    assert parse_fixture(changed(postcondition={"return_value": {"$.error": "No"}})).last.error
    assert not parse_fixture(changed(postcondition={"return_value": {"$.error": None}})).last.error


def test_events_that_name_two_harnesses_are_refused() -> None:
    spawns = [{"event": {"type": "agent_spawn", "params": {"harness_id": name}}} for name in ("one", "two")]

    with pytest.raises(Invalid, match="more than one harness_id"):
        parse_fixture(changed(action=WITHOUT, steps=spawns))


def test_tokens_become_places() -> None:
    assert resolve_state_path("{STATE_ROOT}/{HARNESS_ID}/x.json", "one") == ".nexus/state/one/x.json"


def test_a_broken_file_an_unusable_fixture_and_a_second_of_one_name_each_fail(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "a.json").write_text("{not json")
    (tmp_path / "tools" / "b.json").write_text('{"test_id": "twice_a_key", "test_id": "x"}')
    (tmp_path / "tools" / "c.json").write_text("[]")
    (tmp_path / "tools" / "d.json").write_text(json.dumps([GOOD, GOOD, changed(hint="?")]))

    found = [(one.test_id, one.fixture is not None) for one in load_fixtures(tmp_path)]

    assert found == [
        ("tools/a.json", False),
        ("tools/b.json", False),
        ("tools/c.json", False),
        ("a_good_one", True),
        ("a_good_one", False),
        ("a_good_one", False),
    ]


def test_a_folder_without_fixtures_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there are no fixtures"):
        load_fixtures(tmp_path)
    with pytest.raises(NotFound, match="there is no folder"):
        load_fixtures(tmp_path / "nowhere")
