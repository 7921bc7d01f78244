"""The engine: walks a workflow from wherever its log says it is, as far as it comes now.

It decides nothing by the clock and keeps nothing in its head: whoever opens the same log goes on at the same place.
Specialists work side by side; what they gave is taken in one after the other, in the order in which they were begun.
"""

import sys
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gitnexus.base.errors import Failed, Invalid, NexusError
from gitnexus.events.artifacts import ArtifactRef
from gitnexus.events.kinds import short
from gitnexus.events.log import Draft
from gitnexus.prompts.model import Plan
from gitnexus.workflow.definition import WorkflowDefinition, WorkflowNode
from gitnexus.workflow.flow import Flow, Verdict, is_agent
from gitnexus.workflow.orders import Desk
from gitnexus.workflow.outputs import checked
from gitnexus.workflow.progress import WHOLE, NodeState, Progress
from gitnexus.workflow.specialist import GaveUp, Order, Output, Unfit, Usage
from gitnexus.workflow.stage import Stage
from gitnexus.workflow.steps import Steps

NEXUS = "nexus"


@dataclass(slots=True)
class Outcome:
    """What came of a call: an output or an error, what it took, and what was wrong with the answers before."""

    output: Output | None
    wrong: tuple[str, ...]
    usage: Usage
    error: str = ""
    seconds: float = 0.0


class Engine:
    """One walk through one workflow."""

    def __init__(
        self, definition: WorkflowDefinition, stage: Stage, task: str = "", *, side_by_side: bool = True
    ) -> None:
        self.flow = Flow(definition, stage.told)
        self.stage = stage
        self.progress = Progress()
        self.desk = Desk(self.flow, self.progress, stage.read, task)
        self._steps = Steps(self)
        self._begun: set[str] = set()
        self._side_by_side = side_by_side
        self._running: dict[str, _Call] = {}
        self.news()

    def walk(self) -> Verdict | None:
        """Go as far as it comes; return how it ended, None if somebody has to answer first. Raises: NexusError."""
        while True:
            while self._settled():
                pass
            self._begin()
            if not self._running:
                if not self._settled():
                    return self.flow.verdict(self.progress)
                continue
            id_, call = next(iter(self._running.items()))
            outcome = call.outcome()
            self.desk.used += outcome.seconds
            del self._running[id_]
            self._steps.taken(self.flow.node(self.progress, id_), call.step, outcome)

    def titles_done(self) -> frozenset[str]:
        """Return the titles of the steps of plans that were carried out."""
        found = set()
        for id_, state in self.progress.nodes.items():
            done = {name for name, one in state.steps.items() if one.ok}
            plan = self.desk.plan(self.flow.node(self.progress, id_)) if done else None
            found |= {step.title for step in (plan.steps if plan else ()) if step.id in done}
        return frozenset(found)

    def write(self, *drafts: Draft) -> None:
        """Write events down and take them in, with what others wrote meanwhile."""
        events = self.stage.write(drafts)
        if events[0].seq == self.progress.seq + 1:
            self.progress.fold(events)
        else:
            self.news()

    def news(self) -> None:
        """Take in what happened since."""
        self.progress.fold(self.stage.events(self.progress.seq))

    def kept(self, node: str, files: Iterable[tuple[str, bytes]], step: str = "") -> list[Draft]:
        """Keep files and return the events that tell of them; the first is the result of `step`, if one is named."""
        found = []
        for at, (name, data) in enumerate(files):
            ref = self.stage.keep(name, data)
            found.append(Draft("artifact.written", NEXUS, _told(ref, node, step if at == 0 else "")))
        return found

    def failed(self, node: str, why: str, before: Sequence[Draft] = ()) -> None:
        """Write down that a node went wrong."""
        self.write(*before, Draft("node.failed", NEXUS, {"node": node, "why": short(why)}))
        self.stage.show(node, f"{node} failed: {why}")

    def _settled(self) -> bool:
        """Bring one node on that needs no specialist for it; False if there is none."""
        for id_, state in list(self.progress.nodes.items()):
            if state.status in ("started", "blocked") and id_ not in self._running:
                node = self.desk.effective(self.flow.node(self.progress, id_))
                if self._steps.advanced(node, state):
                    return True
        return False

    def _begin(self) -> None:
        """Start as many calls as may run now."""
        if self.flow.stopped(self.progress):
            return
        goes_on = [
            self.flow.node(self.progress, id_)
            for id_, state in self.progress.nodes.items()
            if state.status == "started" and state.open_step is None and id_ not in self._running
        ]
        for node in [*goes_on, *self.flow.startable(self.progress)]:
            if len(self._running) >= self.flow.definition.budgets.parallel:
                break
            if node.id not in self._running and self._has_room(node):
                self._began(self.desk.effective(node))
        # Who is alone works where its outcome is asked for: then Ctrl-C ends the work itself.
        for call in self._running.values() if self._side_by_side and len(self._running) > 1 else ():
            call.start()

    def _has_room(self, node: WorkflowNode) -> bool:
        """False while somebody else works on the files that a node would change under their hands."""
        writers = [id_ for id_ in self._running if self._writes(id_)]
        if is_agent(node):
            open_ = [id_ for id_, one in self.progress.nodes.items()
                     if id_ != node.id and one.status == "started" and self._writes(id_)]  # fmt: skip
            return not writers and not open_
        return node.type != "exec" or not any(is_agent(self.flow.node(self.progress, id_)) for id_ in writers)

    def _writes(self, id_: str) -> bool:
        return self.flow.node(self.progress, id_).type in ("exec", "command")

    def _began(self, node: WorkflowNode) -> None:
        state = self.progress.node(node.id)
        if node.id not in self._begun or state.status != "started":
            self._begun.add(node.id)
            body = {"node": node.id, "agent": node.role or node.specialist, "adapter": node.adapter or "embedded",
                    "op": node.type, "attempt": state.attempts + 1}  # fmt: skip
            self.write(Draft("node.started", NEXUS, body))
            self.stage.show(node.id, f"{node.id}: {node.type} by {node.adapter or 'the embedded'} {node.specialist}")
        if state.open_step is not None:
            return  # who was asked in the middle of a step goes on with that
        step = self._steps.next_step(node, state)
        if step:
            self._call(node, step, state)

    def _call(self, node: WorkflowNode, step: str, state: NodeState) -> None:
        limit = self.flow.definition.budgets.seconds
        if limit and self.desk.used >= limit:
            self.failed(node.id, f"the {limit} seconds of this workflow are used up")
            return
        order = self.desk.order(node, step, lambda text: self.stage.show(node.id, text))
        done = [name for name, one in state.steps.items() if one.ok]
        self._running[node.id] = _Call(self.stage, order, self.desk.plan(node), done, step)


