"""What a run is to do."""

import pytest

from gitnexus.base.canonical import json_document, parse_json
from gitnexus.base.errors import Invalid
from gitnexus.events.model import definition_hash
from gitnexus.workflow.run_definition import (
    RunBudgets,
    RunDefinition,
    definition_differences,
    definition_from_command,
    definition_from_prompt,
)


def test_a_definition_is_the_same_after_it_was_written_and_read() -> None:
    made = definition_from_prompt(
        "fix it", "claude", role="engineer", model="m", budgets=RunBudgets(seconds=5, tokens=7)
    )

    found = RunDefinition.from_value(parse_json(json_document(made.plain())), "workflow.json")

    assert found == made
    assert definition_hash(found.plain()) == definition_hash(made.plain())


def test_each_difference_is_named_and_changes_the_hash() -> None:
    made = definition_from_command(("/usr/bin/make", "test"))
    node = made.nodes[0].changed(argv=("/usr/bin/make", "evil"))
    other = made.changed(mode="bypass", budgets=RunBudgets(seconds=1), nodes=(node,))

    assert made.name == "make"
    assert definition_differences(made.plain(), other.plain()) == [
        "budgets.seconds: 3600 is now 1",
        "mode: 'default' is now 'bypass'",
        "nodes[0].argv[1]: 'test' is now 'evil'",
    ]
    assert definition_differences(made.plain(), made.plain()) == []
    assert definition_hash(made.plain()) != definition_hash(other.plain())


@pytest.mark.parametrize("argv", [(), ("",)])
def test_a_command_has_to_be_said(argv: tuple[str, ...]) -> None:
    with pytest.raises(Invalid, match="say what to run"):
        definition_from_command(argv)


def test_a_prompt_has_to_be_said() -> None:
    with pytest.raises(Invalid, match="there is nothing to run: give a prompt or a command"):
        definition_from_prompt(" \n", "claude")


@pytest.mark.parametrize("field", [{"mode": "anything"}, {"nodes": "x"}, {"extra": 1}, {"budgets": {"seconds": "1"}}])
def test_what_is_no_definition_is_refused(field: dict[str, object]) -> None:
    plain = definition_from_command(("true",)).plain() | field

    with pytest.raises(Invalid):
        RunDefinition.from_value(plain, "workflow.json")
