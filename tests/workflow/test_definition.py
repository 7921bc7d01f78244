"""A workflow: what is one, what is none, and the hash that says it is the same."""

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.base.canonical import canonical_json, json_document
from gitnexus.base.errors import Invalid
from gitnexus.events.model import definition_hash
from gitnexus.workflow.definition import (
    OUTPUTS,
    SPECIALISTS,
    WorkflowBudgets,
    WorkflowDefinition,
    WorkflowNode,
    check_workflow,
    make_node,
    parse_workflow,
    parse_workflow_file,
    render_workflow,
    workflow_from_run,
    workflow_hash,
)
from gitnexus.workflow.run_definition import (
    RunBudgets,
    RunDefinition,
    RunNode,
    definition_from_command,
    definition_from_prompt,
)

TYPES = st.sampled_from([type_ for type_ in SPECIALISTS if type_ != "command"])
AGENTS = st.sampled_from(["", "claude", "codex", "gemini", "opencode", "aider"])
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


@st.composite
def definitions(draw: st.DrawFn) -> WorkflowDefinition:
    """Workflows that can be carried out: edges lead from earlier nodes to later ones."""
    count = draw(st.integers(1, 6))
    nodes = []
    edges = []
    for at in range(count):
        before = draw(st.lists(st.integers(0, at - 1), unique=True, max_size=3)) if at else []
        edges += [(f"n{one}", f"n{at}") for one in before]
        made = make_node(f"n{at}", draw(TYPES), adapter=draw(AGENTS), prompt=draw(TEXT))
        nodes.append(made.changed(inputs=made.inputs.changed(uses=tuple(f"n{one}" for one in before))))
    return WorkflowDefinition(
        name=draw(st.sampled_from(["a", "b"])),
        prompt=draw(TEXT),
        nodes=tuple(nodes),
        edges=tuple(edges),
        budgets=WorkflowBudgets(parallel=draw(st.integers(1, 3))),
    )


def plain(*ids: str, edges: tuple[tuple[str, ...], ...] = (), **fields: Any) -> dict[str, Any]:
    """The JSON of a workflow of research nodes, with some fields replaced."""
    made = WorkflowDefinition(name="w", nodes=tuple(make_node(id_, "research") for id_ in ids), edges=edges)
    return made.plain() | fields


def mixed_up(value: Any, chance: random.Random) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        chance.shuffle(keys)
        return {key: mixed_up(value[key], chance) for key in keys}
    return [mixed_up(one, chance) for one in value] if isinstance(value, list) else value


@given(definitions(), st.randoms())
def test_a_workflow_survives_being_written_and_read_whatever_the_order_of_its_keys(
    made: WorkflowDefinition, chance: random.Random
) -> None:
    raw = json.dumps(mixed_up(made.plain(), chance), ensure_ascii=chance.choice([True, False])).encode()

    assert parse_workflow_file(raw, "f") == (made, workflow_hash(made))
    assert parse_workflow_file(render_workflow(made).encode(), "f") == (made, workflow_hash(made))


@given(definitions(), definitions())
def test_two_hashes_are_equal_if_and_only_if_the_canonical_forms_are(
    one: WorkflowDefinition, other: WorkflowDefinition
) -> None:
    same = canonical_json(one.plain()) == canonical_json(other.plain())

    assert (workflow_hash(one) == workflow_hash(other)) == same == (one == other)


def test_what_is_left_out_is_the_default_and_changes_no_hash() -> None:
    short = {"name": "w", "nodes": [{"id": "a", "type": "exec", "specialist": "executor"}]}
    whole = parse_workflow(short, "f").plain()

    assert whole["version"] == 2
    assert (
        parse_workflow_file(json.dumps(short).encode(), "f")[1]
        == parse_workflow_file(json.dumps(whole).encode(), "f")[1]
    )


