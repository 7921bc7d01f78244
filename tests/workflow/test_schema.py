"""The JSON Schemas of workflow documents: what they say, and that the program and they agree."""

import copy
import json

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitnexus.adapters.table import ADAPTERS
from gitnexus.base.errors import Invalid, NotFound
from gitnexus.policy.model import ProposedAction
from gitnexus.workflow.definition import (
    MOST_EDGES,
    MOST_NODES,
    WorkflowDefinition,
    parse_workflow,
)
from gitnexus.workflow.schemas import NAMES, WORKFLOW, find_schema_text, read_schema_file
from tests.conftest import examples
from tests.prompts.test_contract import GOOD
from tests.workflow.test_definition import definitions

SCHEMA = json.loads(read_schema_file(WORKFLOW))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_unknown_fields_are_refused_and_needed_ones_are_named() -> None:
    needed = {"WorkflowNode": ["id", "type", "specialist"], "NodeInputs": [], "NodeBudget": [], "WorkflowBudgets": []}

    assert {name: part.get("required", []) for name, part in SCHEMA["$defs"].items()} == needed
    assert SCHEMA["required"] == ["name", "nodes"]
    assert all(part["additionalProperties"] is False for part in (SCHEMA, *SCHEMA["$defs"].values()))


def test_the_schema_has_the_limits_and_agents_of_the_program() -> None:
    assert SCHEMA["properties"]["nodes"]["maxItems"] == MOST_NODES
    assert SCHEMA["properties"]["edges"]["maxItems"] == MOST_EDGES
    adapters = SCHEMA["$defs"]["WorkflowNode"]["properties"]["adapter"]["enum"]
    assert adapters == ["", "embedded", "model", *ADAPTERS]


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
