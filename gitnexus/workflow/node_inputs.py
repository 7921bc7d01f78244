"""Collects the inputs of a specialist for a node from the definition and the artifacts of the run so far."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from gitnexus.base.canonical import parse_json
from gitnexus.prompts.model import ExecResult, Plan
from gitnexus.workflow.definition import OUTPUTS, WorkflowNode
from gitnexus.workflow.flow import Flow, SideNode
from gitnexus.workflow.outputs import Hindrance, parse_output
from gitnexus.workflow.progress import WHOLE, NodeBlock, WorkflowProgress
from gitnexus.workflow.specialist import AnsweredQuestion, Output, StepLimits, WorkOrder


@dataclass(slots=True)
class NodeInputReader:
    """Reads the artifacts of a run, each once."""

    flow: Flow
    progress: WorkflowProgress
    fetch: Callable[[str], bytes]
    task: str = ""
    # Seconds that specialists worked in this walk; how long people take does not count.
    used: float = 0.0
    _outputs: dict[tuple[str, str], Output] = field(default_factory=dict)
    _plans: dict[str, Plan] = field(default_factory=dict)

    def effective(self, node: WorkflowNode) -> WorkflowNode:
        """Return a node as it is carried out: one that changes a plan makes a plan if there is none."""
        if node.type == "plan_patch" and not self.flow.plan(self.progress, node.id):
            return node.changed(type="plan", outputs=OUTPUTS["plan"])
        return node

    def plan(self, node: WorkflowNode) -> Plan | None:
        """Return the plan in force for a node."""
        digest = self.flow.plan(self.progress, node.id)
        if digest and digest not in self._plans:
            self._plans[digest] = Plan.from_value(parse_json(self.fetch(digest)), "plan.json")
        return self._plans[digest] if digest else None

    def output(self, node: WorkflowNode, digest: str) -> Output:
        """Return a stored output."""
        key = (node.type, digest)
        if key not in self._outputs:
            self._outputs[key] = parse_output(node.type, self.fetch(digest))
        return self._outputs[key]

    def merged(self, node: WorkflowNode) -> ExecResult:
        """Return the results of all plan steps of an executor as one result without the actions."""
        said = []
        for name, step in self.progress.nodes[node.id].steps.items():
            found = self.output(node, step.result) if step.result else None
            said.append(f"{name}: {found.summary if isinstance(found, ExecResult) else step.why}")
        return ExecResult(status="done", summary="\n".join(said))

    def order(self, node: WorkflowNode, step: str, say: Callable[[str], None]) -> WorkOrder:
        """Return the order for a node, or for one step of its plan."""
        side = next((one for one in self.flow.side_nodes(self.progress) if one.node.id == node.id), None)
        hindrance = self._read_hindrance(side)
        definition = self.flow.definition
        left = definition.budgets.seconds - self.used if definition.budgets.seconds else 0
        seconds = min(filter(None, (node.budget.seconds, left)), default=0)
        blocked = hindrance.blocked if hindrance else None
        state = self.progress.nodes.get(node.id)
        return WorkOrder(
            node=node,
            goal=definition.prompt,
            prompt=node.prompt or (blocked.question if blocked else "") or definition.prompt,
            inputs=self._outputs_for_node(node),
            plan=self.plan(node),
            step="" if step == WHOLE else step,
            blocked=blocked,
            split=hindrance.split if hindrance else None,
            feedback=self.feedback(node, step),
            session=state.sessions.get(step, "") if state else "",
            done=self._done_steps(side.parent if side else node.id),
            limits=self.limits(node),
            answers=self._answers_for_node(side.parent if side else node.id),
            deadline=time.monotonic() + seconds if seconds else None,
            task=self.task,
            say=say,
        )

    def _done_steps(self, node: str) -> tuple[str, ...]:
        state = self.progress.nodes.get(node)
        return tuple(name for name, one in state.steps.items() if one.ok) if state else ()

    def limits(self, node: WorkflowNode) -> StepLimits:
        """Return how much one step of a node may change: by the node, else by the workflow."""
        own, common = node.budget, self.flow.definition.budgets
        return StepLimits(own.files or common.max_step_files or 0, own.lines or common.max_step_lines or 0)

    def feedback(self, node: WorkflowNode, step: str) -> str:
        """Return what was wrong with what was proposed for a step before, empty if nothing was."""
        state = self.progress.nodes.get(node.id)
        known = state.steps.get(step) if state else None
        return known.feedback if known else ""

    def _outputs_for_node(self, node: WorkflowNode) -> dict[str, Output]:
        found = {}
        for one in map(self.effective, self.flow.uses(self.progress, node.id)):
            name = OUTPUTS[one.type][0] if one.type != "command" else "exec_result.json"
            digest = self.progress.nodes[one.id].outputs.get(name)
            if digest:
                found[one.id] = self.output(one, digest)
        return found

    def _read_hindrance(self, side: SideNode | None) -> Hindrance | None:
        block = self._block_cleared_by(side)
        return (
            Hindrance.from_value(parse_json(self.fetch(block.kept)), "blocked.json") if block and block.kept else None
        )

    def _block_cleared_by(self, side: SideNode | None) -> NodeBlock | None:
        if side is None:
            return None
        return next((one for one in self.progress.nodes[side.parent].blocks if one.handoff == side.action), None)

    def _answers_for_node(self, id_: str) -> tuple[AnsweredQuestion, ...]:
        state = self.progress.nodes.get(id_)
        return tuple(AnsweredQuestion(one.why, one.answer) for one in (state.blocks if state else ()) if one.answer)
