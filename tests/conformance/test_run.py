"""The runner itself, against tools that misbehave: each way of being wrong makes a fixture fail."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gitnexus.conformance.fixture import parse_fixture
from gitnexus.conformance.load import LoadedFixture
from gitnexus.conformance.run import run_fixture, run_fixtures
from gitnexus.conformance.sandbox import FixtureSandbox
from gitnexus.conformance.transport import Caller, ToolAnswer, check_answer

Tool = Callable[[FixtureSandbox, Mapping[str, Any]], ToolAnswer]


class Pretended:
    """A transport to one tool that a test makes up."""

    name = "pretended"

    def __init__(self, tool: Tool) -> None:
        self._tool = tool

    @asynccontextmanager
    async def open(self, place: FixtureSandbox) -> AsyncIterator[Caller]:
        yield _Caller(place, self._tool)


class _Caller:
    def __init__(self, place: FixtureSandbox, tool: Tool) -> None:
        self._place, self._tool = place, tool

    async def names(self) -> frozenset[str]:
        return frozenset({"act", "agent_spawn"})

    async def call(self, tool: str, params: Mapping[str, Any]) -> ToolAnswer:
        return self._tool(self._place, params)


def why(tool: Tool, **fields: Any) -> str:
    """Return why a fixture fails with a tool, empty if it passes."""
    row = {
        "test_id": "made_up",
        "description": "A fixture that a test made up",
        "covers": {"return_value": {"act": ["x"]}},
        "action": {"tool": "act", "params": {}},
        **fields,
    }
    row = {key: value for key, value in row.items() if value is not None}
    return asyncio.run(run_fixture(LoadedFixture("made_up", parse_fixture(row)), Pretended(tool))).why


def says(value: Any) -> Tool:
    return lambda _place, _params: check_answer(value, failed="error" in value)


def writes(path: str, text: str) -> Tool:
    def tool(place: FixtureSandbox, _params: Mapping[str, Any]) -> ToolAnswer:
        (place.repository / path).parent.mkdir(parents=True, exist_ok=True)
        (place.repository / path).write_text(text)
        return check_answer({}, failed=False)

    return tool


def test_a_tool_that_does_as_expected_passes() -> None:
    assert why(says({"x": 1}), postcondition={"return_value": {"$.x": 1}}) == ""


@pytest.mark.parametrize(
    ("value", "postcondition", "reason"),
    [
        ({"x": 2}, {"return_value": {"$.x": 1}}, "answer: $.x is 2, not 1"),
        ({}, {"return_value": {"$.x": 1}}, "answer: $.x is nothing, not 1"),
        ({"error": "No"}, {"return_value": {"$.x": None}}, "an error that nobody expects: No"),
        ({"error": "No"}, {"error": False}, "an error that nobody expects: No"),
        ({"x": 1}, {"error": True}, "an error is expected, and the call succeeds"),
        ({"x": 1}, {"error_contains": "No"}, "an error is expected, and the call succeeds"),
        ({"error": "Not you"}, {"error_contains": "not me"}, "the error is 'Not you', without 'not me'"),
        ({"error": "Not you"}, {"return_value": {"$.error": "Not"}}, "answer: $.error is 'Not you', not 'Not'"),
        ({}, {"state_files": {"x.json": {}}}, "x.json is missing"),
    ],
)
def test_a_wrong_answer_fails(value: Any, postcondition: Any, reason: str) -> None:
    assert why(says(value), postcondition=postcondition) == reason


@pytest.mark.parametrize(
    ("text", "expected", "reason"),
    [
        ('{"a": 1}', None, ".nexus/x.json is there"),
        ('{"a": 1}', {"$.a": 2}, ".nexus/x.json: $.a is 1, not 2"),
        ("{", {"$.a": 1}, ".nexus/x.json: not valid JSON"),
        ("{", {}, ""),
        ('{"a": 1}', {"$.a": 1}, ""),
    ],
)
def test_a_state_file_is_judged_by_what_it_holds(text: str, expected: Any, reason: str) -> None:
    found = why(writes(".nexus/x.json", text), postcondition={"state_files": {".nexus/x.json": expected}})

    assert found.startswith(reason) and bool(found) == bool(reason)


def test_a_file_anywhere_else_fails_whatever_the_fixture_asks() -> None:
    asked = {"error": False}

    assert why(writes("../outside.md", "x"), postcondition=asked) == "files appeared outside of .nexus: outside.md"
    assert "repository/stray" in why(writes("stray", "x"), postcondition=asked)
    assert "home/.config/x" in why(writes("../home/.config/x", "x"), postcondition=asked)


def test_a_tool_that_does_not_exist_fails_even_where_an_error_is_expected() -> None:
    found = why(says({"error": "No"}), action={"tool": "atc", "params": {}}, postcondition={"error": True})

    assert found == "there is no tool atc"


@pytest.mark.parametrize(
    ("value", "failed"),
    [({"error": "No"}, False), ({"x": 1}, True), ([], False), ({"error": 1}, True), ({"error": ""}, True)],
)
def test_error_channels_that_do_not_agree_fail(value: Any, failed: bool) -> None:
    assert "the answer" in why(lambda _place, _params: check_answer(value, failed), postcondition={"error": failed})


def test_a_step_that_fails_is_named_and_later_ones_are_not_called() -> None:
    called = []

    def tool(_place: FixtureSandbox, params: Mapping[str, Any]) -> ToolAnswer:
        called.append(params["n"])
        return check_answer({"n": params["n"]}, failed=False)

    steps = [{"action": {"tool": "act", "params": {"n": n}}, "assert_return": {"$.n": min(n, 2)}} for n in (1, 2, 3, 4)]

    assert why(tool, action=None, steps=steps) == "step 3, act: answer: $.n is 3, not 2"
    assert called == [1, 2, 3]


def test_what_holds_after_all_steps_is_looked_at_after_the_last() -> None:
    steps = [{"action": {"tool": "act", "params": {}}}] * 2

    assert why(says({"x": 1}), action=None, steps=steps, postcondition={"return_value": {"$.x": 2}}).startswith(
        "step 2"
    )


def test_preconditions_are_there_before_the_call_and_the_harness_is_told() -> None:
    tracker = "{STATE_ROOT}/{HARNESS_ID}/agent-tracker.json"

    def tool(place: FixtureSandbox, _params: Mapping[str, Any]) -> ToolAnswer:
        held = place.load(".nexus/state/one/agent-tracker.json")
        lines = place.load(".nexus/lines.jsonl")
        return check_answer({"held": held, "lines": lines, "harness": place.environment["NEXUS_HARNESS"]}, failed=False)

    found = why(
        tool,
        action=None,
        event={"type": "agent_spawn", "params": {"harness_id": "one"}},
        precondition={"state_files": {tracker: [], ".nexus/lines.jsonl": [{"n": 1}, {"n": 2}], "absent": None}},
        postcondition={
            "return_value": {"$.held.length": 0, "$.lines[1].n": 2, "$.harness": "one"},
            "state_files": {"absent": None, tracker: {"$.length": 0}},
        },
    )

    assert found == ""


def test_a_sandbox_shows_nothing_of_the_person_who_runs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("NEXUS_PROJECT", "/nowhere")

    def tool(place: FixtureSandbox, _params: Mapping[str, Any]) -> ToolAnswer:
        return check_answer(
            {name: value for name, value in place.environment.items() if "nowhere" in value}, failed=False
        )

    assert why(tool, postcondition={"return_value": {"$.GIT_DIR": None, "$.NEXUS_PROJECT": None}}) == ""


def test_results_come_in_the_order_of_the_fixtures_for_each_transport() -> None:
    rows = [LoadedFixture(f"unusable_{n}", None, "because") for n in range(5)]
    told: list[str] = []

    results = run_fixtures(rows, [Pretended(says({})), Pretended(says({}))], lambda one: told.append(one.test_id))

    assert told == [row.test_id for row in rows] * 2
    assert {(one.status, one.why) for one in results} == {("failed", "because")}
