"""What comes next in a workflow: decided from its definition and how far it is, and from nothing else. Pure."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from gitnexus.adapters.table import ADAPTERS
from gitnexus.workflow.definition import NodeInputs, NodeType, Specialist, WorkflowDefinition, WorkflowNode, node
from gitnexus.workflow.graph import order
from gitnexus.workflow.outputs import PLAN
from gitnexus.workflow.progress import NodeState, Progress

# An executor may hand its work to one of these by its name; anybody else is an agent that goes on with it.
_TYPES: dict[str, NodeType] = {"researcher": "research", "planner": "plan_patch", "executor": "exec"}


class Side(NamedTuple):
    """A node that a handoff brought in: whose way it clears, and the handoff's action."""

    node: WorkflowNode
    parent: str
    action: str


class Verdict(NamedTuple):
    """How a workflow ended."""

    ok: bool
    why: str


# Whom an approved handoff names, and what they are told.
Told = Callable[[str], tuple[str, str]]


class Flow:
    """One definition; all else is asked of the progress that is given. `told` reads what was kept of a handoff."""

    def __init__(self, definition: WorkflowDefinition, told: Told = lambda action: ("", "")) -> None:
        self.definition = definition
        self.nodes = {one.id: one for one in definition.nodes}
        self._told = told

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The ids so that each comes after those it waits for."""
        return order([one.id for one in self.definition.nodes], self.definition.edges)

    @cached_property
    def _before(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {id_: [] for id_ in self.nodes}
        for first, second in self.definition.edges:
            found[second].append(first)
        return found

    def sides(self, progress: Progress) -> list[Side]:
        """Return the nodes that handoffs brought in, in the order of the handoffs."""
        found: list[Side] = []
        for name, action in progress.actions.items():
            if action.kind == "handoff" and action.status == "executed" and action.ok:
                parent = self.nodes.get(action.node) or next(
                    (one.node for one in found if one.node.id == action.node), None
                )
                if parent is not None:
                    found += self._chain(progress, parent, name, found)
        return found

    def node(self, progress: Progress, id_: str) -> WorkflowNode:
        """Return a node by its id, also one that a handoff brought in."""
        return self.nodes.get(id_) or next(one.node for one in self.sides(progress) if one.node.id == id_)

    def _chain(self, progress: Progress, parent: WorkflowNode, action: str, before: Sequence[Side]) -> Iterator[Side]:
        """Yield what clears a node's way: for a block by what it needs, else whom its executor named."""
        block = next((one for one in progress.nodes[parent.id].blocks if one.handoff == action), None)
        has_plan = bool(self._plan(progress, parent, before)) and parent.type == "exec"
        types: list[NodeType] = ["plan_patch"]
        name = words = ""
        if block is None:
            name, words = self._told(action)
            types = [_TYPES.get(name, "exec")]
        elif block.needs == "needs_research":
            types = ["research", "plan_patch"] if has_plan else ["research"]
        ids = [side_of(action), f"{side_of(action)}-plan"]
        for at, type_ in enumerate(types):
            kind: NodeType = "plan" if type_ == "plan_patch" and not has_plan else type_
            backing = name if name in ADAPTERS else self._backing(kind, parent)
            made = node(ids[at], kind, adapter=backing, prompt=words, model=parent.model if not name else "")
            role = name if name and name not in ADAPTERS and name not in _TYPES else ""
            yield Side(
                made.changed(role=role, inputs=NodeInputs(uses=(*parent.inputs.uses, *ids[:at]))), parent.id, action
            )

    def _backing(self, type_: NodeType, parent: WorkflowNode) -> str:
        """Return who does a kind of work in this workflow; nobody named is whoever needs no model."""
        wanted: Specialist = {"research": "researcher", "exec": "executor"}.get(type_, "planner")  # type: ignore[assignment]
        if parent.specialist == wanted:
            return parent.adapter
        return next((one.adapter for one in self.definition.nodes if one.specialist == wanted), "")

    def side_done(self, progress: Progress, action: str) -> bool | None:
        """Return whether all that a handoff brought in is completed; False if one of them failed, None before."""
        found = [progress.status(one.node.id) for one in self.sides(progress) if one.action == action]
        if "failed" in found:
            return False
        return True if found and all(one == "completed" for one in found) else None

    def uses(self, progress: Progress, id_: str) -> list[WorkflowNode]:
        """Return the nodes whose outputs a node is given: those that it names, and who cleared its way."""
        sides = self.sides(progress) if progress.actions else []
        mine = next((one.node for one in sides if one.node.id == id_), None) or self.nodes[id_]
        named = [one for name in mine.inputs.uses for one in self._named(name, sides)]
        helped = [one.node for one in sides if one.parent == id_]
        return [one for one in [*named, *helped] if progress.status(one.id) == "completed"]

    def _named(self, name: str, sides: Sequence[Side]) -> list[WorkflowNode]:
        found = self.nodes.get(name) or next((one.node for one in sides if one.node.id == name), None)
        return [found] if found else []

    def plan(self, progress: Progress, id_: str) -> str:
        """Return the digest of the plan that is in force for a node, nothing if there is none."""
        sides = self.sides(progress) if progress.actions else []
        side = next((one for one in sides if one.node.id == id_), None)
        if side is not None:
            return self.plan(progress, side.parent)
        return self._plan(progress, self.nodes[id_], sides)

    def _plan(self, progress: Progress, mine: WorkflowNode, sides: Sequence[Side]) -> str:
        named = [one for name in mine.inputs.uses for one in self._named(name, sides)]
        helped = [one.node for one in sides if one.parent == mine.id]
        found = ""
        for one in [*named, *helped]:
            state = progress.nodes.get(one.id)
            if state is not None and state.status == "completed" and PLAN in state.outputs:
                found = state.outputs[PLAN]
        return found

    def paper(self, progress: Progress, id_: str) -> str:
        """Return the node whose plan a node works with or changes, however often it was changed; itself at first."""
        sides = self.sides(progress) if progress.actions else []
        side = next((one for one in sides if one.node.id == id_), None)
        mine = self.nodes[side.parent if side else id_]
        for name in reversed(mine.inputs.uses):
            if name in self.nodes and PLAN in progress.node(name).outputs:
                return self.paper(progress, name)
        return id_

    def startable(self, progress: Progress) -> list[WorkflowNode]:
        """Return the nodes that may begin, or begin again: in order, those that clear a way first."""
        if self.stopped(progress):
            return []
        found = [one.node for one in self._sides_ready(progress)]
        # Only who was begun is looked at in the order of beginning; the others stand in the definition's.
        found += [
            self.node(progress, id_)
            for id_, state in progress.nodes.items()
            if state.status == "blocked" and self.cleared(progress, state)
        ]
        if "blocked" in self.definition.stop and any(one.status == "blocked" for one in progress.nodes.values()):
            return found
        status = {id_: one.status for id_, one in progress.nodes.items() if one.status}
        return found + [
            self.nodes[id_]
            for id_ in self.order
            if id_ not in status and all(status.get(one) == "completed" for one in self._before[id_])
        ]

    def _sides_ready(self, progress: Progress) -> Iterator[Side]:
        waits: set[str] = set()
        for side in self.sides(progress) if progress.actions else ():
            status = progress.status(side.node.id)
            parent = progress.nodes[side.parent]
            # An agent that hands over in the middle of its work is waited for.
            if not status and side.action not in waits and (parent.status == "blocked" or parent.open_step):
                yield side
            if status != "completed":
                waits.add(side.action)

    def cleared(self, progress: Progress, state: NodeState) -> bool:
        """True if what stood in a node's way is gone."""
        block = state.blocks[-1]
        if block.question:
            return bool(block.answer)
        return bool(block.handoff) and self.side_done(progress, block.handoff) is True

    def stopped(self, progress: Progress) -> str:
        """Return why nothing more begins, nothing if it does."""
        for id_, state in progress.nodes.items():
            if state.status != "failed" or self._is_side(progress, id_):
                continue
            if ("denied" if _only_denied(progress, state) else "failed") in self.definition.stop:
                return f"{id_}: {state.why}"
        return self.over_budget(progress) if "budget" in self.definition.stop else ""

    def _is_side(self, progress: Progress, id_: str) -> bool:
        # Whoever waits for it fails by it, and says so.
        return id_ not in self.nodes and any(one.node.id == id_ for one in self.sides(progress))

    def over_budget(self, progress: Progress) -> str:
        """Return which budget is used up, nothing if none is."""
        budgets = self.definition.budgets
        if budgets.tokens and progress.tokens > budgets.tokens:
            return f"{progress.tokens} tokens of {budgets.tokens} are used up"
        if budgets.cents and progress.cost > budgets.cents * 10_000:
            return f"{progress.cost / 1e6:.2f} USD of {budgets.cents / 100:.2f} are used up"
        return ""

    def verdict(self, progress: Progress) -> Verdict | None:
        """Return how it ended, None while somebody has to answer."""
        open_ = ("proposed", "waiting", "approved", "unknown")
        if progress.questions or any(one.status in open_ for one in progress.actions.values()):
            return None
        if all(progress.status(id_) == "completed" for id_ in self.nodes):
            return Verdict(True, "")
        failed = next((f"{id_}: {one.why}" for id_, one in progress.nodes.items() if one.status == "failed"), "")
        return Verdict(False, self.stopped(progress) or failed or "it came to no end")


def _only_denied(progress: Progress, state: NodeState) -> bool:
    """True for a node that failed by a no of somebody and by nothing else."""
    wrong = {name: one.why for name, one in state.steps.items() if one.ok is False}
    told = any(state.why.startswith(f"{name}: {why}") for name, why in wrong.items())
    return all(_is_denial(progress, one) for one in [*wrong.values(), *([] if told else [state.why])])


def _is_denial(progress: Progress, why: str) -> bool:
    name, _, rest = why.partition(" ")
    known = progress.actions.get(name)
    return known is not None and known.status == "denied" and rest.startswith("denied")


def side_of(action: str) -> str:
    """Return the id of the first node that an approved handoff brings in; the log's own fold knows it by that."""
    return f"handoff-{action}"


def is_agent(one: WorkflowNode) -> bool:
    """True for a node that is worked on by a program in the run's worktree: what it changed there is its proposal."""
    return one.type == "command" or (one.type == "exec" and one.adapter in ADAPTERS)


def receiver_of(needs: str) -> Specialist:
    """Return whom a node that is blocked hands over to."""
    return "researcher" if needs == "needs_research" else "planner"
