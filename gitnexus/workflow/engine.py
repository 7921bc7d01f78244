"""The engine: continues a workflow from the position that its event log gives, as far as possible now.

It depends on no clock and keeps no state of its own: whoever opens the same log continues at the same position.
Specialists run in parallel; their results are processed one after the other, in the order in which they were started.
"""

import sys
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gitnexus.base.errors import Failed, Invalid, NexusError
from gitnexus.events.artifacts import ArtifactRef
from gitnexus.events.kinds import shorten_text
from gitnexus.events.log import EventDraft
from gitnexus.prompts.model import Plan
from gitnexus.workflow.definition import WorkflowDefinition, WorkflowNode
from gitnexus.workflow.engine_protocol import Stage
from gitnexus.workflow.flow import Flow, WorkflowVerdict, runs_in_worktree
from gitnexus.workflow.node_inputs import NodeInputReader
from gitnexus.workflow.outputs import check_output
from gitnexus.workflow.progress import WHOLE, NodeState, WorkflowProgress
from gitnexus.workflow.specialist import CallUsage, Output, SpecialistGaveUp, UnusableAnswer, WorkOrder
from gitnexus.workflow.steps import NodeSteps

NEXUS = "nexus"


@dataclass(slots=True)
class CallOutcome:
    """The outcome of a call: an output or an error, its usage, and the errors of earlier answers."""

    output: Output | None
    wrong: tuple[str, ...]
    usage: CallUsage
    error: str = ""
    seconds: float = 0.0


class Engine:
    """One walk through one workflow."""

    def __init__(
        self, definition: WorkflowDefinition, stage: Stage, task: str = "", *, side_by_side: bool = True
    ) -> None:
        self.flow = Flow(definition, stage.handoff_of)
        self.stage = stage
        self.progress = WorkflowProgress()
        self.inputs = NodeInputReader(self.flow, self.progress, stage.read, task)
        self._steps = NodeSteps(self)
        self._begun: set[str] = set()
        self._side_by_side = side_by_side
        self._running: dict[str, _SpecialistCall] = {}
        self.read_new_events()

    def walk(self) -> WorkflowVerdict | None:
        """Continue as far as possible; return the final status, None if an answer is missing. Raises: NexusError."""
        while True:
            while self._advance_one_node():
                pass
            self._start_calls()
            if not self._running:
                if not self._advance_one_node():
                    return self.flow.verdict(self.progress)
                continue
            id_, call = next(iter(self._running.items()))
            outcome = call.outcome()
            self.inputs.used += outcome.seconds
            del self._running[id_]
            self._steps.take_outcome(self.flow.node(self.progress, id_), call.step, outcome)

    def titles_of_done_steps(self) -> frozenset[str]:
        """Return the titles of the plan steps that were carried out."""
        found = set()
        for id_, state in self.progress.nodes.items():
            done = {name for name, one in state.steps.items() if one.ok}
            plan = self.inputs.plan(self.flow.node(self.progress, id_)) if done else None
            found |= {step.title for step in (plan.steps if plan else ()) if step.id in done}
        return frozenset(found)

    def write(self, *drafts: EventDraft) -> None:
        """Append events and fold them, together with those that others wrote meanwhile."""
        events = self.stage.write(drafts)
        if events[0].seq == self.progress.seq + 1:
            self.progress.fold(events)
        else:
            self.read_new_events()

    def read_new_events(self) -> None:
        """Fold the events written since the last read."""
        self.progress.fold(self.stage.events(self.progress.seq))

    def kept(self, node: str, files: Iterable[tuple[str, bytes]], step: str = "") -> list[EventDraft]:
        """Store files as artifacts and return their events; the first file is the result of `step`, if given."""
        found = []
        for at, (name, data) in enumerate(files):
            ref = self.stage.keep(name, data)
            found.append(
                EventDraft("artifact.written", NEXUS, _artifact_event_body(ref, node, step if at == 0 else ""))
            )
        return found

    def fail_node(self, node: str, why: str, before: Sequence[EventDraft] = ()) -> None:
        """Record that a node failed."""
        self.write(*before, EventDraft("node.failed", NEXUS, {"node": node, "why": shorten_text(why)}))
        self.stage.show(node, f"{node} failed: {why}")

    def _advance_one_node(self) -> bool:
        """Advance one node that needs no specialist now; return False if there is none."""
        for id_, state in list(self.progress.nodes.items()):
            if state.status in ("started", "blocked") and id_ not in self._running:
                node = self.inputs.effective(self.flow.node(self.progress, id_))
                if self._steps.advance_node(node, state):
                    return True
        return False

    def _start_calls(self) -> None:
        """Start as many specialist calls as may run now."""
        if self.flow.why_stopped(self.progress):
            return
        goes_on = [
            self.flow.node(self.progress, id_)
            for id_, state in self.progress.nodes.items()
            if state.status == "started" and state.open_step is None and id_ not in self._running
        ]
        for node in [*goes_on, *self.flow.startable_nodes(self.progress)]:
            if len(self._running) >= self.flow.definition.budgets.parallel:
                break
            if node.id not in self._running and self._has_room(node):
                self._start_node(self.inputs.effective(node))
        # Who is alone works where its outcome is asked for: then Ctrl-C ends the work itself.
        for call in self._running.values() if self._side_by_side and len(self._running) > 1 else ():
            call.start()

    def _has_room(self, node: WorkflowNode) -> bool:
        """Return False while another node works on the files that a node would change."""
        writers = [id_ for id_ in self._running if self._changes_files(id_)]
        if runs_in_worktree(node):
            open_ = [
                id_
                for id_, one in self.progress.nodes.items()
                if id_ != node.id and one.status == "started" and self._changes_files(id_)
            ]
            return not writers and not open_
        return node.type != "exec" or not any(runs_in_worktree(self.flow.node(self.progress, id_)) for id_ in writers)

    def _changes_files(self, id_: str) -> bool:
        return self.flow.node(self.progress, id_).type in ("exec", "command")

    def _start_node(self, node: WorkflowNode) -> None:
        state = self.progress.node(node.id)
        if node.id not in self._begun or state.status != "started":
            self._begun.add(node.id)
            body = {
                "node": node.id,
                "agent": node.role or node.specialist,
                "adapter": node.adapter or "embedded",
                "op": node.type,
                "attempt": state.attempts + 1,
            }
            self.write(EventDraft("node.started", NEXUS, body))
            self.stage.show(node.id, f"{node.id}: {node.type} by {node.adapter or 'the embedded'} {node.specialist}")
        if state.open_step is not None:
            return  # a specialist that was asked within a step continues with that step
        step = self._steps.next_step(node, state)
        if step:
            self._queue_call(node, step, state)

    def _queue_call(self, node: WorkflowNode, step: str, state: NodeState) -> None:
        limit = self.flow.definition.budgets.seconds
        if limit and self.inputs.used >= limit:
            self.fail_node(node.id, f"the {limit} seconds of this workflow are used up")
            return
        used = state.tries[step]
        if used and self.inputs.feedback(node, step):
            node = node.changed(budget=node.budget.changed(retries=max(0, node.budget.retries - used)))
        order = self.inputs.order(node, step, lambda text: self.stage.show(node.id, text))
        done = [name for name, one in state.steps.items() if one.ok]
        self._running[node.id] = _SpecialistCall(self.stage, order, self.inputs.plan(node), done, step)


