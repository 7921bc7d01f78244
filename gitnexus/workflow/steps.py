"""Processes the result of one node: stores its output, sends each action through the gate, and resolves blocks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gitnexus.base.canonical import json_document
from gitnexus.base.text import first_line, one_line
from gitnexus.events.kinds import shorten_text
from gitnexus.events.log import EventDraft
from gitnexus.prompts.model import Action, Blocked, ExecResult, Plan, PlanChanges
from gitnexus.workflow.agent_steps import AgentSteps
from gitnexus.workflow.batches import batch_finished_events, next_step_in_batch
from gitnexus.workflow.blocks import OPEN, BlockedNodes, settle_next_action
from gitnexus.workflow.definition import WorkflowNode
from gitnexus.workflow.engine_protocol import CommitProof, NodeAction, PlanReplacement
from gitnexus.workflow.flow import runs_in_worktree, why_node_over_budget
from gitnexus.workflow.outputs import CHANGES, GAVE_UP, PLAN, block_of_output, output_files
from gitnexus.workflow.packing import SplitRequest
from gitnexus.workflow.planchange import apply_plan_changes, steps_after_failed
from gitnexus.workflow.progress import WHOLE, NodeState, StepState
from gitnexus.workflow.remarks import reviewed_work, take_remarks_back
from gitnexus.workflow.run_definition import EMBEDDED, MODEL
from gitnexus.workflow.specialist import FUNCTIONS, Output

if TYPE_CHECKING:
    from gitnexus.workflow.engine import CallOutcome, Engine

NEXUS = "nexus"
_YES = ("y", "yes", "go", "go on", "ok", "continue")


class NodeSteps:
    """Processes the steps of nodes for one engine."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        # Asked about in this walk: a person who left something waiting is not asked again at once.
        self._looked: set[str] = set()
        self._blocks = BlockedNodes(engine, self._looked)
        self._agents = AgentSteps(engine, self, self._looked)

    def take_outcome(self, node: WorkflowNode, step: str, outcome: "CallOutcome") -> None:
        """Process the outcome of a call."""
        engine, node = self._engine, self._engine.inputs.effective(node)
        drafts = self._events_of_outcome(node, step, outcome)
        if outcome.output is None:
            engine.fail_node(node.id, outcome.error, drafts)
            return
        spent = outcome.usage
        taken = (spent.input + spent.output, spent.cost)
        if over := why_node_over_budget(node, engine.progress.node(node.id), *taken):
            engine.fail_node(node.id, over, drafts)
            return
        blocked = block_of_output(outcome.output)
        if blocked is not None:
            self._blocks.put(node, step, blocked, None, drafts)
            return
        if asked := self._agents.block_on_question(node):
            self._blocks.put_question(node, step, asked, drafts)
            return
        drafts += engine.kept(node.id, output_files(node.type, outcome.output).items(), step)
        engine.write(*drafts)

    def _events_of_outcome(self, node: WorkflowNode, step: str, outcome: "CallOutcome") -> list[EventDraft]:
        found = []
        spent = outcome.usage
        if spent.input or spent.output or spent.cost or spent.session:
            body: dict[str, Any] = {"input": spent.input, "output": spent.output, "node": node.id}
            body |= {"cost": spent.cost} if spent.cost else {}
            body |= {"session": spent.session} if spent.session else {}
            body |= {"step": step} if step != WHOLE and runs_in_worktree(node) else {}
            found.append(EventDraft("agent.spent", node.adapter or "embedded", body))
        if runs_in_worktree(node) and not self._is_counted(node, step, outcome):
            return found  # it has no form: what it left behind in the files is its result
        schema, at = FUNCTIONS.get(node.type, node.type), {} if step == WHOLE else {"step": step}
        known = self._engine.progress.node(node.id)
        before = known.tries[step] if self._engine.inputs.feedback(node, step) else 0
        for number, why in enumerate(outcome.wrong, before + 1):
            told = {"node": node.id, "schema": schema, "ok": False, "why": shorten_text(why), "attempt": number, **at}
            found.append(EventDraft("output.checked", NEXUS, told))
        if outcome.output is not None:
            told = {"node": node.id, "schema": schema, "ok": True, "attempt": before + len(outcome.wrong) + 1, **at}
            found.append(EventDraft("output.checked", NEXUS, told))
        return found

    def _is_counted(self, node: WorkflowNode, step: str, outcome: "CallOutcome") -> bool:
        """Return True for a program's work that counts as an attempt: on a step of a plan, or more than the first."""
        return step != WHOLE or bool(outcome.wrong or self._engine.inputs.feedback(node, step))

    def advance_node(self, node: WorkflowNode, state: NodeState) -> bool:
        """Advance a node by one event or action; return False if it needs a specialist, a person, or another node."""
        if state.status == "blocked":
            return self._blocks.advance_node(node, state)
        found = state.open_step
        if found is not None:
            return self._advance_step(node, state, *found)
        return self._finish_if_done(node, state)

    def next_step(self, node: WorkflowNode, state: NodeState) -> str:
        """Return the step to call a specialist for; empty if the node ended or became blocked."""
        plan = self._plan_to_follow(node)
        if plan is None:
            return "" if self._stop_out_of_tries(node, state, WHOLE) else WHOLE
        todo = self._steps_left(node, state)
        if not todo:
            return ""
        engine = self._engine
        found = next_step_in_batch(engine, node, state, plan, todo)
        if isinstance(found, SplitRequest):
            files = next(step.files for step in plan.steps if step.id == found.step)
            blocked = Blocked(kind="needs_plan_patch", question=found.why, suggested_ctx=files[:20])
            self._blocks.put(node, found.step, blocked, found, [])
            return ""
        return "" if self._stop_out_of_tries(node, state, found) else found

    def _plan_to_follow(self, node: WorkflowNode) -> Plan | None:
        """Return the plan whose steps a node carries out one by one, None if it works on all at once."""
        plan = self._engine.inputs.plan(node) if node.type == "exec" else None
        return plan if plan is not None and self._agents.takes_steps(node) else None

    def _stop_out_of_tries(self, node: WorkflowNode, state: NodeState, step: str) -> bool:
        """Block a step that did not hold as often as it may be tried; return True if it was blocked."""
        why = self._engine.inputs.feedback(node, step)
        if not why or state.tries[step] <= node.budget.retries:
            return False
        at = "" if step == WHOLE else f" for {step}"
        question = f"{GAVE_UP}{at} after {state.tries[step]} tries. The last one: {why}\nWhat should it do differently?"
        self._blocks.put(node, step, Blocked(kind="needs_user_input", question=question), None, [])
        return True

    def try_again(self, node: WorkflowNode, name: str, why: str) -> bool:
        """Record that a step did not hold and is done again by its specialist; return False if that is pointless."""
        if node.type == "exec":
            can_do_better = node.adapter == MODEL or runs_in_worktree(node)
        else:
            can_do_better = node.type in ("plan", "plan_patch") and node.adapter not in ("", EMBEDDED)
        if not can_do_better:
            return False
        told = self._engine.stage.retry(shorten_text(why))
        if not told:
            return False
        self._engine.write(EventDraft("step.retried", NEXUS, {"node": node.id, "step": name, "why": told}))
        at = "" if name == WHOLE else f" {name}"
        self._engine.stage.show(node.id, f"{node.id}{at} is tried again: {first_line(why, 160)}")
        self._agents.forget(node.id, name)
        return True

    def _steps_left(self, node: WorkflowNode, state: NodeState) -> list[str]:
        plan = self._engine.inputs.plan(node)
        steps = plan.steps if plan else ()
        wrong = {name for name, one in state.steps.items() if one.ok is False}
        out = wrong | steps_after_failed(steps, wrong) | {name for name, one in state.steps.items() if one.ok}
        return [step.id for step in steps if step.id not in out]

    def _finish_if_done(self, node: WorkflowNode, state: NodeState) -> bool:
        """End a node whose plan has no step left."""
        engine = self._engine
        if self._plan_to_follow(node) is None or self._steps_left(node, state):
            return False
        wrong = [f"{name}: {one.why}" for name, one in state.steps.items() if one.ok is False]
        if wrong:
            engine.fail_node(node.id, "; ".join(wrong))
            return True
        merged = engine.inputs.merged(node)
        self._complete_node(
            node, merged.summary, engine.kept(node.id, [("exec_result.json", json_document(merged.plain()))])
        )
        return True

    def _complete_node(self, node: WorkflowNode, summary: str, before: Sequence[EventDraft] = ()) -> None:
        engine = self._engine
        names = sorted(engine.progress.nodes[node.id].outputs)
        body = {"node": node.id, "summary": shorten_text(summary, 1000), "outputs": names}
        engine.write(*before, EventDraft("node.completed", NEXUS, body))
        said = "; ".join(summary.split("\n"))  # a line for each step
        engine.stage.show(node.id, f"{node.id} is done: {one_line(said, 160)}")
        engine.stage.on_completed(node)

    def _advance_step(self, node: WorkflowNode, state: NodeState, name: str, step: StepState) -> bool:
        actions = self._engine.progress.actions
        if runs_in_worktree(node):
            return self._agents.advance(node, state, name)
        mine = step.actions
        waits = [one for one in mine if actions[one].status in OPEN]
        if waits:
            return settle_next_action(self._engine, waits, self._looked)
        denied = next((one for one in mine if actions[one].status == "denied"), None)
        if (
            denied is not None
            and actions[denied].said
            and self.try_again(node, name, f"{denied} denied: {actions[denied].said}")
        ):
            return True
        if denied is not None:
            return self.end_step(node, name, f"{denied} denied", denied=True)
        if wrong := next((one for one in mine if not actions[one].ok), None):
            if self.try_again(node, name, f"{wrong}, a {actions[wrong].kind}, failed: {actions[wrong].said[-2000:]}"):
                return True
            return self.end_step(node, name, f"{wrong} failed")
        cleared = [
            self._engine.flow.outcome_of_handoff(self._engine.progress, one)
            for one in mine
            if actions[one].kind == "handoff"
        ]
        if False in cleared:
            return self.end_step(node, name, "who took over failed")
        if None in cleared:
            return False
        node_actions = self._actions_of_step(node, step)
        if len(mine) < len(node_actions):
            return self._propose_next_action(node, state, name, node_actions[len(mine)])
        return self.prove_and_end_step(node, name)

    def prove_and_end_step(self, node: WorkflowNode, name: str) -> bool:
        """End a step if its plan's commands hold on what was committed; ask about a command that needs a yes first."""
        engine, plan = self._engine, self._engine.inputs.plan(node)
        step = next((one for one in plan.steps if one.id == name), None) if plan else None
        proof = engine.stage.prove_commit(node, step.commands) if step and step.commands else CommitProof()
        if proof.why:
            return self.try_again(node, name, proof.why) or self.end_step(node, name, proof.why)
        if not proof.asks or step is None:
            return self.end_step(node, name, "")
        before = set(engine.progress.actions)
        summary = f"Prove the committed step “{one_line(step.title, 100)}”"
        wanted = Action(kind="command", summary=summary, argv=tuple(proof.asks[0]))
        why = engine.stage.act(node, name, NodeAction("command", wanted.summary, action=wanted))
        engine.read_new_events()
        new = set(engine.progress.actions) - before
        self._looked |= new
        return True if new else self.end_step(node, name, why or "its proof was answered before")

    def _actions_of_step(self, node: WorkflowNode, step: StepState) -> list[NodeAction]:
        output = self._engine.inputs.output(node, step.result)
        if isinstance(output, ExecResult):
            return [
                NodeAction(one.kind, one.summary, action=one, receiver=one.receiver, message=one.message)
                for one in output.actions
            ]
        if isinstance(output, PlanChanges):
            return [self._plan_change_action(node, output)]
        stage, side = self._engine.stage, node.id not in self._engine.flow.nodes
        if isinstance(output, Plan) and side and stage.asks_about_new_plan(node.id):
            new = json_document(output.plain())
            return [NodeAction(CHANGES, output.goal, change=PlanReplacement("", stage.keep(PLAN, new).digest, new))]
        return []

    def _plan_change_action(self, node: WorkflowNode, changes: PlanChanges) -> NodeAction:
        engine = self._engine
        plan, old = engine.inputs.plan(node), engine.flow.plan(engine.progress, node.id)
        assert plan is not None  # noqa: S101 - who changes a plan has one, or makes one instead
        new = json_document(apply_plan_changes(plan, changes).plain())
        return NodeAction(
            CHANGES, changes.summary, change=PlanReplacement(old, engine.stage.keep(PLAN, new).digest, new)
        )

    def _propose_next_action(self, node: WorkflowNode, state: NodeState, name: str, node_action: NodeAction) -> bool:
        """Send one action to the gate; only one patch waits at a time, as its approval makes the next one stale."""
        engine, actions = self._engine, self._engine.progress.actions
        if node_action.kind == "patch" and any(one.kind == "patch" and one.status in OPEN for one in actions.values()):
            return False
        if engine.flow.definition.mode == "autopilot" and self.stop_if_surprised(node, state, name, node_action):
            return True
        if node_action.kind == "patch":
            node_action = node_action._replace(proofs=self._proofs_of_step(node, state, name))
        if node_action.kind == "patch" and node.adapter == MODEL:
            failed = engine.stage.prove(node, node_action, node_action.proofs, engine.inputs.limits(node))
            if failed and self.try_again(node, name, failed):
                return True
        before = set(actions)
        why = engine.stage.act(node, name, node_action)
        engine.read_new_events()
        new = set(actions) - before
        self._looked |= new
        waits = next((one for one in new if actions[one].status in OPEN), "")
        if waits and engine.flow.definition.mode == "autopilot":
            engine.stage.show(
                node.id, f"{node.id} stops{'' if name == WHOLE else f' at {name}'}: {waits} has to be asked about"
            )
        if not new and why and self.try_again(node, name, why):
            return True
        if not new:
            return self.end_step(node, name, why or f"the {node_action.kind} was answered before")
        return True

    def _proofs_of_step(self, node: WorkflowNode, state: NodeState, name: str) -> list[Sequence[str]]:
        """Return the commands that prove a step: those of the plan, and those that its answer has besides its patch."""
        plan = self._engine.inputs.plan(node)
        step = next((one for one in plan.steps if one.id == name), None) if plan else None
        answer = self._engine.inputs.output(node, state.steps[name].result)
        told = [one.argv for one in answer.actions if one.kind == "command"] if isinstance(answer, ExecResult) else []
        return list(dict.fromkeys([*(step.commands if step else ()), *told]))

    def stop_if_surprised(self, node: WorkflowNode, state: NodeState, name: str, node_action: NodeAction) -> bool:
        """Stop an unattended batch at the first action that its plan does not announce; return True if it stopped."""
        plan = self._engine.inputs.plan(node)
        step = next((one for one in plan.steps if one.id == name), None) if plan else None
        what = self._engine.stage.surprise(node_action, step.files) if step else ""
        if not what:
            return False
        question = f"{name} surprises: {what}. Shall it go on?"
        known = next((one for one in state.blocks if one.why == shorten_text(question)), None)
        if known is not None and known.answer.strip().lower().rstrip(".!") in _YES:
            return False
        if known is not None:
            self.end_step(node, name, f"stopped: {what}")
            return True
        drafts = batch_finished_events(node.id, state, False, f"surprise in {name}: {what}")
        blocked = Blocked(kind="needs_user_input", question=question)
        self._blocks.put(node, name, blocked, None, drafts)
        return True

    def end_step(self, node: WorkflowNode, name: str, why: str, *, denied: bool = False) -> bool:
        """End a step, and the node with it if it was the only step or if that stops it."""
        engine, state = self._engine, self._engine.progress.nodes[node.id]
        if name == WHOLE:
            if why:
                engine.fail_node(node.id, why)
            else:
                self._complete_whole_node(node, state)
            return True
        body = {"node": node.id, "step": name, "ok": not why, **({"why": shorten_text(why)} if why else {})}
        drafts = [EventDraft("step.finished", NEXUS, body)]
        batch = next((one for one in state.batches if one.ok is None), None)
        left = [one for one in self._steps_left(node, state) if batch and one in batch.steps and one != name]
        if why or not left:
            drafts += batch_finished_events(node.id, state, not why, why)
        if why and ("denied" if denied else "failed") in engine.flow.definition.stop:
            engine.fail_node(node.id, f"{name}: {why}", drafts)
            return True
        engine.write(*drafts)
        if batch and name in batch.steps and len(batch.steps) > 1:
            at, told = batch.steps.index(name) + 1, f"failed: {one_line(why, 160)}" if why else "is done"
            engine.stage.show(node.id, f"{name} {told} ({at} of {len(batch.steps)} in batch {batch.id})")
        return True

    def _take_remarks_back(self, review: WorkflowNode, output: Output) -> bool:
        """Let the work that a review remarks on be tried again; return False if the review ends here."""
        work = reviewed_work(self._engine, review)
        if work is None:
            return False
        by_steps = self._plan_to_follow(work) is not None
        node, step = take_remarks_back(self._engine, review, output, by_steps=by_steps)
        self._agents.forget(node, step)
        return bool(node)

    def _complete_whole_node(self, node: WorkflowNode, state: NodeState) -> None:
        engine = self._engine
        output = engine.inputs.output(node, state.steps[WHOLE].result)
        if self._take_remarks_back(node, output):
            return
        if isinstance(output, PlanChanges):
            change = self._plan_change_action(node, output).change
            assert change is not None  # noqa: S101
            self._complete_node(node, output.summary, engine.kept(node.id, [(PLAN, change.plan)]))
        else:
            self._complete_node(node, getattr(output, "summary", "") or getattr(output, "goal", ""))
