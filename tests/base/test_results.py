"""Every tool's result is a pydantic class: what it allows, and what its schema says, are the same."""

from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator

from gitnexus.app.tools import TOOLS
from gitnexus.base.document import Many
from gitnexus.base.record import Limits, Record, StoredRecord
from gitnexus.base.results import OneOf, Result, Written, WrongResult
from gitnexus.base.tool import NO_PARAMETERS, Tool, check_result, input_schema_of, load_result, output_schema_of
from gitnexus.gateway.table import TOOLS as GATEWAY

ALL = [*TOOLS.values(), *GATEWAY.values()]


class Fruit(Record):
    kind: Literal["apple", "pear"]
    weight: float | None = None


class Basket(StoredRecord):
    first_name: Annotated[str, Limits(minLength=1)]
    fruits: tuple[Fruit, ...] = ()
    owner: str | None = None
    hidden: str | None = None


class BasketMore(Result):
    is_full: bool


class BasketAnswer(Result):
    basket: Annotated[dict[str, Any], Written(Basket, more=BasketMore, without=("hidden",))]
    nobody: str | None
    reason: str | None = None
    numbers: Many[int]


class NothingAnswer(Result):
    exists: Literal[False]


class EitherAnswer(OneOf[NothingAnswer | BasketAnswer]):
    pass


BASKET = {"firstName": "", "fruits": [{"kind": "apple"}], "isFull": True}
GOOD: dict[str, Any] = {"basket": BASKET, "nobody": None, "numbers": [1]}


def refusal(form: type[BasketAnswer] | type[EitherAnswer], answer: dict[str, Any]) -> str:
    """Return why an answer is refused, "" if it fits; the schema must say the same."""
    fits = Draft202012Validator(form.output_schema()).is_valid(answer)
    try:
        form.check("basket", answer)
    except WrongResult as exc:
        assert not fits, "the schema takes what the class refuses"
        return str(exc)
    assert fits, "the schema refuses what the class takes"
    return ""


@pytest.mark.parametrize("form", [BasketAnswer, EitherAnswer])
@pytest.mark.parametrize(
    "answer",
    [
        GOOD,
        GOOD | {"nobody": "x", "reason": "y", "numbers": []},
        GOOD | {"basket": BASKET | {"fruits": [{"kind": "pear", "weight": 1}], "owner": "o"}},
        GOOD | {"basket": BASKET | {"laterField": [1]}},
    ],
)
def test_what_a_tool_may_return_is_taken(form: type[BasketAnswer], answer: dict[str, Any]) -> None:
    assert refusal(form, answer) == ""


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (GOOD | {"strange": 1}, "the result of basket: strange is not known"),
        ({"basket": BASKET, "numbers": []}, "the result of basket: nobody is missing"),
        (GOOD | {"reason": None}, "should be an object without null in reason"),
        (GOOD | {"numbers": None}, "the result of basket: numbers should be a list"),
        (GOOD | {"numbers": [1.5]}, "the result of basket: numbers[0] should be a whole number"),
        (GOOD | {"numbers": ["1"]}, "the result of basket: numbers[0] should be a whole number"),
        (GOOD | {"basket": {**BASKET, "isFull": 1}}, "the result of basket: basket: isFull should be true or false"),
        (GOOD | {"basket": {**BASKET, "owner": None}}, "should be an object without null in owner"),
        (GOOD | {"basket": {"firstName": "a", "isFull": True}}, "the result of basket: basket: fruits is missing"),
        (GOOD | {"basket": BASKET | {"fruits": [{"kind": "plum"}]}}, "kind should be one of apple, pear"),
        (GOOD | {"basket": BASKET | {"fruits": [{"kind": "pear", "x": 1}]}}, "fruits[0]: x is not known"),
    ],
)
def test_a_wrong_field_is_refused_by_its_name(wrong: dict[str, Any], words: str) -> None:
    assert words in refusal(BasketAnswer, wrong)
    assert refusal(EitherAnswer, wrong)


def test_one_of_several_forms_is_no_mixture_of_them() -> None:
    assert refusal(EitherAnswer, {"exists": False}) == ""
    assert refusal(EitherAnswer, {"exists": True})
    assert refusal(EitherAnswer, GOOD | {"exists": False})


def test_limits_of_a_record_do_not_hold_for_what_was_read_from_a_file() -> None:
    assert "minLength" not in str(BasketAnswer.output_schema())
    assert "hidden" not in BasketAnswer.output_schema()["properties"]["basket"]["properties"]


@pytest.mark.parametrize("tool", ALL, ids=lambda tool: tool.name)
def test_every_tool_has_a_result_class_whose_schema_every_client_can_read(tool: Tool[Any]) -> None:
    schema = output_schema_of(tool)

    assert schema is not None
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert "$ref" not in str(schema)
    for form in schema.get("anyOf", [schema]):
        assert form["additionalProperties"] is False
    assert input_schema_of(tool) != schema
    form = load_result(tool)
    assert form is not None
    with pytest.raises(WrongResult, match=f"^the result of {tool.name}"):
        form.check(tool.name, {"strange": 1})


def test_a_wrong_result_is_a_bug_in_tests_and_reaches_the_caller_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    tool: Tool[None] = Tool("basket", "x", NO_PARAMETERS, lambda *_: {}, result=f"{__name__}:BasketAnswer")

    assert check_result(tool, GOOD) is GOOD
    with pytest.raises(WrongResult, match="strange is not known"):
        check_result(tool, GOOD | {"strange": 1})
    monkeypatch.delenv("NEXUS_CHECK_RESULTS")
    assert check_result(tool, GOOD | {"strange": 1}) == GOOD | {"strange": 1}
