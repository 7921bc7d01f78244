"""What a specialist is given for a node: made of the definition and what was kept of the run so far."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from gitnexus.base.canonical import parse
from gitnexus.prompts.model import ExecResult, Plan
from gitnexus.workflow.definition import OUTPUTS, WorkflowNode
from gitnexus.workflow.flow import Flow, Side
from gitnexus.workflow.outputs import Hindrance, read
from gitnexus.workflow.progress import WHOLE, Block, Progress
from gitnexus.workflow.specialist import Answered, Order, Output


@dataclass(slots=True)
class Desk:
    """Reads what a run kept, each artifact once."""

    flow: Flow
    progress: Progress
    fetch: Callable[[str], bytes]
    task: str = ""
    # Seconds that specialists worked in this walk; how long people take does not count.
    used: float = 0.0
    _outputs: dict[tuple[str, str], Output] = field(default_factory=dict)
    _plans: dict[str, Plan] = field(default_factory=dict)

    def effective(self, node: WorkflowNode) -> WorkflowNode:
        """Return a node as it is carried out: who is to change a plan where there is none makes one."""
        if node.type == "plan_patch" and not self.flow.plan(self.progress, node.id):
            return node.changed(type="plan", outputs=OUTPUTS["plan"])
        return node

    def plan(self, node: WorkflowNode) -> Plan | None:
        """Return the plan that is in force for a node."""
        digest = self.flow.plan(self.progress, node.id)
        if digest and digest not in self._plans:
            self._plans[digest] = Plan.from_value(parse(self.fetch(digest)), "plan.json")
        return self._plans[digest] if digest else None

    def output(self, node: WorkflowNode, digest: str) -> Output:
        """Return an output that was kept."""
        key = (node.type, digest)
        if key not in self._outputs:
            self._outputs[key] = read(node.type, self.fetch(digest))
        return self._outputs[key]

    def merged(self, node: WorkflowNode) -> ExecResult:
        """Return what an executor did in all steps of a plan, as one result without the actions."""
        said = []
        for name, step in self.progress.nodes[node.id].steps.items():
            found = self.output(node, step.result) if step.result else None
            said.append(f"{name}: {found.summary if isinstance(found, ExecResult) else step.why}")
        return ExecResult(status="done", summary="\n".join(said))

    def order(self, node: WorkflowNode, step: str, say: Callable[[str], None]) -> Order:
        """Return the order for a node, or for one step of its plan."""
        side = next((one for one in self.flow.sides(self.progress) if one.node.id == node.id), None)
        hindrance = self._hindrance(side)
        definition = self.flow.definition
        left = definition.budgets.seconds - self.used if definition.budgets.seconds else 0
        seconds = min(filter(None, (node.budget.seconds, left)), default=0)
        blocked = hindrance.blocked if hindrance else None
        return Order(
            node=node,
            goal=definition.prompt,
            prompt=node.prompt or (blocked.question if blocked else "") or definition.prompt,
            inputs=self._inputs(node),
            plan=self.plan(node),
            step="" if step == WHOLE else step,
            blocked=blocked,
            split=hindrance.split if hindrance else None,
            answers=self._answers(side.parent if side else node.id),
            deadline=time.monotonic() + seconds if seconds else None,
            task=self.task,
            say=say,
        )

    def _inputs(self, node: WorkflowNode) -> dict[str, Output]:
        found = {}
        for one in map(self.effective, self.flow.uses(self.progress, node.id)):
            name = OUTPUTS[one.type][0] if one.type != "command" else "exec_result.json"
            digest = self.progress.nodes[one.id].outputs.get(name)
            if digest:
                found[one.id] = self.output(one, digest)
        return found

    def _hindrance(self, side: Side | None) -> Hindrance | None:
        block = self._block(side)
        return Hindrance.from_value(parse(self.fetch(block.kept)), "blocked.json") if block and block.kept else None

    def _block(self, side: Side | None) -> Block | None:
        if side is None:
            return None
        return next((one for one in self.progress.nodes[side.parent].blocks if one.handoff == side.action), None)

    def _answers(self, id_: str) -> tuple[Answered, ...]:
        state = self.progress.nodes.get(id_)
        return tuple(Answered(one.why, one.answer) for one in (state.blocks if state else ()) if one.answer)
