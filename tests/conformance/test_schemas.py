"""The schemas are what the generator makes of the records, and they refuse what the contract refuses."""

import importlib.util
import json
from types import ModuleType
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.conformance.places import OURS

TASK = {"id": 1, "title": "x", "context": "y", "status": "pending", "deps": []}
PLAN = {"id": 1, "topic": "x", "issues": [], "created_at": "2026-02-01T12:00:00Z"}
CYCLE = {"completed_at": "2026-02-01T12:00:00Z", "branch": "main", "plan": None, "tasks": [], "schema_version": "1.0"}


def generator() -> ModuleType:
    found = importlib.util.spec_from_file_location("generate", OURS / "generate.py")
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads((OURS / "schemas" / f"{name}.schema.json").read_text()))


def test_generating_again_changes_nothing() -> None:
    made = generator()

    kept = {path.name: path.read_text() for path in (OURS / "schemas").iterdir()}

    assert kept == {name: made.text(schema) for name, schema in made.schemas().items()}


def test_every_schema_is_one() -> None:
    for path in (OURS / "schemas").iterdir():
        Draft202012Validator.check_schema(json.loads(path.read_text()))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("plan", PLAN),
        ("tasks", {"goal": "x", "decisions": [], "tasks": [TASK]}),
        ("history", {"cycles": []}),
        ("history", {"cycles": [CYCLE, {**CYCLE, "plan": PLAN, "tasks": [TASK]}]}),
        ("agent-tracker", []),
        ("agent-tracker", [{"harness_id": "one", "started_at": "2026-02-01T12:00:00Z"}]),
    ],
)
def test_the_least_that_the_contract_wants_is_enough(name: str, value: Any) -> None:
    assert list(validator(name).iter_errors(value)) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("plan", {**PLAN, "unknown": 1}),
        ("plan", {**PLAN, "id": 0}),
        ("plan", {**PLAN, "topic": ""}),
        ("plan", {key: PLAN[key] for key in ("id", "topic", "issues")}),
        ("tasks", {"goal": "", "decisions": [], "tasks": []}),
        ("tasks", {"goal": "x", "tasks": []}),
        ("tasks", {"goal": "x", "decisions": [], "tasks": [{**TASK, "status": "done"}]}),
        ("tasks", {"goal": "x", "decisions": [], "tasks": [{**TASK, "owner_reuse_policy": "never"}]}),
        ("history", {"cycles": [{**CYCLE, "branch": ""}]}),
        ("history", {"cycles": [{key: CYCLE[key] for key in CYCLE if key != "plan"}]}),
        ("history", {"cycles": [{key: CYCLE[key] for key in CYCLE if key != "schema_version"}]}),
        ("agent-tracker", {}),
        ("agent-tracker", [{"harness_id": "One", "started_at": "2026-02-01T12:00:00Z"}]),
        ("agent-tracker", [{"harness_id": "one", "started_at": "2026-02-01T12:00:00Z", "task_id": 1}]),
        (
            "memory-access",
            {"path": "x", "last_accessed_ts": "2026-02-01T12:00:00Z", "access_count": -1, "last_agent": "x"},
        ),
    ],
)
def test_what_the_contract_refuses_is_refused(name: str, value: Any) -> None:
    assert list(validator(name).iter_errors(value)) != []
