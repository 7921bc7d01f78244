"""Every tool's parameters are a pydantic class: what it takes, and what its schema says, are the same."""

import subprocess
import sys
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from gitnexus.app.tools import TOOLS
from gitnexus.base.errors import Invalid
from gitnexus.base.parameters import Fraction, Number, Parameters, describe_kind
from gitnexus.base.tool import Tool, input_schema_of
from gitnexus.gateway.table import TOOLS as GATEWAY
from gitnexus.runs.agent.tools import TOOLS as OF_RUNS


class Part(Parameters):
    id: str
    size: Number | None = None


class Order(Parameters):
    name: str
    count: Number | None = None
    share: Fraction | None = None
    numbers: list[Number] | None = None
    words: dict[str, str] | None = None
    parts: list[Part] | None = None


def test_numbers_may_be_sent_as_text_and_null_is_left_out() -> None:
    given = {"name": "a", "count": " 3 ", "share": "0.5", "numbers": [1, "-2"], "words": None,
             "parts": [{"id": "p", "size": "4"}, {"id": "q", "size": None}]}  # fmt: skip

    assert Order.check("order", given) == {
        "name": "a", "count": 3, "share": 0.5, "numbers": [1, -2], "parts": [{"id": "p", "size": 4}, {"id": "q"}],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "name is required for order"),
        ({"name": None}, "name is required for order"),
        ({"name": "a", "zap": 1}, "order has no parameter 'zap'"),
        *(({"name": "a", "count": one}, "count should be a whole number") for one in (1.0, 1e0, True, "1.0", "1e0")),
        *(({"name": "a", "share": one}, "share should be a number") for one in (True, "x", 1e16, float("nan"))),
        ({"name": "a", "numbers": [1.0]}, "numbers should be a list of whole numbers"),
        ({"name": "a", "words": {"k": None}}, "words should be an object of texts"),
        ({"name": "a", "parts": {}}, "parts should be a list of objects"),
        ({"name": "a", "parts": [1]}, "parts should be a list of objects"),
        ({"name": "a", "parts": [{"id": "p"}, {}]}, "parts, number 2: id is missing"),
        ({"name": "a", "parts": [{"id": "p", "zap": 1}]}, "parts, number 1: there is no field 'zap'"),
        ({"name": "a", "parts": [{"id": "p", "size": 1.5}]}, "parts, number 1: size should be a whole number"),
    ],
)
def test_what_is_wrong_is_said_by_the_name_of_the_parameter(given: dict[str, Any], words: str) -> None:
    with pytest.raises(Invalid) as refused:
        Order.check("order", given)

    assert refused.value.message == words


@pytest.mark.parametrize("tool", [*TOOLS.values(), *GATEWAY.values(), *OF_RUNS.values()], ids=lambda tool: tool.name)
def test_each_tool_has_a_schema_without_references_whose_fields_are_explained(tool: Tool[Any]) -> None:
    schema = input_schema_of(tool)

    Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False and "$ref" not in str(schema)
    assert all(field["description"] and describe_kind(field) for field in schema["properties"].values())


def test_listing_tools_does_not_load_pydantic() -> None:
    code = "import sys; import gitnexus.app.tools, gitnexus.gateway.table; print('pydantic' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
