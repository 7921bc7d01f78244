"""Ends the steps that an agent's program carries out in the worktree: its changes are proved and proposed.

In comes a step whose program has ended. What it left in the files is checked like a patch of a model, and what does not
hold is told to the same program, which goes on in its session. Events are written by the engine.
"""

from typing import TYPE_CHECKING

from gitnexus.base.text import one_line
from gitnexus.prompts.model import PlanStep
from gitnexus.workflow.blocks import OPEN, settle_next_action
from gitnexus.workflow.definition import WorkflowNode
from gitnexus.workflow.engine_protocol import NodeAction
from gitnexus.workflow.flow import runs_in_worktree
from gitnexus.workflow.progress import WHOLE, ActionState, NodeState

if TYPE_CHECKING:
    from gitnexus.workflow.engine import Engine
    from gitnexus.workflow.steps import NodeSteps


class AgentSteps:
    """Ends the steps of agents' programs, and of commands, for one engine."""

    def __init__(self, engine: "Engine", steps: "NodeSteps", looked: set[str]) -> None:
        self._engine = engine
        self._steps = steps
        self._looked = looked
        # The steps whose changes were proposed in this walk.
        self._collected: set[tuple[str, str]] = set()
        self._by_steps: dict[str, bool] = {}

    def takes_steps(self, node: WorkflowNode) -> bool:
        """Return True if a node is given the steps of its plan one by one; what a handoff brings in has its own work.

        A node that was given the whole plan before there was this goes on with that.
        """
        if not runs_in_worktree(node):
            return True
        if node.id not in self._by_steps:
            known = self._engine.progress.node(node.id).steps.get(WHOLE)
            begun_whole = known is not None and bool(known.result)
            self._by_steps[node.id] = (
                node.id in self._engine.flow.nodes and not begun_whole and self._engine.stage.agent_takes_steps(node.id)
            )
        return self._by_steps[node.id]

    def block_on_question(self, node: WorkflowNode) -> tuple[str, str] | None:
        """Return the question that a program asked a person and left open when it ended: name and text."""
        if node.type != "exec" or not runs_in_worktree(node):
            return None
        return next(iter(self._engine.stage.agent_questions(node.id)), None)

    def forget(self, node: str, step: str) -> None:
        """Let the changes of a step be proposed again, because it is tried again."""
        self._collected.discard((node, step))

    def advance(self, node: WorkflowNode, state: NodeState, name: str) -> bool:
        """Advance a step whose program has ended; return False if it has to wait."""
        engine = self._engine
        actions = engine.progress.actions
        mine = [one for one, action in actions.items() if action.node == node.id]
        waits = [one for one in mine if actions[one].status in OPEN]
        if waits:
            return settle_next_action(engine, waits, self._looked)
        if (node.id, name) not in self._collected:
            self._collected.add((node.id, name))
            return self._propose_changes(node, state, name)
        handed = {one.action for one in engine.flow.side_nodes(engine.progress) if one.parent == node.id}
        cleared = [engine.flow.outcome_of_handoff(engine.progress, one) for one in handed]
        if None in cleared and False not in cleared:
            return False
        if False in cleared:
            return self._steps.end_step(node, name, "who took over failed")
        return self._end_by_its_patches(node, state, name, mine)

    def _end_by_its_patches(self, node: WorkflowNode, state: NodeState, name: str, mine: list[str]) -> bool:
        actions = self._engine.progress.actions
        of_step = mine if name == WHOLE else state.proposed
        patches = [
            one
            for one in of_step
            if actions[one].kind == "patch" and (actions[one].status == "executed" or actions[one].by)
        ]
        last = actions[patches[-1]] if patches else None
        if last is not None and last.status == "denied":
            why = f"{patches[-1]} denied: {last.said}" if last.said else ""
            if why and self._steps.try_again(node, name, why):
                return True
            return self._steps.end_step(node, name, f"{patches[-1]} denied", denied=True)
        if wrong := next((one for one in state.steps[name].actions if self._went_wrong(one)), None):
            why = f"{wrong}, a {actions[wrong].kind}, {_how_it_ended(actions[wrong])}"
            ended = actions[wrong].status == "denied" and not actions[wrong].said
            if not ended and self._steps.try_again(node, name, why):
                return True
            denied = actions[wrong].status == "denied"
            return self._steps.end_step(node, name, f"{wrong} {'denied' if denied else 'failed'}", denied=denied)
        if last is None and state.refused and self._steps.try_again(node, name, state.refused):
            return True
        return self._steps.prove_and_end_step(node, name)

    def _went_wrong(self, action: str) -> bool:
        """Return True for a command that the engine asked about and that failed or was denied."""
        one = self._engine.progress.actions[action]
        return one.kind == "command" and ((one.status == "denied" and bool(one.by)) or one.ok is False)

    def _propose_changes(self, node: WorkflowNode, state: NodeState, name: str) -> bool:
        """Propose what a program left in the worktree, once it holds as far as that can be known without a person."""
        engine = self._engine
        left = NodeAction("tree", "")
        if node.type == "exec":
            step = self._plan_step(node, name)
            if step is not None:
                summary = f"{step.id}: {one_line(step.title, 150)}"
                left = left._replace(summary=summary, proofs=step.commands)
            unattended = engine.flow.definition.mode == "autopilot"
            if step is not None and unattended and self._steps.stop_if_surprised(node, state, name, left):
                self.forget(node.id, name)
                return True
            failed = engine.stage.prove(node, left, left.proofs, engine.inputs.limits(node))
            if failed and self._steps.try_again(node, name, failed):
                return True
        before = set(engine.progress.actions)
        why = engine.stage.act(node, name, left)
        engine.read_new_events()
        self._looked |= set(engine.progress.actions) - before
        if why and not self._steps.try_again(node, name, why):
            self._steps.end_step(node, name, why)
        return True

    def _plan_step(self, node: WorkflowNode, name: str) -> PlanStep | None:
        plan = self._engine.inputs.plan(node) if name != WHOLE else None
        return next((one for one in plan.steps if one.id == name), None) if plan else None


def _how_it_ended(action: ActionState) -> str:
    return f"denied: {action.said}" if action.status == "denied" else f"failed: {action.said[-2000:]}"