class _Call:
    """One call of a specialist, in a thread of its own or where its outcome is asked for."""

    def __init__(self, stage: Stage, order: Order, plan: Plan | None, done: Sequence[str], step: str) -> None:
        self.step = step
        self._stage, self._order, self._plan, self._done = stage, order, plan, done
        self._thread: threading.Thread | None = None
        self._found: Outcome | None = None
        self._broken: BaseException | None = None

    def start(self) -> None:
        """Begin at once, beside others, unless it has."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()

    def outcome(self) -> Outcome:
        """Return what came of it, once it has."""
        if self._thread is None:
            return self._asked()
        self._thread.join()
        if self._found is None:
            raise self._broken or Failed("a specialist ended without an answer")
        return self._found

    def _run(self) -> None:
        try:
            self._found = self._asked()
        finally:
            # What is no error of ours is a bug: it is raised again by who asks for the outcome.
            self._broken = sys.exc_info()[1]

    def _asked(self) -> Outcome:
        began = time.monotonic()
        found = self._tried()
        found.seconds = time.monotonic() - began
        return found

    def _tried(self) -> Outcome:
        """Ask as often as the node's retries allow, each time with what was wrong before."""
        wrong: list[str] = []
        spent = Usage()
        order = self._order
        tries = order.node.budget.retries + 1
        for _ in range(tries):
            try:
                found = self._stage.call(order)
            except Unfit as exc:
                wrong.append(exc.message)
                spent = _sum(spent, exc.usage or Usage())
            except GaveUp as exc:
                return Outcome(None, tuple(wrong), _sum(spent, exc.usage), exc.message)
            except NexusError as exc:
                return Outcome(None, tuple(wrong), spent, exc.message)
            else:
                spent = _sum(spent, found.usage)
                wrong += found.wrong
                try:
                    output = checked(order.node.type, found.output, self._plan, self._done)
                except Invalid as exc:
                    wrong.append(exc.message)
                else:
                    return Outcome(output, tuple(wrong), spent)
            order = replace(order, feedback=wrong[-1])
        count = "1 try" if tries == 1 else f"{tries} tries"
        return Outcome(None, tuple(wrong), spent, f"no answer that can be used in {count}: {wrong[-1]}")


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        input=one.input + other.input,
        output=one.output + other.output,
        cost=one.cost + other.cost,
        session=other.session or one.session,
    )


def _told(ref: ArtifactRef, node: str, step: str) -> dict[str, object]:
    body: dict[str, object] = {"name": ref.name, "digest": ref.digest, "size": ref.size, "node": node}
    return {**body, "step": step} if step else body


__all__ = ["WHOLE", "Engine", "Outcome"]
