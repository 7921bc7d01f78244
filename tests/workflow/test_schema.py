"""The JSON Schema says what the records say."""

import copy
import json
import typing
from typing import Any, Literal, get_args, get_origin

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitnexus.adapters.table import ADAPTERS
from gitnexus.base.errors import Invalid, NotFound
from gitnexus.base.record import Record, _record_fields
from gitnexus.policy.model import ProposedAction
from gitnexus.workflow.definition import (
    MOST_EDGES,
    MOST_NODES,
    NodeBudget,
    NodeInputs,
    WorkflowBudgets,
    WorkflowDefinition,
    WorkflowNode,
    parse_workflow,
)
from gitnexus.workflow.schemas import NAMES, WORKFLOW, find_schema_text, read_schema_file
from tests.conftest import examples
from tests.prompts.test_contract import GOOD
from tests.workflow.test_definition import definitions

SCHEMA = json.loads(read_schema_file(WORKFLOW))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
RECORDS: list[type[Record]] = [WorkflowNode, NodeInputs, NodeBudget, WorkflowBudgets]


def part(record: type[Record]) -> dict[str, Any]:
    found: dict[str, Any] = SCHEMA if record is WorkflowDefinition else SCHEMA["$defs"][record.__name__]
    return found


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("record", [WorkflowDefinition, *RECORDS], ids=lambda record: record.__name__)
def test_a_record_and_its_schema_have_the_same_fields(record: type[Record]) -> None:
    fields = _record_fields(record)

    assert list(part(record)["properties"]) == [key for _, key, _, _ in fields]
    assert part(record).get("required", []) == [key for _, key, _, needed in fields if needed]
    assert part(record)["additionalProperties"] is False
    for _, key, hint, _ in fields:
        _same(part(record)["properties"][key], hint)


def _same(schema: dict[str, Any], hint: Any) -> None:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if name != "amount":
            assert hint.__name__ == name
            return
        schema = SCHEMA["$defs"][name]
    if get_origin(hint) is Literal:
        assert schema["enum"] == list(get_args(hint))
    elif get_origin(hint) is tuple:
        assert schema["type"] == "array"
        _same(schema["items"], typing.get_args(hint)[0])
    elif "const" in schema:
        assert hint is int
    elif "enum" not in schema:
        assert schema["type"] == {str: "string", int: "integer"}[hint]


def test_the_schema_has_the_limits_and_agents_of_the_program() -> None:
    assert SCHEMA["properties"]["nodes"]["maxItems"] == MOST_NODES
    assert SCHEMA["properties"]["edges"]["maxItems"] == MOST_EDGES
    assert part(WorkflowNode)["properties"]["adapter"]["enum"] == ["", *ADAPTERS]


@settings(max_examples=examples(30))
@given(definitions())
def test_what_the_program_takes_the_schema_takes(made: WorkflowDefinition) -> None:
    VALIDATOR.validate(made.plain())


@given(definitions(), st.data())
def test_what_the_schema_refuses_the_program_refuses(made: WorkflowDefinition, data: st.DataObject) -> None:
    broken = copy.deepcopy(made.plain())
    place = data.draw(st.sampled_from([broken, broken["nodes"][0], broken["budgets"], broken["nodes"][0]["inputs"]]))
    key = data.draw(st.sampled_from([*place, "other"]))
    place[key] = data.draw(st.sampled_from([None, 1, -1, "x", "", [], ["x"], [1], {}, {"x": 1}, True, 1.5]))
    if VALIDATOR.is_valid(broken):
        return

    with pytest.raises(Invalid):
        parse_workflow(broken, "f")


def test_each_form_has_a_schema_that_its_outputs_keep() -> None:
    outputs = {"research": GOOD["Research"], "plan": GOOD["MakePlan"], "plan_patch": GOOD["PlanPatch"],
               "exec.result": GOOD["ExecStep"]}  # fmt: skip
    action = ProposedAction(id="a1", kind="patch", summary="s", details={"diff": "d", "n": [1]}).plain()
    for name in NAMES[1:]:
        found = json.loads(find_schema_text(name))
        jsonschema.Draft202012Validator.check_schema(found)
        jsonschema.validate(outputs.get(name, action), found)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**outputs.get(name, action), "more": 1}, found)
    with pytest.raises(NotFound):
        find_schema_text("nope")
