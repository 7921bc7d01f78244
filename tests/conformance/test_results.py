"""What the tools really answer to the calls of our fixtures fits their result classes, and made wrong it does not."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gitnexus.app.tools import TOOLS, ToolSession, call_session_tool
from gitnexus.backlog.model import BacklogTask
from gitnexus.base.errors import NexusError
from gitnexus.base.tool import check_result
from gitnexus.conformance.fixture import ExpectedResult, Fixture, resolve_state_path
from gitnexus.conformance.load import LoadedFixture, load_fixtures
from gitnexus.conformance.run import HARNESS
from gitnexus.conformance.sandbox import opened_sandbox
from gitnexus.conformance.toolcommand import ToolTransport, _ToolCaller
from gitnexus.projects.open_session import open_session
from gitnexus.ui.errors import BUG
from tests.conformance.places import OURS, ROOT, ran
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


# git nexus in whose plan_status and context there is a field that their result classes do not have.
_WRONG = """
from dataclasses import replace
from gitnexus.cycle.table import TOOLS
from gitnexus.main import main

def run_wrong(run):
    return lambda *given: {**run(*given), "strange": 1}

for name in ("plan_status", "context"):
    TOOLS[name] = replace(TOOLS[name], run=run_wrong(TOOLS[name].run))
main()
"""


def call_wrong_tool(name: str, place: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-c", _WRONG, "tool", name]
    return subprocess.run(
        argv, cwd=place, env={**env, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )


def test_a_result_that_does_not_fit_is_a_bug_where_results_are_checked(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = call_wrong_tool("plan_status", repository, os.environ)
    monkeypatch.delenv("NEXUS_CHECK_RESULTS")
    unchecked = call_wrong_tool("plan_status", repository, os.environ)

    assert (checked.returncode, checked.stdout) == (BUG, "")
    assert "the result of plan_status: " in checked.stderr
    assert json.loads(unchecked.stdout) == {"active": False, "strange": 1}


def test_a_conformance_run_fails_for_a_result_that_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run_wrong(caller: _ToolCaller, _text: str, *argv: str) -> tuple[int, bytes, bytes]:
        done = call_wrong_tool(*argv[:1], caller._place.repository, caller._place.environment)
        return done.returncode, done.stdout.encode(), done.stderr.encode()

    good = next(one for one in FIXTURES if one.test_id == "task_list_and_context_count")
    only = replace(good, steps=good.steps[-1:], last=ExpectedResult(fails=False))
    transport = ToolTransport()
    transport._names = frozenset(TOOLS)
    monkeypatch.setattr(_ToolCaller, "_run_tool", run_wrong)

    result = ran(LoadedFixture("wrong", only), transport)

    assert result.status == "failed"
    assert f"status {BUG}" in result.why


@pytest.mark.parametrize("value", [5, None, ["x"]])
def test_a_task_may_hold_a_field_that_a_task_of_another_project_has(value: Any) -> None:
    strange = {"project": value, "ref": value, "taskId": value}
    task = BacklogTask.from_value({"id": "T1", "title": "t", **strange}, "T1")

    assert strange.items() <= task.shown().items()
    check_result(TOOLS["backlog_add"], {"task": task.shown()})
