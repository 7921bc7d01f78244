"""`git nexus conformance`: what it prints, what it returns, and that a failure is one."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Nexus

GOOD: dict[str, Any] = {
    "test_id": "no_plan_yet",
    "description": "Without a plan the status says so",
    "covers": {"return_value": {"plan_status": ["active"]}},
    "action": {"tool": "plan_status", "params": {}},
    "postcondition": {"return_value": {"$.active": False}},
}
BAD = {**GOOD, "test_id": "a_plan_already", "postcondition": {"return_value": {"$.active": True}}}
ODD = {**GOOD, "test_id": "odd", "hint": "no such key"}


@pytest.fixture
def fixtures(tmp_path: Path) -> Path:
    folder = tmp_path / "fixtures"
    (folder / "tools").mkdir(parents=True)
    (folder / "tools" / "plan-status.json").write_text(json.dumps([GOOD, BAD, ODD]))
    (folder / "good.json").write_text(json.dumps(GOOD))
    return folder


@pytest.mark.slow
def test_a_failure_is_told_and_is_the_exit_status(nexus: Nexus, fixtures: Path) -> None:
    done = nexus("conformance", str(fixtures), "--transport", "tool")

    assert done.stdout == (
        "ok    no_plan_yet\n"
        "FAIL  a_plan_already: answer: $.active is False, not True\n"
        "FAIL  odd: unusable: the fixture has a key that is not known: hint\n"
        "1 passed, 2 failed, 0 skipped\n"
    )
    assert done.returncode == 1


@pytest.mark.slow
def test_one_file_over_both_transports_as_json(nexus: Nexus, fixtures: Path) -> None:
    done = nexus("conformance", "good.json", "--transport", "both", "--json", place=fixtures)

    told = json.loads(done.stdout)

    assert (done.returncode, told["success"], told["passed"], told["failed"], told["skipped"]) == (0, True, 2, 0, 0)
    assert told["tests"] == [
        {"id": "no_plan_yet", "status": "passed", "why": "", "transport": "mcp"},
        {"id": "no_plan_yet", "status": "passed", "why": "", "transport": "tool"},
    ]


@pytest.mark.slow
def test_gaps_of_other_peoples_fixtures_are_told_and_are_no_failure(nexus: Nexus, fixtures: Path) -> None:
    done = nexus("conformance", str(fixtures / "good.json"), "--transport", "tool", "--coverage")

    assert done.returncode == 0
    assert "untouched parameter  task_add: risk\n" in done.stdout
    assert "untouched schema field  plan.schema.json: topic\n" in done.stdout


def test_a_folder_that_is_not_there_is_an_error_with_words(nexus: Nexus) -> None:
    done = nexus("conformance", "nowhere")

    assert done.returncode == 4
    assert "there is no folder or file" in done.stderr