class _SpecialistCall:
    """One call of a specialist, in its own thread or in the thread that asks for its outcome."""

    def __init__(self, stage: Stage, order: WorkOrder, plan: Plan | None, done: Sequence[str], step: str) -> None:
        self.step = step
        self._stage, self._order, self._plan, self._done = stage, order, plan, done
        self._thread: threading.Thread | None = None
        self._found: CallOutcome | None = None
        self._broken: BaseException | None = None

    def start(self) -> None:
        """Start the call in its own thread, unless it was started."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run_in_thread, daemon=True)
            self._thread.start()

    def outcome(self) -> CallOutcome:
        """Wait for the call and return its outcome."""
        if self._thread is None:
            return self._timed_outcome()
        self._thread.join()
        if self._found is None:
            raise self._broken or Failed("a specialist ended without an answer")
        return self._found

    def _run_in_thread(self) -> None:
        try:
            self._found = self._timed_outcome()
        finally:
            # What is no error of ours is a bug: it is raised again by who asks for the outcome.
            self._broken = sys.exc_info()[1]

    def _timed_outcome(self) -> CallOutcome:
        began = time.monotonic()
        found = self._ask_with_retries()
        found.seconds = time.monotonic() - began
        return found

    def _ask_with_retries(self) -> CallOutcome:
        """Ask as often as the node's retries allow, each time with the previous error."""
        wrong: list[str] = []
        spent = CallUsage()
        order = self._order
        tries = order.node.budget.retries + 1
        for _ in range(tries):
            try:
                found = self._stage.call(order)
            except UnusableAnswer as exc:
                wrong.append(exc.message)
                spent = _add_usage(spent, exc.usage or CallUsage())
                order = replace(order, session=spent.session)
            except SpecialistGaveUp as exc:
                return CallOutcome(None, (*wrong, *exc.wrong), _add_usage(spent, exc.usage), exc.message)
            except NexusError as exc:
                return CallOutcome(None, tuple(wrong), spent, exc.message)
            else:
                spent = _add_usage(spent, found.usage)
                wrong += found.wrong
                try:
                    output = check_output(order.node.type, found.output, self._plan, self._done)
                except Invalid as exc:
                    wrong.append(exc.message)
                else:
                    return CallOutcome(output, tuple(wrong), spent)
            order = replace(order, feedback=wrong[-1])
        count = "1 try" if tries == 1 else f"{tries} tries"
        return CallOutcome(None, tuple(wrong), spent, f"no answer that can be used in {count}: {wrong[-1]}")


def _add_usage(one: CallUsage, other: CallUsage) -> CallUsage:
    return CallUsage(
        input=one.input + other.input,
        output=one.output + other.output,
        cost=one.cost + other.cost,
        session=other.session or one.session,
    )


def _artifact_event_body(ref: ArtifactRef, node: str, step: str) -> dict[str, object]:
    body: dict[str, object] = {"name": ref.name, "digest": ref.digest, "size": ref.size, "node": node}
    return {**body, "step": step} if step else body


__all__ = ["WHOLE", "CallOutcome", "Engine"]
