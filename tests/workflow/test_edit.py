"""A workflow changed before it starts: what is dropped, moved or given to others leaves one that holds together."""

import pytest

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.workflow.definition import WorkflowDefinition, make_node
from gitnexus.workflow.edit import with_node_agent, with_node_moved, with_node_order, without_node
from gitnexus.workflow.macros import MACROS, expand_macro

CHAIN = expand_macro(MACROS["research-plan-exec"], "mend it", {})
DIAMOND = WorkflowDefinition(
    name="d", nodes=tuple(make_node(one, "research") for one in "abcd"),
    edges=(("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")),
)  # fmt: skip


def shape(definition: WorkflowDefinition) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.id, one.inputs.uses) for one in definition.nodes]


def test_who_waited_for_a_dropped_node_waits_for_what_it_waited_for() -> None:
    found = without_node(CHAIN, "plan")

    assert (shape(found), found.edges) == ([("research", ()), ("exec", ("research",))], (("research", "exec"),))
    assert without_node(DIAMOND, "a").edges == (("b", "d"), ("c", "d"))
    assert without_node(DIAMOND, "b").edges == (("a", "c"), ("c", "d"), ("a", "d"))


def test_a_chain_is_put_in_another_order_and_each_is_given_what_comes_before_it_now() -> None:
    found = with_node_moved(CHAIN, "plan", "research")

    assert shape(found) == [("plan", ()), ("research", ("plan",)), ("exec", ("plan", "research"))]
    assert found.edges == (("plan", "research"), ("research", "exec"))


def test_a_node_is_given_to_somebody_else_with_no_more_rights_than_its_work_takes() -> None:
    found = with_node_agent(with_node_agent(CHAIN, "research", "claude"), "exec", "codex")

    assert [(one.adapter, one.way) for one in found.nodes] == [
        ("claude", "proposer"), ("", "proposer"), ("codex", "contained"),
    ]  # fmt: skip


def test_what_cannot_be_is_refused_with_what_can() -> None:
    with pytest.raises(NotFound) as missing:
        without_node(CHAIN, "review")
    with pytest.raises(Invalid) as parted:
        with_node_order(DIAMOND, ("d", "c", "b", "a"))
    with pytest.raises(NotFound) as nobody:
        with_node_agent(CHAIN, "exec", "nobody")
    with pytest.raises(Invalid) as last:
        without_node(without_node(without_node(CHAIN, "plan"), "exec"), "research")

    assert missing.value.hint == "there are: research, plan, exec"
    assert parted.value.message == "only the nodes of a chain can be reordered"
    assert nobody.value.message == "there is no agent 'nobody'"
    assert last.value.message == "research is the only node"