def test_every_field_changes_the_hash() -> None:
    made = WorkflowDefinition(
        name="w", prompt="p", nodes=(make_node("a", "exec"), make_node("b", "exec")), edges=(("a", "b"),)
    )
    others = [
        made.changed(name="v"),
        made.changed(prompt="q"),
        made.changed(nodes=made.nodes[::-1]),
        made.changed(nodes=(made.nodes[0].changed(adapter="codex"), made.nodes[1])),
        made.changed(edges=()),
        made.changed(budgets=WorkflowBudgets(max_batch_cu=1)),
        made.changed(stop=()),
        made.changed(mode="autopilot"),
    ]

    assert len({workflow_hash(one) for one in [made, *others]}) == len(others) + 1


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (plain("a", "b", edges=(("a", "b"), ("b", "a"))), "nodes wait for each other: a → b → a"),
        (
            plain("a", "b", "c", edges=(("a", "b"), ("b", "a"), ("b", "c"))),
            "nodes wait for each other: a → b → a; c is never reached",
        ),
        (plain("a", edges=(("a", "a"),)), "the node a waits for itself"),
        (plain("a", edges=(("a", "z"),)), "an edge names 'z', and there is no such node"),
        (plain("a", "b", edges=(("a", "b"), ("a", "b"))), "the edge from a to b occurs twice"),
        (plain("a", "b") | {"edges": [["a"]]}, "edges[0] should have at least 2 items"),
        (plain("a", "a"), "there are two nodes a"),
        (plain("a", nodes=[]), "nodes should have at least 1 item"),
        (plain("a", extra=1), "extra is not known"),
        (plain("a", mode="anything"), "mode should be one of"),
        (plain("a", version=3), "version should be 2"),
        (plain("a", version=True), "version should be a whole number"),
        (plain("a", name=""), "name should have at least 1 character"),
        (plain("a", budgets={"seconds": -1}), "seconds should be at least 0"),
        (plain("a", budgets={"parallel": 0}), "parallel should be at least 1"),
        (plain("a", prompt="x" * 65_537), "prompt should have at most 65,536 characters"),
        (plain("a", nodes=plain("a")["nodes"] * 201), "nodes should have at most 200 items"),
        (plain("a", nodes="x"), "nodes should be a list"),
        ([], "should be an object"),
    ],
)
def test_what_is_no_workflow_is_refused_and_named(value: Any, words: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_workflow(value, "f")

    assert refused.value.message.startswith("f")
    assert words in refused.value.message


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"id": "1a"}, "id should be a letter, then"),
        ({"id": "a/b"}, "id should be a letter, then"),
        ({"type": "think"}, "type should be one of"),
        ({"specialist": "boss"}, "specialist should be one of"),
        ({"adapter": "nobody"}, "there is no agent 'nobody'"),
        ({"adapter": "aider", "way": "proposer"}, "aider cannot work as proposer"),
        ({"adapter": "command", "way": "contained"}, "a node of type research cannot be backed by command"),
        ({"type": "command", "way": "contained"}, "it says no command"),
        ({"argv": ["ls"]}, "argv is for commands"),
        ({"model": "-x"}, "should be the name of a role or model"),
        ({"role": "a b"}, "should be the name of a role or model"),
        ({"outputs": ["../x"]}, "should be the name of a file"),
        ({"outputs": ["a..b"]}, "should be the name of a file"),
        ({"outputs": ["x", "x"]}, "outputs should be a list in which nothing occurs twice"),
        ({"inputs": {"uses": ["z"]}}, "uses 'z', and there is no such node"),
        ({"inputs": {"uses": ["b"]}}, "uses b, but does not wait for it"),
        ({"inputs": {"refs": ["x" * 501]}}, "refs[0] should have at most 500 characters"),
        ({"prompt": "a\0b"}, "text without a NUL"),
        ({"budget": {"tokens": -1}}, "tokens should be at least 0"),
        ({"budget": {"luck": 1}}, "luck is not known"),
    ],
)
def test_what_is_wrong_with_a_node_is_said_with_its_id(fields: dict[str, Any], words: str) -> None:
    value = plain("a", "b")
    value["nodes"][0] = value["nodes"][0] | fields

    with pytest.raises(Invalid) as refused:
        parse_workflow(value, "f")

    assert words in refused.value.message


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"{", "f is not valid JSON"),
        (b'{"name": "a", "name": "b"}', "occurs twice"),
        (b"[" * 100_000, "f is not valid JSON"),
        (b" " * (4 * 1024 * 1024 + 1), "f is larger than"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_a_file_that_is_none_is_refused(raw: bytes, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        parse_workflow_file(raw, "f")


def test_a_hash_in_the_file_must_be_the_right_one() -> None:
    made = parse_workflow(plain("a"), "f")
    right = json.dumps(made.plain() | {"definition_hash": workflow_hash(made)}).encode()
    wrong = json.dumps(made.plain() | {"definition_hash": "sha256:00"}).encode()

    assert parse_workflow_file(right, "f") == (made, workflow_hash(made))
    with pytest.raises(Invalid, match="definition_hash is not that of this definition"):
        parse_workflow_file(wrong, "f")


def test_a_node_has_what_its_type_says_and_no_more_rights_than_that() -> None:
    made = {type_: make_node("x", type_) for type_ in SPECIALISTS}

    assert {type_: one.specialist for type_, one in made.items()} == SPECIALISTS
    assert {type_: one.outputs for type_, one in made.items()} == OUTPUTS
    assert {type_ for type_, one in made.items() if one.way == "proposer"} == {
        "research",
        "plan",
        "plan_patch",
        "review",
    }
    assert make_node("x", "research", adapter="aider").way == "contained"


# The definitions of runs (version 1): their hashes are in the logs of runs that exist, and stay.


def test_the_hash_of_a_runs_definition_is_what_it_always_was() -> None:
    command = definition_from_command(("make", "test"))
    prompt = definition_from_prompt("fix it", "claude", role="engineer", budgets=RunBudgets(seconds=5))

    assert definition_hash(command.plain()) == (
        "sha256:8b279de89ffc7fccb5013cd73db7aae12bbe011b7acd240fd8b7e95f88b79bb9"
    )
    assert definition_hash(prompt.plain()) == (
        "sha256:fee65fc24a117048ae8c13246574074c41b4be372c605dfc56d646117c52c4cf"
    )
    for one in (command, prompt):
        definition, found = parse_workflow_file(json_document(one.plain()), "workflow.json")
        assert found == definition_hash(one.plain())
        assert definition == workflow_from_run(one)


@given(
    TEXT,
    st.sampled_from(["claude", "codex", "scripted", "command"]),
    st.booleans(),
    st.integers(0, 9999),
    st.sampled_from(["default", "autopilot"]),
)
def test_a_runs_definition_is_a_workflow_in_which_nothing_is_lost(
    prompt: str, adapter: str, two: bool, seconds: int, mode: Any
) -> None:
    argv = ("make",) if adapter in ("command", "scripted") else ()
    nodes = [RunNode(id="main", adapter=adapter, role="engineer", prompt=prompt, argv=argv, model="m")]
    nodes += [RunNode(id="after", adapter="claude", prompt="p", way="proposer")] if two else []
    edges = (("main", "after"),) if two else ()
    run = RunDefinition(name="n", nodes=tuple(nodes), edges=edges, budgets=RunBudgets(seconds=seconds), mode=mode)

    found = check_workflow(workflow_from_run(run), "f")

    back = RunDefinition(
        name=found.name,
        nodes=tuple(_as_of_a_run(one) for one in found.nodes),
        edges=found.edges,
        budgets=RunBudgets(**{name: getattr(found.budgets, name) for name in vars(run.budgets)}),
        mode=found.mode,
    )
    assert back == run


def _as_of_a_run(one: WorkflowNode) -> RunNode:
    return RunNode(
        id=one.id, adapter=one.adapter, role=one.role, prompt=one.prompt, argv=one.argv, way=one.way, model=one.model
    )
