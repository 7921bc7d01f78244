"""What a run is to do."""

import pytest

from gitnexus.base.canonical import document, parse
from gitnexus.base.errors import Invalid
from gitnexus.events.model import definition_hash
from gitnexus.runs.definition import Budgets, Definition, difference, of_command, of_prompt


def test_a_definition_is_the_same_after_it_was_written_and_read() -> None:
    made = of_prompt("fix it", "claude", role="engineer", model="m", budgets=Budgets(seconds=5, tokens=7))

    found = Definition.from_value(parse(document(made.plain())), "workflow.json")

    assert found == made
    assert definition_hash(found.plain()) == definition_hash(made.plain())


def test_each_difference_is_named_and_changes_the_hash() -> None:
    made = of_command(("/usr/bin/make", "test"))
    node = made.nodes[0].changed(argv=("/usr/bin/make", "evil"))
    other = made.changed(mode="bypass", budgets=Budgets(seconds=1), nodes=(node,))

    assert made.name == "make"
    assert difference(made, other) == [
        "budgets.seconds: 3600 is now 1",
        "mode: 'default' is now 'bypass'",
        "nodes[0].argv[1]: 'test' is now 'evil'",
    ]
    assert difference(made, made) == []
    assert definition_hash(made.plain()) != definition_hash(other.plain())


@pytest.mark.parametrize("argv", [(), ("",)])
def test_a_command_has_to_be_said(argv: tuple[str, ...]) -> None:
    with pytest.raises(Invalid, match="say what to run"):
        of_command(argv)


def test_a_prompt_has_to_be_said() -> None:
    with pytest.raises(Invalid, match="say what is to be done"):
        of_prompt(" \n", "claude")


@pytest.mark.parametrize("field", [{"mode": "anything"}, {"nodes": "x"}, {"extra": 1}, {"budgets": {"seconds": "1"}}])
def test_what_is_no_definition_is_refused(field: dict[str, object]) -> None:
    plain = of_command(("true",)).plain() | field

    with pytest.raises(Invalid):
        Definition.from_value(plain, "workflow.json")
