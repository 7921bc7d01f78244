"""A node that is blocked: what is kept of it, whom it is handed over to, and when it goes on."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gitnexus.base.canonical import document
from gitnexus.base.text import one_line
from gitnexus.events.kinds import short
from gitnexus.events.log import Draft
from gitnexus.prompts.model import Blocked
from gitnexus.workflow.definition import WorkflowNode
from gitnexus.workflow.flow import receiver_of
from gitnexus.workflow.outputs import Hindrance
from gitnexus.workflow.packing import SplitRequest
from gitnexus.workflow.progress import BLOCKED, WHOLE, NodeState
from gitnexus.workflow.stage import Deed

if TYPE_CHECKING:
    from gitnexus.workflow.engine import Engine

NEXUS = "nexus"
OPEN = ("proposed", "waiting", "approved", "unknown")


class Blocks:
    """Works for one engine. `looked` are actions and questions that were asked about in this walk."""

    def __init__(self, engine: "Engine", looked: set[str]) -> None:
        self._engine = engine
        self._looked = looked

    def put(
        self, node: WorkflowNode, step: str, blocked: Blocked, split: SplitRequest | None, before: Sequence[Draft]
    ) -> None:
        """Write down that a node is blocked, after what came `before`; one that is blocked by the same again fails."""
        engine, state = self._engine, self._engine.progress.node(node.id)
        why, at = short(blocked.question), "" if step == WHOLE else step
        if any(one.why == why and one.step == at for one in state.blocks):
            engine.failed(node.id, f"blocked again by what was cleared away: {why}", before)
            return
        kept = engine.kept(node.id, [(BLOCKED, document(Hindrance(blocked=blocked, split=split).plain()))])
        body = {"node": node.id, "why": why, "needs": _needs(node, blocked), **({"step": at} if at else {})}
        engine.write(*before, *kept, Draft("node.blocked", NEXUS, body))
        engine.stage.show(node.id, f"{node.id} is blocked: {one_line(why, 200)}")

    def advanced(self, node: WorkflowNode, state: NodeState) -> bool:
        """Do what a blocked node needs next: ask, propose the handoff, or see it fail; False if it has to wait."""
        engine, block = self._engine, state.blocks[-1]
        if block.question:
            if block.question in engine.progress.questions and block.question not in self._looked:
                self._looked.add(block.question)
                engine.stage.ask(block.question, block.why)
                engine.news()
                return True
            return False
        if block.handoff:
            return self._handed(node, block.handoff, block.why)
        if block.needs == "needs_user_input":
            body = {"question": f"q{engine.progress.asked + 1}", "text": block.why, "node": node.id}
            engine.write(Draft("question.asked", node.adapter or node.specialist, body))
            return True
        made = sum(one.kind == "handoff" for one in engine.progress.actions.values())
        most = engine.flow.definition.budgets.handoffs
        if most and made >= most:
            engine.failed(node.id, f"the {most} handoffs of this run are used up: {block.why}")
            return True
        before = set(engine.progress.actions)
        receiver = receiver_of(block.needs)
        summary = f"{node.specialist} is blocked; {receiver} goes on: {one_line(block.why, 200)}"
        why = engine.stage.act(node, block.step, Deed("handoff", summary, receiver=receiver, message=block.why))
        engine.news()
        self._looked |= set(engine.progress.actions) - before
        if why:
            engine.failed(node.id, why)
        return True

    def _handed(self, node: WorkflowNode, action: str, why: str) -> bool:
        engine = self._engine
        known = engine.progress.actions[action]
        if known.status in OPEN:
            return looked_at(engine, [action], self._looked)
        if known.status == "denied":
            engine.failed(node.id, f"{action} denied, so nobody clears this: {why}")
            return True
        if engine.flow.side_done(engine.progress, action) is False:
            engine.failed(node.id, f"it could not be cleared: {why}")
            return True
        return False


def looked_at(engine: "Engine", names: Sequence[str], looked: set[str]) -> bool:
    """Go on with the first of some actions that was not looked at in this walk; False if all were."""
    fresh = [one for one in names if one not in looked]
    for one in fresh[:1]:
        looked.add(one)
        engine.stage.settle(one)
        engine.news()
    return bool(fresh)


def _needs(node: WorkflowNode, blocked: Blocked) -> str:
    """Return what a node really needs: nobody hands over to themselves."""
    if node.specialist == "planner" and blocked.kind == "needs_plan_patch":
        return "needs_user_input"
    if node.specialist == "researcher" and blocked.kind != "needs_user_input":
        return "needs_user_input"
    return blocked.kind
