"""Decides what comes next in a workflow from its definition and its progress alone. Pure."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from gitnexus.adapters.table import ADAPTERS
from gitnexus.workflow.definition import NodeInputs, NodeType, Specialist, WorkflowDefinition, WorkflowNode, make_node
from gitnexus.workflow.graph import topological_order
from gitnexus.workflow.outputs import PLAN
from gitnexus.workflow.progress import NodeState, WorkflowProgress

# An executor may hand its work to one of these by name; any other name is an agent that continues it.
_TYPES: dict[str, NodeType] = {"researcher": "research", "planner": "plan_patch", "executor": "exec"}


class SideNode(NamedTuple):
    """A node added by a handoff: the node it unblocks, and the handoff's action."""

    node: WorkflowNode
    parent: str
    action: str


class WorkflowVerdict(NamedTuple):
    """The final status of a workflow."""

    ok: bool
    why: str


# The receiver of an approved handoff, and its message.
HandoffReader = Callable[[str], tuple[str, str]]


class Flow:
    """Decisions for one definition; everything else comes from the given progress. `told` reads a stored handoff."""

    def __init__(self, definition: WorkflowDefinition, handoff_of: HandoffReader = lambda action: ("", "")) -> None:
        self.definition = definition
        self.nodes = {one.id: one for one in definition.nodes}
        self._handoff_of = handoff_of

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The node ids in dependency order."""
        return topological_order([one.id for one in self.definition.nodes], self.definition.edges)

    @cached_property
    def _before(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {id_: [] for id_ in self.nodes}
        for first, second in self.definition.edges:
            found[second].append(first)
        return found

    def side_nodes(self, progress: WorkflowProgress) -> list[SideNode]:
        """Return the nodes added by handoffs, in the order of the handoffs."""
        found: list[SideNode] = []
        for name, action in progress.actions.items():
            if action.kind == "handoff" and action.status == "executed" and action.ok:
                parent = self.nodes.get(action.node) or next(
                    (one.node for one in found if one.node.id == action.node), None
                )
                if parent is not None:
                    found += self._side_chain(progress, parent, name, found)
        return found

    def node(self, progress: WorkflowProgress, id_: str) -> WorkflowNode:
        """Return a node by its id, also one added by a handoff."""
        return self.nodes.get(id_) or next(one.node for one in self.side_nodes(progress) if one.node.id == id_)

    def _side_chain(
        self, progress: WorkflowProgress, parent: WorkflowNode, action: str, before: Sequence[SideNode]
    ) -> Iterator[SideNode]:
        """Yield the nodes that unblock a node: by what it needs, else those that its executor named."""
        block = next((one for one in progress.nodes[parent.id].blocks if one.handoff == action), None)
        has_plan = bool(self._plan_digest(progress, parent, before)) and parent.type == "exec"
        types: list[NodeType] = ["plan_patch"]
        name = words = ""
        if block is None:
            name, words = self._handoff_of(action)
            types = [_TYPES.get(name, "exec")]
        elif block.needs == "needs_research":
            types = ["research", "plan_patch"] if has_plan else ["research"]
        ids = [side_node_id(action), f"{side_node_id(action)}-plan"]
        for at, type_ in enumerate(types):
            kind: NodeType = "plan" if type_ == "plan_patch" and not has_plan else type_
            backing = name if name in ADAPTERS else self._adapter_for_type(kind, parent)
            # A model is one of its program: another program does not know it.
            model = parent.model if not name and backing == parent.adapter else ""
            made = make_node(ids[at], kind, adapter=backing, prompt=words, model=model)
            role = name if name and name not in ADAPTERS and name not in _TYPES else ""
            yield SideNode(
                made.changed(role=role, inputs=NodeInputs(uses=(*parent.inputs.uses, *ids[:at]))), parent.id, action
            )

    def _adapter_for_type(self, type_: NodeType, parent: WorkflowNode) -> str:
        """Return the adapter for a type of node: of a node of that type in this workflow, else who is set for handoffs.

        By default it is the one without a model.
        """
        wanted: Specialist = {"research": "researcher", "exec": "executor"}.get(type_, "planner")  # type: ignore[assignment]
        if parent.specialist == wanted:
            return parent.adapter
        there = [one.adapter for one in self.definition.nodes if one.specialist == wanted and one.type != "command"]
        return there[0] if there else (self.definition.handoffs or {}).get(wanted, "")

    def outcome_of_handoff(self, progress: WorkflowProgress, action: str) -> bool | None:
        """Return True if all nodes of a handoff are completed, False if one failed, else None."""
        found = [progress.status(one.node.id) for one in self.side_nodes(progress) if one.action == action]
        if "failed" in found:
            return False
        return True if found and all(one == "completed" for one in found) else None

    def uses(self, progress: WorkflowProgress, id_: str) -> list[WorkflowNode]:
        """Return the nodes whose outputs a node is given: those it names, and those that unblocked it."""
        sides = self.side_nodes(progress) if progress.actions else []
        mine = next((one.node for one in sides if one.node.id == id_), None) or self.nodes[id_]
        named = [one for name in mine.inputs.uses for one in self._nodes_named(name, sides)]
        helped = [one.node for one in sides if one.parent == id_]
        return [one for one in [*named, *helped] if progress.status(one.id) == "completed"]

    def _nodes_named(self, name: str, sides: Sequence[SideNode]) -> list[WorkflowNode]:
        found = self.nodes.get(name) or next((one.node for one in sides if one.node.id == name), None)
        return [found] if found else []

    def plan(self, progress: WorkflowProgress, id_: str) -> str:
        """Return the digest of the plan in force for a node, empty if there is none."""
        sides = self.side_nodes(progress) if progress.actions else []
        side = next((one for one in sides if one.node.id == id_), None)
        if side is not None:
            return self.plan(progress, side.parent)
        return self._plan_digest(progress, self.nodes[id_], sides)

    def _plan_digest(self, progress: WorkflowProgress, mine: WorkflowNode, sides: Sequence[SideNode]) -> str:
        named = [one for name in mine.inputs.uses for one in self._nodes_named(name, sides)]
        helped = [one.node for one in sides if one.parent == mine.id]
        found = ""
        for one in [*named, *helped]:
            state = progress.nodes.get(one.id)
            if state is not None and state.status == "completed" and PLAN in state.outputs:
                found = state.outputs[PLAN]
        return found

    def paper(self, progress: WorkflowProgress, id_: str) -> str:
        """Return the node whose plan a node uses or changes, through all changes; itself if it is the first."""
        sides = self.side_nodes(progress) if progress.actions else []
        side = next((one for one in sides if one.node.id == id_), None)
        mine = self.nodes[side.parent if side else id_]
        for name in reversed(mine.inputs.uses):
            if name in self.nodes and PLAN in progress.node(name).outputs:
                return self.paper(progress, name)
        return id_

    def startable_nodes(self, progress: WorkflowProgress) -> list[WorkflowNode]:
        """Return the nodes that may start or restart, in order, those that unblock others first."""
        if self.why_stopped(progress):
            return []
        found = [one.node for one in self._startable_sides(progress)]
        # Started nodes come in the order in which they started, the others in that of the definition.
        found += [
            self.node(progress, id_)
            for id_, state in progress.nodes.items()
            if state.status == "blocked" and self.is_unblocked(progress, state)
        ]
        if "blocked" in self.definition.stop and any(one.status == "blocked" for one in progress.nodes.values()):
            return found
        status = {id_: one.status for id_, one in progress.nodes.items() if one.status}
        return found + [
            self.nodes[id_]
            for id_ in self.order
            if id_ not in status and all(status.get(one) == "completed" for one in self._before[id_])
        ]

    def _startable_sides(self, progress: WorkflowProgress) -> Iterator[SideNode]:
        waits: set[str] = set()
        for side in self.side_nodes(progress) if progress.actions else ():
            status = progress.status(side.node.id)
            parent = progress.nodes[side.parent]
            # An agent that hands over in the middle of its work is waited for.
            if not status and side.action not in waits and (parent.status == "blocked" or parent.open_step):
                yield side
            if status != "completed":
                waits.add(side.action)

    def is_unblocked(self, progress: WorkflowProgress, state: NodeState) -> bool:
        """Return True if the block of a node is resolved."""
        block = state.blocks[-1]
        if block.question:
            return bool(block.answer)
        return bool(block.handoff) and self.outcome_of_handoff(progress, block.handoff) is True

    def why_stopped(self, progress: WorkflowProgress) -> str:
        """Return why no more nodes are started, empty if they are."""
        for id_, state in progress.nodes.items():
            if state.status != "failed" or self._is_side(progress, id_):
                continue
            if ("denied" if _only_denied(progress, state) else "failed") in self.definition.stop:
                return f"{id_}: {state.why}"
        return self.why_over_budget(progress) if "budget" in self.definition.stop else ""

    def _is_side(self, progress: WorkflowProgress, id_: str) -> bool:
        # The nodes that wait for it fail, too, with that reason.
        return id_ not in self.nodes and any(one.node.id == id_ for one in self.side_nodes(progress))

    def nodes_to_try_again(self, progress: WorkflowProgress) -> list[str]:
        """Return the nodes that failed and may be tried again: not where a no is the reason, nor without a budget."""
        if self.why_over_budget(progress):
            return []
        failed = [id_ for id_, one in progress.nodes.items() if one.status == "failed"]
        over = any(why_node_over_budget(self.node(progress, id_), progress.nodes[id_]) for id_ in failed)
        denied = any(_only_denied(progress, progress.nodes[id_]) for id_ in failed)
        return [] if over or denied else failed

    def why_over_budget(self, progress: WorkflowProgress) -> str:
        """Return which budget is used up, empty if none is."""
        budgets = self.definition.budgets
        if budgets.tokens and progress.tokens > budgets.tokens:
            return f"{progress.tokens} tokens of {budgets.tokens} are used up"
        if budgets.cents and progress.cost > budgets.cents * 10_000:
            return f"{progress.cost / 1e6:.2f} USD of {budgets.cents / 100:.2f} are used up"
        return ""

    def verdict(self, progress: WorkflowProgress) -> WorkflowVerdict | None:
        """Return the final status, None while somebody has to answer."""
        open_ = ("proposed", "waiting", "approved", "unknown")
        if progress.questions or any(one.status in open_ for one in progress.actions.values()):
            return None
        if all(progress.status(id_) == "completed" for id_ in self.nodes):
            return WorkflowVerdict(True, "")
        failed = next((f"{id_}: {one.why}" for id_, one in progress.nodes.items() if one.status == "failed"), "")
        return WorkflowVerdict(False, self.why_stopped(progress) or failed or "it came to no end")


def why_node_over_budget(node: WorkflowNode, state: NodeState, tokens: int = 0, cost: int = 0) -> str:
    """Return which budget of a node is used up by what it took, and by these tokens and this cost; empty if none is."""
    tokens, cost = state.tokens + tokens, state.cost + cost
    if node.budget.tokens and tokens > node.budget.tokens:
        return f"it took {tokens} tokens of {node.budget.tokens}"
    if node.budget.cents and cost > node.budget.cents * 10_000:
        return f"it cost {cost / 1e6:.2f} USD of {node.budget.cents / 100:.2f}"
    return ""


def _only_denied(progress: WorkflowProgress, state: NodeState) -> bool:
    """Return True for a node that failed only because somebody denied its action."""
    wrong = {name: one.why for name, one in state.steps.items() if one.ok is False}
    handoff_of = any(state.why.startswith(f"{name}: {why}") for name, why in wrong.items())
    return all(_is_denial(progress, one) for one in [*wrong.values(), *([] if handoff_of else [state.why])])


def _is_denial(progress: WorkflowProgress, why: str) -> bool:
    name, _, rest = why.partition(" ")
    known = progress.actions.get(name)
    return known is not None and known.status == "denied" and rest.startswith("denied")


def side_node_id(action: str) -> str:
    """Return the id of the first node that an approved handoff adds; the fold of the log uses the same id."""
    return f"handoff-{action}"


def runs_in_worktree(one: WorkflowNode) -> bool:
    """Return True for a node carried out by a program in the run's worktree; its changes there are its proposal."""
    return one.type == "command" or (one.type == "exec" and one.adapter in ADAPTERS)


def receiver_for_need(needs: str) -> Specialist:
    """Return the type of node that a blocked node hands over to."""
    return "researcher" if needs == "needs_research" else "planner"
