"""Steps of a plan by an agent's program: killed at any event and resumed, each is done once and in order."""

from dataclasses import dataclass

import pytest

from gitnexus.prompts.model import ExecResult, Plan, PlanStep
from gitnexus.workflow.definition import NodeInputs, WorkflowDefinition, WorkflowNode, make_node
from gitnexus.workflow.engine import Engine
from gitnexus.workflow.engine_protocol import NodeAction
from gitnexus.workflow.replay import replay_log
from gitnexus.workflow.specialist import CallUsage, WorkOrder, WorkResult
from tests.workflow.memorystage import MemoryStage
from tests.workflow.test_random_plans import Mending

STEPS = (PlanStep(id="S1", title="one"), PlanStep(id="S2", title="two", depends=("S1",)), PlanStep(id="S3", title="x"))
DEFINITION = WorkflowDefinition(
    name="w",
    prompt="g",
    nodes=(make_node("p", "plan"), make_node("x", "exec", adapter="claude", inputs=NodeInputs(uses=("p",)))),
    edges=(("p", "x"),),
)


@dataclass
class Worktree(Mending):
    """A stage with a worktree: what the program left there is a patch, proposed once."""

    left: str = ""

    def act(self, node: WorkflowNode, step: str, node_action: NodeAction) -> str:
        if node_action.kind != "tree":
            return MemoryStage.act(self, node, step, node_action)
        before = [one for one in self.log if one.kind == "action.proposed" and one.body["summary"] == self.left]
        if before or not self.left:
            return ""
        return MemoryStage.act(self, node, step, NodeAction("patch", self.left))


def stage() -> Worktree:
    found = Worktree({"p": [Plan(goal="g", steps=STEPS)]})

    def work(order: WorkOrder) -> WorkResult:
        tries = 1 + sum(one.kind == "step.retried" and one.body["step"] == order.step for one in found.log)
        found.left = f"{order.step} try {tries}"
        usage = CallUsage(input=1, output=1, session=f"s-{order.step}")
        return WorkResult(output=ExecResult(status="done", summary=found.left), usage=usage)

    found.plays = {**found.plays, "x": [work]}
    found.proof = lambda node_action: "S2 is broken" if found.left == "S2 try 1" else ""
    return found


def patches(made: Worktree) -> list[str]:
    return [one.body["summary"] for one in made.log if one.kind == "action.proposed"]


def test_each_step_is_a_patch_and_what_fails_its_proof_comes_to_none() -> None:
    made = stage()

    assert Engine(DEFINITION, made).walk() == (True, "")
    assert patches(made) == ["S1 try 1", "S2 try 2", "S3 try 1"]
    assert replay_log(DEFINITION, made.log, made.read).walks == 1


def test_killed_at_every_event_and_resumed_each_step_is_done_once_and_in_order() -> None:
    whole = stage()
    Engine(DEFINITION, whole).walk()
    for at in range(1, len(whole.log)):
        made = stage()
        made.die_after = at
        with pytest.raises(KeyboardInterrupt):
            Engine(DEFINITION, made).walk()
        made.die_after = 10**9

        assert Engine(DEFINITION, made).walk() == (True, ""), at
        ended = [(one.body["step"], one.body["ok"]) for one in made.log if one.kind == "step.finished"]
        assert ended == [("S1", True), ("S2", True), ("S3", True)]
        done = [one.body["action"] for one in made.log if one.kind == "tool.executed"]
        assert len(done) == len(set(done)) == len(patches(made)) == 3
