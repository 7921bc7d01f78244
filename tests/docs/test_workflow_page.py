"""The pages about workflows say what the program says, and how often the router is right."""

import json
import re
from pathlib import Path

import pytest

from gitnexus.base.document import Document
from gitnexus.base.errors import Invalid
from gitnexus.base.record import Record, _record_fields
from gitnexus.workflow.budget import CostWeights, CountedStep
from gitnexus.workflow.commands import CustomMacroStep, parse_custom_macro
from gitnexus.workflow.definition import (
    OUTPUTS,
    SPECIALISTS,
    NodeBudget,
    NodeInputs,
    WorkflowBudgets,
    WorkflowDefinition,
    WorkflowNode,
)
from gitnexus.workflow.macros import MACROS
from gitnexus.workflow.proposal import SURE
from gitnexus.workflow.settings import RouterSettings, WorkflowSettings, parse_workflow_settings
from gitnexus.workflow.words import EXEC_KEYWORDS, PLAN_KEYWORDS, RESEARCH_KEYWORDS, RESEARCH_PHRASES
from tests.workflow.table import SEEN, UNSEEN, accuracy

DOCS = Path(__file__).parents[2] / "docs"
REFERENCE = (DOCS / "reference" / "workflow.md").read_text(encoding="utf-8")
EXPLANATION = (DOCS / "explanation" / "workflows.md").read_text(encoding="utf-8")
SETTINGS = (DOCS / "reference" / "settings.md").read_text(encoding="utf-8")


def rows(page: str, heading: str) -> list[list[str]]:
    """Return the cells of the first table below a heading."""
    section = re.split(rf"^#+ {re.escape(heading)}$", page, flags=re.MULTILINE)[1]
    table = re.search(r"^\|.*\n\|[-|]+\n((?:\|.*\n)+)", section, re.MULTILINE)
    assert table is not None
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[1].splitlines()]


def keys(form: type[Record] | type[Document]) -> list[str]:
    if issubclass(form, Document):
        return [f"`{field.alias}`" for field in form.model_fields.values()]
    return [f"`{key}`" for _, key, _, _ in _record_fields(form)]


def test_every_field_is_on_the_page_in_its_order() -> None:
    tables: dict[str, type[Record] | type[Document]] = {
        "The definition": WorkflowDefinition,
        "Nodes": WorkflowNode,
        "Inputs": NodeInputs,
        "Budget of a node": NodeBudget,
        "Budgets": WorkflowBudgets,
        "Your own": CustomMacroStep,
        "What a plan says about its size": CountedStep,
    }
    for heading, record in tables.items():
        assert [row[0] for row in rows(REFERENCE, heading)] == keys(record), heading


def test_the_limits_on_the_page_are_those_of_the_program() -> None:
    for heading, record in {"Budgets": WorkflowBudgets(), "Budget of a node": NodeBudget()}.items():
        told = {row[0].strip("`"): int(row[2]) for row in rows(REFERENCE, heading)}
        assert {key: most for key, most in told.items() if most} == {k: v for k, v in record.plain().items() if v}


def test_the_types_and_the_built_in_workflows_are_on_the_page() -> None:
    assert rows(REFERENCE, "Types") == [
        [f"`{type_}`", SPECIALISTS[type_], ", ".join(f"`{name}`" for name in OUTPUTS[type_])] for type_ in SPECIALISTS
    ]
    assert rows(REFERENCE, "Built-in workflows") == [
        [f"`{one.name}`", " → ".join(part.type for part in one.parts), one.about] for one in MACROS.values()
    ]


def test_the_example_of_a_workflow_of_your_own_is_one() -> None:
    example = REFERENCE.partition("```markdown\n")[2].partition("```")[0]

    assert [step.id for step in parse_custom_macro("release", example.encode()).head.nodes] == [
        "look",
        "risks",
        "plan",
        "do",
        "prove",
    ]


def test_the_keywords_on_the_page_are_those_of_the_rules() -> None:
    known = [RESEARCH_KEYWORDS | set(RESEARCH_PHRASES), PLAN_KEYWORDS, EXEC_KEYWORDS]

    for row, words in zip(rows(EXPLANATION, "How a prompt is read"), known, strict=True):
        assert set(row[0].split(", ")) <= words
    assert f"Below {SURE} percent" in EXPLANATION
    assert len(MACROS) == 10
    assert "Ten are built in" in EXPLANATION


def test_the_page_tells_how_often_the_router_is_right() -> None:
    measured = {name: accuracy(path) for name, path in (("seen", SEEN), ("unseen", UNSEEN))}

    assert rows(EXPLANATION, "How often that is right") == [
        [name, str(found.right), str(found.total), str(found.percent), str(found.beside), str(found.sure)]
        for name, found in measured.items()
    ]


def test_the_formula_on_the_page_has_the_weights_of_the_program() -> None:
    weights = CostWeights()

    assert (
        f"CU = {weights.files}F + {weights.directories}D + C + {weights.risk}R + {weights.unresolved}U" in EXPLANATION
    )
    assert weights.commands == 1


def test_the_settings_on_the_page_are_those_that_are_read() -> None:
    told = [row[0].strip("`") for row in rows(SETTINGS, "`workflow`")]
    example = json.loads(SETTINGS.partition("```json\n")[2].partition("```")[0])["workflow"]

    router = [f"router.{key.strip('`')}" for key in keys(RouterSettings)]
    # `lists` is what the program makes of lists under `specialists`; as a key it is refused.
    own = [key.strip("`") for key in keys(WorkflowSettings) if key not in ("`router`", "`lists`")]
    assert sorted(told) == sorted([*router, *own])
    with pytest.raises(Invalid, match="lists is not known"):
        parse_workflow_settings({"lists": {}})
    assert parse_workflow_settings(example).router.model == "qwen3:4b"
    weights = ", ".join(str(value) for value in CostWeights().plain().values())
    assert next(row for row in rows(SETTINGS, "`workflow`") if row[0] == "`weights`")[2] == weights
