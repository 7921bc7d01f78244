"""A skill that a person typed in brackets reaches who works, and stays inside of the budget of the pack."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from gitnexus.app import open_nexus
from gitnexus.runs.workflow.context import with_context_pack
from gitnexus.runs.workflow.start import start_workflow
from gitnexus.workflow.briefing import brief_for_answer, brief_for_editing
from gitnexus.workflow.definition import NodeInputs, WorkflowDefinition, make_node
from gitnexus.workflow.model_specialist import inputs_for_function
from gitnexus.workflow.specialist import WorkOrder
from tests.conftest import Nexus
from tests.runs.live import events


def given(place: Path, *refs: str, adapter: str = "", kib: int = 0) -> tuple[WorkOrder, list[str]]:
    """Return the order of a planner who is given references, and what the log tells about it."""
    one = make_node("plan", "plan", adapter=adapter, inputs=NodeInputs(refs=refs))
    one = one.changed(budget=one.budget.changed(ctx_kib=kib))
    definition = WorkflowDefinition(name="x", prompt="the release", nodes=(one,))
    with closing(open_nexus(place)) as nexus:
        desk = start_workflow(nexus.state, definition.changed(nodes=(one.changed(adapter=""),)))
        made = with_context_pack(
            desk, definition, WorkOrder(node=one, goal="the release", prompt="the release"), "HEAD"
        )
        return made, [str(body["text"]) for body in events(place, desk.record.id, "agent.progress")]


def test_the_text_of_a_skill_is_given_besides_the_pack_and_not_as_material(project: Path) -> None:
    order, told = given(project, "skill:nx-plan#auto", "file:readme.txt")

    assert told == []
    assert "The mode: auto" in order.skill
    assert "hello" in order.pack
    assert "nx-plan" not in order.pack
    assert order.node.inputs.refs == ("file:readme.txt",), "rules look up what is left"
    before = brief_for_answer(order).index("The text between <<<")
    assert brief_for_answer(order).index(order.skill) < before
    assert order.skill in brief_for_editing(order)
    assert order.skill in inputs_for_function(order)["goal"]


@pytest.mark.parametrize(("adapter", "words"), [("claude", "## In Claude Code"), ("", "## In git nexus")])
def test_a_skill_says_how_it_is_done_in_the_program_that_works_by_it(project: Path, adapter: str, words: str) -> None:
    order, _ = given(project, "skill:nx-plan", adapter=adapter)

    assert words in order.skill


def test_a_skill_takes_room_from_the_pack_and_half_a_skill_is_none(project: Path) -> None:
    small, told = given(project, "skill:nx-plan", "file:readme.txt", kib=4)
    large, _ = given(project, "skill:nx-plan", "file:readme.txt", kib=64)

    assert (small.skill, "hello" in small.pack) == ("", True)
    assert "the skill nx-plan takes" in told[0]
    assert len((large.skill + large.pack).encode()) <= 64 * 1024


def test_a_skill_that_nobody_has_is_told_and_does_no_harm(project: Path) -> None:
    order, told = given(project, "skill:nx-dance")

    assert (order.skill, order.pack) == ("", "")
    assert "nx-dance" in told[0]


def test_what_a_call_is_given_twice_after_a_kill_is_told_once(project: Path) -> None:
    one = make_node("plan", "plan", inputs=NodeInputs(refs=("skill:nx-plan", "file:readme.txt")))
    definition = WorkflowDefinition(name="x", prompt="the release", nodes=(one,))
    with closing(open_nexus(project)) as nexus:
        desk = start_workflow(nexus.state, definition)
        order = WorkOrder(node=one, goal="the release", prompt="the release")

        first, again = (with_context_pack(desk, definition, order, "HEAD") for _ in range(2))

    assert first == again
    assert [body["name"] for body in events(project, desk.record.id, "artifact.written")] == ["skill.md", "pack.json"]


def test_a_run_that_was_given_a_skill_replays(nexus: Nexus, project: Path) -> None:
    made = json.loads(nexus.ok("route", "/plan where is hello in readme.txt", "--json"))["workflow"]
    made["nodes"][0]["inputs"] = {"refs": ["skill:nx-plan"]}
    (project / "flow.json").write_text(json.dumps(made))
    run = json.loads(nexus("run", "--workflow", "flow.json", "--yes", "--json").stdout)["run"]["id"]

    assert "skill.md" in [row["name"] for row in events(project, run, "artifact.written")]
    assert nexus("replay", run, "--verify").returncode == 0
