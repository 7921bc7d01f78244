"""Proves a patch that an agent proposes by a tool in the middle of a step, before any person is asked about it."""

from typing import NamedTuple

from gitnexus.prompts.model import Action, PlanStep
from gitnexus.runs.actions.joint_proofs import proofs_to_ask_about
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.workflow.proofs import prove_change
from gitnexus.workflow.engine_protocol import NodeAction
from gitnexus.workflow.flow import Flow
from gitnexus.workflow.node_inputs import NodeInputReader
from gitnexus.workflow.progress import WorkflowProgress


class StepProof(NamedTuple):
    """What was found: why the patch does not hold, empty if it does, and the commands to ask about with it."""

    why: str = ""
    proofs: tuple[str, ...] = ()


def prove_proposed_patch(run: OpenRun, node: str, patch: str) -> StepProof:
    """Run the commands of the step that a node's agent is at on the tree of its patch, as far as the policy allows."""
    definition = run.workflow() if node else None
    if definition is None:
        return StepProof()
    progress, flow = WorkflowProgress(), Flow(definition)
    progress.fold(run.events())
    if node not in flow.nodes:
        return StepProof()
    inputs = NodeInputReader(flow, progress, run.artifacts.read)
    step = _step_at_work(inputs, node)
    if step is None:
        return StepProof()
    change = NodeAction("patch", "", action=Action(kind="patch", summary="", diff=patch))
    role = flow.nodes[node].role
    why = prove_change(run, change, step.commands, inputs.limits(flow.nodes[node]), role=role)
    return StepProof(why, tuple(proofs_to_ask_about(run, step.commands, role)))


def _step_at_work(inputs: NodeInputReader, node: str) -> PlanStep | None:
    """Return the step of its plan that a node is at: the first of its batch that has not ended."""
    state = inputs.progress.nodes.get(node)
    batch = next((one for one in state.batches if one.ok is None), None) if state else None
    plan = inputs.plan(inputs.flow.nodes[node])
    if state is None or batch is None or plan is None:
        return None
    ended = {name for name, one in state.steps.items() if one.ok is not None}
    name = next((one for one in batch.steps if one not in ended), "")
    return next((one for one in plan.steps if one.id == name), None)
