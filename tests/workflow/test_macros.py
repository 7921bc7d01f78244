"""Macros: the built-in ones, and those that people write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.base.errors import Invalid
from gitnexus.workflow.commands import parse_custom_macro, tightened_limits, workflow_from_macro
from gitnexus.workflow.definition import WorkflowBudgets
from gitnexus.workflow.macros import DEFAULT, MACROS, expand_macro, macro_for_steps

RELEASE = b"""---
version: 1
about: look, decide, and ship
nodes:
  - {id: look, type: research, agent: gemini, prompt: what changed since the last tag}
  - {id: risks, type: research, after: []}
  - {id: plan, type: plan, after: [look, risks], refs: ["doc:docs/releasing.md"]}
  - {id: do, type: exec, agent: codex, budget: {cu: 20}}
  - {id: prove, type: command, argv: [make, test]}
budgets: {parallel: 2, seconds: 600}
stop: [failed, denied]
---

Ship a release: {prompt}.
"""


def test_the_default_is_to_find_out_to_plan_and_to_do() -> None:
    made = expand_macro(MACROS[DEFAULT], "do it", {})

    assert [(one.id, one.type, one.specialist) for one in made.nodes] == [
        ("research", "research", "researcher"),
        ("plan", "plan", "planner"),
        ("exec", "exec", "executor"),
    ]
    assert made.edges == (("research", "plan"), ("plan", "exec"))
    assert [one.inputs.uses for one in made.nodes] == [(), ("research",), ("research", "plan")]
    assert made.mode == "default"


def test_every_choice_of_the_three_has_a_macro() -> None:
    names = {macro_for_steps(frozenset(name.split("-"))).name for name in ("research", "plan", "exec", "research-plan",
             "research-exec", "plan-exec", DEFAULT)}  # fmt: skip

    assert len(names) == 7
    assert macro_for_steps(frozenset()).name == DEFAULT


@pytest.mark.parametrize("name", MACROS)
def test_every_built_in_macro_can_be_carried_out_by_whoever_is_set(name: str) -> None:
    made = expand_macro(MACROS[name], "x", {"researcher": "gemini", "planner": "claude", "executor": "aider"})

    assert {one.specialist: one.adapter for one in made.nodes}.items() <= {
        "researcher": "gemini",
        "planner": "claude",
        "executor": "aider",
    }.items()


def test_a_macro_of_somebodys_own_becomes_a_workflow() -> None:
    made = workflow_from_macro(
        parse_custom_macro("release", RELEASE), "1.2", {"planner": "claude", "executor": "aider"}
    )

    assert made.prompt == "Ship a release: 1.2."
    assert [(one.id, one.adapter, one.way) for one in made.nodes] == [
        ("look", "gemini", "proposer"),
        ("risks", "", "proposer"),
        ("plan", "claude", "proposer"),
        ("do", "codex", "contained"),
        ("prove", "", "contained"),
    ]
    assert made.edges == (("look", "plan"), ("risks", "plan"), ("plan", "do"), ("do", "prove"))
    assert made.nodes[3].inputs.uses == ("look", "risks", "plan")
    assert made.nodes[2].inputs.refs == ("doc:docs/releasing.md",)
    assert (made.budgets.seconds, made.budgets.parallel, made.stop) == (600, 2, ("failed", "denied"))


def test_a_prompt_cannot_write_the_place_of_the_prompt_and_comes_last_where_there_is_none() -> None:
    without = RELEASE.replace(b"Ship a release: {prompt}.", b"Ship it.")

    assert (
        workflow_from_macro(parse_custom_macro("release", RELEASE), "{prompt}", {}).prompt
        == "Ship a release: {prompt}."
    )
    assert workflow_from_macro(parse_custom_macro("release", without), "1.2", {}).prompt == "Ship it.\n\n1.2"


def test_windows_line_ends_are_read_as_well() -> None:
    assert parse_custom_macro("release", RELEASE.replace(b"\n", b"\r\n")).about == "look, decide, and ship"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (b"---\nversion", b"version", "it should begin with a front matter"),
        (b"\n---\n\nShip", b"\n\nShip", "it should begin with a front matter"),
        (b"version: 1", b"version: 2", "version should be 1"),
        (b"version: 1", b"version: true", "version should be a whole number"),
        (b"about: look, decide, and ship", b"about: ''", "about should be one line"),
        (b"stop: [failed, denied]", b"mode: bypass", "mode is not known"),
        (b"stop: [failed, denied]", b"allow: [x]", "allow is not known"),
        (b"stop: [failed, denied]", b"stop: [sometimes]", "should be one of failed"),
        (b"stop: [failed, denied]", b"stop: never", "stop should be a list"),
        (b"parallel: 2", b"parallel: x", "parallel should be a whole number"),
        (b"parallel: 2", b"luck: 2", "luck is not known"),
        (b"budgets: {parallel: 2, seconds: 600}", b"budgets: [1]", "budgets should be an object"),
        (b"agent: codex", b"agent: nobody", "there is no agent 'nobody'"),
        (b"agent: codex", b"way: contained", "way is not known"),
        (b"type: exec", b"type: think", "type should be one of"),
        (b"after: [look, risks]", b"after: [look, nobody]", "names 'nobody'"),
        (b"after: []", b"after: [do]", "nodes wait for each other"),
        (b"argv: [make, test]", b"argv: []", "it says no command"),
        (b"argv: [make, test]", b"argv: make test", "argv should be a list"),
        (b"id: plan", b"id: look", "there are two nodes look"),
        (b"nodes:\n", b"nodes: &x\n  - *x\n", "not valid YAML"),
        (b"Ship", b"\xff", "the text is not UTF-8"),
        (b"Ship", b"x" * 65_536, "larger than 64 KiB"),
    ],
)
def test_what_is_wrong_with_a_macro_is_said_with_its_file(old: bytes, new: bytes, words: str) -> None:
    assert old in RELEASE

    with pytest.raises(Invalid) as refused:
        parse_custom_macro("release", RELEASE.replace(old, new))

    assert refused.value.message.startswith("commands/custom/release.md")
    assert words in refused.value.message


@pytest.mark.parametrize("name", ["Release", "a b", "../x", "x" * 41, "", "1", "-x", "plan", "exec"])
def test_a_name_is_one_plain_word_that_is_not_built_in(name: str) -> None:
    with pytest.raises(Invalid):
        parse_custom_macro(name, RELEASE)


@given(st.integers(0, 100), st.integers(0, 100))
def test_a_macro_takes_less_and_never_more(limit: int, asked: int) -> None:
    found = tightened_limits({"seconds": limit}, {"seconds": asked}, "f")["seconds"]

    assert found == (min(asked, limit) if asked and limit else asked or limit)


def test_the_limits_of_the_settings_hold_for_a_macro_too() -> None:
    made = workflow_from_macro(parse_custom_macro("release", RELEASE), "x", {}, WorkflowBudgets(seconds=60, parallel=1))

    assert (made.budgets.seconds, made.budgets.parallel) == (60, 1)


@given(st.binary(max_size=300))
def test_whatever_the_bytes_it_is_a_macro_or_invalid(raw: bytes) -> None:
    for text in (raw, b"---\n" + raw + b"\n---\n", b"---\nversion: 1\nabout: x\nnodes:\n" + raw + b"\n---\n"):
        try:
            parse_custom_macro("x", text)
        except Invalid as exc:
            assert exc.message.startswith("commands/custom/x.md")
