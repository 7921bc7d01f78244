"""One node on its way: what its specialist gave is kept, each deed goes through the gate, blocks are cleared."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gitnexus.base.canonical import document
from gitnexus.base.text import one_line
from gitnexus.events.kinds import short
from gitnexus.events.log import Draft
from gitnexus.prompts.model import Blocked, ExecResult, PlanChanges
from gitnexus.workflow.batches import batch_over, next_in_batch
from gitnexus.workflow.blocks import OPEN, Blocks, looked_at
from gitnexus.workflow.definition import WorkflowNode
from gitnexus.workflow.flow import is_agent
from gitnexus.workflow.outputs import CHANGES, PLAN, block_in, files_of
from gitnexus.workflow.packing import SplitRequest
from gitnexus.workflow.planchange import after_failed, changed_plan
from gitnexus.workflow.progress import WHOLE, NodeState, StepState
from gitnexus.workflow.specialist import FUNCTIONS
from gitnexus.workflow.stage import Change, Deed

if TYPE_CHECKING:
    from gitnexus.workflow.engine import Engine, Outcome

NEXUS = "nexus"
_YES = ("y", "yes", "go", "go on", "ok", "continue")


class Steps:
    """Works for one engine."""

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        # Asked about in this walk: a person who left something waiting is not asked again at once.
        self._looked: set[str] = set()
        self._collected: set[str] = set()
        self._blocks = Blocks(engine, self._looked)

    def taken(self, node: WorkflowNode, step: str, outcome: "Outcome") -> None:
        """Take in what came of a call."""
        engine, node = self._engine, self._engine.desk.effective(node)
        drafts = self._told(node, step, outcome)
        if outcome.output is None:
            engine.failed(node.id, outcome.error, drafts)
            return
        if over := _over_budget(node, engine.progress.node(node.id), outcome):
            engine.failed(node.id, over, drafts)
            return
        blocked = block_in(outcome.output)
        if blocked is not None:
            self._blocks.put(node, step, blocked, None, drafts)
            return
        drafts += engine.kept(node.id, files_of(node.type, outcome.output).items(), step)
        engine.write(*drafts)

    def _told(self, node: WorkflowNode, step: str, outcome: "Outcome") -> list[Draft]:
        found = []
        spent = outcome.usage
        if spent.input or spent.output or spent.cost or spent.session:
            body: dict[str, Any] = {"input": spent.input, "output": spent.output, "node": node.id}
            body |= {"cost": spent.cost} if spent.cost else {}
            body |= {"session": spent.session} if spent.session else {}
            found.append(Draft("agent.spent", node.adapter or "embedded", body))
        if is_agent(node):
            return found  # it has no form: what it left behind in the files is its result
        schema, at = FUNCTIONS.get(node.type, node.type), {} if step == WHOLE else {"step": step}
        for number, why in enumerate(outcome.wrong, 1):
            told = {"node": node.id, "schema": schema, "ok": False, "why": short(why), "attempt": number, **at}
            found.append(Draft("output.checked", NEXUS, told))
        if outcome.output is not None:
            told = {"node": node.id, "schema": schema, "ok": True, "attempt": len(outcome.wrong) + 1, **at}
            found.append(Draft("output.checked", NEXUS, told))
        return found

    def advanced(self, node: WorkflowNode, state: NodeState) -> bool:
        """Bring a node on by one event or deed; False if it needs a specialist, a person, or another node."""
        if state.status == "blocked":
            return self._blocks.advanced(node, state)
        found = state.open_step
        if found is not None:
            return self._brought_on(node, state, *found)
        return self._finished(node, state)

    def next_step(self, node: WorkflowNode, state: NodeState) -> str:
        """Return the step to call a specialist for; nothing if the node came to its end, or is blocked by it."""
        plan = self._engine.desk.plan(node) if node.type == "exec" and not is_agent(node) else None
        if plan is None:
            return WHOLE
        todo = self._todo(node, state)
        if not todo:
            return ""
        engine = self._engine
        found = next_in_batch(engine, node, state, plan, todo)
        if isinstance(found, SplitRequest):
            files = next(step.files for step in plan.steps if step.id == found.step)
            blocked = Blocked(kind="needs_plan_patch", question=found.why, suggested_ctx=files[:20])
            self._blocks.put(node, found.step, blocked, found, [])
            return ""
        return found

    def _todo(self, node: WorkflowNode, state: NodeState) -> list[str]:
        plan = self._engine.desk.plan(node)
        steps = plan.steps if plan else ()
        wrong = {name for name, one in state.steps.items() if one.ok is False}
        out = wrong | after_failed(steps, wrong) | {name for name, one in state.steps.items() if one.ok}
        return [step.id for step in steps if step.id not in out]

    def _finished(self, node: WorkflowNode, state: NodeState) -> bool:
        """End a node whose plan has no step left."""
        engine = self._engine
        if node.type != "exec" or is_agent(node) or engine.desk.plan(node) is None or self._todo(node, state):
            return False
        wrong = [f"{name}: {one.why}" for name, one in state.steps.items() if one.ok is False]
        if wrong:
            engine.failed(node.id, "; ".join(wrong))
            return True
        merged = engine.desk.merged(node)
        self._complete(node, merged.summary, engine.kept(node.id, [("exec_result.json", document(merged.plain()))]))
        return True

    def _complete(self, node: WorkflowNode, summary: str, before: Sequence[Draft] = ()) -> None:
        engine = self._engine
        names = sorted(engine.progress.nodes[node.id].outputs)
        body = {"node": node.id, "summary": short(summary, 1000), "outputs": names}
        engine.write(*before, Draft("node.completed", NEXUS, body))
        engine.stage.show(node.id, f"{node.id} is done: {one_line(summary, 160)}")
        engine.stage.completed(node)

    def _brought_on(self, node: WorkflowNode, state: NodeState, name: str, step: StepState) -> bool:
        actions = self._engine.progress.actions
        mine = [one for one, action in actions.items() if action.node == node.id] if is_agent(node) else step.actions
        waits = [one for one in mine if actions[one].status in OPEN]
        if waits:
            return looked_at(self._engine, waits, self._looked)
        if is_agent(node):
            return self._agent_over(node, mine)
        denied = next((one for one in mine if actions[one].status == "denied"), None)
        if denied is not None:
            return self._over(node, name, f"{denied} denied", denied=True)
        if wrong := next((one for one in mine if not actions[one].ok), None):
            return self._over(node, name, f"{wrong} failed")
        cleared = [self._engine.flow.side_done(self._engine.progress, one) for one in mine
                   if actions[one].kind == "handoff"]  # fmt: skip
        if False in cleared:
            return self._over(node, name, "who took over failed")
        if None in cleared:
            return False
        deeds = self._deeds(node, step)
        if len(mine) < len(deeds):
            return self._done(node, state, name, deeds[len(mine)])
        return self._over(node, name, "")

    def _agent_over(self, node: WorkflowNode, mine: Sequence[str]) -> bool:
        engine = self._engine
        if node.id not in self._collected:
            self._collected.add(node.id)
            why = engine.stage.act(node, WHOLE, Deed("tree", engine.flow.definition.prompt))
            engine.news()
            if why:
                engine.failed(node.id, why)
            return True
        actions, sides = engine.progress.actions, engine.flow.sides(engine.progress)
        handed = {one.action for one in sides if one.parent == node.id}
        cleared = [engine.flow.side_done(engine.progress, one) for one in handed]
        if None in cleared and False not in cleared:
            return False
        patches = [
            one
            for one in mine
            if actions[one].kind == "patch" and (actions[one].status == "executed" or actions[one].by)
        ]
        if False in cleared:
            engine.failed(node.id, "who took over failed")
        elif patches and actions[patches[-1]].status == "denied":
            engine.failed(node.id, f"{patches[-1]} denied")
        else:
            result = engine.desk.output(node, engine.progress.nodes[node.id].steps[WHOLE].result)
            self._complete(node, result.summary if isinstance(result, ExecResult) else "")
        return True

    def _deeds(self, node: WorkflowNode, step: StepState) -> list[Deed]:
        output = self._engine.desk.output(node, step.result)
        if isinstance(output, ExecResult):
            return [
                Deed(one.kind, one.summary, action=one, receiver=one.receiver, message=one.message)
                for one in output.actions
            ]
        if isinstance(output, PlanChanges):
            return [self._change(node, output)]
        return []

    def _change(self, node: WorkflowNode, changes: PlanChanges) -> Deed:
        engine = self._engine
        plan, old = engine.desk.plan(node), engine.flow.plan(engine.progress, node.id)
        assert plan is not None  # noqa: S101 - who changes a plan has one, or makes one instead
        new = document(changed_plan(plan, changes).plain())
        return Deed(CHANGES, changes.summary, change=Change(old, engine.stage.keep(PLAN, new).digest, new))

    def _done(self, node: WorkflowNode, state: NodeState, name: str, deed: Deed) -> bool:
        """Put one deed to the gate; of patches one waits at a time, for a yes to it would make the next one unfit."""
        engine, actions = self._engine, self._engine.progress.actions
        if deed.kind == "patch" and any(one.kind == "patch" and one.status in OPEN for one in actions.values()):
            return False
        if engine.flow.definition.mode == "autopilot" and self._surprised(node, state, name, deed):
            return True
        before = set(actions)
        why = engine.stage.act(node, name, deed)
        engine.news()
        new = set(actions) - before
        self._looked |= new
        if not new:
            return self._over(node, name, why or f"the {deed.kind} was answered before")
        return True

    def _surprised(self, node: WorkflowNode, state: NodeState, name: str, deed: Deed) -> bool:
        """Stop a batch that runs by itself at the first thing that its plan does not say; True if it is stopped."""
        plan = self._engine.desk.plan(node)
        step = next((one for one in plan.steps if one.id == name), None) if plan else None
        what = self._engine.stage.surprise(deed, step.files) if step else ""
        if not what:
            return False
        question = f"{name} surprises: {what}. Shall it go on?"
        known = next((one for one in state.blocks if one.why == short(question)), None)
        if known is not None and known.answer.strip().lower().rstrip(".!") in _YES:
            return False
        if known is not None:
            self._over(node, name, f"stopped: {what}")
            return True
        drafts = batch_over(node.id, state, False, f"surprise in {name}: {what}")
        blocked = Blocked(kind="needs_user_input", question=question)
        self._blocks.put(node, name, blocked, None, drafts)
        return True

    def _over(self, node: WorkflowNode, name: str, why: str, *, denied: bool = False) -> bool:
        """End a step, and with it the node if it was its only one or if that stops it."""
        engine, state = self._engine, self._engine.progress.nodes[node.id]
        if name == WHOLE:
            if why:
                engine.failed(node.id, why)
            else:
                self._whole(node, state)
            return True
        body = {"node": node.id, "step": name, "ok": not why, **({"why": short(why)} if why else {})}
        drafts = [Draft("step.finished", NEXUS, body)]
        batch = next((one for one in state.batches if one.ok is None), None)
        left = [one for one in self._todo(node, state) if batch and one in batch.steps and one != name]
        if why or not left:
            drafts += batch_over(node.id, state, not why, why)
        if why and ("denied" if denied else "failed") in engine.flow.definition.stop:
            engine.failed(node.id, f"{name}: {why}", drafts)
        else:
            engine.write(*drafts)
        return True

    def _whole(self, node: WorkflowNode, state: NodeState) -> None:
        engine = self._engine
        output = engine.desk.output(node, state.steps[WHOLE].result)
        if isinstance(output, PlanChanges):
            change = self._change(node, output).change
            assert change is not None  # noqa: S101
            self._complete(node, output.summary, engine.kept(node.id, [(PLAN, change.plan)]))
        else:
            self._complete(node, getattr(output, "summary", "") or getattr(output, "goal", ""))


def _over_budget(node: WorkflowNode, state: NodeState, outcome: "Outcome") -> str:
    tokens = state.tokens + outcome.usage.input + outcome.usage.output
    cost = state.cost + outcome.usage.cost
    if node.budget.tokens and tokens > node.budget.tokens:
        return f"it took {tokens} tokens of {node.budget.tokens}"
    if node.budget.cents and cost > node.budget.cents * 10_000:
        return f"it cost {cost / 1e6:.2f} USD of {node.budget.cents / 100:.2f}"
    return ""
