"""Handles blocked nodes: what is stored about the block, which node has to resolve it, and when the node continues."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gitnexus.base.canonical import json_document
from gitnexus.base.text import first_line, one_line
from gitnexus.events.kinds import shorten_text
from gitnexus.events.log import EventDraft
from gitnexus.prompts.model import Blocked
from gitnexus.workflow.definition import WorkflowNode
from gitnexus.workflow.engine_protocol import NodeAction
from gitnexus.workflow.flow import receiver_for_need
from gitnexus.workflow.outputs import GAVE_UP, Hindrance
from gitnexus.workflow.packing import SplitRequest
from gitnexus.workflow.progress import BLOCKED, WHOLE, NodeState

if TYPE_CHECKING:
    from gitnexus.workflow.engine import Engine

NEXUS = "nexus"
OPEN = ("proposed", "waiting", "approved", "unknown")


class BlockedNodes:
    """Handles blocked nodes for one engine. `looked` are the actions and questions already asked about in this walk."""

    def __init__(self, engine: "Engine", looked: set[str]) -> None:
        self._engine = engine
        self._looked = looked

    def put(
        self, node: WorkflowNode, step: str, blocked: Blocked, split: SplitRequest | None, before: Sequence[EventDraft]
    ) -> None:
        """Record that a node is blocked, after the events `before`; a node blocked again for the same reason fails."""
        engine, state = self._engine, self._engine.progress.node(node.id)
        why, at = shorten_text(blocked.question), "" if step == WHOLE else step
        repeats = any(one.why == why and one.step == at for one in state.blocks[state.blocks_before :])
        # Who gave up asks as often as a person lets it try again.
        if repeats and not (why.startswith(GAVE_UP) and engine.stage.asks_again(node.id)):
            engine.fail_node(node.id, f"blocked again by what was cleared away: {why}", before)
            return
        kept = engine.kept(node.id, [(BLOCKED, json_document(Hindrance(blocked=blocked, split=split).plain()))])
        body = {"node": node.id, "why": why, "needs": _effective_need(node, blocked), **({"step": at} if at else {})}
        engine.write(*before, *kept, EventDraft("node.blocked", NEXUS, body))
        engine.stage.show(node.id, f"{node.id} is blocked: {first_line(why, 200)}")

    def put_question(self, node: WorkflowNode, step: str, asked: tuple[str, str], before: Sequence[EventDraft]) -> None:
        """Record that a node waits for the answer to a question that its program asked, after the events `before`."""
        name, text = asked
        body = {"node": node.id, "why": shorten_text(text), "needs": "needs_user_input", "question": name}
        self._engine.write(
            *before, EventDraft("node.blocked", NEXUS, {**body, **({} if step == WHOLE else {"step": step})})
        )
        self._engine.stage.show(node.id, f"{node.id} asks: {one_line(text, 200)}")

    def advance_node(self, node: WorkflowNode, state: NodeState) -> bool:
        """Do what a blocked node needs next: ask, propose the handoff, or fail; return False if it has to wait."""
        engine, block = self._engine, state.blocks[-1]
        if block.question:
            if block.question in engine.progress.questions and block.question not in self._looked:
                self._looked.add(block.question)
                engine.stage.ask(block.question, block.why)
                engine.read_new_events()
                return True
            return False
        if block.handoff:
            return self._advance_handoff(node, block.handoff, block.why)
        if block.needs == "needs_user_input":
            body = {"question": f"q{engine.progress.asked + 1}", "text": block.why, "node": node.id}
            engine.write(EventDraft("question.asked", node.adapter or node.specialist, body))
            return True
        made = sum(one.kind == "handoff" for one in engine.progress.actions.values())
        most = engine.flow.definition.budgets.handoffs
        if most and made >= most:
            engine.fail_node(node.id, f"the {most} handoffs of this run are used up: {block.why}")
            return True
        before = set(engine.progress.actions)
        receiver = receiver_for_need(block.needs)
        summary = f"{node.specialist} is blocked; {receiver} goes on: {one_line(block.why, 200)}"
        why = engine.stage.act(node, block.step, NodeAction("handoff", summary, receiver=receiver, message=block.why))
        engine.read_new_events()
        self._looked |= set(engine.progress.actions) - before
        if why:
            engine.fail_node(node.id, why)
        return True

    def _advance_handoff(self, node: WorkflowNode, action: str, why: str) -> bool:
        engine = self._engine
        known = engine.progress.actions[action]
        if known.status in OPEN:
            return settle_next_action(engine, [action], self._looked)
        if known.status == "denied":
            engine.fail_node(node.id, f"{action} denied, so this stays blocked: {why}")
            return True
        if engine.flow.outcome_of_handoff(engine.progress, action) is False:
            engine.fail_node(node.id, f"it could not be cleared: {why}")
            return True
        return False


def settle_next_action(engine: "Engine", names: Sequence[str], looked: set[str]) -> bool:
    """Continue the first of some actions that was not yet tried in this walk; return False if all were."""
    fresh = [one for one in names if one not in looked]
    for one in fresh[:1]:
        looked.add(one)
        engine.stage.settle(one)
        engine.read_new_events()
    return bool(fresh)


def _effective_need(node: WorkflowNode, blocked: Blocked) -> str:
    """Return what a node really needs: a specialist does not hand over to itself."""
    if node.specialist == "planner" and blocked.kind == "needs_plan_patch":
        return "needs_user_input"
    if node.specialist == "researcher" and blocked.kind != "needs_user_input":
        return "needs_user_input"
    return blocked.kind
