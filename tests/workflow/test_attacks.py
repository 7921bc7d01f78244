"""Attacks by a workflow or by whoever carries out its steps, by their number."""

import json
from pathlib import Path
from typing import Any

import pytest

from gitnexus.prompts.model import PlanChanges, PlanStep, StepChange
from gitnexus.workflow.definition import WorkflowBudgets
from tests.conftest import Nexus
from tests.workflow.test_engine import blocked, chain, stage, walked


def node(name: str) -> dict[str, Any]:
    return {"id": name, "type": "command", "specialist": "executor", "argv": ["true"]}


@pytest.mark.parametrize(
    ("more", "why"),
    [
        pytest.param({"nodes": [node(f"n{n}") for n in range(10_000)]}, "at most 200 items", id="200-10000-nodes"),
        pytest.param({"nodes": []}, "at least 1 item", id="200-no-node"),
        pytest.param({"nodes": [node("a"), node("a")]}, "there are two nodes a", id="200-one-name-twice"),
        pytest.param({"edges": [["a", "b"], ["b", "a"]]}, "wait for each other: a → b → a", id="200-cycle"),
        pytest.param({"edges": [["a", "a"]]}, "waits for itself", id="200-edge-to-itself"),
        pytest.param({"edges": [["a", "z"]]}, "there is no such node", id="200-edge-to-nowhere"),
        pytest.param({"edges": [["a", "b"]] * 2001}, "at most 2,000 items", id="200-2001-edges"),
        pytest.param({"budgets": {"tokens": -1}}, "tokens should be at least 0", id="200-budget-below-nothing"),
        pytest.param({"budgets": {"seconds": 10**10}}, "seconds should be at most", id="200-budget-without-end"),
        pytest.param({"budgets": {"tokens": 1e30}}, "tokens should be", id="200-budget-that-is-no-integer"),
        pytest.param({"approved": True}, "approved is not known", id="200-says-it-is-approved"),
    ],
)
def test_a_workflow_that_makes_no_sense_is_refused_before_anything_runs(
    project: Path, nexus: Nexus, more: dict[str, Any], why: str
) -> None:
    text = json.dumps({"name": "w", "nodes": [node("a"), node("b")], **more})

    done = nexus("run", "--yes", "--workflow", "-", stdin=text)

    assert (done.returncode, why in done.stderr) == (6, True), done.stderr[:500]
    assert json.loads(nexus.ok("runs", "--all", "--json"))["runs"] == []


def test_201_who_says_without_end_that_it_is_blocked_uses_up_its_handoffs() -> None:
    changes = [
        PlanChanges(summary="s", changes=(StepChange(op="replace", step=f"S{n}", why="w", steps=(step(n + 1),)),))
        for n in range(1, 50)
    ]
    scene = stage(*[blocked("needs_plan_patch", f"which, {n}?") for n in range(50)])
    scene.plays = {**scene.plays, "plan_patch": changes}

    engine = walked(scene, chain(budgets=WorkflowBudgets(handoffs=3)))

    assert sum(action.kind == "handoff" for action in engine.progress.actions.values()) == 3
    assert engine.flow.verdict(engine.progress) == (False, "exec: the 3 handoffs of this run are used up: which, 3?")


def step(number: int) -> PlanStep:
    return PlanStep(id=f"S{number}", title="one")
